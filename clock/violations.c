/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/violations.h"

#include <inttypes.h>

#include "base/units.h"

/* So many ticks of the clock that @to_l0 is for. */
static ns_t length_of(ns_t ticks, const struct clock_model *to_l0)
{
	return clamp_ns(((__int128)ticks * to_l0->pieces[0].mult) >> CLOCK_SHIFT);
}

void violations_settle(struct topology *t, const struct placed *p)
{
	const struct clock_model *near = &p->machine->to_parent, *far = &p->to_l0;
	ns_t by_near = length_of(near->worst_violation_ns, &p->parent->machine->clock);
	ns_t by_far = length_of(far->worst_violation_ns, &p->l0->machine->clock);
	struct clock_model *c = &p->machine->clock;
	char length[UNIT_TEXT];

	c->nr_violations =
		near->nr_violations > far->nr_violations ? near->nr_violations : far->nr_violations;
	c->worst_violation_ns = by_near > by_far ? by_near : by_far;
	if (c->nr_violations)
		problems_add(&t->problems,
			     "the clock of %s contradicts %" PRIu64
			     " observations, by up to %s: at these its error bound does not hold",
			     p->machine->name, c->nr_violations,
			     unit_length(length, c->worst_violation_ns, t->ticks_are_ns));
}
