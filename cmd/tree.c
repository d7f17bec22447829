/* SPDX-License-Identifier: Apache-2.0 */
/* sonde tree: machines with their CPUs, containers and the VMs inside them. */
#include "cmd/common/command.h"
#include "report/rows.h"
#include "report/moment.h"
#include "base/members.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tree_options {
	bool threads;
};

static const struct option_row option_rows[] = {
	{0, "threads", OPTION_FLAG, offsetof(struct tree_options, threads), NULL, NULL,
	 "list the threads of each machine and container, too", 0},
};

/* Threads directly in each PID namespace, and those of each machine in none that is known. */
struct counts {
	int64_t *per_ns;      /* owned, by row */
	int64_t *per_machine; /* owned: all threads of a machine */
};

/* What is in what. */
struct inside {
	struct members vms;	   /* by the row of the machine that they run in */
	struct members containers; /* by group_of_machine() or group_of_container() */
	struct members threads;	   /* the same; only where they are listed */
	bool *on_thread; /* owned, by the VM's row: a thread of its host runs a vCPU of it */
};

static int64_t group_of_machine(unsigned machine)
{
	return machine;
}

static int64_t group_of_container(const struct sonde_history *history, int64_t pid_ns)
{
	return sonde_nr_machines(history) + pid_ns;
}

static bool count_threads(const struct sonde_history *history, struct counts *c)
{
	c->per_ns = calloc((size_t)sonde_nr_pid_ns(history) + 1, sizeof(*c->per_ns));
	c->per_machine = calloc((size_t)sonde_nr_machines(history) + 1, sizeof(*c->per_machine));
	if (!c->per_ns || !c->per_machine)
		return false;
	for (int64_t row = 0; row < sonde_nr_threads(history); row++) {
		struct sonde_thread t;

		sonde_thread_get(history, row, &t);
		if (t.tid == 0) /* idle tasks */
			continue;
		if (t.machine < sonde_nr_machines(history))
			c->per_machine[t.machine]++;
		if (t.pid_ns >= 0 && t.pid_ns < sonde_nr_pid_ns(history))
			c->per_ns[t.pid_ns]++;
	}
	return true;
}

static void counts_release(struct counts *c)
{
	free(c->per_ns);
	free(c->per_machine);
}

/* ---- what is in what ----------------------------------------------------------------------- */

static void list_hosted(const struct sonde_history *history, struct inside *in)
{
	struct sonde_cpu cpu;

	for (int64_t row = 0; !sonde_cpu_get(history, row, &cpu); row++) {
		if (cpu.machine < in->vms.nr && cpu.host_thread >= 0)
			in->on_thread[cpu.machine] = true;
	}
}

/* A machine's first namespace is no container.  One whose parent is not known hangs below the
 * machine, as those below its first one do. */
static void list_containers(const struct sonde_history *history, struct inside *in)
{
	for (int64_t row = in->containers.nr; row-- > 0;) {
		struct sonde_pid_ns ns;

		sonde_pid_ns_get(history, row, &ns);
		if (!ns.level)
			continue;
		members_add(&in->containers,
			    is_container(history, ns.parent)
				    ? group_of_container(history, ns.parent)
				    : group_of_machine(ns.machine),
			    row);
	}
}

/* Without idle tasks. */
static void list_threads(const struct sonde_history *history, struct inside *in)
{
	for (int64_t row = in->threads.nr; row-- > 0;) {
		struct sonde_thread t;
		struct sonde_pid_ns ns;
		bool contained;

		sonde_thread_get(history, row, &t);
		contained = !sonde_pid_ns_get(history, t.pid_ns, &ns) && ns.level &&
			    ns.machine == t.machine;
		if (t.tid)
			members_add(&in->threads,
				    contained ? group_of_container(history, t.pid_ns)
					      : group_of_machine(t.machine),
				    row);
	}
}

static bool list_inside(const struct sonde_history *history, const struct tree_options *opt,
			struct inside *in)
{
	int64_t nr_machines = sonde_nr_machines(history), nr_ns = sonde_nr_pid_ns(history);

	in->on_thread = calloc((size_t)nr_machines + 1, sizeof(*in->on_thread));
	if (!in->on_thread || members_init(&in->vms, nr_machines, nr_machines) ||
	    members_init(&in->containers, nr_machines + nr_ns, nr_ns) ||
	    (opt->threads &&
	     members_init(&in->threads, nr_machines + nr_ns, sonde_nr_threads(history))))
		return false;
	list_vms(history, &in->vms);
	list_hosted(history, in);
	list_containers(history, in);
	list_threads(history, in);
	return true;
}

static void inside_release(struct inside *in)
{
	members_release(&in->vms);
	members_release(&in->containers);
	members_release(&in->threads);
	free(in->on_thread);
}

/* ---- text ---------------------------------------------------------------------------------- */

