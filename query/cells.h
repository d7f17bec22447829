/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CELLS_H
#define QUERY_CELLS_H

#include "query/run.h"

/*
 * The cells of a run's tables, for run*.c alone: others ask for rows, or for cells with run_cell(),
 * which looks whether the row is there.
 */
static inline int64_t run_nr_rows(const struct sonde_run *run, enum run_table table)
{
	return run->tables[table].nr_rows;
}

static inline int64_t run_number(const struct sonde_run *run, enum run_table table, int64_t row,
				 unsigned column)
{
	const struct run_cells *t = &run->tables[table];
	int in_file = run->column[table][column];

	if (in_file < 0 || row < 0 || row >= t->nr_rows)
		return -1;
	return t->cells[row * t->nr_columns + in_file];
}

static inline const char *run_string(const struct sonde_run *run, enum run_table table, int64_t row,
				     unsigned column)
{
	int64_t id = run_number(run, table, row, column);

	return id <= 0 ? "" : history_string(run->history, (uint32_t)id);
}

static inline bool run_has_row(const struct sonde_run *run, enum run_table table, int64_t row)
{
	return row >= 0 && row < run_nr_rows(run, table);
}

/* sonde_<name>_get_sized(), by read_<name>().  Mostly the caller's struct is the same: then it is
 * written at once. */
#define SIZED(name)                                                                                \
	int sonde_##name##_get_sized(const struct sonde_run *run, int64_t row,                     \
				     struct sonde_##name *out, size_t out_bytes)                   \
	{                                                                                          \
		struct sonde_##name own;                                                           \
		int ret;                                                                           \
                                                                                                   \
		if (out_bytes == sizeof(own))                                                      \
			return read_##name(run, row, out);                                         \
		ret = read_##name(run, row, &own);                                                 \
		run_give(out, out_bytes, &own, sizeof(own));                                       \
		return ret;                                                                        \
	}

#endif
