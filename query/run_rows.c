/* SPDX-License-Identifier: Apache-2.0 */
/* A run's rows as the public interface has them. */
#include "query/cells.h"
#include "query/exits.h"
#include "query/milestone.h"
#include "query/run.h"
#include "base/figure.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NR_ROWS(function, table)                                                                   \
	int64_t function(const struct sonde_run *run)                                              \
	{                                                                                          \
		return run_nr_rows(run, table);                                                    \
	}
NR_ROWS(sonde_nr_machines, RUN_MACHINE)
NR_ROWS(sonde_nr_cpus, RUN_CPU)
NR_ROWS(sonde_nr_threads, RUN_THREAD)
NR_ROWS(sonde_nr_pid_ns, RUN_PID_NS)
NR_ROWS(sonde_nr_contexts, RUN_CONTEXT)
NR_ROWS(sonde_nr_clocks, RUN_CLOCK)
NR_ROWS(sonde_nr_losses, RUN_LOSS)
NR_ROWS(sonde_nr_problems, RUN_PROBLEM)
NR_ROWS(sonde_nr_left_outs, RUN_LEFT_OUT)
NR_ROWS(sonde_nr_wakes, RUN_WAKE)
NR_ROWS(sonde_nr_vectors, RUN_VECTOR)
NR_ROWS(sonde_nr_meta, RUN_META)
NR_ROWS(sonde_nr_cgroups, RUN_CGROUP)
NR_ROWS(sonde_nr_identities, RUN_IDENTITY)
NR_ROWS(sonde_nr_cpu_times, RUN_STAT)
NR_ROWS(sonde_nr_marks, RUN_MARK)

/* No tracer loses more: a count beyond is a damaged one, and not known. */
#define LOST_MAX (INT64_C(1) << 53)

/* What happened did so within the run, and ended after it began, whatever a file says. */
static void put_in_run(const struct sonde_run *run, int64_t *begin, int64_t *end)
{
	ns_clip(begin, end, history_begin(run->history), history_end(run->history));
}

static int read_machine(const struct sonde_run *run, int64_t row, struct sonde_machine *out)
{
	const enum run_table t = RUN_MACHINE;

	if (run->machines && run_has_row(run, t, row)) {
		*out = run->machines[row];
		return 0;
	}
	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->name = run_string(run, t, row, 0);
	out->parent = (int)run_number(run, t, row, 1);
	out->level = (unsigned)run_number(run, t, row, 2);
	out->traced = run_number(run, t, row, 3) > 0;
	out->hostname = run_string(run, t, row, 4);
	out->release = run_string(run, t, row, 5);
	out->tracer = run_string(run, t, row, 6);
	out->trace_path = run_string(run, t, row, 7);
	out->evidence = run_string(run, t, row, 8);
	out->vm_pid = run_number(run, t, row, 9);
	out->pid_known = run_number(run, t, row, 10) > 0;
	out->begin = run_number(run, t, row, 12);
	out->end = run_number(run, t, row, 13);
	return 0;
}

static int read_cpu(const struct sonde_run *run, int64_t row, struct sonde_cpu *out)
{
	bool there = run_has_row(run, RUN_CPU, row);

	*out = there ? run->cpus[row] : (struct sonde_cpu){0};
	return there ? 0 : -ENOENT;
}

static int read_thread(const struct sonde_run *run, int64_t row, struct sonde_thread *out)
{
	const enum run_table t = RUN_THREAD;
	int64_t there = INT64_MAX;

	if (!run_has_row(run, t, row)) {
		memset(out, 0, sizeof(*out));
		return -ENOENT;
	}
	if (run->thread_rows) {
		*out = run->thread_rows[row];
		return 0;
	}
	memset(out, 0, sizeof(*out));
	out->machine = (unsigned)run_number(run, t, row, 0);
	out->tid = run_number(run, t, row, 1);
	out->pid = run_number(run, t, row, 2);
	out->ppid = run_number(run, t, row, 3);
	out->comm = run_string(run, t, row, 4);
	out->pid_ns = run_number(run, t, row, 5);
	out->begin = run_number(run, t, row, 6);
	out->end = run_number(run, t, row, 7);
	put_in_run(run, &out->begin, out->end == -1 ? &there : &out->end);
	out->vcpu = run_number(run, t, row, 8) > 0 ? run_number(run, t, row, 8) - 1 : -1;
	out->cgroup = run_number(run, t, row, 9);
	return 0;
}

/* Namespaces come in the order in which they were met, but the outer level is the lower. */
bool run_pid_ns_fits(const struct sonde_run *run, int64_t row)
{
	const enum run_table t = RUN_PID_NS;
	int64_t parent = run_number(run, t, row, 2);

	return parent == -1 || (run_has_row(run, t, parent) &&
				run_number(run, t, parent, 0) == run_number(run, t, row, 0) &&
				run_number(run, t, parent, 3) < run_number(run, t, row, 3));
}

