/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_VIOLATIONS_H
#define CLOCK_VIOLATIONS_H

#include "clock/align.h"

/*
 * What a machine's final clock breaks of the evidence: of its parent's, by p->machine->to_parent,
 * and of L0's own, by p->to_l0.  One event may break both, so p->machine->clock has the larger
 * number, and the worst in its own unit.  Any is a problem of @t's: there the bound does not hold.
 */
void violations_settle(struct topology *t, const struct placed *p);

#endif
