/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/bounds/contain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Stretches that a trace is cut into, to keep one constraint of each side of. */
#define STRETCHES 2048
/* Of so many events of a stretch one may be outside. */
#define OUTSIDE_ONE_IN 100

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
		      const struct ranges *r, struct place *p)
{
	const struct range *first, *last;

	if (lo < r->from || hi > r->to)
		return;
	move_to(p, r, lo, hi);
	t->events++;
	if (p->ending >= p->begun) {
		t->outside++;
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
			const struct tick_list *events, const struct ranges *r)
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
			  clamp_tick(y + piece->bound_ns), r, &place);
	}
	return ret ? ret : keep_best(out, &best);
}

/* How far [lo, hi], which is in no range, is from the nearest; *@between: how far the ranges around
 * it are apart, UINT64_MAX before the first and after the last. */
static uint64_t distance(const struct ranges *r, const struct place *p, uint64_t lo, uint64_t hi,
			 uint64_t *between)
{
	uint64_t after = p->ending ? lo - r->list[p->ending - 1].end : UINT64_MAX;
	uint64_t before = p->ending < r->nr ? r->list[p->ending].begin - hi : UINT64_MAX;

	*between = p->ending && p->ending < r->nr
			   ? r->list[p->ending].begin - r->list[p->ending - 1].end
			   : UINT64_MAX;
	return after < before ? after : before;
}

void contain_count(struct contain_count *sum, const struct clock_model *model,
		   const struct tick_list *events, const struct ranges *r, uint64_t near)
{
	const struct clock_piece *piece = model->pieces, *end = piece + model->nr_pieces;
	struct place p = {0};

	for (size_t i = 0; i < events->nr && model->nr_pieces; i++) {
		uint64_t lo, hi, off, between;
		__int128 y;

		while (piece + 1 < end && piece[1].from <= events->list[i])
			piece++;
		y = on_piece(piece, events->list[i]);
		lo = clamp_tick(y - piece->bound_ns);
		hi = clamp_tick(y + piece->bound_ns);
		if (piece->bound_ns == CLOCK_NO_BOUND || lo < r->from || hi > r->to)
			continue;
		move_to(&p, r, lo, hi);
		if (p.ending >= p.begun) {
			off = distance(r, &p, lo, hi, &between);
			if (between > near)
				continue;
			sum->outside++;
			if (r->nr && off > sum->farthest)
				sum->farthest = off;
		}
		sum->tested++;
	}
}
