/* SPDX-License-Identifier: Apache-2.0 */
#include "model/cpu.h"

#include <assert.h>
#include <string.h>

#include "base/figure.h"
#include "model/fuse.h"
#include "model/machine.h"
#include "model/mute.h"
#include "model/preempt.h"
#include "model/thread.h"
#include "model/throttle.h"
#include "events/dialect.h"
#include "source/syscalls.h"

static void write_task(struct cpu *cpu)
{
	model_set(cpu->machine->model, cpu->task, cpu->thread ? cpu->thread->row + 1 : 0);
}

static bool is_known(const struct cpu *cpu)
{
	const struct thread *host = cpu->vcpu.host;

	if (!cpu->machine->parent)
		return cpu->thread;
	return cpu->vcpu_state > VCPU_UNKNOWN && host && host->last_on && host->last_on->known;
}

void cpu_reveal(struct cpu *cpu)
{
	bool known = is_known(cpu);

	if (likely(known == cpu->known))
		return;
	cpu->known = known;
	if (cpu->thread)
		thread_show_vcpu_state(cpu->thread);
	for (struct thread *th = cpu->left; th; th = th->next_left)
		thread_show_vcpu_state(th);
}

/* Handlers that may be executing, unseen since they began: the detail of a frame of MODE_UNKNOWN.
 */
#define MAYBE_IRQ 1
#define MAYBE_SOFTIRQ 2

void cpu_doubt_handlers(struct cpu *cpu)
{
	cpu->irqs[0] = (struct irq_frame){MODE_UNKNOWN, MAYBE_IRQ | MAYBE_SOFTIRQ};
	cpu->nr_irqs = 1;
}

static bool doubts_handlers(const struct cpu *cpu)
{
	return cpu->nr_irqs && cpu->irqs[0].mode == MODE_UNKNOWN;
}

void cpu_no_handlers(struct cpu *cpu)
{
	if (unlikely(doubts_handlers(cpu)))
		cpu->nr_irqs = 0;
}

/* A handler begins, or one ends that was not seen to begin.  Interrupts are off in a handler of
 * one, and soft interrupts come after it: no other of its kind, and none of the other, lies below.
 */
static void settle_handlers(struct cpu *cpu, uint32_t mode)
{
	if (likely(!doubts_handlers(cpu)))
		return;
	cpu->irqs[0].detail &= mode == MODE_IRQ ? ~MAYBE_IRQ : 0;
	if (!cpu->irqs[0].detail)
		cpu->nr_irqs = 0;
}

/* The CPU's thread turns out to be elsewhere, or gone: that CPU's switch went unseen. */
void cpu_lose_thread(struct cpu *cpu)
{
	cpu->thread = NULL;
	cpu_doubt_handlers(cpu);
	cpu->guest_of_unknown = false;
	write_task(cpu);
	cpu_reveal(cpu);
	fuse(cpu);
}

static void found_again(struct cpu *cpu)
{
	struct machine_state *mc = cpu->machine;

	if (mc->model->now < cpu->lost_until)
		return;
	cpu->lost = false;
	assert(mc->nr_lost > 0);
	mc->nr_lost--;
	mc->seen_since = mc->model->now;
}

/* Makes @next (NULL: unknown) the CPU's thread.  The caller has said what becomes of the one
 * before. */
static void run(struct cpu *cpu, struct thread *next)
{
	cpu->thread = next;
	cpu->met = false;
	cpu->guest_of_unknown = false;
	cpu_left_code(cpu);
	cpu_reveal(cpu);
	if (!next)
		return;
	if (unlikely(cpu->lost))
		found_again(cpu);
	if (unlikely(next->on && next->on != cpu))
		cpu_lose_thread(next->on);
	if (unlikely(next->losses != next->machine->losses))
		thread_forget(next);
	next->in_doubt = false;
	if (likely(!mute_is(next)))
		cpu->in_doubt = false;
	thread_goes_on(next);
	next->ran_at = cpu->machine->model->now;
	if (unlikely(next->picks_up))
		request_picked(next);
	thread_set_on(next, cpu);
	thread_set_state(next, THREAD_RUNNING);
	assert(next->on == cpu && cpu->thread == next);
}

/* The CPU's thread left it, and we did not see how. */
static void drop_thread(struct cpu *cpu)
{
	struct thread *th = cpu->thread;

	cpu->thread = NULL;
	if (!th)
		return;
	thread_forget(th);
	if (th->vcpu)
		wake_lost(th->vcpu);
	thread_forget_waker(th);
	thread_set_on(th, NULL);
	thread_set_state(th, THREAD_UNKNOWN);
}

