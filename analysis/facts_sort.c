/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* qsort_r */
#include "analysis/facts.h"

#include <stdlib.h>
#include <string.h>

/*
 * Rows in falling order of one column; those that are equal in it stay as they are.  Lists of what was
 * found one by one are long: of these only numbers are sorted, digit by digit, and each row is moved
 * once.
 */
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define LONG_LIST 512 /* below, it is not worth counting all digits */

struct item {
	uint64_t key; /* rises as the column falls */
	size_t row;
};

static uint64_t key_of(int64_t cell)
{
	return ~((uint64_t)cell ^ 1ull << 63);
}

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
static uint64_t take_keys(const struct sonde_facts *f, unsigned column, struct item *items)
{
	const union sonde_cell *cell = f->cells + column;
	uint64_t differ = 0;

	for (size_t i = 0; i < f->nr_rows; i++, cell += f->analysis->nr_columns) {
		items[i] = (struct item){key_of(cell->i), i};
		differ |= items[i].key ^ items[0].key;
	}
	return differ;
}

static bool sort_long(struct sonde_facts *f, unsigned column)
{
	unsigned nr = f->analysis->nr_columns;
	struct item *items = malloc(2 * f->nr_rows * sizeof(*items));
	union sonde_cell *cells = malloc(f->nr_rows * nr * sizeof(*cells));
	struct item *from = items, *to = items ? items + f->nr_rows : NULL;
	uint64_t differ;

	if (!items || !cells) {
		free(items);
		free(cells);
		return false;
	}
	differ = take_keys(f, column, items);
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct item *swap = from;

		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		sort_by_digit(from, to, f->nr_rows, shift);
		from = to;
		to = swap;
	}
	for (size_t i = 0; i < f->nr_rows; i++)
		memcpy(cells + i * nr, f->cells + from[i].row * nr, nr * sizeof(*cells));
	free(items);
	free(f->cells);
	f->cells = cells;
	f->room = f->nr_rows;
	return true;
}

static int by_column(const void *a, const void *b, void *data)
{
	unsigned column = *(const unsigned *)data;
	int64_t x = ((const union sonde_cell *)a)[column].i;
	int64_t y = ((const union sonde_cell *)b)[column].i;

	return x == y ? 0 : x > y ? -1 : 1;
}

void facts_sort(struct sonde_facts *f, const char *name)
{
	unsigned column = (unsigned)sonde_facts_column(f, name);

	if (f->nr_rows >= LONG_LIST && sort_long(f, column))
		return;
	if (f->nr_rows)
		qsort_r(f->cells, f->nr_rows, f->analysis->nr_columns * sizeof(*f->cells),
			by_column, &column);
}