struct tree {
	struct sonde_history *history;
	struct table *table;
	struct counts counts;
	struct inside in;
	const struct tree_options *opt;
};

static int add_line(struct tree *t, int parent, const char *what, int64_t threads,
		    const char *notes)
{
	int line = table_line(t->table, parent);
	char text[UNIT_TEXT];

	table_cell(t->table, line, 0, what);
	if (threads >= 0)
		table_cell(t->table, line, 1, unit_count(text, threads));
	table_cell(t->table, line, 2, notes);
	return line;
}

static void add_threads(struct tree *t, int parent, int64_t group)
{
	for (int64_t row = members_first(&t->in.threads, group); row >= 0;
	     row = members_next(&t->in.threads, row)) {
		struct sonde_thread thread;
		char label[80], notes[80];

		sonde_thread_get(t->history, row, &thread);
		sonde_thread_label(t->history, row, label, sizeof(label));
		snprintf(notes, sizeof(notes), "process %" PRId64, thread.pid);
		add_line(t, parent, label, -1, thread.pid >= 0 ? notes : "");
	}
}

static void add_containers(struct tree *t, int parent_line, int64_t group)
{
	for (int64_t row = members_first(&t->in.containers, group); row >= 0;
	     row = members_next(&t->in.containers, row)) {
		struct sonde_pid_ns ns;
		char label[80], notes[64];
		int line;

		sonde_pid_ns_get(t->history, row, &ns);
		sonde_pid_ns_label(t->history, row, label, sizeof(label));
		snprintf(notes, sizeof(notes), "container, level %u%s", ns.level,
			 ns.parent < 0 && ns.level == 1 ? " or deeper" : "");
		line = add_line(t, parent_line, label, t->counts.per_ns[row], notes);
		add_threads(t, line, group_of_container(t->history, row));
		add_containers(t, line, group_of_container(t->history, row));
	}
}

/* "CPU 0/KVM[262]", and until when that was there. */
static void vcpu_notes(struct tree *t, int64_t thread, char *notes, size_t room)
{
	char label[80], when[UNIT_TEXT], ended[UNIT_TEXT + 16] = "";
	struct sonde_thread th;

	sonde_thread_label(t->history, thread, label, sizeof(label));
	if (!sonde_thread_get(t->history, thread, &th) && th.end >= 0 &&
	    th.end < sonde_history_end(t->history))
		snprintf(ended, sizeof(ended), ", ended at %s",
			 unit_time(when, th.end, sonde_history_ticks_are_ns(t->history)));
	snprintf(notes, room, "vCPU: thread %.*s%s", (int)strcspn(label, "="), label, ended);
}

static void add_cpus(struct tree *t, int parent, unsigned machine)
{
	int number = INT_MIN;
	int64_t row;

	while ((row = sonde_next_cpu(t->history, machine, number)) >= 0) {
		struct sonde_machine m;
		struct sonde_cpu cpu;
		char label[32], notes[160] = "";

		sonde_cpu_get(t->history, row, &cpu);
		number = cpu.number;
		sonde_machine_get(t->history, machine, &m);
		if (cpu.number >= 0)
			snprintf(label, sizeof(label), "cpu %d", cpu.number);
		else
			snprintf(label, sizeof(label), "cpu ?");
		if (m.parent >= 0 && cpu.host_thread >= 0)
			vcpu_notes(t, cpu.host_thread, notes, sizeof(notes));
		else if (m.parent >= 0)
			snprintf(notes, sizeof(notes), "vCPU: thread not known");
		else if (outermost_of(t->history) == OUTERMOST_VM)
			snprintf(notes, sizeof(notes), "vCPU: its host has no trace");
		else if (outermost_of(t->history) == OUTERMOST_PHYSICAL)
			snprintf(notes, sizeof(notes), "physical CPU");
		add_line(t, parent, label, -1, notes);
	}
}

/* What the machine is, and how that was found out. */
static void machine_notes(const struct tree *t, int64_t row, const struct sonde_machine *m,
			  char *notes, size_t room)
{
	char process[48] = "", what[80];

	machine_kind_text(t->history, row, false, what, sizeof(what));

	if (m->vm_pid > 0 && m->parent >= 0)
		snprintf(process, sizeof(process), ", process %" PRId64, m->vm_pid);
	if (m->parent >= 0 && !m->traced && !m->pid_known && t->in.on_thread[row])
		snprintf(notes, room,
			 "%s, not traced, process unknown: may be part of another VM listed here",
			 what);
	else
		snprintf(notes, room, "%s%s%s%s%s%s%s", what, process, *m->release ? ", " : "",
			 m->release, m->traced ? "" : ", not traced",
			 *m->evidence && m->parent >= 0 ? "; found by: " : "",
			 m->parent >= 0 ? m->evidence : "");
}

