/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "history/parts/node.h"
#include "history/parts/pack.h"
#include "history/parts/snapshot.h"
#include "history/parts/totals.h"

#include <cmocka.h>

/*
 * Parts that are packed and unpacked again hold what they held; packed bytes that are cut or
 * changed give an error or some part, and never anything else.
 */
#define NR_MAX 70000

static uint64_t seed;
static struct pack *p;
static struct unpack *unpack;

static uint64_t pick(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed * 0x2545f4914f6cdd1dull >> 11) % below;
}

/* How the entries of a node look. */
struct node_kind {
	const char *name;
	enum part_kind part;
	unsigned nr_rows, nr_moments;
	uint64_t gap_max;    /* between moments */
	uint32_t value_max;  /* 0: any */
	unsigned row_one_in; /* a row changes at one of so many moments, */
	unsigned off_one_in; /* ... and off it one of so many times; 0: never */
	bool numbered;	     /* the plain node has a time list */
	bool regular;	     /* values and gaps follow each other as always */
};

static const struct node_kind kinds[] = {
	{"one entry", PART_SLICE, 1, 1, 5, 3, 1, 0, false, false},
	{"one row, regular", PART_SLICE, 1, 20000, 1000, 300, 1, 0, false, true},
	{"one row, not regular", PART_SLICE, 1, 5000, 1u << 30, 0, 1, 0, false, false},
	{"rows with the same moments", PART_SLICE, 9, 5000, 900, 60, 2, 0, true, true},
	{"rows with nearly the same moments", PART_SLICE, 9, 5000, 900, 60, 2, 9, false, true},
	{"far apart", PART_SLICE, 3, 3, 1ull << 61, 0, 1, 0, false, false},
	{"group", PART_GROUP, 3000, 40, 100000, 5, 30, 3, false, false},
	{"group without anything", PART_GROUP, 0, 0, 1, 1, 1, 0, false, false},
	{"summary", PART_SUMMARY, 20, 2000, 12, 9, 3, 0, false, false},
};

struct row_data {
	uint64_t places[NR_MAX];
	uint32_t values[NR_MAX];
	uint8_t shares[NR_MAX];
};

static uint64_t moments[NR_MAX];
static struct row_data row;

static void make_moments(const struct node_kind *k)
{
	uint64_t at = pick(k->gap_max);

	for (unsigned i = 0; i < k->nr_moments; i++) {
		moments[i] = at;
		at += 1 + (k->regular ? (i % 7 + 1) * k->gap_max / 8 : pick(k->gap_max));
	}
}

static struct segment_entries make_row(const struct node_kind *k)
{
	struct segment_entries e = {.places = row.places, .values = row.values};
	uint64_t max = k->value_max ? k->value_max : 1ull << 32;

	for (unsigned i = 0; i < k->nr_moments; i++) {
		uint64_t place = k->numbered ? i : moments[i];

		if (pick(k->row_one_in))
			continue;
		if (k->off_one_in && !pick(k->off_one_in) && i + 1 < k->nr_moments &&
		    place + 1 < moments[i + 1])
			place++;
		row.places[e.nr] = place;
		row.values[e.nr] = (uint32_t)(k->regular ? i * 7 % max : pick(max));
		row.shares[e.nr++] = (uint8_t)pick(SHARE_ALL + 1);
	}
	e.shares = k->part == PART_SUMMARY ? row.shares : NULL;
	return e;
}

static void make_snapshot(struct bytes *out, ns_t base, unsigned nr)
{
	struct snapshot_entry *list = calloc(nr + 1, sizeof(*list));

	for (unsigned i = 0; i < nr; i++)
		list[i] = (struct snapshot_entry){.attr = i * 3 + (unsigned)pick(3),
						  .value = (uint32_t)pick(1ull << 32),
						  .since = base - (ns_t)pick(1ull << 40)};
	snapshot_put(out, base, list, nr);
	free(list);
}

static void make_node(const struct node_kind *k, struct bytes *out)
{
	ns_t base = (ns_t)pick(1ull << 61) - (ns_t)(1ull << 60);
	struct node_writer w;
	struct bytes extra = {0};
	uint32_t attr = 0;

	assert_int_equal(node_writer_init(&w), 0);
	make_moments(k);
	node_start(&w, k->part == PART_SUMMARY);
	for (unsigned i = 0; i < k->nr_rows; i++) {
		struct segment_entries e = make_row(k);

		attr += 1 + (uint32_t)pick(4);
		if (e.nr || k->part == PART_GROUP)
			node_add(&w, attr, k->part == PART_GROUP ? (uint32_t)pick(1 << 16) : 0, &e);
	}
	if (k->part == PART_GROUP)
		make_snapshot(&extra, base, k->nr_rows / 2);
	node_finish(&w, base, k->numbered ? moments : NULL, k->nr_moments, &extra, out);
	assert_false(out->failed);
	bytes_release(&extra);
	node_writer_release(&w);
}

static void take_times(const struct node *n, const struct segment *s, uint64_t *out)
{
	uint64_t hint = 0;

	sorted_decode(&s->places, 0, s->places.nr, out, &hint);
	if (!n->has_shares)
		node_times(n, out, s->places.nr);
}

