/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of what there is: machines, CPUs, threads, namespaces, cgroups, contexts. */
#include "sql/rows.h"

static void load_machine(const struct sql_history *r, int64_t row, void *out)
{
	sonde_machine_get(r->history, row, out);
}

static const struct rows machines_rows = {sonde_nr_machines, load_machine};
static const struct sql_column machines_columns[] = {
	COLUMN_ROW,
	COLUMN_TEXT(struct sonde_machine, "name", name, "what it is called"),
	COLUMN(struct sonde_machine, "parent", MACHINE, parent, "machine that it runs in"),
	COLUMN(struct sonde_machine, "level", INT, level, "0 physical, 1 VM, 2 nested VM ..."),
	COLUMN(struct sonde_machine, "traced", BOOL, traced, "it has a trace of its own"),
	COLUMN_TEXT(struct sonde_machine, "hostname", hostname, "as its kernel says"),
	COLUMN_TEXT(struct sonde_machine, "release", release, "of its kernel"),
	COLUMN_TEXT(struct sonde_machine, "tracer", tracer, "that wrote its trace"),
	COLUMN_TEXT(struct sonde_machine, "trace_path", trace_path, "where that was"),
	COLUMN_TEXT(struct sonde_machine, "evidence", evidence, "how its role was found"),
	COLUMN(struct sonde_machine, "vm_pid", INT, vm_pid, "process of the parent that it is"),
	COLUMN_ROW_OF(struct sonde_machine, "parent", MACHINE, parent),
};
ROWS_TABLE(machines, struct sonde_machine, 10, "machines: the physical one, row 0, and its VMs");

struct cpu_row {
	int64_t row;
	struct sonde_cpu cpu;
};

static void load_cpu(const struct sql_history *r, int64_t row, void *out)
{
	struct cpu_row *c = out;

	c->row = row;
	sonde_cpu_get(r->history, row, &c->cpu);
}

static const struct rows cpus_rows = {sonde_nr_cpus, load_cpu};
static const struct sql_column cpus_columns[] = {
	COLUMN_ROW,
	COLUMN(struct cpu_row, "name", CPU, row, "as other tables name it"),
	COLUMN(struct cpu_row, "machine", MACHINE, cpu.machine, "whose CPU it is"),
	COLUMN(struct cpu_row, "number", INT, cpu.number, "as its machine counts"),
	COLUMN(struct cpu_row, "host_tid", INT, cpu.host_tid, "of a vCPU: its thread's number"),
	COLUMN(struct cpu_row, "host_thread", THREAD, cpu.host_thread, "of a vCPU: its thread"),
	COLUMN_ROW_OF(struct cpu_row, "machine", MACHINE, cpu.machine),
	COLUMN_ROW_OF(struct cpu_row, "host_thread", THREAD, cpu.host_thread),
};
ROWS_TABLE(cpus, struct cpu_row, 50, "physical CPUs and vCPUs");

struct thread_row {
	int64_t row;
	struct sonde_thread t;
	const char *cgroup;
};

static void load_thread(const struct sql_history *r, int64_t row, void *out)
{
	struct thread_row *t = out;
	struct sonde_cgroup cgroup;

	t->row = row;
	sonde_thread_get(r->history, row, &t->t);
	t->cgroup = sonde_cgroup_get(r->history, t->t.cgroup, &cgroup) ? "" : cgroup.path;
}

static const struct rows threads_rows = {sonde_nr_threads, load_thread};
static const struct sql_column threads_columns[] = {
	COLUMN_ROW,
	COLUMN(struct thread_row, "name", THREAD, row, "as other tables name it"),
	COLUMN(struct thread_row, "machine", MACHINE, t.machine, "whose thread it is"),
	COLUMN(struct thread_row, "tid", INT, t.tid, "its number"),
	COLUMN(struct thread_row, "pid", INT, t.pid, "its process's number"),
	COLUMN(struct thread_row, "ppid", INT, t.ppid,
	       "that of its parent: who made it, or had adopted it before the trace began"),
	COLUMN_TEXT(struct thread_row, "comm", t.comm, "its last name"),
	COLUMN(struct thread_row, "container", PID_NS, t.pid_ns, "that it is in"),
	COLUMN(struct thread_row, "begin", TIME, t.begin, "when it was made, or first seen"),
	COLUMN(struct thread_row, "end", TIME, t.end, "NULL: it was still there"),
	COLUMN(struct thread_row, "vcpu", CPU, t.vcpu, "that it runs"),
	COLUMN_TEXT(struct thread_row, "cgroup", cgroup, "path, \"\" unknown"),
	COLUMN_ROW_OF(struct thread_row, "machine", MACHINE, t.machine),
	COLUMN_ROW_OF(struct thread_row, "container", PID_NS, t.pid_ns),
	COLUMN_ROW_OF(struct thread_row, "vcpu", CPU, t.vcpu),
};
ROWS_TABLE(threads, struct thread_row, 2000,
	   "threads, each from its start to its end: a number used again is another row");

