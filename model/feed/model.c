/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "events/rows.h"
#include "model/feed/agenda.h"
#include "model/guest/traced_nested.h"
#include "model/kvm/hypercalls.h"
#include "model/state/contexts.h"
#include "model/sched/uncounted_gap.h"
#include "model/sched/cpu.h"
#include "model/guest/exits.h"
#include "model/guest/fuse.h"
#include "model/guest/guest_mode.h"
#include "model/feed/handlers.h"
#include "model/boot/initcalls.h"
#include "model/guest/inner_vcpu.h"
#include "model/state/irq_stack.h"
#include "model/sched/losses.h"
#include "model/identity/machine.h"
#include "model/kvm/marks.h"
#include "model/sched/unseen_switch.h"
#include "model/identity/namespace.h"
#include "model/io/request.h"
#include "model/state/state.h"
#include "model/tables/table_rows.h"
#include "model/tables/tables.h"
#include "model/io/packet_taker.h"
#include "model/sched/throttle.h"
#include "model/kvm/vcpu.h"
#include "model/wake/wake.h"

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
	free(m->kept_events);
	free(m->refused);
	free(m->losses);
	free(m->exits);
	free(m->milestones);
	map_release(&m->by_exit);
	free(m->moments);
	map_release(&m->by_foreseen);
	map_release(&m->by_number);
	map_release(&m->name_numbers);
	map_release(&m->hosted_numbers);
	map_release(&m->vms_numbered);
	map_release(&m->vms_of_process);
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
	map_release(&m->by_cgroup);
	map_release(&m->by_cgroup_path);
	map_release(&m->by_listed);
	map_release(&m->ended);
	wakes_release(m);
	problems_release(&m->problems);
	arena_release(&m->arena);
	free(m);
}

int model_open(struct model **out, const struct topology *topo, struct model_gaps *gaps,
	       struct history_writer *w, struct error *err)
{
	struct model *m = calloc(1, sizeof(*m));
	int ret = -ENOMEM;

	*out = NULL;
	if (!m)
		return fail(err, -ENOMEM, "out of memory");
	m->topo = topo;
	m->gaps = gaps;
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
	throttles_open(m);
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
	if (unlikely(event_has_use(e->kind, EVENT_OF_NO_CPU))) {
		handle_event(cpu, e);
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
	if (unlikely(cpu_handler_unknown(cpu)) && event_has_use(e->kind, EVENT_OF_THREAD)) {
		cpu_no_handlers(cpu);
		changed = true;
	}
	changed |= leave_guest(cpu, e);
	if (handle_event(cpu, e) || changed)
		fuse(cpu);
	unseen_switch_settle(cpu);
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

void model_meta(struct model *m, const char *key, const char *value)
{
	table_put_meta(m, key, value);
}

int model_close(struct model *m, ns_t end, struct model_listed *listed, struct error *err)
{
	int ret;

	if (m->begun)
		agenda_run(m, end);
	for (uint32_t i = 0; i < m->nr_cpus; i++)
		cpu_not_found_again(m->cpus[i], end);
	tables_close(m, end);
	if (listed)
		*listed = (struct model_listed){m->nr_problem_rows, m->nr_note_rows};
	ret = m->broken;
	release(m);
	return ret ? fail(err, ret, "out of memory while fusing the traces") : 0;
}
