/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/node.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

int node_writer_init(struct node_writer *w)
{
	memset(w, 0, sizeof(*w));
	w->work = segment_work_new();
	return w->work ? 0 : -ENOMEM;
}

void node_writer_release(struct node_writer *w)
{
	bytes_release(&w->segments);
	free(w->rows);
	segment_work_free(w->work);
	memset(w, 0, sizeof(*w));
}

void node_start(struct node_writer *w, bool has_shares)
{
	bytes_clear(&w->segments);
	w->nr_rows = 0;
	w->nr_entries = 0;
	w->has_shares = has_shares;
	w->failed = false;
}

void node_add(struct node_writer *w, uint32_t attr, uint32_t mask, const struct segment_entries *e)
{
	if (!room_for_one(&w->rows, w->nr_rows, &w->room)) {
		w->failed = true;
		return;
	}
	w->rows[w->nr_rows++] = (struct node_row){
		.attr = attr, .mask = mask, .offset = (uint32_t)w->segments.len_bytes};
	if (e->nr)
		segment_put(&w->segments, e, w->work);
	w->nr_entries += e->nr;
}

/* The time list and its samples; tells the two numbers that go to the header. */
static void put_times(struct bytes *out, const uint64_t *times, uint32_t nr, uint64_t *high_max,
		      unsigned *low_bits)
{
	uint64_t len_bytes;
	uint8_t *p;

	*low_bits = nr ? sorted_low_bits(nr, times[nr - 1]) : 0;
	*high_max = nr ? times[nr - 1] >> *low_bits : 0;
	for (uint32_t i = 0; i < nr; i += NODE_SAMPLE)
		bytes_put_u32(out, (uint32_t)((times[i] >> *low_bits) + i));
	len_bytes = nr ? sorted_bytes(nr, *low_bits, *high_max) : 0;
	p = bytes_room(out, len_bytes + BITS_SLACK_BYTES);
	if (!p || !nr)
		return;
	sorted_put(p, times, nr, *low_bits);
	out->len_bytes += len_bytes;
}

struct row_bits {
	unsigned attr, offset, mask;
};

static struct row_bits row_bits(const struct node_writer *w)
{
	struct row_bits b = {.offset = bits_width(w->segments.len_bytes)};
	uint32_t masks = 0;

	if (w->nr_rows)
		b.attr = bits_width(w->rows[w->nr_rows - 1].attr);
	for (uint32_t i = 0; i < w->nr_rows; i++)
		masks |= w->rows[i].mask;
	b.mask = bits_width(masks);
	return b;
}

static uint64_t array_bytes(uint64_t nr, unsigned bits)
{
	return (nr * bits + 7) / 8;
}

static void put_rows(struct bytes *out, const struct node_writer *w, const struct row_bits *b)
{
	uint64_t nr = w->nr_rows;
	uint64_t len_bytes =
		array_bytes(nr, b->attr) + array_bytes(nr, b->offset) + array_bytes(nr, b->mask);
	uint8_t *p = bytes_room(out, len_bytes + BITS_SLACK_BYTES);
	struct bits_sink attrs = {.p = p};
	struct bits_sink offsets = {.p = p + array_bytes(nr, b->attr)};
	struct bits_sink masks = {.p = offsets.p + array_bytes(nr, b->offset)};

	if (!p)
		return;
	for (uint64_t i = 0; i < nr; i++)
		bits_sink_put(&attrs, w->rows[i].attr, b->attr);
	for (uint64_t i = 0; i < nr; i++)
		bits_sink_put(&offsets, w->rows[i].offset, b->offset);
	for (uint64_t i = 0; i < nr; i++)
		bits_sink_put(&masks, w->rows[i].mask, b->mask);
	out->len_bytes += len_bytes;
}

static void put_slack(struct bytes *out)
{
	static const uint8_t zeros[BITS_SLACK_BYTES];

	bytes_put(out, zeros, sizeof(zeros));
}

void node_finish(struct node_writer *w, int64_t base, const uint64_t *times, uint32_t nr_times,
		 const struct bytes *extra, struct bytes *out)
{
	struct row_bits b = row_bits(w);
	size_t start = out->len_bytes;
	size_t rows_at, segments_at, extra_at;
	uint64_t high_max;
	unsigned low_bits;
	uint8_t *h = bytes_room(out, NODE_HEADER_BYTES);

	if (!h)
		return;
	out->len_bytes += NODE_HEADER_BYTES;
	put_times(out, times, times ? nr_times : 0, &high_max, &low_bits);
	rows_at = out->len_bytes - start;
	put_rows(out, w, &b);
	segments_at = out->len_bytes - start;
	bytes_put(out, w->segments.data, w->segments.len_bytes);
	put_slack(out);
	extra_at = out->len_bytes - start;
	if (extra)
		bytes_put(out, extra->data, extra->len_bytes);
	if (w->failed || w->segments.failed)
		out->failed = true;
	if (out->failed)
		return;
	h = out->data + start;
	set_u64(h, (uint64_t)base);
	set_u32(h + 8, w->nr_rows);
	set_u32(h + 12, w->nr_entries);
	set_u32(h + 16, times ? nr_times : 0);
	set_u32(h + 20, (uint32_t)rows_at);
	set_u32(h + 24, (uint32_t)segments_at);
	set_u32(h + 28, (uint32_t)extra_at);
	set_u64(h + 32, high_max);
	h[40] = (uint8_t)low_bits;
	h[41] = (uint8_t)b.attr;
	h[42] = (uint8_t)b.offset;
	h[43] = (uint8_t)b.mask;
	h[44] = w->has_shares;
}

