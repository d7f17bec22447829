/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHED_LOSSES_H
#define MODEL_SCHED_LOSSES_H

#include "model/state/state.h"

/*
 * Events that are lost, and CPUs that a trace does not cover: what is not known any more.
 */

void cpu_lost(struct cpu *cpu, const struct event *e);
/* ... until @until at least, and until something tells. */
void cpu_now_lost(struct cpu *cpu, ns_t until);
/* The trace ends at @end, and so does what was lost if nothing has told since; what begins
 * there has no length that is known. */
void cpu_not_found_again(struct cpu *cpu, ns_t end);
/* Events are missing in [@begin, @end], which only others' events show. */
void cpu_lost_uncounted(struct cpu *cpu, ns_t begin, ns_t end);
void cpu_uncovered(struct cpu *cpu);
/* The list of losses; @events -1: unknown how many.  What is lost of a CPU is the one that
 * cpu_not_found_again() goes on with. */
void cpu_add_loss(struct cpu *cpu, ns_t begin, ns_t end, int64_t events);
void loss_add(struct machine_state *mc, int cpu, ns_t begin, ns_t end, int64_t events);

#endif
