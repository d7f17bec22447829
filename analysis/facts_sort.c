/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/facts.h"

#include <stdlib.h>

/*
 * Rows in the order of one column; those that are equal in it stay as they are.  Only their numbers
 * are sorted: in long lists digit by digit, in short ones, where it is not worth counting all
 * digits, by comparing them.
 */
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define LONG_LIST 512

struct item {
	uint64_t key; /* rows come in the order of their keys */
	uint32_t row; /* as they are told so far */
};

static void sort_by_digit(const struct item *from, struct item *to, size_t nr, unsigned shift)
{
	size_t starts[DIGITS] = {0};
	size_t at = 0;

	for (size_t i = 0; i < nr; i++)
		starts[from[i].key >> shift & (DIGITS - 1)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		size_t its = starts[d];

		starts[d] = at;
		at += its;
	}
	for (size_t i = 0; i < nr; i++)
		to[starts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* Fills @items with the rows' keys; returns which bits are not the same in all of them. */
static uint64_t take_keys(const struct sonde_facts *f, unsigned column, bool rising,
			  struct item *items)
{
	uint64_t flip = rising ? 1ull << 63 : ~(1ull << 63);
	uint64_t differ = 0;

	for (size_t i = 0; i < f->nr_rows; i++) {
		items[i].key = (uint64_t)facts_cell(f, i, column).i ^ flip;
		items[i].row = (uint32_t)i;
		differ |= items[i].key ^ items[0].key;
	}
	return differ;
}

/* Which of the two lists has them at the end. */
static struct item *sort_long(struct item *from, struct item *to, size_t nr, uint64_t differ)
{
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct item *swap = from;

		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		sort_by_digit(from, to, nr, shift);
		from = to;
		to = swap;
	}
	return from;
}

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

static void sort(struct sonde_facts *f, const char *name, bool rising)
{
	unsigned column = (unsigned)sonde_facts_column(f, name);
	size_t nr = f->nr_rows;
	struct item *items = malloc((2 * nr + 1) * sizeof(*items)), *sorted = items;
	uint32_t *order = malloc((nr + 1) * sizeof(*order));
	uint64_t differ;

	if (!items || !order) {
		f->no_memory = true;
		free(items);
		free(order);
		return;
	}
	differ = take_keys(f, column, rising, items);
	if (nr >= LONG_LIST)
		sorted = sort_long(items, items + nr, nr, differ);
	else if (differ)
		qsort(items, nr, sizeof(*items), by_key);
	for (size_t i = 0; i < nr; i++)
		order[i] = f->order ? f->order[sorted[i].row] : sorted[i].row;
	free(items);
	free(f->order);
	f->order = order;
}

void facts_sort(struct sonde_facts *f, const char *column)
{
	sort(f, column, false);
}

void facts_sort_rising(struct sonde_facts *f, const char *column)
{
	sort(f, column, true);
}
