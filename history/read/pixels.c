/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "history/read/painter.h"
#include "history/read/row.h"

/* Paints [begin, end) of a row from its changes. */
static int paint_changes(struct painter *p, struct history *h, attr_t attr, ns_t begin, ns_t end)
{
	uint32_t values[ROW_BATCH];
	ns_t times[ROW_BATCH];
	struct row_reader r;
	struct found f = {.value = 0};
	ns_t at = begin;
	int ret = row_last(h, attr, begin, &f);
	uint32_t value = ret > 0 ? f.value : 0;

	if (ret < 0)
		return ret;
	row_reader_init(&r, h, attr, begin, end);
	while ((ret = row_reader_next(&r, times, values, ROW_BATCH)) > 0)
		painter_changes(p, &at, &value, times, values, (uint32_t)ret);
	painter_value(p, at, end, value);
	return ret;
}

/* More buckets than this in one run are not from our writer: levels are chosen by pixel. */
#define PAINT_BUCKETS_MAX (1u << 22)

/* A summary being read: what is not covered is painted from changes, all in one go. */
struct paint {
	struct painter *painter;
	struct history *h;
	attr_t attr;
	unsigned level;
	ns_t begin, end; /* of what is to be painted from this level */
	ns_t at;	 /* painted up to here */
};

static int paint_until(struct paint *w, ns_t t)
{
	int ret = 0;

	if (w->at < t)
		ret = paint_changes(w->painter, w->h, w->attr, w->at, t);
	w->at = w->at < t ? t : w->at;
	return ret;
}

/* A run that is not pure is one piece per bucket, for its share holds in each of them. */
static int paint_run(struct paint *w, ns_t begin, ns_t end, uint32_t value, unsigned share)
{
	ns_t width = 1ll << summary_shift(w->level);
	ns_t at = begin;
	int ret = 0;

	if ((!value && share == SHARE_NONE) || begin >= end || end <= w->begin)
		return 0;
	if (w->at < begin)
		ret = paint_until(w, begin);
	if (ret)
		return ret;
	w->at = end < w->end ? end : w->end;
	if (share == SHARE_ALL) {
		painter_share(w->painter, begin, end, value, share);
		return 0;
	}
	if (at < w->begin)
		at = (ns_t)((uint64_t)at + ((uint64_t)w->begin - (uint64_t)at) / (uint64_t)width *
						   (uint64_t)width);
	if (((uint64_t)w->at - (uint64_t)at) >> summary_shift(w->level) > PAINT_BUCKETS_MAX)
		return -EIO;
	for (; at < w->at; at += width) {
		ns_t stop = at + width;

		/* The last bucket ends with the history. */
		if (w->h->complete && stop > w->h->end)
			stop = w->h->end;
		painter_share(w->painter, at, stop, value, share);
	}
	return 0;
}

static ns_t chunk_time(const struct node *n, uint64_t place, unsigned shift)
{
	return (ns_t)((uint64_t)n->base + (place << shift));
}

/* Decoded runs; places has one more entry, UINT64_MAX behind the segment's last. */
struct runs {
	const uint64_t *places;
	const uint32_t *values;
	const uint8_t *shares;
	uint32_t nr;
	ns_t end; /* of what is wanted */
};

/* How many runs from @k on are one bucket each that is not pure. */
static uint32_t count_buckets(const struct runs *r, uint32_t k, uint64_t nr_max)
{
	uint32_t n = 0;

	while (k + n < r->nr && n < nr_max && r->shares[k + n] - 1u < SHARE_ALL - 1 &&
	       r->places[k + n + 1] == r->places[k + n] + 1)
		n++;
	return n;
}

