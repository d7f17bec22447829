/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_BOOT_MILESTONES_H
#define MODEL_BOOT_MILESTONES_H

#include "model/state/state.h"

/*
 * Milestones: moments in the life of a machine that only one event each tells.
 *
 *	entry	a vCPU whose thread was made while its host was recorded enters guest mode first
 *	kernel	the first exit of such a vCPU's own code at an address where x86-64 Linux has its
 *		kernel: firmware and the kernel's decompressor run at low ones
 *	user	the first exit after that at an address of user space
 *	level	the machine's own kernel begins a step of its boot, or a level of its initcalls
 *	init	its first process executes a file
 *	lost	so much of what its kernel recorded of its boot was not there any more when it was
 *		told, which was then
 *
 * What was between two exits is not seen: `since` is the last exit that was still before.
 */

void milestone_entry(struct cpu *vcpu);
/* @address: where its code was. */
void milestone_exit(struct cpu *vcpu, uint64_t address);
void milestone_exec(struct machine_state *mc, const struct event *e);
void milestone_add(struct model *m, const struct milestone *milestone);

#endif
