/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_REFERENCE_H
#define CLOCK_REFERENCE_H

#include "clock/sample/declared.h"
#include "clock/sample/sample.h"
#include "clock/topology.h"

/*
 * L0's own clock, which is the time line of the run.  Clocks in ns are taken as they are.  A cycle
 * counter without a rate is measured against CLOCK_MONOTONIC: when a timer interrupt runs its
 * timers, the kernel reads that clock after the interrupt's entry event and before the timer's
 * event, and records the reading in the latter.  So do state lines, which have both clocks read
 * together.  L0 time then is CLOCK_MONOTONIC, and the evidence says within what.  With one such
 * reading only, the rate is the one that the kernel told.  Without any, and no rate told, L0 time
 * stays in cycles (ticks_are_ns false).  A rate that a user gives counts where nothing is measured;
 * one that contradicts what is measured is -EINVAL.
 *
 * @rough: do not measure; cycles will do.  Fills t->ticks_are_ns, tsc_khz, wall_offset_ns,
 * wall_known, and machines[0]'s clock and evidence.
 */
int reference_find(struct topology *t, const struct sample *l0, const struct declared *declared,
		   uint64_t told_khz, bool rough, struct error *err);

#endif
