/* SPDX-License-Identifier: Apache-2.0 */
/* Series and their differences, against values from tables. */
#include "tests/unit/unit.h"

#include "base/stats.h"

#include <math.h>

#define assert_near(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static void students_t_is_that_of_the_tables(void **state)
{
	(void)state;
	assert_near(student_p(12.706, 1), 0.05, 1e-4);
	assert_near(student_p(2.228, 10), 0.05, 1e-4);
	assert_near(student_p(3.169, 10), 0.01, 1e-4);
	assert_near(student_p(1.96, 1e7), 0.05, 1e-4);
	assert_near(student_p(0, 5), 1, 1e-9);
}

static void a_shift_is_found_with_its_limits(void **state)
{
	double before[24], after[24];
	struct series a, b;
	struct difference d;

	(void)state;
	for (unsigned i = 0; i < 24; i++) {
		before[i] = 10 + (i % 2 ? 1 : -1);
		after[i] = 13 + (i % 2 ? 1 : -1);
	}
	a = series_of(before, 24);
	b = series_of(after, 24);
	assert_near(a.mean, 10, 1e-9);
	assert_near(a.variance, 24.0 / 23, 1e-9);
	assert_near(a.effective, 24, 1e-9); /* it alternates: no credit for that */
	d = series_compare(&a, &b);
	assert_near(d.change, 3, 1e-9);
	assert_true(d.low > 2.3 && d.low < 3 && d.high < 3.7 && d.high > 3);
	assert_true(d.p < 1e-9);
	d = series_compare(&a, &a);
	assert_near(d.p, 1, 1e-9);
	assert_true(d.low < 0 && d.high > 0);
}

/* Half a history this way and half that: as good as two measurements, not as twenty-four. */
static void what_lasts_counts_less(void **state)
{
	double before[24], after[24];
	struct series a, b;

	(void)state;
	for (unsigned i = 0; i < 24; i++) {
		before[i] = i < 12 ? 8 : 12;
		after[i] = i < 8 ? 8 : 12;
	}
	a = series_of(before, 24);
	b = series_of(after, 24);
	assert_true(a.effective < 4);
	assert_true(series_compare(&a, &b).p > 0.5);
}

static void constants_are_equal_or_not(void **state)
{
	static const double two[] = {2, 2, 2}, three[] = {3, 3, 3};
	struct series a = series_of(two, 3), b = series_of(three, 3);

	(void)state;
	assert_near(series_compare(&a, &a).p, 1, 0);
	assert_near(series_compare(&a, &b).p, 0, 0);
	assert_near(series_compare(&a, &b).change, 1, 1e-12);
}

static void holm_holds_for_all_of_them(void **state)
{
	double p[] = {0.01, 0.04, 0.03, 0.005};

	(void)state;
	assert_int_equal(stats_holm(p, 4), 0);
	assert_near(p[0], 0.03, 1e-12);
	assert_near(p[1], 0.06, 1e-12);
	assert_near(p[2], 0.06, 1e-12);
	assert_near(p[3], 0.02, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(students_t_is_that_of_the_tables),
		cmocka_unit_test(a_shift_is_found_with_its_limits),
		cmocka_unit_test(what_lasts_counts_less),
		cmocka_unit_test(constants_are_equal_or_not),
		cmocka_unit_test(holm_holds_for_all_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
