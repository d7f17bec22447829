/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good a clock could be: for each machine below another, what ALL constraints of the run leave
 * (every call, every event of every vCPU, every timer; nothing is sampled, thinned or given up
 * early), beside the bound that the clock search states for the same ticks:
 *
 *	show_limits PATH...
 *
 * What a constraint is, is the search's own; which lines satisfy all of them is found here in
 * another way: by slopes, one after the other.  Everything is kept in memory: for small runs.  One
 * line is to satisfy them for the whole run, which is more than the search takes for granted.
 * Before the first constraint and after the last one there is nothing to compare.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/bounds/contain.h"
#include "clock/bounds/pairs.h"
#include "clock/bounds/rates.h"
#include "clock/bounds/timers.h"
#include "clock/topology.h"

#define KNOTS 257
#define ROUNDS 10
#define GAINS 0.002 /* a round that gains less is the last */
#define STEPS 100   /* of a search for a slope */

struct point {
	double x, y;
};

/* The constraints of one side, sorted by x; only those on the hull are kept. */
struct side {
	struct point *list; /* owned */
	size_t nr, room;
	double sign; /* 1: the line is below, -1: above */
};

struct limits {
	struct side upper, lower;
	double limit;				/* of slopes */
	double lo[KNOTS], hi[KNOTS], at[KNOTS]; /* the band */
	double first, last;			/* constraints */
};

/* Ticks and times as differences from the middle of the run, so that doubles do. */
struct frame {
	uint64_t x0;
	ns_t y0;
};

static void add(struct side *s, double x, double y)
{
	struct point *p = sample_add(s);

	if (!p)
		abort();
	*p = (struct point){x, y * s->sign};
}

static int by_x(const void *a, const void *b)
{
	const struct point *p = a, *q = b;

	if (p->x != q->x)
		return (p->x > q->x) - (p->x < q->x);
	return (p->y > q->y) - (p->y < q->y);
}

/* Keeps the lower convex hull: a line below that is below all. */
static void prune(struct side *s)
{
	size_t n = 0;

	qsort(s->list, s->nr, sizeof(*s->list), by_x);
	for (size_t i = 0; i < s->nr; i++) {
		struct point p = s->list[i];

		if (n && s->list[n - 1].x == p.x)
			continue;
		while (n >= 2 &&
		       (s->list[n - 1].y - s->list[n - 2].y) * (p.x - s->list[n - 2].x) >=
			       (p.y - s->list[n - 2].y) * (s->list[n - 1].x - s->list[n - 2].x))
			n--;
		s->list[n++] = p;
	}
	s->nr = n;
}

/* The most that a line of slope @slope can show at 0 for a side, times its sign. */
static double most(const struct side *s, double slope)
{
	double least = INFINITY;

	for (size_t i = 0; i < s->nr; i++)
		least = fmin(least, s->list[i].y - s->sign * slope * s->list[i].x);
	return least;
}

/* How much room there is for lines of a slope; concave. */
static double room(const struct limits *l, double slope)
{
	return most(&l->upper, slope) + most(&l->lower, slope);
}

/* What such a line can show at @x, at most (@sign 1) or, negated, at least (-1); concave. */
static double reach(const struct limits *l, double slope, double x, double sign)
{
	return most(sign > 0 ? &l->upper : &l->lower, slope) + sign * slope * x;
}

/* Where in [a, b] there is most room. */
static double roomiest(const struct limits *l, double a, double b)
{
	for (unsigned i = 0; i < STEPS; i++) {
		double p = a + (b - a) / 3, q = b - (b - a) / 3;

		if (room(l, p) < room(l, q))
			a = p;
		else
			b = q;
	}
	return (a + b) / 2;
}

/* The last slope between @in, where there is room, and @out that still has some. */
static double last_with_room(const struct limits *l, double in, double out)
{
	if (room(l, out) >= 0)
		return out;
	for (unsigned i = 0; i < STEPS; i++) {
		double mid = (in + out) / 2;

		*(room(l, mid) >= 0 ? &in : &out) = mid;
	}
	return in;
}

static double farthest(const struct limits *l, double a, double b, double x, double sign)
{
	for (unsigned i = 0; i < STEPS; i++) {
		double p = a + (b - a) / 3, q = b - (b - a) / 3;

		if (reach(l, p, x, sign) < reach(l, q, x, sign))
			a = p;
		else
			b = q;
	}
	return sign * reach(l, (a + b) / 2, x, sign);
}