static void same_row(const struct node *a, const struct node *b, uint32_t i)
{
	static uint64_t times_a[NR_MAX], times_b[NR_MAX];
	static uint32_t values_a[NR_MAX], values_b[NR_MAX];
	static uint8_t shares_a[NR_MAX], shares_b[NR_MAX];
	struct segment sa, sb;
	int any = node_segment(a, i, &sa);

	assert_int_equal(node_attr(a, i), node_attr(b, i));
	assert_int_equal(node_mask(a, i), node_mask(b, i));
	assert_int_equal(node_segment(b, i, &sb), any);
	if (!any)
		return;
	assert_int_equal(sa.places.nr, sb.places.nr);
	take_times(a, &sa, times_a);
	take_times(b, &sb, times_b);
	assert_memory_equal(times_a, times_b, sa.places.nr * sizeof(*times_a));
	segment_values(&sa, 0, sa.places.nr, values_a);
	segment_values(&sb, 0, sb.places.nr, values_b);
	assert_memory_equal(values_a, values_b, sa.places.nr * sizeof(*values_a));
	if (!a->has_shares)
		return;
	segment_shares(&sa, 0, sa.places.nr, shares_a);
	segment_shares(&sb, 0, sb.places.nr, shares_b);
	assert_memory_equal(shares_a, shares_b, sa.places.nr);
}

static void same_node(const struct bytes *a_bytes, const struct bytes *b_bytes)
{
	struct node a, b;

	assert_true(node_open(&a, a_bytes->data, a_bytes->len_bytes));
	assert_true(node_open(&b, b_bytes->data, b_bytes->len_bytes));
	assert_int_equal(a.base, b.base);
	assert_int_equal(a.nr_rows, b.nr_rows);
	assert_int_equal(a.nr_entries, b.nr_entries);
	assert_int_equal(a.has_shares, b.has_shares);
	assert_int_equal(a.extra_bytes, b.extra_bytes);
	assert_memory_equal(a.extra, b.extra, a.extra_bytes);
	for (uint32_t i = 0; i < a.nr_rows; i++)
		same_row(&a, &b, i);
}

static void nodes(void **state)
{
	(void)state;
	seed = 4711;
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes plain = {0}, packed = {0}, again = {0};

		make_node(&kinds[i], &plain);
		assert_true(pack_part(p, kinds[i].part, &plain, &packed));
		if (kinds[i].regular && kinds[i].nr_rows == 1)
			assert_true(packed.len_bytes < plain.len_bytes / 3 * 2);
		assert_int_equal(
			unpack_part(unpack, kinds[i].part, packed.data, packed.len_bytes, &again),
			0);
		same_node(&plain, &again);
		bytes_release(&plain);
		bytes_release(&packed);
		bytes_release(&again);
	}
}

static void make_totals(struct bytes *out)
{
	struct total *list = calloc(NR_MAX, sizeof(*list));
	uint32_t nr = 0;

	for (uint32_t attr = 2; attr < 60; attr += 1 + (uint32_t)pick(5)) {
		uint64_t value = 0;

		for (unsigned i = 0; i < 200 && value <= UINT32_MAX; i++) {
			list[nr++] =
				(struct total){.attr = attr,
					       .value = (uint32_t)value,
					       .time_ns = (ns_t)(pick(1ull << 62) >> pick(62))};
			value += 1 + (i % 50 ? pick(3) : pick(1ull << 31));
		}
	}
	list[nr - 1].value = UINT32_MAX;
	totals_put(list, nr, out);
	free(list);
}

static void totals(void **state)
{
	struct bytes plain = {0}, packed = {0}, again = {0};

	(void)state;
	seed = 815;
	make_totals(&plain);
	assert_true(pack_part(p, PART_TOTALS, &plain, &packed));
	assert_int_equal(unpack_part(unpack, PART_TOTALS, packed.data, packed.len_bytes, &again),
			 0);
	assert_int_equal(again.len_bytes, plain.len_bytes);
	assert_memory_equal(again.data, plain.data, plain.len_bytes);
	bytes_release(&plain);
	bytes_release(&packed);
	bytes_release(&again);
}

/* Any answer is right that is one. */
static void unpack_damaged(enum part_kind kind, const uint8_t *from, size_t len_bytes)
{
	uint8_t *exact = malloc(len_bytes ? len_bytes : 1); /* so that reading on is noticed */
	struct bytes plain = {0};
	struct node n;
	int ret;

	memcpy(exact, from, len_bytes);
	ret = unpack_part(unpack, kind, exact, len_bytes, &plain);
	assert_true(ret == 0 || ret == -EIO);
	if (!ret && kind != PART_TOTALS)
		assert_true(node_open(&n, plain.data, plain.len_bytes));
	bytes_release(&plain);
	free(exact);
}

static void damage(enum part_kind kind, const struct bytes *packed)
{
	for (unsigned i = 0; i < 300; i++) {
		size_t at = i < 40 ? i % packed->len_bytes : pick(packed->len_bytes);
		uint8_t was = packed->data[at];

		packed->data[at] ^= (uint8_t)(1 + pick(255));
		unpack_damaged(kind, packed->data, packed->len_bytes);
		packed->data[at] = was;
		unpack_damaged(kind, packed->data, at);
	}
}

static void damaged(void **state)
{
	struct bytes plain = {0}, packed = {0};

	(void)state;
	seed = 31;
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		bytes_clear(&plain);
		make_node(&kinds[i], &plain);
		assert_true(pack_part(p, kinds[i].part, &plain, &packed));
		damage(kinds[i].part, &packed);
	}
	bytes_clear(&plain);
	make_totals(&plain);
	assert_true(pack_part(p, PART_TOTALS, &plain, &packed));
	damage(PART_TOTALS, &packed);
	bytes_release(&plain);
	bytes_release(&packed);
}

static int setup(void **state)
{
	(void)state;
	p = pack_new();
	unpack = unpack_new();
	return p && unpack ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	pack_free(p);
	unpack_free(unpack);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes),
		cmocka_unit_test(totals),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
