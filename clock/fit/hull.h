/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_FIT_HULL_H
#define CLOCK_FIT_HULL_H

#include "base/types.h"

/*
 * All straight lines that pass under some points and over others.
 *
 * The line stands for "parent's time as a function of the guest's".  An upper point says the line
 * is at or below it there, a lower point that it is at or above.  Of n points only the few on the
 * lower convex hull of the upper points and on the upper convex hull of the lower points can
 * matter, and they are kept incrementally (Andrew's monotone chain, as points come ordered by x),
 * with the smallest and largest slope that any remaining line has (the two critical tangents
 * between the hulls).  The idea is Duda's (1987) convex-hull clock estimate in the fully
 * incremental form; here the whole set of lines is kept, not one of them, so that the width of
 * the set is the error bound.
 *
 * Values of x and y must keep within +-2^61, which lets every cross product fit 128 bits.
 */
struct hull_point {
	int64_t x, y;
};

struct hull_chain {
	struct hull_point *points; /* owned */
	unsigned nr, room;
};

struct hull {
	struct hull_chain upper, lower;
	double slope_min, slope_max; /* of the lines left */
	uint64_t nr_points;	     /* that were added */
};

/* Only lines with slopes in [-slope_limit, slope_limit] are wanted. */
void hull_init(struct hull *h, double slope_limit);
/* Back to no points, keeping memory. */
void hull_clear(struct hull *h, double slope_limit);
void hull_release(struct hull *h);

/*
 * Adds the constraint line(x) <= y (@is_upper) or line(x) >= y.  @x must not be smaller than any
 * x before.  0; 1 when no line is left then (the hull stays as it was); -ENOMEM.
 */
int hull_add(struct hull *h, int64_t x, int64_t y, bool is_upper);

/* Least and greatest value at @x of any line left; false, with infinities, where a side has no
 * points at all. */
bool hull_band(const struct hull *h, int64_t x, double *lo, double *hi);

#endif
