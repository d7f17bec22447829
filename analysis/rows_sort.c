/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rows.h"
#include "base/key_sort.h"

#include <stdlib.h>

/*
 * Rows in the order of one column; those that are equal in it stay as they are.  Only their numbers
 * are sorted.
 */
static void take_keys(const struct sonde_rows *f, unsigned column, bool rising,
		      struct sort_item *items)
{
	uint64_t flip = rising ? 1ull << 63 : ~(1ull << 63);

	for (size_t i = 0; i < f->nr_rows; i++) {
		items[i].key = (uint64_t)rows_cell(f, i, column).i ^ flip;
		items[i].at = (uint32_t)i;
	}
}

static void sort(struct sonde_rows *f, const char *name, bool rising)
{
	unsigned column = (unsigned)sonde_rows_column(f, name);
	size_t nr = f->nr_rows;
	struct sort_item *items = malloc((2 * nr + 1) * sizeof(*items));
	uint32_t *order = malloc((nr + 1) * sizeof(*order));

	if (!items || !order) {
		f->no_memory = true;
		free(items);
		free(order);
		return;
	}
	take_keys(f, column, rising, items);
	key_sort(items, nr);
	for (size_t i = 0; i < nr; i++)
		order[i] = f->order ? f->order[items[i].at] : items[i].at;
	free(items);
	free(f->order);
	f->order = order;
}

void rows_sort(struct sonde_rows *f, const char *column)
{
	sort(f, column, false);
}

void rows_sort_rising(struct sonde_rows *f, const char *column)
{
	sort(f, column, true);
}
