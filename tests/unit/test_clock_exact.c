/* SPDX-License-Identifier: Apache-2.0 */
/* clock/exact.h: TSC relations as models, scaled or not. */
#include "tests/unit/unit.h"

#include <errno.h>

#include "clock/exact.h"

static uint64_t seed = 88172645463325252;

static uint64_t dice(uint64_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % limit;
}

/* Whatever the host's counter shows, the model finds it back within its bound. */
static void check_relation(const struct tsc_relation *r, uint64_t first, uint64_t len)
{
	uint64_t x0 = (uint64_t)exact_to_guest(r, first);
	uint64_t x1 = (uint64_t)exact_to_guest(r, first + len);
	struct clock_model m;

	assert_int_equal(exact_model(&m, r, x0, x1, NULL), 0);
	assert_int_equal(m.method, CLOCK_METHOD_TSC);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t y = first + dice(len);
		uint64_t x = (uint64_t)exact_to_guest(r, y);
		int64_t off = clock_to_l0(&m, (ticks_t){x}) - (int64_t)y;

		assert_true(off <= clock_bound(&m, (ticks_t){x}));
		assert_true(-off <= clock_bound(&m, (ticks_t){x}));
		if (!r->ratio)
			assert_int_equal(off, 0);
		assert_in_range(clock_bound(&m, (ticks_t){x}), 0, r->ratio ? 8 : 0);
	}
	clock_model_release(&m);
}

static void a_plain_offset_is_exact(void **state)
{
	struct tsc_relation r = {.offset = -123456789012};

	(void)state;
	check_relation(&r, UINT64_C(200000000000), UINT64_C(3000000000000));
	r.offset = INT64_C(1) << 60;
	check_relation(&r, 5, 1000000);
}

static void a_scaled_counter_is_off_by_some_ticks_at_most(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		/* AMD's fraction has 32 bits, Intel's 48; rates between a half and the double. */
		unsigned bits = i % 2 ? 32 : 48;
		struct tsc_relation r = {.bits = bits};

		r.ratio = (UINT64_C(1) << (bits - 1)) + dice(UINT64_C(3) << (bits - 1)) + 1;
		r.offset = (int64_t)dice(UINT64_C(1) << 40) - (INT64_C(1) << 37);
		/* Ten minutes at 3 GHz, after an hour. */
		check_relation(&r, UINT64_C(10800000000000), UINT64_C(1800000000000));
	}
}

static void a_change_makes_two_pieces(void **state)
{
	struct tsc_relation before = {.offset = -1000}, after = {.offset = 500};
	struct clock_model m;

	(void)state;
	assert_int_equal(exact_changed_model(&m, &before, &after, 10000, 2000, 50000, NULL), 0);
	assert_int_equal(m.nr_pieces, 2);
	assert_int_equal(clock_to_l0(&m, (ticks_t){8999}), 9999);
	assert_int_equal(clock_to_l0(&m, (ticks_t){10500}), 10000);
	assert_int_equal(clock_to_l0(&m, (ticks_t){20500}), 20000);
	assert_int_equal(clock_bound(&m, (ticks_t){20500}), 0);
	clock_model_release(&m);
	/* Back, or outside. */
	assert_int_equal(exact_changed_model(&m, &after, &before, 10000, 2000, 50000, NULL),
			 -ERANGE);
	assert_int_equal(exact_changed_model(&m, &before, &after, 1000, 2000, 50000, NULL),
			 -ERANGE);
	assert_int_equal(exact_changed_model(&m, &before, &after, 90000, 2000, 50000, NULL),
			 -ERANGE);
}

static void what_leaves_the_range_of_clocks_is_refused(void **state)
{
	struct tsc_relation r = {.offset = INT64_MIN + 1, .ratio = 1, .bits = TSC_BITS_MAX};
	struct clock_model m;

	(void)state;
	assert_int_equal(exact_model(&m, &r, UINT64_MAX - 5, UINT64_MAX, NULL), -ERANGE);
	r.ratio = 0;
	assert_int_equal(exact_model(&m, &r, UINT64_MAX - 5, UINT64_MAX, NULL), -ERANGE);
	r.ratio = UINT64_MAX;
	r.offset = INT64_MAX;
	assert_int_equal(exact_model(&m, &r, 0, 1000, NULL), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_offset_is_exact),
		cmocka_unit_test(a_scaled_counter_is_off_by_some_ticks_at_most),
		cmocka_unit_test(a_change_makes_two_pieces),
		cmocka_unit_test(what_leaves_the_range_of_clocks_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
