/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of docs/formats/schema.md, written when all is known.
 */
#include <stdio.h>
#include <string.h>

#include "model/state.h"

/* clang-format off */
static const struct column machine_columns[] = {
	{"name", COL_STRING}, {"parent", COL_INT}, {"level", COL_INT}, {"traced", COL_BOOL},
	{"hostname", COL_STRING}, {"release", COL_STRING}, {"tracer", COL_STRING},
	{"trace_path", COL_STRING}, {"evidence", COL_STRING}, {"vm_pid", COL_INT},
	{"pid_known", COL_BOOL}, {"violations", COL_INT},
};
static const struct column cpu_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"host_tid", COL_INT}, {"nested_id", COL_INT},
	{"host_thread", COL_INT}, {"path", COL_STRING},
};
static const struct column thread_columns[] = {
	{"machine", COL_INT}, {"tid", COL_INT}, {"pid", COL_INT}, {"ppid", COL_INT},
	{"comm", COL_STRING}, {"pid_ns", COL_INT}, {"begin", COL_NS}, {"end", COL_NS},
	{"is_vcpu", COL_INT}, {"first_comm", COL_STRING}, {"first_cpu", COL_INT},
};
static const struct column pid_ns_columns[] = {
	{"machine", COL_INT}, {"inum", COL_INT}, {"parent", COL_INT}, {"level", COL_INT},
};
static const struct column vtid_columns[] = {
	{"thread", COL_INT}, {"level", COL_INT}, {"pid_ns", COL_INT}, {"vtid", COL_INT},
};
static const struct column context_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"thread", COL_INT}, {"mode", COL_INT},
	{"detail", COL_INT}, {"serves", COL_INT},
};
static const struct column clock_columns[] = {
	{"machine", COL_INT}, {"from", COL_NS}, {"to", COL_NS}, {"bound", COL_NS},
	{"method", COL_STRING}, {"pairs", COL_INT}, {"violations", COL_INT},
	{"worst_violation", COL_NS}, {"rate_ppb", COL_INT},
};
static const struct column loss_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"begin", COL_NS}, {"end", COL_NS},
	{"events", COL_INT},
};
static const struct column problem_columns[] = {
	{"machine", COL_INT}, {"text", COL_STRING}, {"count", COL_INT},
};
static const struct column meta_columns[] = {{"key", COL_STRING}, {"value", COL_STRING}};
/* clang-format on */

#define TABLE(m, name, columns) history_writer_table((m)->w, name, columns, ARRAY_SIZE(columns))

static int64_t string(struct model *m, const char *text)
{
	return text ? history_writer_string(m->w, text, strlen(text)) : 0;
}

static int64_t row_of(struct machine_state *mc)
{
	return mc ? (int64_t)machine_root(mc)->row : -1;
}

/* Rows are without the machines that turned out to be another. */
static void number_machines(struct model *m)
{
	uint32_t row = 0;

	for (uint32_t i = 0; i < m->nr_machines; i++) {
		if (!m->machines[i]->merged_into)
			m->machines[i]->row = row++;
	}
}

static void write_machines(struct model *m)
{
	int table = TABLE(m, "machine", machine_columns);

	number_machines(m);
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *mc = m->machines[i];
		const struct trace *t = mc->trace;

		if (mc->merged_into)
			continue;
		int64_t cells[] = {
			string(m, mc->name),
			row_of(mc->parent),
			mc->level,
			t != NULL,
			string(m, t ? t->hostname : ""),
			string(m, t ? t->release : ""),
			string(m, t ? t->tracer : ""),
			string(m, t ? t->path : ""),
			string(m, mc->evidence),
			mc->vm_pid,
			mc->pid_known,
			(int64_t)mc->violations,
		};
		history_writer_row(m->w, table, cells);
	}
}

static const struct cpu *cpu_root(const struct cpu *cpu)
{
	while (cpu->merged_into)
		cpu = cpu->merged_into;
	return cpu;
}

static void write_cpus(struct model *m)
{
	int table = TABLE(m, "cpu", cpu_columns);
	uint32_t row = 0;

	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct cpu *cpu = m->cpus[i];
		const struct thread *host = cpu->vcpu.host;

		if (cpu->merged_into)
			continue;
		cpu->row = row++;
		int64_t cells[] = {row_of(cpu->machine),	   cpu->number,
				   host ? host->tid : -1,	   (int64_t)cpu->nested_id,
				   host ? (int64_t)host->row : -1, string(m, cpu->path)};
		history_writer_row(m->w, table, cells);
	}
}

/* A kernel thread is a process of its own. */
static int64_t process_of(const struct thread *th)
{
	return th->pid < 0 && th->kind == KIND_KERNEL ? th->tid : th->pid;
}

static void write_threads(struct model *m)
{
	int table = TABLE(m, "thread", thread_columns);

	for (uint32_t i = 0; i < m->nr_threads; i++) {
		const struct thread *th = m->threads[i];
		int64_t cells[] = {
			row_of(th->machine),
			th->tid,
			process_of(th),
			th->ppid,
			th->comm_id,
			namespace_of(th),
			th->begin,
			th->end == NS_MAX ? -1 : th->end,
			th->vcpu ? cpu_root(th->vcpu)->row + 1 : 0,
			th->first_comm_id,
			th->first_cpu,
		};
		history_writer_row(m->w, table, cells);
	}
}

