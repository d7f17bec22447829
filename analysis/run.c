/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/run.h"
#include "analysis/cpu_users.h"
#include "analysis/culprit.h"
#include "analysis/exits.h"
#include "analysis/phases.h"
#include "model/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)NR_MODES == (int)SONDE_NR_MODES, "public modes are the model's");
_Static_assert((int)MODE_HYPERVISOR == (int)SONDE_MODE_HYPERVISOR, "public modes are the model's");

/* Names of the columns that are read, in the order of the COL_ numbers below them. */
static const struct {
	const char *name;
	const char *columns[RUN_COLUMNS_MAX];
} schema[RUN_NR_TABLES] = {
	[RUN_MACHINE] = {"machine",
			 {"name", "parent", "level", "traced", "hostname", "release", "tracer",
			  "trace_path", "evidence", "vm_pid", "pid_known"}},
	[RUN_CPU] = {"cpu", {"machine", "cpu", "host_tid", "nested_id", "host_thread", "path"}},
	[RUN_THREAD] = {"thread",
			{"machine", "tid", "pid", "ppid", "comm", "pid_ns", "begin", "end",
			 "is_vcpu", "cgroup", "first_cpu"}},
	[RUN_PID_NS] = {"pid_ns", {"machine", "inum", "parent", "level", "name"}},
	[RUN_VTID] = {"vtid", {"thread", "level", "pid_ns", "vtid"}},
	[RUN_CONTEXT] = {"context",
			 {"machine", "cpu", "thread", "mode", "detail", "serves", "vmm"}},
	[RUN_CLOCK] = {"clock",
		       {"machine", "from", "to", "bound", "method", "pairs", "violations",
			"worst_violation", "rate_ppb"}},
	[RUN_LOSS] = {"loss", {"machine", "cpu", "begin", "end", "events"}},
	[RUN_PROBLEM] = {"problem", {"machine", "text", "count"}},
	[RUN_META] = {"meta", {"key", "value"}},
	[RUN_CGROUP] = {"cgroup", {"machine", "id", "path"}},
	[RUN_IDENTITY] = {"identity", {"machine", "key", "value"}},
	[RUN_STAT] = {"stat",
		      {"machine", "at", "cause", "cpu", "hz", "user", "nice", "system", "idle",
		       "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}},
	[RUN_WAKE] = {"wake", {"cpu", "cause", "vector", "from_cpu", "by", "evidence"}},
	[RUN_VECTOR] = {"vector", {"cpu", "vector", "cause", "irq", "times", "agree", "evidence"}},
	[RUN_MARK] = {"mark", {"at", "machine", "cpu", "thread", "kind", "id", "text", "by_host"}},
	[RUN_EXIT] = {"exit", {"reason", "isa", "serves", "user_reason"}},
	[RUN_MILESTONE] = {"milestone", {"machine", "cpu", "since", "at", "kind", "text"}},
};

static const char *const cpu_attr_names[CPU_NR_ATTRS] = {"runs", "state", "on",	    "task",
							 "exit", "woken", "why_off"};

/* ---- cells --------------------------------------------------------------------------------- */

static int64_t nr_rows(const struct sonde_run *run, enum run_table table)
{
	return run->table[table] < 0 ? 0 : history_nr_rows(run->history, run->table[table]);
}

static int64_t number(const struct sonde_run *run, enum run_table table, int64_t row,
		      unsigned column)
{
	int in_file = run->column[table][column];

	return in_file < 0 ? -1
			   : history_cell(run->history, run->table[table], row, (unsigned)in_file);
}

static const char *text(const struct sonde_run *run, enum run_table table, int64_t row,
			unsigned column)
{
	int64_t id = number(run, table, row, column);

	return id <= 0 ? "" : history_string(run->history, (uint32_t)id);
}

int64_t run_cell(const struct sonde_run *run, enum run_table table, int64_t row, unsigned column)
{
	return row >= 0 && row < nr_rows(run, table) ? number(run, table, row, column) : -1;
}

const char *run_text(const struct sonde_run *run, enum run_table table, int64_t row,
		     unsigned column)
{
	return row >= 0 && row < nr_rows(run, table) ? text(run, table, row, column) : "";
}

static bool has_row(const struct sonde_run *run, enum run_table table, int64_t row)
{
	return row >= 0 && row < nr_rows(run, table);
}

static void find_columns(struct sonde_run *run, enum run_table table)
{
	const struct column *columns;
	unsigned nr;

	memset(run->column[table], -1, sizeof(run->column[table]));
	run->table[table] = history_table(run->history, schema[table].name);
	if (run->table[table] < 0)
		return;
	columns = history_table_columns(run->history, run->table[table], &nr);
	for (unsigned want = 0; want < RUN_COLUMNS_MAX && schema[table].columns[want]; want++) {
		for (unsigned i = 0; i < nr && i < INT8_MAX; i++) {
			if (!strcmp(columns[i].name, schema[table].columns[want]))
				run->column[table][want] = (int8_t)i;
		}
	}
}

/* ---- opening ------------------------------------------------------------------------------- */

static attr_t machine_attr(const struct sonde_run *run, int64_t machine)
{
	return history_child(run->history, ATTR_ROOT, text(run, RUN_MACHINE, machine, 0));
}

/* Where the attributes of a CPU stand: a vCPU whose machine has no trace is not under its name. */
static attr_t cpu_dir(const struct sonde_run *run, int64_t row, const struct sonde_cpu *cpu)
{
	const char *path = text(run, RUN_CPU, row, 5);
	attr_t dir = machine_attr(run, cpu->machine);
	char name[16];

	if (*path)
		return history_find(run->history, path);
	snprintf(name, sizeof(name), "cpu%d", cpu->number);
	return dir == ATTR_NONE ? ATTR_NONE : history_child(run->history, dir, name);
}

static struct sonde_cpu cpu_of_cells(const struct sonde_run *run, int64_t row)
{
	return (struct sonde_cpu){
		.machine = (unsigned)number(run, RUN_CPU, row, 0),
		.number = (int)number(run, RUN_CPU, row, 1),
		.host_tid = number(run, RUN_CPU, row, 2),
		.nested_id = (uint64_t)number(run, RUN_CPU, row, 3),
		.host_thread = number(run, RUN_CPU, row, 4),
	};
}

static int index_cpus(struct sonde_run *run, struct error *err)
{
	int64_t nr = nr_rows(run, RUN_CPU);

	run->cpu_attrs = calloc((size_t)nr + 1, sizeof(*run->cpu_attrs));
	run->cpus = calloc((size_t)nr + 1, sizeof(*run->cpus));
	if (!run->cpu_attrs || !run->cpus)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < nr; row++) {
		struct sonde_cpu cpu = run->cpus[row] = cpu_of_cells(run, row);
		attr_t dir;

		if (map_put(&run->cpu_rows, (uint64_t)cpu.machine << 32 | (uint32_t)cpu.number,
			    (uint32_t)row))
			return fail(err, -ENOMEM, "out of memory");
		dir = cpu_dir(run, row, &cpu);
		for (unsigned i = 0; i < CPU_NR_ATTRS; i++) {
			run->cpu_attrs[row][i] =
				dir == ATTR_NONE
					? ATTR_NONE
					: history_child(run->history, dir, cpu_attr_names[i]);
		}
	}
	return 0;
}

/* The first process of each namespace, its TID 1 there, gives it a name for people. */
static int index_namespaces(struct sonde_run *run, struct error *err)
{
	int64_t nr = nr_rows(run, RUN_PID_NS);

	run->ns_init = malloc(((size_t)nr + 1) * sizeof(*run->ns_init));
	if (!run->ns_init)
		return fail(err, -ENOMEM, "out of memory");
	memset(run->ns_init, -1, ((size_t)nr + 1) * sizeof(*run->ns_init));
	for (int64_t row = 0; row < nr_rows(run, RUN_VTID); row++) {
		int64_t ns = number(run, RUN_VTID, row, 2);

		if (ns >= 0 && ns < nr && run->ns_init[ns] < 0 &&
		    number(run, RUN_VTID, row, 3) == 1)
			run->ns_init[ns] = number(run, RUN_VTID, row, 0);
	}
	return 0;
}

bool run_exit_kind(const struct sonde_run *run, int64_t row, struct exit_kind *out)
{
	if (row <= 0 || row >= nr_rows(run, RUN_EXIT))
		return false;
	out->reason = number(run, RUN_EXIT, row, 0);
	out->isa = number(run, RUN_EXIT, row, 1);
	out->serves = number(run, RUN_EXIT, row, 2) - 1;
	if (out->serves < 0 || out->serves >= nr_rows(run, RUN_CPU))
		out->serves = -1;
	out->user_reason = number(run, RUN_EXIT, row, 3);
	return true;
}

int run_milestone(const struct sonde_run *run, int64_t row, struct milestone *out)
{
	const enum run_table t = RUN_MILESTONE;

	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = number(run, t, row, 0);
	out->since = number(run, t, row, 2);
	out->at = number(run, t, row, 3);
	out->kind = text(run, t, row, 4);
	out->text = text(run, t, row, 5);
	return 0;
}

/* Exits say whose reasons they have, when the tracer does.  Else the numbers do, as soon as one of
 * them is beyond Intel's: an external interrupt (0x60), a halt (0x78) or a nested page fault
 * (0x400). */
static bool reasons_are_svm(const struct sonde_run *run)
{
	struct exit_kind kind;

	for (int64_t row = 1; run_exit_kind(run, row, &kind); row++) {
		if (kind.isa)
			return kind.isa == 2;
	}
	for (int64_t row = 0; row < nr_rows(run, RUN_CONTEXT); row++) {
		if (number(run, RUN_CONTEXT, row, 3) == MODE_HYPERVISOR &&
		    exit_reason_is_svm(number(run, RUN_CONTEXT, row, 4)))
			return true;
	}
	return false;
}

/* A machine comes behind the one that it runs in: so every walk outwards ends. */
static bool machine_fits(const struct sonde_run *run, int64_t row)
{
	struct sonde_machine m, parent;

	sonde_machine(run, row, &m);
	if (m.parent == -1)
		return true;
	return m.parent >= 0 && m.parent < row && !sonde_machine(run, m.parent, &parent) &&
	       (m.level == parent.level + 1 || run->column[RUN_MACHINE][2] < 0);
}

/* What everything else relies on, and what every file that Sonde wrote keeps. */
static int check_run(const struct sonde_run *run, const char *path, struct error *err)
{
	for (int64_t row = 0; row < nr_rows(run, RUN_MACHINE); row++) {
		if (!machine_fits(run, row))
			return fail(err, -EINVAL,
				    "%s: its machines are not inside each other as "
				    "machines can be (row %lld)",
				    path, (long long)row);
	}
	return 0;
}

static int open_run(struct sonde_run *run, const char *path, struct error *err)
{
	int ret = history_open(&run->history, path, err);

	if (ret)
		return ret;
	for (unsigned i = 0; i < RUN_NR_TABLES; i++)
		find_columns(run, (enum run_table)i);
	ret = check_run(run, path, err);
	if (ret)
		return ret;
	run->is_svm = reasons_are_svm(run);
	ret = index_namespaces(run, err);
	if (!ret)
		ret = run_index_vectors(run, err);
	return ret ? ret : index_cpus(run, err);
}

int run_error(struct sonde_error *out, int ret, const struct error *err)
{
	if (out && ret < 0) {
		out->code = ret;
		memcpy(out->text, err->text, sizeof(out->text));
		_Static_assert(sizeof(out->text) == sizeof(err->text), "same length");
	}
	return ret;
}

int sonde_run_open(struct sonde_run **out, const char *path, struct sonde_error *err)
{
	struct error inner = {0};
	struct sonde_run *run = calloc(1, sizeof(*run));
	int ret;

	*out = NULL;
	if (!run)
		return run_error(err, fail(&inner, -ENOMEM, "out of memory"), &inner);
	run->path = strdup(path);
	ret = run->path ? open_run(run, path, &inner) : fail(&inner, -ENOMEM, "out of memory");
	if (ret) {
		sonde_run_close(run);
		return run_error(err, ret, &inner);
	}
	*out = run;
	return 0;
}

void sonde_run_close(struct sonde_run *run)
{
	if (!run)
		return;
	history_close(run->history);
	map_release(&run->cpu_rows);
	map_release(&run->vector_rows);
	free(run->cpu_attrs);
	free(run->cpus);
	free(run->ns_init);
	free(run->threads);
	culprits_free(run->culprits);
	cpu_users_free(run->cpu_users);
	free(run->path);
	free(run);
}

const char *sonde_run_path(const struct sonde_run *run)
{
	return run->path;
}

int64_t sonde_run_begin(const struct sonde_run *run)
{
	return history_begin(run->history);
}

int64_t sonde_run_end(const struct sonde_run *run)
{
	return history_end(run->history);
}

bool sonde_run_complete(const struct sonde_run *run)
{
	return history_complete(run->history);
}

bool sonde_run_ticks_are_ns(const struct sonde_run *run)
{
	return history_ticks_are_ns(run->history);
}

bool sonde_run_wall_offset(const struct sonde_run *run, int64_t *offset_ns)
{
	return history_wall_offset(run->history, offset_ns);
}

/* ---- rows ---------------------------------------------------------------------------------- */

#define NR_ROWS(function, table)                                                                   \
	int64_t function(const struct sonde_run *run)                                              \
	{                                                                                          \
		return nr_rows(run, table);                                                        \
	}
NR_ROWS(sonde_nr_machines, RUN_MACHINE)
NR_ROWS(sonde_nr_cpus, RUN_CPU)
NR_ROWS(sonde_nr_threads, RUN_THREAD)
NR_ROWS(sonde_nr_pid_ns, RUN_PID_NS)
NR_ROWS(sonde_nr_contexts, RUN_CONTEXT)
NR_ROWS(sonde_nr_clocks, RUN_CLOCK)
NR_ROWS(sonde_nr_losses, RUN_LOSS)
NR_ROWS(sonde_nr_problems, RUN_PROBLEM)
NR_ROWS(sonde_nr_wakes, RUN_WAKE)
NR_ROWS(sonde_nr_vectors, RUN_VECTOR)
NR_ROWS(sonde_nr_meta, RUN_META)
NR_ROWS(sonde_nr_cgroups, RUN_CGROUP)
NR_ROWS(sonde_nr_identities, RUN_IDENTITY)
NR_ROWS(sonde_nr_cpu_times, RUN_STAT)
NR_ROWS(sonde_nr_marks, RUN_MARK)

static int read_machine(const struct sonde_run *run, int64_t row, struct sonde_machine *out)
{
	const enum run_table t = RUN_MACHINE;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->name = text(run, t, row, 0);
	out->parent = (int)number(run, t, row, 1);
	out->level = (unsigned)number(run, t, row, 2);
	out->traced = number(run, t, row, 3) > 0;
	out->hostname = text(run, t, row, 4);
	out->release = text(run, t, row, 5);
	out->tracer = text(run, t, row, 6);
	out->trace_path = text(run, t, row, 7);
	out->evidence = text(run, t, row, 8);
	out->vm_pid = number(run, t, row, 9);
	out->pid_known = number(run, t, row, 10) > 0;
	return 0;
}

static int read_cpu(const struct sonde_run *run, int64_t row, struct sonde_cpu *out)
{
	bool there = has_row(run, RUN_CPU, row);

	*out = there ? run->cpus[row] : (struct sonde_cpu){0};
	return there ? 0 : -ENOENT;
}

static int read_thread(const struct sonde_run *run, int64_t row, struct sonde_thread *out)
{
	const enum run_table t = RUN_THREAD;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)number(run, t, row, 0);
	out->tid = number(run, t, row, 1);
	out->pid = number(run, t, row, 2);
	out->ppid = number(run, t, row, 3);
	out->comm = text(run, t, row, 4);
	out->pid_ns = number(run, t, row, 5);
	out->begin = number(run, t, row, 6);
	out->end = number(run, t, row, 7);
	out->vcpu = number(run, t, row, 8) > 0 ? number(run, t, row, 8) - 1 : -1;
	out->cgroup = number(run, t, row, 9);
	return 0;
}