static int read_pid_ns(const struct sonde_run *run, int64_t row, struct sonde_pid_ns *out)
{
	const enum run_table t = RUN_PID_NS;

	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)run_number(run, t, row, 0);
	out->inum = (uint64_t)run_number(run, t, row, 1);
	out->parent = run_pid_ns_fits(run, row) ? run_number(run, t, row, 2) : -1;
	out->level = (unsigned)run_number(run, t, row, 3);
	out->name = run_string(run, t, row, 4);
	return 0;
}

static const char *detail_text(const struct sonde_run *run, const struct sonde_context *c)
{
	const char *name = NULL;

	if (c->mode == SONDE_MODE_SYSCALL && c->detail > 0)
		name = history_string(run->history, (uint32_t)c->detail);
	else if (c->mode == SONDE_MODE_IRQ)
		name = vector_name(c->detail);
	else if (c->mode == SONDE_MODE_SOFTIRQ)
		name = softirq_name(c->detail);
	else if (c->mode == SONDE_MODE_HYPERVISOR)
		name = exit_reason_name(run->is_svm, c->detail);
	return name ? name : "";
}

static int read_context(const struct sonde_run *run, int64_t row, struct sonde_context *out)
{
	const enum run_table t = RUN_CONTEXT;
	int64_t mode;

	if (!run_has_row(run, t, row)) {
		memset(out, 0, sizeof(*out));
		return -ENOENT;
	}
	if (run->contexts) {
		*out = run->contexts[row];
		return 0;
	}
	memset(out, 0, sizeof(*out));
	out->machine = (unsigned)run_number(run, t, row, 0);
	out->cpu = (int)run_number(run, t, row, 1);
	out->thread = run_number(run, t, row, 2);
	mode = run_number(run, t, row, 3);
	out->mode = mode < 0 || mode >= SONDE_NR_MODES ? SONDE_MODE_UNKNOWN : (enum sonde_mode)mode;
	out->detail = run_number(run, t, row, 4);
	out->serves = run_number(run, t, row, 5) > 0 ? run_number(run, t, row, 5) - 1 : -1;
	out->detail_text = detail_text(run, out);
	out->vmm = (int)run_number(run, t, row, 6);
	return 0;
}

static int read_clock(const struct sonde_run *run, int64_t row, struct sonde_clock *out)
{
	const enum run_table t = RUN_CLOCK;

	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)run_number(run, t, row, 0);
	out->from = run_number(run, t, row, 1);
	out->to = run_number(run, t, row, 2);
	out->bound_ns = run_number(run, t, row, 3);
	out->method = run_string(run, t, row, 4);
	out->pairs = run_number(run, t, row, 5);
	out->violations = run_number(run, t, row, 6);
	out->worst_violation_ns = run_number(run, t, row, 7);
	out->rate_ppb = run_number(run, t, row, 8);
	out->readings = run_number(run, t, row, 9);
	out->contained = run_number(run, t, row, 10);
	out->timers = run_number(run, t, row, 11);
	return 0;
}

static int read_loss(const struct sonde_run *run, int64_t row, struct sonde_loss *out)
{
	const enum run_table t = RUN_LOSS;

	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->machine = (int)run_number(run, t, row, 0);
	out->cpu = (int)run_number(run, t, row, 1);
	out->begin = run_number(run, t, row, 2);
	out->end = run_number(run, t, row, 3);
	put_in_run(run, &out->begin, &out->end);
	out->events = run_number(run, t, row, 4);
	if (out->events < 0 || out->events > LOST_MAX)
		out->events = -1;
	return 0;
}

static int read_mark(const struct sonde_run *run, int64_t row, struct sonde_mark *out)
{
	const enum run_table t = RUN_MARK;

	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->t = run_number(run, t, row, 0);
	out->machine = (int)run_number(run, t, row, 1);
	out->cpu = (int)run_number(run, t, row, 2);
	out->thread = run_number(run, t, row, 3);
	out->kind = (int)run_number(run, t, row, 4);
	out->id = run_number(run, t, row, 5);
	out->text = run_string(run, t, row, 6);
	out->by_host = run_number(run, t, row, 7) > 0;
	return 0;
}

static int read_problem(const struct sonde_run *run, int64_t row, struct sonde_problem *out)
{
	const enum run_table t = RUN_PROBLEM;

	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->machine = (int)run_number(run, t, row, 0);
	out->text = run_string(run, t, row, 1);
	out->count = run_number(run, t, row, 2);
	out->note = run_cell(run, t, row, 3) > 0;
	return 0;
}

