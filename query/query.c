/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* qsort_r */
#include "query/query.h"
#include "query/counts.h"
#include "query/cells.h"
#include "query/exits.h"
#include "query/kept.h"
#include "model/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)NR_MODES == (int)QUERY_NR_MODES, "public modes are the model's");
_Static_assert((int)MODE_HYPERVISOR == (int)SONDE_MODE_HYPERVISOR, "public modes are the model's");

/* Names of the columns that are read, in the order of the COL_ numbers below them. */
static const struct {
	const char *name;
	const char *columns[QUERY_COLUMNS_MAX];
} schema[QUERY_NR_TABLES] = {
	[QUERY_MACHINE] = {"machine",
			   {"name", "parent", "level", "traced", "hostname", "release", "tracer",
			    "trace_path", "evidence", "vm_pid", "pid_known", "sees", "begin", "end",
			    "arch"}},
	[QUERY_CPU] = {"cpu", {"machine", "cpu", "host_tid", "nested_id", "host_thread", "path"}},
	[QUERY_THREAD] = {"thread",
			  {"machine", "tid", "pid", "ppid", "comm", "pid_ns", "begin", "end",
			   "is_vcpu", "cgroup", "first_cpu"}},
	[QUERY_PID_NS] = {"pid_ns", {"machine", "inum", "parent", "level", "name"}},
	[QUERY_VTID] = {"vtid", {"thread", "level", "pid_ns", "vtid"}},
	[QUERY_CONTEXT] = {"context",
			   {"machine", "cpu", "thread", "mode", "detail", "serves", "vmm"}},
	[QUERY_CLOCK] = {"clock",
			 {"machine", "from", "to", "bound", "method", "pairs", "violations",
			  "worst_violation", "rate_ppb", "readings", "contained", "timers"}},
	[QUERY_LOSS] = {"loss", {"machine", "cpu", "begin", "end", "events"}},
	[QUERY_PROBLEM] = {"problem", {"machine", "text", "count", "note"}},
	[QUERY_LEFT_OUT] = {"left_out", {"name", "path", "reason"}},
	[QUERY_META] = {"meta", {"key", "value"}},
	[QUERY_CGROUP] = {"cgroup", {"machine", "id", "path"}},
	[QUERY_IDENTITY] = {"identity", {"machine", "key", "value"}},
	[QUERY_STAT] = {"stat",
			{"machine", "at", "cause", "cpu", "hz", "user", "nice", "system", "idle",
			 "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}},
	[QUERY_WAKE] = {"wake", {"cpu", "cause", "vector", "from_cpu", "by", "evidence", "lost"}},
	[QUERY_VECTOR] = {"vector",
			  {"cpu", "vector", "cause", "irq", "times", "agree", "evidence"}},
	[QUERY_IRQ] = {"irq", {"machine", "irq", "name"}},
	[QUERY_MARK] = {"mark",
			{"at", "machine", "cpu", "thread", "kind", "id", "text", "by_host"}},
	[QUERY_REQUEST] = {"request", {"machine",  "cpu",     "thread",	    "kind",	"dev",
				       "sector",   "bytes",   "depth",	    "queued",	"issued",
				       "kicked",   "picked",  "disk_begin", "disk_end", "sent",
				       "injected", "handled", "done",	    "worker",	"sender",
				       "irq_cpu",  "vector",  "covered",    "disputed"}},
	[QUERY_INITCALL] = {"initcall",
			    {"machine", "thread", "name", "level", "begin", "end", "result"}},
	[QUERY_REFUSED] = {"refused",
			   {"machine", "thread", "what", "origin", "count", "first", "last"}},
	[QUERY_KEPT_EVENT] = {"kept_event",
			      {"at", "event", "machine", "cpu", "thread", "arg0", "arg1", "arg2",
			       "arg3", "arg4"}},
	[QUERY_EXIT] = {"exit", {"reason", "isa", "serves", "user_reason"}},
	[QUERY_MILESTONE] = {"milestone", {"machine", "cpu", "since", "at", "kind", "text"}},
};

const char *const query_cpu_attr_names[CPU_NR_ATTRS] = {"runs", "state", "on",	   "task",
							"exit", "woken", "why_off"};

/* ---- cells --------------------------------------------------------------------------------- */

int64_t query_cell(const struct sonde_history *history, enum query_table table, int64_t row,
		   unsigned column)
{
	return row >= 0 && row < query_nr_rows(history, table)
		       ? query_number(history, table, row, column)
		       : -1;
}

const char *query_text(const struct sonde_history *history, enum query_table table, int64_t row,
		       unsigned column)
{
	return row >= 0 && row < query_nr_rows(history, table)
		       ? query_string(history, table, row, column)
		       : "";
}

static void find_columns(struct sonde_history *history, enum query_table table)
{
	int in_file = history_table(history->file, schema[table].name);
	const struct column *columns;
	unsigned nr;

	memset(history->column[table], -1, sizeof(history->column[table]));
	if (in_file < 0)
		return;
	columns = history_table_columns(history->file, in_file, &nr);
	history->tables[table] = (struct query_cells){history_cells(history->file, in_file),
						      history_nr_rows(history->file, in_file), nr};
	for (unsigned want = 0; want < QUERY_COLUMNS_MAX && schema[table].columns[want]; want++) {
		for (unsigned i = 0; i < nr && i < INT8_MAX; i++) {
			if (!strcmp(columns[i].name, schema[table].columns[want]))
				history->column[table][want] = (int8_t)i;
		}
	}
}

/* ---- opening ------------------------------------------------------------------------------- */

static attr_t machine_attr(const struct sonde_history *history, int64_t machine)
{
	return history_child(history->file, ATTR_ROOT,
			     query_string(history, QUERY_MACHINE, machine, 0));
}

/* Where the attributes of a CPU stand: a vCPU whose machine has no trace is not under its name. */
static attr_t cpu_dir(const struct sonde_history *history, int64_t row, const struct sonde_cpu *cpu)
{
	const char *path = query_string(history, QUERY_CPU, row, 5);
	attr_t dir = machine_attr(history, cpu->machine);
	char name[16];

	if (*path)
		return history_find(history->file, path);
	snprintf(name, sizeof(name), "cpu%d", cpu->number);
	return dir == ATTR_NONE ? ATTR_NONE : history_child(history->file, dir, name);
}

static struct sonde_cpu cpu_of_cells(const struct sonde_history *history, int64_t row)
{
	return (struct sonde_cpu){
		.machine = (unsigned)query_number(history, QUERY_CPU, row, 0),
		.number = (int)query_number(history, QUERY_CPU, row, 1),
		.host_tid = query_number(history, QUERY_CPU, row, 2),
		.nested_id = (uint64_t)query_number(history, QUERY_CPU, row, 3),
		.host_thread = query_number(history, QUERY_CPU, row, 4),
	};
}

static int by_machine_and_number(const void *a, const void *b, void *cpus)
{
	uint32_t row_a = *(const uint32_t *)a, row_b = *(const uint32_t *)b;
	const struct sonde_cpu *x = (const struct sonde_cpu *)cpus + row_a;
	const struct sonde_cpu *y = (const struct sonde_cpu *)cpus + row_b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return row_a < row_b ? -1 : row_a > row_b;
}

static int index_cpus(struct sonde_history *history, struct error *err)
{
	int64_t nr = query_nr_rows(history, QUERY_CPU);

	history->cpu_attrs = calloc((size_t)nr + 1, sizeof(*history->cpu_attrs));
	history->cpus = calloc((size_t)nr + 1, sizeof(*history->cpus));
	history->cpu_order = calloc((size_t)nr + 1, sizeof(*history->cpu_order));
	if (!history->cpu_attrs || !history->cpus || !history->cpu_order)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < nr; row++) {
		struct sonde_cpu cpu = history->cpus[row] = cpu_of_cells(history, row);
		attr_t dir;

		history->cpu_order[row] = (uint32_t)row;
		if (map_put(&history->cpu_rows, (uint64_t)cpu.machine << 32 | (uint32_t)cpu.number,
			    (uint32_t)row))
			return fail(err, -ENOMEM, "out of memory");
		dir = cpu_dir(history, row, &cpu);
		for (unsigned i = 0; i < CPU_NR_ATTRS; i++) {
			history->cpu_attrs[row][i] =
				dir == ATTR_NONE ? ATTR_NONE
						 : history_child(history->file, dir,
								 query_cpu_attr_names[i]);
		}
	}
	qsort_r(history->cpu_order, (size_t)nr, sizeof(*history->cpu_order), by_machine_and_number,
		history->cpus);
	return 0;
}

/* The first process of each namespace, its TID 1 there, gives it a name for people. */
static int index_namespaces(struct sonde_history *history, struct error *err)
{
	int64_t nr = query_nr_rows(history, QUERY_PID_NS);

	history->ns_init = malloc(((size_t)nr + 1) * sizeof(*history->ns_init));
	if (!history->ns_init)
		return fail(err, -ENOMEM, "out of memory");
	memset(history->ns_init, -1, ((size_t)nr + 1) * sizeof(*history->ns_init));
	for (int64_t row = 0; row < query_nr_rows(history, QUERY_VTID); row++) {
		int64_t ns = query_number(history, QUERY_VTID, row, 2);

		if (ns >= 0 && ns < nr && history->ns_init[ns] < 0 &&
		    query_number(history, QUERY_VTID, row, 3) == 1)
			history->ns_init[ns] = query_number(history, QUERY_VTID, row, 0);
	}
	return 0;
}

/* Exits say whose reasons they have, when the tracer does.  Else the numbers do, as soon as one of
 * them is beyond Intel's. */
static enum exit_isa isa_of_reasons(const struct sonde_history *history)
{
	const struct exit_kind *kind;
	enum exit_isa isa;

	for (int64_t row = 1; (kind = query_exit_kind(history, row)); row++) {
		if (kind->isa > 0 && kind->isa < NR_ISAS)
			return (enum exit_isa)kind->isa;
	}
	for (int64_t row = 0; row < query_nr_rows(history, QUERY_CONTEXT); row++) {
		if (query_number(history, QUERY_CONTEXT, row, 3) != MODE_HYPERVISOR)
			continue;
		isa = exit_isa_of_reason(query_number(history, QUERY_CONTEXT, row, 4));
		if (isa)
			return isa;
	}
	return ISA_VMX;
}

/* A machine comes behind the one that it runs in: so every walk outwards ends. */
static bool machine_fits(const struct sonde_history *history, int64_t row)
{
	struct sonde_machine m, parent;

	sonde_machine_get(history, row, &m);
	if (m.parent == -1)
		return true;
	return m.parent >= 0 && m.parent < row && !sonde_machine_get(history, m.parent, &parent) &&
	       (m.level == parent.level + 1 || history->column[QUERY_MACHINE][2] < 0);
}

/* What everything else relies on, and what every file that Sonde wrote keeps. */
static int check_run(const struct sonde_history *history, const char *path, struct error *err)
{
	for (int64_t row = 0; row < query_nr_rows(history, QUERY_MACHINE); row++) {
		if (!machine_fits(history, row))
			return fail(err, -EINVAL,
				    "%s: its machines are not inside each other as "
				    "machines can be (row %lld)",
				    path, (long long)row);
	}
	return 0;
}

static int index_machines(struct sonde_history *history, struct error *err)
{
	int64_t nr = query_nr_rows(history, QUERY_MACHINE);
	struct sonde_machine *all = calloc((size_t)nr + 1, sizeof(*all));

	history->thread_dirs = calloc((size_t)nr + 1, sizeof(*history->thread_dirs));
	if (!all || !history->thread_dirs) {
		free(all);
		return fail(err, -ENOMEM, "out of memory");
	}
	for (int64_t row = 0; row < nr; row++) {
		attr_t dir = machine_attr(history, row);

		sonde_machine_get(history, row, &all[row]);
		history->thread_dirs[row] = history_child(history->file, dir, "threads");
	}
	history->machines = all;
	return 0;
}

static int index_identities(struct sonde_history *history, struct error *err)
{
	int64_t nr = query_nr_rows(history, QUERY_IDENTITY);

	if (members_init(&history->identities, query_nr_rows(history, QUERY_MACHINE), nr))
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = nr; row-- > 0;)
		members_add(&history->identities, query_number(history, QUERY_IDENTITY, row, 0),
			    row);
	return 0;
}

