/* SPDX-License-Identifier: Apache-2.0 */
/* A history's rows as the public interface has them. */
#include "query/cells.h"
#include "query/counts.h"
#include "query/exits.h"
#include "query/milestone.h"
#include "query/query.h"
#include "base/figure.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NR_ROWS(function, table)                                                                   \
	int64_t function(const struct sonde_history *history)                                      \
	{                                                                                          \
		return query_nr_rows(history, table);                                              \
	}
NR_ROWS(sonde_nr_machines, QUERY_MACHINE)
NR_ROWS(sonde_nr_cpus, QUERY_CPU)
NR_ROWS(sonde_nr_threads, QUERY_THREAD)
NR_ROWS(sonde_nr_pid_ns, QUERY_PID_NS)
NR_ROWS(sonde_nr_contexts, QUERY_CONTEXT)
NR_ROWS(sonde_nr_clocks, QUERY_CLOCK)
NR_ROWS(sonde_nr_losses, QUERY_LOSS)
NR_ROWS(sonde_nr_problems, QUERY_PROBLEM)
NR_ROWS(sonde_nr_left_outs, QUERY_LEFT_OUT)
NR_ROWS(sonde_nr_wakes, QUERY_WAKE)
NR_ROWS(sonde_nr_vectors, QUERY_VECTOR)
NR_ROWS(sonde_nr_meta, QUERY_META)
NR_ROWS(sonde_nr_cgroups, QUERY_CGROUP)
NR_ROWS(sonde_nr_identities, QUERY_IDENTITY)
NR_ROWS(sonde_nr_cpu_times, QUERY_STAT)
NR_ROWS(sonde_nr_marks, QUERY_MARK)

/* No tracer loses more: a count beyond is a damaged one, and not known. */
#define LOST_MAX (INT64_C(1) << 53)

/* What happened did so within the history, and ended after it began, whatever a file says. */
static void put_in_run(const struct sonde_history *history, int64_t *begin, int64_t *end)
{
	ns_clip(begin, end, history_begin(history->file), history_end(history->file));
}

static int read_machine(const struct sonde_history *history, int64_t row, struct sonde_machine *out)
{
	const enum query_table t = QUERY_MACHINE;

	if (history->machines && query_has_row(history, t, row)) {
		*out = history->machines[row];
		return 0;
	}
	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->name = query_string(history, t, row, 0);
	out->parent = (int)query_number(history, t, row, 1);
	out->level = (unsigned)query_number(history, t, row, 2);
	out->traced = query_number(history, t, row, 3) > 0;
	out->hostname = query_string(history, t, row, 4);
	out->release = query_string(history, t, row, 5);
	out->tracer = query_string(history, t, row, 6);
	out->trace_path = query_string(history, t, row, 7);
	out->evidence = query_string(history, t, row, 8);
	out->vm_pid = query_number(history, t, row, 9);
	out->pid_known = query_number(history, t, row, 10) > 0;
	out->begin = query_number(history, t, row, 12);
	out->end = query_number(history, t, row, 13);
	return 0;
}

static int read_cpu(const struct sonde_history *history, int64_t row, struct sonde_cpu *out)
{
	bool there = query_has_row(history, QUERY_CPU, row);

	*out = there ? history->cpus[row] : (struct sonde_cpu){0};
	return there ? 0 : -ENOENT;
}

static int read_thread(const struct sonde_history *history, int64_t row, struct sonde_thread *out)
{
	const enum query_table t = QUERY_THREAD;
	int64_t there = INT64_MAX;

	if (!query_has_row(history, t, row)) {
		memset(out, 0, sizeof(*out));
		return -ENOENT;
	}
	if (history->thread_rows) {
		*out = history->thread_rows[row];
		return 0;
	}
	memset(out, 0, sizeof(*out));
	out->machine = (unsigned)query_number(history, t, row, 0);
	out->tid = query_number(history, t, row, 1);
	out->pid = query_number(history, t, row, 2);
	out->ppid = query_number(history, t, row, 3);
	out->comm = query_string(history, t, row, 4);
	out->pid_ns = query_number(history, t, row, 5);
	out->begin = query_number(history, t, row, 6);
	out->end = query_number(history, t, row, 7);
	put_in_run(history, &out->begin, out->end == -1 ? &there : &out->end);
	out->vcpu =
		query_number(history, t, row, 8) > 0 ? query_number(history, t, row, 8) - 1 : -1;
	out->cgroup = query_number(history, t, row, 9);
	return 0;
}

/* Namespaces come in the order in which they were met, but the outer level is the lower. */
bool query_pid_ns_fits(const struct sonde_history *history, int64_t row)
{
	const enum query_table t = QUERY_PID_NS;
	int64_t parent = query_number(history, t, row, 2);

	return parent == -1 ||
	       (query_has_row(history, t, parent) &&
		query_number(history, t, parent, 0) == query_number(history, t, row, 0) &&
		query_number(history, t, parent, 3) < query_number(history, t, row, 3));
}