static int read_left_out(const struct sonde_run *run, int64_t row, struct sonde_left_out *out)
{
	const enum run_table t = RUN_LEFT_OUT;

	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->name = run_string(run, t, row, 0);
	out->path = run_string(run, t, row, 1);
	out->reason = run_string(run, t, row, 2);
	return 0;
}

static int read_meta(const struct sonde_run *run, int64_t row, struct sonde_meta *out)
{
	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, RUN_META, row))
		return -ENOENT;
	out->key = run_string(run, RUN_META, row, 0);
	out->value = run_string(run, RUN_META, row, 1);
	return 0;
}

static int read_cgroup(const struct sonde_run *run, int64_t row, struct sonde_cgroup *out)
{
	const enum run_table t = RUN_CGROUP;

	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)run_number(run, t, row, 0);
	out->id = (uint64_t)run_number(run, t, row, 1);
	out->path = run_string(run, t, row, 2);
	return 0;
}

static int read_identity(const struct sonde_run *run, int64_t row, struct sonde_identity *out)
{
	const enum run_table t = RUN_IDENTITY;

	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)run_number(run, t, row, 0);
	out->key = run_string(run, t, row, 1);
	out->value = run_string(run, t, row, 2);
	return 0;
}

static int read_cpu_times(const struct sonde_run *run, int64_t row, struct sonde_cpu_times *out)
{
	const enum run_table t = RUN_STAT;

	memset(out, 0, sizeof(*out));
	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)run_number(run, t, row, 0);
	out->t = run_number(run, t, row, 1);
	out->cause = run_string(run, t, row, 2);
	out->cpu = (int)run_number(run, t, row, 3);
	out->hz = run_number(run, t, row, 4);
	out->user = run_number(run, t, row, 5);
	out->nice = run_number(run, t, row, 6);
	out->system = run_number(run, t, row, 7);
	out->idle = run_number(run, t, row, 8);
	out->iowait = run_number(run, t, row, 9);
	out->irq = run_number(run, t, row, 10);
	out->softirq = run_number(run, t, row, 11);
	out->steal = run_number(run, t, row, 12);
	out->guest = run_number(run, t, row, 13);
	out->guest_nice = run_number(run, t, row, 14);
	return 0;
}

void run_give(void *out, size_t out_bytes, const void *own, size_t own_bytes)
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

const struct sonde_context *run_contexts(struct sonde_run *run)
{
	int64_t nr = run_nr_rows(run, RUN_CONTEXT);
	struct sonde_context *all;

	if (run->contexts)
		return run->contexts;
	all = calloc((size_t)nr + 1, sizeof(*all));
	for (int64_t row = 0; all && row < nr; row++)
		read_context(run, row, &all[row]);
	run->contexts = all;
	return all;
}

const struct sonde_thread *run_threads(struct sonde_run *run)
{
	int64_t nr = run_nr_rows(run, RUN_THREAD);
	struct sonde_thread *all;

	if (run->thread_rows)
		return run->thread_rows;
	all = calloc((size_t)nr + 1, sizeof(*all));
	for (int64_t row = 0; all && row < nr; row++)
		read_thread(run, row, &all[row]);
	run->thread_rows = all;
	return all;
}

int run_first_cpu(const struct sonde_run *run, int64_t thread)
{
	return run_has_row(run, RUN_THREAD, thread) ? (int)run_number(run, RUN_THREAD, thread, 10)
						    : -1;
}

int run_index_exits(struct sonde_run *run, struct error *err)
{
	int64_t nr = run_nr_rows(run, RUN_EXIT);

	run->exit_kinds = calloc((size_t)nr + 1, sizeof(*run->exit_kinds));
	if (!run->exit_kinds)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < nr; row++) {
		struct exit_kind *kind = &run->exit_kinds[row];

		kind->reason = run_number(run, RUN_EXIT, row, 0);
		kind->isa = run_number(run, RUN_EXIT, row, 1);
		kind->serves = run_number(run, RUN_EXIT, row, 2) - 1;
		if (kind->serves < 0 || kind->serves >= run_nr_rows(run, RUN_CPU))
			kind->serves = -1;
		kind->user_reason = run_number(run, RUN_EXIT, row, 3);
	}
	run->nr_exit_kinds = nr;
	return 0;
}

int run_milestone(const struct sonde_run *run, int64_t row, struct milestone *out)
{
	const enum run_table t = RUN_MILESTONE;

	if (!run_has_row(run, t, row))
		return -ENOENT;
	out->machine = run_number(run, t, row, 0);
	out->since = run_number(run, t, row, 2);
	out->at = run_number(run, t, row, 3);
	put_in_run(run, &out->since, &out->at);
	out->kind = run_string(run, t, row, 4);
	out->text = run_string(run, t, row, 5);
	return 0;
}
