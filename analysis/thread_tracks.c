/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/thread_tracks.h"

#include <errno.h>
#include <stdlib.h>

enum which { STATE, WAKER, NR_WHICH };
static const char *const names[NR_WHICH] = {"state", "waker"};

struct thread_tracks {
	struct sonde_run *run;
	struct strips strips;
	ns_t begin, end; /* of the window that is asked about */
	struct thread_track {
		bool known; /* its attribute was looked up */
		struct track track;
	} (*threads)[NR_WHICH]; /* owned, per thread row */
};

int thread_tracks_get(struct thread_tracks **out, struct sonde_run *run, ns_t begin, ns_t end)
{
	struct thread_tracks *k = run->thread_tracks;

	if (!k) {
		k = calloc(1, sizeof(*k));
		if (!k)
			return -ENOMEM;
		k->threads = calloc((size_t)sonde_nr_threads(run) + 1, sizeof(*k->threads));
		if (!k->threads) {
			free(k);
			return -ENOMEM;
		}
		k->run = k->strips.run = run;
	}
	k->begin = begin;
	k->end = end;
	*out = run->thread_tracks = k;
	return 0;
}

void thread_tracks_put(struct thread_tracks *k)
{
	if (!k || k->strips.intervals <= THREAD_TRACKS_MAX)
		return;
	k->run->thread_tracks = NULL;
	thread_tracks_free(k);
}

void thread_tracks_free(struct thread_tracks *k)
{
	if (!k)
		return;
	strips_release(&k->strips);
	free(k->threads);
	free(k);
}

static int at(struct thread_tracks *k, int64_t thread, enum which which, ns_t t,
	      struct sonde_interval *out)
{
	struct thread_track *one = &k->threads[thread][which];

	if (!one->known) {
		one->known = true;
		one->track.attr = sonde_attr_of_thread(k->run, thread, names[which]);
		if (one->track.attr != ATTR_NONE)
			track_hold(&one->track, &k->strips, k->begin, k->end);
	}
	return track_at(&one->track, &k->strips, t, out);
}

int thread_state_at(struct thread_tracks *k, int64_t thread, ns_t t, struct sonde_interval *out)
{
	return at(k, thread, STATE, t, out);
}

int thread_waker_at(struct thread_tracks *k, int64_t thread, ns_t t, struct sonde_interval *out)
{
	return at(k, thread, WAKER, t, out);
}
