/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHED_THROTTLE_H
#define MODEL_SCHED_THROTTLE_H

#include "model/state/state.h"

/*
 * Cgroups whose quota is used up, CPU by CPU, where the trace tells (record/tracers/throttle.h),
 * and the vCPUs' threads that may not run for it.  A thread waits for one CPU at a time: the one it
 * left, was woken for or moved to.
 */

/* Whether the machine's trace would tell: its recorder had these events, used up a quota or not. */
bool throttle_is_told(const struct trace *trace);
/* ... of which machines. */
void throttles_open(struct model *m);

/* EV_CPU_THROTTLE or EV_CPU_UNTHROTTLE of the machine. */
void throttle_event(struct machine_state *mc, const struct event *e);

/* Whether the thread may not run on the CPU of that number. */
bool throttle_holds(const struct thread *th, int cpu);

/* The thread can run, and waits for the CPU of that number (-1 unknown) from now on. */
void throttle_queued(struct thread *th, int64_t cpu);

/* Why the vCPU that the thread runs is off, for throttle_forget() to know. */
void throttle_why(struct thread *th, enum why_off why);

/* Events of the machine were lost: that a quota is there again may be among them. */
void throttle_forget(struct machine_state *mc);

#endif
