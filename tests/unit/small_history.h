/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SMALL_HISTORY_H
#define TESTS_UNIT_SMALL_HISTORY_H

#include "history/history.h"
#include "model/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A small history, written as model/ would: a host with two CPUs and a container, a VM in it with
 * a nested VM, and a VM without a trace.  Times in ns; [1000000, 2000000).
 *
 *	cpu 0   1000000 idle
 *	        1100000 KVM for vm-a/0, after HLT
 *	        1150000 vm-a: app, user              (vm-a-n/0, seen since 1140000, is preempted until 1450000)
 *	        1300000 burn, in the host's container (vm-a/0 is preempted; victim app)
 *	        1400000 KVM for vm-a/0, after INTR
 *	        1450000 vm-a: KVM for vm-a-n/0, after VMRUN
 *	        1500000 vm-a-n: task, user
 *	        1700000 interrupt 236 in vm-a/0's thread
 *	        1720000 burn, in a system call       (vm-a/0 is preempted until 1900000)
 *	cpu 1   1000000 vm-b, nothing more known
 *	        1500000 unknown
 *
 * Exits of vm-a/0: a halt until 1150000, an interrupt from 1300000 to 1450000, VMRUN from 1480000 to
 * 1500000, vm-a-n's MSR from 1550000, in the VMM from 1560000, to 1580000, VMRUN from 1590000 to
 * 1600000, an interrupt in vm-a-n from 1700000.  burn is woken at 1250000, by interrupt 236 on cpu 0;
 * app at 1150000, by one in vm-a, whose vCPU burn had woken at 1100000.
 */
enum small_machine { HOST, VM_A, VM_B, VM_AN, SMALL_MACHINES };
enum small_cpu { HOST_0, HOST_1, VM_A_0, VM_B_0, VM_AN_0, SMALL_CPUS };
enum small_thread { IDLE_0, IDLE_1, KVM_A, KVM_B, BURN, KVM_AN, APP, TASK, SMALL_THREADS };
enum small_ns { NS_HOST, NS_CONTAINER };

#define SMALL_BEGIN 1000000
#define SMALL_END 2000000

struct small_change {
	ns_t t;
	attr_t attr;
	uint32_t value;
};

static inline int64_t small_string(struct history_writer *w, const char *text)
{
	return history_writer_string(w, text, strlen(text));
}

static inline void small_machines(struct history_writer *w)
{
	static const struct column columns[] = {
		{"name", COL_STRING},	{"parent", COL_INT},	    {"level", COL_INT},
		{"traced", COL_BOOL},	{"hostname", COL_STRING},   {"release", COL_STRING},
		{"tracer", COL_STRING}, {"trace_path", COL_STRING}, {"evidence", COL_STRING},
		{"vm_pid", COL_INT},
	};
	static const struct {
		const char *name;
		int parent, level, traced, vm_pid;
	} rows[] = {{"host0", -1, 0, 1, -1},
		    {"vm-a", 0, 1, 1, 99},
		    {"vm-b", 0, 1, 0, 199},
		    {"vm-a-n", 1, 2, 1, 49}};
	int table = history_writer_table(w, "machine", columns, 10);

	for (unsigned i = 0; i < SMALL_MACHINES; i++) {
		int64_t cells[] = {small_string(w, rows[i].name),
				   rows[i].parent,
				   rows[i].level,
				   rows[i].traced,
				   small_string(w, rows[i].name),
				   small_string(w, "6.1.0"),
				   small_string(w, "test"),
				   small_string(w, "/traces/x"),
				   small_string(w, "told"),
				   rows[i].vm_pid};

		history_writer_row(w, table, cells);
	}
}

/* @of_nested: row of the thread that runs vm-a-n/0; -1 nobody has seen it. */
static inline void small_cpus(struct history_writer *w, int64_t of_nested)
{
	static const struct column cpu_columns[] = {{"machine", COL_INT},
						    {"cpu", COL_INT},
						    {"host_tid", COL_INT},
						    {"nested_id", COL_INT},
						    {"host_thread", COL_INT}};
	const int64_t cpus[][5] = {{HOST, 0, -1, 0, -1},
				   {HOST, 1, -1, 0, -1},
				   {VM_A, 0, 100, 0, KVM_A},
				   {VM_B, 0, 200, 0, KVM_B},
				   {VM_AN, 0, of_nested < 0 ? -1 : 50, 0x1000, of_nested}};
	int table = history_writer_table(w, "cpu", cpu_columns, 5);

	for (unsigned i = 0; i < SMALL_CPUS; i++)
		history_writer_row(w, table, cpus[i]);
}

