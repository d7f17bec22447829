/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time by physical CPU, machine, container, process and thread. */
#include "analysis/sched/usage.h"

#include <errno.h>

/* ---- physical CPU -------------------------------------------------------------------------- */

static bool cpu_cells(struct sonde_history *history, const struct usage_sum *u,
		      union sonde_cell *cells)
{
	cells[0].i = sonde_find_cpu(history, 0, u->cpu);
	return true;
}

static int find_cpu_time(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			 ns_t end, struct error *err)
{
	static const struct grouping g = {.nr_cells = 1, .nr_key = 1, .cells = cpu_cells};

	return usage_group(out, history, begin, end, &g, err);
}

static const struct sonde_column cpu_columns[] = {
	{"cpu", "CPU", SONDE_COL_CPU, "physical CPU"},
	USAGE_COLUMNS,
};

const struct table_def cpu_time_table = {
	.public = {"cpu_time", "CPU time by physical CPU",
		   "what each physical CPU did, all layers together", cpu_columns,
		   ARRAY_SIZE(cpu_columns)},
	.find = find_cpu_time,
};

/* ---- machine ------------------------------------------------------------------------------- */

static bool machine_cells(struct sonde_history *history, const struct usage_sum *u,
			  union sonde_cell *cells)
{
	struct sonde_machine m;

	sonde_machine_get(history, u->machine, &m);
	cells[0].i = u->machine;
	cells[1].i = m.level;
	return true;
}

static int find_machine_time(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			     ns_t end, struct error *err)
{
	static const struct grouping g = {.nr_cells = 2, .nr_key = 1, .cells = machine_cells};

	return usage_group(out, history, begin, end, &g, err);
}

static const struct sonde_column machine_columns[] = {
	{"machine", "MACHINE", SONDE_COL_MACHINE, "whose code ran (innermost layer)"},
	{"level", "LEVEL", SONDE_COL_INT, "0 physical, 1 VM, 2 nested VM ..."},
	USAGE_COLUMNS,
};

const struct table_def machine_time_table = {
	.public =
		{"machine_time", "CPU time by machine",
		 "time physical CPUs ran each machine's own code; a hypervisor's work for its guests is in "
		 "the column of that name",
		 machine_columns, ARRAY_SIZE(machine_columns)},
	.find = find_machine_time,
};

/* ---- level --------------------------------------------------------------------------------- */

static bool level_cells(struct sonde_history *history, const struct usage_sum *u,
			union sonde_cell *cells)
{
	struct sonde_machine m;

	sonde_machine_get(history, u->machine, &m);
	cells[0].i = m.level;
	return true;
}

static int find_level_time(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			   ns_t end, struct error *err)
{
	static const struct grouping g = {.nr_cells = 1, .nr_key = 1, .cells = level_cells};

	return usage_group(out, history, begin, end, &g, err);
}

static const struct sonde_column level_columns[] = {
	{"level", "LEVEL", SONDE_COL_INT, "0 host, 1 its VMs, 2 VMs in these ..."},
	USAGE_COLUMNS,
};

const struct table_def level_time_table = {
	.public =
		{"level_time", "CPU time by level",
		 "time physical CPUs ran code of each level; the hypervisor's work is its own level's, for the "
		 "levels inside",
		 level_columns, ARRAY_SIZE(level_columns)},
	.find = find_level_time,
};

/* ---- container ----------------------------------------------------------------------------- */

static bool container_cells(struct sonde_history *history, const struct usage_sum *u,
			    union sonde_cell *cells)
{
	struct sonde_thread t;
	struct sonde_pid_ns ns;

	if (sonde_thread_get(history, u->thread, &t) || sonde_pid_ns_get(history, t.pid_ns, &ns))
		return false;
	if (!ns.level)
		return false;
	cells[0].i = t.pid_ns;
	cells[1].i = ns.machine;
	cells[2].i = ns.level;
	return true;
}

static int find_container_time(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			       ns_t end, struct error *err)
{
	static const struct grouping g = {.nr_cells = 3, .nr_key = 1, .cells = container_cells};

	return usage_group(out, history, begin, end, &g, err);
}

