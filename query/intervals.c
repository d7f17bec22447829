/* SPDX-License-Identifier: Apache-2.0 */
#include "query/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/*
 * Where to look for a moment in a long list: for each of many equal pieces of its time, the
 * interval that holds the piece's begin.  Looking for it by halves waits for memory at each step.
 */
struct block_index {
	uint32_t *first; /* owned, per piece; NULL: none */
	unsigned nr, room;
	unsigned shift; /* a piece is so long, as a power of two */
	ns_t begin;
};
#define INDEX_MIN 4096 /* intervals: shorter lists stay in the processor's cache */
#define INDEX_EACH 4   /* intervals per piece, on average */
#define SEARCH_NEAR 4  /* so many intervals are looked at before the index is */

struct interval_block {
	attr_t attr;
	unsigned nr, room;
	unsigned at;	/* where the last answer was */
	unsigned fills; /* counts: what stood in the list may be elsewhere or gone */
	bool filled;	/* it was not long enough for all that was wanted */
	bool stays_short;
	ns_t *begins;		  /* owned; behind the last is where that ends */
	uint32_t *values;	  /* owned */
	struct block_index index; /* of a list that is held; .nr 0: none */
};

static struct interval_block *block_make(struct interval_cache *s, attr_t attr)
{
	uint32_t *index = map_get(&s->by_attr, attr);
	struct interval_block *block;

	if (index)
		return s->list[*index];
	if (!room_for_one(&s->list, s->nr, &s->room))
		return NULL;
	block = calloc(1, sizeof(*block));
	if (!block || map_put(&s->by_attr, attr, s->nr)) {
		free(block);
		return NULL;
	}
	block->attr = attr;
	s->list[s->nr++] = block;
	return block;
}

static inline struct interval_block *block_get(struct interval_cache *s, attr_t attr)
{
	struct interval_block **recent = &s->recent[attr % BLOCKS_RECENT];

	if (!*recent || (*recent)->attr != attr)
		*recent = block_make(s, attr);
	return *recent;
}

static int lengthen(struct interval_cache *s, struct interval_block *block, unsigned room)
{
	ns_t *begins = realloc(block->begins, (room + 1) * sizeof(*begins));
	uint32_t *values;

	if (!begins)
		return -ENOMEM;
	block->begins = begins;
	values = realloc(block->values, room * sizeof(*values));
	if (!values)
		return -ENOMEM;
	block->values = values;
	s->intervals += room - block->room;
	block->room = room;
	return 0;
}

/* Forgets what the block holds, and all room but the least. */
static int shorten(struct interval_cache *s, struct interval_block *block)
{
	free(block->begins);
	free(block->values);
	block->begins = NULL;
	block->values = NULL;
	s->intervals -= block->room;
	block->nr = block->room = 0;
	return lengthen(s, block, BLOCK_ROOM);
}

static bool may_grow(const struct interval_cache *s, const struct interval_block *block)
{
	return s->intervals + (BLOCK_GROWTH - 1) * block->room <= CACHED_INTERVALS_MAX;
}

/* An attribute whose block was too short is likely to be read again from its begin: the next block
 * is much longer, until it holds all.  What cannot be held whole is read in short pieces. */
static int make_room(struct interval_cache *s, struct interval_block *block)
{
	if (!block->room)
		return lengthen(s, block, BLOCK_ROOM);
	if (!block->filled || block->stays_short)
		return 0;
	if (may_grow(s, block))
		return lengthen(s, block, block->room * BLOCK_GROWTH);
	block->stays_short = true;
	return shorten(s, block);
}

/* Reads on from @t, behind what the block has.  An error leaves it empty: where its last one ended
 * may have been written over. */
static int append(struct interval_cache *s, struct interval_block *block, ns_t t, ns_t until)
{
	unsigned nr, room = block->room - block->nr;
	int ret = query_list(s->history, block->attr, t, until, block->begins + block->nr,
			     block->values + block->nr, room, &nr);

	block->nr = ret ? 0 : block->nr + nr;
	block->filled = nr == room;
	return ret;
}

static int fill(struct interval_cache *s, struct interval_block *block, ns_t t, ns_t until)
{
	int ret = make_room(s, block);

	if (ret)
		return ret;
	block->nr = 0;
	block->at = 0;
	block->index.nr = 0;
	block->fills++;
	return append(s, block, t, until);
}

