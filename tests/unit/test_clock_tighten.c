/* SPDX-License-Identifier: Apache-2.0 */
/* Violations are those of the clock that stays, whatever the rounds that tighten it came to; and
 * what containment tells of it. */
#include "tests/unit/unit.h"

#include "clock/bounds/tighten.h"

/* The vCPU runs for the first 600 ticks of each 1000; @nr_outside of its events are at 800. */
#define PERIODS 100
#define PERIOD 1000
#define INSIDE 600
#define BOUND 10

struct guest {
	struct contained one;
	struct tick_list events;
	struct contained_list list;
	struct fit_options options;
};

static void make_guest(struct guest *g, unsigned nr_outside)
{
	*g = (struct guest){
		.one.ranges.to = PERIODS * PERIOD,
		.options = {.mult = UINT64_C(1) << CLOCK_SHIFT, .x_end = PERIODS * PERIOD},
	};
	g->one.ranges.list = calloc(PERIODS, sizeof(*g->one.ranges.list));
	g->one.ranges.nr = PERIODS;
	for (uint64_t i = 0; i < PERIODS; i++) {
		uint64_t *x = sample_add(&g->events);

		*x = i * PERIOD + (i && nr_outside ? 800 : 300);
		nr_outside -= i && nr_outside;
		g->one.ranges.list[i] = (struct range){i * PERIOD, i * PERIOD + INSIDE};
	}
	g->one.events = &g->events;
	g->list = (struct contained_list){&g->one, 1, 1};
}

static void make_model(struct clock_model *m)
{
	*m = (struct clock_model){.pieces = calloc(1, sizeof(*m->pieces)), .nr_pieces = 1};
	m->pieces[0] = (struct clock_piece){.mult = UINT64_C(1) << CLOCK_SHIFT, .bound_ns = BOUND};
}

static void assert_broken(unsigned nr_outside, const struct constraints *base, uint64_t wanted)
{
	struct clock_model m;
	struct guest g;

	make_guest(&g, nr_outside);
	make_model(&m);
	m.nr_violations = 12345; /* of an earlier time */
	assert_int_equal(tighten(&m, base, &g.list, &g.options, NULL), 0);
	assert_int_equal(m.pieces[0].bound_ns, BOUND);
	assert_int_equal(m.nr_violations, wanted);
	assert_int_equal(m.worst_violation_ns, wanted ? 200 - BOUND : 0);
	clock_model_release(&m);
	ranges_release(&g.one.ranges);
	free(g.events.list);
}

static void what_no_round_can_use_is_counted(void **state)
{
	const struct constraints none = {0};

	(void)state;
	for (unsigned outside = 0; outside <= 40; outside += 20)
		assert_broken(outside, &none, outside);
}

/* A round that makes the bound wider is none; what the clock before it breaks remains. */
static void what_a_round_in_vain_found_is_counted(void **state)
{
	struct constraints loose = {0};

	(void)state;
	for (uint64_t x = 0; x <= PERIODS * PERIOD; x += PERIOD) {
		assert_int_equal(constraints_add(&loose, x, x + 90, true), 0);
		assert_int_equal(constraints_add(&loose, x, x > 90 ? x - 90 : 0, false), 0);
	}
	for (unsigned outside = 0; outside <= 40; outside += 20)
		assert_broken(outside, &loose, outside);
	constraints_release(&loose);
}

/* How many constraints 200 events of one moment tell of, @outside of which are in no range: one
 * is close to where the vCPU entered its guest. */
static size_t told(unsigned outside)
{
	struct range range = {1005, 3000};
	const struct ranges ranges = {.list = &range, .nr = 1, .to = 5000};
	struct constraints told = {0};
	struct tick_list events = {0};
	struct clock_model m;
	size_t nr;

	make_model(&m);
	for (unsigned i = 0; i < 200; i++)
		*(uint64_t *)sample_add(&events) = i < outside ? 900 : i == outside ? 1000 : 1500;
	*(uint64_t *)sample_add(&events) = 5000000; /* far away: a stretch is long */
	assert_int_equal(contain_constraints(&told, &m, &events, &ranges), 0);
	nr = told.nr;
	if (nr)
		assert_int_equal(told.list[0].y, 1005);
	constraints_release(&told);
	clock_model_release(&m);
	free(events.list);
	return nr;
}

/* Where the traces do not tell of the same thing, what is close to an edge means nothing. */
static void events_outside_leave_no_bound(void **state)
{
	(void)state;
	assert_int_equal(told(0), 1);
	assert_int_equal(told(2), 1);
	assert_int_equal(told(3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_no_round_can_use_is_counted),
		cmocka_unit_test(what_a_round_in_vain_found_is_counted),
		cmocka_unit_test(events_outside_leave_no_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
