/* SPDX-License-Identifier: Apache-2.0 */
#include "source/cover.h"

#include <errno.h>
#include <stdlib.h>

#include "events/rows.h"
#include "source/span.h"
#include "source/state_line.h"

/* ---- begin and end of a stream ------------------------------------------------------------- */

struct start {
	bool broken, settled; /* by the first events */
	int64_t tid;	      /* theirs; -1 not told */
	int depth;	      /* of interrupt handlers */
};

static void take(struct start *s, const struct event *e)
{
	int64_t tid = e->kind == EV_SCHED_SWITCH ? e->arg[0] : e->tid;

	s->depth += event_has_use(e->kind, EVENT_HANDLER_BEGIN) -
		    event_has_use(e->kind, EVENT_HANDLER_END);
	s->broken |= e->kind == EV_LOST || event_has_use(e->kind, EVENT_IN_KVM) || s->depth < 0 ||
		     (s->tid >= 0 && tid >= 0 && tid != s->tid);
	if (tid >= 0)
		s->tid = tid;
	s->settled = e->kind == EV_SCHED_SWITCH;
}

#define LOOK_EVENTS 1024

/* When the first event of these was recorded. */
static uint64_t first_of(const struct event *events, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		if (events[i].kind != EV_LOST)
			return events[i].time.v;
	}
	return UINT64_MAX;
}

/*
 * Who has had the stream's CPU since it begins: the first switch says whom it takes it from.  Not
 * where something shows that it was not only this thread: an interrupt handler that has begun
 * before, a guest.  @first: its first event's time, UINT64_MAX without any.  0 or -ENOMEM.
 */
static int first_running(struct stream *s, int32_t *tid, bool *broken, uint64_t *first)
{
	struct start start = {.tid = -1};
	struct event events[64];
	struct cursor c;
	unsigned nr;
	int ret = cursor_init(&c, s, 0, s->nr_packets, 0, NULL);

	*broken = true;
	*tid = -1;
	*first = UINT64_MAX;
	if (ret)
		return ret == -ENOMEM ? ret : 0;
	c.records_left = LOOK_EVENTS;
	nr = cursor_next(&c, events, ARRAY_SIZE(events));
	*broken = !nr || events[0].kind == EV_LOST;
	*first = first_of(events, nr);
	while (nr && !start.broken && !start.settled) {
		for (unsigned i = 0; i < nr && !start.broken && !start.settled; i++)
			take(&start, &events[i]);
		nr = cursor_next(&c, events, ARRAY_SIZE(events));
	}
	cursor_release(&c);
	if (start.settled && !start.broken)
		*tid = (int32_t)start.tid;
	return 0;
}

/* ---- of a trace ------------------------------------------------------------------------------ */

/* @first: lowered to when the trace began, as far as this stream tells: with its first event, for
 * the head of a CTF packet has the time when its buffer was made, and a tracer may begin long
 * after. */
static int cover_stream(struct cpu_cover *c, struct stream *s, uint64_t *first)
{
	uint64_t end = s->nr_packets ? s->packets[s->nr_packets - 1].end : 0, first_event;
	ticks_t event = {end};
	bool again = c->there, broken;
	int ret = stream_last_tick(s, &event);

	if (!again)
		*c = (struct cpu_cover){
			.there = true, .ends = true, .first = UINT64_MAX, .running = -1};
	if (!ret && !end) {
		c->there = again || !s->cut;
		return 0;
	}
	if (ret >= 0)
		ret = first_running(s, &c->running, &broken, &first_event);
	if (ret < 0)
		return ret;
	if (s->trace->format != TRACE_CTF)
		first_event = s->packets[0].begin;
	if (first_event && first_event < *first)
		*first = first_event;
	c->any = true;
	c->cut |= s->cut && !end;
	c->ends &= end || s->cut || s->read_to > event.v;
	c->late |= s->start == START_MISSING || (s->trace->format == TRACE_DAT && broken);
	if (again) /* each has events that the other has not */
		c->running = -1;
	if (s->packets[0].begin < c->first)
		c->first = s->packets[0].begin;
	/* Tracing begins on all CPUs at once: of what was before its first event, none is
	 * missing. */
	if ((s->trace->format == TRACE_DAT && !broken) || s->start == START_WHOLE)
		c->first = 0;
	if (event.v > c->last_event)
		c->last_event = event.v;
	/* The header of a cut packet says how far it reached before it was cut. */
	if (!end || (s->cut && s->trace->format == TRACE_CTF))
		end = event.v;
	if (end > c->last)
		c->last = end;
	return 0;
}

