/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/bounds/timers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How long before its end a timer was started.  A guest that is late programs another moment than
 * the timer's; over long times it counts that the kernels may differ about the TSC's rate. */
#define LEFT_MIN_NS 10000
#define LEFT_MAX_NS 10000000
#define RATE_PPM 50
/* Deadlines are whole TSC ticks, and the guest's are multiples of 8. */
#define ROUNDING_NS 10
/* Timers of one group, how many later the next one begins, the longest time between its first and
 * last, and the most that its middle half may be apart. */
#define GROUP 9
#define GROUP_STEP 3
#define GROUP_NS 200000000
#define SPREAD_NS 1000
/* A guest's timers that end close to each other; more are not looked at. */
#define CANDIDATES_MAX 64
/* So far beyond what the model allows a timer is still taken for the one that is meant, but not
 * used; if most are beyond, something is wrong with the timers or the model. */
#define REACH_NS 10000
/* With a worse model than this most timers could be several of the other side's. */
#define BOUND_MAX_NS 1000000

struct match {
	uint64_t x; /* guest's clock when KVM's timer was started, by this match */
	uint64_t y;
	int64_t wrong;	 /* what the host's clock showed then, less what the model says, but for
			    the advance */
	int64_t inexact; /* and this much either way, if the gaps are usual */
	bool beyond;	 /* the model rules it out */
};

struct match_list {
	struct match *list;
	size_t nr, room;
};

struct matching {
	const struct clock_model *model;
	const struct sample *host;
	int32_t tid;
	struct armed *by_expiry; /* owned */
	size_t nr;
	struct match_list matches;
	uint64_t beyond; /* matches that the model rules out */
};

bool timers_apply(const struct sample *guest, const struct sample *host)
{
	const struct trace_clock *g = &guest->trace->clock, *h = &host->trace->clock;

	return g->kind == CLOCK_MONO && h->kind == CLOCK_MONO &&
	       (!g->freq_hz || g->freq_hz == (uint64_t)NS_PER_SEC) &&
	       (!h->freq_hz || h->freq_hz == (uint64_t)NS_PER_SEC);
}

static int by_expiry(const void *a, const void *b)
{
	const struct armed *p = a, *q = b;

	if (p->expires != q->expires)
		return (p->expires > q->expires) - (p->expires < q->expires);
	return (p->time > q->time) - (p->time < q->time);
}

/* The first that does not expire before @expires. */
static size_t first_from(const struct matching *m, uint64_t expires)
{
	size_t lo = 0, hi = m->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->by_expiry[mid].expires < expires)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The vCPU's last stay in guest mode before @time; NULL when its guest's guest may have run. */
static const struct stay *stay_before(const struct matching *m, uint64_t time)
{
	size_t nr, lo = 0, hi;
	const struct stay *s = sample_stays(m->host, m->tid, &nr);

	for (hi = nr; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (s[mid].begin <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || s[lo - 1].end > time || s[lo - 1].unsure || s[lo - 1].nested == NESTED_YES)
		return NULL;
	return &s[lo - 1];
}

/* What @d says of the clocks if it is the guest's timer @a; false: that is out of the question. */
static bool compare(const struct matching *m, const struct deadline *d, const struct armed *a,
		    struct match *out)
{
	__int128 x = (__int128)d->time - d->expires + a->expires, wrong;
	ns_t bound;

	if (x < 0 || x > INT64_MAX)
		return false;
	out->x = (uint64_t)x;
	out->y = d->time;
	out->inexact = TIMERS_GAP_NS + ROUNDING_NS +
		       (int64_t)((d->expires - d->time) * RATE_PPM / 1000000);
	bound = clock_bound(m->model, (ticks_t){out->x});
	wrong = (__int128)d->time - clock_to_l0(m->model, (ticks_t){out->x});
	if (bound > BOUND_MAX_NS || wrong > bound + REACH_NS ||
	    wrong < -(bound + TIMERS_ADVANCE_NS + REACH_NS))
		return false;
	out->wrong = (int64_t)wrong;
	out->beyond =
		wrong > bound + out->inexact || wrong < -(bound + TIMERS_ADVANCE_NS + out->inexact);
	return true;
}

/*
 * Surely started in the stay that ended with the write: then the guest read its clock in that stay,
 * too, and there was no exit between that and its reading of the TSC.
 */
static bool in_stay(const struct matching *m, const struct armed *a, const struct stay *s)
{
	ns_t bound = clock_bound(m->model, (ticks_t){a->time});
	__int128 y = clock_to_l0(m->model, (ticks_t){a->time});

	return y - bound >= s->begin && y - bound <= s->end;
}

/* Looks at the guest's timers from @at in steps of @step; false: it is not clear which is meant. */
static bool look(const struct matching *m, const struct deadline *d, size_t at, int step,
		 const struct armed **found, struct match *out)
{
	struct match this;

	for (unsigned n = 0; at < m->nr; at += (size_t)step, n++) {
		const struct armed *a = &m->by_expiry[at];

		if (n == CANDIDATES_MAX)
			return false;
		if (!compare(m, d, a, &this))
			return true;
		if (a->time > this.x) /* not yet started */
			continue;
		if (*found && (*found)->expires != a->expires)
			return false;
		if (*found && (*found)->time > a->time)
			continue;
		*found = a;
		*out = this;
	}
	return true;
}

/* The guest's timer for which KVM started @d, if there is no doubt. */
static int match_one(struct matching *m, const struct deadline *d)
{
	const struct stay *stay = stay_before(m, d->time);
	const struct armed *found = NULL;
	struct match out, *n;
	size_t at;

	if (!stay || d->expires < d->time + LEFT_MIN_NS || d->expires - d->time > LEFT_MAX_NS ||
	    d->expires > INT64_MAX)
		return 0;
	at = first_from(m, clock_from_l0(m->model, (ns_t)d->expires).v);
	if (!look(m, d, at, 1, &found, &out) || !look(m, d, at - 1, -1, &found, &out))
		return 0;
	if (!found || !in_stay(m, found, stay))
		return 0;
	if (out.beyond) {
		m->beyond++;
		return 0;
	}
	n = sample_add(&m->matches);
	if (!n)
		return -ENOMEM;
	*n = out;
	return 0;
}

/* A vCPU has one timer, always at the same address: that of most deadlines.  Others are somebody
 * else's, started by an interrupt in between. */
static uint64_t usual_timer(const struct deadline *d, size_t nr)
{
	uint64_t timer = 0;
	size_t lead = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!lead)
			timer = d[i].timer;
		lead = d[i].timer == timer ? lead + 1 : lead - 1;
	}
	return timer;
}

