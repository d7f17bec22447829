/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sched/uncounted_gap.h"

#include "model/guest/fuse.h"
#include "model/sched/losses.h"

static bool is_silent(const struct cpu *cpu, ns_t since)
{
	return cpu->heard_at < since && !cpu->lost;
}

/* ... for who reads the traces again.  A machine without a trace has no events that could be missing. */
static void note_gap(const struct cpu *cpu, ns_t begin, ns_t end)
{
	const struct machine_state *mc = cpu->machine;
	struct model *m = mc->model;
	struct model_gaps *gaps = m->gaps;

	if (gaps && mc->trace &&
	    !model_grow(m, (void **)&gaps->list, gaps->nr, &gaps->room, sizeof(*gaps->list)))
		gaps->list[gaps->nr++] = (struct model_gap){mc->index, cpu->number, begin, end};
}

static void not_known(struct cpu *cpu)
{
	const struct model *m = cpu->machine->model;
	ns_t begin = cpu->heard_at > m->begin ? cpu->heard_at : m->begin;

	note_gap(cpu, begin, m->now);
	cpu_lost_uncounted(cpu, begin, m->now);
}

static void lose_silent(struct machine_state *mc, ns_t since)
{
	for (unsigned i = 0; i < mc->nr_cpus; i++) {
		if (mc->cpus[i] && is_silent(mc->cpus[i], since))
			not_known(mc->cpus[i]);
	}
}

/* True when something was due that long ago, and the CPU has not stirred since. */
static bool is_overdue(struct cpu *cpu, ns_t patience)
{
	ns_t now = cpu->machine->model->now;

	if (cpu->due_at <= cpu->heard_at) {
		cpu->due_at = now;
		cpu->nr_due = 0;
	}
	cpu->nr_due++;
	return now - cpu->due_at > patience && cpu->thread && !cpu->lost;
}

#define GIVEN_MIN 4 /* interrupts in a row */

void contradict_given(struct cpu *vcpu, int vector)
{
	const struct machine_state *vm = vcpu->machine;
	ns_t guest = vm->bound_ns, around = vm->parent->bound_ns;

	if (!vm->trace || vector != vm->timer_vector || guest < 0 || around < 0)
		return;
	if (is_overdue(vcpu, 2 * (guest + around)) && vcpu->nr_due >= GIVEN_MIN)
		not_known(vcpu);
}

/* An interrupt, or its tick at the latest, lets a CPU see to who waits for it. */
#define QUEUE_PATIENCE_NS (NS_PER_SEC / 10)

void contradict_queued(struct cpu *by, int64_t number)
{
	struct machine_state *mc = by->machine;
	struct cpu *cpu = number >= 0 && number < mc->nr_cpus ? mc->cpus[number] : NULL;

	/* Those of a guest may have to wait for a CPU themselves. */
	if (cpu && cpu != by && !mc->parent && is_overdue(cpu, QUEUE_PATIENCE_NS))
		not_known(cpu);
}

void contradict(struct cpu *vcpu, struct cpu *denied)
{
	const struct thread *host = denied->vcpu.host;
	ns_t now = vcpu->machine->model->now, since = vcpu->denied_at;
	ns_t guest = vcpu->machine->bound_ns, around = host->machine->bound_ns;

	if (since == NS_MIN)
		vcpu->denied_at = now;
	if (since == NS_MIN || guest < 0 || around < 0 || now - since <= 2 * (guest + around))
		return;
	vcpu->denied_at = NS_MIN;
	/* Its thread is on a CPU: on no other. */
	if (host->on && is_silent(host->on, since))
		not_known(host->on);
	else if (host->on && denied->vcpu.entered)
		denied->vcpu.nested = NESTED_UNKNOWN;
	else if (!host->on)
		lose_silent(host->machine, since);
	if (host->on)
		fuse(host->on);
}
