/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "model/agenda.h"
#include "model/between.h"
#include "model/calls.h"
#include "model/cgroup.h"
#include "model/contexts.h"
#include "model/contradict.h"
#include "model/cpu.h"
#include "model/exits.h"
#include "model/fuse.h"
#include "model/initcalls.h"
#include "model/machine.h"
#include "model/marks.h"
#include "model/milestones.h"
#include "model/mute.h"
#include "model/namespace.h"
#include "model/preempt.h"
#include "model/space.h"
#include "model/state.h"
#include "model/state_lines.h"
#include "model/statedump.h"
#include "model/tables.h"
#include "model/tap.h"
#include "model/thread.h"
#include "model/throttle.h"
#include "model/vcpu.h"

int model_grow(struct model *m, void **list, uint32_t nr, uint32_t *room, size_t each_bytes)
{
	if (likely(nr < *room) || grow_array_u32(list, room, each_bytes))
		return 0;
	m->broken = m->broken ? m->broken : -ENOMEM;
	return -ENOMEM;
}

kinds_t model_want(void)
{
	return WANT(SCHED_SWITCH) | WANT(SCHED_WAKING) | WANT(SCHED_WAKEUP) |
	       WANT(SCHED_WAKEUP_NEW) | WANT(FORK) | WANT(NEW_TASK) | WANT(EXEC) | WANT(EXIT) |
	       WANT(FREE) | WANT(RENAME) | WANT(SYSCALL_ENTRY) | WANT(SYSCALL_EXIT) |
	       WANT(IRQ_ENTRY) | WANT(IRQ_EXIT) | WANT(SOFTIRQ_ENTRY) | WANT(SOFTIRQ_EXIT) |
	       WANT(VECTOR_ENTRY) | WANT(VECTOR_EXIT) | WANT(CPU_IDLE) | WANT(KVM_ENTRY) |
	       WANT(KVM_EXIT) | WANT(KVM_NESTED_VMENTER) | WANT(KVM_NESTED_VMEXIT) |
	       WANT(KVM_NESTED_VMEXIT_INJECT) | WANT(KVM_MMU_GET_PAGE) | WANT(STATEDUMP_PROCESS) |
	       WANT(STATEDUMP_PID_NS) | WANT(STATE_LINE) | WANT(INITCALL) |
	       WANT(SCHED_MIGRATE) | WANT(KVM_INJ_VIRQ) | WANT(KVM_APIC_ACCEPT_IRQ) |
	       WANT(KVM_MSI_SET_IRQ) | WANT(KVM_SET_IRQ) | WANT(KVM_APIC_IPI) |
	       WANT(KVM_VCPU_WAKEUP) | WANT(KVM_USERSPACE_EXIT) | WANT(BLOCK_COMPLETE) |
	       WANT(NET_XMIT) | WANT(KVM_HYPERCALL) | WANT(KVM_NESTED_HYPERCALL) | WANT(MARK) |
	       WANT(CPUHP_ENTER) | WANT(CPUHP_EXIT) | WANT(BLOCK_ISSUE) | WANT(KVM_MMIO) |
	       WANT(GUEST_CR3) | WANT(CPU_THROTTLE) | WANT(CPU_UNTHROTTLE) | WANT(CGROUP_MKDIR) |
	       WANT(CGROUP_ATTACH);
}

static void release(struct model *m)
{
	requests_release(m);
	taps_release(m);
	initcalls_release(m);
	machines_release(m);
	contexts_release(m);
	free(m->threads);
	free(m->namespaces);
	free(m->vtids);
	free(m->cgroups);
	free(m->identities);
	free(m->listed);
	free(m->stats);
	free(m->marks);
	free(m->refused);
	free(m->losses);
	free(m->exits);
	free(m->milestones);
	map_release(&m->by_exit);
	free(m->moments);
	map_release(&m->by_foreseen);
	map_release(&m->by_number);
	map_release(&m->by_tid);
	for (unsigned i = 0; i < NR_PEERS; i++)
		map_release(&m->peers[i]);
	map_release(&m->vm_by_pid);
	map_release(&m->by_vmcb);
	map_release(&m->by_pgd);
	map_release(&m->by_space);
	free(m->spaces);
	map_release(&m->wakeups);
	strings_release(&m->names);
	map_release(&m->by_inum);
	map_release(&m->throttled);
	map_release(&m->by_cgroup);
	map_release(&m->by_cgroup_path);
	map_release(&m->by_listed);
	map_release(&m->ended);
	wakes_release(m);
	problems_release(&m->problems);
	arena_release(&m->arena);
	free(m);
}

