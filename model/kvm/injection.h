/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_KVM_INJECTION_H
#define MODEL_KVM_INJECTION_H

#include "model/state/state.h"

/*
 * A vCPU is given an interrupt: all that follows from it.
 *
 * KVM says so by an event of its own (kvm_inj_virq), or in the entry by which it gives it.
 */

/* EV_KVM_INJ_VIRQ */
void injection_event(struct cpu *host_cpu, const struct event *e);
/* @e is a kvm_entry, not taken in yet: an interrupt ends the rest that it finds. */
void injection_at_entry(struct cpu *vcpu, const struct event *e);

#endif