static ns_t block_end(const struct interval_block *block)
{
	return block->begins[block->nr];
}

/* Has the block go on where it ends.  In a damaged file what comes there may say that it began
 * elsewhere: but times that do not rise are what nobody who reads a block expects. */
static int extend(struct interval_cache *s, struct interval_block *block, ns_t until)
{
	unsigned had = block->nr;
	ns_t t = block_end(block);
	int ret = append(s, block, t, until);

	if (ret || block->begins[had] == t)
		return ret;
	block->nr = 0;
	return -EIO;
}

/* The last @nr elements come before all others. */
static bool move_to_front(void *list, unsigned nr, unsigned all, size_t each_bytes)
{
	size_t bytes = nr * each_bytes;
	char *at = list, *moved = malloc(bytes + 1);

	if (!moved)
		return false;
	memcpy(moved, at + (all - nr) * each_bytes, bytes);
	memmove(at + bytes, at, (all - nr) * each_bytes);
	memcpy(at, moved, bytes);
	free(moved);
	return true;
}

/* A block that is asked for an earlier moment: what it has is kept when what is missing fits in,
 * too. */
static int fill_front(struct interval_cache *s, struct interval_block *block, ns_t t)
{
	ns_t until = block->begins[0], end = block_end(block);
	unsigned had = block->nr;
	int ret = append(s, block, t, until);
	unsigned nr = ret ? 0 : block->nr - had;

	if (nr && block_end(block) == until &&
	    move_to_front(block->begins, nr, block->nr, sizeof(*block->begins)) &&
	    move_to_front(block->values, nr, block->nr, sizeof(*block->values))) {
		block->begins[block->nr] = end;
		block->filled = block->nr == block->room;
		block->at = 0;
		block->index.nr = 0;
		block->fills++;
		return 0;
	}
	block->nr = 0; /* where its last one ended has been written over */
	return ret ? ret : fill(s, block, t, sonde_history_end(s->history));
}

/* Whether what comes before the block may fit in. */
static bool may_begin_earlier(const struct interval_block *block, ns_t t)
{
	return block->nr && !block->filled && !block->stays_short && t < block->begins[0];
}

static bool covers(const struct interval_block *block, ns_t t)
{
	return block->nr && t >= block->begins[0] && t < block_end(block);
}

/* Makes the index of what the block holds; without the memory for it, there is none. */
static void make_index(struct interval_block *block)
{
	struct block_index *x = &block->index;
	ns_t begin = block->begins[0], length = block_end(block) - begin;
	const ns_t *ends = block->begins + 1;
	unsigned room;

	x->nr = x->shift = 0;
	while (length >> x->shift > block->nr / INDEX_EACH)
		x->shift++;
	x->begin = begin;
	room = (unsigned)(length >> x->shift) + 1;
	if (room > x->room) {
		free(x->first);
		x->first = malloc(room * sizeof(*x->first));
		x->room = x->first ? room : 0;
	}
	if (!x->first)
		return;
	for (; x->nr <= (unsigned)((length - 1) >> x->shift); x->nr++) {
		ns_t t = begin + ((ns_t)x->nr << x->shift);

		while (*ends <= t)
			ends++;
		x->first[x->nr] = (uint32_t)(ends - block->begins - 1);
	}
}

/* The piece of an index that has @t in it, as the block has. */
static uint64_t piece_of(const struct block_index *x, ns_t t)
{
	return (uint64_t)(t - x->begin) >> x->shift;
}

/* What search() looks for, when it is not near. */
static unsigned search_far(const struct interval_block *block, unsigned low, ns_t t)
{
	const struct block_index *x = &block->index;
	const ns_t *begins = block->begins;
	unsigned high = block->nr; /* comes after it */

	if (x->nr) {
		uint64_t piece = piece_of(x, t);

		low = low > x->first[piece] ? low : x->first[piece];
		high = piece + 1 < x->nr ? x->first[piece + 1] + 1 : high;
	}
	for (unsigned step = 1; !x->nr && low + step < high; step *= 2) {
		if (begins[low + step] > t)
			high = low + step;
		else
			low += step;
	}
	while (high - low > SEARCH_NEAR) {
		unsigned middle = low + (high - low) / 2;

		if (begins[middle] <= t)
			low = middle;
		else
			high = middle;
	}
	while (begins[low + 1] <= t)
		low++;
	return low;
}

