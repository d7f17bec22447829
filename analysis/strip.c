/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/strip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct strip {
	attr_t attr;
	unsigned nr, room;
	unsigned at; /* where the last answer was */
	bool filled, stays_short;
	struct sonde_interval *list; /* owned */
};

static struct strip *strip_get(struct strips *s, attr_t attr)
{
	uint32_t *index = map_get(&s->by_attr, attr);
	struct strip **grown;
	struct strip *strip;

	if (index)
		return s->list[*index];
	grown = reallocarray(s->list, s->nr + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	s->list = grown;
	strip = calloc(1, sizeof(*strip));
	if (!strip || map_put(&s->by_attr, attr, s->nr)) {
		free(strip);
		return NULL;
	}
	strip->attr = attr;
	s->list[s->nr++] = strip;
	return strip;
}

static bool take(const struct sonde_interval *i, void *data)
{
	struct strip *strip = data;

	strip->list[strip->nr++] = *i;
	return strip->nr < strip->room;
}

static int resize(struct strips *s, struct strip *strip, unsigned room)
{
	struct sonde_interval *list = malloc(room * sizeof(*list));

	if (!list)
		return -ENOMEM;
	free(strip->list);
	strip->list = list;
	s->intervals += room;
	s->intervals -= strip->room;
	strip->room = room;
	return 0;
}

/* An attribute whose strip was too short is likely to be read again from its begin: the next strip
 * is much longer, until it holds all.  What cannot be held whole is read in short pieces. */
static int make_room(struct strips *s, struct strip *strip)
{
	if (!strip->room)
		return resize(s, strip, STRIP_ROOM);
	if (!strip->filled || strip->stays_short)
		return 0;
	if (s->intervals + (STRIP_GROWTH - 1) * strip->room <= STRIPS_MAX)
		return resize(s, strip, strip->room * STRIP_GROWTH);
	strip->stays_short = true;
	return resize(s, strip, STRIP_ROOM);
}

static int fill(struct strips *s, struct strip *strip, ns_t t)
{
	int ret = make_room(s, strip);

	if (ret)
		return ret;
	strip->nr = 0;
	strip->at = 0;
	ret = sonde_walk(s->run, strip->attr, t, sonde_run_end(s->run), take, strip);
	strip->filled = strip->nr == strip->room;
	return ret;
}

/* The last @nr intervals come before all others. */
static bool move_to_front(struct strip *strip, unsigned nr)
{
	size_t bytes = nr * sizeof(*strip->list);
	struct sonde_interval *moved = malloc(bytes + 1);

	if (!moved)
		return false;
	memcpy(moved, strip->list + strip->nr - nr, bytes);
	memmove(strip->list + nr, strip->list, (strip->nr - nr) * sizeof(*strip->list));
	memcpy(strip->list, moved, bytes);
	free(moved);
	return true;
}

/* A strip that reaches the end of the run and is asked for an earlier moment: what it has is kept
 * when what is missing fits in, too. */
static int fill_front(struct strips *s, struct strip *strip, ns_t t)
{
	ns_t until = strip->list[0].begin;
	unsigned had = strip->nr;
	int ret = sonde_walk(s->run, strip->attr, t, until, take, strip);

	if (!ret && strip->nr > had && strip->list[strip->nr - 1].end == until &&
	    move_to_front(strip, strip->nr - had)) {
		strip->filled = strip->nr == strip->room;
		strip->at = 0;
		return 0;
	}
	strip->nr = had;
	return ret ? ret : fill(s, strip, t);
}

/* Whether the strip ends where the run does, and what comes before it may fit in. */
static bool may_begin_earlier(const struct strip *strip, ns_t t)
{
	return strip->nr && !strip->filled && !strip->stays_short && t < strip->list[0].begin;
}

static bool covers(const struct strip *strip, ns_t t)
{
	return strip->nr && t >= strip->list[0].begin && t < strip->list[strip->nr - 1].end;
}

/* Puts strip->at on the interval that holds @t.  The next questions are mostly about the same
 * interval or one soon after: steps get longer the further it is. */
static void seek(struct strip *strip, ns_t t)
{
	const struct sonde_interval *list = strip->list;
	unsigned low = strip->at;
	unsigned high = strip->nr;

	if (t < list[low].begin) {
		high = low;
		low = 0;
	} else {
		for (unsigned step = 1; low + step < strip->nr; step *= 2) {
			if (list[low + step].begin > t) {
				high = low + step;
				break;
			}
			low += step;
		}
	}
	while (low + 1 < high) {
		unsigned middle = low + (high - low) / 2;

		if (list[middle].begin <= t)
			low = middle;
		else
			high = middle;
	}
	strip->at = low;
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
	if (!covers(strip, t))
		ret = may_begin_earlier(strip, t) ? fill_front(s, strip, t) : fill(s, strip, t);
	if (ret)
		return ret;
	if (!covers(strip, t))
		return -ERANGE; /* outside the run */
	seek(strip, t);
	*out = strip;
	return 0;
}

int strip_at(struct strips *s, attr_t attr, ns_t t, struct sonde_interval *out)
{
	struct strip *strip;
	int ret = find(s, attr, t, &strip);

	if (!ret)
		*out = strip->list[strip->at];
	return ret;
}

int strip_from(struct strips *s, attr_t attr, ns_t t, const struct sonde_interval **list,
	       unsigned *nr)
{
	struct strip *strip;
	int ret = find(s, attr, t, &strip);

	if (ret)
		return ret;
	*list = strip->list + strip->at;
	*nr = strip->nr - strip->at;
	return 0;
}

int strip_walk(struct strips *s, attr_t attr, ns_t begin, ns_t end,
	       bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	while (begin < end) {
		struct strip *strip;
		int ret = find(s, attr, begin, &strip);

		if (ret)
			return ret;
		for (;; strip->at++) {
			begin = strip->list[strip->at].end;
			if (!each(&strip->list[strip->at], data))
				return 0;
			if (begin >= end || strip->at + 1 >= strip->nr)
				break;
		}
	}
	return 0;
}

void strips_release(struct strips *s)
{
	for (unsigned i = 0; i < s->nr; i++) {
		free(s->list[i]->list);
		free(s->list[i]);
	}
	free(s->list);
	map_release(&s->by_attr);
	*s = (struct strips){0};
}
