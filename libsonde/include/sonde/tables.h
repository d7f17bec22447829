/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_TABLES_H
#define SONDE_TABLES_H

#include <sonde/history.h>

SONDE_BEGIN

/*
 * Tables: what can be computed from a history, as rows with typed columns.  sonde_tables() lists
 * them.  Report, CSV, JSON, SQL and the page all read these rows.
 *
 *	struct sonde_rows *rows;
 *	if (sonde_rows_get(&rows, history, "preemption", begin, end, &err))
 *		...
 *	for (row...) sonde_rows_cell(rows, row, column)
 *	sonde_rows_free(rows);
 *
 * Some cells are made of what their history holds when they are first asked for.  So rows belong to
 * the thread that uses their history, and are freed before it is closed.
 *
 * Computing rows may take seconds for a history of gigabytes.  The history keeps what it read, with
 * a bound, for the next table of the same window; sonde_history_watch() can stop it.
 */
struct sonde_rows;

enum sonde_column_type {
	SONDE_COL_INT,	  /* a count or a number that names something; -1 unknown */
	SONDE_COL_SIGNED, /* a number that may well be negative; SONDE_SIGNED_UNKNOWN */
	SONDE_COL_NS,	  /* how long */
	SONDE_COL_TIME,	  /* when */
	SONDE_COL_PPM,	  /* share, parts per million */
	SONDE_COL_BOOL,
	SONDE_COL_STRING,
	SONDE_COL_MACHINE, /* row numbers of the history's tables, -1 unknown */
	SONDE_COL_CPU,
	SONDE_COL_THREAD,
	SONDE_COL_PID_NS,
	SONDE_COL_MODE, /* enum sonde_mode */
};

#define SONDE_SIGNED_UNKNOWN INT64_MIN

/** struct sonde_column - @name for programs, @title for people, @help what it means */
struct sonde_column {
	const char *name;
	const char *title;
	enum sonde_column_type type;
	const char *help;
};

/** union sonde_cell - @s for SONDE_COL_STRING, @i for all others */
union sonde_cell {
	int64_t i;
	const char *s;
};

/** struct sonde_table - a table that sonde_rows_get() knows: its names, and its columns in order */
struct sonde_table {
	const char *name;
	const char *title;
	const char *help;
	const struct sonde_column *columns;
	unsigned nr_columns;
};

/** sonde_tables - all tables there are; the list is the library's own, of *nr */
SONDE_API const struct sonde_table *const *sonde_tables(unsigned *nr);

/** sonde_rows_get - the rows of table @name for [begin, end) of a history
 * Rows are freed with sonde_rows_free().  Returns 0, -ENOENT: no such table, -EINVAL: the window
 * ends before it begins, -EINTR: the watcher stopped it, -EIO: the file is damaged where it was
 * read.
 */
SONDE_API int sonde_rows_get(struct sonde_rows **out, struct sonde_history *history,
			     const char *name, int64_t begin, int64_t end, struct sonde_error *err);

/** sonde_critical_path - what a thread (a row) waited for in [begin, end), step by step
 * Backwards from the end through wake-ups, interrupts, vCPUs and threads of hosts; the steps come
 * in order of time and partition the window, up to the thread's end where that is earlier (-ERANGE
 * when it ended before the window).  Their columns are those of sonde_rows_table().  -ENOENT: there
 * is no such thread.
 */
SONDE_API int sonde_critical_path(struct sonde_rows **out, struct sonde_history *history,
				  int64_t thread, int64_t begin, int64_t end,
				  struct sonde_error *err);

/** sonde_compare - what changed from a window of one history to a window of another
 * A row per measure (a machine's or vCPU's share of time in a state, rate of exits ...), matched by
 * the names of machines, else by their place, with the change, its limits, and how likely chance
 * alone makes it.
 */
SONDE_API int sonde_compare(struct sonde_rows **out, struct sonde_history *before,
			    int64_t before_begin, int64_t before_end, struct sonde_history *after,
			    int64_t after_begin, int64_t after_end, struct sonde_error *err);

/** sonde_vms - the table "vms" over several histories: profiles of all their VMs, grouped together
 * @names: what each history is called in the answer
 */
SONDE_API int sonde_vms(struct sonde_rows **out, struct sonde_history *const *histories,
			const char *const *names, unsigned nr, struct sonde_error *err);

/** sonde_rows_free - before the history is closed that they are of; NULL is nothing */
SONDE_API void sonde_rows_free(struct sonde_rows *rows);

/** sonde_rows_table - what they are rows of, and their columns; the library's own */
SONDE_API const struct sonde_table *sonde_rows_table(const struct sonde_rows *rows);
/** sonde_rows_nr - how many */
SONDE_API size_t sonde_rows_nr(const struct sonde_rows *rows);
/** sonde_rows_cell - one cell; text in it lives as long as the rows
 * Out of range: -1, which is no text.  A long list makes the cell when it is asked for.
 */
SONDE_API union sonde_cell sonde_rows_cell(const struct sonde_rows *rows, size_t row,
					   unsigned column);

/** sonde_rows_column - number of the column with that name, -1 when there is none */
SONDE_API int sonde_rows_column(const struct sonde_rows *rows, const char *name);

SONDE_END

#endif