struct namespace_row {
	int64_t row;
	struct sonde_pid_ns ns;
};

static void load_namespace(const struct sql_history *r, int64_t row, void *out)
{
	struct namespace_row *n = out;

	n->row = row;
	sonde_pid_ns_get(r->history, row, &n->ns);
}

static const struct rows namespaces_rows = {sonde_nr_pid_ns, load_namespace};
static const struct sql_column namespaces_columns[] = {
	COLUMN_ROW,
	COLUMN(struct namespace_row, "container", PID_NS, row,
	       "as other tables name it; NULL: a machine's first namespace, no container"),
	COLUMN(struct namespace_row, "machine", MACHINE, ns.machine, "that it is in"),
	COLUMN(struct namespace_row, "level", INT, ns.level, "0: its machine's first"),
	COLUMN(struct namespace_row, "parent", PID_NS, ns.parent, "container that it is in"),
	COLUMN(struct namespace_row, "inum", INT, ns.inum, "its inode's number"),
	COLUMN_TEXT(struct namespace_row, "name", ns.name, "what its engine calls it, or \"\""),
	COLUMN_ROW_OF(struct namespace_row, "machine", MACHINE, ns.machine),
	COLUMN_ROW_OF(struct namespace_row, "parent", PID_NS, ns.parent),
};
ROWS_TABLE(namespaces, struct namespace_row, 50, "PID namespaces: containers");

static void load_cgroup(const struct sql_history *r, int64_t row, void *out)
{
	sonde_cgroup_get(r->history, row, out);
}

static const struct rows cgroups_rows = {sonde_nr_cgroups, load_cgroup};
static const struct sql_column cgroups_columns[] = {
	COLUMN_ROW,
	COLUMN(struct sonde_cgroup, "machine", MACHINE, machine, "that it is in"),
	COLUMN_TEXT(struct sonde_cgroup, "path", path, "its path, \"\" unknown"),
	COLUMN(struct sonde_cgroup, "id", INT, id, "its directory's inode"),
	COLUMN_ROW_OF(struct sonde_cgroup, "machine", MACHINE, machine),
};
ROWS_TABLE(cgroups, struct sonde_cgroup, 200, "control groups");

struct context_row {
	struct sonde_context c;
	int64_t cpu_row, container;
};

static void load_context(const struct sql_history *r, int64_t row, void *out)
{
	struct context_row *x = out;
	struct sonde_thread thread;

	sonde_context_get(r->history, row, &x->c);
	x->cpu_row = sonde_find_cpu(r->history, x->c.machine, x->c.cpu);
	x->container = sonde_thread_get(r->history, x->c.thread, &thread) ? -1 : thread.pid_ns;
}

static const struct rows contexts_rows = {sonde_nr_contexts, load_context};
static const struct sql_column contexts_columns[] = {
	COLUMN_ROW,
	COLUMN(struct context_row, "machine", MACHINE, c.machine, "whose code it is"),
	COLUMN(struct context_row, "cpu", CPU, cpu_row, "that machine's CPU"),
	COLUMN(struct context_row, "thread", THREAD, c.thread, "that machine's thread"),
	COLUMN(struct context_row, "container", PID_NS, container, "that the thread is in"),
	COLUMN(struct context_row, "mode", MODE, c.mode,
	       "idle, user, syscall, irq, hypervisor ..."),
	COLUMN(struct context_row, "detail", INT, c.detail, "number of the irq, exit reason ..."),
	COLUMN_TEXT(struct context_row, "what", c.detail_text,
		    "the same in words: openat, HLT ..."),
	COLUMN(struct context_row, "serves", CPU, c.serves, "hypervisor: the vCPU it works for"),
	COLUMN_ROW_OF(struct context_row, "machine", MACHINE, c.machine),
	COLUMN_ROW_OF(struct context_row, "cpu", CPU, cpu_row),
	COLUMN_ROW_OF(struct context_row, "thread", THREAD, c.thread),
	COLUMN_ROW_OF(struct context_row, "container", PID_NS, container),
	COLUMN_ROW_OF(struct context_row, "serves", CPU, c.serves),
};
ROWS_TABLE(contexts, struct context_row, 5000,
	   "what a CPU can be doing: states of kind \"runs\" have such rows as values");
