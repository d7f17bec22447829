/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/fit/hull.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void hull_init(struct hull *h, double slope_limit)
{
	memset(h, 0, sizeof(*h));
	hull_clear(h, slope_limit);
}

void hull_clear(struct hull *h, double slope_limit)
{
	h->upper.nr = 0;
	h->lower.nr = 0;
	h->nr_points = 0;
	h->slope_min = -slope_limit;
	h->slope_max = slope_limit;
}

void hull_release(struct hull *h)
{
	free(h->upper.points);
	free(h->lower.points);
	memset(h, 0, sizeof(*h));
}

/* > 0 when a, b, c turn left. */
static __int128 turn(const struct hull_point *a, const struct hull_point *b,
		     const struct hull_point *c)
{
	return (__int128)(b->x - a->x) * (c->y - a->y) - (__int128)(b->y - a->y) * (c->x - a->x);
}

static double slope_between(const struct hull_point *a, const struct hull_point *b)
{
	return (double)(b->y - a->y) / (double)(b->x - a->x);
}

/* @sign +1 keeps the lower hull (turning left), -1 the upper hull. */
static int chain_add(struct hull_chain *c, struct hull_point p, int sign)
{
	if (c->nr && c->points[c->nr - 1].x == p.x) {
		if ((p.y - c->points[c->nr - 1].y) * sign >= 0)
			return 0;
		c->nr--;
	}
	while (c->nr >= 2 && turn(&c->points[c->nr - 2], &c->points[c->nr - 1], &p) * sign <= 0)
		c->nr--;
	if (!room_for_one(&c->points, c->nr, &c->room))
		return -ENOMEM;
	c->points[c->nr++] = p;
	return 0;
}

/*
 * A line of slope s fits between an upper point u and a lower point l exactly when
 * u.y - s * u.x >= l.y - s * l.x.  So each pair bounds s from one side, and the new point, being
 * the rightmost, can only bound it from above (upper point) or from below (lower point).
 */
static bool narrow_slopes(const struct hull *h, const struct hull_point *p, bool is_upper,
			  double *slope_min, double *slope_max)
{
	const struct hull_chain *other = is_upper ? &h->lower : &h->upper;

	*slope_min = h->slope_min;
	*slope_max = h->slope_max;
	for (unsigned i = other->nr; i-- > 0;) {
		const struct hull_point *q = &other->points[i];
		double s;

		if (q->x == p->x) {
			if (is_upper ? p->y < q->y : p->y > q->y)
				return false;
			continue;
		}
		s = slope_between(q, p);
		if (is_upper && s < *slope_max)
			*slope_max = s;
		if (!is_upper && s > *slope_min)
			*slope_min = s;
	}
	return *slope_min <= *slope_max;
}

int hull_add(struct hull *h, int64_t x, int64_t y, bool is_upper)
{
	struct hull_point p = {x, y};
	double slope_min, slope_max;
	int ret;

	if (!narrow_slopes(h, &p, is_upper, &slope_min, &slope_max))
		return 1;
	ret = is_upper ? chain_add(&h->upper, p, 1) : chain_add(&h->lower, p, -1);
	if (ret)
		return ret;
	h->slope_min = slope_min;
	h->slope_max = slope_max;
	h->nr_points++;
	return 0;
}

/* Slope of the chain's edge over @x; where there is none, the end of the slope range that is best
 * beyond the chain. */
static double edge_slope(const struct hull_chain *c, int64_t x, double left, double right)
{
	unsigned lo = 0, hi = c->nr - 1;

	if (x < c->points[0].x)
		return left;
	if (x > c->points[hi].x)
		return right;
	if (!hi)
		return left;
	while (hi - lo > 1) {
		unsigned mid = lo + (hi - lo) / 2;

		if (c->points[mid].x <= x)
			lo = mid;
		else
			hi = mid;
	}
	return slope_between(&c->points[lo], &c->points[hi]);
}

static double clip(double v, double lo, double hi)
{
	if (v < lo)
		return lo;
	return v > hi ? hi : v;
}

/*
 * Of the lines with slope s, the highest at x has min over the upper points of y_i + s (x - x_i).
 * As a function of s this is concave, and highest at the slope of the hull edge over x; so the
 * best slope allowed is that one clipped to the range.  The lowest line mirrors this.
 */
static double best_at(const struct hull_chain *c, int64_t x, double slope, int sign)
{
	double best = sign * INFINITY;

	for (unsigned i = 0; i < c->nr; i++) {
		double y = (double)c->points[i].y + slope * (double)(x - c->points[i].x);

		if ((y - best) * sign < 0)
			best = y;
	}
	return best;
}

bool hull_band(const struct hull *h, int64_t x, double *lo, double *hi)
{
	double s;

	*lo = -INFINITY;
	*hi = INFINITY;
	if (h->upper.nr) {
		s = edge_slope(&h->upper, x, h->slope_min, h->slope_max);
		*hi = best_at(&h->upper, x, clip(s, h->slope_min, h->slope_max), 1);
	}
	if (h->lower.nr) {
		s = edge_slope(&h->lower, x, h->slope_max, h->slope_min);
		*lo = best_at(&h->lower, x, clip(s, h->slope_min, h->slope_max), -1);
	}
	return h->upper.nr && h->lower.nr;
}
