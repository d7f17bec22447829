/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/reference.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/fit/compose.h"
#include "clock/fit/fit.h"
#include "clock/readings.h"

/* Rates a cycle counter can have; anything else is a broken or hostile trace. */
#define KHZ_MIN 1e4
#define KHZ_MAX 1e8
/* CLOCK_MONOTONIC may be slewed by up to 500 ppm; the first estimate is far better than that. */
#define RATE_LIMIT_PPM 600
/* Timers of CLOCK_REALTIME and others show other clocks; they are off by more than this. */
#define SAME_CLOCK_NS 5e6
#define POINTS_MIN 8
#define POINTS_MAX 4096
#define MAX_PIECE_NS (60 * NS_PER_SEC)

static int doubles_up(const void *a, const void *b)
{
	double p = *(const double *)a, q = *(const double *)b;

	return (p > q) - (p < q);
}

static int by_after(const void *a, const void *b)
{
	const struct mono_point *p = a, *q = b;

	return (p->after > q->after) - (p->after < q->after);
}

static double median(double *v, size_t nr)
{
	qsort(v, nr, sizeof(*v), doubles_up);
	return v[nr / 2];
}

/* ns per tick from points half the trace apart; 0 when there is no telling. */
static double rough_rate(const struct mono_point_list *l, double *scratch)
{
	size_t half = l->nr / 2, nr = 0;

	for (size_t i = 0; i + half < l->nr; i++) {
		const struct mono_point *a = &l->list[i], *b = &l->list[i + half];
		double ticks = (double)(b->after - a->after);
		double rate = ((double)b->now - (double)a->now) / ticks;

		if (ticks > 0 && rate > 1e6 / KHZ_MAX && rate < 1e6 / KHZ_MIN)
			scratch[nr++] = rate;
	}
	return nr ? median(scratch, nr) : 0;
}

static double residual(const struct mono_point *p, const struct mono_point *origin, double rate)
{
	return ((double)p->now - (double)origin->now) -
	       rate * ((double)p->after - (double)origin->after);
}

/* The constraints of those points that read the most common clock. */
static int point_constraints(const struct mono_point_list *l, double rate, double *scratch,
			     struct constraints *out)
{
	size_t step = l->nr / POINTS_MAX + 1;
	double usual;

	for (size_t i = 0; i < l->nr; i++)
		scratch[i] = residual(&l->list[i], &l->list[0], rate);
	usual = median(scratch, l->nr);
	for (size_t i = 0; i < l->nr; i += step) {
		const struct mono_point *p = &l->list[i];
		int ret;

		if (fabs(residual(p, &l->list[0], rate) - usual) > SAME_CLOCK_NS)
			continue;
		ret = constraints_add(out, p->after, p->now, false);
		if (ret == 0 && p->before)
			ret = constraints_add(out, p->before, p->now, true);
		if (ret)
			return ret;
	}
	constraints_sort(out);
	return 0;
}

static ns_t worst_bound(const struct clock_model *m)
{
	ns_t worst = 0;

	for (unsigned i = 0; i < m->nr_pieces; i++)
		worst = m->pieces[i].bound_ns > worst ? m->pieces[i].bound_ns : worst;
	return worst;
}

/* Timers' readings and those of state lines: all that is known of the two clocks, by time. */
static int gather_points(struct mono_point_list *out, const struct sample *l0,
			 const struct declared *declared)
{
	for (size_t i = 0; i < l0->monos.nr; i++) {
		struct mono_point *p = sample_add(out);

		if (!p)
			return -ENOMEM;
		*p = l0->monos.list[i];
	}
	for (size_t i = 0; i < declared->clocks.nr; i++) {
		const struct declared_clock *c = &declared->clocks.list[i];
		struct mono_point *p = c->mono >= 0 && c->width < c->tsc ? sample_add(out) : NULL;

		if (p)
			*p = (struct mono_point){c->tsc - c->width, c->tsc + c->width,
						 (uint64_t)c->mono};
		else if (c->mono >= 0 && c->width < c->tsc)
			return -ENOMEM;
	}
	if (out->nr)
		qsort(out->list, out->nr, sizeof(*out->list), by_after);
	return 0;
}

/* The fitted line becomes the reference: by definition it is not wrong. */
static void become_reference(struct topology *t, struct clock_model *m, const struct sample *l0,
			     bool readings, ns_t bound)
{
	double ticks = (double)(l0->last - l0->first);
	double ns = (double)clock_to_l0(m, (ticks_t){l0->last}) -
		    (double)clock_to_l0(m, (ticks_t){l0->first});

	for (unsigned i = 0; i < m->nr_pieces; i++)
		m->pieces[i].bound_ns = 0;
	m->method = CLOCK_METHOD_REFERENCE;
	t->machines[0].clock = *m;
	t->ticks_are_ns = true;
	t->tsc_khz = ns > 0 && ticks * 1e6 / ns < 1e12 ? (uint64_t)llround(ticks * 1e6 / ns) : 0;
	snprintf(t->machines[0].evidence + strlen(t->machines[0].evidence),
		 sizeof(t->machines[0].evidence) - strlen(t->machines[0].evidence),
		 "; cycle counter of %" PRIu64 " kHz, CLOCK_MONOTONIC within %" PRId64 " ns by %s",
		 t->tsc_khz, bound, readings ? "readings of both and its timers" : "its timers");
}