static int read_pid_ns(const struct sonde_history *history, int64_t row, struct sonde_pid_ns *out)
{
	const enum query_table t = QUERY_PID_NS;

	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->machine = (unsigned)query_number(history, t, row, 0);
	out->inum = (uint64_t)query_number(history, t, row, 1);
	out->parent = query_pid_ns_fits(history, row) ? query_number(history, t, row, 2) : -1;
	out->level = (unsigned)query_number(history, t, row, 3);
	out->name = query_string(history, t, row, 4);
	return 0;
}

/* Histories of before 2026-11-27 do not say it: they are of x86-64 machines. */
static enum arch arch_of_row(const struct sonde_history *history, int64_t machine)
{
	int64_t arch = query_number(history, QUERY_MACHINE, machine, 14);

	return arch < 0 ? ARCH_X86_64 : arch < NR_ARCHS ? (enum arch)arch : ARCH_UNKNOWN;
}

static const char *detail_text(const struct sonde_history *history, const struct sonde_context *c)
{
	const char *name = NULL;

	if (c->mode == SONDE_MODE_SYSCALL && c->detail > 0)
		name = history_string(history->file, (uint32_t)c->detail);
	else if (c->mode == SONDE_MODE_IRQ)
		name = arch_vector_name(arch_of_row(history, c->machine), c->detail);
	else if (c->mode == SONDE_MODE_SOFTIRQ)
		name = softirq_name(c->detail);
	else if (c->mode == SONDE_MODE_HYPERVISOR)
		name = exit_reason_name(history->isa, c->detail);
	return name ? name : "";
}

static int read_context(const struct sonde_history *history, int64_t row, struct sonde_context *out)
{
	const enum query_table t = QUERY_CONTEXT;
	int64_t mode;

	if (!query_has_row(history, t, row)) {
		memset(out, 0, sizeof(*out));
		return -ENOENT;
	}
	if (history->contexts) {
		*out = history->contexts[row];
		return 0;
	}
	memset(out, 0, sizeof(*out));
	out->machine = (unsigned)query_number(history, t, row, 0);
	out->cpu = (int)query_number(history, t, row, 1);
	out->thread = query_number(history, t, row, 2);
	mode = query_number(history, t, row, 3);
	out->mode = mode < 0 || mode >= QUERY_NR_MODES ? SONDE_MODE_UNKNOWN : (enum sonde_mode)mode;
	out->detail = query_number(history, t, row, 4);
	out->serves =
		query_number(history, t, row, 5) > 0 ? query_number(history, t, row, 5) - 1 : -1;
	out->detail_text = detail_text(history, out);
	out->vmm = (int)query_number(history, t, row, 6);
	return 0;
}

static int read_clock(const struct sonde_history *history, int64_t row, struct sonde_clock *out)
{
	const enum query_table t = QUERY_CLOCK;

	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->machine = (unsigned)query_number(history, t, row, 0);
	out->from = query_number(history, t, row, 1);
	out->to = query_number(history, t, row, 2);
	out->bound_ns = query_number(history, t, row, 3);
	out->method = query_string(history, t, row, 4);
	out->pairs = query_number(history, t, row, 5);
	out->violations = query_number(history, t, row, 6);
	out->worst_violation_ns = query_number(history, t, row, 7);
	out->rate_ppb = query_number(history, t, row, 8);
	out->readings = query_number(history, t, row, 9);
	out->contained = query_number(history, t, row, 10);
	out->timers = query_number(history, t, row, 11);
	return 0;
}

static int read_loss(const struct sonde_history *history, int64_t row, struct sonde_loss *out)
{
	const enum query_table t = QUERY_LOSS;

	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->machine = (int)query_number(history, t, row, 0);
	out->cpu = (int)query_number(history, t, row, 1);
	out->begin = query_number(history, t, row, 2);
	out->end = query_number(history, t, row, 3);
	put_in_run(history, &out->begin, &out->end);
	out->events = query_number(history, t, row, 4);
	if (out->events < 0 || out->events > LOST_MAX)
		out->events = -1;
	return 0;
}

static int read_mark(const struct sonde_history *history, int64_t row, struct sonde_mark *out)
{
	const enum query_table t = QUERY_MARK;

	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->t = query_number(history, t, row, 0);
	out->machine = (int)query_number(history, t, row, 1);
	out->cpu = (int)query_number(history, t, row, 2);
	out->thread = query_number(history, t, row, 3);
	out->kind = (int)query_number(history, t, row, 4);
	out->id = query_number(history, t, row, 5);
	out->text = query_string(history, t, row, 6);
	out->by_host = query_number(history, t, row, 7) > 0;
	return 0;
}

static int read_problem(const struct sonde_history *history, int64_t row, struct sonde_problem *out)
{
	const enum query_table t = QUERY_PROBLEM;

	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->machine = (int)query_number(history, t, row, 0);
	out->text = query_string(history, t, row, 1);
	out->count = query_number(history, t, row, 2);
	out->note = query_cell(history, t, row, 3) > 0;
	return 0;
}

static int read_left_out(const struct sonde_history *history, int64_t row,
			 struct sonde_left_out *out)
{
	const enum query_table t = QUERY_LEFT_OUT;

	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->name = query_string(history, t, row, 0);
	out->path = query_string(history, t, row, 1);
	out->reason = query_string(history, t, row, 2);
	return 0;
}