static bool open_times(struct node *n, const uint8_t *from, uint64_t len_bytes)
{
	uint64_t samples = ((uint64_t)n->nr_times + NODE_SAMPLE - 1) / NODE_SAMPLE * 4;

	if (!n->nr_times)
		return true;
	if (samples + NODE_HEADER_BYTES > len_bytes)
		return false;
	n->samples = from + NODE_HEADER_BYTES;
	return sorted_open(&n->times, n->samples + samples, len_bytes - samples - NODE_HEADER_BYTES,
			   n->nr_times, from[40], get_u64(from + 32));
}

bool node_open(struct node *n, const uint8_t *from, uint64_t len_bytes)
{
	uint64_t rows_at, segments_at, extra_at;

	memset(n, 0, sizeof(*n));
	if (len_bytes < NODE_HEADER_BYTES + BITS_SLACK_BYTES)
		return false;
	n->base = (int64_t)get_u64(from);
	n->nr_rows = get_u32(from + 8);
	n->nr_entries = get_u32(from + 12);
	n->nr_times = get_u32(from + 16);
	rows_at = get_u32(from + 20);
	segments_at = get_u32(from + 24);
	extra_at = get_u32(from + 28);
	n->attr_bits = from[41];
	n->offset_bits = from[42];
	n->mask_bits = from[43];
	n->has_shares = from[44];
	if (n->attr_bits > 32 || n->offset_bits > 32 || n->mask_bits > 32 ||
	    rows_at > segments_at || segments_at > extra_at || extra_at > len_bytes ||
	    extra_at - segments_at < BITS_SLACK_BYTES ||
	    !open_times(n, from, rows_at + BITS_SLACK_BYTES))
		return false;
	if (n->nr_rows > 1ull << n->attr_bits)
		return false;
	if (array_bytes(n->nr_rows, n->attr_bits) + array_bytes(n->nr_rows, n->offset_bits) +
		    array_bytes(n->nr_rows, n->mask_bits) >
	    segments_at - rows_at)
		return false;
	n->attrs = from + rows_at;
	n->offsets = n->attrs + array_bytes(n->nr_rows, n->attr_bits);
	n->masks = n->offsets + array_bytes(n->nr_rows, n->offset_bits);
	n->segments = from + segments_at;
	n->segments_bytes = extra_at - segments_at;
	n->extra = from + extra_at;
	n->extra_bytes = len_bytes - extra_at;
	return true;
}

uint32_t node_find(const struct node *n, uint32_t attr)
{
	uint32_t low = 0, nr = n->nr_rows;
	uint32_t first;

	if (!nr || bits_width(attr) > n->attr_bits)
		return NODE_NO_ROW;
	first = node_attr(n, 0);
	if (attr < first)
		return NODE_NO_ROW;
	/* Rows rise: it can be no later than where it is when no attribute is missing before it. */
	if (attr - first < nr) {
		if (node_attr(n, attr - first) == attr)
			return attr - first;
		nr = attr - first + 1;
	}
	while (nr > 1) {
		uint32_t half = nr / 2;

		low += node_attr(n, low + half) <= attr ? half : 0;
		nr -= half;
	}
	return node_attr(n, low) == attr ? low : NODE_NO_ROW;
}

static uint64_t row_offset(const struct node *n, uint32_t row)
{
	if (row == n->nr_rows)
		return n->segments_bytes - BITS_SLACK_BYTES;
	return bits_get(n->offsets, (uint64_t)row * n->offset_bits, n->offset_bits);
}

static int open_segment(const struct node *n, uint64_t from, uint64_t to, struct segment *s)
{
	if (from == to)
		return 0;
	if (from > to || to > n->segments_bytes ||
	    !segment_open(s, n->segments + from, n->segments_bytes - from, n->has_shares))
		return -EIO;
	return 1;
}

int node_segment(const struct node *n, uint32_t row, struct segment *s)
{
	return open_segment(n, row_offset(n, row), row_offset(n, row + 1), s);
}

#define FETCH_LINE 64

/* Most segments are not longer. */
#define FETCH_BEGIN 512

void node_prefetch(const struct node *n, uint32_t row)
{
	uint64_t from, to;

	if (row >= n->nr_rows)
		return;
	from = row_offset(n, row);
	to = row_offset(n, row + 1);
	to = to < from + FETCH_BEGIN ? to : from + FETCH_BEGIN;
	for (; from < to; from += FETCH_LINE)
		__builtin_prefetch(n->segments + from);
}

