/* SPDX-License-Identifier: Apache-2.0 */
#include "model/machine.h"

#include "model/between.h"
#include "model/cpu.h"
#include "model/nested.h"
#include "model/peers.h"
#include "model/thread.h"
#include "model/throttle.h"
#include "model/vcpu.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FTRACE_SYSCALLS 1024

/* More vCPUs in one run than any machine has; finding out which are one VM is quadratic. */
#define VCPUS_MAX 32768

struct machine_state *machine_root(struct machine_state *mc)
{
	while (mc && mc->merged_into) {
		/* However they were merged, the next look has half as far to go. */
		if (mc->merged_into->merged_into)
			mc->merged_into = mc->merged_into->merged_into;
		mc = mc->merged_into;
	}
	return mc;
}

static void *out_of_memory(struct model *m)
{
	model_no_memory(m);
	return NULL;
}

/* Takes the name, unless somebody has it. */
static bool take_name(struct model *m, const char *name)
{
	uint32_t before = m->names.nr;
	uint32_t id = strings_put(&m->names, name, strlen(name));

	if (id == UINT32_MAX)
		out_of_memory(m);
	return id >= before && m->names.nr > before;
}

/* Names are unique, and path elements: no slashes. */
void machine_name(struct machine_state *mc, const char *name)
{
	char plain[80];

	snprintf(plain, sizeof(plain), "%s", *name ? name : "machine");
	for (char *p = plain; *p; p++) {
		if (*p == '/')
			*p = '_';
	}
	snprintf(mc->name, sizeof(mc->name), "%s", plain);
	for (unsigned i = 2; !take_name(mc->model, mc->name) && !mc->model->broken; i++)
		snprintf(mc->name, sizeof(mc->name), "%s-%u", plain, i);
}

struct machine_state *machine_add(struct model *m, struct machine_state *parent)
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
	mc->timer_vector = -1;
	mc->bound_ns = -1;
	mc->seen_since = NS_MIN;
	mc->disk_handler.at = NS_MIN;
	mc->dir = mc->threads_dir = mc->vcpus_dir = ATTR_NONE;
	m->machines[m->nr_machines++] = mc;
	return mc;
}

/* ---- CPUs ---------------------------------------------------------------------------------- */

/* When a vCPU ran, where, and what ended its rests. */
static void attrs_of_rests(struct cpu *cpu, attr_t dir)
{
	struct history_writer *w = cpu->machine->model->w;

	cpu->state = history_writer_attr(w, dir, "state", ATTR_ENUM, 0);
	cpu->on = history_writer_attr(w, dir, "on", ATTR_NUMBER, 0);
	cpu->woken = history_writer_attr(w, dir, "woken", ATTR_ROW, 0);
}

/* What its parent's events say of a vCPU. */
static void attrs_of_vcpu(struct cpu *cpu, attr_t dir)
{
	struct history_writer *w = cpu->machine->model->w;

	attrs_of_rests(cpu, dir);
	cpu->exit = history_writer_attr(w, dir, "exit", ATTR_ROW, 0);
	cpu->why_off = history_writer_attr(w, dir, "why_off", ATTR_ENUM, 0);
}

/* Of a machine with a trace: their attributes stand under their machine. */
static void attrs_of_traced(struct cpu *cpu)
{
	struct machine_state *mc = cpu->machine;
	struct history_writer *w = mc->model->w;
	char name[24];
	attr_t dir;

	snprintf(name, sizeof(name), "cpu%d", cpu->number);
	snprintf(cpu->path, sizeof(cpu->path), "%s/%s", mc->name, name);
	dir = history_writer_attr(w, mc->dir, name, ATTR_DIR, 0);
	if (!mc->parent) {
		cpu->runs = history_writer_attr(w, dir, "runs", ATTR_ROW, ATTR_SUMMED);
		return;
	}
	cpu->task = history_writer_attr(w, dir, "task", ATTR_ROW, 0);
	attrs_of_vcpu(cpu, dir);
}

/* Of a VM without: under its parent, by the thread that runs it.  Which VM it is part of may not
 * be known yet. */
static void attrs_of_untraced(struct cpu *cpu, const struct thread *host)
{
	struct machine_state *mc = host->machine;
	struct history_writer *w = mc->model->w;
	char name[24];

	snprintf(name, sizeof(name), "%u", host->row);
	snprintf(cpu->path, sizeof(cpu->path), "%s/vcpus/%s", mc->name, name);
	if (mc->vcpus_dir == ATTR_NONE)
		mc->vcpus_dir = history_writer_attr(w, mc->dir, "vcpus", ATTR_DIR, 0);
	cpu->dir = history_writer_attr(w, mc->vcpus_dir, name, ATTR_DIR, 0);
	attrs_of_vcpu(cpu, cpu->dir);
}

