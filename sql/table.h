/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SQL_TABLE_H
#define SQL_TABLE_H

#include "sql/history.h"
#include "sql/sqlite.h"

/*
 * How a table is made: columns, and functions that walk its rows.  vtab.c is between these and
 * SQLite: it turns what a query asks for (path = 'x', begin < 5) into the wants of each column, so
 * that a table need not read what the query does not want.  A table may give more rows than are
 * wanted, never fewer: SQLite tests all of them again.
 *
 * Values.  What is unknown is NULL.  Machines, CPUs, threads and namespaces are told by their names
 * for people; a hidden column NAME_row beside each has the number of its row.
 */

/* What a column can do. */
#define SQL_EQ 1u	 /* the table makes use of column = value */
#define SQL_RANGE 2u	 /* and of <, <=, >, >=; integers only */
#define SQL_GLOB 4u	 /* and of GLOB */
#define SQL_UNIQUE 8u	 /* at most one row has a value */
#define SQL_HIDDEN 16u	 /* not in SELECT * */
#define SQL_ROW 32u	 /* of a machine, CPU ...: its row rather than its name */
#define SQL_ARGUMENT 64u /* begin or end of the window: part of the question; see SQL_WINDOW */

struct sql_column {
	const char *name;
	enum sonde_column_type type;
	unsigned flags;
	const char *help;
	/* Where its values are found: number of a table's column, or offset in a row's struct. */
	unsigned from;
	unsigned bytes; /* in a struct: of the integer */
	bool is_signed; /* the integer */
};

/* Columns of a table over a window of time, the first of its hidden ones: they are the arguments of
 * NAME(A, B), and are where the host was traced (or what --time says) unless given. */
/* clang-format off */
#define SQL_WINDOW                                                                                 \
	{.name = "window_begin", .type = SONDE_COL_TIME, .flags = SQL_HIDDEN | SQL_ARGUMENT,       \
	 .help = "first argument: start of the window, a number or a time as text"},               \
	{.name = "window_end", .type = SONDE_COL_TIME, .flags = SQL_HIDDEN | SQL_ARGUMENT,         \
	 .help = "second argument: end of the window"}
/* clang-format on */

/* What is wanted of a column: integers in [low, high]; @text, @glob: NULL when all are. */
struct sql_want {
	int64_t low, high;
	char *text, *glob; /* owned */
};

struct sql_cursor;

struct sql_table_ops {
	size_t cursor_bytes; /* what the table keeps per cursor, zeroed before start() */
	int (*start)(struct sql_cursor *c, struct error *err);
	/* Goes to the next row, the first after start(): 1, 0 when there is none, -errno. */
	int (*next)(struct sql_cursor *c, struct error *err);
	void (*cell)(struct sql_cursor *c, const struct sql_column *column, sqlite3_context *out);
	void (*stop)(struct sql_cursor *c); /* also after a start() that failed; may be NULL */
};

struct sql_table {
	const char *name;
	const char *help;
	const struct sql_column *columns;
	unsigned nr_columns;
	const struct sql_table_ops *ops;
	const void *what;     /* for the ops: which of several such tables */
	double rows, startup; /* guesses, for the planner: rows of all, cost of the first in rows */
	/* Rows come in order of this column, NULL: in none; when @sorted_when is a column, only if
	 * one value of that is asked for. */
	const char *sorted_by, *sorted_when;
	bool window; /* it has the columns SQL_WINDOW */
	bool all; /* its window is all of the history, others' what was traced: it has no shares */
};

struct sql_cursor {
	sqlite3_vtab_cursor base; /* first */
	const struct sql_table *table;
	struct sql_history *history;
	struct sql_want *wants; /* owned, per column */
	int64_t begin, end;	/* the window, inside the history */
	sqlite3_int64 row;
	bool at_end;
	void *own; /* owned: the ops' */
};

extern const sqlite3_module sql_module;

/* What is wanted of a column. */
const struct sql_want *sql_wanted(const struct sql_cursor *c, const char *column);

/* The second of SQL_WINDOW. */
bool sql_is_window_end(const struct sql_column *column);

/* "CREATE TABLE name(...)", as SQLite is told; made by sqlite3_malloc(), NULL: out of memory. */
char *sql_declare(const struct sql_table *table);

/* "int", "ns", "time", "ppm", "bool" or "text". */
const char *sql_type_name(const struct sql_column *column);
bool sql_type_is_text(const struct sql_column *column);

/* A value of that column's type as an answer: @i, or @s for text. */
void sql_answer(sqlite3_context *out, struct sql_history *r, const struct sql_column *column,
		int64_t i, const char *s);

extern const struct sql_table states_table;
extern const struct sql_table attributes_table;
extern const struct sql_table events_table;
extern const struct sql_table run_table;
extern const struct sql_table cost_table;
extern const struct sql_table machines_table;
extern const struct sql_table cpus_table;
extern const struct sql_table threads_table;
extern const struct sql_table namespaces_table;
extern const struct sql_table cgroups_table;
extern const struct sql_table contexts_table;
extern const struct sql_table clocks_table;
extern const struct sql_table gaps_table;
extern const struct sql_table problems_table;
extern const struct sql_table marks_table;
extern const struct sql_table wakes_table;
extern const struct sql_table vectors_table;
extern const struct sql_table identities_table;
extern const struct sql_table cpu_times_table;
extern const struct sql_table meta_table;

/* What a table of rows does; its .what is a const struct sonde_table *. */
extern const struct sql_table_ops table_rows_ops;

#endif
