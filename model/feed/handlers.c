/* SPDX-License-Identifier: Apache-2.0 */
#include "model/feed/handlers.h"

#include "model/feed/kept_events.h"
#include "model/kvm/hypercalls.h"
#include "model/identity/cgroup.h"
#include "model/sched/cpu.h"
#include "model/boot/initcalls.h"
#include "model/kvm/marks.h"
#include "model/boot/milestones.h"
#include "model/model.h"
#include "model/kvm/injection.h"
#include "model/state/irq_stack.h"
#include "model/state/syscalls.h"
#include "model/sched/unseen_switch.h"
#include "model/sched/preempt.h"
#include "model/io/request.h"
#include "model/kvm/address_space.h"
#include "model/dump/state_lines.h"
#include "model/dump/statedump.h"
#include "model/io/packet_taker.h"
#include "model/sched/thread_life.h"
#include "model/sched/throttle.h"
#include "model/kvm/vcpu.h"
#include "model/wake/vector.h"
#include "model/wake/wake.h"
#include "model/sched/wakeups.h"

/* ---- what a CPU executes --------------------------------------------------------------------- */

static bool on_sched_switch(struct cpu *cpu, const struct event *e)
{
	calls_follow(cpu, e);
	cpu_switch(cpu, e);
	return true;
}

static bool on_kvm_entry(struct cpu *cpu, const struct event *e)
{
	calls_follow(cpu, e);
	vcpu_entry(cpu, e);
	return true;
}

static bool on_kvm_exit(struct cpu *cpu, const struct event *e)
{
	calls_follow(cpu, e);
	vcpu_exit(cpu, e);
	return true;
}

static bool on_nested(struct cpu *cpu, const struct event *e)
{
	vcpu_nested(cpu, e);
	return true;
}

static bool on_kvm_userspace_exit(struct cpu *cpu, const struct event *e)
{
	vcpu_userspace(cpu, e);
	return true;
}

static bool on_syscall_entry(struct cpu *cpu, const struct event *e)
{
	cpu_syscall_entry(cpu, e);
	return true;
}

static bool on_syscall_exit(struct cpu *cpu, const struct event *e)
{
	(void)e;
	cpu_syscall_exit(cpu);
	return true;
}

static bool on_irq_entry(struct cpu *cpu, const struct event *e)
{
	struct line line = vector_irq_entry(cpu, e);

	request_handler(cpu, line.vector, line.of_disk);
	if (line.receives)
		request_received(cpu);
	cpu_irq_enter(cpu, MODE_IRQ, e->arg[0]);
	return true;
}

static bool on_vector_entry(struct cpu *cpu, const struct event *e)
{
	vector_entry(cpu, e);
	cpu_irq_enter(cpu, MODE_IRQ, e->arg[0]);
	return true;
}

static bool on_irq_exit(struct cpu *cpu, const struct event *e)
{
	cpu_irq_exit(cpu, MODE_IRQ, e->arg[0]);
	return true;
}

static bool on_softirq_entry(struct cpu *cpu, const struct event *e)
{
	cpu_irq_enter(cpu, MODE_SOFTIRQ, e->arg[0]);
	return true;
}

static bool on_softirq_exit(struct cpu *cpu, const struct event *e)
{
	cpu_irq_exit(cpu, MODE_SOFTIRQ, e->arg[0]);
	return true;
}

static bool on_cpu_idle(struct cpu *cpu, const struct event *e)
{
	(void)e;
	cpu_idle(cpu);
	return true;
}

/* ---- on whose behalf a CPU's code acts, and what it does to vCPUs ------------------------------
 */

static bool on_kvm_apic_accept_irq(struct cpu *cpu, const struct event *e)
{
	wake_delivery(cpu, e);
	return false;
}

static bool on_kvm_inj_virq(struct cpu *cpu, const struct event *e)
{
	injection_event(cpu, e);
	return false;
}

static bool on_kvm_vcpu_wakeup(struct cpu *cpu, const struct event *e)
{
	vcpu_at_work(cpu);
	wake_polled(cpu, e);
	return false;
}

static bool on_route(struct cpu *cpu, const struct event *e)
{
	(void)e;
	cpu->routes = true;
	return false;
}

static bool on_kvm_apic_ipi(struct cpu *cpu, const struct event *e)
{
	(void)e;
	cpu->sends = true;
	return false;
}