void machine_show_nested(struct cpu *cpu, const struct cpu *outer)
{
	char name[24];

	if (outer->dir == ATTR_NONE || cpu->machine->model->nr_cpus > VCPUS_MAX)
		return;
	snprintf(name, sizeof(name), "nested%u", cpu->index);
	snprintf(cpu->path, sizeof(cpu->path), "%.96s/%s", outer->path, name);
	cpu->dir = history_writer_attr(cpu->machine->model->w, outer->dir, name, ATTR_DIR, 0);
	attrs_of_rests(cpu, cpu->dir);
}

/* Of several the one that was made first. */
static void index_number(const struct cpu *cpu)
{
	struct model *m = cpu->machine->model;
	uint64_t key = pair_key(cpu->machine, (uint32_t)cpu->number);
	uint32_t *first = map_get(&m->by_number, key);

	if (first && *first > cpu->index)
		*first = cpu->index;
	else if (!first && map_put(&m->by_number, key, cpu->index))
		out_of_memory(m);
}

void machine_number_vcpu(struct cpu *cpu, int64_t number)
{
	cpu->number = number >= 0 && number < TRACE_CPUS_MAX ? (int)number : -1;
	if (cpu->number >= 0)
		index_number(cpu);
}

struct cpu *machine_cpu_add(struct machine_state *mc, int64_t number)
{
	struct model *m = mc->model;
	struct cpu *cpu = arena_alloc(&m->arena, sizeof(*cpu));

	if (!cpu || model_grow(m, (void **)&m->cpus, m->nr_cpus, &m->cpus_room, sizeof(*m->cpus)))
		return out_of_memory(m);
	cpu->machine = mc;
	if (mc->last_cpu)
		mc->last_cpu->next_of_machine = cpu;
	else
		mc->first_cpu = cpu;
	mc->last_cpu = cpu;
	cpu->index = m->nr_cpus;
	machine_number_vcpu(cpu, number);
	vcpu_init(&cpu->vcpu, NULL);
	if (mc->trace)
		cpu_doubt_handlers(cpu);
	cpu->irq_vector = -1;
	cpu->arrived_ns = NS_MAX;
	cpu->heard_at = cpu->denied_at = cpu->due_at = NS_MIN;
	cpu->dir = cpu->runs = cpu->task = ATTR_NONE;
	cpu->handler.at = NS_MIN;
	cpu->state = cpu->on = cpu->exit = cpu->woken = cpu->why_off = ATTR_NONE;
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

bool model_takes_cpu(int number)
{
	return number >= 0 && number < TRACE_CPUS_MAX;
}

struct cpu *machine_cpu_slow(struct machine_state *mc, int number)
{
	if (!model_takes_cpu(number) || make_room(mc, (unsigned)number + 1))
		return NULL;
	if (!mc->cpus[number]) {
		mc->cpus[number] = machine_cpu_add(mc, number);
		if (mc->cpus[number])
			attrs_of_traced(mc->cpus[number]);
	}
	return mc->cpus[number];
}

/* ---- which vCPU a thread runs ---------------------------------------------------------------- */

/* A hint is of a TID.  Where an earlier thread of that number ran the vCPU, and the VM's own trace
 * has told of it by now, the VM was that one's: it is not @host's. */
static bool is_of_another(const struct hint *h, const struct thread *host)
{
	const struct machine_state *vm = h->vm;
	const struct cpu *cpu =
		h->vcpu >= 0 && (unsigned)h->vcpu < vm->nr_cpus ? vm->cpus[h->vcpu] : NULL;
	const struct thread *before = cpu ? cpu->vcpu.host : NULL;

	return before && before != host && before->tid == host->tid && cpu->heard_at != NS_MIN;
}

static const struct hint *hint_of(const struct thread *host)
{
	const struct model *m = host->machine->model;

	for (unsigned i = 0; i < m->nr_hints; i++) {
		const struct hint *h = &m->hints[i];

		if (h->vm->parent == host->machine && h->tid == host->tid)
			return is_of_another(h, host) ? NULL : h;
	}
	return NULL;
}

/* The process that is the VM: known, or the thread that made this one. */
int32_t machine_process_of(const struct thread *host)
{
	return host->pid >= 0 ? host->pid : host->maker;
}

/* A traced VM whose process this is, told by a hint about another thread of it. */
static struct machine_state *vm_by_hints(const struct thread *host)
{
	const struct model *m = host->machine->model;

