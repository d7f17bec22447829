/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity/one_vm.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/members.h"
#include "model/identity/one_vm_evidence.h"
#include "model/identity/machine.h"
#include "model/identity/process.h"

/* Fewer direct wake-ups than this prove nothing. */
#define WAKEUPS_MIN 3

void group_note_wakeup(struct cpu *waker, struct cpu *woken)
{
	struct model *m = waker->machine->model;
	uint64_t key = (uint64_t)waker->index << 32 | woken->index;
	uint32_t *nr = map_get(&m->wakeups, key);

	if (nr)
		(*nr)++;
	else
		model_put(m, &m->wakeups, key, 1);
}

/* ---- the three kinds of evidence ---------------------------------------------------------------
 */

static bool lived_together(const struct thread *a, const struct thread *b)
{
	return a && b && a->begin <= b->end && b->begin <= a->end && process_is_same(a, b);
}

/* Threads of both were there at one time: what has the same number was the same process. */
static bool were_together(const struct machine_state *a, const struct machine_state *b)
{
	for (const struct cpu *x = a->first_cpu; x; x = x->next_of_machine) {
		for (const struct cpu *y = b->first_cpu; y; y = y->next_of_machine) {
			if (lived_together(x->vcpu.host, y->vcpu.host))
				return true;
		}
	}
	return false;
}

static void join_process(struct machine_state *vm, const struct thread *host)
{
	const struct model *m = vm->model;
	const uint32_t *index =
		map_get(&m->vm_by_pid, pair_key(host->machine, (uint32_t)process_of_thread(host)));
	struct machine_state *known = index ? machine_root(m->machines[*index]) : NULL;

	/* A number that was free in between is another process's. */
	if (known && known != vm && !known->trace && were_together(known, vm))
		machines_join(known, vm);
}

/* What was known at a vCPU's first event is used already; more may have come to light since. */
static void learn_processes(struct model *m, bool traced)
{
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		const struct thread *host = m->cpus[i]->vcpu.host;
		struct machine_state *vm = machine_root(m->cpus[i]->machine);

		if (!host || process_of_thread(host) < 0 || !vm->trace == traced)
			continue;
		if (!traced)
			join_process(vm, host);
		process_learn_vm(machine_root(vm), host);
	}
}

/* Of a VM that has a trace, CPUs have their own numbers. */
static bool all_numbered(struct machine_state *vm)
{
	bool all = true;

	for (struct cpu *cpu = vm->first_cpu; cpu; cpu = cpu->next_of_machine) {
		if (cpu->number < 0)
			cpu->number = machine_number_by_name(cpu->vcpu.host);
		all &= cpu->number >= 0;
	}
	return all;
}

/* VMs with a trace, by their processes: the first one of each stands for it. */
struct traced_vms {
	struct map first; /* parent << 32 | pid -> machine */
	struct members all;
};

static bool is_of_process(const struct machine_state *vm)
{
	return vm->trace && vm->parent && vm->pid_known;
}

static uint64_t process_key(const struct machine_state *vm)
{
	return pair_key(vm->parent, (uint32_t)vm->vm_pid);
}

static void find_traced(struct traced_vms *t, struct model *m)
{
	uint32_t nr = m->topo->nr_machines;

	if (members_init(&t->all, nr, nr)) {
		model_no_memory(m);
		return;
	}
	for (uint32_t i = nr; i-- > 0;) {
		if (is_of_process(m->machines[i]))
			model_put(m, &t->first, process_key(m->machines[i]), i);
	}
	for (uint32_t i = nr; i-- > 0;) {
		const uint32_t *first = is_of_process(m->machines[i])
						? map_get(&t->first, process_key(m->machines[i]))
						: NULL;

		if (first)
			members_add(&t->all, *first, i);
	}
}

/* The VM with a trace that is the process that @vm is; NULL none, or not proven. */
static struct machine_state *traced_of(const struct traced_vms *t, const struct machine_state *vm)
{
	const uint32_t *first = vm->pid_known ? map_get(&t->first, process_key(vm)) : NULL;

	for (int64_t i = first ? members_first(&t->all, *first) : -1; i >= 0;
	     i = members_next(&t->all, i)) {
		struct machine_state *traced = vm->model->machines[i];

		if (machines_may_be_one(vm, traced) && were_together(vm, traced))
			return traced;
	}
	return NULL;
}

