/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_GUEST_FUSE_H
#define MODEL_GUEST_FUSE_H

#include "model/state/state.h"

/*
 * What a physical CPU really runs: a walk inwards from L0's current thread.  At each layer:
 *
 *	interrupt handler              that is what runs
 *	no vCPU thread                 the thread runs
 *	vCPU thread, not entered       the hypervisor of this layer runs
 *	vCPU thread, entered           go on with the CPU of the VM that it runs
 *
 * "Entered" in L1 and deeper is what that kernel believes: the hardware knows only one level, and
 * L0 takes part in every entry.  So a layer is believed only if the layer below it says "nested"
 * about the vCPU that the layer runs on; otherwise the layer is on its way into or out of its
 * guest, and it is its hypervisor code that runs.  The other way round, where L0 says "nested" and
 * the layer does not know of an entry, L0 is right.
 */

void fuse(struct cpu *cpu);
/* What the CPU does as its own kernel sees it, whether or not it runs itself. */
struct context cpu_own_context(const struct cpu *cpu);

#endif
