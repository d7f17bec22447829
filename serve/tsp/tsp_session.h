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

/* One answer has the facts of all its runs at the same time, and the longest unused ones make room:
 * with fewer places than runs, those of its first run would be gone when its last one's are there.
 */
#define TSP_CACHED_FACTS TSP_RUNS_MAX

/* Facts of a whole run, kept for the next page of their table. */
struct tsp_cached_facts {
	struct sonde_facts *facts; /* owned */
	const struct sonde_run *run;
	const struct sonde_analysis *analysis;
	uint64_t used; /* when: the longest unused one makes room */
};

/* What all answers share. */
struct tsp {
	const char *const *paths; /* the caller's */
	unsigned nr;

	pthread_mutex_t lock; /* of what may be opened, made and removed; held for moments */
	struct tsp_trace_state traces[TSP_RUNS_MAX];
	struct tsp_experiment experiments[TSP_EXPERIMENTS_MAX];

	pthread_mutex_t facts_lock; /* held while a table of facts is answered */
	struct tsp_cached_facts facts[TSP_CACHED_FACTS];
	uint64_t now; /* counts uses of .facts */

	pthread_mutex_t events_lock; /* held while events are counted or told */
	struct tsp_events *events;   /* owned: of the experiment whose events were asked for last */
};

void tsp_facts_release(struct tsp *tsp);

void tsp_events_free(struct tsp_events *events);

#endif
