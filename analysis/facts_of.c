/* SPDX-License-Identifier: Apache-2.0 */
/* Those of an analysis' rows that are about one machine. */
#include "analysis/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The column that says whose row it is: the first that names a machine or one's CPU; -1 none. */
static int owner_column(const struct sonde_analysis *a)
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

static int64_t owner(const struct sonde_run *run, enum sonde_column_type type,
		     union sonde_cell cell)
{
	struct sonde_cpu cpu;

	if (type == SONDE_COL_STRING)
		return sonde_find_machine(run, cell.s);
	if (type == SONDE_COL_MACHINE)
		return cell.i;
	return sonde_cpu_get(run, cell.i, &cpu) ? -1 : (int64_t)cpu.machine;
}

/* Strings go into the copy, which may live longer. */
static void copy_row(struct sonde_facts *out, const struct sonde_facts *all, size_t row)
{
	const struct sonde_analysis *a = all->analysis;
	union sonde_cell *copy;

	copy = facts_new_row(out);
	if (!copy)
		return;
	for (unsigned c = 0; c < a->nr_columns; c++) {
		copy[c] = facts_cell(all, row, c);
		if (a->columns[c].type != SONDE_COL_STRING || !copy[c].s)
			continue;
		copy[c].s = arena_strdup(&out->arena, copy[c].s);
		out->no_memory |= !copy[c].s;
	}
}

int facts_of_machine(struct sonde_facts **out, const struct sonde_run *run,
		     const struct sonde_facts *all, int64_t machine)
{
	int column = owner_column(all->analysis);
	struct sonde_facts *f = calloc(1, sizeof(*f));

	*out = NULL;
	if (!f)
		return -ENOMEM;
	f->analysis = all->analysis;
	for (size_t row = 0; column >= 0 && row < all->nr_rows && !f->no_memory; row++) {
		union sonde_cell cell = sonde_facts_cell(all, row, (unsigned)column);
		int64_t whose = owner(run, all->analysis->columns[column].type, cell);

		if (whose >= 0 && whose < sonde_nr_machines(run) &&
		    run_is_inside(run, whose, machine))
			copy_row(f, all, row);
	}
	if (f->no_memory) {
		sonde_facts_free(f);
		return -ENOMEM;
	}
	*out = f;
	return 0;
}
