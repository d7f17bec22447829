/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sched/thread.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "model/guest/fuse.h"
#include "model/guest/guest_mode.h"
#include "model/state/irq_stack.h"
#include "model/identity/machine.h"
#include "model/state/peers.h"
#include "model/wake/vcpu_waits.h"
#include "model/identity/tid.h"
#include "model/state/vcpu_state.h"
#include "model/wake/wake.h"

/* Whoever is off all CPUs may be anywhere after a loss on any of them: the list makes that cost
 * what is in it, and not a look at all threads that ever were. */
static void keep_off(struct thread *th)
{
	struct machine_state *mc = th->machine;

	th->offed = &mc->off;
	th->next_off = mc->off;
	if (mc->off)
		mc->off->offed = &th->next_off;
	mc->off = th;
}

static void drop_off(struct thread *th)
{
	*th->offed = th->next_off;
	if (th->next_off)
		th->next_off->offed = th->offed;
	th->offed = NULL;
}

static bool waits_or_sleeps(enum thread_state state)
{
	return state == THREAD_RUNNABLE || state == THREAD_SLEEPING || state == THREAD_BLOCKED ||
	       state == THREAD_STOPPED;
}

/* What it does for its vCPU, or waits for, ends unseen. */
static void doubt_vcpu(struct thread *th)
{
	if (!th->vcpu)
		return;
	wake_lost(th->vcpu);
	vcpu_forget(th->vcpu);
}

/* While events of a CPU are lost, whoever sleeps may be woken by it.  Whoever is ready may have it,
 * until an event tells who does.  So it is with a CPU that the trace does not cover. */
void thread_set_state(struct thread *th, enum thread_state state)
{
	bool off = waits_or_sleeps(state);

	if (unlikely(thread_may_run_unseen(th->machine)) && off) {
		state = THREAD_UNKNOWN;
		off = false;
		doubt_vcpu(th);
	} else if (unlikely(th->machine->nr_lost) && state == THREAD_RUNNABLE) {
		state = THREAD_UNKNOWN;
	}
	if (off != (th->offed != NULL)) {
		if (off)
			keep_off(th);
		else
			drop_off(th);
	}
	if (th->state == state)
		return;
	if (th->state == THREAD_DEAD && th->vcpu)
		rest_note_up(th->vcpu);
	th->state = state;
	model_set(th->machine->model, th->state_attr, state);
	vcpu_state_show(th);
}

void thread_forget_waker(struct thread *th)
{
	th->woken_by = NULL;
	th->woken_in = NS_MIN;
	if (th->waker_attr != ATTR_NONE)
		model_set(th->machine->model, th->waker_attr, 0);
}

void thread_doubt_all(struct machine_state *mc)
{
	while (mc->off) {
		thread_forget_waker(mc->off);
		doubt_vcpu(mc->off);
		thread_set_state(mc->off, THREAD_UNKNOWN);
	}
}

void thread_doubt_waker(struct thread *th)
{
	if (unlikely(th->losses != th->machine->losses) && th->woken_at <= th->ran_at)
		thread_forget_waker(th);
}

/* Most threads never leave the CPU they start on: that one is in the table. */
static void show_cpu(struct thread *th)
{
	struct model *m = th->machine->model;

	if (th->cpu_attr == ATTR_NONE)
		th->cpu_attr = history_writer_attr(m->w, th->dir, "cpu", ATTR_NUMBER, 0);
	model_set(m, th->cpu_attr, (uint32_t)th->last_on->number + 1);
}

/* Its vCPU's attributes show its state: called when either is new to the other. */
void thread_show_vcpu(struct thread *th)
{
	struct model *m = th->machine->model;

	vcpu_state_show(th);
	model_set(m, th->vcpu->on, th->on ? (uint32_t)th->on->number + 1 : 0);
	if (th->last_on)
		show_cpu(th);
}

static void unlist(struct thread *th)
{
	if (!th->listed)
		return;
	*th->listed = th->next_left;
	if (th->next_left)
		th->next_left->listed = th->listed;
	th->listed = NULL;
}