/* A history that was not written to its end does not say yet when the trace's was: until then
 * something is known of a CPU of the outermost machine.  What cannot be read may be known. */
static ns_t find_known_until(struct sonde_history *history)
{
	ns_t end = history_end(history->file), until = NS_MIN;

	for (int64_t row = 0; row < query_nr_rows(history, QUERY_CPU); row++) {
		attr_t runs = history->cpu_attrs[row][CPU_RUNS];
		struct sonde_context context;
		struct sonde_interval last;

		if (history->cpus[row].machine || runs == ATTR_NONE)
			continue;
		if (sonde_interval_at(history, runs, end - 1, &last) ||
		    (!sonde_context_get(history, (int64_t)last.value - 1, &context) &&
		     context.mode != SONDE_MODE_UNKNOWN))
			return end;
		until = last.begin > until ? last.begin : until;
	}
	return until == NS_MIN ? end : until;
}

/* All that is found once, in the tables. */
static int index_run(struct sonde_history *history, const char *path, struct error *err)
{
	int ret;

	for (unsigned i = 0; i < QUERY_NR_TABLES; i++)
		find_columns(history, (enum query_table)i);
	ret = check_run(history, path, err);
	if (ret)
		return ret;
	ret = index_machines(history, err);
	if (!ret)
		ret = query_index_exits(history, err);
	if (ret)
		return ret;
	history->isa = isa_of_reasons(history);
	ret = index_namespaces(history, err);
	if (!ret)
		ret = index_identities(history, err);
	if (!ret)
		ret = query_index_vectors(history, err);
	if (!ret)
		ret = index_cpus(history, err);
	if (!ret && !history_complete(history->file))
		history->known_until = find_known_until(history);
	return ret;
}

