/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_BOUNDS_TIGHTEN_H
#define CLOCK_BOUNDS_TIGHTEN_H

#include "clock/bounds/contain.h"

/* A guest CPU's events, and when its vCPU may have run, in the target clock's ticks. */
struct contained {
	const struct tick_list *events;
	struct ranges ranges; /* owned */
};

struct contained_list {
	struct contained *list; /* owned */
	size_t nr, room;
};

/* Counts what @m breaks, anew: of @base by more than @slack, and the events of @c that are in none
 * of their ranges. */
void contained_violations(struct clock_model *m, const struct constraints *base,
			  const struct contained_list *c, uint64_t slack);

/*
 * Tightens @model by containment, round by round, until it gains little more.  @base are the
 * constraints that hold anyway (may be empty), sorted; they are used in every round.  The
 * model's figures are brought up to date.  Violations are counted once, of the model that stays, by
 * all constraints, whether or not anything could be gained.  0 or a negative error.
 */
int tighten(struct clock_model *model, const struct constraints *base,
	    const struct contained_list *c, const struct fit_options *opt, struct error *err);

void contained_release(struct contained_list *l);

#endif