bool run_is_inside(const struct sonde_run *run, int64_t machine, int64_t outer)
{
	while (machine >= 0 && machine != outer && machine < nr_rows(run, RUN_MACHINE))
		machine = number(run, RUN_MACHINE, machine, 1);
	return machine == outer;
}

attr_t run_thread_attr(const struct sonde_run *run, int64_t thread, const char *name)
{
	struct sonde_machine m;
	struct sonde_thread t;
	char path[200];

	if (sonde_thread(run, thread, &t) || sonde_machine(run, t.machine, &m))
		return ATTR_NONE;
	snprintf(path, sizeof(path), "%s/threads/%lld/%s", m.name, (long long)thread, name);
	return sonde_attr(run, path);
}

int run_first_cpu(const struct sonde_run *run, int64_t thread)
{
	return has_row(run, RUN_THREAD, thread) ? (int)number(run, RUN_THREAD, thread, 10) : -1;
}

/* Namespaces come in the order in which they were met, but the outer level is the lower. */
bool run_pid_ns_fits(const struct sonde_run *run, int64_t row)
{
	const enum run_table t = RUN_PID_NS;
	int64_t parent = number(run, t, row, 2);

	return parent == -1 ||
	       (has_row(run, t, parent) && number(run, t, parent, 0) == number(run, t, row, 0) &&
		number(run, t, parent, 3) < number(run, t, row, 3));
}

