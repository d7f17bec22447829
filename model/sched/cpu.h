/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SCHED_CPU_H
#define MODEL_SCHED_CPU_H

#include "model/state/state.h"

/*
 * A CPU's own state: which thread it runs, and the interrupt handlers stacked upon it.
 */

void cpu_adopt(struct cpu *cpu, int32_t tid);
/* The same before any event has said so. */
void cpu_has_run(struct cpu *cpu, int32_t tid);
void cpu_switch(struct cpu *cpu, const struct event *e);
void cpu_idle(struct cpu *cpu);
void cpu_forget(struct cpu *cpu);
/* The CPU's thread has left it, and no event says so. */
void cpu_left_unseen(struct cpu *cpu);
/* A step of taking another CPU down or up, as @by recorded it. */
void cpu_hotplug(struct cpu *by, const struct event *e);

#endif