/* One for each that sonde check counts: a hole in a stream, whether its thread was known or not. */
static void tell_unseen(const struct cpu *cpu)
{
	problems_add(&cpu->machine->model->problems,
		     "%s: a thread runs that no recorded switch led to: the kernel or the tracer "
		     "left out some",
		     cpu->machine->name);
}

/* An event says that @tid runs, and that is not what we knew. */
void cpu_adopt(struct cpu *cpu, int32_t tid)
{
	if (cpu->thread) {
		mute_left_unseen(cpu);
		drop_thread(cpu);
		cpu_doubt_handlers(cpu);
	}
	run(cpu, thread_get(cpu->machine, tid, cpu));
	cpu->met = true;
	write_task(cpu);
}

void cpu_has_run(struct cpu *cpu, int32_t tid)
{
	if (!cpu || cpu->thread)
		return;
	cpu_adopt(cpu, tid);
	cpu_no_handlers(cpu); /* its end would have been seen: source/cover.c looks for that */
	fuse(cpu);
}

/* The handlers are left before a switch; only PREEMPT_RT may switch inside a soft interrupt. */
static void save_softirq(struct cpu *cpu)
{
	struct thread *th = cpu->thread;

	th->in_softirq = cpu->nr_irqs && cpu->irqs[cpu->nr_irqs - 1].mode == MODE_SOFTIRQ;
	if (unlikely(th->in_softirq))
		th->softirq = cpu->irqs[cpu->nr_irqs - 1].detail;
	cpu->nr_irqs = 0;
}

static void restore_softirq(struct cpu *cpu)
{
	if (likely(!cpu->thread->in_softirq))
		return;
	cpu->thread->in_softirq = false;
	cpu->irqs[0] = (struct irq_frame){MODE_SOFTIRQ, cpu->thread->softirq};
	cpu->nr_irqs = 1;
}

static void switch_out(struct cpu *cpu, int64_t prev_state)
{
	struct thread *th = cpu->thread;
	enum thread_state state = thread_state_of(prev_state);

	mute_left(th);
	save_softirq(cpu);
	/* Only kernel threads sleep in the state "idle". */
	if ((prev_state & 0xff) == 0x80 && th->kind == KIND_UNKNOWN)
		th->kind = KIND_KERNEL;
	/* A thread may still sleep on its way out.  Before Linux 4.14 the last state is 0x40. */
	if (th->exiting && (prev_state & 0x40))
		state = THREAD_DEAD;
	thread_doubt_waker(th);
	th->losses = thread_known_since(th->machine);
	thread_set_on(th, NULL);
	if (state != THREAD_RUNNABLE) {
		th->acts_for = 0;
		if (th->vcpu && state != THREAD_DEAD) /* who is gone waits for nothing */
			wake_sleep(th);
	}
	if (state == THREAD_DEAD && th->tid)
		thread_end(th);
	else
		thread_set_state(th, state);
}

void cpu_switch(struct cpu *cpu, const struct event *e)
{
	int32_t prev = (int32_t)e->arg[0];

	if (prev >= 0 && (!cpu->thread || cpu->thread->tid != prev))
		cpu_adopt(cpu, prev);
	if (cpu->thread) {
		thread_set_comm(cpu->thread, event_str(e, 4));
		if (cpu->thread->vcpu && thread_state_of(e->arg[2]) == THREAD_RUNNABLE)
			preempt_vcpu(cpu, e);
		switch_out(cpu, e->arg[2]);
	}
	cpu->nr_irqs = 0;
	cpu->torn = false;
	run(cpu, thread_get(cpu->machine, (int32_t)e->arg[1], cpu));
	if (cpu->thread) {
		restore_softirq(cpu);
		thread_set_comm(cpu->thread, event_str(e, 3));
	}
	if (cpu->lost_by && !e->arg[1])
		preempt_idle(cpu);
	write_task(cpu);
}

void cpu_irq_enter(struct cpu *cpu, uint32_t mode, int64_t detail)
{
	cpu->machine->sees_interrupts |= mode == MODE_IRQ;
	cpu_left_code(cpu);
	settle_handlers(cpu, mode);
	if (cpu->nr_irqs < IRQ_DEPTH)
		cpu->irqs[cpu->nr_irqs++] = (struct irq_frame){mode, (int32_t)detail};
}

/* Ends the innermost handler of that kind, and whatever still lies upon it.  A handler that was
 * never seen to begin tells that it is not any more. */
void cpu_irq_exit(struct cpu *cpu, uint32_t mode, int64_t detail)
{
	for (unsigned i = cpu->nr_irqs; i-- > 0;) {
		if (cpu->irqs[i].mode == mode && cpu->irqs[i].detail == (int32_t)detail) {
			cpu->nr_irqs = i;
			cpu_left_code(cpu);
			return;
		}
	}
	settle_handlers(cpu, mode);
}

