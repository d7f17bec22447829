/* SPDX-License-Identifier: Apache-2.0 */
/* Who preempted whom: the tables made from preemption.h's sums, and the time of each vCPU. */
#include "analysis/culprit.h"
#include "analysis/host_notes.h"
#include "analysis/rows.h"
#include "analysis/keyed.h"
#include "analysis/sched/preemption.h"
#include "model/context.h"

/* ---- summed up ----------------------------------------------------------------------------- */

/* The cells of a pair that make it what it is, in the order of the columns. */
enum pair_cell { PAIR_VCPU, PAIR_VICTIM, PAIR_MACHINE, PAIR_CULPRIT, PAIR_MODE, PAIR_NR_CELLS };

struct pair {
	ns_t total_ns, longest_ns, longest_at;
	int64_t count;
};

struct pairs {
	const struct culprits *culprits;
	struct keyed keys; /* struct pair */
	struct memo memo;  /* numbers of keys */
	bool by_victim;	   /* tell a vCPU's guest threads apart */
	bool no_memory;
};

static struct pair *find_pair(struct pairs *ps, int64_t vcpu, int64_t victim, uint32_t number)
{
	uint64_t owner = (uint64_t)vcpu << 32 ^ (uint64_t)(victim + 1);
	const struct culprit *by = &ps->culprits->list[number];
	int64_t found;
	size_t at;

	if (memo_get(&ps->memo, number, owner, &at))
		return keyed_sum_at(&ps->keys, at);
	found = keyed_get(&ps->keys, (int64_t[PAIR_NR_CELLS]){vcpu, victim, by->machine, by->thread,
							      by->mode});
	if (found < 0)
		return NULL;
	memo_put(&ps->memo, number, owner, (size_t)found);
	return keyed_sum_at(&ps->keys, (size_t)found);
}

static bool add_uses(const struct preemption *p, const struct preemption_use *uses, size_t nr,
		     void *data)
{
	struct pairs *ps = data;
	int64_t victim = ps->by_victim ? p->victim : -1;

	for (const struct preemption_use *use = uses; use < uses + nr; use++) {
		struct pair *pair = find_pair(ps, p->vcpu, victim, use->number);

		ps->no_memory = !pair;
		if (!pair)
			return false;
		pair->count += use->count;
		pair->total_ns += use->time_ns;
		if (use->longest_ns > pair->longest_ns ||
		    (use->longest_ns == pair->longest_ns && use->longest_at < pair->longest_at)) {
			pair->longest_ns = use->longest_ns;
			pair->longest_at = use->longest_at;
		}
	}
	return true;
}

/* The row without the victim's column when victims are not told apart. */
static void add_pair(struct sonde_rows *out, const struct pairs *ps, size_t at, ns_t length)
{
	const int64_t *key = keyed_cells(&ps->keys, at);
	const struct pair *p = keyed_sum_at(&ps->keys, at);
	union sonde_cell row[PAIR_NR_CELLS + 5];
	unsigned n = 0;

	for (unsigned i = 0; i < PAIR_NR_CELLS; i++) {
		if (i != PAIR_VICTIM || ps->by_victim)
			row[n++] = cell_int(key[i]);
	}
	row[n++] = cell_int(p->total_ns);
	row[n++] = cell_int(share_ppm(p->total_ns, length));
	row[n++] = cell_int(p->count);
	row[n++] = cell_int(p->longest_ns);
	row[n++] = cell_int(p->longest_at);
	rows_add(out, row);
}

static int sum_pairs(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     bool by_victim, struct error *err)
{
	struct pairs ps = {.keys = {.nr_cells = PAIR_NR_CELLS, .sum_bytes = sizeof(struct pair)},
			   .by_victim = by_victim};
	int ret = culprits_get(&ps.culprits, history);

	if (!ret)
		ret = memo_init(&ps.memo, ps.culprits->nr);
	if (ret)
		return fail(err, ret, "out of memory");
	ret = preemption_sum(history, begin, end, add_uses, &ps, err);
	out->no_memory = ps.no_memory;
	for (size_t i = 0; i < ps.keys.nr && !ret; i++)
		add_pair(out, &ps, i, end - begin);
	keyed_release(&ps.keys);
	memo_release(&ps.memo);
	rows_sort(out, "total");
	return ret;
}