static int read_pid_ns(const struct sonde_run *run, int64_t row, struct sonde_pid_ns *out)
{
	const enum run_table t = RUN_PID_NS;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)number(run, t, row, 0);
	out->inum = (uint64_t)number(run, t, row, 1);
	out->parent = run_pid_ns_fits(run, row) ? number(run, t, row, 2) : -1;
	out->level = (unsigned)number(run, t, row, 3);
	out->name = text(run, t, row, 4);
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

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)number(run, t, row, 0);
	out->cpu = (int)number(run, t, row, 1);
	out->thread = number(run, t, row, 2);
	mode = number(run, t, row, 3);
	out->mode = mode < 0 || mode >= SONDE_NR_MODES ? SONDE_MODE_UNKNOWN : (enum sonde_mode)mode;
	out->detail = number(run, t, row, 4);
	out->serves = number(run, t, row, 5) > 0 ? number(run, t, row, 5) - 1 : -1;
	out->detail_text = detail_text(run, out);
	out->vmm = (int)number(run, t, row, 6);
	return 0;
}

static int read_clock(const struct sonde_run *run, int64_t row, struct sonde_clock *out)
{
	const enum run_table t = RUN_CLOCK;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)number(run, t, row, 0);
	out->from = number(run, t, row, 1);
	out->to = number(run, t, row, 2);
	out->bound_ns = number(run, t, row, 3);
	out->method = text(run, t, row, 4);
	out->pairs = number(run, t, row, 5);
	out->violations = number(run, t, row, 6);
	out->worst_violation_ns = number(run, t, row, 7);
	out->rate_ppb = number(run, t, row, 8);
	return 0;
}