static const struct sonde_column container_columns[] = {
	{"container", "CONTAINER", SONDE_COL_PID_NS, "PID namespace below its machine's first"},
	{"machine", "MACHINE", SONDE_COL_MACHINE, "where it is"},
	{"level", "LEVEL", SONDE_COL_INT, "depth of the namespace, 1 = just below the first"},
	USAGE_COLUMNS,
};

const struct table_def container_time_table = {
	.public =
		{"container_time", "CPU time by container",
		 "threads whose innermost PID namespace is not their machine's first; those of nested "
		 "containers count for the inner one",
		 container_columns, ARRAY_SIZE(container_columns)},
	.find = find_container_time,
};

/* ---- process and thread -------------------------------------------------------------------- */

/* Not every thread's process is known: those count one by one. */
static bool process_cells(struct sonde_history *history, const struct usage_sum *u,
			  union sonde_cell *cells)
{
	struct sonde_thread t;
	struct sonde_thread leader;
	int64_t leader_row;

	cells[0].i = u->machine;
	cells[1].i = -1;
	cells[2].i = -1;
	cells[3].s = "";
	cells[4].i = -1;
	if (sonde_thread_get(history, u->thread, &t))
		return true;
	cells[3].s = t.tid ? t.comm : "idle";
	cells[4].i = t.pid_ns;
	if (t.pid <= 0 && t.tid) {
		cells[2].i = u->thread;
		return true;
	}
	cells[1].i = t.tid ? t.pid : 0;
	leader_row = sonde_find_thread(history, t.machine, cells[1].i, t.begin);
	if (t.tid && !sonde_thread_get(history, leader_row, &leader)) {
		cells[3].s = leader.comm;
		cells[4].i = leader.pid_ns;
	}
	return true;
}

static int find_process_time(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			     ns_t end, struct error *err)
{
	static const struct grouping g = {.nr_cells = 5, .nr_key = 3, .cells = process_cells};

	/* From here on every thread is found, or is not there. */
	if (sonde_find_thread(history, 0, 0, begin) == -ENOMEM)
		return fail(err, -ENOMEM, "out of memory");
	return usage_group(out, history, begin, end, &g, err);
}

static const struct sonde_column process_columns[] = {
	{"machine", "MACHINE", SONDE_COL_MACHINE, "where it runs"},
	{"pid", "PID", SONDE_COL_INT, "as its machine counts; -1 = not known"},
	{"thread", "THREAD", SONDE_COL_THREAD, "where its process is not known: the thread"},
	{"comm", "COMMAND", SONDE_COL_STRING,
	 "name of its first thread; where the process is not known, of the thread"},
	{"pid_ns", "CONTAINER", SONDE_COL_PID_NS, "its PID namespace"},
	USAGE_COLUMNS,
};

const struct table_def process_time_table = {
	.public = {"process_time", "CPU time by process", "all threads of a process together",
		   process_columns, ARRAY_SIZE(process_columns)},
	.find = find_process_time,
};

static bool thread_cells(struct sonde_history *history, const struct usage_sum *u,
			 union sonde_cell *cells)
{
	(void)history;
	cells[0].i = u->machine;
	cells[1].i = u->thread;
	return true;
}

static int find_thread_time(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			    ns_t end, struct error *err)
{
	static const struct grouping g = {.nr_cells = 2, .nr_key = 2, .cells = thread_cells};

	return usage_group(out, history, begin, end, &g, err);
}

static const struct sonde_column thread_columns[] = {
	{"machine", "MACHINE", SONDE_COL_MACHINE, "where it runs"},
	{"thread", "THREAD", SONDE_COL_THREAD, "row of the thread"},
	USAGE_COLUMNS,
};

const struct table_def thread_time_table = {
	.public = {"thread_time", "CPU time by thread", "each thread on its own", thread_columns,
		   ARRAY_SIZE(thread_columns)},
	.find = find_thread_time,
};
