/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_VCPU_RUNS_H
#define CLOCK_VCPU_RUNS_H

#include "clock/align.h"
#include "clock/bounds/contain.h"

/*
 * When a machine's vCPU may have run, as its parent saw it: in the parent's ticks.  @tid is the
 * parent's thread that runs it.
 */
int runs_in_parent(struct ranges *out, const struct placed *p, int32_t tid);

/*
 * When the vCPU @cpu of a machine at level 2 or more may have run, as L0 saw it, in L0's ticks: its
 * thread was in guest mode on some vCPU of its parent (mapped, and widened by the bound), and at
 * that time L0 had the vCPU of the machine at level 1 below it all in nested guest mode, or, where
 * it never says so of that vCPU, in guest mode at all.
 */
int runs_in_l0(struct ranges *out, const struct placed *p, int cpu);

/* The parent's thread behind a vCPU; -1 unknown. */
int32_t runs_thread(const struct machine *m, int cpu);

#endif