static bool on_block_issue(struct cpu *cpu, const struct event *e)
{
	request_issue(cpu, e);
	return false;
}

static bool on_kvm_mmio(struct cpu *cpu, const struct event *e)
{
	request_mmio(cpu, e);
	return false;
}

static bool on_kvm_pio(struct cpu *cpu, const struct event *e)
{
	request_pio(cpu, e);
	return false;
}

static bool on_block_complete(struct cpu *cpu, const struct event *e)
{
	request_complete(cpu, e);
	cpu->acts_for |= FOR_DISK;
	return false;
}

static bool on_net_xmit(struct cpu *cpu, const struct event *e)
{
	request_xmit(cpu);
	tap_xmit(cpu, e);
	cpu->acts_for |= FOR_NET;
	return false;
}

static bool on_hypercall(struct cpu *cpu, const struct event *e)
{
	call_event(cpu, e);
	return false;
}

static bool on_mark(struct cpu *cpu, const struct event *e)
{
	mark_event(cpu, e);
	return false;
}

/* ---- threads, cgroups, machines -------------------------------------------------------------- */

static bool on_wakeup(struct cpu *cpu, const struct event *e)
{
	wakeup_event(cpu, e);
	return false;
}

static bool on_fork(struct cpu *cpu, const struct event *e)
{
	thread_fork(cpu->machine, e);
	return false;
}

static bool on_new_task(struct cpu *cpu, const struct event *e)
{
	thread_new_task(cpu->machine, e);
	return false;
}

static bool on_exec(struct cpu *cpu, const struct event *e)
{
	thread_exec(cpu->machine, e);
	milestone_exec(cpu->machine, e);
	return false;
}

static bool on_exit(struct cpu *cpu, const struct event *e)
{
	thread_exit(cpu->machine, e);
	return false;
}

static bool on_free(struct cpu *cpu, const struct event *e)
{
	thread_free(cpu->machine, e);
	return false;
}

static bool on_rename(struct cpu *cpu, const struct event *e)
{
	thread_rename(cpu->machine, e);
	return false;
}

static bool on_sched_migrate(struct cpu *cpu, const struct event *e)
{
	unseen_switch_moved(cpu->machine, e);
	preempt_moved(cpu->machine, e);
	return false;
}

static bool on_throttle(struct cpu *cpu, const struct event *e)
{
	throttle_event(cpu->machine, e);
	return false;
}

static bool on_cgroup_mkdir(struct cpu *cpu, const struct event *e)
{
	cgroup_made(cpu->machine, e);
	return false;
}

static bool on_cgroup_attach(struct cpu *cpu, const struct event *e)
{
	cgroup_attached(cpu->machine, e);
	return false;
}

static bool on_hotplug(struct cpu *cpu, const struct event *e)
{
	cpu_hotplug(cpu, e);
	return false;
}

static bool on_statedump_process(struct cpu *cpu, const struct event *e)
{
	statedump_process(cpu->machine, e);
	return false;
}

static bool on_statedump_pid_ns(struct cpu *cpu, const struct event *e)
{
	statedump_pid_ns(cpu->machine, e);
	return false;
}

static bool on_state_line(struct cpu *cpu, const struct event *e)
{
	state_line_feed(cpu->machine, e);
	mark_line(cpu, e);
	return false;
}

static bool on_initcall(struct cpu *cpu, const struct event *e)
{
	initcall_event(cpu, e);
	return false;
}

static bool on_guest_cr3(struct cpu *cpu, const struct event *e)
{
	space_feed(cpu->machine, e);
	return false;
}

/* ---- which is whose -------------------------------------------------------------------------- */

#define nothing NULL

static bool (*const handlers[EV_NR_KINDS])(struct cpu *cpu, const struct event *e) = {
#define EVENT(kind, name, handler, ...) [EV_##kind] = handler,
#include "events/kinds.def"
#undef EVENT
};

bool handle_event(struct cpu *cpu, const struct event *e)
{
	return handlers[e->kind] && handlers[e->kind](cpu, e);
}

kinds_t model_want(void)
{
	kinds_t want = 0;

	for (unsigned kind = 0; kind < EV_NR_KINDS; kind++) {
		if (handlers[kind])
			want |= KIND_BIT(kind);
	}
	return want;
}
