/* SPDX-License-Identifier: Apache-2.0 */
#include "model/guest/fuse.h"

#include "model/state/contexts.h"
#include "model/guest/inner_vcpu.h"
#include "model/state/irq_stack.h"

static struct cpu *physical(struct cpu *cpu)
{
	while (cpu->machine->parent) {
		struct thread *host = cpu->vcpu.host;

		/* While its machine does not know, the machine below may: by the address. */
		cpu = host && host->on ? host->on : cpu->vcpu.nested_in;
		if (!cpu)
			return NULL;
	}
	return cpu;
}

static struct context layer(const struct cpu *cpu, uint32_t mode, int64_t detail)
{
	uint64_t thread = cpu->thread ? (uint64_t)cpu->thread->row + 1 : 0;

	return (struct context){thread << 32 | (cpu->index + 1), mode, detail};
}

/* A guest that nothing more is known about: the CPU may run any of its threads. */
static struct context in_guest(const struct cpu *cpu)
{
	return (struct context){cpu->index + 1, MODE_GUEST, 0};
}

static struct context in_hypervisor(const struct cpu *cpu)
{
	const struct cpu *vcpu = cpu->thread->vcpu;
	const struct cpu *serves = vcpu->vcpu.entered ? vcpu : vcpu->vcpu.served;
	struct context c = layer(cpu, MODE_HYPERVISOR, vcpu->vcpu.reason);

	if (serves)
		c.what |= ((uint64_t)serves->index + 1) << 32;
	c.what |= (uint64_t)(vcpu->vcpu.vmm + 1) << 8;
	return c;
}

static struct context in_thread(const struct cpu *cpu)
{
	const struct thread *th = cpu->thread;

	if (!th->tid)
		return layer(cpu, MODE_IDLE, 0);
	if (th->where == WHERE_SYSCALL)
		return layer(cpu, MODE_SYSCALL, th->syscall);
	if (th->kind == KIND_KERNEL)
		return layer(cpu, MODE_KERNEL, 0);
	return layer(cpu, th->where == WHERE_USER ? MODE_USER : MODE_TASK, 0);
}

/* Something in an address space of a guest that nothing more is known about: its process, or a
 * handler upon it, or the idle task, which borrows the page table. */
static struct context in_space(const struct cpu *cpu)
{
	uint64_t thread = (uint64_t)cpu->space->thread->row + 1;

	return (struct context){thread << 32 | (cpu->index + 1), MODE_GUEST, 0};
}

/* No thread is known.  In a VM that says at least that it runs. */
static struct context in_unknown(const struct cpu *cpu)
{
	if (!cpu->machine->parent)
		return layer(cpu, MODE_UNKNOWN, 0);
	return cpu->space ? in_space(cpu) : in_guest(cpu);
}

/* Perhaps its thread executes, perhaps a handler upon it. */
static struct context in_doubt(const struct cpu *cpu)
{
	return cpu->machine->parent ? in_guest(cpu)
				    : (struct context){cpu->index + 1, MODE_UNKNOWN, 0};
}

/* The layer itself runs, not a guest of it. */
static struct context in_layer(const struct cpu *cpu)
{
	unsigned depth = cpu->nr_irqs;

	if (unlikely(cpu_handler_unknown(cpu)))
		return in_doubt(cpu);
	if (depth)
		return layer(cpu, cpu->irqs[depth - 1].mode, cpu->irqs[depth - 1].detail);
	if (cpu->guest_of_unknown)
		return in_guest(cpu);
	if (!cpu->thread)
		return in_unknown(cpu);
	if (cpu->thread->vcpu && cpu->machine->sees_kvm)
		return cpu->thread->vcpu->vcpu.seen ? in_hypervisor(cpu) : layer(cpu, MODE_TASK, 0);
	return in_thread(cpu);
}

struct context cpu_own_context(const struct cpu *cpu)
{
	return in_layer(cpu);
}

static bool has_entered(const struct cpu *cpu)
{
	return !cpu->nr_irqs && cpu->thread && cpu->thread->vcpu && cpu->thread->vcpu->vcpu.entered;
}

/*
 * The CPU whose kernel, or whose guest that nothing is known of (*@guest), is what runs.  @vcpu is
 * in guest mode: that is its own kernel, or a guest of it.
 */
static const struct cpu *innermost(const struct cpu *vcpu, bool *guest)
{
	while (vcpu->vcpu.nested == NESTED_YES) {
		const struct cpu *inner = vcpu_inner(vcpu);

		*guest = !inner;
		if (!inner)
			return vcpu;
		vcpu = inner;
	}
	/* It may be this kernel that runs, or its guest. */
	*guest = !vcpu_tells(vcpu) || (vcpu->vcpu.nested == NESTED_UNKNOWN && has_entered(vcpu));
	return vcpu;
}

/* The context stays in registers until it is known to be another one than before: for every event
 * it is put together anew. */
void fuse(struct cpu *cpu)
{
	const struct cpu *runs;
	bool guest = false;
	struct context c;

	cpu = physical(cpu);
	if (!cpu)
		return;
	runs = has_entered(cpu) ? innermost(cpu->thread->vcpu, &guest) : cpu;
	c = guest ? in_guest(runs) : in_layer(runs);
	if (context_same(c, cpu->shown))
		return;
	cpu->shown = c;
	model_set(cpu->machine->model, cpu->runs, context_row(cpu->machine->model, &cpu->shown));
}
