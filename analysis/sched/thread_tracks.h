/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_THREAD_TRACKS_H
#define ANALYSIS_SCHED_THREAD_TRACKS_H

#include "query/track.h"

/*
 * States of threads, and who woke them, in a window: for who asks about very many threads, for whom
 * cpu_users' cache has no room.
 *
 * A history keeps what was read of the window asked for last, as long as it is no more than
 * TRACK_BLOCKS blocks of TRACK_BLOCK intervals (12 bytes each).  Of a thread with more of them than
 * a block has room for, or when all blocks are full, what is read is gone with thread_tracks_put().
 */
#define TRACK_BLOCK (1u << 16)
#define TRACK_BLOCKS 16

struct thread_tracks;

/* The history's own, good until thread_tracks_put(): nobody else may get it meanwhile.  0 or
 * -ENOMEM.
 */
int thread_tracks_get(struct thread_tracks **out, struct sonde_history *history, ns_t begin,
		      ns_t end);
void thread_tracks_put(struct thread_tracks *k); /* NULL: nothing */

/* The interval of the `state` or of the `waker` of a thread that there is which holds @t, which
 * need not be in the window; what interval_cache_at() returns. */
int thread_state_at(struct thread_tracks *k, int64_t thread, ns_t t, struct sonde_interval *out);
int thread_waker_at(struct thread_tracks *k, int64_t thread, ns_t t, struct sonde_interval *out);

/* Calls @each for all states of a thread in the window, in order; false stops.  0, -errno. */
int thread_states_scan(struct thread_tracks *k, int64_t thread,
		       bool (*each)(const struct sonde_interval *i, void *data), void *data);

#endif
