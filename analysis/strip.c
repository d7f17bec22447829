/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/strip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct strip {
	attr_t attr;
	unsigned nr;
	unsigned at; /* where the last answer was */
	struct sonde_interval list[STRIP_ROOM];
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
	return strip->nr < STRIP_ROOM;
}

static int fill(struct strips *s, struct strip *strip, ns_t t)
{
	strip->nr = 0;
	strip->at = 0;
	return sonde_walk(s->run, strip->attr, t, sonde_run_end(s->run), take, strip);
}

static bool covers(const struct strip *strip, ns_t t)
{
	return strip->nr && t >= strip->list[0].begin && t < strip->list[strip->nr - 1].end;
}

/* Puts strip->at on the interval that holds @t.  The next questions are mostly about the same
 * interval or one soon after; only a step back searches. */
static void seek(struct strip *strip, ns_t t)
{
	unsigned low = 0;
	unsigned high = strip->at;

	if (t >= strip->list[strip->at].begin) {
		while (t >= strip->list[strip->at].end)
			strip->at++;
		return;
	}
	while (low + 1 < high) {
		unsigned middle = low + (high - low) / 2;

		if (strip->list[middle].begin <= t)
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
		ret = fill(s, strip, t);
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

int strip_walk(struct strips *s, attr_t attr, ns_t begin, ns_t end,
	       bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	while (begin < end) {
		struct strip *strip;
		int ret = find(s, attr, begin, &strip);

		if (ret)
			return ret;
		begin = strip->list[strip->at].end;
		if (!each(&strip->list[strip->at], data))
			return 0;
	}
	return 0;
}

void strips_release(struct strips *s)
{
	for (unsigned i = 0; i < s->nr; i++)
		free(s->list[i]);
	free(s->list);
	map_release(&s->by_attr);
	*s = (struct strips){0};
}
