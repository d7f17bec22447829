/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sched/losses.h"

#include "base/figure.h"
#include "model/sched/cpu.h"
#include "model/io/request.h"
#include "model/sched/thread.h"
#include "model/sched/throttle.h"

/* Threads that last ran where events were lost may be anything by now. */
static void forget_threads(struct cpu *cpu)
{
	while (cpu->left)
		thread_leave_list(cpu->left, THREAD_UNKNOWN);
}

void loss_add(struct machine_state *mc, int cpu, ns_t begin, ns_t end, int64_t events)
{
	struct model *m = mc->model;

	if (!model_grow(m, (void **)&m->losses, m->nr_losses, &m->losses_room, sizeof(*m->losses)))
		m->losses[m->nr_losses++] = (struct loss){mc, cpu, begin, end, events};
}

/* The gap that the CPU is in, when [@begin, ...) is of that: a reader tells of each damaged page of
 * one. What a tracer counted and what nobody did stay apart: together they would be neither. */
static struct loss *gap_again(const struct cpu *cpu, ns_t begin, int64_t events)
{
	const struct model *m = cpu->machine->model;
	struct loss *gap;

	if (!cpu->lost || cpu->loss >= m->nr_losses)
		return NULL;
	gap = &m->losses[cpu->loss];
	return begin <= gap->end && (events > 0) == (gap->events > 0) ? gap : NULL;
}

static void widen(struct loss *gap, ns_t begin, ns_t end, int64_t events)
{
	gap->begin = begin < gap->begin ? begin : gap->begin;
	gap->end = end > gap->end ? end : gap->end;
	if (events > 0)
		gap->events = ns_plus(gap->events, events);
}

/* What was on the agenda as missing: a cursor tells of the same when it gets there. */
static struct loss *foreseen(const struct cpu *cpu, ns_t begin, ns_t end, int64_t events)
{
	const struct model *m = cpu->machine->model;
	const uint32_t *first =
		map_get(&m->by_foreseen, pair_key(cpu->machine, (uint32_t)cpu->number));

	for (uint32_t i = first ? *first : m->nr_foreseen; i < m->nr_foreseen && events <= 0; i++) {
		struct loss *gap = &m->losses[i];

		if (gap->machine != cpu->machine || gap->cpu != cpu->number)
			break;
		if (begin < gap->end && end > gap->begin)
			return gap;
	}
	return NULL;
}

void cpu_add_loss(struct cpu *cpu, ns_t begin, ns_t end, int64_t events)
{
	struct loss *again = gap_again(cpu, begin, events);
	struct loss *gap = foreseen(cpu, begin, end, events);

	if (gap && again && gap != again && begin < again->end)
		begin = again->end; /* two rows, and no moment in both */
	gap = gap ? gap : again;
	if (gap) {
		widen(gap, begin, end, events);
		cpu->loss = (uint32_t)(gap - cpu->machine->model->losses);
		return;
	}
	cpu->loss = cpu->machine->model->nr_losses;
	loss_add(cpu->machine, cpu->number, begin, end, events);
}

static ns_t note_loss(struct cpu *cpu, const struct event *e)
{
	const struct clock_model *clock = cpu->machine->clock;
	ns_t end = clock_to_l0(clock, (ticks_t){(uint64_t)e->arg[2]});

	cpu_add_loss(cpu, clock_to_l0(clock, (ticks_t){(uint64_t)e->arg[1]}), end,
		     e->arg[0] > 0 ? e->arg[0] : -1);
	return end;
}

void cpu_not_found_again(struct cpu *cpu, ns_t end)
{
	struct model *m = cpu->machine->model;
	struct loss *gap = cpu->lost && cpu->loss < m->nr_losses ? &m->losses[cpu->loss] : NULL;

	/* Behind the last event only the ns that it takes itself is known to be the gap's. */
	if (gap && gap->end < end && ns_since(end, gap->begin) > 1)
		gap->end = end;
	cpu->loss = UINT32_MAX;
}

/* What ran here, and what became of the threads that did, is unknown from now on. */
void cpu_uncovered(struct cpu *cpu)
{
	cpu->machine->losses++;
	request_lost(cpu->machine);
	thread_doubt_all(cpu->machine);
	cpu_forget(cpu);
	forget_threads(cpu);
	throttle_forget(cpu->machine);
}

/*
 * Events were lost on this CPU.  What it runs is unknown until an event tells.  A thread may have
 * run here unseen, and have left or entered system calls: so for every thread that does not run
 * elsewhere at this moment, where it is (user or kernel) is unknown from now on.  And code here may
 * have woken it: so is whether it sleeps or waits for a CPU.
 */
void cpu_now_lost(struct cpu *cpu, ns_t until)
{
	if (until > cpu->machine->lost_until)
		cpu->machine->lost_until = until;
	if (until > cpu->lost_until)
		cpu->lost_until = until;
	cpu->machine->nr_lost += !cpu->lost;
	cpu->lost = true;
	cpu_uncovered(cpu);
}

/* One for each that sonde check counts: a hole in a stream, whether its thread was known or not. */
static void tell_unseen(const struct cpu *cpu)
{
	problems_add(&cpu->machine->model->problems,
		     "%s: a thread runs that no recorded switch led to: the kernel or the tracer "
		     "left out some",
		     cpu->machine->name);
}

void cpu_lost(struct cpu *cpu, const struct event *e)
{
	bool unseen = e->arg[3];

	if (unseen)
		tell_unseen(cpu);
	if (unseen && !cpu->thread) /* that is known of mute threads: see unseen_switch.h */
		return;
	if (unseen)
		cpu_left_unseen(cpu);
	else
		cpu->torn = false;
	cpu_now_lost(cpu, note_loss(cpu, e));
}

void cpu_lost_uncounted(struct cpu *cpu, ns_t begin, ns_t end)
{
	problems_note(
		&cpu->machine->model->problems,
		"%s: others' events show that a CPU's are missing: what it ran then is not known",
		cpu->machine->name);
	cpu_add_loss(cpu, begin, end, -1);
	cpu_now_lost(cpu, end);
}
