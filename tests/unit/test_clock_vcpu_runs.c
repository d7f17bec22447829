/* SPDX-License-Identifier: Apache-2.0 */
/* When a nested guest may have run, as L0 saw it: it says so by events of nesting, or does not. */
#include "tests/unit/unit.h"

#include "clock/vcpu_runs.h"

#define TID 100
#define STAYS 10
#define PERIOD 1000
#define INSIDE 600
#define LEVELS 3

struct world {
	struct sample samples[LEVELS];
	struct candidate candidates[LEVELS];
	struct machine machines[LEVELS];
	struct vcpu_hint hints[LEVELS];
	struct placed placed[LEVELS];
};

/* L0 ran L1's thread, and L1 that of L2, in the same stays; every other one of L0's is @nested. */
static void make_world(struct world *w, enum nested nested)
{
	static const struct clock_piece same = {.mult = UINT64_C(1) << CLOCK_SHIFT};

	memset(w, 0, sizeof(*w));
	for (unsigned i = 0; i < LEVELS; i++) {
		struct sample *s = &w->samples[i];

		for (uint64_t k = 0; k < STAYS && i < LEVELS - 1; k++) {
			assert_int_equal(stay_list_add(&s->stays, TID, 0, k * PERIOD,
						       k * PERIOD + INSIDE, false),
					 0);
			s->stays.list[k].nested = k % 2 && !i ? nested : NESTED_NO;
		}
		s->end = STAYS * PERIOD;
		s->nr_cpus = 1;
		w->hints[i] = (struct vcpu_hint){.host_tid = TID};
		w->candidates[i].sample = s;
		w->machines[i].vcpus = &w->hints[i];
		w->machines[i].nr_vcpus = i > 0;
		w->placed[i] = (struct placed){
			.machine = &w->machines[i],
			.candidate = &w->candidates[i],
			.parent = i ? &w->placed[i - 1] : NULL,
			.l0 = &w->placed[0],
			.to_l0 = {.pieces = (struct clock_piece *)&same, .nr_pieces = 1}};
	}
}

static void check_runs(enum nested nested, unsigned wanted)
{
	struct ranges r = {0};
	struct world w;

	make_world(&w, nested);
	assert_int_equal(runs_in_l0(&r, &w.placed[2], 0), 0);
	assert_int_equal(r.nr, wanted);
	for (unsigned i = 0; i < wanted; i++) {
		assert_int_equal(r.list[i].begin % PERIOD, 0);
		assert_int_equal(r.list[i].end - r.list[i].begin, INSIDE);
	}
	ranges_release(&r);
	for (unsigned i = 0; i < LEVELS; i++)
		free(w.samples[i].stays.list);
}

static void a_nested_guest_runs_when_l0_says_so(void **state)
{
	(void)state;
	check_runs(NESTED_YES, STAYS / 2);
}

/* No event of nesting: that is not to say that it never ran. */
static void where_l0_does_not_say_it_may_run_whenever_its_host_does(void **state)
{
	(void)state;
	check_runs(NESTED_NO, STAYS);
	check_runs(NESTED_UNKNOWN, STAYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_nested_guest_runs_when_l0_says_so),
		cmocka_unit_test(where_l0_does_not_say_it_may_run_whenever_its_host_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
