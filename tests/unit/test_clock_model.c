/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models: mapping there and back, batches, and chains of two.
 */
#include "tests/unit/unit.h"

#include "clock/fit/compose.h"
#include "clock/fit/sort.h"

#define ONE (UINT64_C(1) << CLOCK_SHIFT)

static struct clock_piece pieces[] = {
	{.from = 1000, .at_ns = 50, .mult = ONE, .bound_ns = 7},
	{.from = 2000, .at_ns = 1050, .mult = ONE / 2, .bound_ns = 9},
	{.from = 4000, .at_ns = 5000, .mult = ONE * 3, .bound_ns = CLOCK_NO_BOUND},
};
static const struct clock_model model = {.pieces = pieces, .nr_pieces = ARRAY_SIZE(pieces)};

static void maps_by_the_piece_and_before_all_by_the_first(void **state)
{
	(void)state;
	assert_int_equal(clock_to_l0(&model, (ticks_t){0}), -950);
	assert_int_equal(clock_to_l0(&model, (ticks_t){1999}), 1049);
	assert_int_equal(clock_to_l0(&model, (ticks_t){2001}), 1050);
	assert_int_equal(clock_to_l0(&model, (ticks_t){3999}), 2049);
	assert_int_equal(clock_to_l0(&model, (ticks_t){4001}), 5003);
	assert_int_equal(clock_bound(&model, (ticks_t){0}), 7);
	assert_int_equal(clock_bound(&model, (ticks_t){2000}), 9);
	assert_true(clock_bound(&model, (ticks_t){UINT64_MAX}) == CLOCK_NO_BOUND);
	assert_int_equal(clock_to_l0(&model, (ticks_t){UINT64_MAX}), NS_MAX);
}

static void a_batch_maps_like_its_events(void **state)
{
	struct event events[600];
	ns_t out[600];

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(events); i++)
		events[i].time.v = 7 * i;
	clock_map(&model, events, ARRAY_SIZE(events), out);
	for (unsigned i = 0; i < ARRAY_SIZE(events); i++)
		assert_int_equal(out[i], clock_to_l0(&model, events[i].time));
	clock_map(&model, events, 0, out);
}

static void the_way_back_gives_the_last_tick_that_shows_no_more(void **state)
{
	(void)state;
	for (ns_t t = -900; t < 9000; t++) {
		ticks_t x = clock_from_l0(&model, t);

		assert_true(clock_to_l0(&model, x) <= t);
		assert_true(clock_to_l0(&model, (ticks_t){x.v + 1}) > t);
	}
	assert_int_equal(clock_from_l0(&model, NS_MIN).v, 0);
}

static void chained_models_add_their_bounds(void **state)
{
	static struct clock_piece guest_pieces[] = {
		{.from = 10, .at_ns = 1500, .mult = ONE, .bound_ns = 100},
	};
	const struct clock_model guest = {.pieces = guest_pieces, .nr_pieces = 1, .nr_pairs = 3};
	struct clock_model chain;

	(void)state;
	assert_int_equal(clock_compose(&chain, &guest, &model, 2400, NULL), 0);
	assert_int_equal(chain.nr_pairs, 3);
	for (uint64_t x = 0; x < 2600; x++) {
		ns_t want = clock_to_l0(&model, (ticks_t){1490 + x});

		/* Rounding down twice may cost one. */
		assert_in_range(want - clock_to_l0(&chain, (ticks_t){x}) + 1, 0, 2);
	}
	assert_in_range(clock_bound(&chain, (ticks_t){100}), 107, 110);
	assert_true(clock_bound(&chain, (ticks_t){2505}) > 100);
	clock_model_release(&chain);
}

/* Two counters that differ by an offset are mapped to the very same ns. */
static void an_exact_offset_stays_exact_in_a_chain(void **state)
{
	static struct clock_piece l0_pieces[] = {
		{.from = 5000000, .at_ns = 777, .mult = 1867378697},
		{.from = 9000000, .at_ns = 1740200, .mult = 1867378701},
	};
	static struct clock_piece guest_pieces[] = {
		{.from = 5000000 - 1234567, .at_ns = 5000000, .mult = ONE},
	};
	const struct clock_model l0 = {.pieces = l0_pieces, .nr_pieces = 2};
	const struct clock_model guest = {.pieces = guest_pieces, .nr_pieces = 1};
	struct clock_model chain;

	(void)state;
	assert_int_equal(clock_compose(&chain, &guest, &l0, 20000000, NULL), 0);
	for (uint64_t x = 3000000; x < 20000000; x += 997) {
		assert_int_equal(clock_to_l0(&chain, (ticks_t){x}),
				 clock_to_l0(&l0, (ticks_t){x + 1234567}));
		assert_int_equal(clock_bound(&chain, (ticks_t){x}), 0);
	}
	clock_model_release(&chain);
}

/* What is known of the guest's clock begins late: before, its parent's lines hold all the same. */
static void a_chain_goes_as_far_back_as_the_parent(void **state)
{
	static struct clock_piece l0_pieces[] = {
		{.from = 5000000, .at_ns = 777, .mult = 1867378697, .bound_ns = 3},
		{.from = 9000000, .at_ns = 1760200, .mult = 1807378701},
	};
	static struct clock_piece guest_pieces[] = {
		{.from = 12000000 - 1234567, .at_ns = 12000000, .mult = ONE},
	};
	const struct clock_model l0 = {.pieces = l0_pieces, .nr_pieces = 2};
	const struct clock_model guest = {.pieces = guest_pieces, .nr_pieces = 1};
	struct clock_model chain;

	(void)state;
	assert_int_equal(clock_compose(&chain, &guest, &l0, 20000000, NULL), 0);
	for (uint64_t x = 3000000; x < 20000000; x += 997) {
		ns_t want = clock_to_l0(&l0, (ticks_t){x + 1234567});

		/* Each line begins at a whole ns. */
		assert_in_range(clock_to_l0(&chain, (ticks_t){x}) + 1, want, want + 1);
		if (x + 1234567 < 9000000)
			assert_in_range(clock_bound(&chain, (ticks_t){x}), 3, 4);
		else
			assert_in_range(clock_bound(&chain, (ticks_t){x}), 0, 1);
	}
	clock_model_release(&chain);
}

static int ints_up(const void *a, const void *b)
{
	int p = *(const int *)a, q = *(const int *)b;

	return (p / 10 > q / 10) - (p / 10 < q / 10);
}

static void sorting_keeps_the_order_of_equals(void **state)
{
	int list[500];
	unsigned seed = 1;

	(void)state;
	for (unsigned n = 0; n < ARRAY_SIZE(list); n++) {
		unsigned seen[50] = {0};

		for (unsigned i = 0; i < n; i++) {
			unsigned key;

			seed = seed * 1103515245 + 12345;
			key = seed >> 16 & 31;
			list[i] = (int)(key * 10 + (seen[key]++ < 9 ? seen[key] - 1 : 9));
		}
		sort_runs(list, n, sizeof(*list), ints_up);
		for (unsigned i = 1; i < n; i++)
			assert_true(list[i - 1] <= list[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_by_the_piece_and_before_all_by_the_first),
		cmocka_unit_test(a_batch_maps_like_its_events),
		cmocka_unit_test(the_way_back_gives_the_last_tick_that_shows_no_more),
		cmocka_unit_test(chained_models_add_their_bounds),
		cmocka_unit_test(an_exact_offset_stays_exact_in_a_chain),
		cmocka_unit_test(a_chain_goes_as_far_back_as_the_parent),
		cmocka_unit_test(sorting_keeps_the_order_of_equals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
