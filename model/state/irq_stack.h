/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATE_IRQ_STACK_H
#define MODEL_STATE_IRQ_STACK_H

#include "model/state/state.h"

/*
 * The handlers that lie upon a CPU's thread, innermost last: hardirqs, softirqs.
 */

/* Other code executes from here on: what the one before did says nothing of it. */
static inline void cpu_left_code(struct cpu *cpu)
{
	cpu->acts_for = 0;
	cpu->routes = cpu->sends = false;
	cpu->tap = NULL;
	cpu->delivery.evidence = EVIDENCE_NONE;
}

void cpu_irq_enter(struct cpu *cpu, uint32_t mode, int64_t detail);
void cpu_irq_exit(struct cpu *cpu, uint32_t mode, int64_t detail);
/* A handler may execute on it that was not seen to begin.  This is a frame of its own, below all
 * others. */
void cpu_doubt_handlers(struct cpu *cpu);
/* What happens in threads only has happened: none does. */
void cpu_no_handlers(struct cpu *cpu);

static inline bool cpu_handler_unknown(const struct cpu *cpu)
{
	return cpu->nr_irqs && cpu->irqs[cpu->nr_irqs - 1].mode == MODE_UNKNOWN;
}

/* The handlers are left before a switch; only PREEMPT_RT, where softirqs are threads' work, may
 * switch inside one: it is then that thread's when it runs again. */
void cpu_save_softirq(struct cpu *cpu);
void cpu_restore_softirq(struct cpu *cpu);

#endif
