/* SPDX-License-Identifier: Apache-2.0 */
#include "model/guest/inner_vcpu.h"

#include "model/identity/machine.h"

bool vcpu_tells(const struct cpu *vcpu)
{
	return !vcpu->machine->clock || vcpu->machine->bound_ns >= 0;
}

struct cpu *inner_told(const struct cpu *vcpu)
{
	const struct thread *th = vcpu->thread;

	return th && th->vcpu && th->vcpu->vcpu.entered && vcpu_tells(vcpu) ? th->vcpu : NULL;
}

/* The VM's own trace says which nested vCPU it has entered; without it, the address does. */
struct cpu *vcpu_inner(const struct cpu *vcpu)
{
	struct cpu *told = inner_told(vcpu);

	return told ? told : vcpu->vcpu.nested_cpu;
}

struct cpu *vcpu_innermost(struct cpu *vcpu)
{
	while (vcpu && vcpu->vcpu.nested == NESTED_YES)
		vcpu = vcpu_inner(vcpu);
	return vcpu;
}

struct cpu *vcpu_denied(struct cpu *vcpu)
{
	bool deeper = false;

	for (; vcpu->machine->parent; vcpu = vcpu->vcpu.host->on) {
		const struct vcpu *v = &vcpu->vcpu;

		if (!v->host || v->host->state == THREAD_UNKNOWN)
			return NULL;
		/* On a CPU of which nothing is known it may run unseen. */
		if (!v->host->on)
			return machine_sees_all(v->host->machine) ? vcpu : NULL;
		if (!v->seen)
			return NULL;
		if (!v->entered)
			return vcpu;
		/* The innermost must execute itself, all around it their nested guests. */
		if (v->nested == (deeper ? NESTED_NO : NESTED_YES))
			return vcpu;
		deeper = true;
	}
	return NULL;
}

/* ---- by address ------------------------------------------------------------------------------ */

void vcpu_remember_address(const struct cpu *dark, const struct cpu *is)
{
	struct machine_state *vm = dark->machine->parent;

	model_put(vm->model, &vm->model->by_vmcb, nested_key(vm, dark->nested_id), is->index);
}

struct cpu *vcpu_of_address(const struct machine_state *vm, uint64_t address)
{
	const uint32_t *known = map_get(&vm->model->by_vmcb, nested_key(vm, address));

	return known ? vm->model->cpus[*known] : NULL;
}