/* The interval that holds @t, of a block that has it; @low is one that does not begin later.
 * It is mostly the same or one soon after: steps get longer the further it is. */
static inline unsigned search(const struct interval_block *block, unsigned low, ns_t t)
{
	const ns_t *ends = block->begins + 1;

	for (unsigned upto = low + SEARCH_NEAR; low < upto; low++) {
		if (t < ends[low])
			return low;
	}
	return search_far(block, low, t);
}

static inline void seek(struct interval_block *block, ns_t t)
{
	const ns_t *begins = block->begins;
	unsigned low = block->at;

	if (unlikely(begins[low] > t) && block->index.nr)
		low = block->index.first[piece_of(&block->index, t)];
	/* Of what came before, the nearest is asked for most, too. */
	for (unsigned step = 1; begins[low] > t; step *= 2)
		low = low > step ? low - step : 0;
	block->at = search(block, low, t);
}

static struct sonde_interval interval_at(const struct interval_block *block, unsigned i)
{
	return (struct sonde_interval){block->begins[i], block->begins[i + 1], block->values[i]};
}

static int refill(struct interval_cache *s, struct interval_block *block, ns_t t, ns_t until)
{
	return may_begin_earlier(block, t) ? fill_front(s, block, t) : fill(s, block, t, until);
}

/* Has the block hold @t. */
static int cover(struct interval_cache *s, struct interval_block *block, ns_t t)
{
	int ret = refill(s, block, t, sonde_history_end(s->history));

	if (ret)
		return ret;
	return covers(block, t) ? 0 : -ERANGE; /* outside the history */
}

static int find(struct interval_cache *s, attr_t attr, ns_t t, struct interval_block **out)
{
	struct interval_block *block;
	int ret = 0;

	if (attr == ATTR_NONE)
		return -ENOENT;
	block = block_get(s, attr);
	if (!block)
		return -ENOMEM;
	if (unlikely(!covers(block, t)))
		ret = cover(s, block, t);
	if (ret)
		return ret;
	seek(block, t);
	*out = block;
	return 0;
}

/* Whether the last answer is the answer. */
static bool is_there(const struct interval_block *block, attr_t attr, ns_t t)
{
	return block && block->attr == attr && block->nr && t >= block->begins[block->at] &&
	       t < block->begins[block->at + 1];
}

int interval_cache_at(struct interval_cache *s, attr_t attr, ns_t t, struct sonde_interval *out)
{
	struct interval_block *block = s->recent[attr % BLOCKS_RECENT];
	int ret = 0;

	if (!is_there(block, attr, t))
		ret = find(s, attr, t, &block);

	if (!ret)
		*out = interval_at(block, block->at);
	return ret;
}

int interval_cache_list(struct interval_cache *s, attr_t attr, ns_t t, ns_t end,
			struct interval_list *out)
{
	struct interval_block *block;
	int ret = find(s, attr, t, &block);

	if (ret)
		return ret;
	out->begins = block->begins + block->at;
	out->values = block->values + block->at;
	if (end > block_end(block))
		end = block_end(block);
	out->nr = search(block, block->at, end - 1) - block->at + 1;
	return 0;
}

/* Tells what the block has from where it is on, up to @end; false: that was all, or it is enough.
 * @each may have had the block filled anew: then @begin is where to go on. */
static bool tell(struct interval_block *block, ns_t *begin, ns_t end,
		 bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	unsigned fills = block->fills;

	for (unsigned at = block->at; at < block->nr && block->fills == fills; at++) {
		const struct sonde_interval i = interval_at(block, at);

		block->at = at;
		*begin = i.end;
		if (!each(&i, data) || i.end >= end)
			return false;
	}
	return true;
}

int interval_cache_walk(struct interval_cache *s, attr_t attr, ns_t begin, ns_t end,
			bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	while (begin < end) {
		struct interval_block *block;
		int ret = find(s, attr, begin, &block);

		if (ret)
			return ret;
		if (!tell(block, &begin, end, each, data))
			return 0;
	}
	return 0;
}

