/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/kin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock/fit/sort.h"
#include "clock/sample/plan.h"
#include "clock/sample/sample.h"
#include "source/span.h"
#include "source/ticks.h"

/* A trace is compared with so many kernels that it claims; who claims more of them has none. */
#define KERNELS_MAX 8
/* Windows of the common time, and how much is read of a stream for one. */
#define WINDOWS 16
#define WINDOW_US 100e3
#define WINDOW_RECORDS (1u << 18)
#define SWITCHES_MAX 65536 /* of all windows of a trace */
/* Two tracers take the time of one switch one after the other. */
#define APART_US 200
/* Of the other trace's switches, so many on either side: a CPU does no more in that time, and one
 * that says so costs no more. */
#define NEIGHBOURS_MAX 64
/* Fewer contradictions may have other reasons. */
#define AGAINST_MIN 5

struct switched {
	uint64_t time;
	int32_t cpu, prev, next; /* prev and next: -1 something was lost here */
};

struct switches {
	struct switched *list;
	size_t nr, room;
};

/* ---- reading ------------------------------------------------------------------------------- */

static int note(struct switches *out, const struct event *e, int32_t cpu)
{
	struct switched *s;

	if (e->kind != EV_SCHED_SWITCH && e->kind != EV_LOST)
		return 0;
	s = sample_add(out);
	if (!s)
		return -ENOMEM;
	*s = (struct switched){e->time.v, cpu, -1, -1};
	if (e->kind == EV_SCHED_SWITCH) {
		s->prev = (int32_t)e->arg[0];
		s->next = (int32_t)e->arg[1];
	}
	return 0;
}

/* A part of a plan; it begins and ends with something lost. */
static int read_part(struct switches *out, const struct part *p, size_t max)
{
	const struct event edge = {.kind = EV_LOST, .time = {p->from}};
	struct event events[64];
	struct cursor c;
	bool done = false;
	unsigned n;
	int ret;

	if (cursor_init(&c, p->stream, p->first, p->nr, WANT(SCHED_SWITCH), NULL))
		return -ENOMEM;
	c.from = p->from;
	c.records_left = p->records_max < WINDOW_RECORDS ? p->records_max : WINDOW_RECORDS;
	ret = note(out, &edge, p->stream->cpu);
	while (ret == 0 && !done && out->nr < max &&
	       (n = cursor_next(&c, events, ARRAY_SIZE(events)))) {
		for (unsigned i = 0; i < n && ret == 0 && !done; i++) {
			done = events[i].time.v > p->until;
			if (!done && events[i].time.v >= p->from)
				ret = note(out, &events[i], p->stream->cpu);
		}
	}
	cursor_release(&c);
	return ret;
}

static int by_cpu_and_time(const void *a, const void *b)
{
	const struct switched *p = a, *q = b;

	if (p->cpu != q->cpu)
		return p->cpu < q->cpu ? -1 : 1;
	return (p->time > q->time) - (p->time < q->time);
}

static int read_switches(struct switches *out, const struct trace *t, const uint64_t *begin,
			 const uint64_t *end, unsigned nr)
{
	struct plan plan = {0};
	int ret = 0;

	for (unsigned i = 0; i < nr && ret == 0; i++)
		ret = plan_window(&plan, t, begin[i], end[i], 0);
	plan_settle(&plan);
	for (size_t i = 0; i < plan.nr && ret == 0; i++) {
		if (plan.list[i].stream->cpu >= 0)
			ret = read_part(out, &plan.list[i], SWITCHES_MAX * (i + 1) / plan.nr);
	}
	plan_release(&plan);
	sort_runs(out->list, out->nr, sizeof(*out->list), by_cpu_and_time);
	return ret;
}

/* ---- comparing ----------------------------------------------------------------------------- */

struct verdict {
	uint64_t with, against;
};

static bool is_at(const struct switched *a, const struct switched *b, uint64_t apart)
{
	uint64_t d = a->time > b->time ? a->time - b->time : b->time - a->time;

	return a->cpu == b->cpu && a->prev == b->prev && a->next == b->next && d <= apart;
}

/* What @in, around its place @at (the first that is not before), says of the switch @s. */
static void compare_one(struct verdict *v, const struct switched *s, const struct switches *in,
			size_t at, uint64_t apart)
{
	const struct switched *before = at ? &in->list[at - 1] : NULL;
	const struct switched *after = at < in->nr ? &in->list[at] : NULL;
	size_t least = at > NEIGHBOURS_MAX ? at - NEIGHBOURS_MAX : 0;
	size_t most = in->nr - at > NEIGHBOURS_MAX ? at + NEIGHBOURS_MAX : in->nr;
	bool found = false;

	for (size_t i = at; i > least && in->list[i - 1].cpu == s->cpu &&
			    s->time - in->list[i - 1].time <= apart && !found;
	     i--)
		found = is_at(s, &in->list[i - 1], apart);
	for (size_t i = at;
	     i < most && in->list[i].cpu == s->cpu && in->list[i].time - s->time <= apart && !found;
	     i++)
		found = is_at(s, &in->list[i], apart);
	if (found)
		v->with++;
	else if (before && after && before->cpu == s->cpu && after->cpu == s->cpu &&
		 before->next >= 0 && before->next == after->prev &&
		 s->time - before->time > apart && after->time - s->time > apart)
		v->against++; /* one thread ran there all the time */
}

/* What @in says of all switches of @of; both are sorted. */
static struct verdict compare(const struct switches *of, const struct switches *in, uint64_t apart)
{
	struct verdict v = {0};
	size_t at = 0;

	for (size_t i = 0; i < of->nr; i++) {
		const struct switched *s = &of->list[i];

		while (at < in->nr && by_cpu_and_time(&in->list[at], s) < 0)
			at++;
		if (s->next >= 0 && s->prev != s->next)
			compare_one(&v, s, in, at, apart);
	}
	return v;
}

