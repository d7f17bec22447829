/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TSP_TSP_TABLE_H
#define SERVE_TSP_TSP_TABLE_H

#include "serve/tsp/tsp_call.h"

/*
 * A table of which a viewer sees a page at a time: which of its lines are asked for, by number, by
 * time or by what is in them, is found here; what is in a line, its source says.
 */
#define TSP_COLUMNS_MAX 40
#define TSP_CELL_MAX 512

struct tsp_column {
	int64_t id;
	const char *name, *help, *type; /* STRING, NUMBER ... */
};

/* Viewers take the time of a line from the column of this name. */
#define TSP_TIME_COLUMN "Timestamp ns"

struct tsp_rows {
	struct tsp_column columns[TSP_COLUMNS_MAX];
	unsigned nr_columns;
	int64_t size; /* lines there are, or are known yet */
	void *data;
	/* Makes line @index the current one; 0 or -errno.  Cheap for the one behind the current. */
	int (*go)(void *data, int64_t index);
	/* Column @column (index into .columns) of the current line. */
	void (*text)(void *data, unsigned column, char buf[static TSP_CELL_MAX]);
	/* The first line at or after a time; size when there is none, or -errno. */
	int64_t (*at_time)(void *data, int64_t t);
};

void tsp_add_column(struct tsp_rows *rows, int64_t id, const char *name, const char *help,
		    const char *type);

void tsp_put_columns(struct tsp_call *c, const struct tsp_rows *rows);

/* Writes the model of what the question asks for. */
int tsp_put_lines(struct tsp_call *c, const struct tsp_rows *rows, struct error *err);

#endif
