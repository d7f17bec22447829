/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/survey.h"
#include "source/ticks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The taste: most of its records are only stepped over. */
#define HEADS_MIN 32
#define HEADS_MAX 256
#define HEAD_BYTES (256u << 10) /* one for so many */
#define HEADS_RECORDS 65536
#define CHUNK_BYTES (64u << 20)
#define CHUNK_RECORDS 65536
#define MORE_EFFORT 4
/* Windows: how many, how long. */
#define MOMENTS 8
#define WINDOW_US 400e3
/* What comes before a window in its packets has to be decoded anyway; so much of it is kept.  More
 * makes no bound better. */
#define BEFORE_WINDOWS 2
/* Rough clocks are not followed further than this. */
#define MARGIN_MAX_US 1e6
/* A bound that stands out so much, between two windows, is a doubt. */
#define DOUBT_US 100
#define DOUBT_TIMES 6
#define DOUBT_LEAST_US 40e3
#define DOUBTS_MAX 40
/* All windows together hold no more events than this, about; an event takes so many bytes. */
#define WINDOWS_EVENTS (SAMPLE_EVENTS_MAX / 2)
#define EVENT_BYTES 40

static bool has_kind(const struct trace *t, kinds_t kinds)
{
	for (unsigned i = 0; i < t->nr_types; i++) {
		if (t->types[i].kind < EV_NR_KINDS && (kinds & KIND_BIT(t->types[i].kind)))
			return true;
	}
	return false;
}

int survey_taste(struct plan *p, const struct trace *t, unsigned effort)
{
	kinds_t host = WANT(KVM_HYPERCALL) | WANT(VMSYNC_GH_HOST) | WANT(VMSYNC_HG_HOST);
	kinds_t guest =
		WANT(SYNC_REQUEST) | WANT(SYNC_ACK) | WANT(VMSYNC_GH_GUEST) | WANT(VMSYNC_HG_GUEST);
	uint64_t wanted = plan_trace_bytes(t) / HEAD_BYTES, heads = 1;
	size_t times = 1;
	int ret = 0;

	wanted = wanted < HEADS_MIN ? HEADS_MIN : wanted > HEADS_MAX ? HEADS_MAX : wanted;
	while (effort-- > 0)
		times *= MORE_EFFORT;
	wanted *= times;
	for (unsigned i = 0; i < t->nr_streams; i++)
		heads += t->streams[i].nr_packets < wanted ? t->streams[i].nr_packets : wanted;
	if (has_kind(t, host))
		ret = plan_heads(p, t, (unsigned)wanted, HEADS_RECORDS * times / heads + 200);
	for (unsigned k = 0; k < 3 && ret == 0 && has_kind(t, guest); k++)
		ret = plan_chunk(p, t, k / 3.0, CHUNK_BYTES * times, CHUNK_RECORDS * times);
	if (ret == 0 && has_kind(t, host | guest))
		ret = plan_tail(p, t);
	plan_settle(p);
	return ret;
}

int survey_whole(struct plan *p, const struct trace *t)
{
	int ret = plan_whole(p, t);

	plan_settle(p);
	return ret;
}

/* The last tick that it recorded something at, as far as was seen. */
static uint64_t last_active(const struct sample *s)
{
	return s->active ? s->active : s->last;
}

/* The L0 times in which both L0 and @p record something; false when there are none. */
static bool common_time(const struct placed *p, uint64_t *begin, uint64_t *end)
{
	const struct sample *l0 = p->l0->candidate->sample, *s = p->candidate->sample;
	ns_t a = clock_to_l0(&p->to_l0, (ticks_t){s->first});
	ns_t b = clock_to_l0(&p->to_l0, (ticks_t){last_active(s)});

	*begin = a > 0 && (uint64_t)a > l0->first ? (uint64_t)a : l0->first;
	*end = b > 0 && (uint64_t)b < last_active(l0) ? (uint64_t)b : last_active(l0);
	return *begin < *end;
}

/* Adds @at, unless there is a moment near it between @begin and @end already. */
static int add_moment(struct moments *m, uint64_t at, double apart, uint64_t begin, uint64_t end)
{
	uint64_t *n;

	for (size_t i = 0; i < m->nr; i++) {
		if (m->list[i] >= begin && m->list[i] <= end &&
		    fabs((double)m->list[i] - (double)at) < apart)
			return 0;
	}
	n = sample_add(m);
	if (!n)
		return -ENOMEM;
	*n = at;
	return 0;
}

int survey_moments(struct moments *out, const struct placed *placed, unsigned nr)
{
	double us = ticks_per_us(placed[0].candidate->sample->trace);
	int ret = 0;

	for (unsigned i = 1; i < nr; i++) {
		uint64_t begin, end;
		double len;

		if (!common_time(&placed[i], &begin, &end))
			continue;
		len = (double)(end - begin);
		for (unsigned k = 0; k < MOMENTS && ret == 0; k++)
			ret = add_moment(
				out, begin + (uint64_t)(len * (0.01 + 0.98 * k / (MOMENTS - 1))),
				len / MOMENTS / 2, begin, end);
		out->spacing_ns = fmax(out->spacing_ns, 2 * len / MOMENTS / us * 1000);
	}
	return ret;
}

