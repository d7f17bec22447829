/* SPDX-License-Identifier: Apache-2.0 */
/* Initcalls of kernels that started, slowest first. */
#include "query/cells.h"
#include "query/losses.h"
#include "query/milestone.h"
#include "analysis/by_machine.h"
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

/* A kernel's own initcalls, which it calls one after the other before it runs the first program;
 * modules' are none of them. */
struct own_calls {
	ns_t took;     /* all that are known from begin to end, together */
	ns_t unseen;   /* all others, at most */
	ns_t last;     /* when the first program was run */
	bool is_known; /* that this is so */
};

static bool is_own(const struct sonde_history *history, int64_t row)
{
	return *query_string(history, QUERY_INITCALL, row, 3);
}

/* What may have been called between two that are known: nothing where no event is missing. */
static ns_t unseen_in(const struct losses *losses, ns_t begin, ns_t end)
{
	return begin < end && losses_touch(losses, begin, end) ? ns_since(end, begin) : 0;
}

/* Any that was not seen from begin to end lies between two that were, and where events are missing,
 * or it would have been seen: not before the first of these places. */
static int sum_up_one(struct own_calls *own, const struct sonde_history *history, int64_t machine,
		      const uint32_t *rows, uint32_t nr)
{
	struct losses losses;
	struct sonde_loss first;
	ns_t until = sonde_history_end(history), before = NS_MIN;
	int ret = losses_init(&losses, history, (int)machine);

	if (ret)
		return ret;
	if (losses.nr && !sonde_loss_get(history, losses.list[0].at, &first))
		until = first.begin;
	for (uint32_t i = 0; i < nr; i++) {
		ns_t begin, end;

		if (!is_own(history, rows[i]) || !span_of(history, rows[i], &begin, &end))
			continue;
		own->took = ns_plus(own->took, ns_since(end, begin));
		own->unseen = ns_plus(own->unseen, unseen_in(&losses, until, begin));
		own->is_known &= begin >= before;
		before = begin;
		until = end > until ? end : until;
	}
	own->unseen = ns_plus(own->unseen, unseen_in(&losses, until, own->last));
	losses_release(&losses);
	return 0;
}

/* Nobody knows how much of a boot that a kernel recorded was overwritten. */
static void look_at_milestones(struct own_calls *own, const struct sonde_history *history)
{
	struct milestone ms;

	for (int64_t row = 0; !query_milestone(history, row, &ms); row++) {
		if (ms.machine < 0 || ms.machine >= sonde_nr_machines(history))
			continue;
		if (!strcmp(ms.kind, "lost"))
			own[ms.machine].is_known = false;
		else if (!strcmp(ms.kind, "init") && ms.at < own[ms.machine].last)
			own[ms.machine].last = ms.at;
	}
}

/* Of each machine; owned by the caller.  NULL: no memory. */
static struct own_calls *sum_up(const struct sonde_history *history)
{
	int64_t nr = sonde_nr_machines(history);
	struct own_calls *own = calloc((size_t)nr + 1, sizeof(*own));
	struct by_machine calls = {0};
	int ret = own ? by_machine_init(&calls, history, QUERY_INITCALL) : -ENOMEM;

	for (int64_t i = 0; i < nr && !ret; i++) {
		own[i].last = sonde_history_end(history);
		own[i].is_known = true;
	}
	if (!ret)
		look_at_milestones(own, history);
	for (int64_t i = 0; i < nr && !ret; i++) {
		uint32_t nr_rows;
		const uint32_t *rows = by_machine_rows(&calls, i, &nr_rows);

		if (nr_rows)
			ret = sum_up_one(&own[i], history, i, rows, nr_rows);
	}
	by_machine_release(&calls);
	if (!ret)
		return own;
	free(own);
	return NULL;
}

static void add(struct sonde_rows *out, const struct sonde_history *history, int64_t row,
		const struct own_calls *own)
{
	const enum query_table t = QUERY_INITCALL;
	const char *level = query_string(history, t, row, 3);
	ns_t begin, end;
	bool ended = span_of(history, row, &begin, &end);
	bool has_share = ended && *level && own->is_known;
	ns_t all = ns_plus(own->took, own->unseen);

	rows_add(out,
		 (union sonde_cell[]){
			 cell_int(begin),
			 cell_int(ended ? ns_since(end, begin) : -1),
			 cell_int(query_number(history, t, row, 0)),
			 cell_str(query_string(history, t, row, 2)),
			 cell_str(*level ? level : "module"),
			 cell_int(has_share ? share_ppm(ns_since(end, begin), all) : -1),
			 cell_str(has_share && own->unseen ? "at least" : ""),
			 cell_int(ended ? query_number(history, t, row, 6) : SONDE_SIGNED_UNKNOWN),
			 cell_int(query_number(history, t, row, 1)),
		 });
}

static int find_initcalls(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			  ns_t end, struct error *err)
{
	const enum query_table t = QUERY_INITCALL;
	struct own_calls *own = sum_up(history);

	if (!own)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < query_nr_rows(history, t); row++) {
		int64_t machine = query_number(history, t, row, 0);
		ns_t to = query_number(history, t, row, 5);

		if (machine >= 0 && machine < sonde_nr_machines(history) &&
		    query_number(history, t, row, 4) < end && (to < 0 || to >= begin))
			add(out, history, row, &own[machine]);
	}
	free(own);
	rows_sort(out, "length");
	return 0;
}

static const struct sonde_column columns[] = {
	{"at", "AT", SONDE_COL_TIME, "when it was called"},
	{"length", "TOOK", SONDE_COL_NS, "until it returned; -1: it was not seen to"},
	{"vm", "MACHINE", SONDE_COL_MACHINE, "whose kernel"},
	{"name", "INITCALL", SONDE_COL_STRING,
	 "the function; its address where its name is not known, as of modules in ftrace"},
	{"level", "LEVEL", SONDE_COL_STRING, "early, core, ... late; or a module's"},
	{"share", "SHARE", SONDE_COL_PPM,
	 "of the time of all initcalls of that kernel, modules' left out; -1: a module's, or not "
	 "known, for nobody knows how much of its boot is missing"},
	{"note", "NOTE", SONDE_COL_STRING,
	 "\"at least\": events are missing that may be of initcalls, so the share may be more"},
	{"result", "RESULT", SONDE_COL_SIGNED, "what it returned; null: it was not seen to"},
	{"thread", "BY", SONDE_COL_THREAD, "thread that called it"},
};

const struct table_def initcall_table = {
	.public = {"initcall", "Initcalls, slowest first",
		   "functions that kernels called while they started, by those kernels' own traces",
		   columns, ARRAY_SIZE(columns)},
	.find = find_initcalls,
};