int model_open(struct model **out, const struct topology *topo, struct history_writer *w,
	       struct error *err)
{
	struct model *m = calloc(1, sizeof(*m));
	int ret = -ENOMEM;

	*out = NULL;
	if (!m)
		return fail(err, -ENOMEM, "out of memory");
	m->topo = topo;
	m->secret = hash_secret();
	m->due_at = NS_MAX;
	m->w = w;
	m->now = NS_MIN;
	ret = machines_open(m);
	if (!ret)
		ret = exits_open(m);
	if (!ret)
		ret = agenda_open(m);
	if (ret) {
		release(m);
		return fail(err, ret, "out of memory");
	}
	tables_open(m);
	*out = m;
	return 0;
}

/* The result starts with the first event of all; from there on every CPU of L0 has a row. */
static void begin(struct model *m, ns_t t)
{
	struct machine_state *l0 = m->machines[0];

	m->begun = true;
	m->begin = m->now = t;
	for (unsigned i = 0; i < l0->nr_cpus; i++)
		fuse(l0->cpus[i]);
}

/* Events about threads: the CPU that recorded them is only where they were noticed. */
static void feed_thread(struct cpu *cpu, const struct event *e)
{
	struct machine_state *mc = cpu->machine;

	switch (e->kind) {
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		thread_wake(cpu, e);
		break;
	case EV_FORK:
		thread_fork(mc, e);
		break;
	case EV_NEW_TASK:
		thread_new_task(mc, e);
		break;
	case EV_EXEC:
		thread_exec(mc, e);
		milestone_exec(mc, e);
		break;
	case EV_INITCALL:
		initcall_event(cpu, e);
		break;
	case EV_EXIT:
		thread_exit(mc, e);
		break;
	case EV_FREE:
		thread_free(mc, e);
		break;
	case EV_RENAME:
		thread_rename(mc, e);
		break;
	case EV_SCHED_MIGRATE:
		mute_moved(cpu->machine, e);
		preempt_moved(mc, e);
		break;
	case EV_CPU_THROTTLE:
	case EV_CPU_UNTHROTTLE:
		throttle_event(mc, e);
		break;
	case EV_CGROUP_MKDIR:
		cgroup_made(mc, e);
		break;
	case EV_CGROUP_ATTACH:
		cgroup_attached(mc, e);
		break;
	case EV_CPUHP_ENTER:
	case EV_CPUHP_EXIT:
		cpu_hotplug(cpu, e);
		break;
	case EV_STATEDUMP_PROCESS:
		statedump_process(mc, e);
		break;
	case EV_STATEDUMP_PID_NS:
		statedump_pid_ns(mc, e);
		break;
	case EV_STATE_LINE:
		state_line_feed(mc, e);
		mark_line(cpu, e);
		break;
	default:
		break;
	}
}

/* What tells on whose behalf a CPU's code acts, and what it does to vCPUs. */
static void feed_wakes(struct cpu *cpu, const struct event *e)
{
	switch (e->kind) {
	case EV_KVM_APIC_ACCEPT_IRQ:
		wake_delivery(cpu, e);
		break;
	case EV_KVM_INJ_VIRQ:
		wake_injection(cpu, e);
		break;
	case EV_KVM_VCPU_WAKEUP:
		vcpu_at_work(cpu);
		wake_polled(cpu, e);
		break;
	case EV_KVM_MSI_SET_IRQ:
	case EV_KVM_SET_IRQ:
		cpu->routes = true;
		break;
	case EV_KVM_APIC_IPI:
		cpu->sends = true;
		break;
	case EV_BLOCK_ISSUE:
		request_issue(cpu, e);
		break;
	case EV_KVM_MMIO:
		request_mmio(cpu, e);
		break;
	case EV_BLOCK_COMPLETE:
		request_complete(cpu, e);
		cpu->acts_for |= FOR_DISK;
		break;
	case EV_NET_XMIT:
		request_xmit(cpu);
		tap_xmit(cpu, e);
		cpu->acts_for |= FOR_NET;
		break;
	case EV_KVM_HYPERCALL:
	case EV_KVM_NESTED_HYPERCALL:
		call_event(cpu, e);
		break;
	case EV_MARK:
		mark_event(cpu, e);
		break;
	default:
		feed_thread(cpu, e);
		break;
	}
}