/* vCPUs that its own trace does not tell of, or that nothing was known to belong to it. */
static void join_traced(struct model *m)
{
	struct traced_vms traced_vms = {0};

	find_traced(&traced_vms, m);
	for (uint32_t i = m->topo->nr_machines; i < m->nr_machines; i++) {
		struct machine_state *vm = m->machines[i], *traced = NULL;

		if (!vm->merged_into && vm->vm_pid >= 0 && !vm->trace)
			traced = traced_of(&traced_vms, vm);
		if (!traced || !all_numbered(vm))
			continue;
		machine_join_traced(traced, vm);
	}
	map_release(&traced_vms.first);
	members_release(&traced_vms.all);
}

/* Those without a trace are joined with each other before any is with one that has a trace: what
 * collides with that one is then known of all of a VM. */
static void by_process(struct model *m)
{
	learn_processes(m, true);
	learn_processes(m, false);
	join_traced(m);
}

static int by_address(const void *a, const void *b)
{
	const struct cpu *x = *(struct cpu *const *)a, *y = *(struct cpu *const *)b;

	if (x->nested_id != y->nested_id)
		return x->nested_id < y->nested_id ? -1 : 1;
	if (x->nested_pgd != y->nested_pgd)
		return x->nested_pgd < y->nested_pgd ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The nested vCPUs [from, to) have one address and page table: their VMs are one, if all can be. */
static void join_nested(struct joins *j, struct cpu **from, struct cpu **to)
{
	for (struct cpu **a = from; a < to; a++) {
		for (struct cpu **b = from; b < a; b++) {
			struct machine_state *x = machine_root((*a)->machine->parent);
			struct machine_state *y = machine_root((*b)->machine->parent);

			if (x != y && !joins_possible(j, x, y))
				return;
		}
	}
	for (struct cpu **a = from + 1; a < to; a++)
		joins_note(j, (*from)->machine->parent, (*a)->machine->parent);
}

/* More VMs than this with one address are so many images of a kind. */
#define SAME_ADDRESS_MAX 64

static void by_nested(struct model *m)
{
	struct cpu **list = calloc(m->nr_cpus + 1, sizeof(*list));
	struct joins j;
	uint32_t nr = 0;

	if (!list) {
		model_no_memory(m);
		return;
	}
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		if (m->cpus[i]->nested_id && m->cpus[i]->nested_pgd)
			list[nr++] = m->cpus[i];
	}
	qsort(list, nr, sizeof(*list), by_address);
	if (joins_open(&j, m,
		       "KVM events in its host's trace; its vCPUs entered the same nested vCPU")) {
		free(list);
		return;
	}
	for (uint32_t from = 0, to; from < nr; from = to) {
		for (to = from + 1; to < nr && list[to]->nested_id == list[from]->nested_id &&
				    list[to]->nested_pgd == list[from]->nested_pgd;
		     to++)
			;
		if (to - from <= SAME_ADDRESS_MAX)
			join_nested(&j, list + from, list + to);
	}
	joins_settle(&j);
	free(list);
}

static void by_wakeups(struct model *m)
{
	struct joins j;

	if (joins_open(&j, m, "KVM events in its host's trace; its vCPUs wake each other"))
		return;
	j.traced = true;
	for (uint32_t i = 0; m->wakeups.slots && i <= m->wakeups.mask; i++) {
		const struct map_slot *slot = &m->wakeups.slots[i];

		if (slot->used && slot->value >= WAKEUPS_MIN)
			joins_note(&j, m->cpus[slot->key >> 32]->machine,
				   m->cpus[(uint32_t)slot->key]->machine);
	}
	joins_settle(&j);
}

/* ---- guests with a trace in VMs without one ---------------------------------------------------
 */

#define HOLDS_TEXT "KVM events in its host's trace; a guest of it has a trace"

/* All that were seen to run a guest are one, if all can be. */
static void note_places(struct joins *j, struct machine_state *vm)
{
	for (const struct held *h = vm->holds; h; h = h->next) {
		if (!h->guest->runs_in)
			h->guest->runs_in = vm;
		else if (!joins_note(j, h->guest->runs_in, vm))
			joins_refute(j, h->guest->runs_in, vm);
	}
}

/* Where each guest with a trace was seen to run. */
static void join_places(struct model *m)
{
	struct joins j;

	if (joins_open(&j, m, HOLDS_TEXT))
		return;
	for (uint32_t i = 0; i < m->nr_machines; i++)
		note_places(&j, m->machines[i]);
	joins_settle(&j);
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *vm = m->machines[i];

		for (const struct held *h = vm->holds; h; h = h->next)
			h->guest->disputed |= machine_root(h->guest->runs_in) != machine_root(vm);
	}
}

/* The only VM of @host without a trace that was seen to run a guest; NULL there are several. */
static struct machine_state *only_host(struct model *m, const struct machine_state *host)
{
	struct machine_state *found = NULL;

	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *vm = m->machines[i];

