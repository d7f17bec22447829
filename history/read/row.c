/* SPDX-License-Identifier: Apache-2.0 */
#include "history/read/row.h"

#include <errno.h>

#include "history/parts/snapshot.h"

static uint32_t count_upto(const struct node *n, const struct segment *s, ns_t t)
{
	uint64_t places = node_places_upto(n, t);

	return places ? sorted_upto(&s->places, places - 1, NULL) : 0;
}

static void take(const struct node *n, const struct segment *s, uint32_t i, struct found *out)
{
	out->t = node_time(n, sorted_get(&s->places, i));
	out->value = segment_value(s, i);
}

static int open_row(const struct node *n, uint32_t attr, struct segment *s)
{
	uint32_t row = node_find(n, attr);

	return row == NODE_NO_ROW ? 0 : node_segment(n, row, s);
}

int node_last(const struct node *n, uint32_t attr, ns_t t, struct found *out)
{
	struct segment s;
	int ret = open_row(n, attr, &s);

	return ret <= 0 ? ret : segment_last(n, &s, node_places_upto(n, t), out);
}

static int node_next(const struct node *n, uint32_t attr, ns_t t, struct found *out)
{
	struct segment s;
	uint32_t nr;
	int ret = open_row(n, attr, &s);

	if (ret <= 0)
		return ret;
	nr = count_upto(n, &s, t);
	if (nr == s.places.nr)
		return 0;
	take(n, &s, nr, out);
	return 1;
}

/* Which slices of the group that begins with slice @first lie wholly or partly before (and at) @t,
 * as a mask. */
static uint32_t slices_upto(struct history *h, uint32_t first, ns_t t)
{
	uint32_t slice = stream_find(&h->slices, t);

	if (slice == STREAM_NONE || slice < first)
		return 0;
	slice -= first;
	return (uint32_t)bits_mask(slice < SLICES_PER_GROUP_MAX ? slice + 1 : SLICES_PER_GROUP_MAX);
}

static int group_last(struct history *h, uint32_t group, attr_t attr, ns_t t, struct found *out)
{
	const struct node *n;
	struct found own = {.t = NS_MIN};
	uint32_t row, mask, first;
	int ret = stream_node(h, &h->groups, group, &n);
	int any;

	if (ret)
		return ret;
	first = n->first_slice;
	row = node_find(n, attr);
	if (row == NODE_NO_ROW)
		return 0;
	any = node_last(n, attr, t, &own);
	if (any < 0)
		return any;
	*out = own;
	mask = node_mask(n, row) & slices_upto(h, first, t);
	while (mask) {
		unsigned i = 31 - (unsigned)__builtin_clz(mask);

		ret = stream_node(h, &h->slices, first + i, &n);
		if (!ret)
			ret = node_last(n, attr, t, out);
		if (ret < 0)
			return ret;
		if (ret) {
			if (any && own.t > out->t)
				*out = own;
			return 1;
		}
		mask &= ~(1u << i);
	}
	return any;
}

static int group_next(struct history *h, uint32_t group, attr_t attr, ns_t t, struct found *out)
{
	const struct node *n;
	struct found own = {.t = NS_MAX};
	uint32_t row, mask, upto, first;
	int ret = stream_node(h, &h->groups, group, &n);
	int any;

	if (ret)
		return ret;
	first = n->first_slice;
	row = node_find(n, attr);
	if (row == NODE_NO_ROW)
		return 0;
	any = node_next(n, attr, t, &own);
	if (any < 0)
		return any;
	*out = own;
	upto = slices_upto(h, first, t);
	mask = node_mask(n, row) & ~(upto >> 1);
	for (; mask; mask &= mask - 1) {
		ret = stream_node(h, &h->slices, first + (uint32_t)__builtin_ctz(mask), &n);
		if (!ret)
			ret = node_next(n, attr, t, out);
		if (ret < 0)
			return ret;
		if (ret) {
			if (any && own.t < out->t)
				*out = own;
			return 1;
		}
	}
	return any;
}

int row_last(struct history *h, attr_t attr, ns_t t, struct found *out)
{
	uint32_t group = stream_find(&h->groups, t);
	struct snapshot snap;
	const struct node *n;
	int ret;

	if (group == STREAM_NONE)
		return 0;
	ret = group_last(h, group, attr, t, out);
	if (ret)
		return ret < 0 || (out->t >= h->begin && out->t <= t) ? ret : -EIO;
	ret = stream_node(h, &h->groups, group, &n);
	if (ret)
		return ret;
	if (!snapshot_open(&snap, n->base, n->extra, n->extra_bytes))
		return -EIO;
	if (!snapshot_find(&snap, attr, &out->value, &out->t))
		return 0;
	return out->t >= h->begin && out->t <= t ? 1 : -EIO;
}

