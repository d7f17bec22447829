/* SPDX-License-Identifier: Apache-2.0 */
#include "report/top.h"
#include "analysis/sched/usage.h"
#include "base/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* While a window is looked at. */
struct maker {
	struct top *top;
	struct sonde_history *history;
	struct map cpu_rows;	/* physical CPU's number -> index of its row */
	struct map vcpu_rows;	/* CPU row -> index */
	struct map thread_rows; /* thread row -> index */
	struct map vm_rows;	/* machine row -> index */
	unsigned threads_begin;
	bool no_memory;
};

static unsigned add_row(struct maker *m, enum top_kind kind, int64_t all_ns)
{
	struct top *top = m->top;

	if (!room_for_one(&top->rows, top->nr, &top->room)) {
		m->no_memory = true;
		return UINT32_MAX;
	}
	top->rows[top->nr] = (struct top_row){
		.kind = kind, .machine = -1, .cpu = -1, .thread = -1, .all_ns = all_ns};
	return top->nr++;
}

/* The row of @key, made when it is new; NULL when memory is out. */
static struct top_row *row_of(struct maker *m, struct map *map, uint64_t key, enum top_kind kind)
{
	const uint32_t *index = map_get(map, key);
	unsigned made;

	if (index)
		return &m->top->rows[*index];
	made = add_row(m, kind, m->top->end - m->top->begin);
	if (made == UINT32_MAX || map_put(map, key, made)) {
		m->no_memory = true;
		return NULL;
	}
	return &m->top->rows[made];
}

static const char *keep(struct maker *m, const char *text)
{
	const char *kept = arena_strdup(&m->top->arena, text);

	m->no_memory |= !kept;
	return kept ? kept : "";
}

static void take_cause(struct maker *m, struct top_cause *cause, const char *text, int64_t time_ns)
{
	if (time_ns <= cause->time_ns)
		return;
	cause->text = keep(m, text);
	cause->time_ns = time_ns;
}

/* ---- CPUs and threads: what ran ------------------------------------------------------------ */

static enum top_part part_of(const struct sonde_context *c)
{
	switch (c->mode) {
	case SONDE_MODE_IDLE:
		return c->machine ? TOP_GUEST : TOP_WAIT;
	case SONDE_MODE_UNKNOWN:
		return TOP_UNKNOWN;
	case SONDE_MODE_IRQ:
	case SONDE_MODE_SOFTIRQ:
		return c->machine ? TOP_GUEST : TOP_IRQ;
	case SONDE_MODE_HYPERVISOR:
		return c->machine ? TOP_GUEST : TOP_HYP;
	default:
		return c->machine ? TOP_GUEST : TOP_RUN;
	}
}

/* Usages of one CPU come as they come: what a thread had on it is added up here. */
struct user {
	int64_t cpu, thread, time_ns;
};

static int by_cpu_and_thread(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	return x->cpu != y->cpu		? (x->cpu < y->cpu ? -1 : 1)
	       : x->thread != y->thread ? (x->thread < y->thread ? -1 : 1)
					: 0;
}

static void take_mostly(struct maker *m, struct user *users, size_t nr)
{
	qsort(users, nr, sizeof(*users), by_cpu_and_thread);
	for (size_t i = 0, end; i < nr; i = end) {
		const uint32_t *index = map_get(&m->cpu_rows, (uint64_t)users[i].cpu);
		int64_t time_ns = 0;
		char label[128];

		for (end = i; end < nr && !by_cpu_and_thread(&users[i], &users[end]); end++)
			time_ns += users[end].time_ns;
		if (!index || users[i].thread < 0)
			continue;
		sonde_thread_label(m->history, users[i].thread, label, sizeof(label));
		take_cause(m, &m->top->rows[*index].mostly, label, time_ns);
	}
}

static bool is_idle(const struct usage *u)
{
	return u->row < 0 || u->context->mode == SONDE_MODE_IDLE ||
	       u->context->mode == SONDE_MODE_UNKNOWN;
}

