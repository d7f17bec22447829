/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_SAMPLE_RANGES_H
#define CLOCK_SAMPLE_RANGES_H

#include "clock/sample/sample.h"

/*
 * Stretches of one clock, in its ticks: when a thread of a host let guests run, say.
 * Zero-initialise, ranges_release() at the end; what can fail returns 0 or -ENOMEM.
 */
struct range {
	uint64_t begin, end;
};

/* Sorted, apart from each other.  Outside [from, to] nothing is known. */
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

#endif
