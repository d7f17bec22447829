/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_INTERVALS_H
#define QUERY_INTERVALS_H

#include "query/query.h"

/*
 * A cache of intervals: those around the place where an analysis reads an attribute, decoded once.
 *
 * An analysis that asks for many moments of one attribute, mostly in the order of time, would pay
 * for a search in the file each time.  A block holds BLOCK_ROOM intervals of one attribute from the
 * moment asked for; the next questions are answered from it, until one falls outside.  A block that
 * has to be filled again gets eight times as long, as long as all together hold no more than
 * CACHED_INTERVALS_MAX (12 bytes each), and one that reaches the end of the history is completed to
 * the front: so who asks for one attribute over and over decodes it once.  One that is to hold a
 * window gets as long as the file's directories say, or, where parts are packed, about as long as
 * what it has of it lets expect.  Memory does not depend on the length of the history.
 *
 * Zero-initialise with .history set, interval_cache_release() at the end.
 */
#define BLOCK_ROOM 1024
#define BLOCK_GROWTH 8
#define CACHED_INTERVALS_MAX (2u << 20)
#define BLOCKS_RECENT 32

struct interval_block;

struct interval_cache {
	struct sonde_history *history;
	struct map by_attr;			      /* attribute -> index into list */
	struct interval_block **list;		      /* owned, each owned */
	struct interval_block *recent[BLOCKS_RECENT]; /* asked for lately, by attribute */
	unsigned nr, room;
	size_t intervals; /* that there is room for */
};

/* The interval of @attr that holds @t; 0, -ENOENT for ATTR_NONE, or a negative errno. */
int interval_cache_at(struct interval_cache *s, attr_t attr, ns_t t, struct sonde_interval *out);

/* The intervals from the one on that holds @t to the one that reaches @end, or as many of them as
 * the block has at hand, at least one; good until the next question about @attr. */
struct interval_list {
	const ns_t *begins; /* behind the last is where that ends */
	const uint32_t *values;
	unsigned nr;
};
int interval_cache_list(struct interval_cache *s, attr_t attr, ns_t t, ns_t end,
			struct interval_list *out);

/* As sonde_interval_walk(), for short pieces of an attribute's time.  @each may read any attribute
 * through the same cache. */
int interval_cache_walk(struct interval_cache *s, attr_t attr, ns_t begin, ns_t end,
			bool (*each)(const struct sonde_interval *i, void *data), void *data);

/* Has what of a window can be held read at once, and not more than the window: for who will ask for
 * many moments of it. */
int interval_cache_hold(struct interval_cache *s, attr_t attr, ns_t begin, ns_t end);

/* Until when all from @t on is at hand; @t: not even that is. */
ns_t interval_cache_held(struct interval_cache *s, attr_t attr, ns_t t);

/* The same for a whole window, which others will read, too: what of it can be held is read once,
 * and not more than the window. */
int interval_cache_scan(struct interval_cache *s, attr_t attr, ns_t begin, ns_t end,
			bool (*each)(const struct sonde_interval *i, void *data), void *data);

void interval_cache_release(struct interval_cache *s);

#endif
