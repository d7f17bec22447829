/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/given_offset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock/fit/compose.h"
#include "clock/bounds/tsc.h"

/* Both ends of the band are rounded, and so are models. */
#define ROUNDING 1

/* Offsets that the evidence leaves, in the whole trace; nothing when @low > @high. */
struct band {
	__int128 low, high;
	bool any;
};

static void add_piece(struct band *b, uint64_t x, const struct clock_model *m)
{
	ns_t bound = clock_bound(m, (ticks_t){x});
	__int128 offset = (__int128)x - clock_to_l0(m, (ticks_t){x});

	if (bound == CLOCK_NO_BOUND)
		return;
	if (!b->any || offset - bound > b->low)
		b->low = offset - bound;
	if (!b->any || offset + bound < b->high)
		b->high = offset + bound;
	b->any = true;
}

/* Both counters run alike: within a piece the offset is one. */
static struct band find_band(const struct clock_model *m, const struct sample *guest)
{
	struct band b = {0};

	add_piece(&b, guest->first, m);
	for (unsigned i = 0; i < m->nr_pieces; i++) {
		uint64_t x = m->pieces[i].from;

		if (x > guest->first && x <= guest->last)
			add_piece(&b, x, m);
	}
	return b;
}

static int contradicted(const struct placed *p, const struct band *b, struct error *err)
{
	const char *name = p->machine->name;
	int64_t offset = p->candidate->in->tsc_offset;

	if (b->low > b->high + 2 * ROUNDING)
		return fail(err, -EINVAL,
			    "the TSC offset given for %s, %" PRId64 ", contradicts its events: by "
			    "these no single offset holds from the trace's begin to its end",
			    name, offset);
	return fail(
		err, -EINVAL,
		"the TSC offset given for %s, %" PRId64 ", contradicts its events: by these it is "
		"between %" PRId64 " and %" PRId64 "; without --tsc-offset they are what counts",
		name, offset, clamp_ns(b->low), clamp_ns(b->high));
}

static int make_model(struct placed *p, ns_t bound, struct error *err)
{
	struct clock_model *m = &p->machine->to_parent, told;
	struct clock_piece piece;
	int ret;

	if (!tsc_piece(&piece, p->candidate->in->tsc_offset,
		       p->parent->machine->clock.pieces[0].from))
		return fail(err, -ERANGE, "the TSC offset of %s is beyond all clocks",
			    p->machine->name);
	piece.bound_ns = bound;
	ret = clock_one_line(&told, piece, CLOCK_METHOD_TOLD, err);
	if (ret)
		return ret;
	told.nr_pairs = m->nr_pairs;
	clock_model_release(m);
	*m = told;
	return 0;
}

int told_apply(struct topology *t, struct placed *p, struct error *err)
{
	const struct sample *guest = p->candidate->sample;
	const struct clock_model *m = &p->machine->to_parent;
	int64_t offset = p->candidate->in->tsc_offset;
	struct band b;

	if (!tsc_comparable(guest, p->parent->candidate->sample))
		return fail(
			err, -EINVAL,
			"a TSC offset was given for %s, but the clocks of it and %s do not both "
			"count cycles",
			p->machine->name, p->parent->machine->name);
	b = m->nr_pieces ? find_band(m, guest) : (struct band){0};
	if (!b.any) {
		problems_add(&t->problems,
			     "nothing in the traces puts the TSC offset given for %s to the test: "
			     "nothing bounds how wrong its times are",
			     p->machine->name);
		return make_model(p, CLOCK_NO_BOUND, err);
	}
	if (offset < b.low - ROUNDING || offset > b.high + ROUNDING)
		return contradicted(p, &b, err);
	if (m->method == CLOCK_METHOD_TSC) /* known exactly, and the same */
		return 0;
	return make_model(
		p,
		clamp_ns((offset - b.low > b.high - offset ? offset - b.low : b.high - offset) +
			 ROUNDING),
		err);
}

void told_unused(struct topology *t, const struct placed *root)
{
	if (root->candidate->in->has_tsc_offset)
		problems_add(
			&t->problems,
			"the TSC offset given for %s is not used: the machine that it runs in, if "
			"any, has no trace here",
			root->machine->name);
}
