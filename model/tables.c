/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of docs/formats/schema.md.
 *
 * What is final is known at the end only: which VMs without a trace are one, when threads end, what
 * they are called.  But the history of a writer that is killed must not show rows that are not
 * there.  So before the history closes a batch of changes it gets the rows that are new, as they
 * are known by then, and at the end those cells that have changed.
 *
 * Until the end the rows of machines and CPUs are in the order in which they were made; then those
 * that turned out to be others are dropped, and what names them is numbered anew.
 */
#include <assert.h>
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
	{"cgroup", COL_INT},
};
static const struct column pid_ns_columns[] = {
	{"machine", COL_INT}, {"inum", COL_INT}, {"parent", COL_INT}, {"level", COL_INT},
	{"name", COL_STRING},
};
static const struct column vtid_columns[] = {
	{"thread", COL_INT}, {"level", COL_INT}, {"pid_ns", COL_INT}, {"vtid", COL_INT},
};
static const struct column context_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"thread", COL_INT}, {"mode", COL_INT},
	{"detail", COL_INT}, {"serves", COL_INT}, {"vmm", COL_INT},
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
static const struct column cgroup_columns[] = {
	{"machine", COL_INT}, {"id", COL_INT}, {"path", COL_STRING},
};
static const struct column identity_columns[] = {
	{"machine", COL_INT}, {"key", COL_STRING}, {"value", COL_STRING},
};
static const struct column mark_columns[] = {
	{"at", COL_NS}, {"machine", COL_INT}, {"cpu", COL_INT}, {"thread", COL_INT},
	{"kind", COL_INT}, {"id", COL_INT}, {"text", COL_STRING}, {"by_host", COL_BOOL},
};
static const struct column stat_columns[] = {
	{"machine", COL_INT}, {"at", COL_NS}, {"cause", COL_STRING}, {"cpu", COL_INT},
	{"hz", COL_INT}, {"user", COL_INT}, {"nice", COL_INT}, {"system", COL_INT},
	{"idle", COL_INT}, {"iowait", COL_INT}, {"irq", COL_INT}, {"softirq", COL_INT},
	{"steal", COL_INT}, {"guest", COL_INT}, {"guest_nice", COL_INT},
};
static const struct column wake_columns[] = {
	{"cpu", COL_INT}, {"cause", COL_INT}, {"vector", COL_INT}, {"from_cpu", COL_INT},
	{"by", COL_INT}, {"evidence", COL_STRING},
};
static const struct column vector_columns[] = {
	{"cpu", COL_INT}, {"vector", COL_INT}, {"cause", COL_INT}, {"irq", COL_STRING},
	{"times", COL_INT}, {"agree", COL_INT}, {"evidence", COL_STRING},
};
static const struct column irq_columns[] = {
	{"machine", COL_INT}, {"irq", COL_INT}, {"name", COL_STRING},
};
static const struct column exit_columns[] = {
	{"reason", COL_INT}, {"isa", COL_INT}, {"serves", COL_INT}, {"user_reason", COL_INT},
};
static const struct column milestone_columns[] = {
	{"machine", COL_INT}, {"cpu", COL_INT}, {"since", COL_NS}, {"at", COL_NS},
	{"kind", COL_STRING}, {"text", COL_STRING},
};
/* clang-format on */

#define TABLE(name)                                                                                \
	{                                                                                          \
#name, name##_columns, ARRAY_SIZE(name##_columns)                                  \
	}

static const struct {
	const char *name;
	const struct column *columns;
	unsigned nr_columns;
} schema[NR_TABLES] = {
	[TABLE_MACHINE] = TABLE(machine), [TABLE_CPU] = TABLE(cpu),
	[TABLE_THREAD] = TABLE(thread),	  [TABLE_PID_NS] = TABLE(pid_ns),
	[TABLE_VTID] = TABLE(vtid),	  [TABLE_CONTEXT] = TABLE(context),
	[TABLE_CLOCK] = TABLE(clock),	  [TABLE_LOSS] = TABLE(loss),
	[TABLE_PROBLEM] = TABLE(problem), [TABLE_META] = TABLE(meta),
	[TABLE_CGROUP] = TABLE(cgroup),	  [TABLE_IDENTITY] = TABLE(identity),
	[TABLE_MARK] = TABLE(mark),
	[TABLE_WAKE] = TABLE(wake),
	[TABLE_VECTOR] = TABLE(vector),	  [TABLE_IRQ] = TABLE(irq),
	[TABLE_STAT] = TABLE(stat),	  [TABLE_EXIT] = TABLE(exit),
	[TABLE_MILESTONE] = TABLE(milestone),
};

