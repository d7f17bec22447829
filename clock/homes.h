/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_HOMES_H
#define CLOCK_HOMES_H

#include "clock/align.h"

/*
 * On which threads of its parent a machine's vCPUs run is the parent's word.  Its own trace may
 * lie: claim the hypercalls of a neighbour, or the neighbour's UUID.  So what leads to a thread is
 * put to the test, whatever it was.
 */

/*
 * Leaves out of p->machine->vcpus those whose events are not where the thread ran a guest, by the
 * machine's clock to its parent.  *@refuted: no other is left, so that this clock is no better.
 * 0 or -ENOMEM.
 */
int homes_test(struct placed *p, bool *refuted);

/*
 * A thread that several kernels' traces claim is nobody's, but for one that the recorder knows to
 * be that thread's process.  Traces of one kernel may share it.  Of @nr machines, whose vCPUs it
 * takes away; problems are @t's.  0 or -ENOMEM.
 */
int homes_settle(struct topology *t, const struct placed *list, unsigned nr);

#endif