int query_error(struct sonde_error *out, int ret, const struct error *err)
{
	if (out && ret < 0) {
		out->code = ret;
		memcpy(out->text, err->text, sizeof(out->text));
		_Static_assert(sizeof(out->text) == sizeof(err->text), "same length");
	}
	return ret;
}

/* @of: NULL, or who has it open already. */
static int open_history(struct sonde_history *history, const char *path,
			const struct sonde_history *of, struct error *err)
{
	if (!of)
		return history_open(&history->file, path, err);
	return history_again(&history->file, of->file) ? fail(err, -ENOMEM, "out of memory") : 0;
}

static int open_run(struct sonde_history **out, const char *path, const struct sonde_history *of,
		    struct sonde_error *err)
{
	struct error inner = {0};
	struct sonde_history *history = calloc(1, sizeof(*history));
	int ret;

	*out = NULL;
	if (!history)
		return query_error(err, fail(&inner, -ENOMEM, "out of memory"), &inner);
	history->path = strdup(path);
	ret = history->path ? open_history(history, path, of, &inner)
			    : fail(&inner, -ENOMEM, "out of memory");
	if (!ret)
		ret = index_run(history, path, &inner);
	if (ret) {
		sonde_history_close(history);
		return query_error(err, ret, &inner);
	}
	*out = history;
	return 0;
}

