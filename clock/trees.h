/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_TREES_H
#define CLOCK_TREES_H

#include "clock/parents.h"

/*
 * Which trees the candidates make by their parents.  One is the run's: its root is L0.  What stands
 * in another tree cannot be placed beside it.
 *
 * The run's tree is, in this order: one whose root the user calls L0; whose root has events that
 * can say what a CPU does; whose root does not say itself that it runs in a VM, or in a machine of
 * which there is no trace; that has most machines; whose root was seen to run guests; whose
 * root has the largest trace; the first.
 */

/*
 * The order in which every parent comes before its children.  -EXDEV: there is more than one tree,
 * and
 * @apart (zeroed, [nr]) says which candidates are not in the run's, and why.  -EINVAL: the user
 * makes machines run inside each other.
 */
int trees_order(struct candidate *list, unsigned nr, unsigned *order, struct topology_apart *apart,
		struct error *err);

#endif
