/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kvm/vcpu_thread.h"

#include <assert.h>

#include "model/guest/guest_mode.h"
#include "model/identity/machine.h"
#include "model/wake/nested_waits.h"
#include "model/state/peers.h"
#include "model/identity/process.h"
#include "model/identity/vm_counts.h"
#include "model/wake/vcpu_waits.h"
#include "model/sched/thread.h"

/* A VMM that is started anew has new threads for the same vCPUs. */
static bool is_free(const struct cpu *cpu)
{
	return !cpu->vcpu.host || cpu->vcpu.host->state == THREAD_DEAD;
}

static void bind(struct cpu *cpu, struct thread *host)
{
	assert(!host->vcpu && cpu->machine->parent);
	if (cpu->vcpu.host) {
		cpu->vcpu.host->vcpu = NULL;
		peers_put(cpu->vcpu.host, PEERS_QUEUE, -1);
	}
	vcpu_init(&cpu->vcpu, host);
	vm_counts_add(cpu->machine);
	vm_counts_number(cpu);
	rest_note_up(cpu);
	vcpu_forget_inner(cpu);
	host->vcpu = cpu;
	peers_put(host, PEERS_QUEUE, host->queued_on);
	thread_show_vcpu(host);
}

/* As its VMM named the thread, where the events do not say; -1 where another has that name, too. */
static int64_t number_of(const struct machine_state *vm, const struct thread *host, int64_t told)
{
	int number = told < 0 ? machine_number_by_name(host) : -1;

	if (told >= 0)
		return told;
	return vm && number >= 0 && machine_cpu_numbered(vm, number) ? -1 : number;
}

/* A vCPU of a VM without a trace: the thread is one vCPU, whatever else we may learn of it. */
static struct cpu *untraced_vcpu(struct machine_state *vm, struct thread *host, int64_t number)
{
	struct cpu *cpu;

	if (host->machine->model->nr_cpus >= VCPUS_MAX) {
		problems_add(&host->machine->model->problems,
			     "more than %d CPUs and vCPUs; the others are only \"guest\"",
			     VCPUS_MAX);
		return NULL;
	}
	number = number_of(vm, host, number);
	if (!vm)
		vm = machine_add(host->machine->model, host->machine);
	cpu = vm ? machine_cpu_add(vm, number) : NULL;
	if (!cpu)
		return NULL;
	process_learn_vm(vm, host);
	machine_show_untraced(cpu, host);
	nested_outer_is_new(host->machine->model);
	return cpu;
}

struct cpu *vcpu_of_thread(struct thread *host, int64_t vcpu_id, bool may_wait)
{
	const struct hint *hint = process_hint_of(host);
	struct machine_state *vm = hint ? hint->vm : process_vm(host);
	int64_t number = hint ? hint->vcpu : vcpu_id;
	struct cpu *cpu = NULL;

	if (vm && vm->trace && number < 0 && may_wait)
		return NULL;
	if (vm && vm->trace && number >= 0 && number < TRACE_CPUS_MAX)
		cpu = machine_cpu(vm, (int)number);
	if (cpu && (hint || is_free(cpu)))
		process_learn_vm(vm, host);
	else
		cpu = untraced_vcpu(vm && vm->trace ? NULL : vm, host, number);
	if (cpu)
		bind(cpu, host);
	return cpu;
}
