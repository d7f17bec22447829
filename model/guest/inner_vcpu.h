/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_GUEST_INNER_VCPU_H
#define MODEL_GUEST_INNER_VCPU_H

#include "model/state/state.h"

/*
 * Which nested vCPU a vCPU runs, as far as it is known now.
 *
 * Nested VMs without a trace of the VM in between are told apart by the address of their vmcb12 or
 * vmcs12: KVM keeps that for the life of a nested vCPU.  Two of them are vCPUs of one nested VM
 * when they have ever used the same nested page table.
 */

/* Whether its machine's own events tell what it does now: not where nothing bounds its clock. */
bool vcpu_tells(const struct cpu *vcpu);
/* The nested vCPU that the VM's own events say it has entered; else NULL. */
struct cpu *inner_told(const struct cpu *vcpu);
/* The vCPU one level further in, when @vcpu is in nested guest mode. */
struct cpu *vcpu_inner(const struct cpu *vcpu);
/* The innermost vCPU that runs when @vcpu is entered; NULL when it cannot be told. */
struct cpu *vcpu_innermost(struct cpu *vcpu);
/* NULL when @vcpu may be executing its own kernel now; else the one, it or around it, of which the
 * parent's events say that it is not. */
struct cpu *vcpu_denied(struct cpu *vcpu);

/* Key of what is known of a VM's memory: the address of a vmcb12 (vmcs12), or of a page table. */
static inline uint64_t nested_key(const struct machine_state *vm, uint64_t address)
{
	return address ^ (uint64_t)vm->index << 52;
}

/* What was entered at the address of @dark is @is. */
void vcpu_remember_address(const struct cpu *dark, const struct cpu *is);
/* The nested vCPU of @vm that its vmcb12/vmcs12 at this address is; NULL unknown. */
struct cpu *vcpu_of_address(const struct machine_state *vm, uint64_t address);

#endif
