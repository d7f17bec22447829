/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sched/cpu.h"

#include <assert.h>
#include <string.h>

#include "model/guest/fuse.h"
#include "model/state/irq_stack.h"
#include "model/identity/machine.h"
#include "model/sched/preempt.h"
#include "model/io/request.h"
#include "model/sched/thread.h"
#include "model/identity/tid.h"
#include "model/state/vcpu_state.h"
#include "model/wake/wake.h"

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
	cpu_set_thread(cpu, next);
	cpu->met = false;
	cpu->guest_of_unknown = false;
	cpu_left_code(cpu);
	vcpu_state_reveal(cpu);
	if (!next)
		return;
	if (unlikely(cpu->lost))
		found_again(cpu);
	if (unlikely(next->on && next->on != cpu))
		cpu_lose_thread(next->on);
	if (unlikely(next->losses != next->machine->losses))
		thread_forget(next);
	next->in_doubt = false;
	if (likely(!leaves_is_mute(&next->leaves)))
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

	cpu_set_thread(cpu, NULL);
	if (!th)
		return;
	thread_forget(th);
	if (th->vcpu)
		wake_lost(th->vcpu);
	thread_forget_waker(th);
	thread_set_on(th, NULL);
	thread_set_state(th, THREAD_UNKNOWN);
}

void cpu_left_unseen(struct cpu *cpu)
{
	struct machine_state *mc = cpu->machine;
	struct thread *th = cpu->thread;
	bool was_mute = leaves_is_mute(&th->leaves);

	leaves_unseen(&th->leaves, &cpu->torn);
	if (leaves_is_mute(&th->leaves) && !was_mute)
		problems_add(&mc->model->problems,
			     "%s: the kernel records no switch away from some threads (the idle "
			     "ones, or others): what CPUs run after them, and who waits for these "
			     "CPUs, is unknown until the next event tells",
			     mc->name);
}

/* An event says that @tid runs, and that is not what we knew. */
void cpu_adopt(struct cpu *cpu, int32_t tid)
{
	if (cpu->thread) {
		cpu_left_unseen(cpu);
		drop_thread(cpu);
		cpu_doubt_handlers(cpu);
	}
	run(cpu, thread_get(cpu->machine, tid, cpu));
	cpu->met = true;
	cpu_show_task(cpu);
}

void cpu_has_run(struct cpu *cpu, int32_t tid)
{
	if (!cpu || cpu->thread)
		return;
	cpu_adopt(cpu, tid);
	cpu_no_handlers(cpu); /* its end would have been seen: source/cover.c looks for that */
	fuse(cpu);
}

static void switch_out(struct cpu *cpu, int64_t prev_state)
{
	struct thread *th = cpu->thread;
	enum thread_state state = thread_state_of(prev_state);

	leaves_seen(&th->leaves);
	cpu_save_softirq(cpu);
	/* Only kernel threads sleep in the state "idle". */
	if ((prev_state & 0xff) == 0x80 && th->kind == KIND_UNKNOWN)
		th->kind = KIND_KERNEL;
	/* A thread may still sleep on its way out (for a lock, or for I/O), so that
	 * it exits does not say that it is gone.  Before Linux 4.14 the last state is 0x40. */
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
		cpu_restore_softirq(cpu);
		thread_set_comm(cpu->thread, event_str(e, 3));
	}
	if (cpu->lost_by && !e->arg[1])
		preempt_idle(cpu);
	cpu_show_task(cpu);
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
	cpu_show_task(cpu);
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
	cpu_show_task(cpu);
	vcpu_state_reveal(cpu);
	fuse(cpu);
}
