/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_THREAD_H
#define MODEL_THREAD_H

#include "model/state.h"

/*
 * Threads: which incarnation a TID means now, what state it is in, what it is called.
 */

struct thread *thread_get(struct machine_state *mc, int32_t tid, struct cpu *cpu);
struct thread *thread_find(struct machine_state *mc, int32_t tid);
struct thread *thread_new(struct machine_state *mc, int32_t tid);
/* That it is ready, or sleeps, is not known while events of one of the machine's CPUs are lost: it
 * is then unknown. */
void thread_set_state(struct thread *th, enum thread_state state);
/* Events of one of the machine's CPUs are lost from here on: any of those that are ready may have
 * it, and what it does may wake any that sleeps. */
void thread_doubt_all(struct machine_state *mc);
/* Events of a CPU are lost now, or the trace does not cover it: who is seen nowhere may run
 * there. */
static inline bool thread_may_run_unseen(const struct machine_state *mc)
{
	return mc->model->now < mc->lost_until || mc->nr_uncovered;
}
/* For the @losses of a thread that is off all CPUs: while events of one are lost, it may run
 * there. */
static inline uint32_t thread_known_since(const struct machine_state *mc)
{
	return mc->losses - thread_may_run_unseen(mc);
}
/* Who woke it last is not known any more. */
void thread_forget_waker(struct thread *th);
/* It is being switched out: it may have been woken unseen while it ran. */
void thread_doubt_waker(struct thread *th);
/* A statedump says that @ppid is its parent now: where that it was made may have been lost, that
 * may be who adopted it when its maker ended. */
void thread_set_parent(struct thread *th, int64_t ppid);
void thread_set_on(struct thread *th, struct cpu *cpu);
void thread_set_comm(struct thread *th, const char *comm);
void thread_show_vcpu(struct thread *th);
void thread_show_vcpu_state(struct thread *th);
/* Nothing is known about what it does from here on, but that it @runs. */
void thread_forget(struct thread *th);
void thread_end(struct thread *th);
/* Takes it off the list of its CPU: nothing is known of it, or it is dead. */
void thread_leave_list(struct thread *th, enum thread_state state);
enum thread_state thread_state_of(int64_t prev_state);
void thread_wake(struct cpu *cpu, const struct event *e);
/* It runs, or is ready to.  If it slept, and nobody was seen to wake it since it ran, that event
 * was lost. */
void thread_goes_on(struct thread *th);
void thread_fork(struct machine_state *mc, const struct event *e);
/* Both have that number, and it was not given to another process since one of them began: that
 * shows where it was not seen that a thread ended. */
bool thread_same_process(const struct thread *a, const struct thread *b);
void thread_new_task(struct machine_state *mc, const struct event *e);
void thread_exec(struct machine_state *mc, const struct event *e);
void thread_exit(struct machine_state *mc, const struct event *e);
void thread_free(struct machine_state *mc, const struct event *e);
void thread_rename(struct machine_state *mc, const struct event *e);

#endif
