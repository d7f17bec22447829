/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On whose behalf does a CPU's code act?
 *
 * What a device's interrupt is for is told by what led to it.  A block device of the host ends a
 * request and wakes a thread of a VMM, which has the VM's interrupt sent: that interrupt is for a
 * disk.  So a thread that is woken keeps why (FOR_ bits) until it sleeps again, and who is woken
 * by it in turn gets the same.  A vCPU that wakes its VMM asks for something; that says nothing.
 */
#include <string.h>

#include "model/state/irq_stack.h"
#include "model/identity/process.h"
#include "model/wake/on_behalf_of.h"

/* As in linux/interrupt.h. */
#define SOFTIRQ_NET_TX 2
#define SOFTIRQ_NET_RX 3
#define SOFTIRQ_BLOCK 4

static unsigned of_handler(const struct cpu *cpu)
{
	const struct irq_frame *f = &cpu->irqs[cpu->nr_irqs - 1];

	if (cpu->acts_for)
		return cpu->acts_for;
	if (f->mode != MODE_SOFTIRQ)
		return 0;
	if (f->detail == SOFTIRQ_BLOCK)
		return FOR_DISK;
	return f->detail == SOFTIRQ_NET_TX || f->detail == SOFTIRQ_NET_RX ? FOR_NET : 0;
}

static bool same_process(const struct thread *a, const struct thread *b)
{
	int32_t process = process_of_thread(a);

	return process >= 0 && process == process_of_thread(b);
}

unsigned source_activity(const struct cpu *cpu, const struct thread *woken)
{
	const struct thread *waker = cpu->thread;
	unsigned why;

	if (cpu->nr_irqs)
		return of_handler(cpu);
	if (cpu->acts_for)
		return cpu->acts_for;
	if (!waker || !waker->tid || waker->vcpu)
		return 0;
	/* QEMU does disk requests in a pool of threads (aio=threads), which wake its main loop when
	 * they are done: that one sends the interrupt. */
	why = waker->acts_for & (FOR_DISK | FOR_NET);
	if (!why && waker != woken && !woken->vcpu && same_process(waker, woken))
		why = FOR_POOL;
	return why;
}

/* ---- who delivers ------------------------------------------------------------------------------
 */

static bool in_timer_interrupt(const struct cpu *cpu)
{
	return cpu->nr_irqs && cpu->irqs[cpu->nr_irqs - 1].mode == MODE_IRQ &&
	       cpu->machine->timer_vector >= 0 && cpu->irq_vector == cpu->machine->timer_vector;
}

static struct note make(enum wake_cause cause, enum wake_evidence evidence, struct thread *by)
{
	return (struct note){.cause = (uint8_t)cause,
			     .evidence = (uint8_t)evidence,
			     .vector = -1,
			     .by = by && by->tid ? by : NULL};
}

/* Disk and network at once tell nothing. */
static struct note of_activity(unsigned why, enum wake_evidence otherwise, struct thread *by)
{
	switch (why) {
	case FOR_DISK:
	case FOR_DISK | FOR_POOL:
		return make(WAKE_DISK, EVIDENCE_BLOCK, by);
	case FOR_NET:
	case FOR_NET | FOR_POOL:
		return make(WAKE_NETWORK, EVIDENCE_NET, by);
	case FOR_POOL:
		return make(WAKE_DISK, EVIDENCE_POOL, by);
	default:
		return make(WAKE_DEVICE, otherwise, by);
	}
}

/* A vCPU's thread delivers what its guest sends, unless it plays a device just now. */
static struct note of_vcpu(const struct cpu *cpu)
{
	struct thread *th = cpu->thread;

	if (cpu->sends || (!cpu->routes && th->vcpu->vcpu.vmm < 0)) {
		struct note n = make(WAKE_IPI, EVIDENCE_IPI, th);

		n.from = th->vcpu;
		return n;
	}
	return make(WAKE_DEVICE, EVIDENCE_EMULATED, th);
}

static bool named(const struct thread *th, const char *start)
{
	return !strncmp(th->comm, start, strlen(start));
}

struct note source_of_delivery(const struct cpu *cpu)
{
	struct thread *th = cpu->thread;

	if (in_timer_interrupt(cpu))
		return make(WAKE_TIMER, EVIDENCE_TIMER_INTERRUPT, NULL);
	if (cpu_handler_unknown(cpu))
		return make(WAKE_UNKNOWN, EVIDENCE_VECTOR, NULL);
	if (cpu->nr_irqs)
		return of_activity(of_handler(cpu), EVIDENCE_HOST_IRQ, NULL);
	if (!th)
		return make(WAKE_UNKNOWN, EVIDENCE_VECTOR, NULL);
	if (th->vcpu)
		return of_vcpu(cpu);
	/* KVM's PIT expires in a host timer, whose handler leaves the interrupt to this thread. */
	if (named(th, "kvm-pit/"))
		return make(WAKE_TIMER, EVIDENCE_PIT, th);
	return of_activity(cpu->acts_for | th->acts_for, EVIDENCE_VMM, th);
}

/* In a trace that does not show what is delivered, who wakes a vCPU is the one who would. */
struct note source_of_wakeup(const struct cpu *cpu)
{
	struct note n = make(WAKE_VMM, EVIDENCE_NO_INTERRUPT, cpu->nr_irqs ? NULL : cpu->thread);

	if (in_timer_interrupt(cpu))
		return make(WAKE_TIMER, EVIDENCE_TIMER_INTERRUPT, NULL);
	if (cpu_handler_unknown(cpu))
		return make(WAKE_UNKNOWN, EVIDENCE_NONE, NULL);
	if (cpu->machine->sees_deliveries)
		return n;
	n = source_of_delivery(cpu);
	return n.cause == WAKE_DEVICE ? make(WAKE_UNKNOWN, EVIDENCE_UNSEEN, n.by) : n;
}
