/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/read/row.h"
#include "history/parts/snapshot.h"

static bool outside(const struct history *h, ns_t t)
{
	return t < h->begin || t >= h->end;
}

int history_at(struct history *h, attr_t attr, ns_t t, struct interval *out)
{
	struct found f;
	int ret;

	if (attr >= h->of->names.nr_attrs)
		return -EINVAL;
	if (outside(h, t))
		return -ERANGE;
	*out = (struct interval){.begin = h->begin, .end = h->end};
	ret = row_last(h, attr, t, &f);
	if (ret > 0) {
		out->begin = f.t;
		out->value = f.value;
	}
	if (ret >= 0)
		ret = row_next(h, attr, t, &f);
	if (ret > 0)
		out->end = f.t;
	return ret < 0 ? ret : 0;
}

ns_t history_piece_end(const struct history *h, ns_t t)
{
	uint32_t group = stream_find(&h->groups, t);
	uint32_t next = group == STREAM_NONE ? 0 : group + 1;

	return next < h->groups.nr ? stream_begin(&h->groups, next) : h->end;
}

int history_next_change(struct history *h, attr_t attr, ns_t t, ns_t *out)
{
	struct found f;
	int ret;

	if (attr >= h->of->names.nr_attrs)
		return -EINVAL;
	ret = row_next(h, attr, t, &f);
	*out = ret > 0 ? f.t : NS_MAX;
	return ret < 0 ? ret : 0;
}

int history_prev_change(struct history *h, attr_t attr, ns_t t, ns_t *out)
{
	struct found f;
	int ret;

	if (attr >= h->of->names.nr_attrs)
		return -EINVAL;
	ret = row_last(h, attr, t < h->end ? t : h->end - 1, &f);
	*out = ret > 0 ? f.t : NS_MIN;
	return ret < 0 ? ret : 0;
}

/* The latest of what is known wins: sources may be applied in any order. */
struct state {
	uint32_t *values;
	ns_t *since;
	uint32_t nr;
};

static void state_apply(struct state *s, uint32_t attr, const struct found *f)
{
	if (attr < s->nr && f->t >= s->since[attr]) {
		s->since[attr] = f->t;
		s->values[attr] = f->value;
	}
}

#define STATE_BLOCK 64

static int state_snapshot(struct state *s, const struct node *group)
{
	struct snapshot snap;

	if (!snapshot_open(&snap, group->base, group->extra, group->extra_bytes))
		return -EIO;
	for (uint32_t i = 0; i < snap.nr; i += STATE_BLOCK) {
		uint32_t nr = snap.nr - i < STATE_BLOCK ? snap.nr - i : STATE_BLOCK;
		struct snapshot_entry entries[STATE_BLOCK];

		snapshot_entries(&snap, i, nr, entries);
		for (uint32_t k = 0; k < nr; k++) {
			const struct snapshot_entry *e = &entries[k];

			if (e->attr < s->nr) {
				s->values[e->attr] = e->value;
				s->since[e->attr] = e->since;
			}
		}
	}
	return 0;
}

/* All changes up to @t that stand in the node itself. */
static int state_node(struct state *s, const struct node *n, ns_t t)
{
	uint64_t places = node_places_upto(n, t);
	struct segment segments[NODE_WALK_ROWS];
	bool any[NODE_WALK_ROWS];
	struct node_walk walk;
	uint32_t row = 0;
	int nr;

	node_walk_init(&walk, n);
	while ((nr = node_walk_next(&walk, segments, any)) > 0) {
		/* Looking into a long segment waits for memory that opening it does not touch. */
		for (int i = 0; i < nr; i++) {
			if (any[i] && segments[i].places.nr >= NODE_LONG_SEGMENT)
				segment_prefetch(&segments[i], places);
		}
		for (int i = 0; i < nr; i++, row++) {
			struct found f;

			if (any[i] && segment_last(n, &segments[i], places, &f))
				state_apply(s, node_attr(n, row), &f);
		}
	}
	return nr;
}

/* An attribute that is in earlier slices of the group: the last one of them tells, unless something
 * later is known already. */
static int state_earlier(struct history *h, struct state *s, uint32_t attr, uint32_t first_slice,
			 uint32_t mask)
{
	unsigned i = 31 - (unsigned)__builtin_clz(mask);
	const struct node *n;
	struct found f;
	int ret;

	if (attr >= s->nr || (first_slice + i + 1 < h->slices.nr &&
			      s->since[attr] >= stream_begin(&h->slices, first_slice + i + 1)))
		return 0;
	ret = stream_node(h, &h->slices, first_slice + i, &n);
	if (!ret)
		ret = node_last(n, attr, NS_MAX, &f);
	if (ret > 0)
		state_apply(s, attr, &f);
	return ret < 0 ? ret : 0;
}

