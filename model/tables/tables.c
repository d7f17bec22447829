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
#include "events/rows.h"
#include "model/tables/tables.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "model/io/doorbell.h"
#include "model/identity/one_vm.h"
#include "model/identity/machine.h"
#include "model/identity/namespace.h"
#include "model/wake/vcpu_waits.h"
#include "model/kvm/address_space.h"
#include "model/dump/state_lines.h"
#include "model/tables/table_rows.h"
#include "model/tables/tables_trust.h"
#include "model/wake/vector.h"

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

/* What kinds of events its trace was seen to have; the bits are in docs/formats/schema.md. */
static int64_t sees(const struct machine_state *mc)
{
	return mc->sees_requests << 0 | mc->sees_packets << 1 | mc->sees_interrupts << 2 |
	       mc->sees_kvm << 3 | mc->sees_deliveries << 4 | mc->sees_injections << 5 |
	       mc->sees_waking << 6;
}

/* A VM without a trace has its host's. */
static enum arch arch_of(const struct machine_state *mc)
{
	while (!mc->trace && mc->parent)
		mc = mc->parent;
	return mc->trace ? mc->trace->arch : ARCH_UNKNOWN;
}

static void put_machine(struct model *m, const struct machine_state *mc)
{
	const struct trace *t = mc->trace;
	char name[32];

	/* VMs without a trace get theirs at the end. */
	snprintf(name, sizeof(name), "vm?%u", mc->index);

	int64_t cells[] = {
		table_string(m, mc->name[0] ? mc->name : name),
		table_row_of(mc->parent),
		mc->level,
		t != NULL,
		table_string(m, t ? t->hostname : ""),
		table_string(m, t ? t->release : ""),
		table_string(m, t ? t->tracer : ""),
		table_string(m, t ? t->path : ""),
		table_string(m, mc->evidence),
		mc->vm_pid,
		mc->pid_known,
		(int64_t)mc->violations,
		sees(mc),
		mc->traced_any ? mc->traced_from : -1,
		mc->traced_any ? mc->traced_to : -1,
		arch_of(mc),
	};
	table_put_row(m, TABLE_MACHINE, mc->row, cells);
}

static void put_machines(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		if (!m->machines[i]->merged_into)
			put_machine(m, m->machines[i]);
	}
}

/* For which vCPU that was, from an index + 1.  0: none, or a guest of the vCPU that the thread
 * runs, not known which; so what stands for any of them in a VM that has a trace after all:
 * one_vm.c. */
static int64_t served_row(const struct model *m, uint32_t serves)
{
	const struct cpu *cpu = serves ? m->cpus[serves - 1] : NULL;

	if (!cpu || (cpu->any_of && !cpu_root(cpu)->any_of))
		return 0;
	return cpu_root(cpu)->row + 1;
}

/* A kernel thread is a process of its own. */
static int64_t pid_of(const struct thread *th)
{
	return th->pid < 0 && th->kind == KIND_KERNEL ? th->tid : th->pid;
}

static void put_thread(struct model *m, const struct thread *th)
{
	int64_t cells[] = {
		table_row_of(th->machine),
		th->tid,
		pid_of(th),
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
	table_put_row(m, TABLE_THREAD, th->row, cells);
}

static void put_cpus(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		const struct cpu *cpu = m->cpus[i];
		const struct thread *host = cpu->vcpu.host;

		if (cpu->merged_into)
			continue;
		int64_t cells[] = {table_row_of(cpu->machine),	   cpu->number,
				   host ? host->tid : -1,	   (int64_t)cpu->nested_id,
				   host ? (int64_t)host->row : -1, table_string(m, cpu->path)};
		table_put_row(m, TABLE_CPU, cpu->row, cells);
		if (host)
			put_thread(m, host);
	}
}

static void put_namespaces(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_namespaces; i++) {
		const struct pid_ns *ns = &m->namespaces[i];
		int64_t cells[] = {table_row_of(ns->machine), ns->inum, ns->parent, ns->level,
				   table_string(m, ns->name)};

		table_put_row(m, TABLE_PID_NS, i, cells);
	}
}

static void put_cgroups(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_cgroups; i++) {
		const struct cgroup *c = &m->cgroups[i];
		int64_t cells[] = {table_row_of(c->machine), (int64_t)c->id,
				   table_string(m, c->path)};

		table_put_row(m, TABLE_CGROUP, i, cells);
	}
}

static void put_identities(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_identities; i++) {
		const struct identity *id = &m->identities[i];
		int64_t cells[] = {table_row_of(id->machine), table_string(m, id->key), id->value};

		table_put_row(m, TABLE_IDENTITY, i, cells);
	}
}

