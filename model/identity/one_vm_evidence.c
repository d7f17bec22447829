/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity/one_vm_evidence.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/identity/machine.h"

bool machines_other_processes(const struct machine_state *a, const struct machine_state *b)
{
	return a->vm_pid >= 0 && b->vm_pid >= 0 && a->vm_pid != b->vm_pid;
}

static const struct cpu *hosted(const struct machine_state *vm, int number)
{
	for (const struct cpu *cpu = vm->first_cpu; cpu; cpu = cpu->next_of_machine) {
		if (cpu->vcpu.host && (number < 0 || cpu->number == number))
			return cpu;
	}
	return NULL;
}

bool machines_may_be_one(const struct machine_state *a, const struct machine_state *b)
{
	if (a->parent != b->parent || machines_other_processes(a, b) ||
	    (!b->trace && !hosted(b, -1)))
		return false;
	for (const struct cpu *cpu = a->first_cpu; cpu; cpu = cpu->next_of_machine) {
		if (cpu->number >= 0 && cpu->vcpu.host && hosted(b, cpu->number))
			return false;
	}
	return true;
}

void machines_join(struct machine_state *a, struct machine_state *b)
{
	struct machine_state *to = a->index < b->index ? a : b;
	struct machine_state *from = to == a ? b : a;

	if (a == b || from->trace)
		return;
	assert(!a->merged_into && !b->merged_into);
	if (to->last_cpu)
		to->last_cpu->next_of_machine = from->first_cpu;
	else
		to->first_cpu = from->first_cpu;
	if (from->last_cpu)
		to->last_cpu = from->last_cpu;
	from->first_cpu = from->last_cpu = NULL;
	from->merged_into = to;
	if (!to->vm_name[0])
		snprintf(to->vm_name, sizeof(to->vm_name), "%s", from->vm_name);
	if (to->vm_pid < 0) {
		to->vm_pid = from->vm_pid;
		to->pid_known = from->pid_known;
	}
}

/* What a VM's own trace says of a CPU that no thread is known to run does not speak against one. */
static bool is_numbered(const struct machine_state *vm, const struct cpu *cpu)
{
	return cpu->number >= 0 && !cpu->merged_into && (cpu->vcpu.host || !vm->trace);
}

/* @vm is vCPUs that the trace of @traced knows of, but has no events of. */
static bool fits_trace(const struct machine_state *traced, const struct machine_state *vm)
{
	for (const struct cpu *cpu = vm->first_cpu; cpu; cpu = cpu->next_of_machine) {
		const struct cpu *own;

		if (cpu->number < 0 || (unsigned)cpu->number >= traced->trace->nr_cpus)
			return false;
		own = (unsigned)cpu->number < traced->nr_cpus ? traced->cpus[cpu->number] : NULL;
		if (own && own->heard_at != NS_MIN)
			return false;
	}
	return true;
}

static bool traces_allow(const struct joins *j, const struct machine_state *a,
			 const struct machine_state *b)
{
	if (!a->trace && !b->trace)
		return true;
	return j->traced && (a->trace ? !b->trace && fits_trace(a, b) : fits_trace(b, a));
}

static uint64_t key_of(uint32_t machine, const struct cpu *cpu)
{
	return (uint64_t)machine << 32 | (uint32_t)cpu->number;
}

/* 0, or that there is one already. */
static int put_cpus(struct map *numbered, uint32_t as, const struct machine_state *vm)
{
	int ret = 0;

	for (const struct cpu *cpu = vm->first_cpu; cpu; cpu = cpu->next_of_machine) {
		uint64_t key = key_of(as, cpu);

		if (!is_numbered(vm, cpu))
			continue;
		if (map_get(numbered, key))
			ret = -EEXIST;
		else if (map_put(numbered, key, cpu->index))
			return -ENOMEM;
	}
	return ret;
}

static void release(struct joins *j)
{
	map_release(&j->numbered);
	free(j->to);
	free(j->wrong);
	j->to = NULL;
	j->wrong = NULL;
}

static int out_of_memory(struct joins *j)
{
	release(j);
	model_no_memory(j->m);
	return -ENOMEM;
}

int joins_open(struct joins *j, struct model *m, const char *evidence)
{
	*j = (struct joins){.m = m, .evidence = evidence};
	j->to = calloc(m->nr_machines + 1, sizeof(*j->to));
	j->wrong = calloc(m->nr_machines + 1, sizeof(*j->wrong));
	if (!j->to || !j->wrong)
		return out_of_memory(j);
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		j->to[i] = i;
		if (put_cpus(&j->numbered, i, m->machines[i]) == -ENOMEM)
			return out_of_memory(j);
	}
	return 0;
}

