/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity/vm_counts.h"

static uint32_t count_of(const struct map *counts, uint64_t key)
{
	const uint32_t *count = map_get(counts, key);

	return count ? *count : 0;
}

static void count_by_process(const struct machine_state *vm, int by)
{
	struct model *m = vm->model;
	uint64_t key = pair_key(vm->parent, (uint32_t)vm->vm_pid);

	model_put(m, &m->vms_of_process, key, count_of(&m->vms_of_process, key) + (uint32_t)by);
}

void vm_counts_add(struct machine_state *vm)
{
	if (vm->counted || !vm->parent)
		return;
	vm->counted = true;
	vm->parent->nr_counted++;
	count_by_process(vm, 1);
}

void vm_counts_number(const struct cpu *cpu)
{
	const struct machine_state *vm = cpu->machine;
	struct model *m = vm->model;
	uint64_t own = pair_key(vm, (uint32_t)cpu->number), all;

	if (!cpu->vcpu.host || cpu->number < 0 || !vm->parent || map_get(&m->hosted_numbers, own))
		return;
	model_put(m, &m->hosted_numbers, own, 1);
	all = pair_key(vm->parent, (uint32_t)cpu->number);
	model_put(m, &m->vms_numbered, all, count_of(&m->vms_numbered, all) + 1);
}

void vm_counts_set_process(struct machine_state *vm, int32_t pid)
{
	if (vm->counted)
		count_by_process(vm, -1);
	vm->vm_pid = pid;
	if (vm->counted)
		count_by_process(vm, 1);
}

/* All others are known to be of other processes. */
static bool is_other_process(const struct machine_state *vm)
{
	const struct model *m = vm->model;

	return vm->vm_pid >= 0 && !count_of(&m->vms_of_process, pair_key(vm->parent, UINT32_MAX)) &&
	       count_of(&m->vms_of_process, pair_key(vm->parent, (uint32_t)vm->vm_pid)) ==
		       vm->counted;
}

bool vm_counts_is_alone(const struct machine_state *vm)
{
	const struct model *m = vm->model;

	if (!vm->parent || m->broken)
		return false;
	if (is_other_process(vm))
		return true;
	/* All others have a vCPU of a number that it has, too. */
	for (const struct cpu *cpu = vm->first_cpu; cpu; cpu = cpu->next_of_machine) {
		if (cpu->number >= 0 && cpu->vcpu.host &&
		    count_of(&m->vms_numbered, pair_key(vm->parent, (uint32_t)cpu->number)) ==
			    vm->parent->nr_counted)
			return true;
	}
	return false;
}
