/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CPU_H
#define MODEL_CPU_H

#include "model/state.h"

/*
 * A CPU's own state: which thread it runs, and the interrupt handlers stacked upon it.
 */

/* Other code executes from here on: what the one before did says nothing of it. */
static inline void cpu_left_code(struct cpu *cpu)
{
	cpu->acts_for = 0;
	cpu->routes = cpu->sends = false;
	cpu->tap = NULL;
	cpu->delivery.evidence = EVIDENCE_NONE;
}

/* That which it has turned out to be: follows merged_into. */
static inline const struct cpu *cpu_root(const struct cpu *cpu)
{
	while (cpu->merged_into)
		cpu = cpu->merged_into;
	return cpu;
}

void cpu_lose_thread(struct cpu *cpu);
void cpu_adopt(struct cpu *cpu, int32_t tid);
/* The same before any event has said so. */
void cpu_has_run(struct cpu *cpu, int32_t tid);
void cpu_switch(struct cpu *cpu, const struct event *e);
void cpu_irq_enter(struct cpu *cpu, uint32_t mode, int64_t detail);
void cpu_irq_exit(struct cpu *cpu, uint32_t mode, int64_t detail);
void cpu_syscall_entry(struct cpu *cpu, const struct event *e);
void cpu_syscall_exit(struct cpu *cpu);
void cpu_idle(struct cpu *cpu);
void cpu_forget(struct cpu *cpu);
/* A handler may execute on it that was not seen to begin.  This is a frame of its own, below all
 * others. */
void cpu_doubt_handlers(struct cpu *cpu);
/* What happens in threads only has happened: none does. */
void cpu_no_handlers(struct cpu *cpu);
static inline bool cpu_handler_unknown(const struct cpu *cpu)
{
	return cpu->nr_irqs && cpu->irqs[cpu->nr_irqs - 1].mode == MODE_UNKNOWN;
}
/* Whether the CPU is known may have changed: then so have the states of the vCPUs that are on it
 * or wait for it.  Of L0's CPUs it is known when their thread is; of a vCPU, when its state is and
 * the CPU that it is on or was on last is known. */
void cpu_reveal(struct cpu *cpu);
/* A step of taking another CPU down or up, as @by recorded it. */
void cpu_hotplug(struct cpu *by, const struct event *e);
void cpu_lost(struct cpu *cpu, const struct event *e);
/* ... until @until at least, and until something tells. */
void cpu_now_lost(struct cpu *cpu, ns_t until);
/* The trace ends at @end, and so does what was lost if nothing has told since; what begins there
 * has no length that is known. */
void cpu_not_found_again(struct cpu *cpu, ns_t end);
void cpu_uncovered(struct cpu *cpu);
/* The list of losses; @events -1: unknown how many.  What is lost of a CPU is the one that
 * cpu_not_found_again() goes on with. */
void cpu_add_loss(struct cpu *cpu, ns_t begin, ns_t end, int64_t events);
void loss_add(struct machine_state *mc, int cpu, ns_t begin, ns_t end, int64_t events);

#endif
