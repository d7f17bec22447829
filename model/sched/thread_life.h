/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHED_THREAD_LIFE_H
#define MODEL_SCHED_THREAD_LIFE_H

#include "model/state/state.h"

/*
 * Threads are made, execute files, are renamed, end.
 */

void thread_fork(struct machine_state *mc, const struct event *e);
void thread_new_task(struct machine_state *mc, const struct event *e);
void thread_exec(struct machine_state *mc, const struct event *e);
void thread_exit(struct machine_state *mc, const struct event *e);
void thread_free(struct machine_state *mc, const struct event *e);
void thread_rename(struct machine_state *mc, const struct event *e);
/* A statedump says that @ppid is its parent now: where that it was made may have been lost, that
 * may be who adopted it when its maker ended. */
void thread_set_parent(struct thread *th, int64_t ppid);

#endif
