/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_VCPU_H
#define MODEL_VCPU_H

#include "model/state.h"

/*
 * What the KVM events of a machine say about the vCPUs of its VMs.  docs/fusion.md explains the
 * rules.
 *
 * Nested VMs without a trace of the VM in between are told apart by the address of their vmcb12 or
 * vmcs12: it stays the same for the life of a nested vCPU.  Two of them are vCPUs of one nested VM
 * when they have ever used the same nested page table.
 */

void vcpu_init(struct vcpu *v, struct thread *host);
/* Its own trace tells of it, or of what is missing of it: it is there, whether or not its host is
 * ever seen to run it. */
void vcpu_heard(struct cpu *vcpu);
void vcpu_entry(struct cpu *host_cpu, const struct event *e);
void vcpu_exit(struct cpu *host_cpu, const struct event *e);
/* Something that only the thread of a vCPU, in KVM, records: it is one, though what its guest does
 * is not known before its next entry or exit. */
void vcpu_at_work(struct cpu *host_cpu);
void vcpu_userspace(struct cpu *host_cpu, const struct event *e);
void vcpu_nested(struct cpu *host_cpu, const struct event *e);
void vcpu_leave(struct cpu *vcpu);
/* Its guest may have left since, for a reason that its own hypervisor has yet to see. */
void vcpu_forget_inner(const struct cpu *vcpu);
void vcpu_forget(struct cpu *vcpu);
/* Whether its machine's own events tell what it does now: not where nothing bounds its clock. */
bool vcpu_tells(const struct cpu *vcpu);
/* The innermost vCPU that runs when @vcpu is entered; NULL when it cannot be told. */
struct cpu *vcpu_innermost(struct cpu *vcpu);
/* The vCPU one level further in, when @vcpu is in nested guest mode. */
struct cpu *vcpu_inner(const struct cpu *vcpu);
/* NULL when @vcpu may be executing its own kernel now; else the one, it or around it, of which the
 * parent's events say that it is not. */
struct cpu *vcpu_denied(struct cpu *vcpu);

/* What was entered at the address of @dark is @is. */
void vcpu_remember_address(const struct cpu *dark, const struct cpu *is);
/* The nested vCPU of @vm that its vmcb12/vmcs12 at this address is; NULL unknown. */
struct cpu *vcpu_of_address(const struct machine_state *vm, uint64_t address);

#endif