static int read_loss(const struct sonde_run *run, int64_t row, struct sonde_loss *out)
{
	const enum run_table t = RUN_LOSS;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = (int)number(run, t, row, 0);
	out->cpu = (int)number(run, t, row, 1);
	out->begin = number(run, t, row, 2);
	out->end = number(run, t, row, 3);
	out->events = number(run, t, row, 4);
	return 0;
}

static int read_mark(const struct sonde_run *run, int64_t row, struct sonde_mark *out)
{
	const enum run_table t = RUN_MARK;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->t = number(run, t, row, 0);
	out->machine = (int)number(run, t, row, 1);
	out->cpu = (int)number(run, t, row, 2);
	out->thread = number(run, t, row, 3);
	out->kind = (int)number(run, t, row, 4);
	out->id = number(run, t, row, 5);
	out->text = text(run, t, row, 6);
	out->by_host = number(run, t, row, 7) > 0;
	return 0;
}

static int read_problem(const struct sonde_run *run, int64_t row, struct sonde_problem *out)
{
	const enum run_table t = RUN_PROBLEM;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = (int)number(run, t, row, 0);
	out->text = text(run, t, row, 1);
	out->count = number(run, t, row, 2);
	return 0;
}

static int read_meta(const struct sonde_run *run, int64_t row, struct sonde_meta *out)
{
	memset(out, 0, sizeof(*out));
	if (!has_row(run, RUN_META, row))
		return -ENOENT;
	out->key = text(run, RUN_META, row, 0);
	out->value = text(run, RUN_META, row, 1);
	return 0;
}

