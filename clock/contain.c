/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/contain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Stretches that a trace is cut into, to keep one constraint of each side of. */
#define STRETCHES 2048
/* Of so many events of a stretch one may be outside. */
#define OUTSIDE_ONE_IN 100

static int add_range(struct ranges *r, uint64_t begin, uint64_t end)
{
	struct range *n = sample_add(r);

	if (!n)
		return -ENOMEM;
	*n = (struct range){begin, end};
	return 0;
}

int ranges_of_thread(struct ranges *out, const struct sample *host, int32_t tid, bool nested)
{
	enum nested other = nested ? NESTED_NO : NESTED_YES;
	size_t nr;
	const struct stay *s = sample_stays(host, tid, &nr);
	int ret = 0;

	*out = (struct ranges){.from = host->begin, .to = host->end};
	for (size_t i = 0; i < nr && ret == 0; i++) {
		if (s[i].nested != other)
			ret = add_range(out, s[i].begin, s[i].end);
	}
	return ret;
}

int ranges_intersect(struct ranges *r, const struct ranges *with)
{
	struct ranges out = {.from = r->from > with->from ? r->from : with->from,
			     .to = r->to < with->to ? r->to : with->to};
	size_t i = 0, k = 0;
	int ret = 0;

	while (i < r->nr && k < with->nr && ret == 0) {
		const struct range *a = &r->list[i], *b = &with->list[k];
		uint64_t begin = a->begin > b->begin ? a->begin : b->begin;
		uint64_t end = a->end < b->end ? a->end : b->end;

		if (begin <= end)
			ret = add_range(&out, begin, end);
		if (a->end < b->end)
			i++;
		else
			k++;
	}
	free(r->list);
	*r = out;
	return ret;
}

static int ranges_up(const void *a, const void *b)
{
	const struct range *p = a, *q = b;

	return (p->begin > q->begin) - (p->begin < q->begin);
}

int ranges_join(struct ranges *r, const struct ranges *with)
{
	size_t out = 0;

	for (size_t i = 0; i < with->nr; i++) {
		int ret = add_range(r, with->list[i].begin, with->list[i].end);

		if (ret)
			return ret;
	}
	if (r->nr)
		qsort(r->list, r->nr, sizeof(*r->list), ranges_up);
	for (size_t i = 0; i < r->nr; i++) {
		struct range *last = out ? &r->list[out - 1] : NULL;

		if (!last || r->list[i].begin > last->end)
			r->list[out++] = r->list[i];
		else if (r->list[i].end > last->end)
			last->end = r->list[i].end;
	}
	r->nr = out;
	r->from = with->from > r->from ? with->from : r->from;
	r->to = with->to < r->to ? with->to : r->to;
	return 0;
}

void ranges_release(struct ranges *r)
{
	free(r->list);
	memset(r, 0, sizeof(*r));
}

/* A place in the ranges, moved along as events go by in order of time. */
struct place {
	size_t ending; /* the first range that ends at or after lo */
	size_t begun;  /* how many begin at or before hi */
};

static void move_to(struct place *p, const struct ranges *r, uint64_t lo, uint64_t hi)
{
	while (p->ending > 0 && r->list[p->ending - 1].end >= lo)
		p->ending--;
	while (p->ending < r->nr && r->list[p->ending].end < lo)
		p->ending++;
	while (p->begun > 0 && r->list[p->begun - 1].begin > hi)
		p->begun--;
	while (p->begun < r->nr && r->list[p->begun].begin <= hi)
		p->begun++;
}

/*
 * Of all constraints of one side in a short stretch of the trace only the tightest is kept: the one
 * that moves the model's bound most.  Where more than a few events fall outside all ranges, the two
 * traces do not tell of the same thing (one of them was not recording, say), and none is kept.
 */
struct tightest {
	struct constraint best[2]; /* lower, upper */
	uint64_t gain[2];	   /* 0: none */
	uint64_t events, outside;
};

