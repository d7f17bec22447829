/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/key_sort.h"
#include "history/read/row.h"

/*
 * Time per value over a window.  Of a summed attribute, the parts of the totals that lie wholly
 * inside are taken, the longest first, and only what is left of the window is read change by
 * change.  Value 0 is what the others leave.
 */
struct sum {
	struct history *h;
	attr_t attr;
	struct map places;
	struct value_time *list; /* owned until handed out */
	uint32_t nr, room;
};

static int sum_add(struct sum *s, uint32_t value, ns_t time_ns)
{
	uint32_t *place = map_get(&s->places, value);

	if (!value || time_ns <= 0)
		return 0;
	if (place) {
		ns_t *sum = &s->list[*place].time_ns;

		return __builtin_add_overflow(*sum, time_ns, sum) ? -EIO : 0;
	}
	if (!room_for_one(&s->list, s->nr, &s->room))
		return -ENOMEM;
	s->list[s->nr] = (struct value_time){.value = value, .time_ns = time_ns};
	return map_put(&s->places, value, s->nr++);
}

static int sum_changes(struct sum *s, ns_t begin, ns_t end)
{
	uint32_t values[ROW_BATCH];
	ns_t times[ROW_BATCH];
	struct row_reader r;
	struct found f = {.value = 0};
	ns_t from = begin;
	int ret = row_last(s->h, s->attr, begin, &f);
	uint32_t value = ret > 0 ? f.value : 0;

	if (ret < 0)
		return ret;
	row_reader_init(&r, s->h, s->attr, begin, end);
	while ((ret = row_reader_next(&r, times, values, ROW_BATCH)) > 0) {
		for (int k = 0, nr = ret; k < nr; k++) {
			ret = sum_add(s, value, times[k] - from);
			if (ret)
				return ret;
			from = times[k];
			value = values[k];
		}
	}
	return ret ? ret : sum_add(s, value, end - from);
}

/* Adds what a totals part says about the attribute. */
static int sum_part(struct sum *s, const struct part *p)
{
	uint32_t low = 0, nr = p->len_bytes >= 4 ? get_u32(p->payload) : 0;
	struct cursor c = {.end = p->payload + p->len_bytes};
	const uint8_t *table = p->payload + 4;
	uint64_t nr_values;
	int ret = 0;

	if (!nr)
		return 0;
	if (nr > (p->len_bytes - 4) / 8)
		return -EIO;
	while (nr > 1) {
		uint32_t half = nr / 2;

		low += get_u32(table + (low + half) * 8ull) <= s->attr ? half : 0;
		nr -= half;
	}
	if (get_u32(table + low * 8ull) != s->attr)
		return 0;
	if (get_u32(table + low * 8ull + 4) > p->len_bytes)
		return -EIO;
	c.p = p->payload + get_u32(table + low * 8ull + 4);
	nr_values = cursor_varint(&c);
	while (nr_values-- && !c.bad && !ret) {
		uint32_t value = (uint32_t)cursor_varint(&c);
		ns_t time_ns = (ns_t)cursor_varint(&c);

		ret = sum_add(s, value, time_ns);
	}
	return c.bad ? -EIO : ret;
}

/* The first part of the level that begins at or after @t. */
static uint32_t first_at_or_after(const struct stream *s, ns_t t)
{
	uint32_t i = stream_find(s, t);

	if (i == STREAM_NONE)
		return 0;
	return stream_begin(s, i) == t ? i : i + 1;
}

/*
 * Sums [begin, end): parts of @level that lie inside it, and the rest with what is below.
 */
static int sum_level(struct sum *s, int level, ns_t begin, ns_t end)
{
	struct stream *st = &s->h->totals[level < 0 ? 0 : level];
	ns_t at = begin;
	int ret = 0;

	if (begin >= end)
		return 0;
	if (level < 0)
		return sum_changes(s, begin, end);
	for (uint32_t i = first_at_or_after(st, begin); i < st->nr && !ret; i++) {
		struct part p;

		if (stream_begin(st, i) >= end)
			break;
		ret = stream_part(s->h, st, i, &p);
		if (ret == -EIO) { /* what is below a damaged one says the same */
			ret = 0;
			continue;
		}
		if (ret || p.end > end || p.begin < at || p.end <= p.begin)
			break;
		ret = sum_level(s, level - 1, at, p.begin);
		if (!ret)
			ret = stream_part(s->h, st, i, &p); /* other parts were touched */
		if (!ret)
			ret = sum_part(s, &p);
		at = p.end;
	}
	return ret ? ret : sum_level(s, level - 1, at, end);
}

enum sort_key { BY_VALUE, BY_TIME };

static void sort_by(struct sort_item *items, const struct value_time *list, uint32_t nr,
		    enum sort_key by)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct value_time *of = &list[items[i].at];

		items[i].key = by == BY_VALUE ? of->value : ~(uint64_t)of->time_ns;
	}
	key_sort(items, nr);
}

/* Longest first, and those that are equal by their values: what came first stays first, so the
 * second sorting goes before. */
static int sort_times(struct sum *s)
{
	struct sort_item *items = malloc((2 * (size_t)s->nr + 1) * sizeof(*items));
	struct value_time *sorted = malloc(((size_t)s->nr + 1) * sizeof(*sorted));

	if (!items || !sorted) {
		free(items);
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->nr; i++)
		items[i].at = i;
	sort_by(items, s->list, s->nr, BY_VALUE);
	sort_by(items, s->list, s->nr, BY_TIME);
	for (uint32_t i = 0; i < s->nr; i++)
		sorted[i] = s->list[items[i].at];
	free(items);
	free(s->list);
	s->list = sorted;
	return 0;
}

static int finish(struct sum *s, ns_t window_ns)
{
	ns_t rest = window_ns;

	for (uint32_t i = 0; i < s->nr && rest >= 0; i++)
		rest -= s->list[i].time_ns;
	if (rest < 0)
		return -EIO;
	if (rest) {
		struct value_time *list = realloc(s->list, (s->nr + 1) * sizeof(*list));

		if (!list)
			return -ENOMEM;
		s->list = list;
		s->list[s->nr++] = (struct value_time){.time_ns = rest};
	}
	return sort_times(s);
}

int history_sum(struct history *h, attr_t attr, ns_t begin, ns_t end, struct value_time **out,
		unsigned *nr)
{
	struct sum s = {.h = h, .attr = attr};
	int ret = 0;

	*out = NULL;
	*nr = 0;
	if (attr >= h->of->names.nr_attrs)
		return -EINVAL;
	begin = begin < h->begin ? h->begin : begin;
	end = end > h->end ? h->end : end;
	if (begin >= end)
		return 0;
	if (h->of->names.attrs[attr].flags & ATTR_SUMMED)
		ret = sum_level(&s, TOTALS_LEVELS - 1, begin, end);
	else
		ret = sum_changes(&s, begin, end);
	if (!ret)
		ret = finish(&s, end - begin);
	map_release(&s.places);
	if (ret) {
		free(s.list);
		return ret;
	}
	*out = s.list;
	*nr = s.nr;
	return 0;
}