/* 0, 1 when the end was reached, -errno. */
static int paint_runs(struct paint *w, const struct node *n, const struct runs *r)
{
	unsigned shift = summary_shift(w->level);

	for (uint32_t k = 0; k < r->nr; k++) {
		ns_t begin = chunk_time(n, r->places[k], shift);
		ns_t end = n->end;
		int ret;

		if (begin >= r->end)
			return 1;
		if (w->at == begin && w->at < w->end) {
			uint64_t whole = ((uint64_t)w->end - 1 - (uint64_t)begin) >> shift;
			uint32_t nr = count_buckets(r, k, whole);

			painter_buckets(w->painter, begin, 1ll << shift, r->values + k,
					r->shares + k, nr);
			w->at = (ns_t)((uint64_t)begin + ((uint64_t)nr << shift));
			k += nr;
			if (nr) {
				k--;
				continue;
			}
		}
		if (r->places[k + 1] != UINT64_MAX)
			end = chunk_time(n, r->places[k + 1], shift);
		ret = paint_run(w, begin, end, r->values[k], r->shares[k]);
		if (ret)
			return ret;
	}
	return 0;
}

/* The runs of one chunk that touch the window. */
static int paint_chunk(struct paint *w, const struct node *n)
{
	unsigned shift = summary_shift(w->level);
	ns_t chunk_end = n->end < w->end ? n->end : w->end;
	uint32_t row = node_find(n, w->attr);
	uint64_t places[ROW_BATCH + 1], hint = 0;
	uint32_t values[ROW_BATCH];
	uint8_t shares[ROW_BATCH];
	struct segment seg;
	uint32_t i = 0, nr;
	int ret;

	if (row == NODE_NO_ROW)
		return 0;
	ret = n->has_shares ? node_segment(n, row, &seg) : -EIO;
	if (ret <= 0)
		return ret;
	if (w->begin > n->base)
		i = sorted_upto(&seg.places, ((uint64_t)w->begin - (uint64_t)n->base) >> shift,
				NULL);
	for (i -= i > 0; i < seg.places.nr; i += nr) {
		nr = seg.places.nr - i < ROW_BATCH ? seg.places.nr - i : ROW_BATCH;
		sorted_decode(&seg.places, i, nr, places, &hint);
		segment_values(&seg, i, nr, values);
		segment_shares(&seg, i, nr, shares);
		places[nr] = i + nr < seg.places.nr ? sorted_get(&seg.places, i + nr) : UINT64_MAX;
		ret = paint_runs(w, n,
				 &(struct runs){.places = places,
						.values = values,
						.shares = shares,
						.nr = nr,
						.end = chunk_end});
		if (ret)
			return ret < 0 ? ret : 0;
	}
	return 0;
}

/* Paints [begin, end) from a level of the summaries, and from changes where it has nothing. */
static int paint_level(struct painter *p, struct history *h, attr_t attr, unsigned level,
		       ns_t begin, ns_t end)
{
	struct stream *s = &h->summaries[level];
	struct paint w = {.painter = p,
			  .h = h,
			  .attr = attr,
			  .level = level,
			  .begin = begin,
			  .end = end,
			  .at = begin};
	uint32_t i = stream_find(s, begin);
	ns_t known = begin;
	int ret = 0;

	for (i = i == STREAM_NONE ? 0 : i; i < s->nr && stream_begin(s, i) < end && !ret; i++) {
		const struct node *n;

		ret = stream_node(h, s, i, &n);
		if (ret ==
		    -EIO) { /* of a damaged one the changes tell, as of all that is not in one */
			ret = 0;
			continue;
		}
		if (!ret) {
			stream_hold(s, i, 1); /* changes may be read on the way */
			ret = paint_chunk(&w, n);
			stream_hold(s, i, -1);
		}
		known = ret ? known : n->end;
	}
	/* A writer that was killed leaves coarse levels that end before finer ones. */
	if (!ret && known < end && !h->complete && level) {
		ret = paint_until(&w, known > begin ? known : begin);
		return ret ? ret : paint_level(p, h, attr, level - 1, w.at, end);
	}
	return ret ? ret : paint_until(&w, end);
}

