/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_GIVEN_OFFSET_H
#define CLOCK_GIVEN_OFFSET_H

#include "clock/align.h"

/*
 * The TSC offset that a user gives for a machine, held against the evidence.
 *
 * @p->machine->to_parent is what the evidence leaves.  An offset is one number for the whole trace,
 * so it must lie in the band everywhere; it then is the model, and its bound is how far the true
 * offset may be from it in the narrowest place of the band.  Where the parent's lists tell it
 * exactly, it must be that.  Without evidence it is used, and nothing bounds it.  -EINVAL: it
 * contradicts the evidence, or not both traces count cycles.
 */
int told_apply(struct topology *t, struct placed *p, struct error *err);

/* Says that one given for @root, a machine without a parent, has no clock to be held against. */
void told_unused(struct topology *t, const struct placed *root);

#endif