/* False when the CPU is as it was. */
static bool feed_cpu(struct cpu *cpu, const struct event *e)
{
	switch (e->kind) {
	case EV_SCHED_SWITCH:
		calls_follow(cpu, e);
		cpu_switch(cpu, e);
		break;
	case EV_KVM_ENTRY:
		calls_follow(cpu, e);
		vcpu_entry(cpu, e);
		break;
	case EV_KVM_EXIT:
		calls_follow(cpu, e);
		vcpu_exit(cpu, e);
		break;
	case EV_KVM_NESTED_VMENTER:
	case EV_KVM_NESTED_VMEXIT:
	case EV_KVM_NESTED_VMEXIT_INJECT:
	case EV_KVM_MMU_GET_PAGE:
		vcpu_nested(cpu, e);
		break;
	case EV_KVM_USERSPACE_EXIT:
		vcpu_userspace(cpu, e);
		break;
	case EV_SYSCALL_ENTRY:
		cpu_syscall_entry(cpu, e);
		break;
	case EV_SYSCALL_EXIT:
		cpu_syscall_exit(cpu);
		break;
	case EV_IRQ_ENTRY:
		vector_irq_entry(cpu, e);
		cpu_irq_enter(cpu, MODE_IRQ, e->arg[0]);
		break;
	case EV_VECTOR_ENTRY:
		vector_entry(cpu, e);
		cpu_irq_enter(cpu, MODE_IRQ, e->arg[0]);
		break;
	case EV_IRQ_EXIT:
	case EV_VECTOR_EXIT:
		cpu_irq_exit(cpu, MODE_IRQ, e->arg[0]);
		break;
	case EV_SOFTIRQ_ENTRY:
		cpu_irq_enter(cpu, MODE_SOFTIRQ, e->arg[0]);
		break;
	case EV_SOFTIRQ_EXIT:
		cpu_irq_exit(cpu, MODE_SOFTIRQ, e->arg[0]);
		break;
	case EV_CPU_IDLE:
		cpu_idle(cpu);
		break;
	default:
		feed_wakes(cpu, e);
		return false;
	}
	return true;
}

/*
 * A kernel that records an event has its CPU.  So a vCPU that its thread had entered is not in
 * guest mode any more: interrupts, above all, are handled before KVM's exit event.
 */
static bool leave_guest(struct cpu *cpu, const struct event *e)
{
	if (e->kind == EV_KVM_ENTRY || e->kind == EV_KVM_EXIT)
		return false;
	cpu->guest_of_unknown = false;
	if (!cpu->thread || !cpu->thread->vcpu || !cpu->thread->vcpu->vcpu.entered)
		return false;
	vcpu_leave(cpu->thread->vcpu);
	return true;
}

/* What no handler of an interrupt does. */
static bool is_of_thread(enum event_kind kind)
{
	static const kinds_t of_threads =
		WANT(SYSCALL_ENTRY) | WANT(SYSCALL_EXIT) | WANT(CPU_IDLE) | WANT(FORK) |
		WANT(NEW_TASK) | WANT(EXEC) | WANT(EXIT) | WANT(KVM_ENTRY) | WANT(KVM_EXIT) |
		WANT(KVM_NESTED_VMENTER) | WANT(KVM_NESTED_VMEXIT) |
		WANT(KVM_NESTED_VMEXIT_INJECT) | WANT(KVM_USERSPACE_EXIT) | WANT(KVM_MMIO) |
		WANT(KVM_HYPERCALL);

	return of_threads >> kind & 1;
}