/* Begins anew at @t: what was too short for all that was wanted may be long enough for a part of
 * it. */
static int hold_from(struct interval_cache *s, struct interval_block *block, ns_t t, ns_t end)
{
	if (may_begin_earlier(block, t))
		return fill_front(s, block, t);
	block->filled = block->stays_short = false;
	return fill(s, block, t, end);
}

/* Makes room of what ends before @t; false: that is less than half of it.  Who goes through a
 * window in many small steps would move all the rest at each of them. */
static bool forget_before(struct interval_block *block, ns_t t)
{
	unsigned nr;

	seek(block, t);
	nr = block->nr - block->at;
	if (block->at < nr)
		return false;
	memmove(block->begins, block->begins + block->at, (nr + 1) * sizeof(*block->begins));
	memmove(block->values, block->values + block->at, nr * sizeof(*block->values));
	block->nr = nr;
	block->at = 0;
	return true;
}

/* How much room a full block gets that is to reach @end.  Where the history cannot tell without
 * reading what is to be read then, what the block has says how many to expect, and some more. */
static unsigned room_until(const struct interval_cache *s, const struct interval_block *block,
			   ns_t end)
{
	uint64_t most = history_list_most(s->history->file, block->attr, block->begins[0], end);
	double times = (double)(end - block->begins[0]) /
		       (double)(block_end(block) - block->begins[0]) * 1.125;

	if (most > block->room && s->intervals - block->room + most <= CACHED_INTERVALS_MAX)
		return (unsigned)most;
	return (unsigned)(block->room * (times < 2		? 2
					 : times > BLOCK_GROWTH ? BLOCK_GROWTH
								: times));
}

/* Has the block hold all from @begin to @end, as long as it may grow. */
static int hold(struct interval_cache *s, attr_t attr, ns_t begin, ns_t end)
{
	struct interval_block *block = block_get(s, attr);
	int ret = 0;

	if (!block)
		return -ENOMEM;
	if (!covers(block, begin))
		ret = hold_from(s, block, begin, end);
	while (!ret && covers(block, begin) && block_end(block) < end && !block->stays_short) {
		bool is_full = block->nr == block->room;
		unsigned more = is_full ? room_until(s, block, end) - block->room : 0;
		bool grows = s->intervals + more <= CACHED_INTERVALS_MAX;

		if (is_full && !grows && !forget_before(block, begin))
			break;
		block->index.nr = 0;
		if (is_full && grows)
			ret = lengthen(s, block, block->room + more);
		if (!ret)
			ret = extend(s, block, end);
		block->fills++;
	}
	if (!ret && block->nr >= INDEX_MIN && !block->index.nr)
		make_index(block);
	return ret;
}

int interval_cache_hold(struct interval_cache *s, attr_t attr, ns_t begin, ns_t end)
{
	if (attr == ATTR_NONE)
		return -ENOENT;
	begin = begin < sonde_history_begin(s->history) ? sonde_history_begin(s->history) : begin;
	end = end > sonde_history_end(s->history) ? sonde_history_end(s->history) : end;
	return begin < end ? hold(s, attr, begin, end) : 0;
}

ns_t interval_cache_held(struct interval_cache *s, attr_t attr, ns_t t)
{
	const struct interval_block *block = attr == ATTR_NONE ? NULL : block_get(s, attr);

	return block && covers(block, t) ? block_end(block) : t;
}

int interval_cache_scan(struct interval_cache *s, attr_t attr, ns_t begin, ns_t end,
			bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	int ret = interval_cache_hold(s, attr, begin, end);

	begin = begin < sonde_history_begin(s->history) ? sonde_history_begin(s->history) : begin;
	end = end > sonde_history_end(s->history) ? sonde_history_end(s->history) : end;
	return ret ? ret : interval_cache_walk(s, attr, begin, end, each, data);
}

void interval_cache_release(struct interval_cache *s)
{
	for (unsigned i = 0; i < s->nr; i++) {
		free(s->list[i]->begins);
		free(s->list[i]->values);
		free(s->list[i]->index.first);
		free(s->list[i]);
	}
	free(s->list);
	map_release(&s->by_attr);
	*s = (struct interval_cache){0};
}
