/* SPDX-License-Identifier: Apache-2.0 */
/* Those of an analysis' rows that are about one machine. */
#include "analysis/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The column that says whose row it is: the first that names a machine or one's CPU; -1 none. */
static int owner_column(const struct sonde_table *a)
{
	for (unsigned i = 0; i < a->nr_columns; i++) {
		if (a->columns[i].type == SONDE_COL_MACHINE || a->columns[i].type == SONDE_COL_CPU)
			return (int)i;
	}
	for (unsigned i = 0; i < a->nr_columns; i++) {
		if (a->columns[i].type == SONDE_COL_STRING && !strcmp(a->columns[i].name, "vm"))
			return (int)i;
	}
	return -1;
}

static int64_t owner(const struct sonde_history *history, enum sonde_column_type type,
		     union sonde_cell cell)
{
	struct sonde_cpu cpu;

	if (type == SONDE_COL_STRING)
		return sonde_find_machine(history, cell.s);
	if (type == SONDE_COL_MACHINE)
		return cell.i;
	return sonde_cpu_get(history, cell.i, &cpu) ? -1 : (int64_t)cpu.machine;
}

/* Strings go into the copy, which may live longer. */
static void copy_row(struct sonde_rows *out, const struct sonde_rows *all, size_t row)
{
	const struct sonde_table *a = all->table;
	union sonde_cell *copy;

	copy = rows_new(out);
	if (!copy)
		return;
	for (unsigned c = 0; c < a->nr_columns; c++) {
		copy[c] = rows_cell(all, row, c);
		if (a->columns[c].type != SONDE_COL_STRING || !copy[c].s)
			continue;
		copy[c].s = arena_strdup(&out->arena, copy[c].s);
		out->no_memory |= !copy[c].s;
	}
}

int rows_of_machine(struct sonde_rows **out, const struct sonde_history *history,
		    const struct sonde_rows *all, int64_t machine)
{
	int column = owner_column(all->table);
	struct sonde_rows *f = calloc(1, sizeof(*f));

	*out = NULL;
	if (!f)
		return -ENOMEM;
	f->table = all->table;
	for (size_t row = 0; column >= 0 && row < all->nr_rows && !f->no_memory; row++) {
		union sonde_cell cell = sonde_rows_cell(all, row, (unsigned)column);
		int64_t whose = owner(history, all->table->columns[column].type, cell);

		if (whose >= 0 && whose < sonde_nr_machines(history) &&
		    query_is_inside(history, whose, machine))
			copy_row(f, all, row);
	}
	if (f->no_memory) {
		sonde_rows_free(f);
		return -ENOMEM;
	}
	*out = f;
	return 0;
}