		if (!vm->runs_nested || vm->trace || vm->parent != host)
			continue;
		if (found && machine_root(found) != machine_root(vm))
			return NULL;
		found = vm;
	}
	return found;
}

/* What the topology has for the VM that it is in becomes one that was found; where none was, one
 * stands for all that they may be in. */
static void place(struct machine_state *guest, struct machine_state **unknown)
{
	struct machine_state *around = guest->parent, *vm = guest->disputed ? NULL : guest->runs_in;

	if (!vm && !*unknown && !around->vm_name[0])
		*unknown = around;
	if (!vm)
		vm = around->vm_name[0] ? around : *unknown;
	vm = machine_root(vm);
	snprintf(around->evidence, sizeof(around->evidence), "%s", HOLDS_TEXT);
	if (machine_root(around) != vm)
		machines_join(machine_root(around), vm);
}

static void by_guests(struct model *m)
{
	struct machine_state *unknown = NULL;

	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *vm = m->machines[i];

		if (vm->turned_out && vm != vm->turned_out && !vm->merged_into)
			machines_join(vm, machine_root(vm->turned_out));
	}
	join_places(m);
	for (uint32_t i = 0; i < m->topo->nr_machines; i++) {
		struct machine_state *mc = m->machines[i];

		if (!is_between(mc))
			continue;
		if (!mc->runs_in)
			mc->runs_in = only_host(m, mc->parent->parent);
		place(mc, &unknown);
	}
}

/* ---- nested VMs of VMs that are now one --------------------------------------------------------
 */

static void merge_cpu(struct cpu *from, struct cpu *to)
{
	from->merged_into = to;
	if (!to->machine->trace)
		to->path[0] = '\0'; /* each has a part of what it did: neither tells */
	if (machine_root(from->machine) != machine_root(to->machine))
		machines_join(machine_root(from->machine), machine_root(to->machine));
}

static void merge_one(struct model *m, struct map *seen, struct cpu *cpu)
{
	const uint64_t vm = machine_root(cpu->machine->parent)->index;
	const uint64_t key = cpu->nested_id ^ vm << 52;
	const uint32_t *same = map_get(seen, key);

	if (!same || m->cpus[*same]->nested_id != cpu->nested_id)
		model_put(m, seen, key, cpu->index);
	else if (!cpu->merged_into && !cpu->machine->trace)
		merge_cpu(cpu, m->cpus[*same]);
}

/* It is known to be a CPU of a machine with a trace: its own, by the events of the VM it is in. */
static bool is_told(const struct cpu *cpu)
{
	return cpu->merged_into || cpu->machine->trace;
}

static bool is_nested(const struct cpu *cpu)
{
	return (cpu->nested_id || cpu->any_of) && !is_between(cpu->machine);
}

/* In a VM with a trace it is a guest of that vCPU, as it is where the trace does not tell which. */
static void merge_any(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *cpu = m->cpus[i], *outer = cpu->any_of;

		if (!outer || cpu->merged_into || !machine_root(outer->machine)->trace)
			continue;
		cpu->merged_into = outer;
		if (machine_root(cpu->machine) != machine_root(outer->machine))
			machines_join(machine_root(cpu->machine), machine_root(outer->machine));
	}
}

/* Those first of which that is known. */
static void merge_nested(struct model *m)
{
	struct map seen = {0};

	merge_any(m);
	for (unsigned known = 2; known--;) {
		for (uint32_t i = 0; i < m->nr_cpus; i++) {
			struct cpu *cpu = m->cpus[i];

			if (is_nested(cpu) && is_told(cpu) == known)
				merge_one(m, &seen, cpu);
		}
	}
	map_release(&seen);
}

/* ---- numbers and names -------------------------------------------------------------------------
 */

/* The first CPU of each number keeps it; the others get those that are left. */
static void index_numbers(struct machine_state *vm, struct map *taken)
{
	for (struct cpu *cpu = vm->first_cpu; cpu; cpu = cpu->next_of_machine) {
		if (cpu->number < 0)
			cpu->number = machine_number_by_name(cpu->vcpu.host);
		if (cpu->number >= 0 && !cpu->merged_into && !map_get(taken, (uint32_t)cpu->number))
			model_put(vm->model, taken, (uint32_t)cpu->number, cpu->index);
	}
}