/* How many bytes are fetched ahead.  Of a longer segment only the begin. */
#define FETCH_AHEAD 2048
#define FETCH_SOME 1024 /* at once */

void node_walk_init(struct node_walk *w, const struct node *n)
{
	*w = (struct node_walk){.n = n, .fetched = n->segments};
}

/* Where the segments of rows [row, row + nr] begin; the last need not be a row. */
static void row_offsets(const struct node *n, uint32_t row, uint32_t nr, uint64_t *offsets)
{
	uint64_t at = (uint64_t)row * n->offset_bits;

	for (uint32_t i = 0; i < nr; i++, at += n->offset_bits)
		offsets[i] = bits_get(n->offsets, at, n->offset_bits);
	offsets[nr] = row_offset(n, row + nr);
}

static void fetch_until(struct node_walk *w, const uint8_t *begin, const uint8_t *end)
{
	const uint8_t *p = w->fetched < begin ? begin : w->fetched;

	for (; p < end; p += FETCH_LINE)
		__builtin_prefetch(p);
	w->fetched = p;
}

int node_walk_next(struct node_walk *w, struct segment *s, bool *any)
{
	const struct node *n = w->n;
	uint32_t left = n->nr_rows - w->row;
	uint32_t nr = left < NODE_WALK_ROWS ? left : NODE_WALK_ROWS;
	uint64_t offsets[NODE_WALK_ROWS + 1];

	row_offsets(n, w->row, nr, offsets);
	w->row += nr;
	for (uint32_t i = 0; i < nr; i++) {
		const uint8_t *here = n->segments + offsets[i];
		int ret;

		if (w->fetched < here + FETCH_AHEAD)
			fetch_until(w, here, here + FETCH_AHEAD + FETCH_SOME);
		ret = open_segment(n, offsets[i], offsets[i + 1], &s[i]);
		if (ret < 0)
			return ret;
		any[i] = ret;
	}
	return (int)nr;
}

/* The last sample that is certainly before time @x: the first when there is none. */
static uint32_t sample_before(const struct node *n, uint64_t x)
{
	uint32_t low = 0, nr = (n->nr_times + NODE_SAMPLE - 1) / NODE_SAMPLE;

	while (nr > 1) {
		uint32_t half = nr / 2, at = low + half;
		uint64_t high = (uint64_t)get_u32(n->samples + at * 4) - at * NODE_SAMPLE;

		low += high < x >> n->times.low_bits ? half : 0;
		nr -= half;
	}
	return low;
}

uint64_t node_places_upto(const struct node *n, int64_t t)
{
	uint64_t x = (uint64_t)t - (uint64_t)n->base;
	uint32_t sample;

	if (t < n->base)
		return 0;
	if (!n->nr_times)
		return x == UINT64_MAX ? x : x + 1;
	sample = sample_before(n, x);
	if (!sample) /* its bit is not that of upper part 0 */
		return sorted_upto(&n->times, x, NULL);
	return sorted_upto_from(&n->times, x, get_u32(n->samples + sample * 4),
				sample * NODE_SAMPLE);
}

int64_t node_time_slow(const struct node *n, uint64_t place)
{
	uint32_t i = place < n->nr_times ? (uint32_t)place : n->nr_times - 1;
	uint32_t sample = i / NODE_SAMPLE;
	uint64_t bit =
		sorted_select(&n->times, i, get_u32(n->samples + sample * 4), sample * NODE_SAMPLE);

	return (int64_t)((uint64_t)n->base + sorted_join(&n->times, i, bit));
}

#define TIMES_AHEAD 16

/* An attribute's times lie far apart in the list: waiting for memory is most of what they cost.
 * (gcc 12 takes calls of a function away that does no more than this.) */
static inline __attribute__((always_inline)) void fetch_time(const struct node *n, uint64_t k)
{
	if (k < n->nr_times)
		__builtin_prefetch(n->times.low + (k * n->times.low_bits >> 3));
}

void node_times(const struct node *n, uint64_t *places, uint32_t nr)
{
	uint64_t bit = 0;
	uint32_t before = 0; /* entries of the time list before that bit */

	if (!n->nr_times) {
		for (uint32_t i = 0; i < nr; i++)
			places[i] += (uint64_t)n->base;
		return;
	}
	for (uint32_t i = 0; i < nr && i < TIMES_AHEAD; i++)
		fetch_time(n, places[i]);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t k = places[i] < n->nr_times ? (uint32_t)places[i] : n->nr_times - 1;
		uint32_t sample = k / NODE_SAMPLE * NODE_SAMPLE;

		if (i + TIMES_AHEAD < nr)
			fetch_time(n, places[i + TIMES_AHEAD]);
		if (before < sample || before > k) {
			before = sample;
			bit = get_u32(n->samples + sample / NODE_SAMPLE * 4);
		}
		bit = sorted_select(&n->times, k, bit, before);
		before = k;
		places[i] = (uint64_t)n->base + sorted_join(&n->times, k, bit);
	}
}