static unsigned nr_cpus_of(const struct trace *t)
{
	return t->nr_cpus < TRACE_CPUS_MAX ? t->nr_cpus : TRACE_CPUS_MAX;
}

/* The whole machine: what any of its CPUs is covered; of a trace without events, nothing. */
static void sum_up(struct cover *c)
{
	for (unsigned i = 0; i <= c->nr; i++) {
		c->all.any |= c->cpus[i].any;
		if (c->cpus[i].last_event > c->all.last)
			c->all.last = c->cpus[i].last_event;
	}
	if (c->all.first == UINT64_MAX && c->all.any)
		c->all.first = c->all.last;
	for (unsigned i = 0; i <= c->nr; i++) {
		if (c->cpus[i].first < c->all.first)
			c->cpus[i].first = c->all.first;
	}
}

int cover_find(struct cover *c, struct trace *t)
{
	int ret = 0;

	*c = (struct cover){.nr = nr_cpus_of(t), .all.first = UINT64_MAX};
	c->cpus = calloc(c->nr + 1, sizeof(*c->cpus));
	if (!c->cpus)
		return -ENOMEM;
	for (unsigned i = 0; i < t->nr_streams && !ret; i++) {
		struct stream *s = &t->streams[i];

		/* The last element is for those of an unknown CPU. */
		if (s->trace->format != TRACE_FOLDED && !s->trace->user_space)
			ret = cover_stream(
				&c->cpus[s->cpu >= 0 && (unsigned)s->cpu < c->nr ? (unsigned)s->cpu
										 : c->nr],
				s, &c->all.first);
	}
	c->unnumbered = c->cpus[c->nr].there;
	sum_up(c);
	return ret;
}

void cover_release(struct cover *c)
{
	free(c->cpus);
	c->cpus = NULL;
}

/* ---- which CPUs there must be ---------------------------------------------------------------- */

/* Of each stream: what a scheduler does in a moment names all its CPUs. */
#define LOOK_RECORDS 8192

/* A single event may be damaged. */
#define TIMES_NAMED 2

struct census_cpu {
	uint8_t named, used; /* how often */
	int64_t woken;	     /* the last for it */
};

struct census {
	struct census_cpu *cpus; /* TRACE_CPUS_MAX */
	int top;
};

static void name_cpu(struct census *c, int64_t cpu, unsigned times)
{
	if (cpu < 0 || cpu >= TRACE_CPUS_MAX)
		return;
	if (c->cpus[cpu].named < TIMES_NAMED)
		c->cpus[cpu].named = (uint8_t)(c->cpus[cpu].named + times);
	if (c->cpus[cpu].named >= TIMES_NAMED && cpu > c->top)
		c->top = (int)cpu;
}

/* It is to run somebody, so events of its own are due. */
static void use_cpu(struct census *c, int64_t cpu)
{
	name_cpu(c, cpu, 1);
	if (cpu >= 0 && cpu < TRACE_CPUS_MAX && c->cpus[cpu].used < TIMES_NAMED)
		c->cpus[cpu].used++;
}

/* Before a CPU is chosen: that of last time, which may be offline since.  Who is woken there twice
 * ran there in between. */