/* The coarsest level that has two buckets in every pixel, or -1. */
static int choose_level(const struct painter *p)
{
	uint64_t pixel_ns = ((uint64_t)p->end - (uint64_t)p->begin) / p->pixels;
	int level = -1;

	while (level + 1 < SUMMARY_LEVELS && pixel_ns / 2 >> summary_shift((unsigned)level + 1))
		level++;
	return level;
}

/* A window, and the parts with which it begins. */
struct window {
	struct history *h;
	struct painter *painter;
	int level;
	ns_t begin, end; /* of it, inside the history */
	uint32_t group, slice, chunk;
};

static void init_window(struct window *w, struct history *h, struct painter *p)
{
	w->h = h;
	w->painter = p;
	w->level = choose_level(p);
	w->begin = p->begin > h->begin ? p->begin : h->begin;
	w->end = p->end < h->end ? p->end : h->end;
	w->group = stream_find(&h->groups, w->begin);
	w->slice = stream_find(&h->slices, w->begin);
	w->chunk = w->level < 0 ? STREAM_NONE : stream_find(&h->summaries[w->level], w->begin);
}

static void fetch_changes(const struct window *w, attr_t attr)
{
	const struct node *group = stream_ready(&w->h->groups, w->group);
	const struct node *slice = stream_ready(&w->h->slices, w->slice);
	uint32_t row, number;

	if (!group)
		return;
	row = node_find(group, attr);
	node_prefetch(group, row);
	number = w->slice - group->first_slice;
	if (slice && row != NODE_NO_ROW && number < SLICES_PER_GROUP_MAX &&
	    node_mask(group, row) >> number & 1)
		node_prefetch(slice, node_find(slice, attr));
}

/* Has the memory that a row begins with fetched while the row before is painted. */
static void fetch_row(const struct window *w, attr_t attr)
{
	const struct node *chunk = NULL;
	uint32_t row = NODE_NO_ROW;

	if (w->level >= 0)
		chunk = stream_ready(&w->h->summaries[w->level], w->chunk);
	if (chunk)
		row = node_find(chunk, attr);
	if (row == NODE_NO_ROW)
		fetch_changes(w, attr);
	else
		node_prefetch(chunk, row);
}

static int paint_row(const struct window *w, attr_t attr)
{
	struct painter *p = w->painter;
	int ret = 0;

	painter_row(p);
	if (w->begin >= w->end) {
		painter_value(p, p->begin, p->end, 0);
		return 0;
	}
	painter_value(p, p->begin, w->begin, 0);
	ret = w->level < 0 ? paint_changes(p, w->h, attr, w->begin, w->end)
			   : paint_level(p, w->h, attr, (unsigned)w->level, w->begin, w->end);
	painter_value(p, w->end, p->end, 0);
	return ret;
}

int history_pixels(struct history *h, const attr_t *attrs, unsigned nr, ns_t begin, ns_t end,
		   unsigned pixels,
		   void (*each)(unsigned row, const struct pixel_run *runs, unsigned nr,
				void *data),
		   void *data)
{
	struct painter *p;
	struct window w;
	int ret = 0;

	if (begin >= end || !pixels)
		return -EINVAL;
	for (unsigned i = 0; i < nr; i++) {
		if (attrs[i] >= h->of->names.nr_attrs)
			return -EINVAL;
	}
	p = malloc(sizeof(*p));
	if (!p || painter_init(p, begin, end, pixels)) {
		free(p);
		return -ENOMEM;
	}
	init_window(&w, h, p);
	for (unsigned i = 0; i < nr && !ret; i++) {
		if (i + 1 < nr)
			fetch_row(&w, attrs[i + 1]);
		ret = paint_row(&w, attrs[i]);
		if (!ret) {
			unsigned nr_runs;
			const struct pixel_run *runs = painter_end(p, &nr_runs);

			each(i, runs, nr_runs, data);
		}
	}
	painter_release(p);
	free(p);
	return ret;
}
