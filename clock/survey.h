/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_SURVEY_H
#define CLOCK_SURVEY_H

#include "clock/align.h"
#include "clock/sample/plan.h"

/*
 * What to read, so that the search costs little however long the traces are.
 *
 * First a taste: of a trace that may be a hypervisor's, the heads of many packets; of one that may
 * be a guest's, pieces long enough for some of those heads to fall into them; of each its end.  The
 * calls that both sides show give the parents and rough clocks.  Then windows: moments spread over
 * the time in which each machine recorded anything, read from its trace and from all below it.
 * Where the models of neighbouring windows turn out not to agree, more windows between them find
 * out where the clock changed.
 */
/* @effort: 0, 1 ...: each reads several times more than the one before. */
int survey_taste(struct plan *p, const struct trace *t, unsigned effort);
int survey_whole(struct plan *p, const struct trace *t);

struct moments {
	uint64_t *list; /* owned; L0's ticks */
	size_t nr, room;
	double spacing_ns; /* the widest space between two that matter to one machine */
};

/* Moments for all machines, which have rough clocks.  [0] is L0. */
int survey_moments(struct moments *out, const struct placed *placed, unsigned nr);

/* Adds moments where a machine's clock is in doubt between two windows.  *@more: any were. */
int survey_doubts(struct moments *out, const struct placed *placed, unsigned nr, bool *more);

/* The windows at those moments in all traces; plans[i] is for @placed[i]. */
int survey_windows(struct plan *plans, const struct moments *m, const struct placed *placed,
		   unsigned nr);
void moments_release(struct moments *m);

#endif