/* The bound that most of the time has. */
static ns_t usual_bound(const struct clock_model *c)
{
	ns_t least = CLOCK_NO_BOUND;

	for (unsigned i = 0; i < c->nr_pieces; i++)
		least = c->pieces[i].bound_ns < least ? c->pieces[i].bound_ns : least;
	return least;
}

/* Moments in the stretch from @begin to @end, of which little is known. */
static int add_between(struct moments *out, ns_t begin, ns_t end, bool *more)
{
	double len = (double)end - (double)begin;

	for (unsigned k = 1; k < 4 && out->nr < DOUBTS_MAX; k++) {
		if (add_moment(out, (uint64_t)((double)begin + len * k / 4), len / 8, 0,
			       UINT64_MAX))
			return -ENOMEM;
		*more = true;
	}
	return 0;
}

/* Neighbouring pieces in doubt are one stretch: what is found in it decides about all of them. */
static int doubts_of(struct moments *out, const struct placed *p, double us, bool *more)
{
	const struct clock_model *c = &p->to_l0;
	double limit = fmax(DOUBT_US * us, DOUBT_TIMES * (double)usual_bound(c));
	int ret = 0;

	for (unsigned i = 1, next; i + 1 < c->nr_pieces && ret == 0; i = next + 1) {
		ns_t begin = c->pieces[i].at_ns;

		next = i;
		while (next + 1 < c->nr_pieces && (double)c->pieces[next].bound_ns >= limit)
			next++;
		if (next > i && begin >= 0 &&
		    (double)(c->pieces[next].at_ns - begin) >= DOUBT_LEAST_US * us)
			ret = add_between(out, begin, c->pieces[next].at_ns, more);
	}
	return ret;
}

int survey_doubts(struct moments *out, const struct placed *placed, unsigned nr, bool *more)
{
	double us = ticks_per_us(placed[0].candidate->sample->trace);
	int ret = 0;

	*more = false;
	for (unsigned i = 1; i < nr && ret == 0; i++)
		ret = doubts_of(out, &placed[i], us, more);
	return ret;
}

/* In L0's ticks: the length of the windows, and of what is taken along before them. */
struct lengths {
	double window, before;
};

static struct lengths window_lengths(const struct placed *placed, unsigned nr, size_t moments,
				     double us)
{
	const struct sample *s = placed[0].candidate->sample;
	double span = (double)(s->last - s->first) + 1, bytes = 1, most;
	struct lengths l;

	for (unsigned i = 0; i < nr; i++)
		bytes += (double)plan_trace_bytes(placed[i].candidate->sample->trace);
	most = WINDOWS_EVENTS / (double)(moments + 1) / (bytes / EVENT_BYTES / span);
	l.window = fmin(WINDOW_US * us, most);
	l.before = fmin(most - l.window, BEFORE_WINDOWS * l.window);
	return l;
}

/* The window [begin, end] of L0 in a machine's own trace. */
static int own_window(struct plan *plan, const struct placed *p, uint64_t begin, uint64_t end,
		      uint64_t before, double us)
{
	const struct trace *t = p->candidate->sample->trace;
	uint64_t a, b;
	ns_t margin;

	if (p == p->l0)
		return plan_window(plan, t, begin, end, before);
	margin = clock_bound(&p->to_l0, clock_from_l0(&p->to_l0, (ns_t)begin));
	margin = (ns_t)fmin((double)margin, MARGIN_MAX_US * us);
	a = clock_from_l0(&p->to_l0, (ns_t)begin - margin).v;
	b = clock_from_l0(&p->to_l0, (ns_t)end + margin).v;
	if (b < p->candidate->sample->first || a > p->candidate->sample->last)
		return 0;
	return plan_window(plan, t, a, b, before);
}

int survey_windows(struct plan *plans, const struct moments *m, const struct placed *placed,
		   unsigned nr)
{
	double us = ticks_per_us(placed[0].candidate->sample->trace);
	struct lengths l = window_lengths(placed, nr, m->nr, us);
	uint64_t half = (uint64_t)(l.window / 2);
	int ret = 0;

	for (unsigned i = 0; i < nr && ret == 0; i++) {
		for (size_t k = 0; k < m->nr && ret == 0; k++) {
			uint64_t at = m->list[k] > INT64_MAX / 2 ? INT64_MAX / 2 : m->list[k];

			ret = own_window(&plans[i], &placed[i], at > half ? at - half : 0,
					 at + half, (uint64_t)l.before, us);
		}
		plan_settle(&plans[i]);
	}
	return ret;
}

void moments_release(struct moments *m)
{
	free(m->list);
	memset(m, 0, sizeof(*m));
}