	for (unsigned i = 0; i < m->nr_hints; i++) {
		const struct hint *h = &m->hints[i];
		const struct thread *th;

		if (h->vm->parent != host->machine)
			continue;
		th = thread_find(host->machine, h->tid);
		if (th && thread_same_process(th, host) && !is_of_another(h, th))
			return h->vm;
	}
	return NULL;
}

struct machine_state *machine_of_pid(const struct machine_state *host, int32_t pid)
{
	const uint32_t *known = map_get(&host->model->vm_by_pid, pair_key(host, (uint32_t)pid));

	return known ? host->model->machines[*known] : NULL;
}

struct machine_state *machine_of_process(const struct thread *host)
{
	int32_t process = machine_process_of(host);
	struct machine_state *vm;

	if (process < 0)
		return NULL;
	vm = machine_of_pid(host->machine, process);
	return vm ? vm : vm_by_hints(host);
}

void machine_process_gone(struct machine_state *host, int32_t pid)
{
	map_del(&host->model->vm_by_pid, pair_key(host, (uint32_t)pid));
}

void machine_learn_process(struct machine_state *vm, const struct thread *host)
{
	struct model *m = vm->model;
	int32_t process = machine_process_of(host);

	if (process < 0)
		return;
	vm->vm_pid = process;
	vm->pid_known = host->pid >= 0;
	if (map_put(&m->vm_by_pid, pair_key(host->machine, (uint32_t)process), vm->index))
		out_of_memory(m);
}

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
	nested_outer_is_up(cpu);
	vcpu_forget_inner(cpu);
	host->vcpu = cpu;
	peers_put(host, PEERS_QUEUE, host->queued_on);
	thread_show_vcpu(host);
}

int machine_number_by_name(const struct thread *host)
{
	char name[COMM_LEN + 1] = "";
	int number, used = 0;

	if (!host)
		return -1;
	memcpy(name, host->comm, COMM_LEN);
	if (sscanf(name, "CPU %d/KVM%n", &number, &used) == 1 && used)
		return number;
	return -1;
}

struct cpu *machine_cpu_numbered(const struct machine_state *vm, int number)
{
	const uint32_t *first =
		number >= 0 ? map_get(&vm->model->by_number, pair_key(vm, (uint32_t)number)) : NULL;

	return first ? vm->model->cpus[*first] : NULL;
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
	machine_learn_process(vm, host);
	attrs_of_untraced(cpu, host);
	nested_outer_is_new(host->machine->model);
	return cpu;
}

struct cpu *machine_vcpu_of(struct thread *host, int64_t vcpu_id, bool may_wait)
{
	const struct hint *hint = hint_of(host);
	struct machine_state *vm = hint ? hint->vm : machine_of_process(host);
	int64_t number = hint ? hint->vcpu : vcpu_id;
	struct cpu *cpu = NULL;

	if (vm && vm->trace && number < 0 && may_wait)
		return NULL;
	if (vm && vm->trace && number >= 0 && number < TRACE_CPUS_MAX)
		cpu = machine_cpu(vm, (int)number);
	if (cpu && (hint || is_free(cpu)))
		machine_learn_process(vm, host);
	else
		cpu = untraced_vcpu(vm && vm->trace ? NULL : vm, host, number);
	if (cpu)
		bind(cpu, host);
	return cpu;
}

/* ---- machines with a trace ------------------------------------------------------------------- */

static int open_traced(struct model *m, const struct machine *from)
{
	struct machine_state *parent = from->parent >= 0 ? m->machines[from->parent] : NULL;
	struct machine_state *mc = machine_add(m, parent);

	if (!mc)
		return -ENOMEM;
	snprintf(mc->evidence, sizeof(mc->evidence), "%s", from->evidence);
	if (!from->trace)
		return 0;
	machine_name(mc, from->name);
	mc->trace = from->trace;
	m->nr_between += is_between(mc);
	mc->sees_throttles = throttle_is_told(mc->trace);
	mc->clock = &from->clock;
	mc->dir = history_writer_attr(m->w, ATTR_ROOT, mc->name, ATTR_DIR, 0);
	mc->nr_syscall_ids = mc->trace->lttng ? mc->trace->nr_types : FTRACE_SYSCALLS;
	mc->syscall_ids = calloc(mc->nr_syscall_ids + 1, sizeof(*mc->syscall_ids));
	if (!mc->syscall_ids) {
		out_of_memory(m);
		return -ENOMEM;
	}
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
	for (unsigned i = 0; i < host->nr_cpus && i < TRACE_CPUS_MAX; i++) {
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