static void take_cpus(struct maker *m, const struct usages *usages, struct user *users)
{
	size_t nr = 0;

	for (size_t i = 0; i < usages->nr && !m->no_memory; i++) {
		const struct usage *u = &usages->list[i];
		struct top_row *row = row_of(m, &m->cpu_rows, (uint64_t)u->cpu, TOP_CPU);

		if (!row)
			return;
		row->cpu = sonde_find_cpu(m->history, 0, u->cpu);
		row->machine = 0;
		row->number = u->cpu;
		row->parts[u->row < 0 ? TOP_UNKNOWN : part_of(u->context)] += u->time_ns;
		if (!is_idle(u))
			users[nr++] = (struct user){u->cpu, u->context->thread, u->time_ns};
	}
	take_mostly(m, users, nr);
}

/* An interrupt's time is not that of the thread it fell upon. */
static void take_threads(struct maker *m, const struct usages *usages)
{
	m->threads_begin = m->top->nr;
	for (size_t i = 0; i < usages->nr && !m->no_memory; i++) {
		const struct usage *u = &usages->list[i];
		struct top_row *row;

		if (is_idle(u) || u->context->thread < 0)
			continue;
		row = row_of(m, &m->thread_rows, (uint64_t)u->context->thread, TOP_THREAD);
		if (!row)
			return;
		row->machine = u->context->machine;
		row->thread = u->context->thread;
		row->parts[u->context->mode == SONDE_MODE_HYPERVISOR ? TOP_HYP
			   : u->context->mode == SONDE_MODE_IRQ ||
					   u->context->mode == SONDE_MODE_SOFTIRQ
				   ? TOP_IRQ
				   : TOP_RUN] += u->time_ns;
	}
}

/* ---- vCPUs --------------------------------------------------------------------------------- */

static const struct {
	const char *column;
	enum top_part part;
	const char *waits_for; /* NULL: no wait */
} vcpu_columns[] = {
	{"user", TOP_RUN, NULL},
	{"kernel", TOP_RUN, NULL},
	{"guest", TOP_RUN, NULL},
	{"nested", TOP_RUN, NULL},
	{"kvm", TOP_HYP, NULL},
	{"vmm", TOP_HYP, NULL},
	{"halting", TOP_HYP, NULL},
	{"nesting", TOP_NEST, NULL},
	{"host_irq", TOP_IRQ, NULL},
	{"inherited_steal", TOP_OFF, NULL},
	{"queued", TOP_OFF, NULL},
	{"preempted", TOP_OFF, NULL},
	{"throttled", TOP_OFF, NULL},
	{"steal_unknown", TOP_OFF, NULL},
	{"wait_timer", TOP_WAIT, "timer"},
	{"wait_disk", TOP_WAIT, "disk"},
	{"wait_network", TOP_WAIT, "network"},
	{"wait_ipi", TOP_WAIT, "another vCPU"},
	{"wait_device", TOP_WAIT, "device"},
	{"wait_vmm", TOP_WAIT, "its VMM"},
	{"wait_host", TOP_WAIT, "inside the host"},
	{"wait_unknown", TOP_WAIT, "not known"},
	{"gone", TOP_GONE, NULL},
	{"unknown", TOP_UNKNOWN, NULL},
};

static int64_t cell(const struct sonde_rows *f, size_t row, const char *column)
{
	int c = sonde_rows_column(f, column);

	return c < 0 ? -1 : sonde_rows_cell(f, row, (unsigned)c).i;
}

static int rows_get(struct sonde_rows **out, const struct maker *m, const char *name,
		    struct error *err)
{
	struct sonde_error why = {0};
	int ret = sonde_rows_get(out, m->history, name, m->top->begin, m->top->end, &why);

	return ret ? fail(err, ret, "%s", why.text) : 0;
}