static int read_cgroup(const struct sonde_run *run, int64_t row, struct sonde_cgroup *out)
{
	const enum run_table t = RUN_CGROUP;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)number(run, t, row, 0);
	out->id = (uint64_t)number(run, t, row, 1);
	out->path = text(run, t, row, 2);
	return 0;
}

static int read_identity(const struct sonde_run *run, int64_t row, struct sonde_identity *out)
{
	const enum run_table t = RUN_IDENTITY;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)number(run, t, row, 0);
	out->key = text(run, t, row, 1);
	out->value = text(run, t, row, 2);
	return 0;
}

static int read_cpu_times(const struct sonde_run *run, int64_t row, struct sonde_cpu_times *out)
{
	const enum run_table t = RUN_STAT;

	memset(out, 0, sizeof(*out));
	if (!has_row(run, t, row))
		return -ENOENT;
	out->machine = (unsigned)number(run, t, row, 0);
	out->t = number(run, t, row, 1);
	out->cause = text(run, t, row, 2);
	out->cpu = (int)number(run, t, row, 3);
	out->hz = number(run, t, row, 4);
	out->user = number(run, t, row, 5);
	out->nice = number(run, t, row, 6);
	out->system = number(run, t, row, 7);
	out->idle = number(run, t, row, 8);
	out->iowait = number(run, t, row, 9);
	out->irq = number(run, t, row, 10);
	out->softirq = number(run, t, row, 11);
	out->steal = number(run, t, row, 12);
	out->guest = number(run, t, row, 13);
	out->guest_nice = number(run, t, row, 14);
	return 0;
}

