/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TSP_TSP_SESSION_H
#define SERVE_TSP_TSP_SESSION_H

#include "serve/tsp/tsp_call.h"

#include <pthread.h>

struct tsp_trace_state {
	char uuid[TSP_UUID_CHARS + 1];
	bool open;
	int64_t nr_events; /* 0 = not counted yet */
};

/* One answer has the rows of all its runs at the same time, and the longest unused ones make room:
 * with fewer places than runs, those of its first history would be gone when its last one's are
 * there.
 */
#define TSP_CACHED_ROWS TSP_HISTORIES_MAX

/* Rows of a whole history, kept for the next page of their table. */
struct tsp_cached_rows {
	struct sonde_rows *rows; /* owned */
	const struct sonde_history *history;
	const struct sonde_table *table;
	uint64_t used; /* when: the longest unused one makes room */
};

/* What all answers share. */
struct tsp {
	const char *const *paths; /* the caller's */
	unsigned nr;

	pthread_mutex_t lock; /* of what may be opened, made and removed; held for moments */
	struct tsp_trace_state traces[TSP_HISTORIES_MAX];
	struct tsp_experiment experiments[TSP_EXPERIMENTS_MAX];

	pthread_mutex_t rows_lock; /* held while a table of rows is answered */
	struct tsp_cached_rows rows[TSP_CACHED_ROWS];
	uint64_t now; /* counts uses of .rows */

	pthread_mutex_t events_lock; /* held while events are counted or told */
	struct tsp_events *events;   /* owned: of the experiment whose events were asked for last */
};

void tsp_rows_release(struct tsp *tsp);

void tsp_events_free(struct tsp_events *events);

#endif
