/* SPDX-License-Identifier: Apache-2.0 */
#include "model/feed/agenda.h"

#include <assert.h>
#include <stdlib.h>

#include "base/figure.h"
#include "model/guest/traced_nested.h"
#include "model/sched/cpu.h"
#include "model/sched/losses.h"
#include "model/identity/machine.h"
#include "model/io/request.h"
#include "model/sched/thread.h"
#include "model/state/vcpu_state.h"
#include "source/cover.h"
#include "source/ticks.h"

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->t < y->t ? -1 : x->t > y->t;
}

static int add(struct model *m, struct moment moment, uint32_t *room)
{
	int ret = model_grow(m, (void **)&m->moments, m->nr_moments, room, sizeof(*m->moments));

	if (!ret)
		m->moments[m->nr_moments++] = moment;
	return ret;
}

static uint32_t as_value(ns_t bound_ns)
{
	return bound_ns < 0 || bound_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)bound_ns;
}

static int add_bounds(struct model *m, struct machine_state *mc, const struct clock_model *clock,
		      uint32_t *room)
{
	for (unsigned i = 0; i < clock->nr_pieces; i++) {
		struct moment moment = {.t = i ? clock->pieces[i].at_ns : NS_MIN,
					.machine = mc,
					.kind = MOMENT_BOUND,
					.value = as_value(clock->pieces[i].bound_ns)};
		int ret = add(m, moment, room);

		if (ret)
			return ret;
	}
	return 0;
}

/* It begins to be known at @first, whatever the machine's other CPUs have before. */
static int add_begin(struct model *m, struct machine_state *mc, unsigned number,
		     const struct cpu_cover *cpu, const struct cpu_cover *all, uint32_t *room)
{
	struct moment moment = {.t = clock_to_l0(mc->clock, (ticks_t){cpu->first}),
				.machine = mc,
				.kind = MOMENT_CPU_BEGIN,
				.value = number};
	ns_t before = ns_since(moment.t, clock_to_l0(mc->clock, (ticks_t){all->first}));
	uint64_t apart = ticks_in(mc->trace, COVER_ENDS_TOGETHER_NS);
	int ret = 0;

	if (cpu->any && cpu->first != all->first) {
		mc->nr_uncovered++;
		ret = add(m, moment, room);
	}
	if (cpu->late && count_less(cpu->first, all->first) > apart)
		loss_add(mc, (int)number, moment.t - before, moment.t, -1);
	moment.kind = MOMENT_RUNS;
	moment.tid = cpu->running;
	/* What a guest's CPU ran does not matter where its host does not show it. */
	return ret || !cpu->any || cpu->running < 0 || mc->parent ? ret : add(m, moment, room);
}

static void tell_early_end(struct model *m, struct machine_state *mc, unsigned number, ns_t end,
			   ns_t last)
{
	problems_add(
		&m->problems,
		"%s: the stream of CPU %u ends early: what ran there from then on is not known",
		mc->name, number);
	loss_add(mc, (int)number, end, last, -1);
}

static int add_cpu(struct model *m, struct machine_state *mc, unsigned number,
		   const struct cpu_cover *cpu, const struct cpu_cover *all, uint32_t *room)
{
	ns_t first = clock_to_l0(mc->clock, (ticks_t){all->first});
	ns_t last = clock_to_l0(mc->clock, (ticks_t){all->last});
	uint64_t apart = ticks_in(mc->trace, COVER_ENDS_TOGETHER_NS);
	struct moment moment = {.machine = mc, .kind = MOMENT_CPU_END, .value = number};

	if (!cpu->there) {
		mc->nr_uncovered++;
		loss_add(mc, (int)number, first, last, -1);
		return 0;
	}
	/* What happens right when a packet ends may be the next one's first event. */
	moment.t = ns_plus(clock_to_l0(mc->clock, (ticks_t){cpu->last}),
			   cpu->last > cpu->last_event ? 0 : 1);
	if (cpu->any && cpu->ends && last > moment.t) {
		int ret = add(m, moment, room);

		if (ret)
			return ret;
		/* Of a cut one its trace tells, and it has the loss. */
		if (!cpu->cut && count_less(all->last, cpu->last) > apart)
			tell_early_end(m, mc, number, moment.t, last);
	}
	return add_begin(m, mc, number, cpu, all, room);
}

static int add_covers(struct model *m, struct machine_state *mc, const struct cover *c,
		      uint32_t *room)
{
	int ret;

	if (!c->all.any)
		return 0;
	ret = add(m,
		  (struct moment){.t = ns_plus(clock_to_l0(mc->clock, (ticks_t){c->all.last}), 1),
				  .machine = mc,
				  .kind = MOMENT_END},
		  room);
	for (unsigned i = 0; i < c->nr && !ret && !c->unnumbered; i++)
		ret = add_cpu(m, mc, i, &c->cpus[i], &c->all, room);
	return ret;
}

static int add_coverage(struct model *m, struct machine_state *mc, uint32_t *room)
{
	struct cover cover;
	int ret = cover_find(&cover, mc->trace);

	if (!ret)
		ret = add_covers(m, mc, &cover, room);
	cover_release(&cover);
	return ret;
}