static void write_namespaces(struct model *m)
{
	int table = TABLE(m, "pid_ns", pid_ns_columns);

	for (uint32_t i = 0; i < m->nr_namespaces; i++) {
		const struct pid_ns *ns = &m->namespaces[i];
		int64_t cells[] = {row_of(ns->machine), ns->inum, ns->parent, ns->level};

		history_writer_row(m->w, table, cells);
	}
	table = TABLE(m, "vtid", vtid_columns);
	for (uint32_t i = 0; i < m->nr_vtids; i++) {
		const struct vtid *v = &m->vtids[i];
		int64_t cells[] = {v->thread, v->level, v->ns, v->vtid};

		history_writer_row(m->w, table, cells);
	}
}

static void write_contexts(struct model *m)
{
	int table = TABLE(m, "context", context_columns);

	for (uint32_t i = 0; i < m->contexts.nr; i++) {
		const struct context *c = &m->contexts.rows[i];
		const struct cpu *cpu = cpu_root(m->cpus[c->cpu - 1]);
		int64_t cells[] = {
			row_of(cpu->machine),
			cpu->number,
			(int64_t)c->thread - 1,
			c->mode,
			c->detail,
			c->serves ? cpu_root(m->cpus[c->serves - 1])->row + 1 : 0,
		};

		history_writer_row(m->w, table, cells);
	}
}

/* ns per tick that the clock would have if it ran exactly like L0's. */
static double nominal_mult(const struct topology *topo, const struct trace *t)
{
	const struct machine *l0 = &topo->machines[0];

	if (t->clock.kind == l0->trace->clock.kind && l0->clock.nr_pieces)
		return (double)l0->clock.pieces[0].mult;
	if (t->clock.freq_hz)
		return (double)(UINT64_C(1) << CLOCK_SHIFT) * NS_PER_SEC / (double)t->clock.freq_hz;
	return (double)(UINT64_C(1) << CLOCK_SHIFT);
}

static void write_clock(struct model *m, int table, unsigned machine, ns_t end)
{
	const struct machine *mc = &m->topo->machines[machine];
	const struct clock_model *clock = &mc->clock;
	double nominal = nominal_mult(m->topo, mc->trace);

	for (unsigned i = 0; i < clock->nr_pieces; i++) {
		const struct clock_piece *p = &clock->pieces[i];
		bool last = i + 1 == clock->nr_pieces;
		int64_t cells[] = {
			row_of(m->machines[machine]),
			i ? p->at_ns : m->begin,
			last ? end : clock->pieces[i + 1].at_ns,
			p->bound_ns == CLOCK_NO_BOUND ? -1 : p->bound_ns,
			string(m, clock_method_name(clock->method)),
			(int64_t)clock->nr_pairs,
			(int64_t)clock->nr_violations,
			clock->worst_violation_ns,
			(int64_t)(((double)p->mult / nominal - 1) * 1e9),
		};

		history_writer_row(m->w, table, cells);
	}
}

static void write_losses(struct model *m)
{
	int table = TABLE(m, "loss", loss_columns);

	for (uint32_t i = 0; i < m->nr_losses; i++) {
		const struct loss *l = &m->losses[i];
		int64_t cells[] = {row_of(l->machine), l->cpu, l->begin, l->end, l->events};

		history_writer_row(m->w, table, cells);
	}
}

static void write_problem_list(struct model *m, int table, int64_t machine,
			       const struct problems *p)
{
	for (unsigned i = 0; i < p->nr; i++) {
		int64_t cells[] = {machine, string(m, p->list[i].text), (int64_t)p->list[i].count};

		history_writer_row(m->w, table, cells);
	}
	if (p->dropped) {
		int64_t cells[] = {machine, string(m, "further problems, not listed"),
				   (int64_t)p->dropped};

		history_writer_row(m->w, table, cells);
	}
}

static void write_problems(struct model *m)
{
	int table = TABLE(m, "problem", problem_columns);

	write_problem_list(m, table, -1, &m->topo->problems);
	for (unsigned i = 0; i < m->topo->nr_machines; i++)
		write_problem_list(m, table, row_of(m->machines[i]),
				   &m->topo->machines[i].trace->problems);
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *mc = m->machines[i];
		int64_t cells[] = {row_of(mc),
				   string(m, "events at times at which the host's trace says that "
					     "the vCPU was not running them"),
				   (int64_t)mc->violations};

		if (mc->violations)
			history_writer_row(m->w, table, cells);
	}
	write_problem_list(m, table, -1, &m->problems);
}

void model_meta(struct model *m, const char *key, const char *value)
{
	int64_t cells[] = {string(m, key), string(m, value)};

	if (m->meta_table < 0)
		m->meta_table = TABLE(m, "meta", meta_columns);
	history_writer_row(m->w, m->meta_table, cells);
}

static void write_meta(struct model *m, ns_t end)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)m->begin);
	model_meta(m, "begin_ns", text);
	snprintf(text, sizeof(text), "%lld", (long long)end);
	model_meta(m, "end_ns", text);
}

void tables_write(struct model *m, ns_t end)
{
	int clock;

	group_vms(m);
	namespaces_settle(m);
	write_machines(m);
	write_cpus(m);
	write_threads(m);
	write_namespaces(m);
	write_contexts(m);
	clock = TABLE(m, "clock", clock_columns);
	for (unsigned i = 0; i < m->topo->nr_machines; i++)
		write_clock(m, clock, i, end);
	write_losses(m);
	write_problems(m);
	write_meta(m, end);
}
