/* SPDX-License-Identifier: Apache-2.0 */
#include "query/run.h"
#include "query/cells.h"
#include "query/exits.h"
#include "query/kept.h"
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
			  "trace_path", "evidence", "vm_pid", "pid_known", "sees", "begin", "end"}},
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
			"worst_violation", "rate_ppb", "readings", "contained", "timers"}},
	[RUN_LOSS] = {"loss", {"machine", "cpu", "begin", "end", "events"}},
	[RUN_PROBLEM] = {"problem", {"machine", "text", "count", "note"}},
	[RUN_LEFT_OUT] = {"left_out", {"name", "path", "reason"}},
	[RUN_META] = {"meta", {"key", "value"}},
	[RUN_CGROUP] = {"cgroup", {"machine", "id", "path"}},
	[RUN_IDENTITY] = {"identity", {"machine", "key", "value"}},
	[RUN_STAT] = {"stat",
		      {"machine", "at", "cause", "cpu", "hz", "user", "nice", "system", "idle",
		       "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}},
	[RUN_WAKE] = {"wake", {"cpu", "cause", "vector", "from_cpu", "by", "evidence", "lost"}},
	[RUN_VECTOR] = {"vector", {"cpu", "vector", "cause", "irq", "times", "agree", "evidence"}},
	[RUN_IRQ] = {"irq", {"machine", "irq", "name"}},
	[RUN_MARK] = {"mark", {"at", "machine", "cpu", "thread", "kind", "id", "text", "by_host"}},
	[RUN_REQUEST] = {"request",
			 {"machine",	"cpu",	    "thread",  "kind",	   "dev",     "sector",
			  "bytes",	"depth",    "queued",  "issued",   "kicked",  "picked",
			  "disk_begin", "disk_end", "sent",    "injected", "handled", "done",
			  "worker",	"sender",   "irq_cpu", "vector",   "covered", "disputed"}},
	[RUN_INITCALL] = {"initcall",
			  {"machine", "thread", "name", "level", "begin", "end", "result"}},
	[RUN_REFUSED] = {"refused",
			 {"machine", "thread", "what", "origin", "count", "first", "last"}},
	[RUN_EXIT] = {"exit", {"reason", "isa", "serves", "user_reason"}},
	[RUN_MILESTONE] = {"milestone", {"machine", "cpu", "since", "at", "kind", "text"}},
};

const char *const run_cpu_attr_names[CPU_NR_ATTRS] = {"runs", "state", "on",	 "task",
						      "exit", "woken", "why_off"};

/* ---- cells --------------------------------------------------------------------------------- */

int64_t run_cell(const struct sonde_run *run, enum run_table table, int64_t row, unsigned column)
{
	return row >= 0 && row < run_nr_rows(run, table) ? run_number(run, table, row, column) : -1;
}

const char *run_text(const struct sonde_run *run, enum run_table table, int64_t row,
		     unsigned column)
{
	return row >= 0 && row < run_nr_rows(run, table) ? run_string(run, table, row, column) : "";
}

static void find_columns(struct sonde_run *run, enum run_table table)
{
	int in_file = history_table(run->history, schema[table].name);
	const struct column *columns;
	unsigned nr;

	memset(run->column[table], -1, sizeof(run->column[table]));
	if (in_file < 0)
		return;
	columns = history_table_columns(run->history, in_file, &nr);
	run->tables[table] = (struct run_cells){history_cells(run->history, in_file),
						history_nr_rows(run->history, in_file), nr};
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
	return history_child(run->history, ATTR_ROOT, run_string(run, RUN_MACHINE, machine, 0));
}

/* Where the attributes of a CPU stand: a vCPU whose machine has no trace is not under its name. */
static attr_t cpu_dir(const struct sonde_run *run, int64_t row, const struct sonde_cpu *cpu)
{
	const char *path = run_string(run, RUN_CPU, row, 5);
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
		.machine = (unsigned)run_number(run, RUN_CPU, row, 0),
		.number = (int)run_number(run, RUN_CPU, row, 1),
		.host_tid = run_number(run, RUN_CPU, row, 2),
		.nested_id = (uint64_t)run_number(run, RUN_CPU, row, 3),
		.host_thread = run_number(run, RUN_CPU, row, 4),
	};
}

static int index_cpus(struct sonde_run *run, struct error *err)
{
	int64_t nr = run_nr_rows(run, RUN_CPU);

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
					: history_child(run->history, dir, run_cpu_attr_names[i]);
		}
	}
	return 0;
}

/* The first process of each namespace, its TID 1 there, gives it a name for people. */
static int index_namespaces(struct sonde_run *run, struct error *err)
{
	int64_t nr = run_nr_rows(run, RUN_PID_NS);

	run->ns_init = malloc(((size_t)nr + 1) * sizeof(*run->ns_init));
	if (!run->ns_init)
		return fail(err, -ENOMEM, "out of memory");
	memset(run->ns_init, -1, ((size_t)nr + 1) * sizeof(*run->ns_init));
	for (int64_t row = 0; row < run_nr_rows(run, RUN_VTID); row++) {
		int64_t ns = run_number(run, RUN_VTID, row, 2);

		if (ns >= 0 && ns < nr && run->ns_init[ns] < 0 &&
		    run_number(run, RUN_VTID, row, 3) == 1)
			run->ns_init[ns] = run_number(run, RUN_VTID, row, 0);
	}
	return 0;
}

/* Exits say whose reasons they have, when the tracer does.  Else the numbers do, as soon as one of
 * them is beyond Intel's: an external interrupt (0x60), a halt (0x78) or a nested page fault
 * (0x400). */
