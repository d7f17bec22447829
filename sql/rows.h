/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SQL_ROWS_H
#define SQL_ROWS_H

#include "sql/table.h"

/*
 * Tables of what a history has many of, row by row: machines, threads, clocks ...  Such a table is
 * a struct that a row is loaded into, and a list of columns that say which of its members they
 * tell.
 */
struct rows {
	int64_t (*nr)(const struct sonde_history *history);
	void (*load)(const struct sql_history *r, int64_t row, void *out); /* @out is zeroed */
};

#define ROW_BYTES_MAX 192 /* the longest such struct */

extern const struct sql_table_ops rows_ops;

/* clang-format off */
/* The first column of most: rows are found by it. */
#define COLUMN_ROW                                                                                 \
	{.name = "row", .type = SONDE_COL_INT, .flags = SQL_EQ | SQL_RANGE | SQL_UNIQUE,           \
	 .help = "its number in the history"}

#define MEMBER(s, member) ((s *)0)->member
#define COLUMN_FLAGGED(s, name_, type_, member, flags_, help_)                                     \
	{.name = name_, .type = SONDE_COL_##type_, .flags = flags_, .help = help_,                 \
	 .from = offsetof(s, member), .bytes = sizeof(MEMBER(s, member)),                          \
	 .is_signed = (__typeof__(MEMBER(s, member)))-1 < (__typeof__(MEMBER(s, member)))0 + 1}
#define COLUMN(s, name_, type_, member, help_) COLUMN_FLAGGED(s, name_, type_, member, 0, help_)
#define COLUMN_TEXT(s, name_, member, help_)                                                       \
	{.name = name_, .type = SONDE_COL_STRING, .help = help_, .from = offsetof(s, member)}
/* The row of what another column names. */
#define COLUMN_ROW_OF(s, name_, type_, member)                                                     \
	COLUMN_FLAGGED(s, name_ "_row", type_, member, SQL_HIDDEN | SQL_ROW, "row of " name_)
/* clang-format on */

#define ROWS_TABLE(name_, s, guess, help_) ROWS_TABLE_NAMED(name_, #name_, s, guess, help_)
#define ROWS_TABLE_NAMED(name_, text, s, guess, help_)                                             \
	_Static_assert(sizeof(s) <= ROW_BYTES_MAX, "a row fits");                                  \
	const struct sql_table name_##_table = {                                                   \
		.name = text,                                                                      \
		.help = help_,                                                                     \
		.columns = name_##_columns,                                                        \
		.nr_columns = ARRAY_SIZE(name_##_columns),                                         \
		.ops = &rows_ops,                                                                  \
		.what = &name_##_rows,                                                             \
		.rows = guess,                                                                     \
		.startup = 1,                                                                      \
	}

#endif
