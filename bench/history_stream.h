/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_HISTORY_STREAM_H
#define BENCH_HISTORY_STREAM_H

#include "history/history.h"

/*
 * Streams of changes to measure a history with, made from a fixed seed.
 *
 * stream_skewed(): @nr_attrs attributes without gaps; attribute k changes in proportion to
 * 1 / (k + 1); the time from one change to the next of any attribute is 1 to 1999 ns; values are
 * any of 200.  Nothing in it can be predicted, and no two attributes change together.
 *
 * stream_kernel(): what a fused kernel trace looks like.  CPUs (rows 0 .. @nr_cpus - 1) go through
 * system calls, interrupts and switches every 10 to 50 us; a switch also changes the state of two
 * of @nr_threads threads and the CPU of one, at the same moment.
 */
struct stream_change {
	ns_t t;
	uint32_t attr, value;
};

struct stream {
	struct stream_change *list; /* owned */
	size_t nr;
	uint32_t nr_attrs;
	ns_t end;
};

int stream_skewed(struct stream *s, size_t nr, uint32_t nr_attrs);
int stream_kernel(struct stream *s, size_t nr, uint32_t nr_cpus, uint32_t nr_threads);
void stream_release(struct stream *s);

#endif
