/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines and their CPUs.  Those with a trace come from the topology; VMs without one are found
 * when a thread does a VM entry or exit that belongs to none of the known VMs.
 *
 * Which VM does such a thread run?  The one of its process.  The process is known from a state
 * dump or from fork events (LTTng's name it; ftrace's at least say who made the thread, and a
 * VMM's threads are all made by its main thread).  When nothing tells, each such thread is a VM of
 * its own, and its evidence says so.  While an LTTng state dump is still to come, a new VM is only
 * provisional: it has no attributes in the history yet and may turn out to be part of another.
 */
#include "model/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than any Linux can have: what lies above is a broken trace. */
#define CPUS_MAX 8192
#define FTRACE_SYSCALLS 1024

struct machine_state *machine_root(struct machine_state *mc)
{
	while (mc && mc->merged_into)
		mc = mc->merged_into;
	return mc;
}

static void *out_of_memory(struct model *m)
{
	m->broken = m->broken ? m->broken : -ENOMEM;
	return NULL;
}

static bool name_taken(const struct model *m, const struct machine_state *but, const char *name)
{
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		if (m->machines[i] != but && !strcmp(m->machines[i]->name, name))
			return true;
	}
	return false;
}

/* Names are unique, and path elements: no slashes. */
static void give_name(struct machine_state *mc, const char *name)
{
	char plain[80];

	snprintf(plain, sizeof(plain), "%s", *name ? name : "machine");
	for (char *p = plain; *p; p++) {
		if (*p == '/')
			*p = '_';
	}
	snprintf(mc->name, sizeof(mc->name), "%s", plain);
	for (unsigned i = 2; name_taken(mc->model, mc, mc->name); i++)
		snprintf(mc->name, sizeof(mc->name), "%s-%u", plain, i);
}

static void cpu_make_attrs(struct cpu *cpu)
{
	struct machine_state *mc = cpu->machine;
	struct history_writer *w = mc->model->w;
	char name[24];
	attr_t dir;

	if (!mc->settled || cpu->number < 0 || cpu->merged_into)
		return;
	snprintf(name, sizeof(name), "cpu%d", cpu->number);
	dir = history_writer_attr(w, mc->dir, name, ATTR_DIR, 0);
	if (!mc->parent) {
		cpu->runs = history_writer_attr(w, dir, "runs", ATTR_ROW, ATTR_SUMMED);
		return;
	}
	if (mc->trace)
		cpu->task = history_writer_attr(w, dir, "task", ATTR_ROW, 0);
	cpu->state = history_writer_attr(w, dir, "state", ATTR_ENUM, 0);
	cpu->on = history_writer_attr(w, dir, "on", ATTR_NUMBER, 0);
}

static void settle(struct machine_state *mc);

/* Nested VMs carry the name of the VM around them, so they wait for it. */
static void settle_nested(struct machine_state *vm)
{
	struct model *m = vm->model;

	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *mc = m->machines[i];
		char name[128];

		if (mc->parent != vm || mc->settled || mc->merged_into || !mc->nested_number)
			continue;
		snprintf(name, sizeof(name), "%s.nested%u", vm->name, mc->nested_number);
		give_name(mc, name);
		settle(mc);
	}
}

/* From here on the machine is in the history. */
static void settle(struct machine_state *mc)
{
	mc->settled = true;
	mc->dir = history_writer_attr(mc->model->w, ATTR_ROOT, mc->name, ATTR_DIR, 0);
	for (unsigned i = 0; i < mc->nr_cpus; i++) {
		struct cpu *cpu = mc->cpus[i];

		if (!cpu)
			continue;
		cpu_make_attrs(cpu);
		if (cpu->vcpu.host)
			thread_show_vcpu(cpu->vcpu.host);
	}
	settle_nested(mc);
}

struct machine_state *machine_add(struct model *m, struct machine_state *parent, const char *name)
{
	struct machine_state *mc = arena_alloc(&m->arena, sizeof(*mc));

