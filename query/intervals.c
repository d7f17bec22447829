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
struct strip_index {
	uint32_t *first; /* owned, per piece; NULL: none */
	unsigned nr, room;
	unsigned shift; /* a piece is so long, as a power of two */
	ns_t begin;
};
#define INDEX_MIN 4096 /* intervals: shorter lists stay in the processor's cache */
#define INDEX_EACH 4   /* intervals per piece, on average */
#define SEARCH_NEAR 4  /* so many intervals are looked at before the index is */

struct strip {
	attr_t attr;
	unsigned nr, room;
	unsigned at;	/* where the last answer was */
	unsigned fills; /* counts: what stood in the list may be elsewhere or gone */
	bool filled;	/* it was not long enough for all that was wanted */
	bool stays_short;
	ns_t *begins;		  /* owned; behind the last is where that ends */
	uint32_t *values;	  /* owned */
	struct strip_index index; /* of a list that is held; .nr 0: none */
};

static struct strip *strip_make(struct strips *s, attr_t attr)
{
	uint32_t *index = map_get(&s->by_attr, attr);
	struct strip *strip;

	if (index)
		return s->list[*index];
	if (!room_for_one(&s->list, s->nr, &s->room))
		return NULL;
	strip = calloc(1, sizeof(*strip));
	if (!strip || map_put(&s->by_attr, attr, s->nr)) {
		free(strip);
		return NULL;
	}
	strip->attr = attr;
	s->list[s->nr++] = strip;
	return strip;
}

static inline struct strip *strip_get(struct strips *s, attr_t attr)
{
	struct strip **recent = &s->recent[attr % STRIPS_RECENT];

	if (!*recent || (*recent)->attr != attr)
		*recent = strip_make(s, attr);
	return *recent;
}

static int lengthen(struct strips *s, struct strip *strip, unsigned room)
{
	ns_t *begins = realloc(strip->begins, (room + 1) * sizeof(*begins));
	uint32_t *values;

	if (!begins)
		return -ENOMEM;
	strip->begins = begins;
	values = realloc(strip->values, room * sizeof(*values));
	if (!values)
		return -ENOMEM;
	strip->values = values;
	s->intervals += room - strip->room;
	strip->room = room;
	return 0;
}

/* Forgets what the strip holds, and all room but the least. */
static int shorten(struct strips *s, struct strip *strip)
{
	free(strip->begins);
	free(strip->values);
	strip->begins = NULL;
	strip->values = NULL;
	s->intervals -= strip->room;
	strip->nr = strip->room = 0;
	return lengthen(s, strip, STRIP_ROOM);
}

static bool may_grow(const struct strips *s, const struct strip *strip)
{
	return s->intervals + (STRIP_GROWTH - 1) * strip->room <= STRIPS_MAX;
}

/* An attribute whose strip was too short is likely to be read again from its begin: the next strip
 * is much longer, until it holds all.  What cannot be held whole is read in short pieces. */
static int make_room(struct strips *s, struct strip *strip)
{
	if (!strip->room)
		return lengthen(s, strip, STRIP_ROOM);
	if (!strip->filled || strip->stays_short)
		return 0;
	if (may_grow(s, strip))
		return lengthen(s, strip, strip->room * STRIP_GROWTH);
	strip->stays_short = true;
	return shorten(s, strip);
}

/* Reads on from @t, behind what the strip has.  An error leaves it empty: where its last one ended
 * may have been written over. */
static int append(struct strips *s, struct strip *strip, ns_t t, ns_t until)
{
	unsigned nr, room = strip->room - strip->nr;
	int ret = query_list(s->history, strip->attr, t, until, strip->begins + strip->nr,
			     strip->values + strip->nr, room, &nr);

	strip->nr = ret ? 0 : strip->nr + nr;
	strip->filled = nr == room;
	return ret;
}

static int fill(struct strips *s, struct strip *strip, ns_t t, ns_t until)
{
	int ret = make_room(s, strip);

	if (ret)
		return ret;
	strip->nr = 0;
	strip->at = 0;
	strip->index.nr = 0;
	strip->fills++;
	return append(s, strip, t, until);
}

static ns_t strip_end(const struct strip *strip)
{
	return strip->begins[strip->nr];
}

/* Has the strip go on where it ends.  In a damaged file what comes there may say that it began
 * elsewhere: but times that do not rise are what nobody who reads a strip expects. */