static int find_pairs(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		      struct error *err)
{
	return sum_pairs(out, history, begin, end, false, err);
}

static int find_victims(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
			struct error *err)
{
	return sum_pairs(out, history, begin, end, true, err);
}

/* clang-format off */
#define VCPU_COLUMN {"vcpu", "VCPU", SONDE_COL_CPU, "which was preempted"}
#define CULPRIT_COLUMNS                                                                            \
	{"culprit_machine", "CULPRIT IN", SONDE_COL_MACHINE, "machine whose code ran instead"},    \
	{"culprit", "CULPRIT", SONDE_COL_THREAD, "thread that ran instead; unknown for interrupts"}, \
	{"mode", "AS", SONDE_COL_MODE, "\"task\" for all a thread does but a hypervisor's work"},  \
	{"total", "TIME", SONDE_COL_NS, "how long in all"},                                        \
	{"share", "OF WINDOW", SONDE_COL_PPM, "of the window's length"},                              \
	{"count", "TIMES", SONDE_COL_INT, "how often"},                                            \
	{"longest", "LONGEST", SONDE_COL_NS, "longest at a time"},                                   \
	{"longest_at", "LONGEST AT", SONDE_COL_TIME, "when that was"}
/* clang-format on */

static const struct sonde_column pair_columns[] = {VCPU_COLUMN, CULPRIT_COLUMNS};
static const struct sonde_column victim_columns[] = {
	VCPU_COLUMN,
	{"victim", "VICTIM", SONDE_COL_THREAD, "guest thread that would have run"},
	CULPRIT_COLUMNS,
};

const struct table_def preemption_table = {
	.public =
		{"preemption", "Steal time of vCPUs, by culprit",
		 "time in which a vCPU was runnable and did not run, by what its physical CPU ran",
		 pair_columns, ARRAY_SIZE(pair_columns)},
	.find = find_pairs,
};

const struct table_def preemption_victim_table = {
	.public =
		{"preemption_victim", "Steal time of guest threads, by culprit",
		 "the same, for each guest thread that would have run; \"idle\": the vCPU had been woken, "
		 "and its guest was about to find out what for",
		 victim_columns, ARRAY_SIZE(victim_columns)},
	.find = find_victims,
};

/* ---- each vCPU's time ---------------------------------------------------------------------- */

/* What a vCPU lost because those that it was on did not run. */
static ns_t inherited_by(const struct sonde_rows *states, int64_t vcpu)
{
	int64_t row = rows_find_rising(states, "vcpu", vcpu);

	return row < 0 ? 0 : rows_named(states, (size_t)row, "inherited_steal").i;
}

struct state_sums {
	ns_t begin, end;
	ns_t per_state[VCPU_GONE + 1];
};

static bool add_state(const struct sonde_interval *i, void *data)
{
	struct state_sums *s = data;
	ns_t from = i->begin > s->begin ? i->begin : s->begin;
	ns_t to = i->end < s->end ? i->end : s->end;

	if (i->value <= VCPU_GONE)
		s->per_state[i->value] += to - from;
	return true;
}