/* 0 measured, within *@bound; 1 not enough to go by. */
static int measure(struct topology *t, const struct sample *l0,
		   const struct mono_point_list *points, double told_rate, bool readings,
		   ns_t *bound)
{
	double *scratch = calloc(points->nr + 1, sizeof(*scratch));
	struct constraints c = {0};
	struct fit_options opt = {
		.limit_ppm = RATE_LIMIT_PPM, .slack = 30, .x_begin = l0->first, .x_end = l0->last};
	struct clock_model m;
	/* What the trace says of its clock counts; what a user says only where nothing else does. */
	double rate = l0->trace->clock.freq_hz ? told_rate : 0;
	int ret = 0;

	if (!scratch)
		return -ENOMEM;
	if (rate <= 0)
		rate = rough_rate(points, scratch);
	if (rate <= 0)
		rate = told_rate;
	if (rate > 0)
		ret = point_constraints(points, rate, scratch, &c);
	free(scratch);
	opt.mult = (uint64_t)llround(rate * (double)(UINT64_C(1) << CLOCK_SHIFT));
	opt.max_piece = rate > 0 ? (uint64_t)((double)MAX_PIECE_NS / rate) : 0;
	if (ret == 0)
		ret = rate > 0 ? fit_constraints(&m, &c, &opt, NULL) : 1;
	constraints_release(&c);
	if (ret == 0) {
		*bound = worst_bound(&m);
		become_reference(t, &m, l0, readings, *bound);
	}
	return ret == -ENODATA ? 1 : ret;
}

/* The clock in ns, or at a rate that is known.  @origin: a reading of it; NULL: it has none. */
static int plain(struct topology *t, double rate, const struct declared_clock *origin,
		 struct error *err)
{
	struct clock_piece p = {.mult = UINT64_C(1) << CLOCK_SHIFT};

	if (rate > 0)
		p.mult = (uint64_t)llround(rate * (double)p.mult);
	if (origin && origin->mono >= 0) {
		p.from = origin->tsc;
		p.at_ns = origin->mono;
	}
	t->ticks_are_ns = rate > 0;
	return clock_one_line(&t->machines[0].clock, p, CLOCK_METHOD_REFERENCE, err);
}

static double told_rate(const struct trace_clock *c, uint64_t told_khz)
{
	if (c->freq_hz)
		return 1e9 / (double)c->freq_hz;
	if (c->kind == CLOCK_TSC || c->kind == CLOCK_COUNTER || c->kind == CLOCK_UNKNOWN)
		return told_khz ? 1e6 / (double)told_khz : 0;
	return 1;
}

/* What to add to L0's time for the wall clock's. */
static void find_wall(struct topology *t, const struct trace_clock *c,
		      const struct declared *declared)
{
	const struct declared_clock *r = declared->clocks.list;
	uint64_t value;

	t->wall_known = c->offset_known;
	t->wall_offset_ns = c->offset_ns;
	if (t->wall_known || !declared->clocks.nr || r->real < 0)
		return;
	if (c->kind == CLOCK_TSC && r->mono >= 0)
		value = (uint64_t)r->mono; /* which L0's time is then */
	else if (!readings_value(c, r, &value))
		return;
	t->wall_known = true;
	t->wall_offset_ns = r->real - (int64_t)value;
}

/* A cycle counter's relation to CLOCK_MONOTONIC by all readings of both. */
static int by_points(struct topology *t, const struct sample *l0, const struct declared *declared,
		     double rate, ns_t *bound)
{
	struct mono_point_list points = {0};
	int ret = gather_points(&points, l0, declared);

	if (ret == 0)
		ret = declared->clocks.nr > 1 || points.nr >= POINTS_MIN
			      ? measure(t, l0, &points, rate, declared->clocks.nr > 0, bound)
			      : 1;
	free(points.list);
	return ret;
}

/* The rate that was measured is good to what its readings leave at either end, and CLOCK_MONOTONIC may
 * be slewed. */
static bool contradicts(const struct topology *t, const struct sample *l0, ns_t bound,
			uint64_t told_khz)
{
	double length_ns = (double)(l0->last - l0->first) * 1e6 / (double)t->tsc_khz;
	double ppm = RATE_LIMIT_PPM + 2e6 * (double)bound / length_ns;

	return told_khz && t->tsc_khz && length_ns > 0 &&
	       fabs((double)told_khz / (double)t->tsc_khz - 1) * 1e6 > ppm;
}

int reference_find(struct topology *t, const struct sample *l0, const struct declared *declared,
		   uint64_t told_khz, bool rough, struct error *err)
{
	const struct trace_clock *c = &l0->trace->clock;
	double rate = told_rate(c, told_khz);
	ns_t bound = 0;
	int ret = c->kind == CLOCK_TSC && !rough ? by_points(t, l0, declared, rate, &bound) : 1;

	find_wall(t, c, declared);
	if (ret < 0)
		return fail(err, ret, "out of memory measuring the clock of %s", l0->trace->path);
	if (ret == 0 && !c->freq_hz && contradicts(t, l0, bound, told_khz))
		return fail(err, -EINVAL,
			    "--tsc-khz says %" PRIu64 " kHz, but the cycle counter of %s runs at "
			    "%" PRIu64 " kHz by its timers and readings",
			    told_khz, t->machines[0].name, t->tsc_khz);
	if (ret == 0)
		return 0;
	if (rate <= 0)
		rate = told_rate(c, declared->tsc_khz);
	if (rate > 0 && rate != 1)
		t->tsc_khz = (uint64_t)llround(1e6 / rate);
	if (rate <= 0 && !rough)
		problems_add(&t->problems,
			     "the clock of %s counts cycles and nothing in the trace tells their "
			     "rate: times are cycles, not ns; --tsc-khz tells the rate",
			     l0->trace->path);
	return plain(t, rate,
		     c->kind == CLOCK_TSC && declared->clocks.nr ? declared->clocks.list : NULL,
		     err);
}
