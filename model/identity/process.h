/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IDENTITY_PROCESS_H
#define MODEL_IDENTITY_PROCESS_H

#include "model/state/state.h"

/*
 * Which process a thread is of, and which VM a process is.
 *
 * A VMM is one process, all vCPUs of its VM are threads of it.  That is known from the first VM
 * entry of such a thread on, or from the start where the topology has found which thread runs which
 * vCPU (a *hint*).
 */

/* Known, or the thread that made it (a VMM's main thread makes all of its threads), or -1. */
int32_t process_of_thread(const struct thread *th);
/* Both have that number, and it was not given to another process since one of them began: that
 * shows where it was not seen that a thread ended. */
bool process_is_same(const struct thread *a, const struct thread *b);

/* The VM that the thread's process is; NULL unknown. */
struct machine_state *process_vm(const struct thread *th);
struct machine_state *process_vm_of_pid(const struct machine_state *host, int32_t pid);
/* The vCPU that the topology says the thread runs; NULL it does not. */
const struct hint *process_hint_of(const struct thread *host);

void process_learn_vm(struct machine_state *vm, const struct thread *host);
/* Its number is another's from now on. */
void process_gone(struct machine_state *host, int32_t pid);

#endif
