/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/fit/compose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static ns_t through(const struct clock_model *to_parent, const struct clock_model *parent,
		    uint64_t x)
{
	return clock_to_l0(parent, (ticks_t){clamp_tick(clock_to_l0(to_parent, (ticks_t){x}))});
}

static int ticks_up(const void *a, const void *b)
{
	uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

	return (p > q) - (p < q);
}

/* Where pieces begin, in guest ticks, sorted, once each; those of the parent before the guest's
 * first one, too: that is where the guest's evidence begins, and events may be earlier. */
static unsigned beginnings(const struct clock_model *to_parent, const struct clock_model *parent,
			   uint64_t *out)
{
	unsigned nr = 0, kept = 0;

	for (unsigned i = 0; i < to_parent->nr_pieces; i++)
		out[nr++] = to_parent->pieces[i].from;
	for (unsigned i = 0; i < parent->nr_pieces; i++) {
		uint64_t y = parent->pieces[i].from, x;

		if (!y || y > INT64_MAX)
			continue;
		x = clock_from_l0(to_parent, (ns_t)y - 1).v;
		if (x && x < UINT64_MAX && (i || x < to_parent->pieces[0].from))
			out[nr++] = x + 1;
	}
	qsort(out, nr, sizeof(*out), ticks_up);
	for (unsigned i = 0; i < nr; i++) {
		if (!kept || out[i] != out[kept - 1])
			out[kept++] = out[i];
	}
	return kept;
}

/* How wrong @parent can be when its ticks are within @b of @y. */
static __int128 bound_at(const struct clock_model *parent, __int128 y, ns_t b)
{
	uint64_t low = clamp_tick(y - b), mid = clamp_tick(y), high = clamp_tick(y + b);
	__int128 at = clock_to_l0(parent, (ticks_t){mid});
	__int128 up = clock_to_l0(parent, (ticks_t){high}) - at;
	__int128 down = at - clock_to_l0(parent, (ticks_t){low});
	ns_t worst = 0;

	for (const struct clock_piece *p = &parent->pieces[clock_piece_at(parent, low)];
	     p < parent->pieces + parent->nr_pieces && (p->from <= high || p == parent->pieces);
	     p++) {
		if (p->bound_ns > worst)
			worst = p->bound_ns;
	}
	return worst == CLOCK_NO_BOUND ? (__int128)CLOCK_NO_BOUND : (up > down ? up : down) + worst;
}

/* The bound of the piece [@x, @end]; @line_end is what the piece shows at @end. */
static ns_t piece_bound(const struct clock_model *to_parent, const struct clock_model *parent,
			uint64_t x, uint64_t end, __int128 line_end)
{
	ns_t b = clock_bound(to_parent, (ticks_t){x});
	__int128 first, last, off;

	if (b == CLOCK_NO_BOUND)
		return b;
	first = bound_at(parent, clock_to_l0(to_parent, (ticks_t){x}), b);
	last = bound_at(parent, clock_to_l0(to_parent, (ticks_t){end}), b);
	off = line_end - through(to_parent, parent, end);
	if (off < 0)
		off = -off;
	/* Exactly known clocks stay exact: rounding is in @off. */
	return clamp_ns((first > last ? first : last) + off);
}

static void add_line(struct clock_model *out, const struct clock_model *to_parent,
		     const struct clock_model *parent, uint64_t x, uint64_t end)
{
	const struct clock_piece *a = &to_parent->pieces[clock_piece_at(to_parent, x)];
	const struct clock_piece *b = &parent->pieces[clock_piece_at(
		parent, clamp_tick(clock_to_l0(to_parent, (ticks_t){x})))];
	unsigned __int128 mult = ((unsigned __int128)a->mult * b->mult) >> CLOCK_SHIFT;
	struct clock_piece p = {.from = x, .at_ns = through(to_parent, parent, x)};
	ns_t before = out->nr_pieces ? clock_to_l0(out, (ticks_t){x}) : NS_MIN;

	p.mult = mult > INT64_MAX ? INT64_MAX : (uint64_t)mult;
	if (p.at_ns < before)
		p.at_ns = before;
	out->pieces[out->nr_pieces++] = p;
	out->pieces[out->nr_pieces - 1].bound_ns =
		piece_bound(to_parent, parent, x, end, clock_to_l0(out, (ticks_t){end}));
}

int clock_compose(struct clock_model *out, const struct clock_model *to_parent,
		  const struct clock_model *parent, uint64_t last, struct error *err)
{
	unsigned room = to_parent->nr_pieces + parent->nr_pieces, nr;
	uint64_t *at = calloc(room, sizeof(*at));

	*out = *to_parent;
	out->nr_pieces = 0;
	out->pieces = calloc(room, sizeof(*out->pieces));
	if (!at || !out->pieces) {
		free(at);
		clock_model_release(out);
		return fail(err, -ENOMEM, "out of memory chaining clocks");
	}
	nr = beginnings(to_parent, parent, at);
	if (last < at[nr - 1])
		last = at[nr - 1];
	for (unsigned i = 0; i < nr; i++)
		add_line(out, to_parent, parent, at[i], i + 1 < nr ? at[i + 1] - 1 : last);
	free(at);
	return 0;
}

int clock_one_line(struct clock_model *out, struct clock_piece piece, enum clock_method method,
		   struct error *err)
{
	memset(out, 0, sizeof(*out));
	out->pieces = malloc(sizeof(piece));
	if (!out->pieces)
		return fail(err, -ENOMEM, "out of memory");
	out->pieces[0] = piece;
	out->nr_pieces = 1;
	out->method = method;
	return 0;
}