void run_give(void *out, size_t out_bytes, const void *own, size_t own_bytes)
{
	size_t both = out_bytes < own_bytes ? out_bytes : own_bytes;

	memcpy(out, own, both);
	memset((char *)out + both, 0, out_bytes - both);
}

#define SIZED(name)                                                                                \
	int sonde_##name##_sized(const struct sonde_run *run, int64_t row,                         \
				 struct sonde_##name *out, size_t out_bytes)                       \
	{                                                                                          \
		struct sonde_##name own;                                                           \
		int ret = read_##name(run, row, &own);                                             \
                                                                                                   \
		run_give(out, out_bytes, &own, sizeof(own));                                       \
		return ret;                                                                        \
	}
SIZED(machine)
SIZED(cpu)
SIZED(thread)
SIZED(pid_ns)
SIZED(context)
SIZED(clock)
SIZED(loss)
SIZED(problem)
SIZED(meta)
SIZED(cgroup)
SIZED(identity)
SIZED(cpu_times)
SIZED(mark)

/* ---- finding ------------------------------------------------------------------------------- */

int64_t sonde_find_machine(const struct sonde_run *run, const char *name)
{
	for (int64_t row = 0; row < nr_rows(run, RUN_MACHINE); row++) {
		if (!strcmp(text(run, RUN_MACHINE, row, 0), name))
			return row;
	}
	return -1;
}

const char *sonde_identity_of(const struct sonde_run *run, int64_t machine, const char *key)
{
	for (int64_t row = 0; row < nr_rows(run, RUN_IDENTITY); row++) {
		if (number(run, RUN_IDENTITY, row, 0) == machine &&
		    !strcmp(text(run, RUN_IDENTITY, row, 1), key))
			return text(run, RUN_IDENTITY, row, 2);
	}
	return "";
}

int64_t sonde_find_cpu(const struct sonde_run *run, unsigned machine, int number)
{
	const uint32_t *row = map_get(&run->cpu_rows, (uint64_t)machine << 32 | (uint32_t)number);

	return row ? (int64_t)*row : -1;
}

int64_t sonde_next_cpu(const struct sonde_run *run, unsigned machine, int after)
{
	int64_t found = -1;
	int64_t least = INT64_MAX;

	for (int64_t row = 0; row < nr_rows(run, RUN_CPU); row++) {
		int64_t its = number(run, RUN_CPU, row, 1);

		if (number(run, RUN_CPU, row, 0) == machine && its > after && its < least) {
			found = row;
			least = its;
		}
	}
	return found;
}

struct thread_key {
	uint32_t machine;
	int64_t tid;
	ns_t begin;
	int64_t row;
};

static int by_tid_and_begin(const void *a, const void *b)
{
	const struct thread_key *x = a;
	const struct thread_key *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return 0;
}

static bool index_threads(struct sonde_run *run)
{
	int64_t nr = nr_rows(run, RUN_THREAD);

	if (run->threads)
		return true;
	run->threads = malloc(((size_t)nr + 1) * sizeof(*run->threads));
	if (!run->threads)
		return false;
	for (int64_t row = 0; row < nr; row++) {
		run->threads[row] = (struct thread_key){
			.machine = (uint32_t)number(run, RUN_THREAD, row, 0),
			.tid = number(run, RUN_THREAD, row, 1),
			.begin = number(run, RUN_THREAD, row, 6),
			.row = row,
		};
	}
	qsort(run->threads, (size_t)nr, sizeof(*run->threads), by_tid_and_begin);
	return true;
}