static inline void small_threads(struct history_writer *w)
{
	static const struct column thread_columns[] = {
		{"machine", COL_INT}, {"tid", COL_INT},	    {"pid", COL_INT},
		{"ppid", COL_INT},    {"comm", COL_STRING}, {"pid_ns", COL_INT},
		{"begin", COL_NS},    {"end", COL_NS},	    {"is_vcpu", COL_INT}};
	static const struct {
		int machine, tid, pid, ns, vcpu;
		const char *comm;
	} threads[] = {
		{HOST, 0, 0, -1, 0, "swapper/0"},
		{HOST, 0, 0, -1, 0, "swapper/1"},
		{HOST, 100, 99, 0, VM_A_0 + 1, "CPU 0/KVM"},
		{HOST, 200, 199, 0, VM_B_0 + 1, "CPU 0/KVM"},
		{HOST, 300, 300, 1, 0, "burn"},
		{VM_A, 50, 49, -1, VM_AN_0 + 1, "CPU 0/KVM"},
		{VM_A, 60, 60, -1, 0, "app"},
		{VM_AN, 7, 7, -1, 0, "\033[31mtask<&>"},
	};
	int table = history_writer_table(w, "thread", thread_columns, 9);

	for (unsigned i = 0; i < SMALL_THREADS; i++) {
		int64_t cells[] = {threads[i].machine,
				   threads[i].tid,
				   threads[i].pid,
				   -1,
				   small_string(w, threads[i].comm),
				   threads[i].ns,
				   SMALL_BEGIN,
				   -1,
				   threads[i].vcpu};

		history_writer_row(w, table, cells);
	}
}

static inline void small_namespaces(struct history_writer *w)
{
	static const struct column ns_columns[] = {
		{"machine", COL_INT}, {"inum", COL_INT}, {"parent", COL_INT}, {"level", COL_INT}};
	static const struct column vtid_columns[] = {
		{"thread", COL_INT}, {"level", COL_INT}, {"pid_ns", COL_INT}, {"vtid", COL_INT}};
	static const int64_t ns[][4] = {{HOST, 4026531836, -1, 0}, {HOST, 4026532324, 0, 1}};
	static const int64_t vtid[] = {BURN, 1, NS_CONTAINER, 1};
	int table = history_writer_table(w, "pid_ns", ns_columns, 4);

	history_writer_row(w, table, ns[0]);
	history_writer_row(w, table, ns[1]);
	history_writer_row(w, history_writer_table(w, "vtid", vtid_columns, 4), vtid);
}

/* Contexts, in the order of the comment above; values of `runs` are these numbers + 1. */
enum small_context {
	C_IDLE,
	C_HLT,
	C_APP,
	C_BURN_USER,
	C_INTR,
	C_VMRUN,
	C_TASK,
	C_IRQ,
	C_BURN_SYSCALL,
	C_GUEST,
	C_IRQ_OF_A,
	C_NET_RX_OF_A,
	SMALL_CONTEXTS
};

static inline void small_contexts(struct history_writer *w)
{
	static const struct column columns[] = {{"machine", COL_INT}, {"cpu", COL_INT},
						{"thread", COL_INT},  {"mode", COL_INT},
						{"detail", COL_INT},  {"serves", COL_INT}};
	int64_t rows[][6] = {
		{HOST, 0, IDLE_0, MODE_IDLE, -1, 0},
		{HOST, 0, KVM_A, MODE_HYPERVISOR, 0x78, VM_A_0 + 1},
		{VM_A, 0, APP, MODE_USER, -1, 0},
		{HOST, 0, BURN, MODE_USER, -1, 0},
		{HOST, 0, KVM_A, MODE_HYPERVISOR, 0x60, VM_A_0 + 1},
		{VM_A, 0, KVM_AN, MODE_HYPERVISOR, 0x80, VM_AN_0 + 1},
		{VM_AN, 0, TASK, MODE_USER, -1, 0},
		{HOST, 0, KVM_A, MODE_IRQ, 236, 0},
		{HOST, 0, BURN, MODE_SYSCALL, small_string(w, "openat"), 0},
		{VM_B, 0, -1, MODE_GUEST, -1, 0},
		{VM_A, 0, APP, MODE_IRQ, 236, 0},
		{VM_A, 0, APP, MODE_SOFTIRQ, 3, 0},
	};
	int table = history_writer_table(w, "context", columns, 6);

	for (unsigned i = 0; i < SMALL_CONTEXTS; i++)
		history_writer_row(w, table, rows[i]);
}