static uint32_t name_of_lttng_syscall(const struct trace *t, const struct event *e,
				      struct history_writer *w)
{
	const struct event_type *type = &t->types[e->type];
	const char *name = NULL;

	if (type->syscall >= 0 && (unsigned)type->syscall < t->nr_syscall_names)
		name = t->syscall_names[type->syscall];
	else
		name = dialect_syscall_name(type->name);
	if (!name || !strcmp(name, "unknown"))
		return 0;
	return history_writer_string(w, name, strlen(name));
}

static uint32_t name_of_syscall(struct machine_state *mc, const struct event *e)
{
	const char *name;

	if (mc->trace->lttng)
		return name_of_lttng_syscall(mc->trace, e, mc->model->w);
	name = syscall_name(e->arg[0]);
	return name ? history_writer_string(mc->model->w, name, strlen(name)) : 0;
}

/* Looked up once per event type (LTTng) or number (ftrace). */
static uint32_t syscall_id(struct machine_state *mc, const struct event *e)
{
	int64_t slot = mc->trace->lttng ? e->type : e->arg[0];

	if (slot < 0 || slot >= mc->nr_syscall_ids)
		return 0;
	if (!mc->syscall_ids[slot])
		mc->syscall_ids[slot] = name_of_syscall(mc, e) + 1;
	return mc->syscall_ids[slot] - 1;
}

void cpu_syscall_entry(struct cpu *cpu, const struct event *e)
{
	if (!cpu->thread)
		return;
	cpu->thread->kind = KIND_USER;
	cpu->thread->where = WHERE_SYSCALL;
	cpu->thread->syscall = syscall_id(cpu->machine, e);
}

void cpu_syscall_exit(struct cpu *cpu)
{
	if (!cpu->thread)
		return;
	cpu->thread->kind = KIND_USER;
	cpu->thread->where = WHERE_USER;
}

/* Only the idle task goes idle: tells who runs when no event has told yet. */
void cpu_idle(struct cpu *cpu)
{
	if (!cpu->thread)
		cpu_adopt(cpu, 0);
}

/* The thread that stops a CPU leaves it to its idle task, which halts it for good: the kernel
 * records nothing of that, as the CPU is not online any more. */
static void go_offline(struct cpu *cpu)
{
	const int64_t sleeping = 1;

	if (cpu->thread && !cpu->thread->tid)
		return;
	if (cpu->thread)
		switch_out(cpu, sleeping);
	cpu->nr_irqs = 0;
	run(cpu, thread_get(cpu->machine, 0, cpu));
	write_task(cpu);
	fuse(cpu);
}

/* A CPU runs the first steps of its own end itself.  Of those that another CPU takes on the way to
 * state 0 the first one switches it off. */
void cpu_hotplug(struct cpu *by, const struct event *e)
{
	int64_t number = e->arg[0];
	struct cpu *cpu;

	if (number < 0 || number >= TRACE_CPUS_MAX)
		return;
	cpu = machine_cpu(by->machine, (int)number);
	if (!cpu || cpu == by)
		return;
	if (e->kind == EV_CPUHP_ENTER) {
		cpu->goes_down = !e->arg[1] && e->arg[2] > 0;
	} else if (cpu->goes_down) {
		cpu->goes_down = false;
		go_offline(cpu);
	}
}

void cpu_forget(struct cpu *cpu)
{
	drop_thread(cpu);
	cpu_doubt_handlers(cpu);
	cpu->guest_of_unknown = false;
	write_task(cpu);
	cpu_reveal(cpu);
	fuse(cpu);
}

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
	/* A CPU that nobody has heard of yet has no gap of its own. */
	if (gap->machine != cpu->machine || gap->cpu != cpu->number)
		return NULL;
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
	struct loss *gap = gap_again(cpu, begin, events);

	if (!gap)
		gap = foreseen(cpu, begin, end, events);
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
	if (!cpu->lost || until > cpu->lost_until)
		cpu->lost_until = until;
	cpu->machine->nr_lost += !cpu->lost;
	cpu->lost = true;
	cpu_uncovered(cpu);
}

void cpu_lost(struct cpu *cpu, const struct event *e)
{
	bool unseen = e->arg[3];

	if (unseen)
		tell_unseen(cpu);
	if (unseen && !cpu->thread) /* that is known of mute threads: see mute.h */
		return;
	if (unseen)
		mute_left_unseen(cpu);
	else
		cpu->torn = false;
	cpu_now_lost(cpu, note_loss(cpu, e));
}
