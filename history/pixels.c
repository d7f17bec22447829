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
	while ((ret = row_reader_next(&r)) > 0) {
		for (uint32_t k = 0; k < r.nr; k++) {
			piece.end = (ns_t)r.times[k];
			painter_add(p, &piece);
			piece.begin = piece.end;
			piece.value = r.values[k];
		}
	}
	piece.end = end;
	painter_add(p, &piece);
	return ret;
}

static int paint_row(struct painter *p, struct history *h, attr_t attr)
{
	struct piece outside = {.begin = p->begin, .share = SHARE_ALL, .exact = true};
	ns_t begin = p->begin > h->begin ? p->begin : h->begin;
	ns_t end = p->end < h->end ? p->end : h->end;
	int ret = 0;

	painter_row(p);
	outside.end = begin < p->end ? begin : p->end;
	painter_add(p, &outside);
	if (begin < end)
		ret = paint_changes(p, h, attr, begin, end);
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
		ret = paint_row(&p, h, attrs[i]);
		if (!ret && p.failed)
			ret = -ENOMEM;
		if (!ret)
			each(i, p.runs, p.nr_runs, data);
	}
	painter_release(&p);
	return ret;
}
