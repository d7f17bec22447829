/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IDENTITY_VM_COUNTS_H
#define MODEL_IDENTITY_VM_COUNTS_H

#include "model/state/state.h"

/*
 * How many of a machine's VMs are of a process, and how many have a vCPU of a number: mostly enough
 * to tell that no other VM can be the same one (machines_may_be_one()), without a look at each.
 *
 * Counted are those that can be another one at all: with a trace, or with a vCPU whose thread is
 * known.
 */

/* @vm has a trace, or a first vCPU whose thread is known. */
void vm_counts_add(struct machine_state *vm);
/* @cpu is a vCPU whose thread is known, or its number has become known. */
void vm_counts_number(const struct cpu *cpu);
/* Its process is that one: sets @vm->vm_pid. */
void vm_counts_set_process(struct machine_state *vm, int32_t pid);

/* No other VM can be this one.  False: there may be one. */
bool vm_counts_is_alone(const struct machine_state *vm);

#endif
