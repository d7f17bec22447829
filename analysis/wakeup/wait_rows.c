/* SPDX-License-Identifier: Apache-2.0 */
/* What vCPUs were blocked on: one by one, and summed up. */
#include "analysis/sched/cpu_users.h"
#include "analysis/rows.h"
#include "analysis/keyed.h"
#include "analysis/wakeup/waits.h"

#include <errno.h>
#include <stdlib.h>

/* Calls waits_scan() for all vCPUs. */
static int scan_vcpus(struct sonde_history *history, ns_t begin, ns_t end,
		      bool (*each)(const struct wait *w, void *data), void *data,
		      const bool *no_memory, struct error *err)
{
	struct cpu_users *users;
	int ret = cpu_users_get(&users, history);

	for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(history) && !ret && !*no_memory; vcpu++)
		ret = waits_scan(&users->cache, vcpu, begin, end, each, data);
	if (*no_memory)
		return fail(err, -ENOMEM, "out of memory");
	return ret ? fail(err, ret, "cannot read a vCPU's waits: %s", error_reason(ret)) : 0;
}

/* ---- one by one ---------------------------------------------------------------------------- */

struct list {
	struct sonde_rows *out;
	struct sonde_history *history;
};

static bool add_wait(const struct wait *w, void *data)
{
	struct list *l = data;
	struct sonde_wake wake;
	bool went_on = w->ended && !w->unseen;

	wait_wake(l->history, w, &wake);
	rows_add(l->out, (union sonde_cell[]){
				 cell_int(w->polled ? w->begin : w->asleep),
				 cell_int(w->time_ns),
				 cell_int(w->vcpu),
				 cell_str(sonde_cause_name(wake.cause)),
				 cell_str(wake.irq),
				 cell_int(wake.vector),
				 cell_int(wake.from),
				 cell_int(wake.by),
				 cell_int(w->polled),
				 cell_int(went_on && !w->no_thread ? w->ran - w->woken : -1),
				 cell_int(went_on ? w->entry - w->ran : -1),
				 cell_str(wake.evidence),
				 cell_int(w->entry),
			 });
	return !l->out->no_memory;
}

static int find_list(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     struct error *err)
{
	struct list l = {out, history};

	return scan_vcpus(history, begin, end, add_wait, &l, &out->no_memory, err);
}

/* clang-format off */
#define CAUSE_COLUMN {"cause", "BLOCKED ON", SONDE_COL_STRING,                                     \
	"what ended it: timer, disk, network, ipi (another vCPU of its VM), device, vmm (woken "   \
	"without an interrupt), host (had not halted), unknown"}
#define IRQ_COLUMN {"irq", "INTERRUPT", SONDE_COL_STRING, "what its guest calls the interrupt"}
#define VECTOR_COLUMN {"vector", "VECTOR", SONDE_COL_INT, "of the interrupt that ended it"}
#define FROM_COLUMN {"from", "SENT BY", SONDE_COL_CPU, "the vCPU that sent the interrupt"}
/* clang-format on */

static const struct sonde_column list_columns[] = {
	{"at", "AT", SONDE_COL_TIME, "from when on"},
	{"length", "FOR", SONDE_COL_NS, "how long its thread slept, or KVM polled"},
	{"vcpu", "VCPU", SONDE_COL_CPU, "who waited"},
	CAUSE_COLUMN,
	IRQ_COLUMN,
	VECTOR_COLUMN,
	FROM_COLUMN,
	{"waker", "WAKER", SONDE_COL_THREAD, "thread of its host that sent it, or woke the vCPU"},
	{"polled", "POLLED", SONDE_COL_BOOL, "its thread never slept: halt polling"},
	{"run_delay", "RUN DELAY", SONDE_COL_NS,
	 "run-queue delay of its thread after the wake-up; not known, and part of the next, where its "
	 "host has no trace"},
	{"entry", "TO ENTRY", SONDE_COL_NS, "from there to the VM entry"},
	{"evidence", "EVIDENCE", SONDE_COL_STRING, "how the cause was found"},
	{"until", "UNTIL", SONDE_COL_TIME, "when its guest went on, or the end of the history"},
};

