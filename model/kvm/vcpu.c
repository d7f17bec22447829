/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kvm/vcpu.h"

#include "arch/arm64/cpu.h"
#include "arch/exits.h"
#include "model/guest/traced_nested.h"
#include "model/guest/exits.h"
#include "model/guest/guest_mode.h"
#include "model/kvm/injection.h"
#include "model/guest/inner_vcpu.h"
#include "model/state/irq_stack.h"
#include "model/identity/machine.h"
#include "model/boot/milestones.h"
#include "model/wake/nested_waits.h"
#include "model/io/request.h"
#include "model/kvm/address_space.h"
#include "model/kvm/vcpu_thread.h"
#include "model/wake/wake.h"

/* Reasons of kvm_userspace_exit, as in linux/kvm.h. */
#define KVM_EXIT_HLT 5
#define KVM_EXIT_INTR 10

void vcpu_heard(struct cpu *vcpu)
{
	if (vcpu->state == ATTR_NONE || vcpu->vcpu_state != VCPU_NONE)
		return;
	vcpu->vcpu_state = VCPU_UNKNOWN;
	model_set(vcpu->machine->model, vcpu->state, VCPU_UNKNOWN);
}

/* The vCPU that the CPU's thread runs.  A thread without any VM entry or exit before is bound to a
 * vCPU here. */
static struct cpu *vcpu_of(struct cpu *host_cpu, int64_t vcpu_id, bool may_wait)
{
	struct thread *th = host_cpu->thread;

	if (likely(th && th->vcpu)) {
		if (unlikely(th->vcpu->number < 0))
			machine_number_vcpu(th->vcpu, vcpu_id);
		return th->vcpu;
	}
	return th && th->tid ? vcpu_of_thread(th, vcpu_id, may_wait) : NULL;
}

void vcpu_at_work(struct cpu *host_cpu)
{
	vcpu_of(host_cpu, -1, true);
}

/* ---- nested VMs ------------------------------------------------------------------------------ */

/* A nested vCPU of a VM without a trace, seen for the first time. */
static struct cpu *nested_vcpu_new(const struct cpu *outer, uint64_t address, uint64_t pgd)
{
	struct machine_state *vm = outer->machine;
	struct model *m = vm->model;
	uint32_t *of_pgd = pgd ? map_get(&m->by_pgd, nested_key(vm, pgd)) : NULL;
	struct machine_state *inner;
	struct cpu *cpu;

	inner = of_pgd ? m->machines[*of_pgd] : machine_add(m, vm);
	cpu = inner ? machine_cpu_add(inner, -1) : NULL;
	if (!cpu)
		return NULL;
	cpu->nested_id = address;
	machine_show_nested(cpu, outer);
	model_put(m, &m->by_vmcb, nested_key(vm, address), cpu->index);
	return cpu;
}

/* Whose nested entry is that?  Learns the page table, too: it may change over a VM's life. */
static struct cpu *nested_by_address(struct cpu *vcpu, uint64_t address, uint64_t pgd)
{
	struct machine_state *vm = vcpu->machine;
	struct model *m = vm->model;
	struct cpu *cpu = vcpu_of_address(vm, address);

	if (vm->trace)
		return cpu;
	if (!cpu)
		cpu = nested_vcpu_new(vcpu, address, pgd);
	if (cpu)
		cpu->nested_pgd = pgd;
	if (cpu && pgd)
		model_put(m, &m->by_pgd, nested_key(vm, pgd), cpu->machine->index);
	return cpu;
}

/* Stands for all nested vCPUs of a vCPU that nothing tells apart. */
static struct cpu *any_inner(struct cpu *outer)
{
	struct machine_state *vm = outer->machine;

	if (outer->any_inner)
		return outer->any_inner;
	if (!vm->any_nested)
		vm->any_nested = machine_add(vm->model, vm);
	outer->any_inner = vm->any_nested ? machine_cpu_add(vm->any_nested, -1) : NULL;
	if (outer->any_inner)
		outer->any_inner->any_of = outer;
	return outer->any_inner;
}

