/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/sample/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int add_part(struct plan *p, struct part part)
{
	if (!part.nr)
		return 0;
	if (!room_for_one(&p->list, p->nr, &p->room))
		return -ENOMEM;
	p->list[p->nr++] = part;
	return 0;
}

int plan_whole(struct plan *p, const struct trace *t)
{
	int ret = 0;

	for (unsigned i = 0; i < t->nr_streams && ret == 0; i++) {
		struct stream *s = &t->streams[i];

		ret = add_part(p, (struct part){s, 0, s->nr_packets, 0, UINT64_MAX, UINT64_MAX});
	}
	return ret;
}

int plan_heads(struct plan *p, const struct trace *t, unsigned nr, uint64_t records)
{
	int ret = 0;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		struct stream *s = &t->streams[i];
		uint32_t step = s->nr_packets / nr + 1;

		for (uint32_t k = 0; k < s->nr_packets && ret == 0; k += step)
			ret = add_part(p, (struct part){s, k, least(step, s->nr_packets - k), 0,
							UINT64_MAX, records});
	}
	return ret;
}

uint64_t plan_packet_bytes(const struct packet *p)
{
	return p->unpacked_bytes ? p->unpacked_bytes : p->len_bytes;
}

uint64_t plan_trace_bytes(const struct trace *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		for (uint32_t k = 0; k < t->streams[i].nr_packets; k++)
			sum += plan_packet_bytes(&t->streams[i].packets[k]);
	}
	return sum;
}

int plan_chunk(struct plan *p, const struct trace *t, double at, uint64_t len_bytes,
	       uint64_t records)
{
	int ret = 0;

	for (unsigned i = 0; i < t->nr_streams && ret == 0; i++) {
		struct stream *s = &t->streams[i];
		uint32_t first = (uint32_t)(at * s->nr_packets), nr = 0;
		uint64_t len = 0;

		while (first + nr < s->nr_packets && len < len_bytes)
			len += plan_packet_bytes(&s->packets[first + nr++]);
		ret = add_part(p, (struct part){s, first, nr, 0, UINT64_MAX, records});
	}
	return ret;
}

int plan_tail(struct plan *p, const struct trace *t)
{
	int ret = 0;

	for (unsigned i = 0; i < t->nr_streams && ret == 0; i++) {
		struct stream *s = &t->streams[i];

		if (s->nr_packets)
			ret = add_part(p, (struct part){s, s->nr_packets - 1, 1, 0, UINT64_MAX,
							UINT64_MAX});
	}
	return ret;
}

/* The last packet that begins at or before @tick; the first one if none does. */
static uint32_t packet_at(const struct stream *s, uint64_t tick)
{
	uint32_t lo = 0, hi = s->nr_packets;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->packets[mid].begin <= tick)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

int plan_window(struct plan *p, const struct trace *t, uint64_t begin, uint64_t end,
		uint64_t before)
{
	int ret = 0;

	for (unsigned i = 0; i < t->nr_streams && ret == 0; i++) {
		struct stream *s = &t->streams[i];
		uint32_t first, last;

		if (!s->nr_packets)
			continue;
		first = packet_at(s, begin);
		last = packet_at(s, end);
		ret = add_part(p,
			       (struct part){s, first, last - first + 1,
					     begin > before ? begin - before : 0, end, UINT64_MAX});
	}
	return ret;
}

static int parts_in_order(const void *a, const void *b)
{
	const struct part *p = a, *q = b;

	if (p->stream != q->stream)
		return (p->stream > q->stream) - (p->stream < q->stream);
	return (p->first > q->first) - (p->first < q->first);
}

/* Joins @q to @last, which it overlaps: both begin where @last does or after; false when they are
 * to stay apart. */
static bool join_parts(struct part *last, const struct part *q)
{
	bool last_whole = last->records_max == UINT64_MAX, q_whole = q->records_max == UINT64_MAX;
	uint32_t end = q->first + q->nr;

	if (last_whole && !q_whole) /* only a taste of what is read anyway */
		return true;
	if (!last_whole && q_whole) {
		last->nr = q->first - last->first;
		return false;
	}
	if (!q_whole && q->records_max > last->records_max)
		last->records_max = q->records_max;
	if (q->from < last->from)
		last->from = q->from;
	if (q->until > last->until)
		last->until = q->until;
	if (end > last->first + last->nr)
		last->nr = end - last->first;
	return true;
}

void plan_settle(struct plan *p)
{
	size_t out = 0;

	if (p->nr)
		qsort(p->list, p->nr, sizeof(*p->list), parts_in_order);
	for (size_t i = 0; i < p->nr; i++) {
		struct part *last = out ? &p->list[out - 1] : NULL, q = p->list[i];

		if (last && last->stream == q.stream && q.first < last->first + last->nr &&
		    join_parts(last, &q))
			continue;
		if (last && !last->nr)
			out--;
		p->list[out++] = q;
	}
	p->nr = out;
}

void plan_release(struct plan *p)
{
	free(p->list);
	memset(p, 0, sizeof(*p));
}