/* Adds the row, or changes those of its cells that are not as they were. */
static void put_row(struct model *m, enum table table, uint32_t row, const int64_t *cells)
{
	assert(row <= m->nr_written[table]);
	if (row == m->nr_written[table]) {
		history_writer_row(m->w, m->tables[table], cells);
		m->nr_written[table]++;
		return;
	}
	history_writer_change_row(m->w, m->tables[table], row, cells);
}

static void add_row(struct model *m, enum table table, const int64_t *cells)
{
	put_row(m, table, m->nr_written[table], cells);
}

static int64_t string(struct model *m, const char *text)
{
	return text ? history_writer_string(m->w, text, strlen(text)) : 0;
}

static int64_t row_of(struct machine_state *mc)
{
	return mc ? (int64_t)machine_root(mc)->row : -1;
}

/* Rows are without the machines that turned out to be another.  Returns how many there are. */
static uint32_t number_machines(struct model *m)
{
	uint32_t row = 0;

	for (uint32_t i = 0; i < m->nr_machines; i++) {
		if (!m->machines[i]->merged_into)
			m->machines[i]->row = row++;
	}
	return row;
}

static uint32_t number_cpus(struct model *m)
{
	uint32_t row = 0;

	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		if (!m->cpus[i]->merged_into)
			m->cpus[i]->row = row++;
	}
	return row;
}

static void put_machine(struct model *m, const struct machine_state *mc)
{
	const struct trace *t = mc->trace;
	char name[32];

	/* VMs without a trace get theirs at the end. */
	snprintf(name, sizeof(name), "vm?%u", mc->index);

	int64_t cells[] = {
		string(m, mc->name[0] ? mc->name : name),
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
	put_row(m, TABLE_MACHINE, mc->row, cells);
}

static void put_machines(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		if (!m->machines[i]->merged_into)
			put_machine(m, m->machines[i]);
	}
}

static const struct cpu *cpu_root(const struct cpu *cpu)
{
	while (cpu->merged_into)
		cpu = cpu->merged_into;
	return cpu;
}

/* A kernel thread is a process of its own. */
static int64_t process_of(const struct thread *th)
{
	return th->pid < 0 && th->kind == KIND_KERNEL ? th->tid : th->pid;
}

static void put_thread(struct model *m, const struct thread *th)
{
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
		(int64_t)th->cgroup - 1,
	};
	put_row(m, TABLE_THREAD, th->row, cells);
}

static void put_cpus(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		const struct cpu *cpu = m->cpus[i];
		const struct thread *host = cpu->vcpu.host;

		if (cpu->merged_into)
			continue;
		int64_t cells[] = {row_of(cpu->machine),	   cpu->number,
				   host ? host->tid : -1,	   (int64_t)cpu->nested_id,
				   host ? (int64_t)host->row : -1, string(m, cpu->path)};
		put_row(m, TABLE_CPU, cpu->row, cells);
		if (host)
			put_thread(m, host);
	}
}

static void put_namespaces(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_namespaces; i++) {
		const struct pid_ns *ns = &m->namespaces[i];
		int64_t cells[] = {row_of(ns->machine), ns->inum, ns->parent, ns->level,
				   string(m, ns->name)};

		put_row(m, TABLE_PID_NS, i, cells);
	}
}

static void put_cgroups(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_cgroups; i++) {
		const struct cgroup *c = &m->cgroups[i];
		int64_t cells[] = {row_of(c->machine), (int64_t)c->id, string(m, c->path)};

		put_row(m, TABLE_CGROUP, i, cells);
	}
}

static void put_identities(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_identities; i++) {
		const struct identity *id = &m->identities[i];
		int64_t cells[] = {row_of(id->machine), string(m, id->key), id->value};

		put_row(m, TABLE_IDENTITY, i, cells);
	}
}

static void put_stats(struct model *m)
{
	static const char *const causes[] = {
		[STATE_CAUSE_OTHER] = "", [STATE_CAUSE_START] = "start", [STATE_CAUSE_VM] = "vm",
		[STATE_CAUSE_END] = "end",
	};

	for (uint32_t i = m->nr_written[TABLE_STAT]; i < m->nr_stats; i++) {
		const struct stat_line *s = &m->stats[i];
		int64_t cells[ARRAY_SIZE(stat_columns)] = {row_of(s->machine), s->at,
							   string(m, causes[s->cause]), s->cpu,
							   s->hz};

		memcpy(cells + ARRAY_SIZE(cells) - STAT_NR_TIMES, s->times, sizeof(s->times));
		put_row(m, TABLE_STAT, i, cells);
	}
}