	if (!mc || model_grow(m, (void **)&m->machines, m->nr_machines, &m->machines_room,
			      sizeof(*m->machines)))
		return out_of_memory(m);
	mc->model = m;
	mc->index = m->nr_machines;
	mc->parent = parent;
	mc->level = parent ? parent->level + 1 : 0;
	mc->vm_pid = -1;
	mc->dir = mc->threads_dir = ATTR_NONE;
	give_name(mc, name);
	m->machines[m->nr_machines++] = mc;
	return mc;
}

struct machine_state *machine_nested(struct machine_state *vm, const char *evidence)
{
	struct machine_state *mc = machine_add(vm->model, vm, "nested");

	if (!mc)
		return NULL;
	snprintf(mc->evidence, sizeof(mc->evidence), "%s", evidence);
	mc->nested_number = ++vm->nr_nested;
	if (vm->settled)
		settle_nested(vm);
	return mc;
}

/* ---- CPUs ---------------------------------------------------------------------------------- */

static struct cpu *cpu_new(struct machine_state *mc, int number)
{
	struct model *m = mc->model;
	struct cpu *cpu = arena_alloc(&m->arena, sizeof(*cpu));

	if (!cpu || model_grow(m, (void **)&m->cpus, m->nr_cpus, &m->cpus_room, sizeof(*m->cpus)))
		return out_of_memory(m);
	cpu->machine = mc;
	cpu->number = number;
	cpu->index = m->nr_cpus;
	cpu->vcpu.reason = -1;
	cpu->runs = cpu->task = cpu->state = cpu->on = ATTR_NONE;
	m->cpus[m->nr_cpus++] = cpu;
	return cpu;
}

static int make_room(struct machine_state *mc, unsigned nr)
{
	struct cpu **cpus;

	if (nr <= mc->nr_cpus)
		return 0;
	cpus = realloc(mc->cpus, nr * sizeof(*cpus));
	if (!cpus) {
		out_of_memory(mc->model);
		return -ENOMEM;
	}
	memset(cpus + mc->nr_cpus, 0, (nr - mc->nr_cpus) * sizeof(*cpus));
	mc->cpus = cpus;
	mc->nr_cpus = nr;
	return 0;
}

struct cpu *machine_cpu_slow(struct machine_state *mc, int number)
{
	if (number < 0 || number >= CPUS_MAX || make_room(mc, (unsigned)number + 1))
		return NULL;
	if (!mc->cpus[number]) {
		mc->cpus[number] = cpu_new(mc, number);
		if (mc->cpus[number])
			cpu_make_attrs(mc->cpus[number]);
	}
	return mc->cpus[number];
}

struct cpu *machine_vcpu_unnumbered(struct machine_state *mc)
{
	return cpu_new(mc, -1);
}

/* ---- which VM a thread runs ------------------------------------------------------------------ */

static const struct hint *hint_of(const struct thread *host)
{
	const struct model *m = host->machine->model;

	for (unsigned i = 0; i < m->nr_hints; i++) {
		if (m->hints[i].vm->parent == host->machine && m->hints[i].tid == host->tid)
			return &m->hints[i];
	}
	return NULL;
}

/* The process that is the VM: known, or the thread that made this one. */
static int32_t process_of(const struct thread *host)
{
	return host->pid >= 0 ? host->pid : host->maker;
}

/* A traced VM whose process this is, told by a hint about another thread of it. */
static struct machine_state *vm_by_hints(const struct thread *host, int32_t process)
{
	const struct model *m = host->machine->model;

	for (unsigned i = 0; i < m->nr_hints; i++) {
		const struct hint *h = &m->hints[i];
		const struct thread *th;

		if (h->vm->parent != host->machine)
			continue;
		th = thread_find(host->machine, h->tid);
		if (th && process_of(th) == process)
			return h->vm;
	}
	return NULL;
}

static struct machine_state *vm_of_process(const struct thread *host)
{
	int32_t process = process_of(host);
	uint32_t *known;

	if (process < 0)
		return NULL;
	known = map_get(&host->machine->model->vm_by_pid,
			pair_key(host->machine, (uint32_t)process));
	if (known)
		return machine_root(host->machine->model->machines[*known]);
	return vm_by_hints(host, process);
}