static const struct deadline *deadlines_of(const struct sample *host, int32_t tid, size_t *nr)
{
	const struct deadline *d = host->deadlines.list;
	size_t lo = 0, hi = host->deadlines.nr, end;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d[mid].tid < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < host->deadlines.nr && d[end].tid == tid;)
		end++;
	*nr = end - lo;
	return *nr ? &d[lo] : NULL;
}

static int match_all(struct matching *m)
{
	size_t nr;
	const struct deadline *d = deadlines_of(m->host, m->tid, &nr);
	uint64_t timer = usual_timer(d, nr);
	int ret = 0;

	for (size_t i = 0; i < nr && ret == 0; i++) {
		if (d[i].timer == timer)
			ret = match_one(m, &d[i]);
	}
	return ret;
}

static int up(const void *a, const void *b)
{
	int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;

	return (p > q) - (p < q);
}

/*
 * What a group says: a constraint from both sides, or nothing.  Each match with usual gaps says
 * that the host's clock is no less than one figure and no more than another.  As most of them are
 * right, so are the medians.
 */
static bool judge(const struct clock_model *model, const struct match *g, struct constraint *lower,
		  struct constraint *upper)
{
	uint64_t x = g[GROUP / 2].x;
	int64_t wrong[GROUP], low[GROUP], high[GROUP];
	__int128 y = clock_to_l0(model, (ticks_t){x});

	for (unsigned i = 0; i < GROUP; i++) {
		wrong[i] = g[i].wrong;
		low[i] = g[i].wrong - g[i].inexact;
		high[i] = g[i].wrong + TIMERS_ADVANCE_NS + g[i].inexact;
	}
	qsort(wrong, GROUP, sizeof(*wrong), up);
	qsort(low, GROUP, sizeof(*low), up);
	qsort(high, GROUP, sizeof(*high), up);
	if (wrong[GROUP * 3 / 4] - wrong[GROUP / 4] > SPREAD_NS)
		return false;
	*lower = (struct constraint){x, clamp_tick(y + low[GROUP / 2]), false, false};
	*upper = (struct constraint){x, clamp_tick(y + high[GROUP / 2]), true, false};
	return true;
}

static int judge_all(struct constraints *out, const struct matching *m, struct timers *t)
{
	size_t done = 0, step;
	int ret = 0;

	for (size_t i = 0; i + GROUP <= m->matches.nr && ret == 0; i += step) {
		const struct match *g = &m->matches.list[i];
		struct constraint lower, upper;

		step = 1;
		if (g[GROUP - 1].y - g[0].y > GROUP_NS)
			continue;
		step = GROUP_STEP;
		if (!judge(m->model, g, &lower, &upper))
			continue;
		t->used += i + GROUP - (done > i ? done : i);
		done = i + GROUP;
		ret = constraints_add(out, lower.x, lower.y, false);
		if (ret == 0)
			ret = constraints_add(out, upper.x, upper.y, true);
	}
	return ret;
}

int timers_constraints(struct constraints *out, const struct clock_model *model,
		       const struct sample *guest, unsigned cpu, const struct sample *host,
		       int32_t tid, struct timers *t)
{
	struct matching m = {.model = model, .host = host, .tid = tid};
	int ret = 0;

	if (!guest->armed || cpu >= guest->nr_cpus || !guest->armed[cpu].nr || !model->nr_pieces)
		return 0;
	m.nr = guest->armed[cpu].nr;
	m.by_expiry = malloc(m.nr * sizeof(*m.by_expiry));
	if (!m.by_expiry)
		return -ENOMEM;
	memcpy(m.by_expiry, guest->armed[cpu].list, m.nr * sizeof(*m.by_expiry));
	qsort(m.by_expiry, m.nr, sizeof(*m.by_expiry), by_expiry);
	ret = match_all(&m);
	if (ret == 0 && m.beyond > m.matches.nr)
		t->refuted += m.beyond;
	else if (ret == 0)
		ret = judge_all(out, &m, t);
	free(m.by_expiry);
	free(m.matches.list);
	return ret;
}
