/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SQL_HISTORY_H
#define SQL_HISTORY_H

#include "base/error.h"
#include "base/map.h"
#include "sonde/tables.h"
#include "sonde/history.h"

/*
 * A history behind SQL tables: opened once, shared by all tables made of it, and by their cursors.
 * SQLite never runs two of them at once (a connection has one mutex), so nothing here is locked.
 */

/* What has been read so far: costs that a query can be held to. */
enum sql_cost {
	COST_ATTRIBUTES, /* attributes whose intervals were asked for */
	COST_INTERVALS,	 /* intervals read of those */
	COST_EVENTS,	 /* events that the traces' reader handed over */
	COST_TABLES,	 /* analyses computed */
	COST_ANALYSED,	 /* time these were computed over, in ns */
	COST_NR
};

#define ROWS_KEPT 8

/* Rows of one analysis over one window. */
struct sql_rows {
	struct sonde_rows *rows; /* owned */
	int64_t begin, end;
	unsigned users; /* cursors that read them */
};

struct sql_history {
	struct sonde_history *history; /* owned */
	char *path;		       /* owned: what it was opened as */
	unsigned users;
	struct sql_history *next;	  /* in the list of those that are open */
	int64_t begin, end;		  /* the window, unless a query names one */
	int64_t all_begin, all_end;	  /* the same, of tables that have no shares of it */
	struct map cpu_dirs;		  /* attribute of a CPU's directory -> row */
	struct map machine_dirs;	  /* attribute of a machine's directory -> row */
	struct sql_rows *kept[ROWS_KEPT]; /* owned unless in use; the last used first */
	uint64_t cost[COST_NR];
	bool (*go_on)(void *data); /* asked now and then; false ends a query; NULL: nobody asks */
	void *data;
};

/* Takes @history, which is released with it, in case of an error, too.  Its one user is the caller.
 */
int sql_history_new(struct sql_history **out, struct sonde_history *history, struct error *err);

/* Opens the file. */
int sql_history_open(struct sql_history **out, const char *path, struct error *err);

void sql_history_put(struct sql_history *r);

/* False: the query is to end; what runs then returns -EINTR. */
bool sql_history_goes_on(const struct sql_history *r);

/*
 * The rows of an analysis over [begin, end): computed, or those that were asked for not long ago.
 * Returned with sql_rows_put().
 */
int sql_rows_get(struct sql_rows **out, struct sql_history *r, const struct sonde_table *table,
		 int64_t begin, int64_t end, struct error *err);
void sql_rows_put(struct sql_history *r, struct sql_rows *f);

const char *sql_cost_name(enum sql_cost cost);

#endif
