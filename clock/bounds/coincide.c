/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/bounds/coincide.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_sort.h"
#include "clock/bounds/tighten.h"
#include "source/ticks.h"

/* The longest gaps are the most telling; more of them cost time and add doubt. */
#define GAPS_MAX 600
#define MATCHES_MAX (1u << 16)
#define MATCHES_MIN 8
/* Lengths of time, in us. */
#define GAP_MIN_US 300	    /* shorter ones are hypervisor's work */
#define GAP_SLACK_US 500    /* a guest is silent longer than it is out */
#define CLOSE_US 200	    /* offsets that agree */
#define FIRST_BOUND_US 3000 /* how wrong the first guess may be */
/* Drifts that are tried, when the rate is not exactly known. */
#define DRIFT_STEP_PPM 10
#define DRIFT_MAX_PPM 150
#define GUESSES 4
#define EVENTS_MIN 200
/* Events may be recorded with a slightly wrong time, but rarely. */
#define OUTSIDE_SHARE_MAX 0.001
#define THREADS_MAX 1024 /* of a host; of more it is never known which */
/* Events that a guess is first tried with. */
#define QUICK_EVENTS 2000

#define ANY_THREAD (-1)

struct gap {
	uint64_t end;
	uint64_t len;
};

struct gap_list {
	struct gap *list;
	size_t nr, room;
};

/* A host gap that may be a guest gap. */
struct match {
	uint64_t x;    /* guest ticks */
	double offset; /* host ticks less the nominal line */
};

struct match_list {
	struct match *list;
	size_t nr, room;
};

struct guess {
	double offset;
	double ppm;
	uint64_t agreeing;
};

static int longest_first(const void *a, const void *b)
{
	const struct gap *p = a, *q = b;

	return (p->len < q->len) - (p->len > q->len);
}

static int add_gap(struct gap_list *l, uint64_t begin, uint64_t end, double us)
{
	struct gap *g;

	if (end <= begin || (double)(end - begin) < GAP_MIN_US * us)
		return 0;
	g = sample_add(l);
	if (!g)
		return -ENOMEM;
	*g = (struct gap){end, end - begin};
	return 0;
}

static void keep_longest(struct gap_list *l)
{
	if (l->nr)
		qsort(l->list, l->nr, sizeof(*l->list), longest_first);
	if (l->nr > GAPS_MAX)
		l->nr = GAPS_MAX;
}

static int guest_gaps(struct gap_list *out, const struct tick_list *events, double us)
{
	int ret = 0;

	for (size_t i = 1; i < events->nr && ret == 0; i++)
		ret = add_gap(out, events->list[i - 1], events->list[i], us);
	keep_longest(out);
	return ret;
}

static int host_gaps(struct gap_list *out, const struct ranges *r, double us)
{
	int ret = 0;

	for (size_t i = 1; i < r->nr && ret == 0; i++)
		ret = add_gap(out, r->list[i - 1].end, r->list[i].begin, us);
	keep_longest(out);
	return ret;
}

/* The guest is silent all the time it is out, and not much longer if that is why. */
static bool alike(const struct gap *guest, double rate, const struct gap *host, double us)
{
	double g = (double)guest->len * rate, h = (double)host->len;

	return g * 1.001 >= h && g <= h * 1.25 + GAP_SLACK_US * us;
}

static int match_gaps(struct match_list *out, const struct gap_list *guest,
		      const struct gap_list *host, double rate, double us)
{
	for (size_t i = 0; i < guest->nr; i++) {
		for (size_t k = 0; k < host->nr && out->nr < MATCHES_MAX; k++) {
			struct match *m;

			if (!alike(&guest->list[i], rate, &host->list[k], us))
				continue;
			m = sample_add(out);
			if (!m)
				return -ENOMEM;
			*m = (struct match){guest->list[i].end,
					    (double)host->list[k].end -
						    rate * (double)guest->list[i].end};
		}
	}
	return 0;
}

/* Keeps the best guesses, one for each offset. */
static void note_guess(struct guess *best, struct guess g, double us)
{
	unsigned i = 0;

	while (i < GUESSES && best[i].agreeing &&
	       fabs(best[i].offset - g.offset) > FIRST_BOUND_US * us)
		i++;
	if (i < GUESSES && best[i].agreeing >= g.agreeing)
		return;
	if (i == GUESSES)
		i--;
	if (best[i].agreeing >= g.agreeing)
		return;
	for (; i > 0 && best[i - 1].agreeing < g.agreeing; i--)
		best[i] = best[i - 1];
	best[i] = g;
}

