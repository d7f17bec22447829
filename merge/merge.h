/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MERGE_MERGE_H
#define MERGE_MERGE_H

#include "clock/topology.h"

/*
 * The merge turns all streams of all machines into one sequence in L0 time, with bounded memory:
 * per stream, two batches of MERGE_BATCH events, filled ahead by worker threads.
 *
 * Where a stream's events do not fit together (source/seam.h), it gets an EV_LOST of its own.
 *
 * It hands out runs: neighbouring events of one stream that all come before every other stream's
 * next event.  Equal times: the machine nearer to L0 comes first, then the lower CPU.
 *
 *	struct run run;
 *	while (merge_next(m, &run))
 *		use run.events[0 .. run.nr - 1] at run.times[i];
 */
#define MERGE_BATCH 1024

struct merge_input {
	struct stream *stream;
	unsigned machine;		 /* index into the topology */
	const struct clock_model *clock; /* of that machine, to L0 */
	uint32_t first_packet;		 /* where to start in the stream; 0 = its begin */
};

struct run {
	const struct event *events; /* valid until the next merge_next() */
	const ns_t *times;
	unsigned nr;
	unsigned input; /* index into the inputs */
};

struct merge;

/* @want as in struct cursor; @threads 0: decode in the calling thread. */
int merge_open(struct merge **out, const struct merge_input *inputs, unsigned nr, kinds_t want,
	       unsigned threads, struct error *err);
bool merge_next(struct merge *m, struct run *run);

/* Share of the input bytes that has been handed out, 0..1. */
double merge_progress(const struct merge *m);
void merge_close(struct merge *m);

#endif
