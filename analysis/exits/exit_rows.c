/* SPDX-License-Identifier: Apache-2.0 */
/* Exits summed up: per reason, per guest thread that caused them, and what nesting multiplies. */
#include "analysis/exits/exit_sums.h"
#include "query/exits.h"
#include "analysis/rows.h"

static int64_t parent_of(const struct sonde_history *history, int64_t machine)
{
	struct sonde_machine m;

	return sonde_machine_get(history, machine, &m) ? -1 : m.parent;
}

/* ---- per reason ---------------------------------------------------------------------------- */

static int find_exits(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		      struct error *err)
{
	const struct exit_sums *s;
	int ret = exit_sums_get(&s, history, begin, end, err);

	for (size_t i = 0; !ret && i < s->reasons.nr; i++) {
		const int64_t *key = keyed_cells(&s->reasons, i);
		const struct exit_reason *sum = keyed_sum_at(&s->reasons, i);
		const struct histogram *h = sum->lengths;

		rows_add(out, (union sonde_cell[]){
				      cell_int(key[REASON_VM]),
				      cell_int(parent_of(history, key[REASON_VM])),
				      cell_int(key[REASON_FROM]),
				      cell_int(key[REASON_NR]),
				      cell_str(exit_name(history, key[REASON_ISA], key[REASON_NR])),
				      cell_int((int64_t)h->count),
				      cell_int(h->total_ns),
				      cell_int(h->total_ns / (ns_t)h->count),
				      cell_int(h->least_ns),
				      cell_int(histogram_quantile(h, 500000)),
				      cell_int(histogram_quantile(h, 990000)),
				      cell_int(h->greatest_ns),
				      cell_int(sum->longest.at),
				      cell_int((int64_t)sum->to_user),
				      cell_int(sum->user_ns),
			      });
	}
	rows_sort(out, "total");
	return ret;
}

static const struct sonde_column exits_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "whose vCPU's thread left guest mode"},
	{"by", "HANDLED BY", SONDE_COL_MACHINE, "machine whose KVM handled it"},
	{"from", "CODE OF", SONDE_COL_MACHINE,
	 "machine whose code ran until then: the VM, or one nested in it; unknown: a nested one"},
	{"reason", "CODE", SONDE_COL_INT, "exit reason as the hardware gives it"},
	{"name", "EXIT REASON", SONDE_COL_STRING, "its name"},
	{"count", "EXITS", SONDE_COL_INT, "how many, that were followed by an entry"},
	{"total", "HANDLING TIME", SONDE_COL_NS,
	 "from exit to entry, sleep and others' work included; CPU time of the hypervisor alone "
	 "is in exit_reason"},
	{"mean", "MEAN", SONDE_COL_NS, "per exit"},
	{"min", "MIN", SONDE_COL_NS, "shortest"},
	{"median", "MEDIAN", SONDE_COL_NS, "half of them are no longer; within 1%"},
	{"p99", "P99", SONDE_COL_NS, "99 of 100 are no longer; within 1%"},
	{"max", "MAX", SONDE_COL_NS, "longest"},
	{"max_at", "MAX AT", SONDE_COL_TIME, "when the longest began"},
	{"user_count", "TO VMM", SONDE_COL_INT, "how many went on to the VMM's user space"},
	{"user", "IN VMM", SONDE_COL_NS, "time from there to the entry"},
};

const struct table_def exits_table = {
	.public =
		{"exits", "Exits by reason",
		 "real time from VM exit to VM entry, as `perf kvm stat` counts it, for exits that begin "
		 "in "
		 "the window",
		 exits_columns, ARRAY_SIZE(exits_columns)},
	.find = find_exits,
};

/* ---- how they spread ----------------------------------------------------------------------- */

static void add_lengths(struct sonde_rows *out, const struct sonde_history *history,
			const int64_t *key, ns_t from, ns_t to, uint64_t count)
{
	if (count)
		rows_add(out, (union sonde_cell[]){
				      cell_int(key[REASON_VM]),
				      cell_int(key[REASON_FROM]),
				      cell_str(exit_name(history, key[REASON_ISA], key[REASON_NR])),
				      cell_int(from),
				      cell_int(to),
				      cell_int((int64_t)count),
			      });
}

/* Rows of one reason: buckets of powers of two, and one of those that took no time. */
static void add_spread(struct sonde_rows *out, const struct sonde_history *history,
		       const int64_t *key, const struct histogram *h)
{
	uint64_t counts[HISTOGRAM_POWERS];
	uint32_t at_once = histogram_at(h, histogram_bucket(0));

	histogram_powers(h, counts);
	counts[0] -= at_once;
	add_lengths(out, history, key, 0, 1, at_once);
	for (unsigned power = 0; power < HISTOGRAM_POWERS; power++)
		add_lengths(out, history, key, (ns_t)1 << power,
			    power + 1 < HISTOGRAM_POWERS ? (ns_t)1 << (power + 1) : NS_MAX,
			    counts[power]);
}

static int find_spread(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		       struct error *err)
{
	const struct exit_sums *s;
	int ret = exit_sums_get(&s, history, begin, end, err);

	for (size_t i = 0; !ret && i < s->reasons.nr; i++) {
		const struct exit_reason *sum = keyed_sum_at(&s->reasons, i);

		add_spread(out, history, keyed_cells(&s->reasons, i), sum->lengths);
	}
	return ret;
}

static const struct sonde_column spread_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "whose vCPU's thread left guest mode"},
	{"code_of", "CODE OF", SONDE_COL_MACHINE,
	 "machine whose code ran until then; unknown: one nested in the VM"},
	{"name", "EXIT REASON", SONDE_COL_STRING, "why"},
	{"from", "FROM", SONDE_COL_NS, "they lasted so long or longer"},
	{"to", "TO", SONDE_COL_NS, "... and less than this"},
	{"count", "EXITS", SONDE_COL_INT, "how many there were"},
};

