/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FIGURE_H
#define BASE_FIGURE_H

#include "base/types.h"

#include <math.h>

/*
 * Figures that people read, and what must not become of them: lengths and rests, when their
 * operands come from a file, and quotients.
 *
 * A length of time and a count are never negative and never wrap.  Where the order of two times, or
 * which of two counts is greater, follows from how they were made, a plain minus will do.  Where it
 * follows only from what an input says, or from a window that a user chose, these say 0 instead,
 * and the greatest number where the true one does not fit.  tools/check-figures looks for the
 * places where neither is done.
 */

/* From @earlier until @later; 0 when that comes first. */
static inline ns_t ns_since(ns_t later, ns_t earlier)
{
	ns_t length;

	if (later <= earlier)
		return 0;
	return __builtin_sub_overflow(later, earlier, &length) ? NS_MAX : length;
}

/* @t moved by @by, as far as there are times. */
static inline ns_t ns_plus(ns_t t, ns_t by)
{
	ns_t sum;

	if (!__builtin_add_overflow(t, by, &sum))
		return sum;
	return by < 0 ? NS_MIN : NS_MAX;
}

/* What of [@begin, @end) is in [@from, @to). */
static inline ns_t ns_common(ns_t begin, ns_t end, ns_t from, ns_t to)
{
	return ns_since(end < to ? end : to, begin > from ? begin : from);
}

/* The part of the span [*@begin, *@end] that lies in [@from, @to]; of one that ends before it
 * begins, its begin. */
static inline void ns_clip(ns_t *begin, ns_t *end, ns_t from, ns_t to)
{
	*begin = *begin < from ? from : *begin > to ? to : *begin;
	*end = *end < *begin ? *begin : *end > to ? to : *end;
}

/* @x rounded to a whole number; 0 of what is none (0.0 / 0), the greatest or least of what is
 * greater or less. */
static inline int64_t figure_round(double x)
{
	if (isnan(x))
		return 0;
	return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : llround(x);
}

/* What is left of @whole without @part; 0 when there is more of that. */
static inline uint64_t count_less(uint64_t whole, uint64_t part)
{
	return part < whole ? whole - part : 0;
}

#endif
