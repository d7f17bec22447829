/* SPDX-License-Identifier: Apache-2.0 */
#include "model/state/irq_stack.h"

/* Handlers that may be executing, unseen since they began: the detail of a frame of MODE_UNKNOWN.
 */
#define MAYBE_IRQ 1
#define MAYBE_SOFTIRQ 2

void cpu_doubt_handlers(struct cpu *cpu)
{
	cpu->irqs[0] = (struct irq_frame){MODE_UNKNOWN, MAYBE_IRQ | MAYBE_SOFTIRQ};
	cpu->nr_irqs = 1;
}

static bool doubts_handlers(const struct cpu *cpu)
{
	return cpu->nr_irqs && cpu->irqs[0].mode == MODE_UNKNOWN;
}

void cpu_no_handlers(struct cpu *cpu)
{
	if (unlikely(doubts_handlers(cpu)))
		cpu->nr_irqs = 0;
}

/* A handler begins, or one ends that was not seen to begin.  Interrupts are off in a handler of
 * one, and soft interrupts come after it: no other of its kind, and none of the other, lies below.
 */
static void settle_handlers(struct cpu *cpu, uint32_t mode)
{
	if (likely(!doubts_handlers(cpu)))
		return;
	cpu->irqs[0].detail &= mode == MODE_IRQ ? ~MAYBE_IRQ : 0;
	if (!cpu->irqs[0].detail)
		cpu->nr_irqs = 0;
}

void cpu_save_softirq(struct cpu *cpu)
{
	struct thread *th = cpu->thread;

	th->in_softirq = cpu->nr_irqs && cpu->irqs[cpu->nr_irqs - 1].mode == MODE_SOFTIRQ;
	if (unlikely(th->in_softirq))
		th->softirq = cpu->irqs[cpu->nr_irqs - 1].detail;
	cpu->nr_irqs = 0;
}

void cpu_restore_softirq(struct cpu *cpu)
{
	if (likely(!cpu->thread->in_softirq))
		return;
	cpu->thread->in_softirq = false;
	cpu->irqs[0] = (struct irq_frame){MODE_SOFTIRQ, cpu->thread->softirq};
	cpu->nr_irqs = 1;
}

void cpu_irq_enter(struct cpu *cpu, uint32_t mode, int64_t detail)
{
	cpu->machine->sees_interrupts |= mode == MODE_IRQ;
	cpu_left_code(cpu);
	settle_handlers(cpu, mode);
	/* Linux nests a hardirq in a softirq, seldom more: deeper, ends were lost. */
	if (cpu->nr_irqs < IRQ_DEPTH)
		cpu->irqs[cpu->nr_irqs++] = (struct irq_frame){mode, (int32_t)detail};
}

/* Ends the innermost handler of that kind, and whatever still lies upon it.  A handler that was
 * never seen to begin tells that it is not any more. */
void cpu_irq_exit(struct cpu *cpu, uint32_t mode, int64_t detail)
{
	for (unsigned i = cpu->nr_irqs; i-- > 0;) {
		if (cpu->irqs[i].mode == mode && cpu->irqs[i].detail == (int32_t)detail) {
			cpu->nr_irqs = i;
			cpu_left_code(cpu);
			return;
		}
	}
	settle_handlers(cpu, mode);
}