static void take_vcpu(struct maker *m, const struct sonde_rows *f, size_t i)
{
	int64_t vcpu = cell(f, i, "vcpu");
	struct top_row *row = row_of(m, &m->vcpu_rows, (uint64_t)vcpu, TOP_VCPU);
	struct sonde_cpu cpu;

	if (!row || sonde_cpu_get(m->history, vcpu, &cpu))
		return;
	row->cpu = vcpu;
	row->machine = cpu.machine;
	row->number = cpu.number;
	for (size_t c = 0; c < ARRAY_SIZE(vcpu_columns); c++) {
		int64_t time_ns = cell(f, i, vcpu_columns[c].column);

		if (time_ns < 0)
			continue;
		row->parts[vcpu_columns[c].part] += time_ns;
		if (vcpu_columns[c].waits_for)
			take_cause(m, &row->waits_for, vcpu_columns[c].waits_for, time_ns);
	}
}

/* "h-burn[519]", "irq on vm-a", "unknown". */
static void culprit_label(const struct maker *m, const struct sonde_rows *f, size_t i, char *buf,
			  size_t room)
{
	int64_t thread = cell(f, i, "culprit");
	const char *mode = sonde_mode_name((enum sonde_mode)cell(f, i, "mode"));
	struct sonde_machine machine;

	if (thread >= 0)
		sonde_thread_label(m->history, thread, buf, room);
	else if (sonde_machine_get(m->history, cell(f, i, "culprit_machine"), &machine))
		snprintf(buf, room, "%s", mode); /* nobody knows who had the CPU */
	else
		snprintf(buf, room, "%s on %s", mode, machine.name);
}

/* Who ran instead of vCPUs (key "vcpu") or of threads (key "thread"). */
static int take_culprits(struct maker *m, const char *row, const char *key, struct map *rows,
			 enum top_kind kind, struct error *err)
{
	struct sonde_rows *f;
	int ret = rows_get(&f, m, row, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < sonde_rows_nr(f); i++) {
		int64_t who = cell(f, i, key);
		struct top_row *row = row_of(m, rows, (uint64_t)who, kind);
		int64_t time_ns = cell(f, i, "total");
		char label[160];

		if (!row)
			break;
		if (kind == TOP_THREAD) { /* also one that did not get to run at all */
			row->thread = who;
			row->machine = cell(f, i, "machine");
			row->parts[TOP_OFF] += time_ns;
		}
		culprit_label(m, f, i, label, sizeof(label));
		take_cause(m, &row->off_by, label, time_ns);
	}
	sonde_rows_free(f);
	return 0;
}

static int by_machine_and_number(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* A row per VM: the sum of its vCPUs. */
static void add_vms(struct maker *m, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end && !m->no_memory; i++) {
		int64_t machine = m->top->rows[i].machine;
		struct top_row *vm = row_of(m, &m->vm_rows, (uint64_t)machine, TOP_VM);
		const struct top_row *vcpu = &m->top->rows[i];

		if (!vm)
			return;
		if (vm->machine < 0)
			vm->all_ns = 0;
		vm->machine = machine;
		vm->all_ns += vcpu->all_ns;
		for (unsigned p = 0; p < NR_TOP_PARTS; p++)
			vm->parts[p] += vcpu->parts[p];
	}
	if (m->top->nr > first)
		qsort(m->top->rows + first, m->top->nr - first, sizeof(*m->top->rows),
		      by_machine_and_number);
}

