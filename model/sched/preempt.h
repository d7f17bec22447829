/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHED_PREEMPT_H
#define MODEL_SCHED_PREEMPT_H

#include "model/state/state.h"

/*
 * Why a vCPU's thread loses its CPU though it could go on.
 *
 * No event says so, but what came right before does: a scheduler decides anew in the timer's
 * interrupt (the time is up), when it wakes a thread (which is due before), and when the thread
 * that runs must be moved.  A CPU that then idles had nothing else to run: the thread itself may
 * not, and on stock kernels that is a quota's doing.  Where the recorder has events for quotas,
 * these tell instead (throttle.h), on a CPU that others have, too.
 */

/* The CPU's thread, a vCPU's, is about to lose it to thread @next, though it could go on. */
void preempt_vcpu(struct cpu *cpu, const struct event *e);
void preempt_idle(struct cpu *cpu);
void preempt_moved(struct machine_state *mc, const struct event *e);

#endif
