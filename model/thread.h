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
/* That it is ready is not known while events of one of the machine's CPUs are lost: it is then unknown. */
void thread_set_state(struct thread *th, enum thread_state state);
/* Events of one of the machine's CPUs are lost from here on: it may be any of those that are ready that has it. */
void thread_doubt_ready(struct machine_state *mc);
void thread_set_on(struct thread *th, struct cpu *cpu);
void thread_set_comm(struct thread *th, const char *comm);
void thread_show_vcpu(struct thread *th);
void thread_show_vcpu_state(struct thread *th);
/* Nothing is known about what it does from here on, but that it @runs. */
void thread_forget(struct thread *th, bool runs);
void thread_end(struct thread *th);
/* Takes it off the list of its CPU: nothing is known of it, or it is dead. */
void thread_leave_list(struct thread *th, enum thread_state state);
enum thread_state thread_state_of(int64_t prev_state);
void thread_wake(struct cpu *cpu, const struct event *e);
/* It runs, or is ready to.  If it slept, and nobody was seen to wake it since it ran, that event was lost. */
void thread_goes_on(struct thread *th);
void thread_fork(struct machine_state *mc, const struct event *e);
void thread_new_task(struct machine_state *mc, const struct event *e);
void thread_exec(struct machine_state *mc, const struct event *e);
void thread_exit(struct machine_state *mc, const struct event *e);
void thread_free(struct machine_state *mc, const struct event *e);
void thread_rename(struct machine_state *mc, const struct event *e);

#endif