static int vcpu_row(struct sonde_rows *out, struct cpu_users *users, struct host_notes *notes,
		    const struct sonde_rows *states, int64_t vcpu, ns_t begin, ns_t end)
{
	struct state_sums sums = {.begin = begin, .end = end};
	ns_t inherited = inherited_by(states, vcpu), lost;
	const ns_t *per_state = sums.per_state;
	struct sonde_history *history = users->history;
	ns_t unknown_ns;
	struct sonde_machine m;
	struct sonde_cpu cpu;
	int ret = interval_cache_scan(&users->cache, history->cpu_attrs[vcpu][CPU_STATE], begin,
				      end, add_state, &sums);

	if (ret)
		return ret;
	sonde_cpu_get(history, vcpu, &cpu);
	sonde_machine_get(history, cpu.machine, &m);
	unknown_ns = per_state[VCPU_UNKNOWN] + per_state[VCPU_NONE];
	lost = per_state[VCPU_PREEMPTED] + inherited;
	rows_add(out, (union sonde_cell[]){
			      cell_int(vcpu),
			      cell_int(m.parent),
			      cell_int(per_state[VCPU_ON_CPU]),
			      cell_int(per_state[VCPU_PREEMPTED]),
			      cell_int(per_state[VCPU_WAITING]),
			      cell_int(per_state[VCPU_GONE]),
			      cell_int(unknown_ns),
			      cell_int(share_ppm(per_state[VCPU_PREEMPTED], end - begin)),
			      cell_int(inherited),
			      cell_int(lost),
			      cell_int(share_ppm(lost, end - begin)),
			      cell_str(host_notes_of_steal(notes, cpu.machine, unknown_ns)),
		      });
	return 0;
}

static int find_vcpu_time(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			  ns_t end, struct error *err)
{
	struct sonde_rows *states;
	struct host_notes notes;
	struct cpu_users *users;
	int ret = table_rows(&states, history, &vcpu_state_table, begin, end, err);

	if (ret)
		return ret;
	ret = host_notes_make(&notes, history, out, begin, end);
	if (!ret)
		ret = cpu_users_get(&users, history);
	for (int64_t row = 0; row < sonde_nr_cpus(history) && !ret; row++) {
		if (history->cpu_attrs[row][CPU_STATE] != ATTR_NONE)
			ret = vcpu_row(out, users, &notes, states, row, begin, end);
	}
	host_notes_release(&notes);
	sonde_rows_free(states);
	return ret ? fail(err, ret, "cannot sum up a vCPU's states: %s", error_reason(ret)) : 0;
}

static const struct sonde_column vcpu_columns[] = {
	{"vcpu", "VCPU", SONDE_COL_CPU, "vCPU, as its parent sees it"},
	{"parent", "ON CPUS OF", SONDE_COL_MACHINE,
	 "machine on whose CPUs its thread runs; those of a VM may themselves be off the CPU"},
	{"on_cpu", "ON A CPU", SONDE_COL_NS, "its thread ran on a CPU of its parent"},
	{"steal", "STEAL", SONDE_COL_NS,
	 "steal time: its thread was runnable and did not run; queued, preempted, throttled "
	 "and steal_unknown of table vcpu_state together"},
	{"waiting", "WAITING", SONDE_COL_NS, "blocked or halted"},
	{"gone", "GONE", SONDE_COL_NS, "after its end"},
	{"unknown", "UNKNOWN", SONDE_COL_NS, "not known"},
	{"steal_share", "STEAL SHARE", SONDE_COL_PPM, "of the window's length"},
	{"inherited_steal", "INHERITED", SONDE_COL_NS,
	 "of its time on a CPU: the vCPU that it was on did not run itself"},
	{"total_steal", "TOTAL STEAL", SONDE_COL_NS, "steal and inherited steal"},
	{"total_steal_share", "TOTAL SHARE", SONDE_COL_PPM, "of the window's length"},
	{"note", "NOTE", SONDE_COL_STRING,
	 "of the total: \"at least\": a part of its time, or of what a host around it ran, is not "
	 "known (under 1% is not noted); \"inherited not known\": when that vCPU ran is not known"},
};

const struct table_def vcpu_time_table = {
	.public = {"vcpu_time", "Time of vCPUs",
		   "the five states of a vCPU add up to the window's length", vcpu_columns,
		   ARRAY_SIZE(vcpu_columns)},
	.find = find_vcpu_time,
};