static inline void small_quality(struct history_writer *w)
{
	static const struct column clock_columns[] = {
		{"machine", COL_INT},	 {"from", COL_NS},
		{"to", COL_NS},		 {"bound", COL_NS},
		{"method", COL_STRING},	 {"pairs", COL_INT},
		{"violations", COL_INT}, {"worst_violation", COL_NS},
		{"rate_ppb", COL_INT}};
	static const struct column loss_columns[] = {{"machine", COL_INT},
						     {"cpu", COL_INT},
						     {"begin", COL_NS},
						     {"end", COL_NS},
						     {"events", COL_INT}};
	static const struct column tick_columns[] = {{"machine", COL_INT},
						     {"from", COL_INT},
						     {"at", COL_NS},
						     {"mult", COL_INT},
						     {"bound", COL_NS}};
	int64_t clock[] = {VM_A, SMALL_BEGIN, SMALL_END, 25, small_string(w, "hypercall pairs"),
			   12,	 0,	      0,	 -40};
	static const struct column milestone_columns[] = {
		{"machine", COL_INT}, {"cpu", COL_INT},	    {"since", COL_NS},
		{"at", COL_NS},	      {"kind", COL_STRING}, {"text", COL_STRING}};
	int64_t loss[] = {VM_A, 0, 1600000, 1650000, -1};
	int64_t lost[] = {VM_A,
			  -1,
			  SMALL_BEGIN,
			  SMALL_BEGIN,
			  small_string(w, "lost"),
			  small_string(w, "at least 700 events")};
	int64_t tick[] = {HOST, 5000, SMALL_BEGIN, INT64_C(1) << 33, 0}; /* 2 ns per tick */

	history_writer_row(w, history_writer_table(w, "clock", clock_columns, 9), clock);
	history_writer_row(w, history_writer_table(w, "loss", loss_columns, 5), loss);
	history_writer_row(w, history_writer_table(w, "milestone", milestone_columns, 6), lost);
	history_writer_row(w, history_writer_table(w, "tick", tick_columns, 5), tick);
}

static inline attr_t small_attr(struct history_writer *w, const char *machine, const char *dir,
				const char *name, enum attr_type type, unsigned flags)
{
	attr_t a = history_writer_attr(w, ATTR_ROOT, machine, ATTR_DIR, 0);
	char first[32];
	const char *slash = strchr(dir, '/');

	if (slash) {
		snprintf(first, sizeof(first), "%.*s", (int)(slash - dir), dir);
		a = history_writer_attr(w, a, first, ATTR_DIR, 0);
		dir = slash + 1;
	}
	a = history_writer_attr(w, a, dir, ATTR_DIR, 0);
	return history_writer_attr(w, a, name, type, flags);
}

/* Rows of table "exit"; values of `exit` are these numbers + 1. */
enum small_exit { X_UNKNOWN, X_HLT, X_INTR, X_VMRUN, X_MSR, X_MSR_USER, X_INTR_AN, SMALL_EXITS };

static inline void small_exits(struct history_writer *w)
{
	static const struct column columns[] = {{"reason", COL_INT},
						{"isa", COL_INT},
						{"serves", COL_INT},
						{"user_reason", COL_INT}};
	static const int64_t rows[][4] = {
		{-1, 0, 0, -1},
		{0x78, 2, VM_A_0 + 1, -1},
		{0x60, 2, VM_A_0 + 1, -1},
		{0x80, 2, VM_A_0 + 1, -1},
		{0x7c, 2, VM_AN_0 + 1, -1},
		{0x7c, 2, VM_AN_0 + 1, 30},
		{0x60, 2, VM_AN_0 + 1, -1},
	};
	int table = history_writer_table(w, "exit", columns, 4);

	for (unsigned i = 0; i < SMALL_EXITS; i++)
		history_writer_row(w, table, rows[i]);
}

