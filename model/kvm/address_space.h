/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_KVM_ADDRESS_SPACE_H
#define MODEL_KVM_ADDRESS_SPACE_H

#include "model/state/state.h"

/*
 * Processes of VMs without a trace of their own, as far as their parent's hardware shows them: by
 * the page table (CR3) that a vCPU has when it exits, which the recorder writes down whenever it is
 * another one than before (EV_GUEST_CR3).  docs/fusion.md has the rules.
 *
 * Each page table is an address space, and each address space a thread of the VM, for all purposes
 * but its numbers: it has no TID (negative ones are ours), and it stands for all threads of its
 * process, and for the kernel's threads and its idle task while they have borrowed the page table.
 *
 * What an exit shows is taken to have run since the guest was entered: mostly it is the end of the
 * exit before, with an interrupt, that lets a guest's kernel switch.  In truth the switch took
 * place at an unknown moment between that entry and this exit: that time is counted (struct space,
 * doubt).
 *
 * PCID and the like are no part of a page's address.  Where the guest isolates its kernel's page
 * table (KPTI), user space has the page behind: bit 12 is not looked at until it is proven that it
 * tells page tables apart, as user space has been seen without it.
 */

void space_feed(struct machine_state *host, const struct event *e);
/* @vcpu, which a thread of its parent runs, has exited. */
void space_exit(const struct cpu *vcpu);
void spaces_settle(struct model *m); /* at the end, when VMs have been grouped */

#endif
