/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/fit/model.h"

#include <stdlib.h>
#include <string.h>

unsigned clock_piece_at(const struct clock_model *c, uint64_t t)
{
	unsigned lo = 0, hi = c->nr_pieces;

	while (hi - lo > 1) {
		unsigned mid = lo + (hi - lo) / 2;

		if (c->pieces[mid].from <= t)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* The shift rounds down also for times before the piece: order is kept everywhere. */
static ns_t on_line(const struct clock_piece *p, uint64_t t)
{
	__int128 d = (__int128)t - p->from;

	return clamp_ns(p->at_ns + ((d * (__int128)p->mult) >> CLOCK_SHIFT));
}

ns_t clock_to_l0(const struct clock_model *c, ticks_t t)
{
	if (!c->nr_pieces)
		return clamp_ns(t.v);
	return on_line(&c->pieces[clock_piece_at(c, t.v)], t.v);
}

ns_t clock_bound(const struct clock_model *c, ticks_t t)
{
	if (!c->nr_pieces)
		return CLOCK_NO_BOUND;
	return c->pieces[clock_piece_at(c, t.v)].bound_ns;
}

void clock_map(const struct clock_model *c, const struct event *events, unsigned nr, ns_t *out)
{
	const struct clock_piece *p, *last;

	if (!c->nr_pieces) {
		for (unsigned i = 0; i < nr; i++)
			out[i] = clamp_ns(events[i].time.v);
		return;
	}
	last = &c->pieces[c->nr_pieces - 1];
	p = nr ? &c->pieces[clock_piece_at(c, events[0].time.v)] : last;
	for (unsigned i = 0; i < nr; i++) {
		uint64_t t = events[i].time.v;

		while (p < last && p[1].from <= t)
			p++;
		out[i] = on_line(p, t);
	}
}

/* The largest tick of piece @p that shows no more than @t. */
static uint64_t from_line(const struct clock_piece *p, ns_t t)
{
	__int128 d = (__int128)t - p->at_ns;
	__int128 x;

	if (!p->mult)
		return p->from;
	/* Largest d with floor(d * mult / 2^S) <= t - at: that is ((t - at + 1) * 2^S - 1) / mult,
	 * rounded down; t - at fits 65 bits, so 2^S of it fits 128. */
	x = (d + 1) * ((__int128)1 << CLOCK_SHIFT) - 1;
	d = x / (__int128)p->mult;
	if (x < 0 && x % (__int128)p->mult)
		d--;
	d += p->from;
	return clamp_tick(d);
}

ticks_t clock_from_l0(const struct clock_model *c, ns_t t)
{
	unsigned lo = 0, hi = c->nr_pieces;
	uint64_t x;

	if (!hi)
		return (ticks_t){t < 0 ? 0 : (uint64_t)t};
	while (hi - lo > 1) {
		unsigned mid = lo + (hi - lo) / 2;

		if (c->pieces[mid].at_ns <= t)
			lo = mid;
		else
			hi = mid;
	}
	x = from_line(&c->pieces[lo], t);
	if (lo + 1 < c->nr_pieces && x >= c->pieces[lo + 1].from)
		x = c->pieces[lo + 1].from - 1;
	return (ticks_t){x};
}

/* Of evidence that limits from both sides: by its kinds, a bit for each. */
static const char *kinds_of_evidence(const struct clock_model *c)
{
	static const char *const names[16] = {
		[1] = "hypercall pairs",
		[2] = "clock readings",
		[3] = "hypercall pairs and clock readings",
		[4] = "containment",
		[5] = "hypercall pairs and containment",
		[6] = "clock readings and containment",
		[7] = "hypercall pairs, clock readings and containment",
		[8] = "timers",
		[9] = "hypercall pairs and timers",
		[10] = "clock readings and timers",
		[11] = "hypercall pairs, clock readings and timers",
		[12] = "containment and timers",
		[13] = "hypercall pairs, containment and timers",
		[14] = "clock readings, containment and timers",
		[15] = "hypercall pairs, clock readings, containment and timers",
	};

	/* Timers may limit a clock better, but it was containment that found it. */
	bool contained = c->nr_contained || c->method == CLOCK_METHOD_CONTAINMENT;

	return names[(c->nr_pairs ? 1 : 0) | (c->nr_readings ? 2 : 0) | (contained ? 4 : 0) |
		     (c->nr_timers ? 8 : 0)];
}

const char *clock_method_name(const struct clock_model *c)
{
	static const char *const names[] = {
		[CLOCK_METHOD_NONE] = "none",
		[CLOCK_METHOD_REFERENCE] = "reference",
		[CLOCK_METHOD_SAME] = "same clock",
		[CLOCK_METHOD_TSC] = "tsc offset",
		[CLOCK_METHOD_PAIRS] = "hypercall pairs",
		[CLOCK_METHOD_PAIRS_CONTAINMENT] = "hypercall pairs",
		[CLOCK_METHOD_CONTAINMENT] = "containment",
		[CLOCK_METHOD_READINGS] = "clock readings",
		[CLOCK_METHOD_READINGS_CONTAINMENT] = "clock readings",
		[CLOCK_METHOD_TOLD] = "given",
	};
	const char *kinds = c->method >= CLOCK_METHOD_PAIRS && c->method < CLOCK_METHOD_TOLD
				    ? kinds_of_evidence(c)
				    : NULL;

	if (kinds)
		return kinds;
	return c->method < ARRAY_SIZE(names) ? names[c->method] : "none";
}

void clock_model_release(struct clock_model *c)
{
	free(c->pieces);
	memset(c, 0, sizeof(*c));
}
