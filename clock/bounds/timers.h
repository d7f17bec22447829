/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_BOUNDS_TIMERS_H
#define CLOCK_BOUNDS_TIMERS_H

#include "clock/fit/fit.h"
#include "clock/sample/sample.h"

/*
 * The timers of a guest.  A guest starts a timer for a moment of its own CLOCK_MONOTONIC
 * (hrtimer_start, expires), and writes the deadline, as a value of its TSC, to MSR 0x6e0.  KVM
 * computes when, by the host's CLOCK_MONOTONIC, the TSC will show that, and starts a timer of its
 * own.  At the time of the write
 *
 *	offset = host's expires - guest's expires + advance + host's gap - guest's gap
 *
 * where offset is the host's clock less the guest's.  Each gap, never negative, is the time from a
 * kernel's reading of its clock to its reading of the TSC; advance is by how much KVM's timer is
 * early, at most TIMERS_ADVANCE_NS.  docs/clocks.md derives this, and says what it rests on.
 *
 * A gap may be of any length (an SMI, a host's host), and a match of two events may be wrong.  So
 * no timer counts alone: of each few in a row the median becomes a constraint from both sides.  It
 * rests on this: of most of them the gaps differ by no more than TIMERS_GAP_NS.
 */
#define TIMERS_ADVANCE_NS 5000
#define TIMERS_GAP_NS 500

struct timers {
	uint64_t used;	  /* timers behind the constraints */
	uint64_t refuted; /* timers that contradict what is known without them, where most do */
};

/* Whether both traces' times are what hrtimers count in: CLOCK_MONOTONIC, in ns. */
bool timers_apply(const struct sample *guest, const struct sample *host);

/*
 * Adds what the timers say that the guest's @cpu started and the host's thread @tid took over.
 * @model, from guest to host, must hold without them.  A timer that contradicts it is left out; if
 * most do, all are.  *@t is counted up.  0 or -ENOMEM.
 */
int timers_constraints(struct constraints *out, const struct clock_model *model,
		       const struct sample *guest, unsigned cpu, const struct sample *host,
		       int32_t tid, struct timers *t);

#endif
