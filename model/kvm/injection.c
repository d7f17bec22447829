/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kvm/injection.h"

#include "model/sched/uncounted_gap.h"
#include "model/wake/nested_waits.h"
#include "model/io/request.h"
#include "model/wake/wake.h"

/* VM-entry interruption-information field (Intel SDM 25.8.3); AMD's EVENTINJ has the same bits. */
#define INTR_INFO_VALID 0x80000000u
#define INTR_INFO_TYPE 0x700u /* 0: an external interrupt */

static void give(struct cpu *vcpu, int vector)
{
	wake_note_vector(vcpu, vector);
	contradict_given(vcpu, vector);
	if (unlikely(vcpu->vcpu.nest))
		nested_outer_given(vcpu, vector);
	request_injected(vcpu, vector);
}

void injection_at_entry(struct cpu *vcpu, const struct event *e)
{
	uint32_t info = (uint32_t)e->arg[2];

	/* A nested guest's is not its own. */
	if ((info & INTR_INFO_VALID) && !(info & INTR_INFO_TYPE) && vcpu->vcpu.nested != NESTED_YES)
		give(vcpu, (int)(info & UINT8_MAX));
}

void injection_event(struct cpu *host_cpu, const struct event *e)
{
	struct cpu *vcpu = host_cpu->thread ? host_cpu->thread->vcpu : NULL;

	host_cpu->machine->sees_injections = true;
	if (vcpu && !e->arg[1])
		give(vcpu, (int)e->arg[0]);
}
