/* SPDX-License-Identifier: Apache-2.0 */
/* Initcalls of kernels that started, slowest first. */
#include "query/cells.h"
#include "query/milestone.h"
#include "analysis/rows.h"
#include "base/figure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* False: its end was not seen. */
static bool span_of(const struct sonde_history *history, int64_t row, ns_t *begin, ns_t *end)
{
	bool ended;

	*begin = query_number(history, QUERY_INITCALL, row, 4);
	*end = query_number(history, QUERY_INITCALL, row, 5);
	ended = *end >= 0;
	ns_clip(begin, end, sonde_history_begin(history), sonde_history_end(history));
	return ended;
}

/* How long all initcalls of each machine took together; owned by the caller. */
static ns_t *sum_up(const struct sonde_history *history)
{
	const enum query_table t = QUERY_INITCALL;
	ns_t *sums = calloc((size_t)sonde_nr_machines(history) + 1, sizeof(*sums));

	for (int64_t row = 0; sums && row < query_nr_rows(history, t); row++) {
		int64_t machine = query_number(history, t, row, 0);
		ns_t begin, end;

		if (span_of(history, row, &begin, &end) && machine >= 0 &&
		    machine < sonde_nr_machines(history))
			sums[machine] = ns_plus(sums[machine], ns_since(end, begin));
	}
	return sums;
}

/* Of each machine, whether events of it are missing, which may be those of initcalls; owned by the
 * caller. */
static bool *find_lacking(const struct sonde_history *history)
{
	bool *lacks = calloc((size_t)sonde_nr_machines(history) + 1, sizeof(*lacks));
	struct milestone ms;
	struct sonde_loss l;

	for (int64_t row = 0; lacks && !sonde_loss_get(history, row, &l); row++) {
		if (l.machine >= 0 && l.machine < sonde_nr_machines(history))
			lacks[l.machine] = true;
	}
	for (int64_t row = 0; lacks && !query_milestone(history, row, &ms); row++) {
		if (!strcmp(ms.kind, "lost") && ms.machine >= 0 &&
		    ms.machine < sonde_nr_machines(history))
			lacks[ms.machine] = true;
	}
	return lacks;
}

/* @of_all: how long all took, -1 not known. */
static void add(struct sonde_rows *out, const struct sonde_history *history, int64_t row,
		ns_t of_all)
{
	const enum query_table t = QUERY_INITCALL;
	const char *level = query_string(history, t, row, 3);
	ns_t begin, end;
	bool ended = span_of(history, row, &begin, &end);
	int64_t share = ended && of_all >= 0 ? share_ppm(ns_since(end, begin), of_all) : -1;

	rows_add(out,
		 (union sonde_cell[]){
			 cell_int(begin),
			 cell_int(ended ? ns_since(end, begin) : -1),
			 cell_int(query_number(history, t, row, 0)),
			 cell_str(query_string(history, t, row, 2)),
			 cell_str(*level ? level : "module"),
			 cell_int(share),
			 cell_int(ended ? query_number(history, t, row, 6) : SONDE_SIGNED_UNKNOWN),
			 cell_int(query_number(history, t, row, 1)),
		 });
}

static int find_initcalls(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			  ns_t end, struct error *err)
{
	const enum query_table t = QUERY_INITCALL;
	ns_t *sums = sum_up(history);
	bool *lacks = find_lacking(history);
	int ret;

	for (int64_t row = 0; sums && lacks && row < query_nr_rows(history, t); row++) {
		int64_t machine = query_number(history, t, row, 0);
		ns_t to = query_number(history, t, row, 5);

		if (machine >= 0 && machine < sonde_nr_machines(history) &&
		    query_number(history, t, row, 4) < end && (to < 0 || to >= begin))
			add(out, history, row, lacks[machine] ? -1 : sums[machine]);
	}
	ret = sums && lacks ? 0 : fail(err, -ENOMEM, "out of memory");
	free(sums);
	free(lacks);
	rows_sort(out, "length");
	return ret;
}

static const struct sonde_column columns[] = {
	{"at", "AT", SONDE_COL_TIME, "when it was called"},
	{"length", "TOOK", SONDE_COL_NS, "until it returned; -1: it was not seen to"},
	{"vm", "MACHINE", SONDE_COL_MACHINE, "whose kernel"},
	{"name", "INITCALL", SONDE_COL_STRING,
	 "the function; its address where its name is not known, as of modules in ftrace"},
	{"level", "LEVEL", SONDE_COL_STRING, "early, core, ... late; or a module's"},
	{"share", "SHARE", SONDE_COL_PPM,
	 "of the time of all initcalls of that kernel; -1: not known, for events are missing that "
	 "may be of initcalls"},
	{"result", "RESULT", SONDE_COL_SIGNED, "what it returned; null: it was not seen to"},
	{"thread", "BY", SONDE_COL_THREAD, "thread that called it"},
};

const struct table_def initcall_table = {
	.public = {"initcall", "Initcalls, slowest first",
		   "functions that kernels called while they started, by those kernels' own traces",
		   columns, ARRAY_SIZE(columns)},
	.find = find_initcalls,
};