static void put_marks(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_marks; i++) {
		const struct mark *mark = &m->marks[i];
		const struct cpu *cpu = cpu_root(mark->cpu);
		int64_t cells[] = {
			mark->at,   row_of(cpu->machine),
			cpu->number, mark->thread ? (int64_t)mark->thread->row : -1,
			mark->kind, mark->id,
			mark->text, mark->by_host,
		};

		put_row(m, TABLE_MARK, i, cells);
	}
}

static void put_vtids(struct model *m)
{
	for (uint32_t i = m->nr_written[TABLE_VTID]; i < m->nr_vtids; i++) {
		const struct vtid *v = &m->vtids[i];
		int64_t cells[] = {v->thread, v->level, v->ns, v->vtid};

		put_row(m, TABLE_VTID, i, cells);
	}
}

static void put_contexts(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->contexts.nr; i++) {
		const struct context *c = &m->contexts.rows[i];
		uint32_t serves = context_serves(c);

		assert(context_cpu(c) && context_cpu(c) <= m->nr_cpus && serves <= m->nr_cpus &&
		       context_thread(c) <= m->nr_threads);
		const struct cpu *cpu = cpu_root(m->cpus[context_cpu(c) - 1]);
		int64_t cells[] = {
			row_of(cpu->machine),
			cpu->number,
			(int64_t)context_thread(c) - 1,
			context_mode(c),
			c->detail,
			serves ? cpu_root(m->cpus[serves - 1])->row + 1 : 0,
			context_vmm(c),
		};

		put_row(m, TABLE_CONTEXT, i, cells);
	}
}

static void put_wakes(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->wakes.nr; i++) {
		const struct wake *w = &m->wakes.rows[i];
		const struct note *n = &w->note;
		int64_t cells[] = {
			w->vcpu->row,
			n->cause,
			n->vector,
			n->from ? n->from->row + 1 : 0,
			n->by ? (int64_t)n->by->row : -1,
			string(m, wake_evidence_text((enum wake_evidence)n->evidence)),
		};

		put_row(m, TABLE_WAKE, i, cells);
	}
}

static void put_vectors(struct model *m)
{
	for (uint32_t i = 0; i < m->wakes.nr_vectors; i++) {
		const struct vector *v = &m->wakes.vectors[i];
		struct verdict verdict = vector_verdict(m, v);
		int64_t cells[] = {
			v->vcpu->row,	   v->number,	  verdict.cause, verdict.irq_name,
			verdict.times,	   verdict.agree, string(m, verdict.evidence),
		};

		put_row(m, TABLE_VECTOR, i, cells);
	}
	for (uint32_t i = m->nr_written[TABLE_IRQ]; i < m->wakes.nr_irqs; i++) {
		const struct irq_name *n = &m->wakes.irqs[i];
		int64_t cells[] = {row_of(m->machines[n->machine->index]), n->irq, n->name};

		put_row(m, TABLE_IRQ, i, cells);
	}
}

static void put_exits(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_exits; i++) {
		const struct exit_kind *k = &m->exits[i];
		int64_t cells[] = {
			k->reason,
			k->isa,
			k->serves ? cpu_root(m->cpus[k->serves - 1])->row + 1 : 0,
			k->user,
		};

		put_row(m, TABLE_EXIT, i, cells);
	}
}

static void put_milestones(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_milestones; i++) {
		const struct milestone *ms = &m->milestones[i];
		const struct cpu *cpu = ms->vcpu ? cpu_root(ms->vcpu) : NULL;
		int64_t cells[] = {
			row_of(cpu ? cpu->machine : ms->machine),
			cpu ? (int64_t)cpu->row : -1,
			ms->since,
			ms->at,
			string(m, ms->kind),
			ms->text,
		};

		put_row(m, TABLE_MILESTONE, i, cells);
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

static uint32_t put_clock(struct model *m, uint32_t row, unsigned machine, ns_t end)
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

		put_row(m, TABLE_CLOCK, row++, cells);
	}
	return row;
}

static void put_clocks(struct model *m, ns_t end)
{
	uint32_t row = 0;

	for (unsigned i = 0; i < m->topo->nr_machines; i++)
		row = put_clock(m, row, i, end);
}

static void put_losses(struct model *m, uint32_t from, ns_t end)
{
	for (uint32_t i = from; i < m->nr_losses; i++) {
		const struct loss *l = &m->losses[i];
		/* Of a CPU that is missing: only what is missing in this run. */
		bool inside = l->begin < end && l->end > m->begin;
		int64_t cells[] = {row_of(l->machine), l->cpu,
				   inside && l->begin < m->begin ? m->begin : l->begin,
				   inside && l->end > end ? end : l->end, l->events};

		put_row(m, TABLE_LOSS, i, cells);
	}
}