static void add_machine(struct tree *t, int parent_line, int64_t row)
{
	struct sonde_machine m;
	char label[96], notes[700];
	int line;

	sonde_machine_get(t->history, row, &m);
	snprintf(label, sizeof(label), "%s", m.name);
	machine_notes(t, row, &m, notes, sizeof(notes));
	line = add_line(t, parent_line, label, t->counts.per_machine[row], notes);
	table_cell_color(t->table, line, 0, "\033[1m");
	add_cpus(t, line, (unsigned)row);
	add_threads(t, line, group_of_machine((unsigned)row));
	add_containers(t, line, group_of_machine((unsigned)row));
	for (int64_t vm = members_first(&t->in.vms, row); vm >= 0;
	     vm = members_next(&t->in.vms, vm))
		add_machine(t, line, vm);
}

static void add_left_out(struct tree *t)
{
	struct sonde_left_out l;

	for (int64_t row = 0; !sonde_left_out_get(t->history, row, &l); row++) {
		char notes[900];

		snprintf(notes, sizeof(notes), "left out, %s: %s", l.path, l.reason);
		add_line(t, TABLE_NO_PARENT, *l.name ? l.name : "unknown", -1, notes);
	}
}

static int print_text(const struct invocation *inv, struct tree *t)
{
	t->table = table_new(&inv->screen);
	table_column(t->table, "MACHINE", TABLE_TREE);
	table_column(t->table, "THREADS", TABLE_RIGHT);
	table_column(t->table, "WHAT", TABLE_WRAP);
	if (sonde_nr_machines(t->history))
		add_machine(t, TABLE_NO_PARENT, 0);
	add_left_out(t);
	return table_print(t->table);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_containers(struct json *j, struct tree *t, int64_t group)
{
	json_begin_array(j, "containers");
	for (int64_t row = members_first(&t->in.containers, group); row >= 0;
	     row = members_next(&t->in.containers, row)) {
		struct sonde_pid_ns ns;

		sonde_pid_ns_get(t->history, row, &ns);
		json_begin_object(j, NULL);
		json_uint(j, "inum", ns.inum);
		json_str(j, "name", ns.name);
		json_uint(j, "level", ns.level);
		json_int(j, "threads", t->counts.per_ns[row]);
		/* Deeper than the writer goes, and deeper than the kernel lets them nest. */
		if (j->depth + 2 < JSON_DEPTH_MAX)
			json_containers(j, t, group_of_container(t->history, row));
		json_end(j);
	}
	json_end(j);
}

static void json_tree(struct json *j, struct tree *t, int64_t row)
{
	int number = INT_MIN;
	int64_t c;

	json_begin_object(j, NULL);
	json_machine_members(j, t->history, row);
	json_str(j, "vm_name", sonde_identity_of(t->history, row, "vm_name"));
	json_int(j, "threads", t->counts.per_machine[row]);
	json_begin_array(j, "cpus");
	while ((c = sonde_next_cpu(t->history, (unsigned)row, number)) >= 0) {
		struct sonde_cpu cpu;

		sonde_cpu_get(t->history, c, &cpu);
		number = cpu.number;
		json_begin_object(j, NULL);
		json_int(j, "cpu", cpu.number);
		json_row(j, "host_tid", cpu.host_tid);
		json_end(j);
	}
	json_end(j);
	json_containers(j, t, group_of_machine((unsigned)row));
	json_begin_array(j, "vms");
	for (int64_t vm = members_first(&t->in.vms, row); vm >= 0 && j->depth + 4 < JSON_DEPTH_MAX;
	     vm = members_next(&t->in.vms, vm))
		json_tree(j, t, vm);
	json_end(j);
	if (!row)
		json_bool(j, "complete", sonde_history_complete(t->history));
	if (!row)
		json_left_out(j, t->history, sonde_nr_left_outs(t->history));
	json_end(j);
}

static int print_json(const struct invocation *inv, struct tree *t)
{
	struct json j = {.out = inv->screen.out, .flat = JSON_DEPTH_MAX};

	if (sonde_nr_machines(t->history))
		json_tree(&j, t, 0);
	return 0;
}

static enum exit_code run_tree(const struct invocation *inv)
{
	struct tree t = {.opt = inv->values};
	enum exit_code code = open_input(inv, &t.history);

	if (code)
		return code;
	if (!count_threads(t.history, &t.counts) || !list_inside(t.history, t.opt, &t.in) ||
	    (is_json(inv) ? print_json(inv, &t) : print_text(inv, &t)))
		code = complain(inv, EXIT_FAILED, "out of memory");
	counts_release(&t.counts);
	inside_release(&t.in);
	sonde_history_close(t.history);
	return code;
}

const struct command tree_command = {
	.name = "tree",
	.summary = "machines, their CPUs, VMs and containers",
	.operands = "[FILE]",
	.about = "FILE is a history made by sonde analyze.\n",
	.common = COMMON_INPUT | COMMON_FORMAT,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct tree_options),
	.pages = true,
	.whole = true,
	.run = run_tree,
};
