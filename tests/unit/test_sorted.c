/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "history/parts/segment.h"
#include "tests/unit/oracle.h"

#include <cmocka.h>

/* Sorted lists and segments, of all widths, against plain arrays. */
static uint64_t seed = 4242424242;

/* Rising numbers; many close together when @burst. */
static void make_places(uint64_t *x, uint32_t nr, uint64_t step, bool burst)
{
	uint64_t at = oracle_random(&seed) % step;

	for (uint32_t i = 0; i < nr; i++) {
		x[i] = at;
		at += 1 + (burst && i % 64 ? 0 : oracle_random(&seed) % step);
	}
}

/* Looks for entry @k from entry @i on. */
static void check_from(const struct sorted *s, const uint64_t *x, uint32_t i, uint32_t k)
{
	uint64_t bit = (x[i] >> s->low_bits) + i;

	if ((x[i] >> s->low_bits) < (x[k] >> s->low_bits))
		assert_int_equal(sorted_upto_from(s, x[k], bit, i), k + 1);
}

static void check_list(const struct sorted *s, const uint64_t *x, uint32_t nr)
{
	for (unsigned i = 0; i < 300; i++) {
		uint32_t k = (uint32_t)(oracle_random(&seed) % nr);
		uint64_t last = 0, out[40], hint = 0;
		uint32_t some = nr - k < 40 ? nr - k : 40;

		assert_int_equal(sorted_get(s, k), x[k]);
		assert_int_equal(sorted_upto(s, x[k], &last), k + 1);
		assert_int_equal(last, x[k]);
		if (x[k]) {
			assert_int_equal(sorted_upto(s, x[k] - 1, &last), k);
			if (k)
				assert_int_equal(last, x[k - 1]);
		}
		if ((x[0] >> s->low_bits) < (x[k] >> s->low_bits))
			check_from(s, x, (uint32_t)(oracle_random(&seed) % k), k);
		sorted_decode(s, k, some / 2, out, &hint);
		sorted_decode(s, k + some / 2, some - some / 2, out + some / 2, &hint);
		assert_memory_equal(out, x + k, some * sizeof(*out));
		hint = 0;
		sorted_decode_from(s, k, some, 1000, out, &hint);
		for (uint32_t j = 0; j < some; j++)
			assert_int_equal(out[j], x[k + j] + 1000);
	}
	assert_int_equal(sorted_upto(s, UINT64_MAX, NULL), nr);
}

/* Entries as numbers of a table's elements, which rise but for one. */
static void check_table(const struct sorted *s, const uint64_t *x, uint32_t nr)
{
	const uint64_t length = (x[nr - 1] | bits_mask(s->low_bits)) + 1;
	int64_t *table = malloc(length * sizeof(*table)), *out = malloc(nr * sizeof(*out));

	for (uint64_t i = 0; i < length; i++)
		table[i] = (int64_t)(i * 3) - 5;
	for (unsigned i = 0; i < 20; i++) {
		uint32_t k = (uint32_t)(oracle_random(&seed) % nr);
		uint32_t some = 1 + (uint32_t)(oracle_random(&seed) % (nr - k));
		uint32_t bad = k + (uint32_t)(oracle_random(&seed) % some);
		int64_t last = table[x[k]] - 1, before = table[x[k]];
		uint64_t hint = 0;

		assert_true(sorted_below(s, k, some, length, hint));
		assert_false(sorted_below(s, k, some, x[k + some - 1], hint));
		assert_true(sorted_look_up(s, k, some, table, &last, out, &hint));
		for (uint32_t j = 0; j < some; j++)
			assert_int_equal(out[j], table[x[k + j]]);
		assert_int_equal(last, out[some - 1]);
		assert_true(k + some == nr || sorted_below(s, k + some, 1, length, hint));

		hint = 0;
		assert_false(sorted_look_up(s, k, some, table, &before, out, &hint));
		table[x[bad]] -= 3 * (int64_t)length;
		last = table[x[k]] - (bad > k);
		hint = 0;
		assert_false(sorted_look_up(s, k, some, table, &last, out, &hint));
		table[x[bad]] += 3 * (int64_t)length;
	}
	free(table);
	free(out);
}

static void lists(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 63, 64, 65, 1000, 30000};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(sizes) * 13 * 2; i++) {
		uint32_t nr = sizes[i % ARRAY_SIZE(sizes)];
		uint64_t *x = malloc(nr * sizeof(*x));
		unsigned low_bits;
		uint64_t len;
		uint8_t *bytes;
		struct sorted s;

		make_places(x, nr, 1ull << i / ARRAY_SIZE(sizes) * 3 % 40, i / 8 & 1);
		low_bits = sorted_low_bits(nr, x[nr - 1]);
		len = sorted_bytes(nr, low_bits, x[nr - 1] >> low_bits) + BITS_SLACK_BYTES;
		bytes = calloc(1, len);
		sorted_put(bytes, x, nr, low_bits);
		assert_true(sorted_open(&s, bytes, len, nr, low_bits, x[nr - 1] >> low_bits));
		assert_false(sorted_open(&s, bytes, len - 1, nr, low_bits, x[nr - 1] >> low_bits));
		check_list(&s, x, nr);
		if (x[nr - 1] < 1u << 20)
			check_table(&s, x, nr);
		free(bytes);
		free(x);
	}
}

