/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATE_VCPU_STATE_H
#define MODEL_STATE_VCPU_STATE_H

#include "model/state/state.h"

/*
 * Whether a vCPU has a CPU, waits for one, or sleeps: attribute "state".
 *
 * It is the state of the thread that runs the vCPU, as far as it can be known.  The thread's own
 * kernel may be a guest, too, whose vCPU runs or not: so what is known of a CPU decides what is
 * shown of all vCPUs that are on it or wait for it, and theirs of the next ones inwards.
 */

/* The state of the thread, or of the CPU that it is on, has changed. */
void vcpu_state_show(struct thread *th);
/* Whether the CPU is known may have changed: then so have the states of the vCPUs that are on it
 * or wait for it.  Of L0's CPUs it is known when their thread is; of a vCPU, when its state is and
 * the CPU that it is on or was on last is known. */
void vcpu_state_reveal(struct cpu *cpu);

#endif
