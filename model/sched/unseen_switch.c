/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sched/unseen_switch.h"

#include <string.h>

#include "model/sched/cpu.h"
#include "model/sched/thread.h"
#include "model/identity/tid.h"

/* Those that wait for this CPU may have it by now. */
static void doubt_queue(struct cpu *cpu)
{
	struct thread *next;

	for (struct thread *th = cpu->left; th; th = next) {
		next = th->next_left;
		if (th->state == THREAD_RUNNABLE)
			thread_set_state(th, THREAD_UNKNOWN);
	}
}

void unseen_switch_settle(struct cpu *cpu)
{
	const struct thread *th = cpu->thread;

	if (likely(!th || !leaves_is_mute(&th->leaves)) || cpu->nr_irqs ||
	    (!th->tid && !cpu->in_doubt))
		return;
	cpu->in_doubt = true;
	cpu_forget(cpu);
	doubt_queue(cpu);
}

/* A bit per CPU of which the trace has anything; all of them where it does not say of which it has.
 */
static uint8_t *recorded_in(struct model *m, const struct trace *t)
{
	uint8_t *bits = arena_alloc(&m->arena, TRACE_CPUS_MAX / 8);

	if (!bits) {
		model_no_memory(m);
		return NULL;
	}
	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct stream *s = &t->streams[i];

		if (s->nr_packets && s->cpu < 0)
			memset(bits, 0xff, TRACE_CPUS_MAX / 8);
		else if (s->nr_packets && s->cpu < TRACE_CPUS_MAX)
			bits[s->cpu / 8] |= (uint8_t)(1u << s->cpu % 8);
	}
	return bits;
}

/* The trace has nothing of that CPU, though somebody ran there: who is to run there again does so
 * unseen. */
static bool is_silent(struct machine_state *mc, int64_t number)
{
	if (!mc->trace)
		return false;
	if (!mc->recorded)
		mc->recorded = recorded_in(mc->model, mc->trace);
	return number >= TRACE_CPUS_MAX || !mc->recorded ||
	       !(mc->recorded[number / 8] >> number % 8 & 1);
}

bool unseen_switch_woken(struct thread *th, int64_t number)
{
	struct machine_state *mc = th->machine;
	struct cpu *cpu;

	th->in_doubt = leaves_is_mute(&th->leaves);
	if (number < 0)
		return th->in_doubt;
	cpu = number < mc->nr_cpus ? mc->cpus[number] : NULL;
	if (!cpu || cpu->heard_at == NS_MIN)
		th->in_doubt |= is_silent(mc, number);
	if (!cpu)
		return th->in_doubt;
	if (cpu->thread && !leaves_is_mute(&cpu->thread->leaves))
		return th->in_doubt;
	if (cpu->thread) {
		cpu->in_doubt = true;
		unseen_switch_settle(cpu);
	}
	th->in_doubt |= cpu->in_doubt;
	return th->in_doubt;
}

void unseen_switch_moved(struct machine_state *mc, const struct event *e)
{
	struct thread *th = thread_find(mc, (int32_t)e->arg[0]);

	if (!th || th->on || (th->state != THREAD_RUNNABLE && !th->in_doubt))
		return;
	thread_set_state(th, unseen_switch_woken(th, e->arg[2]) ? THREAD_UNKNOWN : THREAD_RUNNABLE);
}