static void learn_process(struct machine_state *vm, const struct thread *host)
{
	struct model *m = vm->model;
	int32_t process = process_of(host);

	if (process < 0)
		return;
	vm->vm_pid = process;
	vm->pid_known = host->pid >= 0;
	if (map_put(&m->vm_by_pid, pair_key(host->machine, (uint32_t)process), vm->index))
		out_of_memory(m);
}

static void name_vm(struct machine_state *vm, const struct thread *host)
{
	char name[160], prefix[100] = "";

	if (host->machine->parent)
		snprintf(prefix, sizeof(prefix), "%s.", host->machine->name);
	if (process_of(host) >= 0)
		snprintf(name, sizeof(name), "%svm-%d", prefix, process_of(host));
	else
		snprintf(name, sizeof(name), "%svm-tid%d", prefix, host->tid);
	give_name(vm, name);
}

static const char *evidence_of(const struct thread *host)
{
	if (host->pid >= 0)
		return "KVM events of threads of one process, in its host's trace";
	if (host->maker >= 0)
		return "KVM events of threads made by one thread, in its host's trace";
	return "KVM events of one thread, in its host's trace; its process is not known";
}

static struct machine_state *vm_new(struct thread *host)
{
	struct machine_state *vm = machine_add(host->machine->model, host->machine, "vm");

	if (!vm)
		return NULL;
	name_vm(vm, host);
	snprintf(vm->evidence, sizeof(vm->evidence), "%s", evidence_of(host));
	if (host->pid >= 0 || !host->machine->statedump_pending)
		settle(vm);
	return vm;
}

/* QEMU names its vCPU threads. */
static int64_t number_from_name(const struct thread *host)
{
	char name[COMM_LEN + 1] = "";
	int number, used = 0;

	memcpy(name, host->comm, COMM_LEN);
	if (sscanf(name, "CPU %d/KVM%n", &number, &used) == 1 && used)
		return number;
	return -1;
}

static struct cpu *first_free(struct machine_state *vm)
{
	int number = 0;

	while ((unsigned)number < vm->nr_cpus && vm->cpus[number] && vm->cpus[number]->vcpu.host)
		number++;
	return machine_cpu(vm, number);
}

static bool is_free(const struct cpu *cpu)
{
	return !cpu->vcpu.host || cpu->vcpu.host->state == THREAD_DEAD;
}

static void bind(struct cpu *cpu, struct thread *host)
{
	if (cpu->vcpu.host)
		cpu->vcpu.host->vcpu = NULL;
	memset(&cpu->vcpu, 0, sizeof(cpu->vcpu));
	cpu->vcpu.reason = -1;
	cpu->vcpu.host = host;
	host->vcpu = cpu;
	thread_show_vcpu(host);
}

struct cpu *machine_vcpu_of(struct thread *host, int64_t vcpu_id, bool may_wait)
{
	const struct hint *hint = hint_of(host);
	int64_t number = hint ? hint->vcpu : vcpu_id >= 0 ? vcpu_id : number_from_name(host);
	struct machine_state *vm = hint ? hint->vm : vm_of_process(host);
	struct cpu *cpu = NULL;

	if (number < 0 && may_wait)
		return NULL;
	if (!vm)
		vm = vm_new(host);
	if (!vm)
		return NULL;
	learn_process(vm, host);
	if (number >= 0 && number < CPUS_MAX)
		cpu = machine_cpu(vm, (int)number);
	if (!cpu || (!hint && !is_free(cpu)))
		cpu = first_free(vm);
	if (cpu)
		bind(cpu, host);
	return cpu;
}

/* The nested VMs of a provisional VM move with it.  Those that nothing tells apart are one. */
static void join_nested(struct machine_state *to, struct machine_state *from)
{
	struct model *m = to->model;

	if (from->nested_unknown && to->nested_unknown) {
		from->nested_unknown->machine->merged_into = to->nested_unknown->machine;
		from->nested_unknown->merged_into = to->nested_unknown;
	} else if (from->nested_unknown) {
		to->nested_unknown = from->nested_unknown;
	}
	for (uint32_t i = from->index + 1; i < m->nr_machines; i++) {
		struct machine_state *mc = m->machines[i];

		if (mc->parent != from || mc->merged_into)
			continue;
		mc->parent = to;
		mc->nested_number = ++to->nr_nested;
	}
	if (to->settled)
		settle_nested(to);
}

