/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROPERTY_SHEET_H
#define TESTS_PROPERTY_SHEET_H

#include "less_specific.h"

#include <sonde/tables.h>

/*
 * One table, as both histories have it, and what each of its columns means for "less specific":
 *
 *	RULE_KEY      what a row is about: equal, or less specific (order.c)
 *	RULE_SUM      times and counts: at most what those rows of the whole history together have
 *		      that the row's keys fit, and what clocks may have moved.  What is missing is
 *		      unknown, or lost; a "total" without its part of which nothing is known: that
 *		      may be another row's
 *	RULE_EXTREME  the longest of something: at most that of one of these rows
 *	RULE_PART     of lists: what else is told of the row's time, see lists.c
 *	RULE_NONE     less evidence tells nothing certain of it: means, shares, what is unknown or
 *		      less specific itself, sentences that give evidence, names (older ones, maybe)
 *
 *	rules.c  which column has which rule
 *	keys.c   whether a row of the one history is about what a row of the other one is about
 *	lists.c  tables with a row for each thing that happened: its time lies in that of one row of
 *		 the whole history that its keys fit
 *	sums.c   all other ones
 *	beside.c what the sums have where the whole history's own evidence tells less
 *
 * Where the whole history itself knows less, for its traces contradict each other, the damaged one
 * may know more: that is counted.  A trace may show a gap in another: without it, the cut run says
 * there what the whole one does not; that is counted, up to the gap's length.
 */
enum rule { RULE_NONE, RULE_KEY, RULE_SUM, RULE_EXTREME, RULE_PART };

#define COLUMNS_MAX 40
#define LATE_NS 10000000 /* see LIE_WAITS */

/* All cells of a table, row by row. */
struct grid {
	struct sonde_rows *rows;
	const struct sonde_table *of;
	size_t nr;
	union sonde_cell *cells; /* owned; strings are those of @rows */
};

/* How the values of one column fit those of the other history's: each pair is asked for once. */
struct fits {
	uint32_t *cut, *whole; /* by row: number of its value; NULL: too many, ask each time */
	size_t nr_whole;       /* values */
	signed char *known;    /* by cut value, then whole value; -1 not yet */
};

struct sheet {
	const struct sonde_table *of;
	enum rule rules[COLUMNS_MAX];
	struct fits fits[COLUMNS_MAX];
	int at, length; /* of lists; else -1 */
	int whole_at, whole_length;
	int thread, pid, mode, culprit_machine, entry, doubt, from,
		until; /* columns, -1 where there is none */
	bool is_process_time, is_spread;
	struct grid cut, whole;
	struct grid waits, wakeups; /* of the whole history, where wake-ups are compared */
	struct grid preemptions;    /* the same, of table steal */
	struct grid exits;	    /* the same, of table exit_cause */
	struct grid beside[2];	    /* of the cut run: see beside.c */
	int64_t beside_of;	    /* ... of which machine, + 1; 0 not read yet */
	int64_t slack;		    /* the greatest that clocks may have moved at all */
	struct listed {
		int64_t at;
		size_t row;
	} * order;	 /* owned: of lists, rows of the whole history by time */
	int64_t longest; /* of these */
};

static inline union sonde_cell cell(const struct grid *g, size_t row, int column)
{
	return g->cells[row * g->of->nr_columns + (size_t)column];
}

int grid_column(const struct grid *g, const char *name);
int grid_get(struct grid *g, const struct side *side, const char *name, int64_t from, int64_t to,
	     struct sonde_error *err);
void grid_release(struct grid *g);

bool sheet_is_skipped(const struct sonde_table *a);
void sheet_rules(struct sheet *s, const struct sonde_table *a);

/* A row's length; as far as it is certain: see column doubt of boot and shutdown. */
int64_t length_of(const struct sheet *s, const struct grid *g, size_t row);
/* A row of the second history in words. */
void word_row(const struct pair *p, const struct sheet *s, size_t row, char *buf, size_t room);
/* A quarter more than is said, if that is the lie: what is to be found out. */
int64_t more_if(const struct pair *p, int64_t value);

/* ---- keys.c -------------------------------------------------------------------------------- */

/* Which rows fit; those, too, that say less; those of a machine's other threads. */
enum { FIT = 1, FIT_MORE = 2, FIT_THREADS = 4 };

void keys_init(struct sheet *s);
void keys_release(struct sheet *s);
/* In which of these ways, of @asked, the row fits. */
unsigned keys_fit(const struct pair *p, struct sheet *s, size_t cut, size_t whole, unsigned asked);
/* A row that says less than others may stand for several of these, one after the other. */
bool is_less_specific(const struct sheet *s, size_t row);
bool same_keys(const struct sheet *s, size_t a, size_t b); /* rows of the second history */
/* ... of which the first is one of another grid of the same table. */
bool same_keys_as(const struct sheet *s, const struct grid *g, size_t a, size_t b);
bool causes_fit(const char *cut, const char *whole);
/* Of which machine what that key names is; -1 it names nothing that has one. */
int64_t machine_of_key(const struct pair *p, const struct sheet *s, size_t row, int column);

/* ---- lists.c, sums.c ----------------------------------------------------------------------- */

void lists_init(struct sheet *s);
/* Of a wait or a wake-up: only the host of the vCPU's host tells of it. */
bool is_seen_from_outside(const struct pair *p, const struct sheet *s, size_t row);
void check_listed(struct pair *p, struct sheet *s, size_t row);
/* Seen from outside, a wake-up of that machine and cause: it ends a wait of the whole history, with
 * the entry of the vCPU's host that the VM's own one led to; or is a wake-up of the whole history.
 */
bool is_wakeup_from_outside(const struct pair *p, const struct sheet *s, int64_t machine,
			    const char *cause, int64_t at, int64_t length);
/* The vCPU goes on there in the whole history, too, as far as that knows. */
void check_wait(struct pair *p, const struct sheet *s, size_t row);

/* What a row has in @column, of which only the outer host tells: see beside.c. */
int64_t told_beside(const struct pair *p, struct sheet *s, size_t row, int column);
void check_summed(struct pair *p, struct sheet *s, size_t row);
/* The sums that `sonde report` prints: all time of all CPUs, each moment once; and of that no more
 * is known. */
void check_total(struct pair *p, const struct sheet *s);

#endif
