/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/why/why.h"

#include <stdio.h>

struct verdict why_verdict(const struct why *w, const char *kind, int64_t machine)
{
	return (struct verdict){
		.kind = kind,
		.machine = machine,
		.vcpu = -1,
		.thread = -1,
		.begin = w->begin,
		.end = w->end,
		.by = {-1, -1, SONDE_MODE_UNKNOWN, -1},
		.count = 1,
		.cause = "",
		.says = {.history = w->history},
	};
}

union sonde_cell why_cell(const struct why *w, const struct verdict *v, enum why_column column)
{
	switch (column) {
	case WHY_TEXT:
		return cell_str(v->says.text);
	case WHY_COST:
		return cell_int(v->cost_ns);
	case WHY_SHARE:
		return cell_int(share_ppm(v->cost_ns, w->end - w->begin));
	case WHY_BEGIN:
		return cell_int(v->begin);
	case WHY_END:
		return cell_int(v->end);
	case WHY_KIND:
		return cell_str(v->kind);
	case WHY_MACHINE:
		return cell_int(v->machine);
	case WHY_VCPU:
		return cell_int(v->vcpu);
	case WHY_THREAD:
		return cell_int(v->thread);
	case WHY_BY_MACHINE:
		return cell_int(v->by.machine);
	case WHY_BY_VCPU:
		return cell_int(v->by.vcpu);
	case WHY_BY_THREAD:
		return cell_int(v->by.thread);
	case WHY_MODE:
		return cell_int(v->by.mode);
	case WHY_BY_TIME:
		return cell_int(v->by_ns);
	case WHY_COUNT:
		return cell_int(v->count);
	case WHY_CAUSE:
		return cell_str(v->cause);
	case WHY_NR_COLUMNS:
		break;
	}
	return cell_int(-1);
}

void why_add(struct why *w, const struct verdict *v)
{
	char *text = arena_strdup(&w->out->arena, v->says.text);
	char *cause = arena_strdup(&w->out->arena, v->cause);
	union sonde_cell row[WHY_NR_COLUMNS];

	w->out->no_memory |= !text || !cause;
	if (w->out->no_memory)
		return;
	for (enum why_column column = 0; column < WHY_NR_COLUMNS; column++)
		row[column] = why_cell(w, v, column);
	row[WHY_TEXT] = cell_str(text);
	row[WHY_CAUSE] = cell_str(cause);
	rows_add(w->out, row);
}

int why_rows(const struct why *w, const struct table_def *table, struct sonde_rows **out,
	     struct error *err)
{
	return table_rows(out, w->history, table, w->begin, w->end, err);
}

static int find_why(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		    struct error *err)
{
	struct why w = {.out = out, .history = history, .begin = begin, .end = end};
	int ret = why_delays(&w, err);

	if (!ret)
		ret = why_hypervisors(&w, err);
	if (!ret)
		ret = why_waits(&w, err);
	if (!ret)
		ret = why_unknown(&w, err);
	if (!ret)
		ret = why_refused(&w, err);
	rows_sort(out, "cost");
	return ret;
}

const struct sonde_column why_columns[WHY_NR_COLUMNS] = {
	[WHY_TEXT] = {"text", "VERDICT", SONDE_COL_STRING, "the verdict as a sentence"},
	[WHY_COST] = {"cost", "COST", SONDE_COL_NS, "time it cost; 0 for what cannot be known"},
	[WHY_SHARE] = {"share", "OF WINDOW", SONDE_COL_PPM, "of the window's length"},
	[WHY_BEGIN] = {"begin", "FROM", SONDE_COL_TIME, "where to look: start of its worst case"},
	[WHY_END] = {"end", "TO", SONDE_COL_TIME, "end of that"},
	[WHY_KIND] =
		{"kind", "KIND", SONDE_COL_STRING,
		 "vcpu (steal time), thread (run-queue delay), hypervisor (overhead of a VM), wait (for "
		 "more than a timer), wakeup (latency), exit (one exit), unknown (what is not known, "
		 "and what to record next time), attempt (a process of a guest spoke for a kernel)"},
	[WHY_MACHINE] = {"machine", "MACHINE", SONDE_COL_MACHINE, "whom it is about"},
	[WHY_VCPU] = {"vcpu", "VCPU", SONDE_COL_CPU, "its vCPU"},
	[WHY_THREAD] = {"thread", "THREAD", SONDE_COL_THREAD, "its thread"},
	[WHY_BY_MACHINE] = {"culprit_machine", "CULPRIT IN", SONDE_COL_MACHINE,
			    "machine of the greatest cause"},
	[WHY_BY_VCPU] = {"culprit_cpu", "CULPRIT CPU", SONDE_COL_CPU,
			 "its vCPU, or the one that a hypervisor worked for"},
	[WHY_BY_THREAD] = {"culprit", "CULPRIT", SONDE_COL_THREAD, "its thread"},
	[WHY_MODE] = {"mode", "AS", SONDE_COL_MODE, "what it did"},
	[WHY_BY_TIME] =
		{"culprit_time", "ITS PART", SONDE_COL_NS,
		 "of the cost (of a thread, what is not known is beside its cost); of what is unknown: of a vCPU's time, of a VM's waits, or how far off a clock may be"},
	[WHY_COUNT] =
		{"count", "TIMES", SONDE_COL_INT,
		 "how many times, waits, wake-ups or exits these are; how many events were lost"},
	[WHY_CAUSE] =
		{"cause", "CAUSE", SONDE_COL_STRING,
		 "what was waited for, by what it was woken, or the exit's name; of what is unknown: cpus "
		 "(what they did), vcpus (likewise), waits (what vCPUs waited for), lost (events), trace (there is none), clock, syscalls, problems (with the input); empty for others"},
};

const struct table_def why_table = {
	.public = {"why", "What cost time",
		   "verdicts, most costly first, each with its greatest cause", why_columns,
		   WHY_NR_COLUMNS},
	.find = find_why,
};