/* The band that all constraints so far leave; false: they contradict each other. */
static bool find_band(struct limits *l)
{
	double best, a, b;

	prune(&l->upper);
	prune(&l->lower);
	best = roomiest(l, -l->limit, l->limit);
	if (room(l, best) < 0)
		return false;
	a = last_with_room(l, best, -l->limit);
	b = last_with_room(l, best, l->limit);
	for (unsigned i = 0; i < KNOTS; i++) {
		l->hi[i] = farthest(l, a, b, l->at[i], 1);
		l->lo[i] = farthest(l, a, b, l->at[i], -1);
	}
	return true;
}

static double between(const struct limits *l, const double *band, double x)
{
	double step = l->at[1] - l->at[0], i = floor((x - l->at[0]) / step), part;
	unsigned k = i < 0 ? 0 : i > KNOTS - 2 ? KNOTS - 2 : (unsigned)i;

	part = (x - l->at[k]) / step;
	return band[k] + part * (band[k + 1] - band[k]);
}

static void take(struct limits *l, const struct frame *f, const struct constraints *c,
		 const struct fit_options *o)
{
	for (size_t i = 0; i < c->nr; i++) {
		const struct constraint *k = &c->list[i];
		double x = (double)((int64_t)(k->x - f->x0));
		double y = (double)((__int128)k->y - f->y0) -
			   x * (double)o->mult / (double)(UINT64_C(1) << CLOCK_SHIFT);

		l->first = fmin(l->first, x);
		l->last = fmax(l->last, x);
		if (k->upper)
			add(&l->upper, x, y + (double)o->slack);
		else
			add(&l->lower, x, y - (double)o->slack);
	}
}

