/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_KVM_HYPERCALLS_H
#define MODEL_KVM_HYPERCALLS_H

#include "model/state/state.h"

/*
 * Hypercalls of the hypertrace format, as a host recorded them: marks, and what only a guest's
 * kernel may send (channel/origin.h).  What a process sent of that, or nobody knows who, is
 * refused, and counted in table "refused": no reader of hypercalls uses it,
 * libsonde/inputs/within.h and clock/sample/watch.h no more than this.
 */

/* Marks of one VM's processes in a second; more are refused. */
#define CALLS_MARKS_PER_S 10000
/* ... and all that a history keeps of one VM. */
#define CALLS_MARKS_PER_VM (1u << 20)

/* Events of CALL_ORIGIN_KINDS, and EV_LOST: who will have made the next hypercall. */
void calls_follow(struct cpu *cpu, const struct event *e);
/* EV_KVM_HYPERCALL and EV_KVM_NESTED_HYPERCALL */
void call_event(struct cpu *cpu, const struct event *e);

#endif