static int read_meta(const struct sonde_history *history, int64_t row, struct sonde_meta *out)
{
	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, QUERY_META, row))
		return -ENOENT;
	out->key = query_string(history, QUERY_META, row, 0);
	out->value = query_string(history, QUERY_META, row, 1);
	return 0;
}

static int read_cgroup(const struct sonde_history *history, int64_t row, struct sonde_cgroup *out)
{
	const enum query_table t = QUERY_CGROUP;

	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->machine = (unsigned)query_number(history, t, row, 0);
	out->id = (uint64_t)query_number(history, t, row, 1);
	out->path = query_string(history, t, row, 2);
	return 0;
}

static int read_identity(const struct sonde_history *history, int64_t row,
			 struct sonde_identity *out)
{
	const enum query_table t = QUERY_IDENTITY;

	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->machine = (unsigned)query_number(history, t, row, 0);
	out->key = query_string(history, t, row, 1);
	out->value = query_string(history, t, row, 2);
	return 0;
}

static int read_cpu_times(const struct sonde_history *history, int64_t row,
			  struct sonde_cpu_times *out)
{
	const enum query_table t = QUERY_STAT;

	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->machine = (unsigned)query_number(history, t, row, 0);
	out->t = query_number(history, t, row, 1);
	out->cause = query_string(history, t, row, 2);
	out->cpu = (int)query_number(history, t, row, 3);
	out->hz = query_number(history, t, row, 4);
	out->user = query_number(history, t, row, 5);
	out->nice = query_number(history, t, row, 6);
	out->system = query_number(history, t, row, 7);
	out->idle = query_number(history, t, row, 8);
	out->iowait = query_number(history, t, row, 9);
	out->irq = query_number(history, t, row, 10);
	out->softirq = query_number(history, t, row, 11);
	out->steal = query_number(history, t, row, 12);
	out->guest = query_number(history, t, row, 13);
	out->guest_nice = query_number(history, t, row, 14);
	return 0;
}

void query_give(void *out, size_t out_bytes, const void *own, size_t own_bytes)
{
	size_t both = out_bytes < own_bytes ? out_bytes : own_bytes;

	memcpy(out, own, both);
	memset((char *)out + both, 0, out_bytes - both);
}

SIZED(machine)
SIZED(cpu)
SIZED(thread)
SIZED(pid_ns)
SIZED(context)
SIZED(clock)
SIZED(loss)
SIZED(problem)
SIZED(left_out)
SIZED(meta)
SIZED(cgroup)
SIZED(identity)
SIZED(cpu_times)
SIZED(mark)

/* ---- for analyses -------------------------------------------------------------------------- */

const struct sonde_context *query_contexts(struct sonde_history *history)
{
	int64_t nr = query_nr_rows(history, QUERY_CONTEXT);
	struct sonde_context *all;

	if (history->contexts)
		return history->contexts;
	all = calloc((size_t)nr + 1, sizeof(*all));
	for (int64_t row = 0; all && row < nr; row++)
		read_context(history, row, &all[row]);
	history->contexts = all;
	return all;
}

const struct sonde_thread *query_threads(struct sonde_history *history)
{
	int64_t nr = query_nr_rows(history, QUERY_THREAD);
	struct sonde_thread *all;

	if (history->thread_rows)
		return history->thread_rows;
	all = calloc((size_t)nr + 1, sizeof(*all));
	for (int64_t row = 0; all && row < nr; row++)
		read_thread(history, row, &all[row]);
	history->thread_rows = all;
	return all;
}

int query_first_cpu(const struct sonde_history *history, int64_t thread)
{
	return query_has_row(history, QUERY_THREAD, thread)
		       ? (int)query_number(history, QUERY_THREAD, thread, 10)
		       : -1;
}

int query_index_exits(struct sonde_history *history, struct error *err)
{
	int64_t nr = query_nr_rows(history, QUERY_EXIT);

	history->exit_kinds = calloc((size_t)nr + 1, sizeof(*history->exit_kinds));
	if (!history->exit_kinds)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < nr; row++) {
		struct exit_kind *kind = &history->exit_kinds[row];

		kind->reason = query_number(history, QUERY_EXIT, row, 0);
		kind->isa = query_number(history, QUERY_EXIT, row, 1);
		kind->serves = query_number(history, QUERY_EXIT, row, 2) - 1;
		if (kind->serves < 0 || kind->serves >= query_nr_rows(history, QUERY_CPU))
			kind->serves = -1;
		kind->user_reason = query_number(history, QUERY_EXIT, row, 3);
	}
	history->nr_exit_kinds = nr;
	return 0;
}

int query_milestone(const struct sonde_history *history, int64_t row, struct milestone *out)
{
	const enum query_table t = QUERY_MILESTONE;

	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->machine = query_number(history, t, row, 0);
	out->since = query_number(history, t, row, 2);
	out->at = query_number(history, t, row, 3);
	put_in_run(history, &out->since, &out->at);
	out->kind = query_string(history, t, row, 4);
	out->text = query_string(history, t, row, 5);
	return 0;
}