/* A provisional VM's only vCPU moves to the VM that it is part of. */
static void join(struct machine_state *to, struct cpu *from, struct thread *host)
{
	struct cpu *cpu = machine_cpu(to, from->number);

	if (!cpu || !is_free(cpu))
		cpu = first_free(to);
	if (!cpu)
		return;
	from->merged_into = cpu;
	from->machine->merged_into = to;
	cpu->vcpu = from->vcpu;
	host->vcpu = cpu;
	thread_show_vcpu(host);
	join_nested(to, from->machine);
	if (host->on)
		fuse(host->on);
}

void machine_regroup(struct thread *host)
{
	struct machine_state *vm = host->vcpu ? host->vcpu->machine : NULL;
	struct machine_state *known;

	if (!vm)
		return;
	if (vm->settled) {
		learn_process(vm, host);
		return;
	}
	known = vm_of_process(host);
	if (known && known != vm) {
		join(known, host->vcpu, host);
		return;
	}
	learn_process(vm, host);
	name_vm(vm, host);
	snprintf(vm->evidence, sizeof(vm->evidence), "%s", evidence_of(host));
	settle(vm);
}

/* The state dump is over: what it did not tell stays unknown. */
void machine_settle_all(struct machine_state *parent)
{
	struct model *m = parent->model;

	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *mc = m->machines[i];

		if (mc->parent == parent && !mc->settled && !mc->merged_into)
			settle(mc);
	}
}

/* ---- machines with a trace ------------------------------------------------------------------- */

static bool has_statedump(const struct trace *t)
{
	bool process = false, end = false;

	for (unsigned i = 0; i < t->nr_types; i++) {
		process |= t->types[i].kind == EV_STATEDUMP_PROCESS;
		end |= t->types[i].kind == EV_STATEDUMP_END;
	}
	return process && end;
}

static int open_traced(struct model *m, const struct machine *from)
{
	struct machine_state *parent = from->parent >= 0 ? m->machines[from->parent] : NULL;
	struct machine_state *mc = machine_add(m, parent, from->name);

	if (!mc)
		return -ENOMEM;
	mc->trace = from->trace;
	mc->clock = &from->clock;
	snprintf(mc->evidence, sizeof(mc->evidence), "%s", from->evidence);
	mc->statedump_pending = has_statedump(mc->trace);
	mc->nr_syscall_ids = mc->trace->lttng ? mc->trace->nr_types : FTRACE_SYSCALLS;
	mc->syscall_ids = calloc(mc->nr_syscall_ids + 1, sizeof(*mc->syscall_ids));
	if (!mc->syscall_ids) {
		out_of_memory(m);
		return -ENOMEM;
	}
	settle(mc);
	return 0;
}

static int open_hints(struct model *m)
{
	unsigned room = 0;

	for (unsigned i = 0; i < m->topo->nr_machines; i++)
		room += m->topo->machines[i].nr_vcpus;
	m->hints = calloc(room + 1, sizeof(*m->hints));
	if (!m->hints)
		return -ENOMEM;
	for (unsigned i = 0; i < m->topo->nr_machines; i++) {
		const struct machine *from = &m->topo->machines[i];

		for (unsigned v = 0; v < from->nr_vcpus; v++)
			m->hints[m->nr_hints++] = (struct hint){.vm = m->machines[i],
								.tid = from->vcpus[v].host_tid,
								.vcpu = from->vcpus[v].vcpu};
	}
	return 0;
}

int machines_open(struct model *m)
{
	const struct trace *host = m->topo->machines[0].trace;
	int ret = 0;

	for (unsigned i = 0; i < m->topo->nr_machines && !ret; i++)
		ret = open_traced(m, &m->topo->machines[i]);
	if (ret)
		return ret;
	for (unsigned i = 0; i < host->nr_cpus && i < CPUS_MAX; i++) {
		if (!machine_cpu(m->machines[0], (int)i))
			return -ENOMEM;
	}
	return open_hints(m);
}

void machines_release(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		free(m->machines[i]->cpus);
		free(m->machines[i]->syscall_ids);
	}
	free(m->machines);
	free(m->cpus);
	free(m->hints);
}
