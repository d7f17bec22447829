/* SPDX-License-Identifier: Apache-2.0 */
#include "model/state/vcpu_state.h"

static enum vcpu_state vcpu_state_of(enum thread_state state)
{
	switch (state) {
	case THREAD_RUNNING:
		return VCPU_ON_CPU;
	case THREAD_RUNNABLE:
		return VCPU_PREEMPTED;
	case THREAD_SLEEPING:
	case THREAD_BLOCKED:
	case THREAD_STOPPED:
		return VCPU_WAITING;
	case THREAD_DEAD:
		return VCPU_GONE;
	default:
		return VCPU_UNKNOWN;
	}
}

/*
 * That it runs, or is ready to, is its own kernel's word.  Where nothing is known of the CPU that
 * this kernel itself has, it is not known whether anything runs there.  Neither is it known where
 * a thread is that was last seen to leave a CPU, while the trace lacks one of the machine's CPUs:
 * it may run on that one.
 */
static enum vcpu_state visible_state(const struct thread *th)
{
	enum vcpu_state state = vcpu_state_of(th->state);

	if ((state == VCPU_ON_CPU || state == VCPU_PREEMPTED) &&
	    (!th->last_on || !th->last_on->known))
		return VCPU_UNKNOWN;
	if ((state == VCPU_WAITING || state == VCPU_PREEMPTED) && th->machine->nr_uncovered)
		return VCPU_UNKNOWN;
	return state;
}

static bool is_known(const struct cpu *cpu)
{
	const struct thread *host = cpu->vcpu.host;

	if (!cpu->machine->parent)
		return cpu->thread;
	return cpu->vcpu_state > VCPU_UNKNOWN && host && host->last_on && host->last_on->known;
}

void vcpu_state_show(struct thread *th)
{
	struct cpu *vcpu = th->vcpu;
	enum vcpu_state state;

	if (!vcpu)
		return;
	state = visible_state(th);
	if (vcpu->vcpu_state != state) {
		vcpu->vcpu_state = state;
		model_set(th->machine->model, vcpu->state, state);
	}
	vcpu_state_reveal(vcpu);
}

void vcpu_state_reveal(struct cpu *cpu)
{
	bool known = is_known(cpu);

	if (likely(known == cpu->known))
		return;
	cpu->known = known;
	if (cpu->thread)
		vcpu_state_show(cpu->thread);
	for (struct thread *th = cpu->left; th; th = th->next_left)
		vcpu_state_show(th);
}
