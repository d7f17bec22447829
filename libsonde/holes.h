/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_HOLES_H
#define LIBSONDE_HOLES_H

#include "base/map.h"
#include "source/leaves.h"
#include "source/seam.h"

/*
 * Holes of a trace that no tracer tells of, as source/seam.h finds them, and which of them are no
 * loss: there are kernels that record no switch away from some threads, those that source/leaves.h
 * says may be mute.  Where a kernel is mute more often than not, it may be so of all (6.18 is, once
 * in a while).
 *
 *	struct holes h = {0};
 *	for each stream:
 *		holes_begin(&h, stream's number);
 *		for each event of it: holes_take(&h, e);
 *	holes_count(&h); h.nr and h.mute
 *	holes_release(&h);
 */
struct holes {
	struct seam seam;
	unsigned stream;
	bool torn;	    /* see source/leaves.h */
	struct map threads; /* owned: how each left its CPUs, a struct leaves */
	uint64_t switches;
	uint64_t nr;   /* of holes; not all of them before holes_count() */
	uint64_t mute; /* ... and of those that are a kernel's way */
	bool broken;   /* out of memory */
};

void holes_begin(struct holes *h, unsigned stream);
void holes_take(struct holes *h, const struct event *e);
void holes_count(struct holes *h);
void holes_release(struct holes *h);

#endif