static void on_vmenter(struct cpu *vcpu, const struct event *e)
{
	struct machine_state *vm = vcpu->machine;
	struct cpu *told = inner_told(vcpu);
	uint64_t address = (uint64_t)e->arg[1];

	vcpu->vcpu.nested = NESTED_YES;
	vcpu->vcpu.vmenter = true;
	if (!address)
		return;
	if (told) {
		told->nested_id = address;
		model_put(vm->model, &vm->model->by_vmcb, nested_key(vm, address), told->index);
	}
	vcpu->vcpu.nested_cpu = nested_by_address(vcpu, address, (uint64_t)e->arg[3]);
	if (vcpu->vcpu.nested_cpu)
		vcpu->vcpu.nested_cpu->vcpu.nested_in = vcpu;
	if (!vm->trace)
		nested_asked(vcpu, e);
}

/* The guest's attempt to start a guest of its own has come to its end.  Where nested entries are
 * events of their own, the lack of one means that it failed. */
static void settle_start(struct cpu *vcpu, const struct machine_state *host)
{
	struct vcpu *v = &vcpu->vcpu;

	if (v->starting && !v->vmenter && !host->sees_vmenter) {
		v->nested = NESTED_YES;
		if (!vcpu->machine->trace && !v->nested_cpu)
			v->nested_cpu = any_inner(vcpu);
	}
	v->starting = false;
	v->vmenter = false;
}

/* kvm_mmu_get_page, where exits carry no reason: a VM that is in the middle of its own VM entry
 * gets a page table for its guest. */
static void on_mmu_page(struct cpu *vcpu)
{
	if (vcpu->vcpu.reason < 0 && vcpu->vcpu.nested != NESTED_YES && inner_told(vcpu))
		vcpu->vcpu.starting = true;
}

/* The exit is given to the VM: its hypervisor has yet to see that its guest has left, and why. */
static void on_inject(struct cpu *vcpu, int64_t reason, int64_t isa)
{
	struct cpu *inner = vcpu_inner(vcpu);

	if (unlikely(vcpu->vcpu.nest))
		nested_reflected(vcpu, reason, isa);
	vcpu->vcpu.nested = NESTED_NO;
	vcpu->vcpu.starting = false;
	between_ends(vcpu);
	if (inner && inner->vcpu.entered) {
		inner->vcpu.reason = reason;
		inner->vcpu.reason_told = true;
	}
}

/* Which guest it is, nothing says. */
static void on_eret(struct cpu *vcpu, const struct event *e)
{
	bool enters = arm64_eret_to_guest((uint64_t)e->arg[0], (uint64_t)e->arg[1]);

	vcpu->vcpu.nested = enters ? NESTED_YES : NESTED_NO;
	vcpu->vcpu.vmenter = enters;
	if (enters && !vcpu->machine->trace && !vcpu->vcpu.nested_cpu)
		vcpu->vcpu.nested_cpu = any_inner(vcpu);
}

void vcpu_nested(struct cpu *host_cpu, const struct event *e)
{
	struct cpu *vcpu = host_cpu->thread ? host_cpu->thread->vcpu : NULL;
	struct vcpu *v;

	if (!vcpu)
		return;
	v = &vcpu->vcpu;
	switch (e->kind) {
	case EV_KVM_NESTED_VMENTER:
		host_cpu->machine->sees_vmenter = true;
		on_vmenter(vcpu, e);
		break;
	case EV_KVM_NESTED_VMEXIT:
		/* That exit came from the nested guest, whatever we thought. */
		if (v->nested != NESTED_YES) {
			v->nested = NESTED_YES;
			v->starting = false;
			between_begins(vcpu);
			v->served = vcpu_innermost(vcpu);
			exit_was_nested(vcpu);
		}
		break;
	case EV_KVM_NESTED_VMEXIT_INJECT:
		on_inject(vcpu, e->arg[0], e->arg[1]);
		break;
	case EV_KVM_NESTED_ERET:
		host_cpu->machine->sees_vmenter = true;
		on_eret(vcpu, e);
		break;
	case EV_KVM_NESTED_EXCEPTION:
		on_inject(vcpu, arm64_exception_class((uint64_t)e->arg[0]), ISA_ARM64);
		break;
	default:
		on_mmu_page(vcpu);
		break;
	}
}