static double without_drift(const struct match *m, double ppm, double middle)
{
	return m->offset - ((double)m->x - middle) * ppm * 1e-6;
}

/* With the drift @ppm taken out: where do most offsets lie close together?  @items: room for twice
 * as many as there are matches. */
static void try_drift(const struct match_list *l, double ppm, double middle, double us,
		      struct sort_item *items, struct guess *best)
{
	double least = INFINITY, close = CLOSE_US * us;
	size_t lo = 0;

	for (size_t i = 0; i < l->nr; i++)
		least = fmin(least, without_drift(&l->list[i], ppm, middle));
	for (size_t i = 0; i < l->nr; i++) {
		double above = without_drift(&l->list[i], ppm, middle) - least;

		items[i].key = above < 0x1p62 ? (uint64_t)above : UINT64_C(1) << 62;
	}
	key_sort(items, l->nr);
	for (size_t hi = 0; hi < l->nr; hi++) {
		while ((double)(items[hi].key - items[lo].key) > close)
			lo++;
		if (hi - lo + 1 >= MATCHES_MIN)
			note_guess(best,
				   (struct guess){least + (double)items[lo + (hi - lo) / 2].key,
						  ppm, hi - lo + 1},
				   us);
	}
}

static int make_guesses(struct guess *best, const struct match_list *l, double middle,
			double limit_ppm, double us, struct stop *stop)
{
	struct sort_item *items = calloc(2 * l->nr + 1, sizeof(*items));
	double range = limit_ppm < DRIFT_MAX_PPM ? limit_ppm : DRIFT_MAX_PPM;

	if (!items)
		return -ENOMEM;
	memset(best, 0, GUESSES * sizeof(*best));
	for (double ppm = -range; ppm <= range && l->nr && !stop_asked(stop); ppm += DRIFT_STEP_PPM)
		try_drift(l, ppm, middle, us, items, best);
	free(items);
	return 0;
}

/* What is tried: one guest CPU against one thread. */
struct trial {
	const struct tick_list *events;
	const struct ranges *ranges;
	const struct fit_options *opt;
	double middle; /* guest ticks: drift turns around here */
	double us;     /* the host's ticks in one, about */
};

static int first_model(struct clock_model *m, const struct trial *t, const struct guess *g)
{
	double rate = (double)t->opt->mult / (double)(UINT64_C(1) << CLOCK_SHIFT);
	double x = (double)t->opt->x_begin;
	double y = g->offset + rate * x + (x - t->middle) * g->ppm * 1e-6;

	memset(m, 0, sizeof(*m));
	if (!(fabs(y) < 0x1p62))
		return -EINVAL;
	m->pieces = malloc(sizeof(*m->pieces));
	if (!m->pieces)
		return -ENOMEM;
	m->nr_pieces = 1;
	m->pieces[0] = (struct clock_piece){
		.from = t->opt->x_begin,
		.at_ns = llround(y),
		.mult = (uint64_t)llround((double)t->opt->mult +
					  g->ppm * 1e-6 * (double)(UINT64_C(1) << CLOCK_SHIFT)),
		.bound_ns = (ns_t)(FIRST_BOUND_US * t->us),
	};
	return 0;
}

/* A quick look at some of the events: are more outside than can be right?  Negative: no memory. */
static int plainly_wrong(const struct clock_model *m, const struct trial *t)
{
	struct contain_count sum = {0};
	struct tick_list some = {0};
	size_t step = t->events->nr / QUICK_EVENTS + 1;
	int ret = 0;

	for (size_t i = 0; i < t->events->nr && ret == 0; i += step) {
		uint64_t *x = sample_add(&some);

		if (x)
			*x = t->events->list[i];
		else
			ret = -ENOMEM;
	}
	if (ret == 0)
		contain_count(&sum, m, &some, t->ranges, UINT64_MAX);
	free(some.list);
	return ret ? ret : sum.outside > 2 + (uint64_t)(QUICK_EVENTS * OUTSIDE_SHARE_MAX * 10);
}

