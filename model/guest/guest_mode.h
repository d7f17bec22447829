/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_GUEST_GUEST_MODE_H
#define MODEL_GUEST_GUEST_MODE_H

#include "model/state/state.h"

/*
 * A vCPU leaves guest mode, or it is not known any more whether it is in it.
 */

/* The vCPU is no longer in guest mode; the reason is not known yet, unless it is a nested one and
 * the host has told it. */
void vcpu_leave(struct cpu *vcpu);
/* Events of its host were lost, or its thread is gone: nothing that they told holds on. */
void vcpu_forget(struct cpu *vcpu);
/* Its guest may have left since, for a reason that its own hypervisor has yet to see. */
void vcpu_forget_inner(const struct cpu *vcpu);

#endif
