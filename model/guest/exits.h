/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_GUEST_EXITS_H
#define MODEL_GUEST_EXITS_H

#include "model/state/state.h"

/*
 * Exits, one by one: each vCPU's attribute "exit" names, from kvm_exit to the next kvm_entry, the
 * row of table "exit" that says why its thread left guest mode.
 *
 * What is learned later about an exit (that it was a nested guest's, that it goes on in the VMM's
 * user space) makes it go on as another row of the same reason.  An exit of which nobody knows how
 * it ended goes over into row 0, "not known": so that no reader takes what it sees for a whole one.
 */

int exits_open(struct model *m);
/* kvm_exit, when @vcpu knows its reason and whom it served. */
void exit_begin(struct cpu *vcpu, int64_t isa);
/* That exit was a nested guest's. */
void exit_was_nested(struct cpu *vcpu);
/* kvm_userspace_exit */
void exit_to_user(struct cpu *host_cpu, const struct event *e);
/* kvm_entry */
void exit_end(struct cpu *vcpu);
/* How it goes on was not seen. */
void exit_forget(struct cpu *vcpu);

#endif
