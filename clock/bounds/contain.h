/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_BOUNDS_CONTAIN_H
#define CLOCK_BOUNDS_CONTAIN_H

#include "clock/fit/fit.h"
#include "clock/sample/ranges.h"

/*
 * Containment: whatever a guest's CPU recorded, it recorded while its vCPU's thread was in guest
 * mode.  So when a model says that an event happened between lo and hi of the parent's clock, and
 * lo falls where the vCPU was out, the event was no earlier than the next entry; and when hi does,
 * no later than the last exit.  Both are constraints like those of hypercalls, and they make the
 * model better, which makes further events tell something.
 *
 * This holds for the machine L0 itself as well, at any depth: an L2 runs only while L0 has L1's
 * vCPU in nested guest mode.
 */

/* Adds the most telling of what containment says about @events, given a model that bounds them. */
int contain_constraints(struct constraints *out, const struct clock_model *model,
			const struct tick_list *events, const struct ranges *r);

/* Of the events that can be tested, those that are, within their bounds, in no range. */
struct contain_count {
	uint64_t tested, outside;
	uint64_t farthest; /* the parent's ticks: from the nearest range */
};

/*
 * Adds what @model makes of @events to @sum.  Between ranges that are more than @near apart, before
 * the first and after the last, the parent may have recorded nothing: that is no test.  With
 * UINT64_MAX all that the parent's sample covers is one.
 */
void contain_count(struct contain_count *sum, const struct clock_model *model,
		   const struct tick_list *events, const struct ranges *r, uint64_t near);

#endif