const struct table_def wait_list_table = {
	.public = {"wait_list", "Waits of vCPUs, one by one",
		   "each wait of a vCPU, and what ended it", list_columns,
		   ARRAY_SIZE(list_columns)},
	.find = find_list,
};

/* ---- summed up ----------------------------------------------------------------------------- */

enum key { KEY_VCPU, KEY_CAUSE, KEY_VECTOR, KEY_FROM, KEY_NR_CELLS };

struct sum {
	ns_t total_ns, polled_ns, longest_ns, longest_at;
	int64_t count;
	int64_t wake; /* of the longest */
};

struct sums {
	struct sonde_history *history;
	struct keyed keys; /* struct sum */
	bool no_memory;
};

static bool sum_wait(const struct wait *w, void *data)
{
	struct sums *s = data;
	struct sonde_wake wake;
	struct sum *sum;

	wait_wake(s->history, w, &wake);
	sum = keyed_sum(&s->keys, (int64_t[]){w->vcpu, wake.cause, wake.vector, wake.from});
	s->no_memory = !sum;
	if (!sum)
		return false;
	sum->total_ns += w->time_ns;
	sum->polled_ns += w->polled ? w->time_ns : 0;
	sum->count++;
	if (sum->count == 1 || w->time_ns > sum->longest_ns) {
		sum->longest_ns = w->time_ns;
		sum->longest_at = w->polled ? w->begin : w->asleep;
		sum->wake = w->wake;
	}
	return true;
}

static void add_sum(struct sonde_rows *out, const struct sums *s, size_t i, ns_t length)
{
	const struct sum *sum = keyed_sum_at(&s->keys, i);
	struct sonde_wake wake;

	wait_wake(s->history,
		  &(struct wait){.vcpu = keyed_cells(&s->keys, i)[KEY_VCPU], .wake = sum->wake},
		  &wake);
	rows_add(out, (union sonde_cell[]){
			      cell_int(wake.vcpu),
			      cell_str(sonde_cause_name(wake.cause)),
			      cell_str(wake.irq),
			      cell_int(wake.vector),
			      cell_int(wake.from),
			      cell_int(sum->total_ns),
			      cell_int(share_ppm(sum->total_ns, length)),
			      cell_int(sum->count),
			      cell_int(sum->total_ns / sum->count),
			      cell_int(sum->longest_ns),
			      cell_int(sum->longest_at),
			      cell_int(sum->polled_ns),
			      cell_str(wake.evidence),
		      });
}

static int find_sums(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     struct error *err)
{
	struct sums s = {.history = history,
			 .keys = {.nr_cells = KEY_NR_CELLS, .sum_bytes = sizeof(struct sum)}};
	int ret = scan_vcpus(history, begin, end, sum_wait, &s, &s.no_memory, err);

	for (size_t i = 0; i < s.keys.nr && !ret; i++)
		add_sum(out, &s, i, end - begin);
	keyed_release(&s.keys);
	rows_sort(out, "total");
	return ret;
}

static const struct sonde_column sum_columns[] = {
	{"vcpu", "VCPU", SONDE_COL_CPU, "who waited"},
	CAUSE_COLUMN,
	IRQ_COLUMN,
	VECTOR_COLUMN,
	FROM_COLUMN,
	{"total", "TIME", SONDE_COL_NS, "how long in all, asleep or halt polling"},
	{"share", "OF WINDOW", SONDE_COL_PPM, "of the window's length"},
	{"count", "TIMES", SONDE_COL_INT,
	 "how often; a wait in which its host lost events counts as several"},
	{"mean", "MEAN", SONDE_COL_NS, "per wait"},
	{"longest", "LONGEST", SONDE_COL_NS, "longest"},
	{"longest_at", "LONGEST AT", SONDE_COL_TIME, "when that began"},
	{"polled", "POLLED", SONDE_COL_NS, "of that: halt polling; its thread never slept"},
	{"evidence", "EVIDENCE", SONDE_COL_STRING, "how the cause of the longest was found"},
};

const struct table_def wait_table = {
	.public =
		{"wait", "What vCPUs were blocked on",
		 "time in which a vCPU had nothing to run, by what ended it; its hypervisor's events say "
		 "so, "
		 "and its guest's when it has a trace",
		 sum_columns, ARRAY_SIZE(sum_columns)},
	.find = find_sums,
};