const struct table_def exit_histogram_table = {
	.public = {"exit_histogram", "Histogram of exit handling times",
		   "exits by how long they lasted, in powers of 2", spread_columns,
		   ARRAY_SIZE(spread_columns)},
	.find = find_spread,
};

/* ---- per guest thread ---------------------------------------------------------------------- */

static int find_causes(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		       struct error *err)
{
	const struct exit_sums *s;
	int ret = exit_sums_get(&s, history, begin, end, err);

	for (size_t i = 0; !ret && i < s->causes.nr; i++) {
		const int64_t *key = keyed_cells(&s->causes, i);
		const struct exit_cause *sum = keyed_sum_at(&s->causes, i);

		if (key[CAUSE_THREAD] < 0) /* a VM without a trace: "exits" says it all */
			continue;
		rows_add(out, (union sonde_cell[]){
				      cell_int(key[CAUSE_FROM]),
				      cell_int(key[CAUSE_THREAD]),
				      cell_int(key[CAUSE_NR]),
				      cell_str(exit_name(history, key[CAUSE_ISA], key[CAUSE_NR])),
				      cell_int((int64_t)sum->count),
				      cell_int(sum->total_ns),
				      cell_int(sum->total_ns / (ns_t)sum->count),
				      cell_int(sum->longest.length_ns),
				      cell_int(sum->longest.at),
				      cell_int(sum->user_ns),
			      });
	}
	rows_sort(out, "total");
	return ret;
}

static const struct sonde_column cause_columns[] = {
	{"machine", "MACHINE", SONDE_COL_MACHINE, "machine whose code ran"},
	{"thread", "THREAD", SONDE_COL_THREAD,
	 "its thread that ran until the exit; the idle ones of all CPUs count as one"},
	{"reason", "CODE", SONDE_COL_INT, "exit reason as the hardware gives it"},
	{"name", "EXIT REASON", SONDE_COL_STRING, "its name"},
	{"count", "EXITS", SONDE_COL_INT,
	 "how many; with nesting, each hypervisor that records counts its own"},
	{"total", "HANDLING TIME", SONDE_COL_NS, "from exit to entry"},
	{"mean", "MEAN", SONDE_COL_NS, "per exit"},
	{"max", "MAX", SONDE_COL_NS, "longest"},
	{"max_at", "MAX AT", SONDE_COL_TIME, "when the longest began"},
	{"user", "IN VMM", SONDE_COL_NS, "of the time, in the VMM's user space"},
};

const struct table_def exit_cause_table = {
	.public =
		{"exit_cause", "Exits by guest thread",
		 "the same exits, by the guest's thread that ran; a guest without a trace is left out",
		 cause_columns, ARRAY_SIZE(cause_columns)},
	.find = find_causes,
};

/* ---- nesting ------------------------------------------------------------------------------- */

static int find_nesting(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
			struct error *err)
{
	const struct exit_sums *s;
	int64_t nr = sonde_nr_machines(history);
	int ret = exit_sums_get(&s, history, begin, end, err);

	for (int64_t i = 0; i < 2 * nr && !ret; i++) {
		const struct exit_nest *nest = &s->nests[i];
		int64_t inner = i < nr ? i : -1;
		int64_t host = i < nr ? parent_of(history, inner) : i - nr;

		if (!nest->nested)
			continue;
		rows_add(out,
			 (union sonde_cell[]){
				 cell_int(inner),
				 cell_int(host),
				 cell_int(parent_of(history, host)),
				 cell_int((int64_t)nest->nested),
				 cell_int((int64_t)nest->handed),
				 cell_int((int64_t)nest->follow),
				 cell_int(nest->handed ? (int64_t)((nest->nested + nest->follow) *
								   1000 / nest->handed)
						       : -1),
				 cell_int(nest->handed ? nest->handling_ns / (ns_t)nest->handed
						       : -1),
				 cell_int(nest->nested_ns + nest->follow_ns),
			 });
	}
	rows_sort(out, "total");
	return ret;
}

static const struct sonde_column nesting_columns[] = {
	{"vm", "NESTED VM", SONDE_COL_MACHINE, "machine inside a VM; unknown: not known which"},
	{"host", "IN", SONDE_COL_MACHINE, "the VM it runs in, whose hypervisor it sees"},
	{"by", "HANDLED BY", SONDE_COL_MACHINE, "machine that the hardware exits to"},
	{"exits", "ITS EXITS", SONDE_COL_INT, "exits of the nested VM's code"},
	{"reflected", "REFLECTED", SONDE_COL_INT,
	 "of them, those that L0 passed on to its own host to be handled"},
	{"follow", "FOLLOW-UPS", SONDE_COL_INT, "exits of its host meanwhile"},
	{"per_thousand", "PER 1000 REFLECTED", SONDE_COL_INT,
	 "exits to the hypervisor on the hardware, per 1000 reflected ones: "
	 "1000 "
	 "would be the price without nesting"},
	{"mean", "MEAN", SONDE_COL_NS,
	 "handling time of a reflected exit, its host's sleep included"},
	{"total", "HANDLING TIME", SONDE_COL_NS, "of all these exits"},
};

const struct table_def nesting_table = {
	.public =
		{"nesting", "What nesting multiplies",
		 "each exit of a nested VM that its own host must handle costs exits of that host",
		 nesting_columns, ARRAY_SIZE(nesting_columns)},
	.find = find_nesting,
};