int row_next(struct history *h, attr_t attr, ns_t t, struct found *out)
{
	uint32_t group = stream_find(&h->groups, t);

	for (group = group == STREAM_NONE ? 0 : group; group < h->groups.nr; group++) {
		int ret = group_next(h, group, attr, t, out);

		if (ret > 0 && out->t <= t)
			return -EIO;
		if (ret)
			return ret < 0 ? ret : out->t < h->end;
	}
	return 0;
}

/* Whether the part can be looked at without unpacking it. */
static bool is_plain(const struct history *h, const struct stream *s, uint32_t i)
{
	struct part p;
	unsigned kind;

	return stream_ready(s, i) ||
	       (!part_open(&h->of->file, stream_place(s, i), false, &kind, &p) &&
		!(kind & PART_PACKED));
}

/* How many changes of @attr stand in the node itself, and in which slices there are more.  False
 * when that is not known so easily. */
static bool count_node(struct history *h, struct stream *s, uint32_t i, attr_t attr, uint64_t *sum,
		       uint32_t *mask)
{
	const struct node *n;
	struct segment segment;
	uint32_t row;
	int ret;

	*mask = 0;
	if (!is_plain(h, s, i) || stream_node(h, s, i, &n))
		return false;
	row = node_find(n, attr);
	if (row == NODE_NO_ROW)
		return true;
	*mask = node_mask(n, row);
	ret = node_segment(n, row, &segment);
	*sum += ret > 0 ? segment.places.nr : 0;
	return ret >= 0;
}

uint64_t row_count(struct history *h, attr_t attr, ns_t begin, ns_t end)
{
	uint32_t last = stream_find(&h->groups, end), group = stream_find(&h->groups, begin);
	uint64_t sum = 0;

	group = group == STREAM_NONE ? 0 : group;
	for (; last != STREAM_NONE && group <= last; group++) {
		uint32_t mask, first, none;

		if (!count_node(h, &h->groups, group, attr, &sum, &mask))
			return ROW_COUNT_UNKNOWN;
		first = h->groups.nodes[group].first_slice;
		mask &= slices_upto(h, first, end) & ~(slices_upto(h, first, begin) >> 1);
		for (; mask; mask &= mask - 1) {
			if (!count_node(h, &h->slices, first + (uint32_t)__builtin_ctz(mask), attr,
					&sum, &none))
				return ROW_COUNT_UNKNOWN;
		}
	}
	return sum;
}

#define ROW_UNKNOWN (NODE_NO_ROW - 1)

void row_reader_init(struct row_reader *r, struct history *h, attr_t attr, ns_t after, ns_t before)
{
	uint32_t last = before > NS_MIN ? stream_find(&h->groups, before - 1) : STREAM_NONE;

	r->h = h;
	r->attr = attr;
	r->after = r->last = after;
	r->before = before;
	r->group = stream_find(&h->groups, after);
	if (r->group == STREAM_NONE)
		r->group = 0;
	r->end_group = last == STREAM_NONE ? 0 : last + 1;
	r->next_row = ROW_UNKNOWN;
	r->mask = 0;
	r->own.at = r->own.end = r->own_stop = 0;
	r->slice.at = r->slice.end = 0;
}

/* Sets @range to the entries of the window. */
static int open_range(struct row_reader *r, const struct node *n, uint32_t row,
		      struct row_range *range)
{
	int ret = node_segment(n, row, &range->segment);

	range->at = range->end = 0;
	range->hint = 0;
	range->node = n;
	range->loaded = n->loaded;
	range->row = row;
	if (ret <= 0)
		return ret;
	range->at = count_upto(n, &range->segment, r->after);
	/* The last change of all may be at the end. */
	range->end = r->before > n->end ? range->segment.places.nr
					: count_upto(n, &range->segment, r->before - 1);
	return 0;
}

/* The node's bytes may have moved since the range was opened. */
static int hold_range(struct row_reader *r, struct row_range *range)
{
	int ret = stream_node(r->h, range->stream, range->i, &range->node);

	if (ret || range->node->loaded == range->loaded)
		return ret;
	range->hint = 0;
	range->loaded = range->node->loaded;
	ret = node_segment(range->node, range->row, &range->segment);
	return ret > 0 && range->end <= range->segment.places.nr ? 0 : -EIO;
}