static int extend(struct strips *s, struct strip *strip, ns_t until)
{
	unsigned had = strip->nr;
	ns_t t = strip_end(strip);
	int ret = append(s, strip, t, until);

	if (ret || strip->begins[had] == t)
		return ret;
	strip->nr = 0;
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

/* A strip that is asked for an earlier moment: what it has is kept when what is missing fits in,
 * too. */
static int fill_front(struct strips *s, struct strip *strip, ns_t t)
{
	ns_t until = strip->begins[0], end = strip_end(strip);
	unsigned had = strip->nr;
	int ret = append(s, strip, t, until);
	unsigned nr = ret ? 0 : strip->nr - had;

	if (nr && strip_end(strip) == until &&
	    move_to_front(strip->begins, nr, strip->nr, sizeof(*strip->begins)) &&
	    move_to_front(strip->values, nr, strip->nr, sizeof(*strip->values))) {
		strip->begins[strip->nr] = end;
		strip->filled = strip->nr == strip->room;
		strip->at = 0;
		strip->index.nr = 0;
		strip->fills++;
		return 0;
	}
	strip->nr = 0; /* where its last one ended has been written over */
	return ret ? ret : fill(s, strip, t, sonde_history_end(s->history));
}

/* Whether what comes before the strip may fit in. */
static bool may_begin_earlier(const struct strip *strip, ns_t t)
{
	return strip->nr && !strip->filled && !strip->stays_short && t < strip->begins[0];
}

static bool covers(const struct strip *strip, ns_t t)
{
	return strip->nr && t >= strip->begins[0] && t < strip_end(strip);
}

/* Makes the index of what the strip holds; without the memory for it, there is none. */
static void make_index(struct strip *strip)
{
	struct strip_index *x = &strip->index;
	ns_t begin = strip->begins[0], length = strip_end(strip) - begin;
	const ns_t *ends = strip->begins + 1;
	unsigned room;

	x->nr = x->shift = 0;
	while (length >> x->shift > strip->nr / INDEX_EACH)
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
		x->first[x->nr] = (uint32_t)(ends - strip->begins - 1);
	}
}

/* The piece of an index that has @t in it, as the strip has. */
static uint64_t piece_of(const struct strip_index *x, ns_t t)
{
	return (uint64_t)(t - x->begin) >> x->shift;
}