static int take_vcpus(struct maker *m, struct error *err)
{
	unsigned first = m->top->nr;
	struct sonde_rows *f;
	int ret = rows_get(&f, m, "vcpu_state", err);

	if (ret)
		return ret;
	for (size_t i = 0; i < sonde_rows_nr(f) && !m->no_memory; i++)
		take_vcpu(m, f, i);
	sonde_rows_free(f);
	ret = take_culprits(m, "preemption", "vcpu", &m->vcpu_rows, TOP_VCPU, err);
	if (!ret)
		add_vms(m, first, m->top->nr);
	return ret;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int64_t cpu_ns(const struct top_row *row)
{
	return row->parts[TOP_RUN] + row->parts[TOP_HYP] + row->parts[TOP_IRQ];
}

static int by_cpu_time(const void *a, const void *b)
{
	int64_t x = cpu_ns(a), y = cpu_ns(b);

	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_kept(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (x->parts[TOP_OFF] == y->parts[TOP_OFF])
		return by_cpu_time(a, b);
	return x->parts[TOP_OFF] < y->parts[TOP_OFF] ? 1 : -1;
}

static int by_number(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* A guest's thread is told with its machine: each has its own of the same name. */
static void thread_name(const struct maker *m, int64_t thread, char *buf, size_t room)
{
	struct sonde_machine machine;
	struct sonde_thread t;
	int used = 0;

	if (!sonde_thread_get(m->history, thread, &t) &&
	    !sonde_machine_get(m->history, t.machine, &machine) && machine.level > 0)
		used = snprintf(buf, room, "%s: ", machine.name);
	if ((size_t)used < room)
		sonde_thread_label(m->history, thread, buf + used, room - (size_t)used);
}

static void name_row(struct maker *m, struct top_row *row)
{
	struct sonde_machine machine;
	char label[200] = "";

	if (row->kind == TOP_VM && !sonde_machine_get(m->history, row->machine, &machine))
		snprintf(label, sizeof(label), "%s", machine.name);
	else if (row->kind == TOP_THREAD)
		thread_name(m, row->thread, label, sizeof(label));
	else
		sonde_cpu_label(m->history, row->cpu, label, sizeof(label));
	row->name = keep(m, label);
}

static int count_lost(struct maker *m, struct error *err)
{
	struct sonde_rows *f;
	int ret = rows_get(&f, m, "gap", err);

	for (size_t i = 0; !ret && i < sonde_rows_nr(f); i++) {
		int64_t events = cell(f, i, "events");

		if (events < 0)
			m->top->lost = -1;
		else if (m->top->lost >= 0)
			m->top->lost += events;
	}
	if (!ret)
		sonde_rows_free(f);
	return ret;
}

static int make(struct maker *m, const struct usages *usages, enum top_order order,
		unsigned threads_max, struct error *err)
{
	struct user *users = calloc(usages->nr + 1, sizeof(*users));
	struct top *top = m->top;
	int ret;

	if (!users)
		return fail(err, -ENOMEM, "out of memory");
	take_cpus(m, usages, users);
	free(users);
	if (top->nr)
		qsort(top->rows, top->nr, sizeof(*top->rows), by_number);
	ret = take_vcpus(m, err);
	if (ret)
		return ret;
	take_threads(m, usages);
	ret = take_culprits(m, "thread_delay", "thread", &m->thread_rows, TOP_THREAD, err);
	if (!ret)
		ret = count_lost(m, err);
	if (ret)
		return ret;
	top->threads = top->nr - m->threads_begin;
	if (top->threads)
		qsort(top->rows + m->threads_begin, top->threads, sizeof(*top->rows),
		      order == TOP_BY_KEPT ? by_kept : by_cpu_time);
	if (top->threads > threads_max)
		top->nr = m->threads_begin + threads_max;
	for (unsigned i = 0; i < top->nr; i++)
		name_row(m, &top->rows[i]);
	return m->no_memory ? fail(err, -ENOMEM, "out of memory") : 0;
}

int top_make(struct top *top, struct sonde_history *history, int64_t begin, int64_t end,
	     enum top_order order, unsigned threads_max, struct error *err)
{
	struct maker m = {.top = top, .history = history};
	const struct usages *usages;
	int ret;

	*top = (struct top){.begin = begin, .end = end};
	ret = usages_get(&usages, history, begin, end, err);
	if (ret)
		return ret;
	ret = make(&m, usages, order, threads_max, err);
	map_release(&m.cpu_rows);
	map_release(&m.vcpu_rows);
	map_release(&m.thread_rows);
	map_release(&m.vm_rows);
	if (ret)
		top_release(top);
	return ret;
}

void top_release(struct top *top)
{
	free(top->rows);
	arena_release(&top->arena);
	*top = (struct top){0};
}
