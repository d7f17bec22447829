/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/why.h"

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
		.says = {.run = w->run},
	};
}

void why_add(struct why *w, const struct verdict *v)
{
	char *text = arena_strdup(&w->out->arena, v->says.text);
	char *cause = arena_strdup(&w->out->arena, v->cause);

	w->out->no_memory |= !text || !cause;
	if (w->out->no_memory)
		return;
	facts_add(w->out, (union sonde_cell[]){
				  cell_str(text),
				  cell_int(v->cost_ns),
				  cell_int(share_ppm(v->cost_ns, w->end - w->begin)),
				  cell_int(v->begin),
				  cell_int(v->end),
				  cell_str(v->kind),
				  cell_int(v->machine),
				  cell_int(v->vcpu),
				  cell_int(v->thread),
				  cell_int(v->by.machine),
				  cell_int(v->by.vcpu),
				  cell_int(v->by.thread),
				  cell_int(v->by.mode),
				  cell_int(v->by_ns),
				  cell_int(v->count),
				  cell_str(cause),
			  });
}

int why_facts(const struct why *w, const char *analysis, struct sonde_facts **out,
	      struct error *err)
{
	struct sonde_error public_err = {0};
	int ret = sonde_facts_get(out, w->run, analysis, w->begin, w->end, &public_err);

	return ret ? fail(err, ret, "%s", public_err.text) : 0;
}

static int find_why(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
		    struct error *err)
{
	struct why w = {.out = out, .run = run, .begin = begin, .end = end};
	int ret = why_delays(&w, err);

	if (!ret)
		ret = why_hypervisors(&w, err);
	if (!ret)
		ret = why_waits(&w, err);
	if (!ret)
		ret = why_unknown(&w, err);
	facts_sort(out, "cost");
	return ret;
}

const struct sonde_column why_columns[WHY_NR_COLUMNS] = {
	{"text", "VERDICT", SONDE_COL_STRING, "the verdict as a sentence"},
	{"cost", "COST", SONDE_COL_NS, "time it cost; 0 for what cannot be known"},
	{"share", "OF RUN", SONDE_COL_PPM, "of the window's length"},
	{"begin", "FROM", SONDE_COL_TIME, "where to look: begin of its worst stretch"},
	{"end", "TO", SONDE_COL_TIME, "end of that"},
	{"kind", "KIND", SONDE_COL_STRING,
	 "vcpu (was kept off the CPU), thread (likewise), hypervisor (its work for a VM), wait "
	 "(for "
	 "more than a timer), wakeup (how long they took), exit (one exit), unknown (what cannot "
	 "be "
	 "told, and what to record next time)"},
	{"machine", "MACHINE", SONDE_COL_MACHINE, "whom it is about"},
	{"vcpu", "VCPU", SONDE_COL_CPU, "its vCPU"},
	{"thread", "THREAD", SONDE_COL_THREAD, "its thread"},
	{"culprit_machine", "CULPRIT IN", SONDE_COL_MACHINE, "machine of the greatest cause"},
	{"culprit_cpu", "CULPRIT CPU", SONDE_COL_CPU,
	 "its vCPU, or the one that a hypervisor worked for"},
	{"culprit", "CULPRIT", SONDE_COL_THREAD, "its thread"},
	{"mode", "AS", SONDE_COL_MODE, "what it did"},
	{"culprit_time", "ITS PART", SONDE_COL_NS, "of the cost"},
	{"count", "TIMES", SONDE_COL_INT, "how many stretches, waits, wake-ups or exits these are"},
	{"cause", "CAUSE", SONDE_COL_STRING,
	 "what was waited for, by what it was woken, or the exit's name; of what is unknown: cpus "
	 "(what they did), vcpus (likewise), waits (what vCPUs waited for), lost (events), trace (there is none), clock, syscalls; empty for others"},
};

const struct analysis why_analysis = {
	{"why", "What cost time", "verdicts, most costly first, each with its greatest cause",
	 why_columns, WHY_NR_COLUMNS},
	find_why,
};