/* What search() looks for, when it is not near. */
static unsigned search_far(const struct strip *strip, unsigned low, ns_t t)
{
	const struct strip_index *x = &strip->index;
	const ns_t *begins = strip->begins;
	unsigned high = strip->nr; /* comes after it */

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

/* The interval that holds @t, of a strip that has it; @low is one that does not begin later.
 * It is mostly the same or one soon after: steps get longer the further it is. */
static inline unsigned search(const struct strip *strip, unsigned low, ns_t t)
{
	const ns_t *ends = strip->begins + 1;

	for (unsigned upto = low + SEARCH_NEAR; low < upto; low++) {
		if (t < ends[low])
			return low;
	}
	return search_far(strip, low, t);
}

static inline void seek(struct strip *strip, ns_t t)
{
	const ns_t *begins = strip->begins;
	unsigned low = strip->at;

	if (unlikely(begins[low] > t) && strip->index.nr)
		low = strip->index.first[piece_of(&strip->index, t)];
	/* Of what came before, the nearest is asked for most, too. */
	for (unsigned step = 1; begins[low] > t; step *= 2)
		low = low > step ? low - step : 0;
	strip->at = search(strip, low, t);
}

static struct sonde_interval interval_at(const struct strip *strip, unsigned i)
{
	return (struct sonde_interval){strip->begins[i], strip->begins[i + 1], strip->values[i]};
}

static int refill(struct strips *s, struct strip *strip, ns_t t, ns_t until)
{
	return may_begin_earlier(strip, t) ? fill_front(s, strip, t) : fill(s, strip, t, until);
}

/* Has the strip hold @t. */
static int cover(struct strips *s, struct strip *strip, ns_t t)
{
	int ret = refill(s, strip, t, sonde_history_end(s->history));

	if (ret)
		return ret;
	return covers(strip, t) ? 0 : -ERANGE; /* outside the history */
}

static int find(struct strips *s, attr_t attr, ns_t t, struct strip **out)
{
	struct strip *strip;
	int ret = 0;

	if (attr == ATTR_NONE)
		return -ENOENT;
	strip = strip_get(s, attr);
	if (!strip)
		return -ENOMEM;
	if (unlikely(!covers(strip, t)))
		ret = cover(s, strip, t);
	if (ret)
		return ret;
	seek(strip, t);
	*out = strip;
	return 0;
}

/* Whether the last answer is the answer. */
static bool is_there(const struct strip *strip, attr_t attr, ns_t t)
{
	return strip && strip->attr == attr && strip->nr && t >= strip->begins[strip->at] &&
	       t < strip->begins[strip->at + 1];
}

int strip_at(struct strips *s, attr_t attr, ns_t t, struct sonde_interval *out)
{
	struct strip *strip = s->recent[attr % STRIPS_RECENT];
	int ret = 0;

	if (!is_there(strip, attr, t))
		ret = find(s, attr, t, &strip);

	if (!ret)
		*out = interval_at(strip, strip->at);
	return ret;
}

int strip_list(struct strips *s, attr_t attr, ns_t t, ns_t end, struct strip_list *out)
{
	struct strip *strip;
	int ret = find(s, attr, t, &strip);

	if (ret)
		return ret;
	out->begins = strip->begins + strip->at;
	out->values = strip->values + strip->at;
	if (end > strip_end(strip))
		end = strip_end(strip);
	out->nr = search(strip, strip->at, end - 1) - strip->at + 1;
	return 0;
}

/* Tells what the strip has from where it is on, up to @end; false: that was all, or it is enough.
 * @each may have had the strip filled anew: then @begin is where to go on. */
static bool tell(struct strip *strip, ns_t *begin, ns_t end,
		 bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	unsigned fills = strip->fills;

	for (unsigned at = strip->at; at < strip->nr && strip->fills == fills; at++) {
		const struct sonde_interval i = interval_at(strip, at);

		strip->at = at;
		*begin = i.end;
		if (!each(&i, data) || i.end >= end)
			return false;
	}
	return true;
}

int strip_walk(struct strips *s, attr_t attr, ns_t begin, ns_t end,
	       bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	while (begin < end) {
		struct strip *strip;
		int ret = find(s, attr, begin, &strip);

		if (ret)
			return ret;
		if (!tell(strip, &begin, end, each, data))
			return 0;
	}
	return 0;
}

/* Begins anew at @t: what was too short for all that was wanted may be long enough for a part of
 * it. */
static int hold_from(struct strips *s, struct strip *strip, ns_t t, ns_t end)
{
	if (may_begin_earlier(strip, t))
		return fill_front(s, strip, t);
	strip->filled = strip->stays_short = false;
	return fill(s, strip, t, end);
}

/* Makes room of what ends before @t; false: that is less than half of it.  Who goes through a
 * window in many small steps would move all the rest at each of them. */
static bool forget_before(struct strip *strip, ns_t t)
{
	unsigned nr;

	seek(strip, t);
	nr = strip->nr - strip->at;
	if (strip->at < nr)
		return false;
	memmove(strip->begins, strip->begins + strip->at, (nr + 1) * sizeof(*strip->begins));
	memmove(strip->values, strip->values + strip->at, nr * sizeof(*strip->values));
	strip->nr = nr;
	strip->at = 0;
	return true;
}

/* How much room a full strip gets that is to reach @end.  Where the history cannot tell without
 * reading what is to be read then, what the strip has says how many to expect, and some more. */
static unsigned room_until(const struct strips *s, const struct strip *strip, ns_t end)
{
	uint64_t most = history_list_most(s->history->file, strip->attr, strip->begins[0], end);
	double times = (double)(end - strip->begins[0]) /
		       (double)(strip_end(strip) - strip->begins[0]) * 1.125;

	if (most > strip->room && s->intervals - strip->room + most <= STRIPS_MAX)
		return (unsigned)most;
	return (unsigned)(strip->room * (times < 2		? 2
					 : times > STRIP_GROWTH ? STRIP_GROWTH
								: times));
}

/* Has the strip hold all from @begin to @end, as long as it may grow. */
static int hold(struct strips *s, attr_t attr, ns_t begin, ns_t end)
{
	struct strip *strip = strip_get(s, attr);
	int ret = 0;

	if (!strip)
		return -ENOMEM;
	if (!covers(strip, begin))
		ret = hold_from(s, strip, begin, end);
	while (!ret && covers(strip, begin) && strip_end(strip) < end && !strip->stays_short) {
		bool is_full = strip->nr == strip->room;
		unsigned more = is_full ? room_until(s, strip, end) - strip->room : 0;
		bool grows = s->intervals + more <= STRIPS_MAX;

		if (is_full && !grows && !forget_before(strip, begin))
			break;
		strip->index.nr = 0;
		if (is_full && grows)
			ret = lengthen(s, strip, strip->room + more);
		if (!ret)
			ret = extend(s, strip, end);
		strip->fills++;
	}
	if (!ret && strip->nr >= INDEX_MIN && !strip->index.nr)
		make_index(strip);
	return ret;
}

int strip_hold(struct strips *s, attr_t attr, ns_t begin, ns_t end)
{
	if (attr == ATTR_NONE)
		return -ENOENT;
	begin = begin < sonde_history_begin(s->history) ? sonde_history_begin(s->history) : begin;
	end = end > sonde_history_end(s->history) ? sonde_history_end(s->history) : end;
	return begin < end ? hold(s, attr, begin, end) : 0;
}

ns_t strip_held(struct strips *s, attr_t attr, ns_t t)
{
	const struct strip *strip = attr == ATTR_NONE ? NULL : strip_get(s, attr);

	return strip && covers(strip, t) ? strip_end(strip) : t;
}

int strip_scan(struct strips *s, attr_t attr, ns_t begin, ns_t end,
	       bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	int ret = strip_hold(s, attr, begin, end);

	begin = begin < sonde_history_begin(s->history) ? sonde_history_begin(s->history) : begin;
	end = end > sonde_history_end(s->history) ? sonde_history_end(s->history) : end;
	return ret ? ret : strip_walk(s, attr, begin, end, each, data);
}

void strips_release(struct strips *s)
{
	for (unsigned i = 0; i < s->nr; i++) {
		free(s->list[i]->begins);
		free(s->list[i]->values);
		free(s->list[i]->index.first);
		free(s->list[i]);
	}
	free(s->list);
	map_release(&s->by_attr);
	*s = (struct strips){0};
}