static void put_stats(struct model *m)
{
	static const char *const causes[] = {
		[STATE_CAUSE_OTHER] = "",
		[STATE_CAUSE_START] = "start",
		[STATE_CAUSE_VM] = "vm",
		[STATE_CAUSE_END] = "end",
	};

	for (uint32_t i = m->nr_written[TABLE_STAT]; i < m->nr_stats; i++) {
		const struct stat_line *s = &m->stats[i];
		int64_t cells[5 + STAT_NR_TIMES] = {table_row_of(s->machine), s->at,
						    table_string(m, causes[s->cause]), s->cpu,
						    s->hz};

		assert(table_schemas[TABLE_STAT].nr_columns == ARRAY_SIZE(cells));
		memcpy(cells + ARRAY_SIZE(cells) - STAT_NR_TIMES, s->times, sizeof(s->times));
		table_put_row(m, TABLE_STAT, i, cells);
	}
}

static void put_marks(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_marks; i++) {
		const struct mark *mark = &m->marks[i];
		const struct cpu *cpu = cpu_root(mark->cpu);
		int64_t cells[] = {
			mark->at,    table_row_of(cpu->machine),
			cpu->number, mark->thread ? (int64_t)mark->thread->row : -1,
			mark->kind,  mark->id,
			mark->text,  mark->by_host,
		};

		table_put_row(m, TABLE_MARK, i, cells);
	}
}

static void put_kept_events(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_kept_events; i++) {
		const struct kept_event *k = &m->kept_events[i];
		const struct cpu *cpu = cpu_root(k->cpu);
		int64_t cells[5 + EVENT_ARGS] = {
			k->at,
			table_string(m, event_kind_name((enum event_kind)k->kind)),
			table_row_of(cpu->machine),
			cpu->row,
			k->thread ? (int64_t)k->thread->row : -1,
		};

		memcpy(&cells[5], k->arg, sizeof(k->arg));
		assert(table_schemas[TABLE_KEPT_EVENT].nr_columns == ARRAY_SIZE(cells));
		table_put_row(m, TABLE_KEPT_EVENT, i, cells);
	}
}

static void put_vtids(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_vtids; i++) {
		const struct vtid *v = &m->vtids[i];
		int64_t cells[] = {v->thread, namespace_level(m, v), v->ns, v->vtid};

		table_put_row(m, TABLE_VTID, i, cells);
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
			table_row_of(cpu->machine),
			cpu->number,
			(int64_t)context_thread(c) - 1,
			context_mode(c),
			c->detail,
			served_row(m, serves),
			context_vmm(c),
		};

		table_put_row(m, TABLE_CONTEXT, i, cells);
	}
}

static void put_wakes(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->wakes.nr; i++) {
		const struct wake *w = &m->wakes.rows[i];
		const struct note *n = &w->note;
		int64_t cells[] = {
			cpu_root(w->vcpu)->row,
			n->cause,
			n->vector,
			n->from ? cpu_root(n->from)->row + 1 : 0,
			n->by ? (int64_t)n->by->row : -1,
			table_string(m, wake_evidence_text((enum wake_evidence)n->evidence)),
			n->evidence == EVIDENCE_LOST || n->evidence == EVIDENCE_GONE,
		};

		table_put_row(m, TABLE_WAKE, i, cells);
	}
}

static void put_vectors(struct model *m)
{
	for (uint32_t i = 0; i < m->wakes.nr_vectors; i++) {
		const struct vector *v = &m->wakes.vectors[i];
		struct verdict verdict = vector_verdict(m, v);
		int64_t cells[] = {
			cpu_root(v->vcpu)->row,
			v->number,
			verdict.cause,
			verdict.irq_name,
			verdict.times,
			verdict.agree,
			table_string(m, verdict.evidence),
		};

		table_put_row(m, TABLE_VECTOR, i, cells);
	}
	for (uint32_t i = m->nr_written[TABLE_IRQ]; i < m->wakes.nr_irqs; i++) {
		const struct irq_name *n = &m->wakes.irqs[i];
		int64_t cells[] = {table_row_of(m->machines[n->machine->index]), n->irq, n->name};

		table_put_row(m, TABLE_IRQ, i, cells);
	}
}

static void put_exits(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_exits; i++) {
		const struct exit_kind *k = &m->exits[i];
		int64_t cells[] = {
			k->reason,
			k->isa,
			served_row(m, k->serves),
			k->user,
		};

		table_put_row(m, TABLE_EXIT, i, cells);
	}
}

static void put_milestones(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_milestones; i++) {
		const struct milestone *ms = &m->milestones[i];
		const struct cpu *cpu = ms->vcpu ? cpu_root(ms->vcpu) : NULL;
		int64_t cells[] = {
			table_row_of(cpu ? cpu->machine : ms->machine),
			cpu ? (int64_t)cpu->row : -1,
			ms->since,
			ms->at,
			table_string(m, ms->kind),
			ms->text,
		};

		table_put_row(m, TABLE_MILESTONE, i, cells);
	}
}

static void put_refused(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_refused; i++) {
		const struct refused *r = &m->refused[i];
		int64_t cells[] = {
			table_row_of(r->machine),
			r->thread ? (int64_t)r->thread->row : -1,
			r->what,
			r->origin,
			(int64_t)r->count,
			r->first,
			r->last,
		};

		table_put_row(m, TABLE_REFUSED, i, cells);
	}
}

