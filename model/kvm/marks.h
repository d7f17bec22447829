/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_KVM_MARKS_H
#define MODEL_KVM_MARKS_H

#include "channel/reader.h"
#include "model/state/state.h"

/*
 * What guests mark: by hypercalls of their user space, which their host recorded, or as events of
 * their own.  A mark is of the thread that ran on the vCPU at that moment; who that was is the
 * guest's own trace's word, where there is one, and as exact as its clock.
 */

/* @cpu: the vCPU; where it is not known, the CPU of the host. */
void mark_call(struct cpu *cpu, const struct ht_mark_call *mark);
void mark_event(struct cpu *cpu, const struct event *e);
void mark_line(struct cpu *cpu, const struct event *e);

/* An event of user space's own trace (trace->user_space).  Its thread is the one that has the
 * number that the event tells: the one on the CPU, or, for it may have been moved between looking
 * at the CPU and the event, another of that name; else it is not known, and the text says whose
 * event it is.
 */
void mark_user(struct cpu *cpu, const struct event *e);

#endif
