/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATE_PEERS_H
#define MODEL_STATE_PEERS_H

#include "model/state/state.h"

/*
 * Threads that have a number in common: those of one process, and the vCPUs' threads that wait for
 * one CPU, or waited for it last.  What happens to all of these costs no look at any other thread.
 */

/* @th is one of those of that number in its machine from now on; -1: of none. */
void peers_put(struct thread *th, enum peers which, int32_t number);

/* The first of them; th->peers[@which].next is the next one. */
struct thread *peers_first(const struct machine_state *mc, enum peers which, int32_t number);

/* That is its process. */
void peers_set_process(struct thread *th, int32_t pid);

#endif