static inline void small_changes(struct history_writer *w)
{
	attr_t runs_0 = small_attr(w, "host0", "cpu0", "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t runs_1 = small_attr(w, "host0", "cpu1", "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t a_state = small_attr(w, "vm-a", "cpu0", "state", ATTR_ENUM, 0);
	attr_t a_on = small_attr(w, "vm-a", "cpu0", "on", ATTR_NUMBER, 0);
	attr_t a_task = small_attr(w, "vm-a", "cpu0", "task", ATTR_ROW, 0);
	attr_t b_state = small_attr(w, "vm-b", "cpu0", "state", ATTR_ENUM, 0);
	attr_t b_on = small_attr(w, "vm-b", "cpu0", "on", ATTR_NUMBER, 0);
	attr_t an_state = small_attr(w, "vm-a-n", "cpu0", "state", ATTR_ENUM, 0);
	attr_t an_on = small_attr(w, "vm-a-n", "cpu0", "on", ATTR_NUMBER, 0);
	attr_t kvm_a_cpu = small_attr(w, "host0", "threads/2", "cpu", ATTR_NUMBER, 0);
	attr_t kvm_an_cpu = small_attr(w, "vm-a", "threads/5", "cpu", ATTR_NUMBER, 0);
	attr_t a_exit = small_attr(w, "vm-a", "cpu0", "exit", ATTR_ROW, 0);
	attr_t burn_state = small_attr(w, "host0", "threads/4", "state", ATTR_ENUM, 0);
	attr_t burn_cpu = small_attr(w, "host0", "threads/4", "cpu", ATTR_NUMBER, 0);
	attr_t burn_waker = small_attr(w, "host0", "threads/4", "waker", ATTR_ROW, 0);
	attr_t kvm_a_state = small_attr(w, "host0", "threads/2", "state", ATTR_ENUM, 0);
	attr_t kvm_a_waker = small_attr(w, "host0", "threads/2", "waker", ATTR_ROW, 0);
	attr_t app_state = small_attr(w, "vm-a", "threads/6", "state", ATTR_ENUM, 0);
	attr_t app_cpu = small_attr(w, "vm-a", "threads/6", "cpu", ATTR_NUMBER, 0);
	attr_t app_waker = small_attr(w, "vm-a", "threads/6", "waker", ATTR_ROW, 0);
	const struct small_change changes[] = {
		{1000000, a_exit, X_HLT + 1},
		{1000000, burn_state, THREAD_SLEEPING},
		{1000000, burn_cpu, 1},
		{1000000, kvm_a_state, THREAD_SLEEPING},
		{1000000, app_state, THREAD_SLEEPING},
		{1000000, app_cpu, 1},
		{1000000, runs_0, C_IDLE + 1},
		{1000000, runs_1, C_GUEST + 1},
		{1000000, a_state, VCPU_WAITING},
		{1000000, b_state, VCPU_ON_CPU},
		{1000000, b_on, 2},
		{1000000, an_state, VCPU_UNKNOWN},
		{1000000, kvm_a_cpu, 1},
		{1000000, kvm_an_cpu, 1},
		{1100000, runs_0, C_HLT + 1},
		{1100000, kvm_a_waker, C_BURN_USER + 1},
		{1100000, kvm_a_state, THREAD_RUNNING},
		{1100000, a_state, VCPU_ON_CPU},
		{1100000, a_on, 1},
		{1140000, an_state, VCPU_ON_CPU},
		{1140000, an_on, 1},
		{1150000, runs_0, C_APP + 1},
		{1150000, a_task, APP + 1},
		{1150000, a_exit, 0},
		{1150000, app_waker, C_IRQ_OF_A + 1},
		{1150000, app_state, THREAD_RUNNING},
		{1150000, an_state, VCPU_PREEMPTED},
		{1150000, an_on, 0},
		{1250000, burn_state, THREAD_RUNNABLE},
		{1250000, burn_waker, C_IRQ + 1},
		{1300000, a_exit, X_INTR + 1},
		{1300000, burn_state, THREAD_RUNNING},
		{1300000, runs_0, C_BURN_USER + 1},
		{1300000, a_state, VCPU_PREEMPTED},
		{1300000, a_on, 0},
		{1400000, runs_0, C_INTR + 1},
		{1400000, burn_state, THREAD_RUNNABLE},
		{1400000, a_state, VCPU_ON_CPU},
		{1400000, a_on, 1},
		{1450000, runs_0, C_VMRUN + 1},
		{1450000, a_exit, 0},
		{1450000, a_task, KVM_AN + 1},
		{1450000, an_state, VCPU_ON_CPU},
		{1450000, an_on, 1},
		{1480000, a_exit, X_VMRUN + 1},
		{1500000, a_exit, 0},
		{1500000, runs_0, C_TASK + 1},
		{1500000, runs_1, 0},
		{1500000, b_state, VCPU_UNKNOWN},
		{1550000, a_exit, X_MSR + 1},
		{1560000, a_exit, X_MSR_USER + 1},
		{1580000, a_exit, 0},
		{1590000, a_exit, X_VMRUN + 1},
		{1600000, a_exit, 0},
		{1700000, a_exit, X_INTR_AN + 1},
		{1700000, runs_0, C_IRQ + 1},
		{1720000, runs_0, C_BURN_SYSCALL + 1},
		{1720000, burn_state, THREAD_RUNNING},
		{1720000, a_state, VCPU_PREEMPTED},
		{1720000, a_on, 0},
		{1900000, a_state, VCPU_WAITING},
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		history_writer_set(w, changes[i].attr, changes[i].t, changes[i].value);
}

/* Not in every small history: marks, of two requests at once, of a span, and of one that no thread
 * is known of. */
static inline void small_marks(struct history_writer *w)
{
	static const struct column columns[] = {
		{"at", COL_NS},	      {"machine", COL_INT},  {"cpu", COL_INT},
		{"thread", COL_INT},  {"kind", COL_INT},     {"id", COL_INT},
		{"text", COL_STRING}, {"by_host", COL_BOOL},
	};
	static const struct {
		int64_t at, machine, thread, kind, id;
		const char *text;
	} rows[] = {
		{1160000, VM_A, APP, 0, 7, "asked"},	{1170000, VM_A, APP, 0, 8, "asked"},
		{1200000, VM_A, APP, 0, 8, "answered"}, {1290000, VM_A, APP, 0, 7, "answered"},
		{1295000, VM_A, APP, 0, 9, "answered"}, {1510000, VM_AN, TASK, 1, 0, "work"},
		{1600000, VM_B, -1, 1, 3, "alone"},	{1650000, VM_B, -1, 2, 3, "alone"},
		{1690000, VM_AN, TASK, 2, 0, "work"},
	};
	int table = history_writer_table(w, "mark", columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t cells[] = {rows[i].at,
				   rows[i].machine,
				   0,
				   rows[i].thread,
				   rows[i].kind,
				   rows[i].id,
				   small_string(w, rows[i].text),
				   rows[i].machine == VM_B};

		history_writer_row(w, table, cells);
	}
}

/* A history of the machines, CPUs, threads and contexts of above, in which other things happen. */
struct small_world {
	struct history_writer_options options;
	int64_t of_nested; /* as for small_cpus() */
	void (*changes)(struct history_writer *w);
	void (*tables[4])(struct history_writer *w); /* others; NULL: no more of them */
};

/* Writes it into a new file below /tmp; @path takes its name. */
static inline int small_world_write(char path[static 64], const struct small_world *world)
{
	struct history_writer *w;
	int fd;

	snprintf(path, 64, "/tmp/sonde-small-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	if (history_writer_open(&w, path, &world->options, NULL))
		return -1;
	world->changes(w);
	small_machines(w);
	small_cpus(w, world->of_nested);
	small_threads(w);
	small_namespaces(w);
	small_contexts(w);
	for (unsigned i = 0; i < ARRAY_SIZE(world->tables) && world->tables[i]; i++)
		world->tables[i](w);
	return history_writer_close(w, SMALL_END, NULL);
}

/* The history that stands above; @more: tables that not all tests want, NULL none. */
static inline int small_history_write_with(char path[static 64], int64_t wall_offset,
					   void (*more)(struct history_writer *w))
{
	const struct small_world world = {
		.options = {.ticks_are_ns = true,
			    .wall_known = true,
			    .wall_offset_ns = wall_offset},
		.of_nested = KVM_AN,
		.changes = small_changes,
		.tables = {small_exits, small_quality, more},
	};

	return small_world_write(path, &world);
}

static inline int small_history_write_at(char path[static 64], int64_t wall_offset)
{
	return small_history_write_with(path, wall_offset, NULL);
}

static inline int small_history_write(char path[static 64])
{
	return small_history_write_at(path, 1700000000000000000);
}

#endif
