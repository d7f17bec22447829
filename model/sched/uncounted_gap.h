/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHED_UNCOUNTED_GAP_H
#define MODEL_SCHED_UNCOUNTED_GAP_H

#include "model/state/state.h"

/*
 * Holes that nothing counts, with the same thread on both sides: what else shows them.
 *
 * A guest's event is recorded while its vCPU executes.  Where a host's trace says that it does not,
 * the clocks may be wrong, by their bounds and no more.  A guest that goes on like that for longer,
 * without an event that fits, is right: the host's stream has a hole that nothing counts, and by
 * chance the same thread on both sides of it.  Then the vCPU runs on one of the host's CPUs that
 * are silent meanwhile, and nothing is known of these until they tell; or it was in the hole that
 * the vCPU's kernel entered its own guest, or left it.
 *
 * A guest that is given its timer's interrupt shows that, if it ever does; one that is given some
 * and shows nothing has the hole.  So has a CPU of L0 that does not stir, though threads were woken
 * for it long ago.
 */

/* @vcpu's own kernel has recorded an event, and the parent's trace says of @denied, which is @vcpu
 * or around it, that it does not execute it. */
void contradict(struct cpu *vcpu, struct cpu *denied);
/* @vcpu is given an interrupt. */
void contradict_given(struct cpu *vcpu, int vector);
/* A thread was put into the queue of the CPU of that number, as @by recorded. */
void contradict_queued(struct cpu *by, int64_t number);

#endif