/* The incarnation that began last at or before @t; a thread seen only later counts as well when
 * it is the first of its number, for a trace often meets a thread after it began. */
int64_t sonde_find_thread(struct sonde_run *run, unsigned machine, int64_t tid, int64_t t)
{
	struct thread_key key = {.machine = machine, .tid = tid, .begin = t};
	int64_t low = 0;
	int64_t high = nr_rows(run, RUN_THREAD);

	if (!index_threads(run))
		return -ENOMEM;
	while (low < high) { /* the first that is greater than key */
		int64_t mid = low + (high - low) / 2;

		if (by_tid_and_begin(&run->threads[mid], &key) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (int64_t i = low - 1; i <= low && i < nr_rows(run, RUN_THREAD); i++) {
		if (i >= 0 && run->threads[i].machine == machine && run->threads[i].tid == tid)
			return run->threads[i].row;
	}
	return -1;
}

/* ---- attributes ---------------------------------------------------------------------------- */

uint32_t sonde_attr(const struct sonde_run *run, const char *path)
{
	return history_find(run->history, path);
}

uint32_t sonde_attr_of_cpu(const struct sonde_run *run, int64_t cpu, const char *name)
{
	if (!has_row(run, RUN_CPU, cpu))
		return SONDE_NO_ATTR;
	for (unsigned i = 0; i < CPU_NR_ATTRS; i++) {
		if (!strcmp(cpu_attr_names[i], name))
			return run->cpu_attrs[cpu][i];
	}
	return SONDE_NO_ATTR;
}

/* The public structures are the history's own under another name; no copy on the way. */
_Static_assert(sizeof(struct sonde_interval) == sizeof(struct interval) &&
		       offsetof(struct sonde_interval, value) == offsetof(struct interval, value),
	       "same layout");
_Static_assert(sizeof(struct sonde_pixels) == sizeof(struct pixel_run) &&
		       offsetof(struct sonde_pixels, exact) == offsetof(struct pixel_run, exact),
	       "same layout");
_Static_assert(sizeof(struct sonde_time_share) == sizeof(struct value_time) &&
		       offsetof(struct sonde_time_share, time_ns) ==
			       offsetof(struct value_time, time_ns),
	       "same layout");

int sonde_at(struct sonde_run *run, uint32_t attr, int64_t t, struct sonde_interval *out)
{
	if (attr == SONDE_NO_ATTR)
		return -ENOENT;
	return history_at(run->history, attr, t, (struct interval *)out);
}

struct walk {
	bool (*each)(const struct sonde_interval *i, void *data);
	void *data;
};

static bool walk_each(const struct interval *i, void *data)
{
	const struct walk *w = data;

	return w->each((const struct sonde_interval *)i, w->data);
}

int sonde_walk(struct sonde_run *run, uint32_t attr, int64_t begin, int64_t end,
	       bool (*each)(const struct sonde_interval *i, void *data), void *data)
{
	struct walk w = {each, data};

	if (attr == SONDE_NO_ATTR)
		return -ENOENT;
	return history_walk(run->history, attr, begin, end, walk_each, &w);
}

struct picture {
	void (*each)(unsigned row, const struct sonde_pixels *runs, unsigned nr, void *data);
	void *data;
};

static void picture_each(unsigned row, const struct pixel_run *runs, unsigned nr, void *data)
{
	const struct picture *p = data;

	p->each(row, (const struct sonde_pixels *)runs, nr, p->data);
}

int sonde_pixels(struct sonde_run *run, const uint32_t *attrs, unsigned nr, int64_t begin,
		 int64_t end, unsigned pixels,
		 void (*each)(unsigned row, const struct sonde_pixels *runs, unsigned nr,
			      void *data),
		 void *data)
{
	struct picture p = {each, data};

	return history_pixels(run->history, attrs, nr, begin, end, pixels, picture_each, &p);
}

int sonde_sum(struct sonde_run *run, uint32_t attr, int64_t begin, int64_t end,
	      struct sonde_time_share **out, unsigned *nr)
{
	*out = NULL;
	*nr = 0;
	if (attr == SONDE_NO_ATTR)
		return -ENOENT;
	return history_sum(run->history, attr, begin, end, (struct value_time **)out, nr);
}