/* The events that fall into the host's sample by @m. */
static uint64_t count_seen(const struct clock_model *m, const struct tick_list *events,
			   const struct ranges *r)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < events->nr; i++) {
		ns_t y = clock_to_l0(m, (ticks_t){events->list[i]});

		seen += y >= 0 && (uint64_t)y >= r->from && (uint64_t)y <= r->to;
	}
	return seen;
}

/* 1: the guess passes, and *m is the model it leads to.  A clock that may jump fits any stays. */
static int test_guess(struct clock_model *m, const struct trial *t, const struct guess *g,
		      uint64_t *seen)
{
	const struct constraints none = {0};
	struct contained one = {t->events, *t->ranges};
	const struct contained_list list = {&one, 1, 1};
	uint64_t x = t->events->list[t->events->nr / 2];
	int ret = first_model(m, t, g);

	if (ret)
		return ret == -EINVAL ? 0 : ret;
	ret = plainly_wrong(m, t);
	if (ret) {
		clock_model_release(m);
		return ret < 0 ? ret : 0;
	}
	ret = tighten(m, &none, &list, t->opt, NULL);
	*seen = ret ? 0 : count_seen(m, t->events, t->ranges);
	if (*seen >= EVENTS_MIN && !m->nr_breaks &&
	    (double)m->nr_violations <= (double)*seen * OUTSIDE_SHARE_MAX &&
	    (double)clock_bound(m, (ticks_t){x}) < FIRST_BOUND_US * t->us / 4)
		return 1;
	clock_model_release(m);
	return ret;
}

/* Two guesses may lead to one answer. */
static bool same_answer(const struct clock_model *a, const struct clock_model *b, uint64_t x)
{
	ticks_t t = {x};
	__int128 off = (__int128)clock_to_l0(a, t) - clock_to_l0(b, t);

	return (off < 0 ? -off : off) <= (__int128)clock_bound(a, t) + clock_bound(b, t);
}

/* Tests all guesses for one thread; adds the one that passes to @out. */
static int test_guesses(struct coincidence *out, unsigned *passed, const struct trial *t,
			const struct guess *guesses, int32_t tid)
{
	for (unsigned i = 0; i < GUESSES && guesses[i].agreeing; i++) {
		struct clock_model m;
		uint64_t seen = 0;
		int ret = test_guess(&m, t, &guesses[i], &seen);

		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		if (*passed &&
		    !(out->tid == tid && same_answer(&m, &out->model, (uint64_t)t->middle)))
			++*passed;
		if (*passed) {
			clock_model_release(&m);
			continue;
		}
		*passed = 1;
		out->model = m;
		out->model.method = CLOCK_METHOD_CONTAINMENT;
		out->tid = tid;
		out->agreeing = guesses[i].agreeing;
		out->events = seen;
	}
	return 0;
}

/* Calls @each for every thread that has stays, until it returns other than 0; for the first ones,
 * when there are too many: *@all is false then. */
static int each_thread(const struct sample *host, bool *all, int (*each)(int32_t tid, void *data),
		       void *data)
{
	unsigned nr = 0;
	int ret = 0;

	*all = true;
	for (size_t i = 0; i < host->stays.nr && ret == 0; i++) {
		if (i && host->stays.list[i].tid == host->stays.list[i - 1].tid)
			continue;
		*all = nr++ < THREADS_MAX;
		if (!*all)
			break;
		ret = each(host->stays.list[i].tid, data);
	}
	return ret;
}

struct all_ranges {
	struct ranges *out;
	const struct sample *host;
	bool nested;
};

static int join_thread(int32_t tid, void *data)
{
	struct all_ranges *all = data;
	struct ranges one;
	int ret = ranges_of_thread(&one, all->host, tid, all->nested);

	if (ret == 0)
		ret = ranges_join(all->out, &one);
	ranges_release(&one);
	return ret;
}

/* Of all threads together. */
static int ranges_of_all(struct ranges *out, const struct sample *host, bool nested)
{
	struct all_ranges ranges = {out, host, nested};
	bool all; /* what those left out ran lies in no range, and the guess fails */

	*out = (struct ranges){.from = host->begin, .to = host->end};
	return each_thread(host, &all, join_thread, &ranges);
}