static void write_problem_list(struct model *m, int64_t machine, const struct problems *p)
{
	for (unsigned i = 0; i < p->nr; i++) {
		int64_t cells[] = {machine, string(m, p->list[i].text), (int64_t)p->list[i].count};

		add_row(m, TABLE_PROBLEM, cells);
	}
	if (p->dropped) {
		int64_t cells[] = {machine, string(m, "further problems, not listed"),
				   (int64_t)p->dropped};

		add_row(m, TABLE_PROBLEM, cells);
	}
}

static void write_problems(struct model *m)
{
	write_problem_list(m, -1, &m->topo->problems);
	for (unsigned i = 0; i < m->topo->nr_machines; i++) {
		for (const struct trace *t = m->topo->machines[i].trace; t; t = t->part)
			write_problem_list(m, row_of(m->machines[i]), &t->problems);
	}
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *mc = m->machines[i];
		int64_t cells[] = {row_of(mc),
				   string(m, "events at times at which the host's trace says that "
					     "the vCPU was not running them"),
				   (int64_t)mc->violations};

		if (mc->violations)
			add_row(m, TABLE_PROBLEM, cells);
	}
	if (m->marks_dropped)
		problems_add(&m->problems, "%llu marks more than a history keeps are left out",
			     (unsigned long long)m->marks_dropped);
	write_problem_list(m, -1, &m->problems);
}

void model_meta(struct model *m, const char *key, const char *value)
{
	int64_t cells[] = {string(m, key), string(m, value)};

	add_row(m, TABLE_META, cells);
}

static void write_meta(struct model *m, ns_t end)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)m->begin);
	model_meta(m, "begin_ns", text);
	snprintf(text, sizeof(text), "%lld", (long long)end);
	model_meta(m, "end_ns", text);
}

/* Rows that are there already are looked through only when @all says so: there may be many. */
static void put_rows(struct model *m, bool all, ns_t end)
{
	uint32_t threads_from = all ? 0 : m->nr_written[TABLE_THREAD];

	put_machines(m);
	for (uint32_t i = threads_from; i < m->nr_threads; i++)
		put_thread(m, m->threads[i]);
	put_cpus(m);
	put_namespaces(m, all ? 0 : m->nr_written[TABLE_PID_NS]);
	put_vtids(m);
	put_cgroups(m, all ? 0 : m->nr_written[TABLE_CGROUP]);
	put_identities(m, all ? 0 : m->nr_written[TABLE_IDENTITY]);
	put_stats(m);
	put_marks(m, all ? 0 : m->nr_written[TABLE_MARK]);
	put_wakes(m, all ? 0 : m->nr_written[TABLE_WAKE]);
	if (all)
		put_vectors(m);
	put_clocks(m, end);
	put_losses(m, all ? 0 : m->nr_written[TABLE_LOSS], end);
}

/* Looks through all rows at calls 1, 2, 4, 8 ...: as a rule most of a row is known soon. */
static void sync(void *data)
{
	struct model *m = data;

	number_machines(m);
	number_cpus(m);
	m->nr_syncs++;
	put_rows(m, !(m->nr_syncs & (m->nr_syncs - 1)), m->now);
	put_contexts(m, m->nr_written[TABLE_CONTEXT]);
	put_exits(m, m->nr_written[TABLE_EXIT]);
	put_milestones(m, m->nr_written[TABLE_MILESTONE]);
}

void tables_open(struct model *m)
{
	for (unsigned i = 0; i < NR_TABLES; i++)
		m->tables[i] = history_writer_table(m->w, schema[i].name, schema[i].columns,
						    schema[i].nr_columns);
	history_writer_before_batch(m->w, sync, m);
}

void tables_close(struct model *m, ns_t end)
{
	uint32_t nr_machines, nr_cpus;

	history_writer_before_batch(m->w, NULL, NULL);
	state_lines_settle(m);
	group_vms(m);
	namespaces_settle(m);
	nr_machines = number_machines(m);
	nr_cpus = number_cpus(m);
	put_rows(m, true, end);
	put_contexts(m, 0);
	put_exits(m, 0);
	put_milestones(m, 0);
	history_writer_end_table(m->w, m->tables[TABLE_MACHINE], nr_machines);
	history_writer_end_table(m->w, m->tables[TABLE_CPU], nr_cpus);
	write_problems(m);
	write_meta(m, end);
}
