/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_GUEST_TRACED_NESTED_H
#define MODEL_GUEST_TRACED_NESTED_H

#include "model/state/state.h"

/*
 * Guests that have a trace, in a VM that has none: which of that VM's nested guests they are.
 *
 * A *stay* is the time from which a vCPU of the VM is entered in nested mode to the exit that is
 * given to the VM: in all of it the same nested vCPU runs.  What its own trace says happens while
 * it executes. So a stay is one of the CPU's when an event of it lies in that stay, by more than
 * its clock's bound, and no other nested guest, of whomever, may have run at that time.  Where the
 * host's events name the nested vCPU by its address, and several stays agree, all of that address
 * are this CPU's.  Until then, and in all other stays, it is not known which guest of the VM runs.
 * Its vCPU's state is "on a CPU" in what is known to be its stays; by its address it is told by its
 * entries (nested_waits.h); else it is not known.  Which VM that is follows from all stays:
 * one_vm.h. docs/fusion.md has the rules, section 4.
 */

/* An event of such a machine's CPU. */
void between_event(struct cpu *inner);
/* At m->due_at. */
void between_due(struct model *m);
/* A vCPU of a VM without a trace: its stay begins, is over; what is known of it may count by now.
 */
void between_begins(struct cpu *outer);
void between_ends(struct cpu *outer);
/* ... any vCPU has been entered: costs a constant, however many CPUs the host has. */
void between_entered(struct cpu *vcpu);
void between_settle(struct cpu *outer);

#endif