static void name_waking(struct census *c, int64_t tid, int64_t cpu)
{
	struct census_cpu *at = cpu >= 0 && cpu < TRACE_CPUS_MAX ? &c->cpus[cpu] : NULL;

	if (at && at->named && at->woken == tid)
		use_cpu(c, cpu);
	else
		name_cpu(c, cpu, 1);
	if (at)
		at->woken = tid;
}

/* What the recorder listed when it began. */
static void name_online(struct census *c, const struct stream *s, const struct event *e)
{
	int64_t cpus[256];
	struct state_line l;
	unsigned nr;

	if (!state_line_read(&l, s, e) || l.kind != STATE_BEGIN)
		return;
	nr = state_list(&l, "online", cpus, ARRAY_SIZE(cpus));
	for (unsigned i = 0; i < nr; i++)
		name_cpu(c, cpus[i], TIMES_NAMED);
}

static void take_names(struct census *c, const struct stream *s, const struct event *e)
{
	switch (e->kind) {
	case EV_SCHED_WAKING:
		name_waking(c, e->arg[0], e->arg[1]);
		break;
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		use_cpu(c, e->arg[1]);
		break;
	case EV_SCHED_MIGRATE:
		name_cpu(c, e->arg[1], 1);
		use_cpu(c, e->arg[2]);
		break;
	case EV_STATE_LINE:
		name_online(c, s, e);
		break;
	default:
		break;
	}
}

static int look_at(struct census *census, struct stream *s)
{
	const kinds_t want = WANT(SCHED_WAKING) | WANT(SCHED_WAKEUP) | WANT(SCHED_WAKEUP_NEW) |
			     WANT(SCHED_MIGRATE) | WANT(STATE_LINE);
	struct event events[64];
	struct cursor c;
	unsigned nr;
	int ret = cursor_init(&c, s, 0, s->nr_packets, want, NULL);

	if (ret)
		return ret;
	c.records_left = LOOK_RECORDS;
	while ((nr = cursor_next(&c, events, ARRAY_SIZE(events)))) {
		for (unsigned i = 0; i < nr; i++)
			take_names(census, s, &events[i]);
	}
	cursor_release(&c);
	return 0;
}

/* A CPU that slept all the time has no events, either; it is not given any work. */
static void find_emptied(const struct census *c, struct trace *t)
{
	for (unsigned i = 0; i < t->nr_streams; i++) {
		struct stream *s = &t->streams[i];

		if (s->nr_packets || s->cut || (s->buffer && *s->buffer) ||
		    s->cpu >= TRACE_CPUS_MAX || c->cpus[s->cpu].used < TIMES_NAMED)
			continue;
		s->cut = true;
		trace_problem(t,
			      "%s: CPU %d has no events, and threads were to run on it: nothing is "
			      "known of it",
			      t->path, s->cpu);
	}
}

int cover_count_cpus(struct trace *t)
{
	struct census c = {.cpus = calloc(TRACE_CPUS_MAX, sizeof(*c.cpus)), .top = -1};
	int ret = c.cpus ? 0 : -ENOMEM;

	for (unsigned i = 0; i < t->nr_streams && !ret; i++) {
		if (t->streams[i].cpu < 0) /* any may be any's */
			goto out;
		if (t->format == TRACE_DAT || t->format == TRACE_CTF)
			ret = look_at(&c, &t->streams[i]);
	}
	for (int cpu = (int)t->nr_cpus; cpu <= c.top && !ret; cpu++)
		trace_problem(
			t,
			"%s: CPU %d has no stream in this trace, and its machine has that CPU: "
			"nothing is known of it",
			t->path, cpu);
	if (!ret && c.top >= (int)t->nr_cpus) {
		t->nr_cpus_named += (unsigned)c.top + 1 - t->nr_cpus;
		t->nr_cpus = (unsigned)c.top + 1;
	}
	if (!ret)
		find_emptied(&c, t);
out:
	free(c.cpus);
	return ret;
}
