/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sched/wakeups.h"

#include "model/state/contexts.h"
#include "model/sched/uncounted_gap.h"
#include "model/guest/fuse.h"
#include "model/identity/one_vm.h"
#include "model/state/irq_stack.h"
#include "model/identity/machine.h"
#include "model/sched/unseen_switch.h"
#include "model/sched/thread.h"
#include "model/sched/throttle.h"
#include "model/identity/tid.h"
#include "model/wake/wake.h"

/* A vCPU's thread wakes another vCPU's, by itself and not for an interrupt that it happened to
 * handle: see one_vm.c. */
static void note_wakeup(struct cpu *cpu, const struct thread *woken)
{
	const struct thread *waker = cpu->thread;

	if (waker && waker->vcpu && woken->vcpu && waker != woken && !cpu->nr_irqs &&
	    cpu->machine->sees_interrupts && waker->vcpu->vcpu.reason >= 0)
		group_note_wakeup(waker->vcpu, woken->vcpu);
}

/* Whether this CPU is the one that wakes.  sched_waking is recorded there; sched_wakeup may be on
 * the CPU that the thread is to run on, which puts into its queue whom others have woken: for
 * traces without the first it tells where it names another CPU. */
static bool wakes_here(const struct cpu *cpu, const struct event *e)
{
	return e->kind != EV_SCHED_WAKEUP ||
	       (!cpu->machine->sees_waking && e->arg[1] >= 0 && e->arg[1] != cpu->number);
}

/* Who woke it: what this CPU does, as its own kernel sees it. */
static void show_waker(struct cpu *cpu, struct thread *th, const struct event *e)
{
	struct machine_state *mc = cpu->machine;
	struct context waker;

	if (e->kind == EV_SCHED_WAKEUP && mc->sees_waking)
		return;
	if (th->waker_attr == ATTR_NONE)
		th->waker_attr = history_writer_attr(mc->model->w, th->dir, "waker", ATTR_ROW, 0);
	/* While events are lost, it may have run since, and been woken by another. */
	if (!wakes_here(cpu, e) || cpu_handler_unknown(cpu) ||
	    unlikely(thread_may_run_unseen(mc))) {
		thread_forget_waker(th);
		return;
	}
	waker = cpu_own_context(cpu);
	model_set(mc->model, th->waker_attr, context_row(mc->model, &waker));
}

/* Waking starts the wait for a CPU.  A thread that still runs on its way to sleep may be woken,
 * too: it then simply does not sleep. */
void wakeup_event(struct cpu *cpu, const struct event *e)
{
	struct thread *th = thread_get(cpu->machine, (int32_t)e->arg[0], NULL);

	if (!th)
		return;
	thread_set_comm(th, event_str(e, 2));
	cpu->machine->sees_waking |= e->kind == EV_SCHED_WAKING;
	show_waker(cpu, th, e);
	if (e->kind == EV_SCHED_WAKING)
		note_wakeup(cpu, th);
	if (e->kind == EV_SCHED_WAKING || (!cpu->machine->sees_waking && wakes_here(cpu, e)))
		wake_thread(cpu, th);
	else if (e->kind == EV_SCHED_WAKEUP)
		thread_goes_on(th);
	if (e->kind != EV_SCHED_WAKING) /* which comes before a CPU is chosen */
		contradict_queued(cpu, e->arg[1]);
	if (th->on)
		return;
	thread_list_again(th);
	if (th->state != THREAD_RUNNABLE)
		throttle_queued(th, e->arg[1]);
	thread_set_state(th, unseen_switch_woken(th, e->arg[1]) ? THREAD_UNKNOWN : THREAD_RUNNABLE);
}
