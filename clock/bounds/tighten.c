/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/bounds/tighten.h"

#include "base/figure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 8
/* A round that gains less than this share of the bound is the last. */
#define WORTH_GOING_ON 0.02

/* The bound over time, summed over where the guest has events; what the rounds bring down. */
static double looseness(const struct clock_model *m, const struct contained_list *c)
{
	double sum = 0;

	for (size_t i = 0; i < c->nr; i++) {
		const struct tick_list *e = c->list[i].events;
		size_t step = e->nr / 1000 + 1;

		for (size_t k = 0; k < e->nr; k += step) {
			ns_t b = clock_bound(m, (ticks_t){e->list[k]});

			sum += b == CLOCK_NO_BOUND ? 1e18 : (double)b;
		}
	}
	return sum;
}

static int gather(struct constraints *all, const struct clock_model *m,
		  const struct contained_list *c)
{
	int ret = 0;

	for (size_t i = 0; i < c->nr && ret == 0; i++)
		ret = contain_constraints(all, m, c->list[i].events, &c->list[i].ranges);
	constraints_sort(all);
	return ret;
}

static enum clock_method with_containment(enum clock_method m)
{
	if (m == CLOCK_METHOD_PAIRS)
		return CLOCK_METHOD_PAIRS_CONTAINMENT;
	return m == CLOCK_METHOD_READINGS ? CLOCK_METHOD_READINGS_CONTAINMENT : m;
}

/* Of sorted constraints; an early round and a later one may find the same. */
static uint64_t count_different(const struct constraints *c)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < c->nr; i++)
		nr += !i || c->list[i].x != c->list[i - 1].x || c->list[i].y != c->list[i - 1].y ||
		      c->list[i].upper != c->list[i - 1].upper;
	return nr;
}

static void replace(struct clock_model *m, struct clock_model *better)
{
	better->nr_pairs = m->nr_pairs;
	better->nr_readings = m->nr_readings;
	better->nr_timers = m->nr_timers;
	better->method = with_containment(m->method);
	clock_model_release(m);
	*m = *better;
}

/* One round: 1 when another is worth while, 0 when not.  @all only grows: what an early round
 * found is why a later one need not find it again. */
static int tighten_once(struct clock_model *m, struct constraints *all, uint64_t nr_base,
			const struct contained_list *c, const struct fit_options *opt)
{
	struct clock_model better;
	double before = looseness(m, c), after;
	int ret = gather(all, m, c);

	if (ret == 0)
		ret = fit_constraints(&better, all, opt, NULL);
	if (ret)
		return ret == -ENODATA ? 0 : ret;
	after = looseness(&better, c);
	if (after > before) {
		clock_model_release(&better);
		return 0;
	}
	better.nr_contained = count_less(count_different(all), nr_base);
	replace(m, &better);
	return after < before * (1 - WORTH_GOING_ON);
}

void contained_violations(struct clock_model *m, const struct constraints *base,
			  const struct contained_list *c, uint64_t slack)
{
	struct contain_count sum = {0};

	m->nr_violations = 0;
	m->worst_violation_ns = 0;
	fit_count_violations(m, base, slack);
	for (size_t i = 0; i < c->nr; i++)
		contain_count(&sum, m, c->list[i].events, &c->list[i].ranges, UINT64_MAX);
	m->nr_violations += sum.outside;
	if (sum.farthest > (uint64_t)m->worst_violation_ns)
		m->worst_violation_ns = clamp_ns(sum.farthest);
}

int tighten(struct clock_model *model, const struct constraints *base,
	    const struct contained_list *c, const struct fit_options *opt, struct error *err)
{
	struct constraints all = {0};
	uint64_t nr_base = count_different(base);
	int ret = 0;

	for (size_t i = 0; i < base->nr && ret == 0; i++)
		ret = constraints_add(&all, base->list[i].x, base->list[i].y, base->list[i].upper);
	ret = ret == 0 && c->nr > 0 ? 1 : ret;
	for (unsigned i = 0; i < ROUNDS_MAX && ret > 0; i++)
		ret = stop_asked(opt->stop) ? -EINTR : tighten_once(model, &all, nr_base, c, opt);
	/* Of the model that stays, whichever round made it, and also when none did: what no round
	 * could use is what contradicts it most. */
	if (ret == 0)
		contained_violations(model, &all, c, opt->slack);
	constraints_release(&all);
	return ret < 0 ? fail(err, ret, "out of memory aligning clocks") : 0;
}

void contained_release(struct contained_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		ranges_release(&l->list[i].ranges);
	free(l->list);
	memset(l, 0, sizeof(*l));
}
