/* SPDX-License-Identifier: Apache-2.0 */
#include "model/contradict.h"

#include "model/cpu.h"
#include "model/fuse.h"

static bool is_silent(const struct cpu *cpu, ns_t since)
{
	return cpu->heard_at < since && !cpu->lost;
}

static void not_known(struct cpu *cpu)
{
	struct model *m = cpu->machine->model;

	problems_add(&m->problems,
		     "%s: guests' events show that a CPU's are missing: what it ran then is not known",
		     cpu->machine->name);
	cpu->loss = m->nr_losses;
	loss_add(cpu->machine, cpu->number, cpu->heard_at, m->now, -1);
	cpu_now_lost(cpu, m->now);
}

static bool lose_silent(struct machine_state *mc, ns_t since)
{
	bool any = false;

	for (unsigned i = 0; i < mc->nr_cpus; i++) {
		if (!mc->cpus[i] || !is_silent(mc->cpus[i], since))
			continue;
		not_known(mc->cpus[i]);
		any = true;
	}
	return any;
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