/* Ten entries from 3 on, 16 apart. */
static void make_damaged(struct sorted *s, uint8_t *bytes, size_t len_bytes)
{
	uint64_t x[10];

	for (unsigned i = 0; i < ARRAY_SIZE(x); i++)
		x[i] = 3 + i * 16;
	memset(bytes, 0, len_bytes);
	sorted_put(bytes, x, ARRAY_SIZE(x), 4);
	assert_true(sorted_open(s, bytes, len_bytes, ARRAY_SIZE(x), 4, x[9] >> 4));
}

/* What a list says of itself, and no list can be: sums of it would begin anew at 0. */
static void sizes_that_cannot_be(void **state)
{
	uint8_t bytes[64] = {0};
	struct sorted s;

	(void)state;
	assert_true(sorted_open(&s, bytes, sizeof(bytes), 1, 4, 0));
	assert_false(sorted_open(&s, bytes, sizeof(bytes), 1, 4, UINT64_MAX));
	assert_false(sorted_open(&s, bytes, sizeof(bytes), 1, 4, UINT64_MAX - 8));
	assert_false(sorted_open(&s, bytes, sizeof(bytes), UINT32_MAX, 4, 0));
	assert_false(sorted_open(&s, bytes, sizeof(bytes), 1, 57, 0));
}

/* Numbers of a table's elements are taken for such only where no bit of the list can say otherwise.
 */
static void damaged_lists_are_not_below(void **state)
{
	uint8_t bytes[64], *high;
	struct sorted s;

	(void)state;
	make_damaged(&s, bytes, sizeof(bytes));
	high = bytes + sorted_low_bytes(s.nr, s.low_bits);
	assert_true(sorted_below(&s, 0, 10, 160, 0));
	assert_true(sorted_below(&s, 0, 9, 144, 0));
	assert_false(
		sorted_below(&s, 0, 10, 159, 0)); /* the low part of the last one may be anything */
	assert_false(sorted_below(&s, 0, 10, 144, 0));
	assert_false(sorted_below(&s, 0, 10, 0, 0));
	assert_false(sorted_below(&s, 0, 0, 160, 0));

	high[0] &= 0xfe; /* one entry too few */
	assert_false(sorted_below(&s, 0, 10, 1000, 0));
	assert_true(sorted_below(&s, 0, 9, 1000, 0));
	high[2] |= 0xf0; /* behind the row's end */
	assert_false(sorted_below(&s, 0, 10, 1000, 0));
	memset(high, 0, 3);
	assert_false(sorted_below(&s, 0, 1, 1000, 0));
	assert_false(sorted_below(&s, 5, 1, 1000, 0));
}

static void check_segment(struct segment_entries *e, struct segment_work *work)
{
	uint32_t *values = malloc(e->nr * sizeof(*values));
	struct bytes out = {0};
	struct segment s;

	segment_put(&out, e, work);
	bytes_room(&out, BITS_SLACK_BYTES);
	assert_true(segment_open(&s, out.data, out.len_bytes + BITS_SLACK_BYTES, e->shares));
	assert_int_equal(s.places.nr, e->nr);
	segment_values(&s, 0, e->nr, values);
	assert_memory_equal(values, e->values, e->nr * sizeof(*values));
	for (uint32_t i = 0; i < e->nr; i += 1 + e->nr / 100) {
		assert_int_equal(segment_value(&s, i), e->values[i]);
		if (e->shares)
			assert_int_equal(segment_share(&s, i), e->shares[i]);
	}
	for (uint64_t len = 0; len < out.len_bytes; len += 1 + len / 4)
		assert_false(segment_open(&s, out.data, len, e->shares));
	bytes_release(&out);
	free(values);
}

/* Values all alike, few, more than a dictionary takes, and of all widths. */
static void segments(void **state)
{
	static const uint32_t spreads[] = {1, 2, 7, 200, 5000, 0};
	struct segment_work *work = segment_work_new();

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		uint32_t nr = 1 + (uint32_t)(oracle_random(&seed) % (i % 4 ? 300 : 20000));
		uint64_t *places = malloc(nr * sizeof(*places));
		uint32_t *values = malloc(nr * sizeof(*values));
		uint8_t *shares = malloc(nr);
		struct segment_entries e = {.places = places,
					    .values = values,
					    .shares = i % 2 ? shares : NULL,
					    .nr = nr};
		uint32_t spread = spreads[i % ARRAY_SIZE(spreads)];

		make_places(places, nr, 1 + i * i, false);
		for (uint32_t k = 0; k < nr; k++) {
			uint32_t r = (uint32_t)oracle_random(&seed);

			values[k] = spread ? r % spread * (i % 3 ? 1 : 100003) + i : r;
			shares[k] = r >> 28;
		}
		check_segment(&e, work);
		free(places);
		free(values);
		free(shares);
	}
	segment_work_free(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(sizes_that_cannot_be),
		cmocka_unit_test(damaged_lists_are_not_below),
		cmocka_unit_test(segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