static void put_spaces(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_spaces; i++) {
		const struct space *s = m->spaces[i];
		int64_t cells[] = {s->thread->row, (int64_t)s->page, s->times, s->doubt};

		table_put_row(m, TABLE_ADDRESS_SPACE, i, cells);
	}
}

static int64_t thread_row_of(const struct thread *th)
{
	return th ? (int64_t)th->row : -1;
}

/* One that has not ended yet may do so later. */
static void put_initcalls(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_initcalls; i++) {
		const struct initcall *c = &m->initcalls[i];
		int64_t cells[] = {
			table_row_of(c->machine),
			thread_row_of(c->thread),
			c->name,
			c->level,
			c->begin == NS_MIN ? -1 : c->begin,
			c->end == NS_MIN ? -1 : c->end,
			c->result,
		};

		table_put_row(m, TABLE_INITCALL, i, cells);
	}
}

/* Of a kick alone it is known at the end only what answered it. */
static bool may_be_anothers(const struct request *r)
{
	return r->kind == REQUEST_UNKNOWN && r->dev < 0 && !r->answered;
}

static void put_requests(struct model *m, uint32_t from)
{
	for (uint32_t i = from; i < m->nr_requests; i++) {
		const struct request *r = &m->requests[i];
		const struct cpu *cpu = r->cpu ? cpu_root(r->cpu) : NULL;
		int64_t cells[8 + NR_REQUEST_TIMES + 6] = {
			table_row_of(cpu ? cpu->machine : r->machine),
			cpu ? (int64_t)cpu->row : -1,
			thread_row_of(r->thread),
			r->kind,
			r->dev,
			r->sector,
			r->bytes,
			r->depth,
		};

		for (unsigned t = 0; t < NR_REQUEST_TIMES; t++)
			cells[8 + t] = r->at[t] == NS_MIN ? -1 : r->at[t];
		if (r->queued_unseen)
			cells[8 + REQUEST_QUEUED] = REQUEST_PERHAPS;
		cells[8 + NR_REQUEST_TIMES] = thread_row_of(r->worker);
		cells[9 + NR_REQUEST_TIMES] = thread_row_of(r->sender);
		cells[10 + NR_REQUEST_TIMES] = r->irq_cpu ? (int64_t)cpu_root(r->irq_cpu)->row : -1;
		cells[11 + NR_REQUEST_TIMES] = may_be_anothers(r) ? -1 : r->vector;
		cells[12 + NR_REQUEST_TIMES] = r->covered;
		cells[13 + NR_REQUEST_TIMES] = r->disputed;
		assert(table_schemas[TABLE_REQUEST].nr_columns == ARRAY_SIZE(cells));
		table_put_row(m, TABLE_REQUEST, i, cells);
	}
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
	put_vtids(m, all ? 0 : m->nr_written[TABLE_VTID]);
	put_cgroups(m, all ? 0 : m->nr_written[TABLE_CGROUP]);
	put_identities(m, all ? 0 : m->nr_written[TABLE_IDENTITY]);
	put_stats(m);
	put_marks(m, all ? 0 : m->nr_written[TABLE_MARK]);
	put_kept_events(m, all ? 0 : m->nr_written[TABLE_KEPT_EVENT]);
	put_refused(m);
	put_wakes(m, all ? 0 : m->nr_written[TABLE_WAKE]);
	put_spaces(m, all ? 0 : m->nr_written[TABLE_ADDRESS_SPACE]);
	if (all)
		put_vectors(m);
	tables_put_clocks(m, end);
	tables_put_losses(m, all ? 0 : m->nr_written[TABLE_LOSS], end);
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
	put_requests(m, m->nr_written[TABLE_REQUEST]);
}

void tables_open(struct model *m)
{
	for (unsigned i = 0; i < NR_TABLES; i++)
		m->tables[i] =
			history_writer_table(m->w, table_schemas[i].name, table_schemas[i].columns,
					     table_schemas[i].nr_columns);
	history_writer_before_batch(m->w, sync, m);
}

void tables_close(struct model *m, ns_t end)
{
	uint32_t nr_machines, nr_cpus;

	history_writer_before_batch(m->w, NULL, NULL);
	state_lines_settle(m);
	group_vms(m);
	doorbells_settle(m);
	namespaces_settle(m);
	spaces_settle(m);
	nr_machines = number_machines(m);
	nr_cpus = number_cpus(m);
	put_rows(m, true, end);
	put_contexts(m, 0);
	put_exits(m, 0);
	put_milestones(m, 0);
	put_requests(m, 0);
	put_initcalls(m);
	history_writer_end_table(m->w, m->tables[TABLE_MACHINE], nr_machines);
	history_writer_end_table(m->w, m->tables[TABLE_CPU], nr_cpus);
	tables_write_problems(m);
	tables_write_meta(m, end);
}
