/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/by_machine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Whose rows: of a table of the file, or of one that is computed. */
struct source {
	const struct sonde_history *history;
	enum query_table table;
	const struct sonde_rows *rows; /* NULL: of the table */
	unsigned column;
};

/* The machine that a row names; -1: none that there is. */
static int64_t machine_of(const struct source *s, int64_t row)
{
	int64_t machine = s->rows ? sonde_rows_cell(s->rows, (size_t)row, s->column).i
				  : query_cell(s->history, s->table, row, s->column);

	return machine < sonde_nr_machines(s->history) ? machine : -1;
}

static int group(struct by_machine *b, const struct source *s, int64_t nr)
{
	int64_t nr_machines = sonde_nr_machines(s->history);

	b->first = calloc((size_t)nr_machines + 2, sizeof(*b->first));
	b->rows = malloc(((size_t)nr + 1) * sizeof(*b->rows));
	if (!b->first || !b->rows)
		return -ENOMEM;
	/* Counted two places behind: while they are put where they belong, each machine's begin
	 * moves to its end. */
	for (int64_t row = 0; row < nr; row++) {
		int64_t machine = machine_of(s, row);

		if (machine >= 0)
			b->first[machine + 2]++;
	}
	for (int64_t i = 2; i < nr_machines + 2; i++)
		b->first[i] += b->first[i - 1];
	for (int64_t row = 0; row < nr; row++) {
		int64_t machine = machine_of(s, row);

		if (machine >= 0)
			b->rows[b->first[machine + 1]++] = (uint32_t)row;
	}
	return 0;
}

int by_machine_init(struct by_machine *b, const struct sonde_history *history,
		    enum query_table table)
{
	return group(b, &(struct source){.history = history, .table = table},
		     history->tables[table].nr_rows);
}

int by_machine_init_rows(struct by_machine *b, const struct sonde_history *history,
			 const struct sonde_rows *f, const char *column)
{
	int at = sonde_rows_column(f, column);

	assert(at >= 0);
	return group(b, &(struct source){.history = history, .rows = f, .column = (unsigned)at},
		     (int64_t)sonde_rows_nr(f));
}

void by_machine_release(struct by_machine *b)
{
	free(b->first);
	free(b->rows);
	*b = (struct by_machine){0};
}