/* @cpu's own kernel has it now, whatever its parents say. */
static void guest_executes(struct cpu *cpu)
{
	struct cpu *denied = vcpu_denied(cpu);

	if (likely(!denied)) {
		cpu->denied_at = NS_MIN;
		return;
	}
	cpu->machine->violations++;
	contradict(cpu, denied);
}

static void feed_one(struct cpu *cpu, const struct event *e)
{
	bool changed = false;

	if (unlikely(e->kind == EV_LOST)) {
		calls_follow(cpu, e);
		vcpu_heard(cpu);
		cpu_lost(cpu, e);
		return;
	}
	/* Not from the trace: it may stand a little before or after its exit, so it says nothing of
	 * the CPU. */
	if (unlikely(e->kind == EV_GUEST_CR3)) {
		space_feed(cpu->machine, e);
		return;
	}
	if (cpu->machine->parent)
		guest_executes(cpu);
	if (unlikely(cpu->heard_at == NS_MIN))
		vcpu_heard(cpu);
	if (unlikely(is_between(cpu->machine)))
		between_event(cpu);
	cpu->heard_at = cpu->machine->model->now;
	if (e->tid >= 0 && unlikely(!cpu->thread || cpu->thread->tid != e->tid)) {
		cpu_adopt(cpu, e->tid);
		changed = true;
	}
	if (cpu->thread && unlikely(cpu->thread->asked < NAMESPACE_ASKED_MAX))
		namespace_ask(cpu->thread, e);
	if (unlikely(cpu_handler_unknown(cpu)) && is_of_thread((enum event_kind)e->kind)) {
		cpu_no_handlers(cpu);
		changed = true;
	}
	changed |= leave_guest(cpu, e);
	if (feed_cpu(cpu, e) || changed)
		fuse(cpu);
	mute_settle(cpu);
	/* Another stream of this CPU goes on where one lost events. */
	if (unlikely(cpu->lost) && cpu->thread)
		cpu_forget(cpu);
}

/* Events come in order of time: the first is the first of all. */
static void note_traced(struct machine_state *mc, const ns_t *times, unsigned nr)
{
	if (!nr)
		return;
	if (!mc->traced_any) {
		mc->traced_from = times[0];
		requests_unseen(mc, times[0]);
	}
	mc->traced_any = true;
	mc->traced_to = times[nr - 1];
}

/* What processes record says nothing of what their CPU does, and what of it was lost, neither. */
static void feed_user(struct cpu *cpu, const struct event *e)
{
	if (e->kind == EV_MARK)
		mark_user(cpu, e);
}

void model_feed(struct model *m, const struct merge_input *input, const struct event *events,
		const ns_t *times, unsigned nr)
{
	struct machine_state *mc = m->machines[input->machine];
	struct cpu *cpu = machine_cpu(mc, input->stream->cpu);
	bool user = input->stream->trace->user_space;

	if (unlikely(!cpu))
		return; /* memory is out: model_close() says so */
	if (unlikely(!m->begun) && nr)
		begin(m, times[0]);
	m->stream = input->stream;
	m->clock = input->clock;
	assert(!nr || (times[0] >= m->now && times[nr - 1] >= times[0]));
	if (!user || mc->trace->user_space)
		note_traced(mc, times, nr);
	for (unsigned i = 0; i < nr; i++) {
		if (unlikely(times[i] >= m->next_moment_t))
			agenda_run(m, times[i]);
		m->now = times[i];
		if (unlikely(user))
			feed_user(cpu, &events[i]);
		else
			feed_one(cpu, &events[i]);
	}
}

bool model_missed_blocks(const struct model *m)
{
	return m->blocks_missed;
}

int model_close(struct model *m, ns_t end, struct error *err)
{
	int ret;

	if (m->begun)
		agenda_run(m, end);
	for (uint32_t i = 0; i < m->nr_cpus; i++)
		cpu_not_found_again(m->cpus[i], end);
	tables_close(m, end);
	ret = m->broken;
	release(m);
	return ret ? fail(err, ret, "out of memory while fusing the traces") : 0;
}