/* Those that last ran on a CPU are who may run there unseen when its events are lost. */
static void list(struct thread *th, struct cpu *cpu)
{
	unlist(th);
	th->listed = &cpu->left;
	th->next_left = cpu->left;
	if (cpu->left)
		cpu->left->listed = &th->next_left;
	cpu->left = th;
}

void thread_list_again(struct thread *th)
{
	if (th->last_on && !th->listed)
		list(th, th->last_on);
}

void thread_leave_list(struct thread *th, enum thread_state state)
{
	unlist(th);
	thread_set_state(th, state);
}

/* Keeps thread and CPU consistent: one of them each. */
void thread_set_on(struct thread *th, struct cpu *cpu)
{
	struct model *m = th->machine->model;

	assert(!cpu || cpu->machine == th->machine);
	th->on = cpu;
	if (cpu)
		unlist(th);
	else if (th->last_on)
		list(th, th->last_on);
	if (cpu && th->last_on != cpu) {
		bool moves = th->last_on;

		th->last_on = cpu;
		if (!moves)
			th->first_cpu = cpu->number;
		if (th->tid && (moves || th->vcpu))
			show_cpu(th);
	}
	if (th->vcpu)
		model_set(m, th->vcpu->on, cpu ? (uint32_t)cpu->number + 1 : 0);
	if (cpu)
		vcpu_state_show(th);
}

void thread_forget(struct thread *th)
{
	th->where = WHERE_UNKNOWN;
	th->in_softirq = false;
	th->acts_for = 0; /* it may have slept since */
	th->losses = thread_known_since(th->machine);
	if (th->vcpu)
		vcpu_forget(th->vcpu);
}

void cpu_lose_thread(struct cpu *cpu)
{
	cpu_set_thread(cpu, NULL);
	cpu_doubt_handlers(cpu);
	cpu->guest_of_unknown = false;
	cpu_show_task(cpu);
	vcpu_state_reveal(cpu);
	fuse(cpu);
}

void thread_end(struct thread *th)
{
	struct model *m = th->machine->model;
	uint32_t *row = map_get(&m->by_tid, pair_key(th->machine, (uint32_t)th->tid));

	if (th->on) {
		struct cpu *cpu = th->on;

		thread_set_on(th, NULL);
		cpu_lose_thread(cpu);
	}
	if (th->vcpu) {
		wake_gone(th->vcpu);
		vcpu_forget(th->vcpu);
	}
	if (row && *row == th->row)
		map_del(&m->by_tid, pair_key(th->machine, (uint32_t)th->tid));
	if (th->machine->block.open &&
	    map_put(&m->ended, pair_key(th->machine, (uint32_t)th->tid), th->machine->nr_blocks))
		model_no_memory(m);
	if (th->end == NS_MAX)
		th->end = m->now;
	for (unsigned i = 0; i < NR_PEERS; i++)
		peers_put(th, i, -1);
	thread_leave_list(th, THREAD_DEAD);
}

/*
 * prev_state of sched_switch.  The low bits are the same in all kernels and in both tracers;
 * above them, 0x100 (0x400, 0x800 ... in kernels before 4.14) means "was preempted", and 0x80 is
 * "idle" (alone, since 4.14) or "wakes on fatal signals" (beside 2, before).
 */
enum thread_state thread_state_of(int64_t prev_state)
{
	if (prev_state & 0x30)
		return THREAD_DEAD;
	if (prev_state & 0x2)
		return THREAD_BLOCKED;
	if (prev_state & 0xc)
		return THREAD_STOPPED;
	return prev_state & 0xc1 ? THREAD_SLEEPING : THREAD_RUNNABLE;
}

/* Who woke it before is not who did now. */
void thread_goes_on(struct thread *th)
{
	bool may_have_slept = th->state != THREAD_RUNNABLE && th->state != THREAD_RUNNING;

	if (may_have_slept && th->woken_at <= th->ran_at && th->waker_attr != ATTR_NONE)
		model_set(th->machine->model, th->waker_attr, 0);
}