/* Has the memory of the group after this one fetched while this one is read. */
static void fetch_group(struct row_reader *r)
{
	const struct node *n = NULL;

	if (r->group < r->end_group)
		n = stream_ready(&r->h->groups, r->group);
	r->next_row = n ? node_find(n, r->attr) : ROW_UNKNOWN;
	if (n)
		node_prefetch(n, r->next_row);
}

static int open_group(struct row_reader *r)
{
	const struct node *n;
	uint32_t row;
	int ret = stream_node(r->h, &r->h->groups, r->group, &n);

	if (ret)
		return ret;
	r->own.stream = &r->h->groups;
	r->own.i = r->group++;
	r->first_slice = n->first_slice;
	row = r->next_row == ROW_UNKNOWN ? node_find(n, r->attr) : r->next_row;
	fetch_group(r);
	if (row == NODE_NO_ROW)
		return 0;
	ret = open_range(r, n, row, &r->own);
	r->own_stop = r->own.at;
	r->mask = node_mask(n, row) & slices_upto(r->h, r->first_slice, r->before - 1) &
		  ~(slices_upto(r->h, r->first_slice, r->after) >> 1);
	return ret;
}

static int open_slice(struct row_reader *r)
{
	uint32_t slice = r->first_slice + (uint32_t)__builtin_ctz(r->mask);
	const struct node *n;
	uint32_t row;
	int ret = stream_node(r->h, &r->h->slices, slice, &n);

	r->mask &= r->mask - 1;
	if (ret)
		return ret;
	row = node_find(n, r->attr);
	if (row == NODE_NO_ROW)
		return -EIO;
	if (r->own.at < r->own.end) {
		ret = hold_range(r, &r->own);
		if (ret)
			return ret;
		r->own_stop = count_upto(r->own.node, &r->own.segment, n->base);
		if (r->own_stop > r->own.end)
			r->own_stop = r->own.end;
	}
	r->slice.stream = &r->h->slices;
	r->slice.i = slice;
	return open_range(r, n, row, &r->slice);
}

/* The times of the next @nr entries, of which the node has no list, or a damaged file names some
 * that are not in it. False when they do not rise. */
static bool read_times(struct row_range *range, uint32_t nr, ns_t *last, ns_t *times)
{
	bool rises = true;

	sorted_decode(&range->segment.places, range->at, nr, (uint64_t *)times, &range->hint);
	node_times(range->node, (uint64_t *)times, nr);
	for (uint32_t i = 0; i < nr; i++) {
		rises &= times[i] > *last;
		*last = times[i];
	}
	return rises;
}

/* Times that do not rise, from one part to the next as well, or leave the window are not from our
 * writer. */
static bool decode_times(struct row_reader *r, struct row_range *range, uint32_t nr, ns_t *times)
{
	const struct sorted *places = &range->segment.places;
	const struct node *n = range->node;
	const ns_t *all = n->nr_times ? stream_times(r->h, range->stream, range->i, n, nr) : NULL;
	bool rises;

	if (all && sorted_below(places, range->at, nr, plain_times_nr(n), range->hint))
		rises = sorted_look_up(places, range->at, nr, all, &r->last, times, &range->hint);
	else
		rises = read_times(range, nr, &r->last, times);
	return rises && r->last < r->before;
}

static int decode(struct row_reader *r, struct row_range *range, uint32_t end, ns_t *times,
		  uint32_t *values, uint32_t room)
{
	uint32_t nr = end - range->at < room ? end - range->at : room;
	int ret = hold_range(r, range);

	if (ret)
		return ret;
	if (!decode_times(r, range, nr, times))
		return -EIO;
	segment_values(&range->segment, range->at, nr, values);
	range->at += nr;
	return (int)nr;
}

int row_reader_next(struct row_reader *r, ns_t *times, uint32_t *values, uint32_t room)
{
	for (;;) {
		int ret = 0;

		if (r->own.at < r->own_stop)
			return decode(r, &r->own, r->own_stop, times, values, room);
		if (r->slice.at < r->slice.end)
			return decode(r, &r->slice, r->slice.end, times, values, room);
		if (r->mask)
			ret = open_slice(r);
		else if (r->own_stop < r->own.end)
			r->own_stop = r->own.end;
		else if (r->group < r->end_group)
			ret = open_group(r);
		else
			return 0;
		if (ret < 0)
			return ret;
	}
}