/* Both have a vCPU of one number: they cannot be the same VM.  Costs what the smaller one has. */
static bool collide(const struct joins *j, const struct machine_state *a,
		    const struct machine_state *b)
{
	const struct cpu *x = a->first_cpu, *y = b->first_cpu;

	for (; x && y; x = x->next_of_machine, y = y->next_of_machine) {
		if ((is_numbered(a, x) && map_get(&j->numbered, key_of(b->index, x))) ||
		    (is_numbered(b, y) && map_get(&j->numbered, key_of(a->index, y))))
			return true;
	}
	return false;
}

bool joins_possible(const struct joins *j, struct machine_state *a, struct machine_state *b)
{
	return traces_allow(j, a, b) && machine_root(a->parent) == machine_root(b->parent) &&
	       !machines_other_processes(a, b) && !collide(j, a, b);
}

static uint32_t first_of(struct joins *j, uint32_t i)
{
	for (; j->to[i] != i; i = j->to[i])
		j->to[i] = j->to[j->to[i]];
	return i;
}

bool joins_note(struct joins *j, struct machine_state *a, struct machine_state *b)
{
	uint32_t x, y;

	a = machine_root(a);
	b = machine_root(b);
	if (a == b)
		return true;
	if (!joins_possible(j, a, b))
		return false;
	x = first_of(j, a->index);
	y = first_of(j, b->index);
	j->to[x > y ? x : y] = x < y ? x : y;
	return true;
}

void joins_refute(struct joins *j, struct machine_state *a, struct machine_state *b)
{
	j->wrong[machine_root(a)->index] = j->wrong[machine_root(b)->index] = true;
}

/* Those with a trace come first. */
static bool contradicts_trace(const struct machine_state *first, const struct machine_state *vm)
{
	return first != vm && first->trace && (vm->trace || !fits_trace(first, vm));
}

/* Which of all that are held together cannot be one: by the first machine of these. */
static int find_wrong(struct joins *j)
{
	const struct machine_state **known = calloc(j->m->nr_machines + 1, sizeof(*known));
	int ret = known ? 0 : -ENOMEM;

	map_release(&j->numbered);
	j->numbered = (struct map){0};
	for (uint32_t i = 0; i < j->m->nr_machines && ret != -ENOMEM; i++) {
		const struct machine_state *vm = j->m->machines[i];
		uint32_t first = first_of(j, i);

		ret = put_cpus(&j->numbered, first, vm);
		j->wrong[first] |= j->wrong[i] || (ret == -EEXIST && first != i) ||
				   contradicts_trace(j->m->machines[first], vm) ||
				   (known[first] && machines_other_processes(known[first], vm));
		if (vm->vm_pid >= 0)
			known[first] = vm;
	}
	free(known);
	return ret == -ENOMEM ? ret : 0;
}

/* Those of which the VM's own trace tells, too, but nothing told that they are these: the host saw
 * when they ran, which nothing else says. */
static void merge_numbered(struct machine_state *from, struct machine_state *to)
{
	for (struct cpu *cpu = from->first_cpu; cpu; cpu = cpu->next_of_machine) {
		for (struct cpu *same = to->first_cpu; same; same = same->next_of_machine) {
			if (same->number != cpu->number || same->merged_into)
				continue;
			same->merged_into = cpu;
			break;
		}
	}
}

/* The VM's own trace, were it whole, would say which guest is at an address, and since when: an
 * address does not.  Guests of the only vCPU are guests of it; nothing tells them apart. */
static void forget_addresses(const struct machine_state *vm)
{
	const struct model *m = vm->model;

	if (!vm->first_cpu || vm->first_cpu->next_of_machine)
		return;
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *cpu = m->cpus[i];

		if (cpu->machine->parent != vm || !cpu->nested_id || cpu->machine->trace)
			continue;
		cpu->nested_id = 0;
		cpu->any_of = vm->first_cpu;
	}
}

void machine_join_traced(struct machine_state *traced, struct machine_state *vm)
{
	merge_numbered(vm, traced);
	forget_addresses(vm);
	machines_join(traced, vm);
}

void joins_settle(struct joins *j)
{
	if (find_wrong(j)) {
		out_of_memory(j);
		return;
	}
	for (uint32_t i = 0; i < j->m->nr_machines; i++) {
		uint32_t first = first_of(j, i);
		struct machine_state *to = j->m->machines[first];

		if (first == i || j->wrong[first])
			continue;
		if (to->trace) {
			machine_join_traced(to, j->m->machines[i]);
			continue;
		}
		machines_join(to, j->m->machines[i]);
		snprintf(to->evidence, sizeof(to->evidence), "%s", j->evidence);
	}
	release(j);
}