static int try_thread(struct coincidence *out, unsigned *passed, const struct sample *guest,
		      const struct sample *host, int32_t tid, bool nested,
		      const struct gap_list *silent, const struct fit_options *opt)
{
	double rate = (double)opt->mult / (double)(UINT64_C(1) << CLOCK_SHIFT);
	struct guess guesses[GUESSES];
	struct match_list matches = {0};
	struct gap_list absent = {0};
	struct ranges r;
	struct trial t = {&guest->events[out->cpu], &r, opt,
			  (double)opt->x_begin + (double)(opt->x_end - opt->x_begin) / 2,
			  ticks_per_us(host->trace)};
	int ret = tid == ANY_THREAD ? ranges_of_all(&r, host, nested)
				    : ranges_of_thread(&r, host, tid, nested);

	if (ret == 0)
		ret = host_gaps(&absent, &r, t.us);
	if (ret == 0)
		ret = match_gaps(&matches, silent, &absent, rate, t.us);
	if (ret == 0)
		ret = make_guesses(guesses, &matches, t.middle, opt->limit_ppm, t.us, opt->stop);
	if (ret == 0)
		ret = test_guesses(out, passed, &t, guesses, tid);
	free(matches.list);
	free(absent.list);
	ranges_release(&r);
	return ret;
}

int32_t coincide_cpu(const struct sample *s)
{
	int32_t best = -1;

	for (unsigned i = 0; i < s->nr_cpus; i++) {
		if (s->events[i].nr >= EVENTS_MIN &&
		    (best < 0 || s->events[i].nr > s->events[best].nr))
			best = (int32_t)i;
	}
	return best;
}

struct thread_trial {
	struct coincidence *out;
	const struct sample *guest, *host;
	const struct fit_options *opt;
	bool nested;
	struct gap_list silent;
	unsigned passed;
};

static int each_trial(int32_t tid, void *data)
{
	struct thread_trial *t = data;

	if (stop_asked(t->opt->stop))
		return -EINTR;
	return try_thread(t->out, &t->passed, t->guest, t->host, tid, t->nested, &t->silent,
			  t->opt);
}

int coincide_find(struct coincidence *out, const struct sample *guest, const struct sample *host,
		  bool nested, const struct fit_options *opt)
{
	struct thread_trial t = {
		.out = out, .guest = guest, .host = host, .opt = opt, .nested = nested};
	bool all = true;
	int ret;

	memset(out, 0, sizeof(*out));
	out->cpu = coincide_cpu(guest);
	if (out->cpu < 0)
		return COINCIDE_NONE;
	ret = guest_gaps(&t.silent, &guest->events[out->cpu], ticks_per_us(guest->trace));
	if (ret == 0)
		ret = each_thread(host, &all, each_trial, &t);
	/* A guest's guest moves with the thread of its VMM, from vCPU to vCPU. */
	if (ret == 0 && nested && !t.passed)
		ret = each_trial(ANY_THREAD, &t);
	free(t.silent.list);
	if (ret == 0 && t.passed == 1 && all)
		return COINCIDE_FOUND;
	clock_model_release(&out->model);
	if (ret)
		return ret;
	return t.passed ? COINCIDE_AMBIGUOUS : COINCIDE_NONE;
}

struct thread_search {
	const struct clock_model *model;
	const struct tick_list *events;
	const struct sample *host;
	int32_t tid;
	unsigned found;
	uint64_t seen;
};

static int each_candidate(int32_t tid, void *data)
{
	struct thread_search *s = data;
	struct contain_count sum = {0};
	uint64_t seen = 0;
	struct ranges r;
	int ret = ranges_of_thread(&r, s->host, tid, false);

	if (ret == 0) {
		seen = count_seen(s->model, s->events, &r);
		contain_count(&sum, s->model, s->events, &r, UINT64_MAX);
	}
	ranges_release(&r);
	if (ret == 0 && seen >= EVENTS_MIN &&
	    (double)sum.outside <= (double)seen * OUTSIDE_SHARE_MAX) {
		s->tid = tid;
		s->found++;
		s->seen = seen;
	}
	return ret;
}

int32_t coincide_thread(const struct clock_model *model, const struct tick_list *events,
			const struct sample *host, uint64_t *seen)
{
	struct thread_search s = {.model = model, .events = events, .host = host, .tid = -1};
	bool all;

	if (each_thread(host, &all, each_candidate, &s) || s.found != 1 || !all)
		return -1;
	*seen = s.seen;
	return s.tid;
}
