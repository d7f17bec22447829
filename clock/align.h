/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_ALIGN_H
#define CLOCK_ALIGN_H

#include "clock/parents.h"

/*
 * One machine's clock to its parent's and to L0's.
 *
 * Hypercall pairs bound the clock first; containment in the stays of the vCPU threads in the parent
 * tightens it, round by round.  A machine deeper than one level is then aligned with L0's clock
 * once more, directly: chained models add up their bounds, but L0 itself saw when it ran.
 */
struct placed {
	struct machine *machine;
	struct candidate *candidate;
	const struct placed *parent; /* NULL for L0 */
	const struct placed *l0;
	struct clock_model to_l0; /* owned: its ticks to L0's ticks; none for L0 */
};

/*
 * Fills machine->to_parent, clock and vcpus.  The parent is done already.  @rough: by pairs only.
 * @spacing_ns: how far apart the evidence is.  @stop: may be NULL.
 */
int align_machine(struct topology *t, struct placed *p, bool rough, double spacing_ns,
		  struct stop *stop, struct error *err);

#endif
