/* SPDX-License-Identifier: Apache-2.0 */
#include "query/kept.h"
#include "analysis/sched/thread_tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So many blocks of intervals, of at least 12 KB each, there are at most of what is not held. */
#define CACHED_TRACKS_MAX 1024

enum which { STATE, WAKER, NR_WHICH };
static const char *const names[NR_WHICH] = {"state", "waker"};

/* Lists one after the other, each with one more begin than values: where it ends. */
struct block {
	unsigned nr;
	ns_t begins[TRACK_BLOCK + 1];
	uint32_t values[TRACK_BLOCK];
};

struct thread_tracks {
	struct kept kept;
	struct sonde_history *history;
	ns_t begin, end; /* of the window, within the history */
	struct thread_track {
		bool known;   /* its attribute was looked up */
		bool is_held; /* all of the window stands in a block */
		struct track track;
	} (*threads)[NR_WHICH];		    /* owned, per thread row */
	struct block *blocks[TRACK_BLOCKS]; /* each owned */
	unsigned nr_blocks;
	bool full;
	struct interval_cache cache; /* of what is not held */
};

static void forget(struct thread_tracks *k)
{
	for (unsigned i = 0; i < k->nr_blocks; i++)
		free(k->blocks[i]);
	k->nr_blocks = 0;
	k->full = false;
	memset(k->threads, 0, (size_t)sonde_nr_threads(k->history) * sizeof(*k->threads));
}

static void release(struct kept *kept)
{
	struct thread_tracks *k = (struct thread_tracks *)kept;

	forget(k);
	free(k->threads);
	free(k);
}

static const struct kept_kind kind = {release};

static struct thread_tracks *make(struct sonde_history *history)
{
	struct thread_tracks *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->history = k->cache.history = history;
	k->threads = calloc((size_t)sonde_nr_threads(history) + 1, sizeof(*k->threads));
	if (k->threads) {
		kept_set(history, &kind, &k->kept);
		return k;
	}
	free(k);
	return NULL;
}

int thread_tracks_get(struct thread_tracks **out, struct sonde_history *history, ns_t begin,
		      ns_t end)
{
	struct thread_tracks *k = kept_find(history, &kind);

	if (!k)
		k = make(history);
	*out = k;
	if (!k)
		return -ENOMEM;
	begin = begin < sonde_history_begin(history) ? sonde_history_begin(history) : begin;
	end = end > sonde_history_end(history) ? sonde_history_end(history) : end;
	if (k->begin != begin || k->end != end)
		forget(k);
	k->begin = begin;
	k->end = end;
	return 0;
}

/* Tracks in the cache begin anew. */
static void forget_blocks(struct thread_tracks *k)
{
	for (int64_t row = 0; k->cache.nr && row < sonde_nr_threads(k->history); row++) {
		for (unsigned which = 0; which < NR_WHICH; which++)
			k->threads[row][which].known &= k->threads[row][which].is_held;
	}
	interval_cache_release(&k->cache);
	k->cache.history = k->history;
}

void thread_tracks_put(struct thread_tracks *k)
{
	if (k)
		forget_blocks(k);
}

/* ---- what is held -------------------------------------------------------------------------- */

static struct block *new_block(struct thread_tracks *k)
{
	struct block *b;

	k->full = k->nr_blocks == TRACK_BLOCKS;
	b = k->full ? NULL : malloc(sizeof(*b));
	if (!b)
		return NULL;
	b->nr = 0;
	return k->blocks[k->nr_blocks++] = b;
}

/* Whether all of the window fits into what is left of the block. */
static bool fits(struct thread_tracks *k, struct block *b, struct track *track)
{
	ns_t *begins = b->begins + b->nr;
	uint32_t *values = b->values + b->nr;
	unsigned nr;

	if (b->nr >= TRACK_BLOCK ||
	    query_list(k->history, track->attr, k->begin, k->end, begins, values,
		       TRACK_BLOCK - b->nr, &nr) ||
	    !nr || begins[nr] < k->end)
		return false;
	track->list = (struct interval_list){begins, values, nr};
	b->nr += nr + 1;
	return true;
}

static bool hold(struct thread_tracks *k, struct track *track)
{
	struct block *last = k->nr_blocks ? k->blocks[k->nr_blocks - 1] : NULL;

	if (k->full || k->begin >= k->end)
		return false;
	if (last && (fits(k, last, track) || !last->nr))
		return track->list.nr;
	last = new_block(k);
	return last && fits(k, last, track);
}

static struct thread_track *get(struct thread_tracks *k, int64_t thread, enum which which)
{
	struct thread_track *one = &k->threads[thread][which];

	if (!one->known) {
		one->known = true;
		one->track = (struct track){
			.attr = sonde_attr_of_thread(k->history, thread, names[which])};
		one->is_held = one->track.attr != ATTR_NONE && hold(k, &one->track);
	}
	return one;
}

static int at(struct thread_tracks *k, int64_t thread, enum which which, ns_t t,
	      struct sonde_interval *out)
{
	struct thread_track *one;
	const struct interval_list *l;

	if (k->cache.nr >= CACHED_TRACKS_MAX)
		forget_blocks(k);
	one = get(k, thread, which);
	l = &one->track.list;
	if (one->is_held && (t < l->begins[0] || t >= l->begins[l->nr]))
		return interval_cache_at(&k->cache, one->track.attr, t, out);
	return track_at(&one->track, &k->cache, t, out);
}

int thread_state_at(struct thread_tracks *k, int64_t thread, ns_t t, struct sonde_interval *out)
{
	return at(k, thread, STATE, t, out);
}

int thread_waker_at(struct thread_tracks *k, int64_t thread, ns_t t, struct sonde_interval *out)
{
	return at(k, thread, WAKER, t, out);
}

int thread_states_scan(struct thread_tracks *k, int64_t thread,
		       bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	const struct thread_track *one = get(k, thread, STATE);
	const struct interval_list *l = &one->track.list;
	struct interval_cache own = {.history = k->history};
	int ret;

	if (one->track.attr == ATTR_NONE)
		return 0;
	if (one->is_held) {
		for (unsigned i = 0; i < l->nr; i++) {
			if (!each(&(struct sonde_interval){l->begins[i], l->begins[i + 1],
							   l->values[i]},
				  data))
				break;
		}
		return 0;
	}
	ret = interval_cache_scan(&own, one->track.attr, k->begin, k->end, each, data);
	interval_cache_release(&own);
	return ret;
}
