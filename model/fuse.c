/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a physical CPU really runs: a walk inwards from L0's current thread.  At each layer:
 *
 *	interrupt handler              that is what runs
 *	no vCPU thread                 the thread runs
 *	vCPU thread, not entered       the hypervisor of this layer runs
 *	vCPU thread, entered           go on with the CPU of the VM that it runs
 *
 * "Entered" in L1 and deeper is what that kernel believes: the hardware knows only one level, and
 * L0 takes part in every entry.  So a layer is believed only if the layer below it says "nested"
 * about the vCPU that the layer runs on; otherwise the layer is on its way into or out of its
 * guest, and it is its hypervisor code that runs.  The other way round, where L0 says "nested" and
 * the layer does not know of an entry, L0 is right.
 */
#include <string.h>

#include "model/state.h"

static struct cpu *physical(struct cpu *cpu)
{
	while (cpu->machine->parent) {
		struct thread *host = cpu->vcpu.host;

		if (!host || !host->on)
			return NULL;
		cpu = host->on;
	}
	return cpu;
}

static void name_layer(struct context *c, const struct cpu *cpu, uint32_t mode)
{
	c->cpu = cpu->index + 1;
	c->thread = cpu->thread ? cpu->thread->row + 1 : 0;
	c->mode = mode;
}

/* A guest that nothing more is known about: the CPU may run any of its threads. */
static void in_guest(struct context *c, const struct cpu *cpu)
{
	name_layer(c, cpu, MODE_GUEST);
	c->thread = 0;
}

static void in_hypervisor(struct context *c, const struct cpu *cpu)
{
	const struct cpu *vcpu = cpu->thread->vcpu;

	name_layer(c, cpu, MODE_HYPERVISOR);
	c->detail = vcpu->vcpu.reason;
	if (vcpu->vcpu.entered || !vcpu->vcpu.served)
		c->serves = vcpu->index + 1;
	else
		c->serves = vcpu->vcpu.served->index + 1;
}

static void in_thread(struct context *c, const struct cpu *cpu)
{
	const struct thread *th = cpu->thread;

	if (!th->tid) {
		name_layer(c, cpu, MODE_IDLE);
	} else if (th->where == WHERE_SYSCALL) {
		name_layer(c, cpu, MODE_SYSCALL);
		c->detail = th->syscall;
	} else if (th->kind == KIND_KERNEL) {
		name_layer(c, cpu, MODE_KERNEL);
	} else {
		name_layer(c, cpu, th->where == WHERE_USER ? MODE_USER : MODE_TASK);
	}
}

/* No thread is known.  In a VM that says at least that it runs. */
static void in_unknown(struct context *c, const struct cpu *cpu)
{
	if (cpu->machine->parent)
		in_guest(c, cpu);
	else
		name_layer(c, cpu, MODE_UNKNOWN);
}

/* The layer itself runs, not a guest of it. */
static void in_layer(struct context *c, const struct cpu *cpu)
{
	if (cpu->nr_irqs) {
		name_layer(c, cpu, cpu->irqs[cpu->nr_irqs - 1].mode);
		c->detail = cpu->irqs[cpu->nr_irqs - 1].detail;
	} else if (cpu->guest_of_unknown) {
		in_guest(c, cpu);
	} else if (!cpu->thread) {
		in_unknown(c, cpu);
	} else if (cpu->thread->vcpu && cpu->machine->sees_kvm) {
		in_hypervisor(c, cpu);
	} else {
		in_thread(c, cpu);
	}
}

static bool has_entered(const struct cpu *cpu)
{
	return !cpu->nr_irqs && cpu->thread && cpu->thread->vcpu && cpu->thread->vcpu->vcpu.entered;
}

/* The vCPU is in guest mode: what runs is its own kernel, or a guest of that. */
static void find_in_guest(struct context *c, const struct cpu *vcpu)
{
	const struct cpu *inner;

	while (vcpu->vcpu.nested == NESTED_YES) {
		inner = vcpu_inner(vcpu);
		if (!inner) {
			in_guest(c, vcpu);
			return;
		}
		vcpu = inner;
	}
	if (vcpu->vcpu.nested == NESTED_UNKNOWN && has_entered(vcpu))
		in_guest(c, vcpu); /* it may be this kernel that runs, or its guest */
	else
		in_layer(c, vcpu);
}

void fuse(struct cpu *cpu)
{
	struct model *m = cpu->machine->model;
	struct context c;
	uint32_t row;

	cpu = physical(cpu);
	if (!cpu)
		return;
	memset(&c, 0, sizeof(c));
	if (has_entered(cpu))
		find_in_guest(&c, cpu->thread->vcpu);
	else
		in_layer(&c, cpu);
	if (!memcmp(&c, &cpu->shown, sizeof(c)))
		return;
	cpu->shown = c;
	row = context_row(m, &c);
	model_set(m, cpu->runs, row);
}