static int keep_best(struct constraints *out, struct tightest *t)
{
	bool sound = t->outside <= t->events / OUTSIDE_ONE_IN;

	t->events = 0;
	t->outside = 0;
	for (unsigned i = 0; i < 2; i++) {
		const struct constraint *c = &t->best[i];
		int ret = t->gain[i] && sound ? constraints_add(out, c->x, c->y, c->upper) : 0;

		if (ret)
			return ret;
		t->gain[i] = 0;
	}
	return 0;
}

static void offer(struct tightest *t, uint64_t x, uint64_t y, bool upper, uint64_t gain)
{
	if (gain <= t->gain[upper])
		return;
	t->gain[upper] = gain;
	t->best[upper] = (struct constraint){x, y, upper, false};
}

/* What one event at @x, in [lo, hi] of the parent, tells. */
static void one_event(struct tightest *t, uint64_t x, uint64_t lo, uint64_t hi,
		      const struct ranges *r, struct place *p, uint64_t *outside)
{
	const struct range *first, *last;

	if (lo < r->from || hi > r->to)
		return;
	move_to(p, r, lo, hi);
	t->events++;
	if (p->ending >= p->begun) {
		t->outside++;
		++*outside;
		return;
	}
	first = &r->list[p->ending];
	last = &r->list[p->begun - 1];
	if (lo < first->begin)
		offer(t, x, first->begin, false, first->begin - lo);
	if (hi > last->end)
		offer(t, x, last->end, true, hi - last->end);
}

static __int128 on_piece(const struct clock_piece *p, uint64_t x)
{
	__int128 d = (__int128)x - p->from;

	return p->at_ns + ((d * (__int128)p->mult) >> CLOCK_SHIFT);
}

int contain_constraints(struct constraints *out, const struct clock_model *model,
			const struct tick_list *events, const struct ranges *r, uint64_t *outside)
{
	uint64_t first = events->nr ? events->list[0] : 0;
	uint64_t len = events->nr ? (events->list[events->nr - 1] - first) / STRETCHES + 1 : 1;
	const struct clock_piece *piece = model->pieces, *end = piece + model->nr_pieces;
	struct tightest best = {0};
	struct place place = {0};
	int ret = 0;

	for (size_t i = 0; i < events->nr && ret == 0; i++) {
		uint64_t x = events->list[i];
		__int128 y;

		if (x - first >= len) {
			ret = keep_best(out, &best);
			first += (x - first) / len * len;
		}
		while (piece + 1 < end && piece[1].from <= x)
			piece++;
		if (piece->bound_ns == CLOCK_NO_BOUND)
			continue;
		y = on_piece(piece, x);
		one_event(&best, x, clamp_tick(y - piece->bound_ns),
			  clamp_tick(y + piece->bound_ns), r, &place, outside);
	}
	return ret ? ret : keep_best(out, &best);
}

void contain_count(const struct clock_model *model, const struct tick_list *events,
		   const struct ranges *r, uint64_t near, uint64_t *tested, uint64_t *outside)
{
	const struct clock_piece *piece = model->pieces, *end = piece + model->nr_pieces;
	struct place p = {0};

	*tested = *outside = 0;
	for (size_t i = 0; i < events->nr && model->nr_pieces; i++) {
		__int128 y;
		uint64_t lo, hi;

		while (piece + 1 < end && piece[1].from <= events->list[i])
			piece++;
		y = on_piece(piece, events->list[i]);
		lo = clamp_tick(y - piece->bound_ns);
		hi = clamp_tick(y + piece->bound_ns);
		if (piece->bound_ns == CLOCK_NO_BOUND || lo < r->from || hi > r->to)
			continue;
		move_to(&p, r, lo, hi);
		if (p.ending >= p.begun) {
			if (!p.ending || p.ending == r->nr ||
			    r->list[p.ending].begin - r->list[p.ending - 1].end > near)
				continue;
			++*outside;
		}
		++*tested;
	}
}
