/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHED_WAKEUPS_H
#define MODEL_SCHED_WAKEUPS_H

#include "model/state/state.h"

/*
 * Wake-ups: who woke a thread, and from when on it waits for a CPU.
 *
 * The kernel records up to three events of one: sched_waking where the waker is, sched_wakeup when
 * the thread is put into a run queue, sched_wakeup_new for one that was just made.
 */

/* EV_SCHED_WAKING, EV_SCHED_WAKEUP, EV_SCHED_WAKEUP_NEW */
void wakeup_event(struct cpu *cpu, const struct event *e);

#endif