static bool speaks_against(struct verdict v)
{
	return v.against >= AGAINST_MIN && v.with < v.against;
}

/* A tracer may have recorded some threads only: then the other one has all that it has. */
static bool speaks_for(struct verdict v)
{
	return v.with >= AGAINST_MIN && v.with > v.against;
}

/* ---- two traces ---------------------------------------------------------------------------- */

/* Windows of the time that both have; how many there are. */
static unsigned common_windows(const struct trace *a, const struct trace *b, uint64_t *begin,
			       uint64_t *end)
{
	uint64_t len = (uint64_t)(ticks_per_us(a) * WINDOW_US);
	uint64_t first = trace_first_begin(a), first_b = trace_first_begin(b);
	uint64_t last = trace_last_end(a), last_b = trace_last_end(b);

	first = first_b > first ? first_b : first;
	last = last_b < last ? last_b : last;
	if (first >= last)
		return 0;
	if ((last - first) / WINDOWS <= len) {
		begin[0] = first;
		end[0] = last;
		return 1;
	}
	for (unsigned i = 0; i < WINDOWS; i++) {
		begin[i] = first + (last - first - len) / (WINDOWS - 1) * i;
		end[i] = begin[i] + len;
	}
	return WINDOWS;
}

/* 1: what both recorded says that they are of two kernels. */
static int are_strangers(const struct trace *a, const struct trace *b, struct kinship *out)
{
	uint64_t begin[WINDOWS], end[WINDOWS], apart = (uint64_t)(ticks_per_us(a) * APART_US);
	unsigned nr = common_windows(a, b, begin, end);
	struct switches of_a = {0}, of_b = {0};
	int ret = read_switches(&of_a, a, begin, end, nr);

	if (ret == 0)
		ret = read_switches(&of_b, b, begin, end, nr);
	if (ret == 0) {
		struct verdict ab = compare(&of_a, &of_b, apart), ba = compare(&of_b, &of_a, apart);

		out->borne_out = speaks_for(ab) || speaks_for(ba);
		ret = !out->borne_out && (speaks_against(ab) || speaks_against(ba));
		out->against = ab.against + ba.against;
		out->tested = out->against + ab.with + ba.with;
	}
	free(of_a.list);
	free(of_b.list);
	return ret;
}

bool kin_one_clock(const struct trace_clock *a, const struct trace_clock *b)
{
	static const uint8_t unknown[sizeof(a->uuid)];

	return memcmp(a->uuid, unknown, sizeof(unknown)) &&
	       !memcmp(a->uuid, b->uuid, sizeof(a->uuid));
}

bool kin_claims(const struct topology_input *a, const struct declared *of_a,
		const struct topology_input *b, const struct declared *of_b)
{
	if (a->vm_pid > 0 && b->vm_pid > 0 && a->vm_pid != b->vm_pid && a->parent && b->parent &&
	    !strcmp(a->parent, b->parent))
		return false; /* two VMs */
	return kin_one_clock(&a->trace->clock, &b->trace->clock) ||
	       (*of_a->boot_id && !strcmp(of_a->boot_id, of_b->boot_id));
}

bool kin_comparable(const struct trace *a, const struct trace *b)
{
	const struct trace_clock *c = &a->clock, *d = &b->clock;

	return c->kind == d->kind && (!c->freq_hz || !d->freq_hz || c->freq_hz == d->freq_hz);
}

/* ---- all ----------------------------------------------------------------------------------- */

/* The kernel of trace @i among those of the traces before it. */
static int find_kernel(struct kin *k, const struct topology_input *in,
		       const struct declared *declared, unsigned i)
{
	struct kinship *own = &k->list[i];
	unsigned tested = 0;

	own->kernel = i;
	for (unsigned b = 0; b < i && tested < KERNELS_MAX; b++) {
		struct kinship v = {0};
		int ret;

		if (k->list[b].kernel != b || !kin_comparable(in[i].trace, in[b].trace) ||
		    !kin_claims(&in[i], &declared[i], &in[b], &declared[b]))
			continue;
		own->claims = k->list[b].claims = true;
		tested++;
		v.borne_out = in[i].trace->user_space || in[b].trace->user_space;
		ret = v.borne_out ? 0 : are_strangers(in[i].trace, in[b].trace, &v);
		if (ret < 0)
			return ret;
		if (!ret) {
			own->kernel = b;
			own->borne_out = v.borne_out;
			own->refuted = false;
			return 0;
		}
		if (own->refuted)
			continue;
		own->refuted = true;
		own->not_of = b;
		own->tested = v.tested;
		own->against = v.against;
	}
	return 0;
}

int kin_find(struct kin *out, const struct topology_input *in, const struct declared *declared,
	     unsigned nr)
{
	int ret = 0;

	*out = (struct kin){.list = calloc(nr, sizeof(*out->list)), .nr = nr};
	if (!out->list)
		return -ENOMEM;
	for (unsigned i = 0; i < nr && ret == 0; i++)
		ret = find_kernel(out, in, declared, i);
	return ret;
}

void kin_release(struct kin *k)
{
	free(k->list);
	memset(k, 0, sizeof(*k));
}

bool kin_share_clock(const struct kin *k, unsigned a, unsigned b)
{
	return k->list[a].claims && k->list[b].claims && k->list[a].kernel == k->list[b].kernel;
}

bool kin_borne_out(const struct kin *k, unsigned a, unsigned b)
{
	return kin_share_clock(k, a, b) && (k->list[a].kernel == a || k->list[a].borne_out) &&
	       (k->list[b].kernel == b || k->list[b].borne_out);
}
