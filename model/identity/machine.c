/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity/machine.h"

#include "model/identity/vm_counts.h"
#include "model/state/irq_stack.h"
#include "model/state/peers.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ftrace records a number, of which there are some 460; LTTng has an event type for each call. */
#define FTRACE_SYSCALLS 1024

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

/* What the next machine of that name, which is taken, has behind it: 2, 3 and so on. */
static uint32_t next_number(struct model *m, const char *name)
{
	uint32_t id = strings_find(&m->names, name, strlen(name));
	const uint32_t *last = map_get(&m->name_numbers, id);
	uint32_t next = last ? *last + 1 : 2;

	model_put(m, &m->name_numbers, id, next);
	return next;
}

/* Names are unique, and path elements: no slashes. */
void machine_name(struct machine_state *mc, const char *name)
{
	struct model *m = mc->model;
	char plain[80];

	snprintf(plain, sizeof(plain), "%s", *name ? name : "machine");
	for (char *p = plain; *p; p++) {
		if (*p == '/')
			*p = '_';
	}
	snprintf(mc->name, sizeof(mc->name), "%s", plain);
	if (take_name(m, plain))
		return;
	do
		snprintf(mc->name, sizeof(mc->name), "%s-%u", plain, next_number(m, plain));
	while (!take_name(m, mc->name) && !m->broken);
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

void machine_show_untraced(struct cpu *cpu, const struct thread *host)
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
	if (cpu->number < 0)
		return;
	index_number(cpu);
	vm_counts_number(cpu);
}

void vcpu_init(struct vcpu *v, struct thread *host)
{
	*v = (struct vcpu){
		.host = host,
		.reason = -1,
		.vmm = -1,
		.injected = -1,
		.delivered = -1,
		.kick = {.at = NS_MIN, .xmit_at = NS_MIN},
	};
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
	/* A recording may begin in the midst of a handler. */
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
		mc->nr_threadless += mc->cpus[number] != NULL;
		if (mc->cpus[number])
			attrs_of_traced(mc->cpus[number]);
	}
	return mc->cpus[number];
}

int machine_number_by_name(const struct thread *host)
{
	char name[COMM_LEN + 1] = "";
	int number, used = 0;

	if (!host)
		return -1;
	memcpy(name, host->comm, COMM_LEN);
	/* libvirt has QEMU name its threads so (-name debug-threads=on). */
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

/* ---- machines with a trace ------------------------------------------------------------------- */

static int open_traced(struct model *m, const struct machine *from)
{
	struct machine_state *parent = from->parent >= 0 ? m->machines[from->parent] : NULL;
	struct machine_state *mc = machine_add(m, parent);

	if (!mc)
		return -ENOMEM;
	snprintf(mc->evidence, sizeof(mc->evidence), "%s", from->evidence);
	if (!from->trace) {
		snprintf(mc->vm_name, sizeof(mc->vm_name), "%s", from->name);
		return 0;
	}
	machine_name(mc, from->name);
	mc->trace = from->trace;
	vm_counts_add(mc);
	m->nr_between += is_between(mc);
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
		map_release(&m->machines[i]->throttled);
	}
	free(m->machines);
	free(m->cpus);
	free(m->hints);
}
