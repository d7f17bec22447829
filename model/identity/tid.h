/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IDENTITY_TID_H
#define MODEL_IDENTITY_TID_H

#include "model/state/state.h"

/*
 * Which thread a TID means.
 *
 * A kernel gives a TID again when its thread is gone, and of a recording the moment at which it was
 * gone may be lost: so a thread is one *incarnation* of a TID.  At each moment at most one of these
 * is alive; what is known of the others stays as it was.
 */

struct thread *thread_find(struct machine_state *mc, int32_t tid);
/* The living thread with this TID, made when it is new.  TID 0 is the idle task of @cpu; without
 * a CPU, and for TIDs that cannot be, NULL. */
struct thread *thread_get(struct machine_state *mc, int32_t tid, struct cpu *cpu);
struct thread *thread_new(struct machine_state *mc, int32_t tid);
void thread_set_comm(struct thread *th, const char *comm);

#endif
