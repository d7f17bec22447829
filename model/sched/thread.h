/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHED_THREAD_H
#define MODEL_SCHED_THREAD_H

#include "model/state/state.h"

/*
 * Threads: which incarnation a TID means now, what state it is in, what it is called.
 */

/* That it is ready, or sleeps, is not known while events of one of the machine's CPUs are lost: it
 * is then unknown. */
void thread_set_state(struct thread *th, enum thread_state state);
/* Events of one of the machine's CPUs are lost from here on: any of those that are ready may have
 * it, and what it does may wake any that sleeps. */
void thread_doubt_all(struct machine_state *mc);
/* Who woke it last is not known any more. */
void thread_forget_waker(struct thread *th);
/* It is being switched out: it may have been woken unseen while it ran. */
void thread_doubt_waker(struct thread *th);
void thread_set_on(struct thread *th, struct cpu *cpu);
void thread_show_vcpu(struct thread *th);
/* Nothing is known about what it does from here on, but that it @runs. */
void thread_forget(struct thread *th);
void thread_end(struct thread *th);
/* The CPU's thread turns out to be elsewhere, or gone: that CPU's switch went unseen. */
void cpu_lose_thread(struct cpu *cpu);
/* Attribute "task" of a CPU, when its thread is another one. */
static inline void cpu_show_task(struct cpu *cpu)
{
	model_set(cpu->machine->model, cpu->task, cpu->thread ? cpu->thread->row + 1 : 0);
}
/* Takes it off the list of its CPU: nothing is known of it, or it is dead. */
void thread_leave_list(struct thread *th, enum thread_state state);
/* ... and puts it there again: it is known to wait. */
void thread_list_again(struct thread *th);
enum thread_state thread_state_of(int64_t prev_state);
/* It runs, or is ready to.  If it slept, and nobody was seen to wake it since it ran, that event
 * was lost. */
void thread_goes_on(struct thread *th);

#endif
