/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sched/preempt.h"

#include <string.h>

#include "model/state/peers.h"
#include "model/sched/throttle.h"
#include "model/identity/tid.h"
#include "source/trace.h"

#define RT_PRIO_END 100 /* below: real-time; -1: deadline */

static bool read_int(const struct machine_state *mc, const struct event *e, const char *name,
		     int64_t *out)
{
	struct field_value v;

	if (trace_event_field(mc->model->stream, e, name, &v))
		return false;
	*out = v.i;
	return true;
}

/* The kernel's prio: -1 deadline, 0 to 99 real-time, 100 and more fair; the smaller the more
 * urgent. A class gives way to those above it at once, whatever is left of its time slice. */
static bool is_of_higher_class(const struct machine_state *mc, const struct event *e)
{
	int64_t prev, next;

	return read_int(mc, e, "prev_prio", &prev) && read_int(mc, e, "next_prio", &next) &&
	       next < RT_PRIO_END && next < prev;
}

static enum why_off why(const struct cpu *cpu, const struct event *e)
{
	const struct machine_state *mc = cpu->machine;
	const struct thread *next;

	if (throttle_holds(cpu->thread, cpu->number))
		return OFF_THROTTLED;
	if (!e->arg[1])
		return mc->sees_throttles ? OFF_UNKNOWN : OFF_QUOTA;
	next = thread_find(cpu->machine, (int32_t)e->arg[1]);
	/* A CPU's stopper thread: the scheduler has it push away what runs, when that must go to
	 * another CPU (affinity, active load balancing). */
	if (next && !strncmp(next->comm, "migration/", 10))
		return OFF_MOVED;
	if (is_of_higher_class(mc, e))
		return OFF_CLASS;
	/* Its wake-up, or the timer's last interrupt, may have been lost since. */
	if (cpu->met || cpu->thread->losses != mc->losses)
		return OFF_UNKNOWN;
	if (!mc->sees_interrupts || mc->timer_vector < 0 || !mc->sees_waking || !next)
		return OFF_UNKNOWN;
	/* The tick sets TIF_NEED_RESCHED when the slice is over; who was woken later may have, too.
	 */
	if (cpu->irq_vector == mc->timer_vector && next->woken_at < cpu->irq_at)
		return OFF_SLICE;
	return next->woken_at > cpu->thread->ran_at ? OFF_WAKEUP : OFF_UNKNOWN;
}

void preempt_vcpu(struct cpu *cpu, const struct event *e)
{
	const struct machine_state *mc = cpu->machine;
	enum why_off off = why(cpu, e);

	throttle_why(cpu->thread, off);
	cpu->thread->queued_on = cpu->number;
	peers_put(cpu->thread, PEERS_QUEUE, cpu->number);
	cpu->lost_by = off == OFF_QUOTA || mc->sees_throttles ? NULL : cpu->thread;
}

/* The CPU has nothing more to run, and yet a vCPU's thread that was preempted here stays off. */
void preempt_idle(struct cpu *cpu)
{
	struct thread *th = cpu->lost_by;

	cpu->lost_by = NULL;
	if (th->state != THREAD_RUNNABLE || th->on || th->last_on != cpu || !th->vcpu)
		return;
	throttle_why(th, OFF_QUOTA);
}

/* It waits for another CPU now. */
void preempt_moved(struct machine_state *mc, const struct event *e)
{
	struct thread *th = thread_find(mc, (int32_t)e->arg[0]);

	if (th && th->last_on && th->last_on->lost_by == th)
		th->last_on->lost_by = NULL;
	if (th && !th->on && th->state == THREAD_RUNNABLE)
		throttle_queued(th, e->arg[2]);
}
