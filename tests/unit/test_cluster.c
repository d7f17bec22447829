/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of points, where they are plain to see. */
#include "tests/unit/unit.h"

#include "analysis/compare/cluster.h"

static void three_heaps_are_three_groups(void **state)
{
	/* Around (0, 0), (10, 0) and (0, 10), mixed. */
	static const double points[][2] = {{0, 0},   {10, 0.2}, {0.1, 10}, {0.2, 0.1}, {9.8, 0},
					   {0, 9.9}, {0, 0.3},	{10.1, 0}, {0.3, 10.2}};
	double silhouette[9];
	int group[9];

	(void)state;
	assert_int_equal(cluster(points[0], 9, 2, group, silhouette), 3);
	for (unsigned i = 0; i < 9; i++) {
		assert_int_equal(group[i], group[i % 3]);
		assert_true(silhouette[i] > 0.9);
	}
	assert_true(group[0] != group[1] && group[1] != group[2] && group[0] != group[2]);
}

static void an_even_spread_is_no_groups(void **state)
{
	double points[6] = {5, 5, 5, 5, 5, 5}, silhouette[6];
	int group[6];

	(void)state;
	assert_int_equal(cluster(points, 6, 1, group, silhouette), 1);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(group[i], 0);
	assert_int_equal(cluster(points, 2, 1, group, silhouette), 1);
	assert_int_equal(cluster(points, 0, 1, group, silhouette), 1);
}

static void the_answer_is_always_the_same(void **state)
{
	double points[40], silhouette[20], again[20];
	int group[20], group_again[20];

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		points[i] = (double)(i * 7919 % 97) + (i % 4 ? 0 : 300);
	cluster(points, 20, 2, group, silhouette);
	cluster(points, 20, 2, group_again, again);
	assert_memory_equal(group, group_again, sizeof(group));
	assert_memory_equal(silhouette, again, sizeof(again));
}

/* More than a silhouette looks at, and in an order that a sample must not fall for. */
static void large_groups_are_found_by_a_part_of_them(void **state)
{
	enum { NR = 10 * CLUSTER_SAMPLE_MAX };
	static double points[NR], silhouette[NR];
	static int group[NR];

	(void)state;
	for (unsigned i = 0; i < NR; i++)
		points[i] = (i % 10 ? 0 : 1000) + i % 7;
	assert_int_equal(cluster(points, NR, 1, group, silhouette), 2);
	for (unsigned i = 0; i < NR; i++) {
		assert_int_equal(group[i], group[i % 10 ? 1 : 0]);
		assert_true(silhouette[i] > 0.99);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_heaps_are_three_groups),
		cmocka_unit_test(an_even_spread_is_no_groups),
		cmocka_unit_test(the_answer_is_always_the_same),
		cmocka_unit_test(large_groups_are_found_by_a_part_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