/* First range that ends at @y or later. */
static size_t first_ending(const struct ranges *r, double y)
{
	size_t lo = 0, hi = r->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if ((double)r->list[mid].end < y)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* What containment says of all of a vCPU's events, given the band. */
static void contain(struct limits *l, const struct frame *f, const struct tick_list *events,
		    const struct ranges *r, const struct fit_options *o, struct constraints *found)
{
	double mult = (double)o->mult / (double)(UINT64_C(1) << CLOCK_SHIFT);

	for (size_t i = 0; i < events->nr; i++) {
		double x = (double)((int64_t)(events->list[i] - f->x0));
		double lo = (double)f->y0 + x * mult + between(l, l->lo, x) - (double)o->slack;
		double hi = (double)f->y0 + x * mult + between(l, l->hi, x) + (double)o->slack;
		size_t k = first_ending(r, lo), last = k;

		if (lo < (double)r->from || hi > (double)r->to || k == r->nr ||
		    (double)r->list[k].begin > hi)
			continue;
		while (last + 1 < r->nr && (double)r->list[last + 1].begin <= hi)
			last++;
		if ((double)r->list[k].begin > lo &&
		    constraints_add(found, events->list[i], r->list[k].begin, false))
			abort();
		if ((double)r->list[last].end < hi &&
		    constraints_add(found, events->list[i], r->list[last].end, true))
			abort();
	}
}

static double width(const struct limits *l)
{
	double sum = 0;

	for (unsigned i = 0; i < KNOTS; i++)
		sum += l->hi[i] - l->lo[i];
	return sum;
}

/* Calls and timers; the latter by the search's own model, which tells which one is meant. */
static void other_constraints(struct constraints *c, const struct machine *m,
			      const struct sample *guest, const struct sample *host)
{
	struct call_index *calls;
	struct vcpu_vote_list votes = {0};
	struct timers timers = {0};
	const struct pair_guest of = {.sample = guest};
	uint64_t nr;

	if (call_index_make(&calls, host) || pairs_constraints(calls, &of, c, &votes, &nr))
		abort();
	for (unsigned i = 0; i < m->nr_vcpus && timers_apply(guest, host); i++) {
		if (timers_constraints(c, &m->to_parent, guest, (unsigned)m->vcpus[i].vcpu, host,
				       m->vcpus[i].host_tid, &timers))
			abort();
	}
	call_index_release(calls);
	free(votes.list);
}

static bool search(struct limits *l, const struct frame *f, const struct machine *m,
		   const struct sample *guest, const struct sample *host,
		   const struct fit_options *o)
{
	struct constraints c = {0};
	double before = INFINITY;
	bool ok = true;

	other_constraints(&c, m, guest, host);
	for (unsigned i = 0; i < ROUNDS && ok; i++) {
		for (unsigned k = 0; k < m->nr_vcpus; k++) {
			struct ranges r;

			if (ranges_of_thread(&r, host, m->vcpus[k].host_tid, false))
				abort();
			contain(l, f, &guest->events[m->vcpus[k].vcpu], &r, o, &c);
			ranges_release(&r);
		}
		take(l, f, &c, o);
		c.nr = 0;
		ok = find_band(l);
		if (!ok || width(l) > before * (1 - GAINS))
			break;
		before = width(l);
	}
	constraints_release(&c);
	return ok;
}

/* The band begins as what the search says itself. */
static void begin(struct limits *l, const struct frame *f, const struct machine *m,
		  const struct sample *guest, const struct fit_options *o)
{
	double mult = (double)o->mult / (double)(UINT64_C(1) << CLOCK_SHIFT);

	for (unsigned i = 0; i < KNOTS; i++) {
		double share = (double)i / (KNOTS - 1);
		uint64_t x =
			guest->first + (uint64_t)(share * (double)(guest->last - guest->first));
		double y = (double)(clock_to_l0(&m->to_parent, (ticks_t){x}) - f->y0);
		double bound = (double)clock_bound(&m->to_parent, (ticks_t){x});

		l->at[i] = (double)((int64_t)(x - f->x0));
		l->lo[i] = y - l->at[i] * mult - bound;
		l->hi[i] = y - l->at[i] * mult + bound;
	}
}

static void print(const struct limits *l, const struct machine *m, const struct frame *f,
		  const struct fit_options *o)
{
	for (unsigned i = 0; i < KNOTS; i++) {
		uint64_t x = f->x0 + (uint64_t)(int64_t)l->at[i];

		if (l->at[i] < l->first || l->at[i] > l->last)
			continue;
		printf("limit %s %" PRIu64 " bound %" PRId64 " least %.0f\n", m->name, x,
		       clock_bound(&m->to_parent, (ticks_t){x}),
		       (l->hi[i] - l->lo[i]) / 2 + (double)o->slack);
	}
}

static const struct sample *sample_of(const struct sample *s, unsigned nr, const struct trace *t)
{
	unsigned i = 0;

	while (i + 1 < nr && s[i].trace != t)
		i++;
	return &s[i];
}

static void one_machine(const struct topology *t, unsigned i, const struct sample *samples)
{
	const struct machine *m = &t->machines[i];
	const struct sample *guest = sample_of(samples, t->nr_machines, m->trace);
	const struct sample *host =
		sample_of(samples, t->nr_machines, t->machines[m->parent].trace);
	struct fit_options o = rates_options(guest, host, t->tsc_khz, 0);
	struct limits *l = calloc(1, sizeof(*l));
	struct frame f = {.x0 = guest->first + (guest->last - guest->first) / 2};

	if (!l)
		abort();
	l->upper.sign = 1;
	l->lower.sign = -1;
	l->first = INFINITY;
	l->last = -INFINITY;
	l->limit = o.limit_ppm * 1e-6;
	f.y0 = clock_to_l0(&m->to_parent, (ticks_t){f.x0});
	begin(l, &f, m, guest, &o);
	if (search(l, &f, m, guest, host, &o))
		print(l, m, &f, &o);
	else
		printf("no line satisfies all constraints of %s\n", m->name);
	free(l->upper.list);
	free(l->lower.list);
	free(l);
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)(argc - 1);
	struct topology_input *in = calloc(nr + 1, sizeof(*in));
	struct sample *samples = calloc(nr + 1, sizeof(*samples));
	struct plan *plans = calloc(nr + 1, sizeof(*plans));
	struct error err = {0};
	struct topology t = {0};
	struct stop stop;
	int ret = in && samples && plans ? 0 : -ENOMEM;

	stop_init(&stop, NULL, NULL);
	for (unsigned i = 0; i < nr && ret == 0; i++) {
		ret = trace_open(&in[i].trace, argv[i + 1], &err);
		samples[i].trace = in[i].trace;
		if (ret == 0 && plan_whole(&plans[i], in[i].trace))
			ret = -ENOMEM;
		plan_settle(&plans[i]);
	}
	if (ret == 0)
		ret = topology_find(&t, in, nr, NULL, &err);
	if (ret == 0)
		ret = sample_read(samples, plans, nr, 2, &stop, &err);
	for (unsigned i = 1; i < t.nr_machines && ret == 0; i++)
		one_machine(&t, i, samples);
	if (ret)
		fprintf(stderr, "show_limits: %s\n", err.text);
	topology_release(&t);
	for (unsigned i = 0; i < nr; i++) {
		plan_release(&plans[i]);
		sample_release(&samples[i]);
		trace_release(in[i].trace);
	}
	free(plans);
	free(samples);
	free(in);
	return ret ? 1 : 0;
}
