/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SQL_ATTRS_H
#define SQL_ATTRS_H

#include "history/history.h"
#include "sql/table.h"

/*
 * Attributes, and what they are of.  docs/formats/schema.md lists them by path; where two of
 * different things have one name, their kinds here differ: "vcpu_state" and "thread_state",
 * "thread_cpu", "thread_comm".
 */
struct attr_info {
	attr_t attr;
	const char *kind;
	int64_t machine, cpu, thread; /* rows; -1: is of none */
};

#define ATTR_PATH_MAX 400

/* False: a directory, which has no values. */
bool attr_describe(const struct sql_history *r, attr_t attr, struct attr_info *out);

/* "host0/cpu0/runs" */
void attr_path(const struct sql_history *r, attr_t attr, char buf[static ATTR_PATH_MAX]);

/*
 * The attributes that a cursor's wants leave, one after the other.  As few as possible are looked
 * at: those of one path, CPU or thread, those of all CPUs when their kind is one that CPUs have,
 * else all.
 */
struct attr_walk {
	const struct sql_want *path, *attr, *machine, *kind, *cpu, *machine_row, *cpu_row,
		*thread_row;
	enum { WALK_ONE, WALK_CPUS, WALK_THREAD, WALK_ALL } way;
	int64_t next, end; /* CPUs times kinds, or attributes */
	attr_t at;	   /* WALK_ONE, WALK_THREAD: the next */
};

void attr_walk_start(struct attr_walk *w, const struct sql_cursor *c);
bool attr_walk_next(struct attr_walk *w, const struct sql_history *r, struct attr_info *out);

/* The value of an interval, for SQL: rows are told from 0, and CPUs by their number. */
void attr_value(const struct sql_history *r, const struct attr_info *a, uint32_t value,
		sqlite3_context *out);
/* The same in words. */
void attr_text(struct sql_history *r, const struct attr_info *a, uint32_t value,
	       sqlite3_context *out);

/* What tables of attributes tell of one: numbers of their columns' .from. */
enum attr_column {
	ATTR_PATH,
	ATTR_MACHINE,
	ATTR_CPU,
	ATTR_THREAD,
	ATTR_KIND,
	ATTR_NUMBER_COLUMN,
	ATTR_NR_COLUMNS
};

/* clang-format off */
#define ATTR_COLUMNS                                                                               \
	{.name = "path", .type = SONDE_COL_STRING, .flags = SQL_EQ | SQL_GLOB, .from = ATTR_PATH,  \
	 .help = "of the attribute, see docs/formats/schema.md"},                                  \
	{.name = "machine", .type = SONDE_COL_MACHINE, .flags = SQL_EQ, .from = ATTR_MACHINE,      \
	 .help = "whose state it is"},                                                             \
	{.name = "cpu", .type = SONDE_COL_CPU, .flags = SQL_EQ, .from = ATTR_CPU,                  \
	 .help = "of which of its CPUs"},                                                          \
	{.name = "thread", .type = SONDE_COL_THREAD, .from = ATTR_THREAD,                          \
	 .help = "of which of its threads"},                                                       \
	{.name = "kind", .type = SONDE_COL_STRING, .flags = SQL_EQ, .from = ATTR_KIND,             \
	 .help = "runs, vcpu_state, on, exit, woken, why_off, task; thread_state, thread_cpu, "    \
		 "thread_comm, waker; clock_bound"}

/* Hidden ones; they follow those of a window, if there are any. */
#define ATTR_HIDDEN_COLUMNS                                                                        \
	{.name = "attr", .type = SONDE_COL_INT, .flags = SQL_EQ | SQL_HIDDEN,                      \
	 .from = ATTR_NUMBER_COLUMN, .help = "the attribute's number"},                            \
	{.name = "machine_row", .type = SONDE_COL_MACHINE, .from = ATTR_MACHINE,                   \
	 .flags = SQL_EQ | SQL_HIDDEN | SQL_ROW, .help = "row of machine"},                        \
	{.name = "cpu_row", .type = SONDE_COL_CPU, .from = ATTR_CPU,                               \
	 .flags = SQL_EQ | SQL_HIDDEN | SQL_ROW, .help = "row of cpu"},                            \
	{.name = "thread_row", .type = SONDE_COL_THREAD, .from = ATTR_THREAD,                      \
	 .flags = SQL_EQ | SQL_HIDDEN | SQL_ROW, .help = "row of thread"}
/* clang-format on */

void attr_cell(struct sql_history *r, const struct attr_info *a, const struct sql_column *column,
	       sqlite3_context *out);

#endif
