/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_CONTAIN_H
#define CLOCK_CONTAIN_H

#include "clock/fit.h"
#include "clock/sample.h"

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
struct range {
	uint64_t begin, end;
};

/* When a vCPU may have run: sorted, apart from each other.  Outside [from, to] nothing is known. */
struct ranges {
	struct range *list; /* owned */
	size_t nr, room;
	uint64_t from, to;
};

/* The stays of a thread in which its guest itself (@nested false) or a guest of the guest ran. */
int ranges_of_thread(struct ranges *out, const struct sample *host, int32_t tid, bool nested);

/* Keeps of @r what lies in @with too. */
int ranges_intersect(struct ranges *r, const struct ranges *with);
/* Adds @with's ranges. */
int ranges_join(struct ranges *r, const struct ranges *with);
void ranges_release(struct ranges *r);

/*
 * Adds the most telling of what containment says about @events, given a model that bounds them.
 * *@outside is raised by the number of events that, within their bounds, fall into no range at all.
 */
int contain_constraints(struct constraints *out, const struct clock_model *model,
			const struct tick_list *events, const struct ranges *r, uint64_t *outside);

/*
 * How many of @events are, within their bounds, in no range (*@outside), of those that this can be
 * told of (*@tested): between ranges that are more than @near apart the parent may have recorded
 * nothing.
 */
void contain_count(const struct clock_model *model, const struct tick_list *events,
		   const struct ranges *r, uint64_t near, uint64_t *tested, uint64_t *outside);

#endif
