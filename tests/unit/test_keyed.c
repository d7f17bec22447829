/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of distinct keys, and their sums. */
#include "tests/unit/unit.h"

#include "analysis/keyed.h"

#define NR 10000

/* Keys that differ in their lowest bits, in their highest alone, or in nothing but the order of
 * cells. */
static void key_of(int64_t i, int64_t key[3])
{
	key[0] = i % 100;
	key[1] = (int64_t)((uint64_t)(i / 100 % 10) << 60);
	key[2] = i / 1000 - 5;
}

static void keys_are_numbered_as_they_come(void **state)
{
	struct keyed k = {.nr_cells = 3, .sum_bytes = sizeof(int64_t)};
	int64_t key[3];

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int64_t i = 0; i < NR; i++) {
			int64_t *sum;

			key_of(i, key);
			assert_int_equal(keyed_get(&k, key), i);
			sum = keyed_sum(&k, key);
			assert_int_equal(*sum, round * i);
			*sum += i;
		}
	}
	assert_int_equal(k.nr, NR);
	key_of(NR - 1, key);
	assert_memory_equal(keyed_cells(&k, NR - 1), key, sizeof(key));
	keyed_release(&k);
	assert_int_equal(k.nr, 0);
}

static void keys_without_sums(void **state)
{
	struct keyed k = {.nr_cells = 2};

	(void)state;
	assert_int_equal(keyed_get(&k, (int64_t[]){1, 2}), 0);
	assert_int_equal(keyed_get(&k, (int64_t[]){2, 1}), 1);
	assert_int_equal(keyed_get(&k, (int64_t[]){1, 2}), 0);
	keyed_release(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_numbered_as_they_come),
		cmocka_unit_test(keys_without_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
