/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_BOUNDS_COINCIDE_H
#define CLOCK_BOUNDS_COINCIDE_H

#include "clock/bounds/contain.h"

/*
 * The first guess at a clock when there are no hypercalls to go by: a thread that stayed out of
 * guest mode for 3.7 ms and a guest CPU that was silent for 3.8 ms may be one and the same; if so,
 * their ends give the offset of the clocks.  Most such guesses are wrong, but the right ones agree
 * with each other.  The offsets with most agreement are then put to the test of containment: with
 * the right one, every event of the CPU falls into a stay of the thread, and the bound closes in;
 * with a wrong one, events fall outside, or the clock would have to jump to make them fit.
 */
struct coincidence {
	struct clock_model model; /* owned: guest ticks to host ticks */
	int32_t cpu, tid;
	uint64_t agreeing; /* gaps that agree on the offset */
	uint64_t events;   /* that were put to the test */
};

enum coincide_result {
	COINCIDE_NONE, /* nothing fits */
	COINCIDE_FOUND,
	COINCIDE_AMBIGUOUS, /* several fit, or there are too many to try all */
};

/*
 * Looks for the thread of @host that runs the busiest CPU of @guest, and their clocks' relation.
 * @nested: it is a guest of the guest that the thread runs; where no thread alone will do, all
 * together, and @tid is -1.  @opt as for a fit.  enum coincide_result, or a negative error; *out is
 * set when found.
 */
int coincide_find(struct coincidence *out, const struct sample *guest, const struct sample *host,
		  bool nested, const struct fit_options *opt);

/* The CPU with most events, if they are enough for a test; else -1. */
int32_t coincide_cpu(const struct sample *s);

/* The thread among @host's in whose stays all of @events fall by @model; -1 when none or several
 * do.  *@seen is the number of events that say so. */
int32_t coincide_thread(const struct clock_model *model, const struct tick_list *events,
			const struct sample *host, uint64_t *seen);

#endif