static int index_foreseen(struct model *m)
{
	int ret = 0;

	m->nr_foreseen = m->nr_losses;
	for (uint32_t i = 0; i < m->nr_foreseen && !ret; i++) {
		uint64_t key = pair_key(m->losses[i].machine, (uint32_t)m->losses[i].cpu);

		if (!map_get(&m->by_foreseen, key))
			ret = map_put(&m->by_foreseen, key, i);
	}
	return ret;
}

static int add_gaps(struct model *m, uint32_t *room)
{
	int ret = 0;

	for (uint32_t i = 0; m->gaps && i < m->gaps->nr && !ret; i++) {
		const struct model_gap *gap = &m->gaps->list[i];

		ret = add(
			m,
			(struct moment){.t = ns_plus(gap->begin, 1), /* what begins it takes 1 ns */
					.machine = m->machines[gap->machine],
					.kind = MOMENT_GAP,
					.value = i},
			room);
	}
	return ret;
}

int agenda_open(struct model *m)
{
	uint32_t room = 0;
	int ret = add_gaps(m, &room);

	if (ret)
		return ret;

	for (unsigned i = 0; i < m->topo->nr_machines; i++) {
		const struct machine *from = &m->topo->machines[i];
		struct machine_state *mc = m->machines[i];

		if (!from->trace)
			continue;
		mc->clock_bound = history_writer_attr(m->w, mc->dir, "clock_bound", ATTR_NUMBER, 0);
		ret = add_bounds(m, mc, &from->clock, &room);
		if (!ret)
			ret = add_coverage(m, mc, &room);
		if (ret)
			return ret;
	}
	qsort(m->moments, m->nr_moments, sizeof(*m->moments), by_time);
	m->next_moment_t = m->nr_moments ? m->moments[0].t : NS_MAX;
	return index_foreseen(m);
}

/* From here on nothing is known about the machine from its own trace. */
static void trace_ends(struct machine_state *mc)
{
	mc->ended = true;
	request_lost(mc);
	for (unsigned i = 0; i < mc->nr_cpus; i++) {
		if (!mc->cpus[i])
			continue;
		cpu_not_found_again(mc->cpus[i], mc->model->now);
		cpu_forget(mc->cpus[i]);
	}
	for (struct thread *th = mc->threads; th; th = th->next_of_machine) {
		if (th->state != THREAD_DEAD)
			thread_set_state(th, THREAD_UNKNOWN);
	}
}

/* Whether the trace lacks one of the machine's CPUs tells how far its threads are known. */
static void cover_changes(struct machine_state *mc, uint32_t number, bool begins)
{
	struct model *m = mc->model;
	bool covered = !mc->nr_uncovered;

	assert(!begins || mc->nr_uncovered > 0);
	mc->nr_uncovered += begins ? -1u : 1u;
	if (!begins && number < mc->nr_cpus && mc->cpus[number])
		cpu_uncovered(mc->cpus[number]);
	if (begins) {
		mc->seen_since = m->now;
		request_lost(mc);
	}
	for (uint32_t i = 0; covered == !!mc->nr_uncovered && i < m->nr_cpus; i++) {
		struct thread *host = m->cpus[i]->vcpu.host;

		if (host && host->vcpu == m->cpus[i] && host->machine == mc)
			vcpu_state_show(host);
	}
}

static void gap_begins(struct machine_state *mc, const struct model_gap *gap)
{
	struct cpu *cpu = machine_cpu(mc, gap->cpu);

	if (cpu)
		cpu_lost_uncounted(cpu, gap->begin, gap->end);
}

static void happen(struct model *m, const struct moment *moment)
{
	switch (moment->kind) {
	case MOMENT_BOUND:
		moment->machine->bound_ns = moment->value == UINT32_MAX ? -1 : (ns_t)moment->value;
		model_set(m, moment->machine->clock_bound, moment->value);
		break;
	case MOMENT_END:
		trace_ends(moment->machine);
		break;
	case MOMENT_RUNS:
		cpu_has_run(machine_cpu(moment->machine, (int)moment->value), moment->tid);
		break;
	case MOMENT_GAP:
		gap_begins(moment->machine, &m->gaps->list[moment->value]);
		break;
	case MOMENT_CPU_BEGIN:
	case MOMENT_CPU_END:
		cover_changes(moment->machine, moment->value, moment->kind == MOMENT_CPU_BEGIN);
		break;
	}
}

static ns_t next_due(const struct model *m)
{
	ns_t moment = m->next_moment < m->nr_moments ? m->moments[m->next_moment].t : NS_MAX;

	return moment < m->due_at ? moment : m->due_at;
}

/* Does all that is due at or before @until. */
void agenda_run(struct model *m, ns_t until)
{
	while (next_due(m) <= until && next_due(m) != NS_MAX) {
		ns_t t = next_due(m);

		if (t > m->now)
			m->now = t;
		if (t == m->due_at)
			between_due(m);
		else
			happen(m, &m->moments[m->next_moment++]);
	}
	m->next_moment_t = next_due(m);
}
