/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a CPU's first page nothing in front tells that its time is wrong, nor of its last one anything
 * behind.  What all CPUs' pages have in common does: one that is further from every other than an
 * hour or so, and than ten times all that the others span, is not of this recording's time.  Nor is
 * one that begins after the kernel's counters were read, which trace-cmd does when tracing has
 * ended.
 */
#include "source/dat/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAR_TICKS (UINT64_C(1) << 42) /* 73 min in ns, 24 min of a TSC of 3 GHz */
#define FAR_TIMES 10
#define LAST 2			      /* of a CPU's pages */
#define NOW_TICKS (UINT64_C(1) << 30) /* CPUs' clocks are closer to each other: a second */

struct heads {
	uint64_t *times; /* when pages begin */
	size_t nr;
	uint64_t first, last; /* of them */
};

static void take_head(struct heads *h, const struct page_run *run, const uint8_t *page)
{
	struct page_head head;

	if (page_head_read(run->d, page, run->page_size, (uint64_t)(run->end - page), &head) &&
	    head.len_bytes)
		h->times[h->nr++] = head.time;
}

static void take_last(struct heads *h, const struct page_run *run)
{
	size_t nr = (size_t)(run->end - run->begin + run->page_size - 1) / run->page_size;

	for (size_t i = 0; i < LAST && i < nr; i++)
		take_head(h, run, run->begin + (nr - 1 - i) * run->page_size);
}

/* The last chunk's. */
static int take_packed(struct heads *h, struct dat *d, const struct stream *s)
{
	const struct dat_stream *ds = s->reader;
	const struct packet *p = &s->packets[s->nr_packets - 1];
	uint64_t pos = p->offset_bytes, end = pos + p->len_bytes;
	uint8_t *buf = malloc(ds->chunk_max);
	struct page_run run = {.d = d, .begin = buf, .end = buf, .page_size = ds->page_size};
	struct dat_chunk chunk, last = {0};

	if (!buf)
		return -ENOMEM;
	while (dat_chunk_next(ds, &pos, end, &chunk))
		last = chunk;
	if (last.len_bytes && !unpack(&d->file.unpacker, d->file.packing, last.packed,
				      last.packed_len, buf, last.len_bytes))
		run.end += last.len_bytes;
	take_last(h, &run);
	free(buf);
	return 0;
}

static int take_stream(struct heads *h, struct dat *d, const struct stream *s)
{
	const struct dat_stream *ds = s->reader;
	struct page_run run = dat_stream_run(ds);

	if (!s->nr_packets || !s->packets[0].begin)
		return 0;
	h->times[h->nr++] = s->packets[0].begin;
	if (ds->second)
		h->times[h->nr++] = ds->second;
	if (ds->packed)
		return take_packed(h, d, s);
	take_last(h, &run);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_far(uint64_t distance, uint64_t span)
{
	return distance > FAR_TICKS && distance / FAR_TIMES > span;
}

/* Each once: the pages at either end of a CPU that has few are the same. */
static size_t sorted(uint64_t *t, size_t nr)
{
	size_t kept = 0;

	qsort(t, nr, sizeof(*t), by_time);
	for (size_t i = 0; i < nr; i++) {
		if (!kept || t[i] != t[kept - 1])
			t[kept++] = t[i];
	}
	return kept;
}

static void judge(struct dat *d, struct heads *h)
{
	const uint64_t *t = h->times;
	size_t n = sorted(h->times, h->nr), low;
	uint64_t now = d->file.stat_now;

	h->first = t[0];
	h->last = t[n - 1];
	/* Sonde's may be of some moment before, when it was killed. */
	if (now && now < UINT64_MAX - NOW_TICKS && strcmp(d->file.trace->tracer, "sonde"))
		d->latest = now + NOW_TICKS;
	while (n && t[n - 1] > d->latest)
		n--;
	if (n < 3)
		return;
	low = n > 3; /* the first one may be the far one */
	if (is_far(t[n - 1] - t[n - 2], t[n - 2] - t[low]))
		d->latest = t[--n - 1];
	if (n > 2 && is_far(t[1] - t[0], t[n - 1] - t[1]))
		d->earliest = t[1];
}

int dat_find_far(struct dat *d)
{
	const struct trace *t = d->file.trace;
	struct heads h = {.times = calloc(t->nr_streams * (2 + LAST) + 1, sizeof(*h.times))};
	int ret = h.times ? 0 : -ENOMEM;

	for (unsigned i = 0; i < t->nr_streams && !ret; i++)
		ret = take_stream(&h, d, &t->streams[i]);
	if (!ret && h.nr) {
		judge(d, &h);
		ret = h.first < d->earliest || h.last > d->latest;
	}
	free(h.times);
	return ret;
}
