/* SPDX-License-Identifier: Apache-2.0 */
#include "model/guest/guest_mode.h"

#include "model/guest/traced_nested.h"
#include "model/guest/exits.h"
#include "model/guest/inner_vcpu.h"
#include "model/wake/nested_waits.h"

void vcpu_forget_inner(const struct cpu *vcpu)
{
	const struct thread *th = vcpu->thread;

	if (!th || !th->vcpu || !th->vcpu->vcpu.entered)
		return;
	th->vcpu->vcpu.reason = -1;
	th->vcpu->vcpu.reason_told = false;
}

void vcpu_forget(struct cpu *vcpu)
{
	vcpu->vcpu.entered = false;
	vcpu->vcpu.starting = false;
	vcpu->vcpu.nested = NESTED_UNKNOWN;
	vcpu->vcpu.reason = -1;
	vcpu->vcpu.reason_told = false;
	vcpu->vcpu.served = NULL;
	vcpu->vcpu.seen = false;
	vcpu->vcpu.vmm = -1;
	vcpu_forget_inner(vcpu);
	vcpu->vcpu.injected = vcpu->vcpu.delivered = -1;
	if (vcpu->vcpu.nest)
		nested_forget(vcpu);
	exit_forget(vcpu);
	between_ends(vcpu);
}

void vcpu_leave(struct cpu *vcpu)
{
	if (unlikely(vcpu->vcpu.told))
		between_settle(vcpu);
	/* Before it is forgotten who was inside: the exit is handled on that one's behalf. */
	vcpu->vcpu.served = vcpu_innermost(vcpu);
	vcpu->vcpu.entered = false;
	if (!vcpu->vcpu.reason_told)
		vcpu->vcpu.reason = -1;
	vcpu->vcpu.reason_told = false;
}