static bool reasons_are_svm(const struct sonde_run *run)
{
	const struct exit_kind *kind;

	for (int64_t row = 1; (kind = run_exit_kind(run, row)); row++) {
		if (kind->isa)
			return kind->isa == 2;
	}
	for (int64_t row = 0; row < run_nr_rows(run, RUN_CONTEXT); row++) {
		if (run_number(run, RUN_CONTEXT, row, 3) == MODE_HYPERVISOR &&
		    exit_reason_is_svm(run_number(run, RUN_CONTEXT, row, 4)))
			return true;
	}
	return false;
}

/* A machine comes behind the one that it runs in: so every walk outwards ends. */
static bool machine_fits(const struct sonde_run *run, int64_t row)
{
	struct sonde_machine m, parent;

	sonde_machine_get(run, row, &m);
	if (m.parent == -1)
		return true;
	return m.parent >= 0 && m.parent < row && !sonde_machine_get(run, m.parent, &parent) &&
	       (m.level == parent.level + 1 || run->column[RUN_MACHINE][2] < 0);
}

/* What everything else relies on, and what every file that Sonde wrote keeps. */
static int check_run(const struct sonde_run *run, const char *path, struct error *err)
{
	for (int64_t row = 0; row < run_nr_rows(run, RUN_MACHINE); row++) {
		if (!machine_fits(run, row))
			return fail(err, -EINVAL,
				    "%s: its machines are not inside each other as "
				    "machines can be (row %lld)",
				    path, (long long)row);
	}
	return 0;
}

static int index_machines(struct sonde_run *run, struct error *err)
{
	int64_t nr = run_nr_rows(run, RUN_MACHINE);
	struct sonde_machine *all = calloc((size_t)nr + 1, sizeof(*all));

	run->thread_dirs = calloc((size_t)nr + 1, sizeof(*run->thread_dirs));
	if (!all || !run->thread_dirs) {
		free(all);
		return fail(err, -ENOMEM, "out of memory");
	}
	for (int64_t row = 0; row < nr; row++) {
		attr_t dir = machine_attr(run, row);

		sonde_machine_get(run, row, &all[row]);
		run->thread_dirs[row] = history_child(run->history, dir, "threads");
	}
	run->machines = all;
	return 0;
}

/* All that is found once, in the tables. */
static int index_run(struct sonde_run *run, const char *path, struct error *err)
{
	int ret;

	for (unsigned i = 0; i < RUN_NR_TABLES; i++)
		find_columns(run, (enum run_table)i);
	ret = check_run(run, path, err);
	if (ret)
		return ret;
	ret = index_machines(run, err);
	if (!ret)
		ret = run_index_exits(run, err);
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

/* @of: NULL, or who has it open already. */
static int open_history(struct sonde_run *run, const char *path, const struct sonde_run *of,
			struct error *err)
{
	if (!of)
		return history_open(&run->history, path, err);
	return history_again(&run->history, of->history) ? fail(err, -ENOMEM, "out of memory") : 0;
}

static int open_run(struct sonde_run **out, const char *path, const struct sonde_run *of,
		    struct sonde_error *err)
{
	struct error inner = {0};
	struct sonde_run *run = calloc(1, sizeof(*run));
	int ret;

	*out = NULL;
	if (!run)
		return run_error(err, fail(&inner, -ENOMEM, "out of memory"), &inner);
	run->path = strdup(path);
	ret = run->path ? open_history(run, path, of, &inner)
			: fail(&inner, -ENOMEM, "out of memory");
	if (!ret)
		ret = index_run(run, path, &inner);
	if (ret) {
		sonde_run_close(run);
		return run_error(err, ret, &inner);
	}
	*out = run;
	return 0;
}

int sonde_run_open(struct sonde_run **out, const char *path, struct sonde_error *err)
{
	return open_run(out, path, NULL, err);
}

int sonde_run_again(struct sonde_run **out, const struct sonde_run *of, struct sonde_error *err)
{
	return open_run(out, of->path, of, err);
}

void sonde_run_close(struct sonde_run *run)
{
	if (!run)
		return;
	kept_release_all(run);
	history_close(run->history);
	map_release(&run->cpu_rows);
	map_release(&run->vector_rows);
	free(run->cpu_attrs);
	free(run->cpus);
	free(run->ns_init);
	free(run->exit_kinds);
	free(run->machines);
	free(run->thread_dirs);
	free(run->vectors);
	free(run->wakes);
	free(run->contexts);
	free(run->thread_rows);
	free(run->threads);
	free(run->path);
	free(run);
}

const char *sonde_run_path(const struct sonde_run *run)
{
	return run->path;
}

int sonde_run_file(const struct sonde_run *run, char *buf, size_t room)
{
	return history_file(run->history, buf, room);
}

int64_t sonde_run_begin(const struct sonde_run *run)
{
	return history_begin(run->history);
}

int64_t sonde_run_end(const struct sonde_run *run)
{
	return history_end(run->history);
}

void sonde_run_traced(const struct sonde_run *run, int64_t *begin, int64_t *end)
{
	ns_t run_begin = history_begin(run->history), run_end = history_end(run->history);
	struct sonde_machine l0;

	*begin = run_begin;
	*end = run_end;
	if (sonde_machine_get(run, 0, &l0) || (l0.begin == -1 && l0.end == -1))
		return;
	/* A history that was not written to its end does not say yet when the trace's was. */
	if (!history_complete(run->history))
		l0.end = run_end;
	if (l0.begin < l0.end && l0.begin < run_end && l0.end > run_begin) {
		*begin = l0.begin > run_begin ? l0.begin : run_begin;
		*end = l0.end < run_end ? l0.end : run_end;
	}
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
