/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_TRACK_H
#define QUERY_TRACK_H

#include "query/intervals.h"

/*
 * A place in one attribute's time, for who asks for many moments that lie near each other, or for
 * what comes just before: as interval_cache_at(), but nothing is looked up while the answer stands in the
 * list at hand.
 *
 * Nobody else may ask the same cache about that attribute meanwhile.  Zero-initialise with .attr
 * set.
 */
struct track {
	attr_t attr;
	unsigned at;		   /* in .list */
	struct interval_list list; /* .nr 0: none yet */
};

/* For who will ask for many moments of a window: has what of it can be held read at once.  0,
 * -errno. */
int track_hold(struct track *k, struct interval_cache *cache, ns_t begin, ns_t end);

/* The interval that holds @t, and what interval_cache_at() returns. */
int track_at(struct track *k, struct interval_cache *cache, ns_t t, struct sonde_interval *out);

#endif
