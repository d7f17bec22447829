/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "history/painter.h"
#include "history/row.h"

/* Paints [begin, end) of a row from its changes. */
static int paint_changes(struct painter *p, struct history *h, attr_t attr, ns_t begin, ns_t end)
{
	struct piece piece = {.begin = begin, .share = SHARE_ALL, .exact = true};
	struct row_reader r;
	struct found f;
	int ret = row_last(h, attr, begin, &f);

	if (ret < 0)
		return ret;
	if (ret)
		piece.value = f.value;
	row_reader_init(&r, h, attr, begin, end);
	while ((ret = row_reader_next(&r)) > 0)
		painter_changes(p, &piece, r.times, r.values, r.nr);
	piece.end = end;
	painter_add(p, &piece);
	return ret;
}

/* A summary being read: what is not covered is painted from changes, all in one go. */
struct paint {
	struct painter *painter;
	struct history *h;
	attr_t attr;
	unsigned level;
	ns_t begin, end; /* of what is to be painted from this level */
	ns_t at;         /* painted up to here */
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
	struct piece piece = {.begin = begin, .end = end, .value = value, .share = share};
	int ret;

	if (!value && share == SHARE_NONE)
		return 0;
	ret = paint_until(w, begin < w->begin ? w->begin : begin);
	if (ret)
		return ret;
	if (share == SHARE_ALL) {
		painter_add(w->painter, &piece);
	} else {
		if (begin < w->begin)
			piece.begin += (w->begin - begin) / width * width;
		for (; piece.begin < end && piece.begin < w->end; piece.begin += width) {
			piece.end = piece.begin + width;
			if (w->h->complete && piece.end > w->h->end)
				piece.end = w->h->end;
			painter_add(w->painter, &piece);
		}
	}
	w->at = end < w->end ? end : w->end;
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
	struct segment seg;
	uint32_t i = 0, nr;
	int ret;

	if (row == NODE_NO_ROW)
		return 0;
	ret = node_segment(n, row, &seg);
	if (ret <= 0)
		return ret;
	if (w->begin > n->base)
		i = sorted_count_upto(&seg.places, (uint64_t)(w->begin - n->base) >> shift);
	for (i -= i > 0; i < seg.places.nr; i += nr) {
		nr = seg.places.nr - i < ROW_BATCH ? seg.places.nr - i : ROW_BATCH;
		sorted_decode(&seg.places, i, nr, places, &hint);
		segment_values(&seg, i, nr, values);
		places[nr] = i + nr < seg.places.nr ? sorted_get(&seg.places, i + nr) : UINT64_MAX;
		for (uint32_t k = 0; k < nr; k++) {
			ns_t begin = n->base + (ns_t)(places[k] << shift);
			ns_t end = places[k + 1] == UINT64_MAX
					   ? n->end
					   : n->base + (ns_t)(places[k + 1] << shift);

			if (begin >= chunk_end)
				return 0;
			ret = paint_run(w, begin, end, values[k], segment_share(&seg, i + k));
			if (ret)
				return ret;
		}
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
		if (!ret)
			ret = paint_chunk(&w, n);
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

static int paint_row(struct painter *p, struct history *h, attr_t attr, int level)
{
	struct piece outside = {.begin = p->begin, .share = SHARE_ALL, .exact = true};
	ns_t begin = p->begin > h->begin ? p->begin : h->begin;
	ns_t end = p->end < h->end ? p->end : h->end;
	int ret = 0;

	painter_row(p);
	outside.end = begin < p->end ? begin : p->end;
	painter_add(p, &outside);
	if (begin < end)
		ret = level < 0 ? paint_changes(p, h, attr, begin, end)
				: paint_level(p, h, attr, (unsigned)level, begin, end);
	outside.begin = end > p->begin ? end : p->begin;
	outside.end = p->end;
	painter_add(p, &outside);
	return ret;
}

int history_pixels(struct history *h, const attr_t *attrs, unsigned nr, ns_t begin, ns_t end,
		   unsigned pixels,
		   void (*each)(unsigned row, const struct pixel_run *runs, unsigned nr,
				void *data),
		   void *data)
{
	struct painter p;
	int ret;

	if (begin >= end || !pixels)
		return -EINVAL;
	for (unsigned i = 0; i < nr; i++) {
		if (attrs[i] >= h->names.nr_attrs)
			return -EINVAL;
	}
	ret = painter_init(&p, begin, end, pixels);
	if (ret)
		return ret;
	for (unsigned i = 0; i < nr && !ret; i++) {
		ret = paint_row(&p, h, attrs[i], choose_level(&p));
		if (!ret && p.failed)
			ret = -ENOMEM;
		if (!ret)
			each(i, p.runs, p.nr_runs, data);
	}
	painter_release(&p);
	return ret;
}