static void number_cpus(struct machine_state *vm)
{
	struct map taken = {0};
	uint32_t next = 0;

	index_numbers(vm, &taken);
	for (struct cpu *cpu = vm->first_cpu; cpu; cpu = cpu->next_of_machine) {
		const uint32_t *first =
			cpu->number >= 0 ? map_get(&taken, (uint32_t)cpu->number) : NULL;

		if (cpu->any_of || cpu->merged_into || (first && *first == cpu->index))
			continue;
		while (map_get(&taken, next))
			next++;
		cpu->number = (int)next;
		model_put(vm->model, &taken, next, cpu->index);
	}
	map_release(&taken);
}

/* The thread that runs the VM's first vCPU. */
static const struct thread *host_of(const struct machine_state *vm)
{
	const struct cpu *first = NULL;

	for (const struct cpu *cpu = vm->first_cpu; cpu; cpu = cpu->next_of_machine) {
		if (cpu->vcpu.host && (!first || cpu->number < first->number))
			first = cpu;
	}
	return first ? first->vcpu.host : NULL;
}

/* It stands for VMs that are in the trace of their host, but not known to be around a guest. */
static bool is_unknown(const struct machine_state *vm)
{
	return !vm->first_cpu && !vm->parent->parent && vm->index < vm->model->topo->nr_machines;
}

/* How many of its guests have a trace; @one: one of them. */
static unsigned count_traced(const struct machine_state *vm, const struct machine_state **one)
{
	const struct model *m = vm->model;
	unsigned nr = 0;

	for (uint32_t i = 0; i < m->topo->nr_machines; i++) {
		const struct machine_state *guest = m->machines[i];

		if (!guest->trace || !guest->parent || machine_root(guest->parent) != vm)
			continue;
		*one = guest;
		nr++;
	}
	return nr;
}

/* It stands for guests that nothing tells apart, and one of them has a trace; or for one that was
 * told by its address only, where the VM's own trace names them.  How many have; @one of them. */
static unsigned stands_beside(const struct machine_state *vm, const struct machine_state **one)
{
	const struct machine_state *around = machine_root(vm->parent);
	const struct cpu *cpu = vm->first_cpu;

	if (!cpu || cpu->merged_into || (!cpu->any_of && !(cpu->nested_id && around->trace)))
		return 0;
	return count_traced(around, one);
}

static const char *evidence_of(const struct machine_state *vm, const struct thread *host)
{
	if (is_unknown(vm))
		return "a guest of it is active only while its host runs guests of VMs without a "
		       "trace; which VM that is, is not known";
	if (!host)
		return "nested VM entries and exits in the trace of its VM's host";
	if (vm->pid_known)
		return "KVM events of threads of one process, in its host's trace";
	if (vm->vm_pid >= 0)
		return "KVM events of threads made by one thread, in its host's trace";
	return "KVM events of one thread in its host's trace; its process is not known";
}

static void explain(struct machine_state *vm, const struct thread *host)
{
	const struct machine_state *one = NULL;
	unsigned nr;

	if (vm->evidence[0] && !is_unknown(vm))
		return;
	nr = is_unknown(vm) ? 0 : stands_beside(vm, &one);
	if (nr)
		snprintf(vm->evidence, sizeof(vm->evidence),
			 "nested VM entries that name no guest: %s ran, or another one",
			 nr == 1 ? one->name : "one that has a trace");
	else
		snprintf(vm->evidence, sizeof(vm->evidence), "%s", evidence_of(vm, host));
}

static void name_vm(struct machine_state *vm)
{
	struct machine_state *parent = machine_root(vm->parent);
	const struct thread *host = host_of(vm);
	const struct machine_state *one;
	char name[160], prefix[100] = "";

	vm->parent = parent;
	explain(vm, host);
	if (parent->parent)
		snprintf(prefix, sizeof(prefix), "%s.", parent->name);
	if (vm->vm_name[0])
		snprintf(name, sizeof(name), "%s", vm->vm_name);
	else if (is_unknown(vm))
		snprintf(name, sizeof(name), "vm-unknown");
	else if (stands_beside(vm, &one))
		snprintf(name, sizeof(name), "%s.nested", parent->name);
	else if (!host && vm->vm_pid < 0)
		snprintf(name, sizeof(name), "%s.nested%u", parent->name, ++parent->nr_nested);
	else if (vm->vm_pid >= 0)
		snprintf(name, sizeof(name), "%svm-%d", prefix, vm->vm_pid);
	else
		snprintf(name, sizeof(name), "%svm-tid%d", prefix, host->tid);
	machine_name(vm, name);
}

void group_vms(struct model *m)
{
	by_process(m);
	by_wakeups(m);
	by_nested(m);
	by_guests(m);
	merge_nested(m);
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *vm = m->machines[i];

		if (vm->trace || vm->merged_into)
			continue;
		number_cpus(vm);
		name_vm(vm);
	}
}