int sonde_history_open(struct sonde_history **out, const char *path, struct sonde_error *err)
{
	return open_run(out, path, NULL, err);
}

int sonde_history_again(struct sonde_history **out, const struct sonde_history *of,
			struct sonde_error *err)
{
	return open_run(out, of->path, of, err);
}

void sonde_history_close(struct sonde_history *history)
{
	if (!history)
		return;
	kept_release_all(history);
	history_close(history->file);
	map_release(&history->cpu_rows);
	map_release(&history->vector_rows);
	members_release(&history->identities);
	free(history->cpu_attrs);
	free(history->cpus);
	free(history->cpu_order);
	free(history->ns_init);
	free(history->exit_kinds);
	free(history->machines);
	free(history->thread_dirs);
	free(history->vectors);
	free(history->wakes);
	free(history->contexts);
	free(history->thread_rows);
	free(history->threads);
	free(history->path);
	free(history);
}

const char *sonde_history_path(const struct sonde_history *history)
{
	return history->path;
}

int sonde_history_file_id(const struct sonde_history *history, char *buf, size_t room)
{
	return history_file(history->file, buf, room);
}

int64_t sonde_history_begin(const struct sonde_history *history)
{
	return history_begin(history->file);
}

int64_t sonde_history_end(const struct sonde_history *history)
{
	return history_end(history->file);
}

void sonde_history_traced(const struct sonde_history *history, int64_t *begin, int64_t *end)
{
	ns_t run_begin = history_begin(history->file), run_end = history_end(history->file);
	struct sonde_machine l0;

	*begin = run_begin;
	*end = run_end;
	if (sonde_machine_get(history, 0, &l0))
		return;
	if (!history_complete(history->file))
		l0.end = history->known_until;
	if (l0.begin == -1 && l0.end == -1)
		return;
	if (l0.begin < l0.end && l0.begin < run_end && l0.end > run_begin) {
		*begin = l0.begin > run_begin ? l0.begin : run_begin;
		*end = l0.end < run_end ? l0.end : run_end;
	}
}

bool sonde_history_complete(const struct sonde_history *history)
{
	return history_complete(history->file);
}

bool sonde_history_ticks_are_ns(const struct sonde_history *history)
{
	return history_ticks_are_ns(history->file);
}

bool sonde_history_wall_offset(const struct sonde_history *history, int64_t *offset_ns)
{
	return history_wall_offset(history->file, offset_ns);
}
