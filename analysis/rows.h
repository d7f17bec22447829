/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_ROWS_H
#define ANALYSIS_ROWS_H

#include "query/kept.h"
#include "base/arena.h"
#include "sonde/tables.h"

/*
 * How a table is made: a struct table_def with its columns and a function that adds rows.  What it
 * says is all that reports, JSON, CSV, SQL, the page and completion know of it.
 * All of them stand in the list in tables.def.
 */
struct table_def {
	struct sonde_table public;
	int (*find)(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		    struct error *err);
	/* Of sonde report ("wait", "io" ...), which shows it after its own; NULL: those of
	 * cmd/answers/report_topics.c, and tables that are shown only when asked for. */
	const char *topic;
};

/* The @n-th table that is declared to be of @topic; NULL: there is none. */
const struct sonde_table *table_of_topic(const char *topic, unsigned n);

/*
 * A list of very many rows is not written as rows: its analysis keeps what it found in a form of
 * its own, a fraction of their size, and makes a cell when somebody asks for it.  Such a struct
 * begins with this one.
 */
struct rows_log {
	union sonde_cell (*cell)(const struct rows_log *log, size_t row, unsigned column);
	void (*release)(struct rows_log *log);
};

struct sonde_rows {
	const struct sonde_table *table;
	struct arena arena;	  /* owned: strings made by the analysis */
	struct rows_log *log;	  /* owned; NULL: the rows are in pages */
	union sonde_cell **pages; /* owned, each owned: ROWS_PAGE rows each, in the order in which
				     they came */
	size_t pages_room;
	size_t nr_rows;
	uint32_t *order; /* owned: rows as they are told; NULL: as they came */
	bool no_memory;	 /* a row was lost: the whole answer is an error */
	unsigned users;	 /* the caller, and the history that keeps it */
};

/*
 * Rows are asked for over and over: by those that are made of others, and by people who look at
 * one window.  A history keeps the last few answers that are small.
 */
#define ROWS_KEPT 48
#define ROWS_KEPT_CELLS 65536

struct rows_kept {
	struct kept kept;
	struct kept_rows {
		ns_t begin, end;
		struct sonde_rows *rows; /* NULL: none yet */
	} list[ROWS_KEPT];
	unsigned next; /* to be replaced */
};

/* Lists of what was found one by one are long: their rows stay where they were put, and what is
 * sorted is numbers. */
#define ROWS_PAGE 128

/* A new row, to be filled in column order; NULL: no memory. */
union sonde_cell *rows_new(struct sonde_rows *f);

/* Adds a row; @cells in column order. */
void rows_add(struct sonde_rows *f, const union sonde_cell *cells);

/* All rows at once, of rows that have none so far; the log is theirs from now on. */
void rows_set_log(struct sonde_rows *f, struct rows_log *log, size_t nr_rows);

/* A cell that there is. */
static inline union sonde_cell rows_cell(const struct sonde_rows *f, size_t row, unsigned column)
{
	size_t came = f->order ? f->order[row] : row;

	if (f->log)
		return f->log->cell(f->log, came, column);
	return f->pages[came / ROWS_PAGE][came % ROWS_PAGE * f->table->nr_columns + column];
}

/* Sorts rows by an integer column, greatest first; those that are equal in it stay as they are. */
void rows_sort(struct sonde_rows *f, const char *column);
/* The same, least first. */
void rows_sort_rising(struct sonde_rows *f, const char *column);

/* The cell of a column that there is. */
union sonde_cell rows_named(const struct sonde_rows *f, size_t row, const char *column);

/* The row in which an integer column is @value, of rows whose rows come in the rising order of
 * that column (those per vCPU do, if not sorted by another); -1 none. */
int64_t rows_find_rising(const struct sonde_rows *f, const char *column, int64_t value);

/* A copy with those rows that are about @machine or one inside it: whose row it is says the first
 * column that names a machine or a CPU.  Without such a column, no row is.  0 or -ENOMEM. */
int rows_of_machine(struct sonde_rows **out, const struct sonde_history *history,
		    const struct sonde_rows *all, int64_t machine);

static inline union sonde_cell cell_int(int64_t i)
{
	return (union sonde_cell){.i = i};
}

static inline union sonde_cell cell_str(const char *s)
{
	return (union sonde_cell){.s = s};
}

/* @part of @whole in parts per million, rounded. */
int64_t share_ppm(ns_t part, ns_t whole);

/* The rows of a window, for who makes others of them; sonde_rows_free() them.  An error, too, when
 * the window ends before it begins. */
int table_rows(struct sonde_rows **out, struct sonde_history *history, const struct table_def *a,
	       ns_t begin, ns_t end, struct error *err);

#define TABLE(name) extern const struct table_def name##_table;
#include "analysis/tables.def"
#undef TABLE

#endif
