/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_THREAD_TRACKS_H
#define ANALYSIS_THREAD_TRACKS_H

#include "analysis/track.h"

/*
 * States of threads, and who woke them, for who asks for moments of many threads: each is read once for all who ask of one
 * window.
 *
 * There may be very many threads, for whom cpu_users' strips have no room: so these are others.  A run keeps them as long
 * as there is room for no more than THREAD_TRACKS_MAX intervals in them (12 bytes each).
 */
#define THREAD_TRACKS_MAX (1u << 20)

struct thread_tracks;

/* The run's own, made when first asked for; good until thread_tracks_put(). 0 or -ENOMEM. */
int thread_tracks_get(struct thread_tracks **out, struct sonde_run *run, ns_t begin, ns_t end);
/* All questions of now are answered. */
void thread_tracks_put(struct thread_tracks *k);
void thread_tracks_free(struct thread_tracks *k);

/* The interval of the `state` or of the `waker` of a thread that there is which holds @t; what strip_at() returns. */
int thread_state_at(struct thread_tracks *k, int64_t thread, ns_t t, struct sonde_interval *out);
int thread_waker_at(struct thread_tracks *k, int64_t thread, ns_t t, struct sonde_interval *out);

#endif