static int fill_state(struct history *h, struct state *s, ns_t t)
{
	uint32_t group = stream_find(&h->groups, t);
	uint32_t slice = stream_find(&h->slices, t);
	const struct node *g, *n;
	uint32_t earlier, first;
	int ret;

	if (group == STREAM_NONE)
		return 0;
	ret = stream_node(h, &h->groups, group, &g);
	if (ret)
		return ret;
	first = g->first_slice;
	if (slice == STREAM_NONE || slice < first || slice - first >= SLICES_PER_GROUP_MAX)
		return -EIO;
	earlier = (uint32_t)bits_mask(slice - first);
	ret = stream_node(h, &h->slices, slice, &n);
	if (!ret)
		ret = state_snapshot(s, g);
	if (!ret)
		ret = state_node(s, g, t);
	if (!ret)
		ret = state_node(s, n, t);
	for (uint32_t row = 0; row < g->nr_rows && !ret; row++) {
		uint32_t mask = node_mask(g, row) & earlier;

		if (mask)
			ret = state_earlier(h, s, node_attr(g, row), first, mask);
	}
	return ret;
}

int history_state(struct history *h, ns_t t, uint32_t *values, ns_t *since)
{
	struct state s = {.values = values, .since = since, .nr = h->of->names.nr_attrs};
	int ret;

	if (outside(h, t))
		return -ERANGE;
	if (!since)
		s.since = malloc(s.nr * sizeof(*s.since));
	if (!s.since)
		return -ENOMEM;
	for (uint32_t i = 0; i < s.nr; i++) {
		s.values[i] = 0;
		s.since[i] = h->begin;
	}
	ret = fill_state(h, &s, t);
	if (!since)
		free(s.since);
	return ret;
}

/* Where to read a window from: its first interval, of which the end is not known yet, and the
 * changes in it.  1, 0 when the window is empty, -errno. */
static int open_window(struct row_reader *r, struct history *h, attr_t attr, ns_t begin, ns_t *end,
		       struct interval *first)
{
	struct found f;
	int ret;

	if (attr >= h->of->names.nr_attrs)
		return -EINVAL;
	begin = begin < h->begin ? h->begin : begin;
	*end = *end > h->end ? h->end : *end;
	if (begin >= *end)
		return 0;
	*first = (struct interval){.begin = h->begin};
	ret = row_last(h, attr, begin, &f);
	if (ret > 0) {
		first->begin = f.t;
		first->value = f.value;
	}
	row_reader_init(r, h, attr, begin, *end);
	return ret < 0 ? ret : 1;
}

/* Where the last interval of a window ends. */
static int last_end(struct history *h, attr_t attr, ns_t end, ns_t *out)
{
	struct found f;
	int ret = end < h->end ? row_next(h, attr, end - 1, &f) : 0;

	*out = ret > 0 ? f.t : h->end;
	return ret < 0 ? ret : 0;
}

int history_walk(struct history *h, attr_t attr, ns_t begin, ns_t end,
		 bool (*each)(const struct interval *i, void *data), void *data)
{
	uint32_t values[ROW_BATCH];
	ns_t times[ROW_BATCH];
	struct row_reader r;
	struct interval i;
	int ret = open_window(&r, h, attr, begin, &end, &i);

	if (ret <= 0)
		return ret;
	while ((ret = row_reader_next(&r, times, values, ROW_BATCH)) > 0) {
		for (int k = 0; k < ret; k++) {
			i.end = times[k];
			if (!each(&i, data))
				return 0;
			i.begin = i.end;
			i.value = values[k];
		}
	}
	if (ret < 0)
		return ret;
	ret = last_end(h, attr, end, &i.end);
	if (!ret)
		each(&i, data);
	return ret;
}

int history_list(struct history *h, attr_t attr, ns_t begin, ns_t end, ns_t *begins,
		 uint32_t *values, unsigned room, unsigned *nr)
{
	struct interval first;
	struct row_reader r;
	uint32_t beyond; /* value of what follows the last one that fits */
	unsigned at = 1;
	int ret = open_window(&r, h, attr, begin, &end, &first);

	*nr = 0;
	if (ret <= 0)
		return ret;
	begins[0] = first.begin;
	values[0] = first.value;
	while (at < room && (ret = row_reader_next(&r, begins + at, values + at, room - at)) > 0)
		at += (unsigned)ret;
	if (at == room)
		ret = row_reader_next(&r, &begins[at], &beyond, 1);
	if (!ret)
		ret = last_end(h, attr, end, &begins[at]);
	*nr = ret < 0 ? 0 : at;
	return ret < 0 ? ret : 0;
}

uint64_t history_list_most(struct history *h, attr_t attr, ns_t begin, ns_t end)
{
	uint64_t nr =
		attr < h->of->names.nr_attrs ? row_count(h, attr, begin, end) : ROW_COUNT_UNKNOWN;

	return nr == ROW_COUNT_UNKNOWN ? 0 : nr + 1;
}
