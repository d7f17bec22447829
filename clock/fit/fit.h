/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_FIT_FIT_H
#define CLOCK_FIT_FIT_H

#include "base/error.h"
#include "base/stop.h"
#include "clock/fit/model.h"

/*
 * From constraints on a clock to a model with a bound.
 *
 * A constraint says that when the guest's clock showed x, the parent's showed at most y (upper), or
 * at least y (lower).  The fit walks them in order of x, keeping the set of all straight lines that
 * satisfy them (clock/fit/hull.h).  When no line is left, either the constraint is wrong by itself
 * (the ones after it contradict it): it is dropped and counted; or the clock changed: a new piece
 * begins, and between the last constraint that only the old line satisfies and the first that only
 * the new one does, the bound covers both.
 *
 * The model follows the middle of the feasible band; its bound at each end of a segment is what the
 * band leaves on either side of it.  A bound of all feasible lines is convex between two ticks, so
 * the ends are the worst; segments are cut finely enough that the bound follows the evidence.
 *
 * What is assumed: between two breaks the true relation stays within slack of one straight line for
 * max_piece guest ticks, and its rate is within limit_ppm of the nominal.
 */
struct constraint {
	uint64_t x; /* guest ticks */
	uint64_t y; /* parent ticks */
	bool upper; /* parent <= y at x; else parent >= y */
	bool slip;  /* set by the fit: dropped, what follows contradicts it */
};

struct constraints {
	struct constraint *list; /* owned */
	size_t nr, room;
};

int constraints_add(struct constraints *c, uint64_t x, uint64_t y, bool upper);
/* By x; upper and lower of one x in no special order. */
void constraints_sort(struct constraints *c);
void constraints_release(struct constraints *c);

struct fit_options {
	uint64_t mult;		 /* nominal parent ticks per guest tick, times 2^CLOCK_SHIFT */
	double limit_ppm;	 /* how far the true rate may be from it; 0: it is exact */
	uint64_t slack;		 /* parent ticks, see above */
	uint64_t max_piece;	 /* guest ticks; 0: no limit */
	uint64_t x_begin, x_end; /* the guest's trace: the model is wanted for these ticks */
	struct stop *stop;	 /* for those who fit again and again; may be NULL */
};

/*
 * Fits a model to sorted constraints.  The model's "ns" are parent ticks here; its method and
 * figures are left alone.  -ENODATA when there are not both upper and lower
 * constraints, so that nothing is bounded.
 */
int fit_constraints(struct clock_model *out, struct constraints *c, const struct fit_options *opt,
		    struct error *err);

/* Counts the constraints that the model breaks by more than its bound and @slack (parent ticks);
 * they go into the model's figures. */
void fit_count_violations(struct clock_model *m, const struct constraints *c, uint64_t slack);

#endif