/* ---- entry and exit -------------------------------------------------------------------------- */

void vcpu_entry(struct cpu *host_cpu, const struct event *e)
{
	/* Some lttng-modules record the address of the vCPU there, not its number. */
	bool sound = !host_cpu->machine->trace->vcpu_id_unsound;
	struct cpu *vcpu = vcpu_of(host_cpu, sound ? e->arg[0] : -1, true);

	host_cpu->machine->sees_kvm = true;
	if (!vcpu) {
		host_cpu->guest_of_unknown = true;
		return;
	}
	settle_start(vcpu, host_cpu->machine);
	injection_at_entry(vcpu, e);
	wake_entry(vcpu);
	if (unlikely(vcpu->vcpu.nest) && vcpu->vcpu.nested == NESTED_YES)
		nested_entry(vcpu, e);
	if (vcpu->vcpu.nested == NESTED_YES)
		between_begins(vcpu);
	vcpu->vcpu.entered = true;
	vcpu->vcpu.entered_ns = host_cpu->machine->model->now;
	if (unlikely(host_cpu->machine->model->nr_between))
		between_entered(vcpu);
	/* The exit is handled: who is woken from here on was not told of anything by it. */
	vcpu->vcpu.kick.at = NS_MIN;
	vcpu->vcpu.vmm = -1;
	vcpu->vcpu.reason_told = false;
	vcpu->vcpu.seen = true;
	exit_end(vcpu);
	milestone_entry(vcpu);
}

void vcpu_exit(struct cpu *host_cpu, const struct event *e)
{
	struct cpu *vcpu = vcpu_of(host_cpu, e->arg[1], false);
	struct vcpu *v;

	host_cpu->guest_of_unknown = false;
	host_cpu->machine->sees_kvm = true;
	cpu_left_code(host_cpu);
	if (!vcpu)
		return;
	v = &vcpu->vcpu;
	if (v->entered)
		vcpu_leave(vcpu);
	else if (!v->served)
		v->served = vcpu_innermost(vcpu);
	space_exit(vcpu);
	v->seen = true;
	v->reason = e->arg[0];
	if (v->nested == NESTED_UNKNOWN && exit_of_hypervisor(e->arg[0], e->arg[3]))
		v->nested = NESTED_NO;
	v->starting = v->nested == NESTED_NO && exit_starts_guest(e->arg[0], e->arg[3]);
	v->vmenter = false;
	v->vmm = -1;
	exit_begin(vcpu, e->arg[3]);
	request_exit(vcpu, e->arg[0], e->arg[3]);
	milestone_exit(vcpu, (uint64_t)e->arg[2]);
	if (unlikely(v->nest) && v->nested == NESTED_YES)
		nested_exit(vcpu, e);
	/* Its guest's halt is its own affair. */
	if (v->nested != NESTED_YES && exit_halts(e->arg[0], e->arg[3]))
		wake_halt(vcpu);
}

/* From here on the VMM handles the exit; a negative error is the signal that called for it. */
void vcpu_userspace(struct cpu *host_cpu, const struct event *e)
{
	struct cpu *vcpu = vcpu_of(host_cpu, -1, true);

	if (!vcpu)
		return;
	vcpu->vcpu.vmm = e->arg[1] < 0 ? KVM_EXIT_INTR : (int32_t)(e->arg[0] & 0xffff);
	request_userspace(vcpu, vcpu->vcpu.vmm);
	/* Where the VMM emulates the APIC, a halt is waited out in user space: the rest goes on. */
	if (vcpu->vcpu.vmm != KVM_EXIT_HLT)
		wake_userspace(vcpu);
	exit_to_user(host_cpu, e);
}
