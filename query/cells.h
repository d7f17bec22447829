/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_CELLS_H
#define QUERY_CELLS_H

#include "query/query.h"

/*
 * The cells of a history's tables, for run*.c alone: others ask for rows, or for cells with
 * query_cell(), which looks whether the row is there.
 */
static inline int64_t query_nr_rows(const struct sonde_history *history, enum query_table table)
{
	return history->tables[table].nr_rows;
}

static inline int64_t query_number(const struct sonde_history *history, enum query_table table,
				   int64_t row, unsigned column)
{
	const struct query_cells *t = &history->tables[table];
	int in_file = history->column[table][column];

	if (in_file < 0 || row < 0 || row >= t->nr_rows)
		return -1;
	return t->cells[row * t->nr_columns + in_file];
}

static inline const char *query_string(const struct sonde_history *history, enum query_table table,
				       int64_t row, unsigned column)
{
	int64_t id = query_number(history, table, row, column);

	return id <= 0 ? "" : history_string(history->file, (uint32_t)id);
}

static inline bool query_has_row(const struct sonde_history *history, enum query_table table,
				 int64_t row)
{
	return row >= 0 && row < query_nr_rows(history, table);
}

/* sonde_<name>_get_sized(), by read_<name>().  Mostly the caller's struct is the same: then it is
 * written at once. */
#define SIZED(name)                                                                                \
	int sonde_##name##_get_sized(const struct sonde_history *history, int64_t row,             \
				     struct sonde_##name *out, size_t out_bytes)                   \
	{                                                                                          \
		struct sonde_##name own;                                                           \
		int ret;                                                                           \
                                                                                                   \
		if (out_bytes == sizeof(own))                                                      \
			return read_##name(history, row, out);                                     \
		ret = read_##name(history, row, &own);                                             \
		query_give(out, out_bytes, &own, sizeof(own));                                     \
		return ret;                                                                        \
	}

#endif
