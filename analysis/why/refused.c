/* SPDX-License-Identifier: Apache-2.0 */
/* Hypercalls that no reader believes: sent by a guest's process where only a kernel may speak. */
#include "query/cells.h"
#include "analysis/why/why.h"
#include "base/units.h"
#include "channel/origin.h"
#include "model/state/rows.h"

#include <errno.h>

struct row {
	int64_t machine, thread, what, origin, count;
	ns_t first, last;
};

static struct row read_row(const struct sonde_history *history, int64_t row)
{
	const enum query_table t = QUERY_REFUSED;

	return (struct row){
		.machine = query_number(history, t, row, 0),
		.thread = query_number(history, t, row, 1),
		.what = query_number(history, t, row, 2),
		.origin = query_number(history, t, row, 3),
		.count = query_number(history, t, row, 4),
		.first = query_number(history, t, row, 5),
		.last = query_number(history, t, row, 6),
	};
}

static const char *name_of(const struct row *r)
{
	static const char *const names[NR_REFUSED] = {
		[REFUSED_EVENTS] = "events",
		[REFUSED_RINGS] = "rings",
		[REFUSED_BOARD] = "board",
		[REFUSED_MARKS] = "marks",
	};

	return r->what >= 0 && r->what < NR_REFUSED ? names[r->what] : "unknown";
}

static bool is_in(const struct row *r, const struct sonde_history *history, ns_t begin, ns_t end)
{
	return r->machine >= 0 && r->machine < sonde_nr_machines(history) && r->first < end &&
	       r->last >= begin;
}

static int find_refused(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
			struct error *err)
{
	(void)err;
	for (int64_t row = 0; row < query_nr_rows(history, QUERY_REFUSED); row++) {
		struct row r = read_row(history, row);

		if (is_in(&r, history, begin, end))
			rows_add(out, (union sonde_cell[]){
					      cell_int(r.count),
					      cell_int(r.machine),
					      cell_str(name_of(&r)),
					      cell_str(r.origin == HT_ORIGIN_USER     ? "user"
						       : r.origin == HT_ORIGIN_KERNEL ? "kernel"
										      : "unknown"),
					      cell_int(r.thread),
					      cell_int(r.first),
					      cell_int(r.last),
				      });
	}
	rows_sort(out, "count");
	return 0;
}

static const struct sonde_column columns[] = {
	{"count", "TIMES", SONDE_COL_INT, "hypercalls, in all of the history"},
	{"machine", "MACHINE", SONDE_COL_MACHINE,
	 "the guest that made them; its host where the guest is not known"},
	{"what", "WHAT", SONDE_COL_STRING,
	 "events (blocks of a kernel's events), rings (an announcement of memory with such), board "
	 "(an announcement of memory for sonde share), marks (more than a VM may make)"},
	{"origin", "BY", SONDE_COL_STRING,
	 "user (a process), kernel, or unknown: no exit before them tells"},
	{"thread", "THREAD", SONDE_COL_THREAD, "the guest's thread; -1: not known, or several"},
	{"first", "FIRST", SONDE_COL_TIME, "when the first was made"},
	{"last", "LAST", SONDE_COL_TIME, "when the last was made"},
};

const struct table_def refused_table = {
	.public =
		{"refused", "Refused hypercalls",
		 "hypercalls of guests in a kernel's format that no kernel made, and marks beyond a VM's "
		 "rate; "
		 "none of them is used",
		 columns, ARRAY_SIZE(columns)},
	.find = find_refused,
};

/* ---- the verdict ---------------------------------------------------------------------------- */

static void say_attempt(struct why *w, const struct row *r)
{
	static const char *const formats[NR_REFUSED] = {
		[REFUSED_EVENTS] = "in the kernel's format for events",
		[REFUSED_RINGS] = "that announce ring buffers as the kernel's",
		[REFUSED_BOARD] = "that ask the host to write into its memory",
		[REFUSED_MARKS] = "beyond the marks that a VM may make",
	};
	struct verdict v = why_verdict(w, "attempt", r->machine);
	char count[UNIT_TEXT];

	v.thread = r->thread;
	v.count = r->count;
	v.begin = r->first;
	v.end = r->last;
	v.cause = name_of(r);
	if (r->what == REFUSED_MARKS)
		say(&v.says, "Code in ");
	else
		say(&v.says, r->origin == HT_ORIGIN_USER ? "User code in " : "Unknown code in ");
	say_machine(&v.says, r->machine);
	say(&v.says, " made %s hypercall%s %s", unit_count(count, r->count),
	    r->count == 1 ? "" : "s", formats[r->what]);
	say(&v.says, ": refused (sonde report -t refused).");
	if (r->what != REFUSED_MARKS && r->origin == HT_ORIGIN_UNKNOWN)
		say(&v.says, " No kvm_exit with guest_rip before them tells who made them. Record "
			     "kvm_exit, too.");
	why_add(w, &v);
}

int why_refused(struct why *w, struct error *err)
{
	(void)err;
	for (int64_t row = 0; row < query_nr_rows(w->history, QUERY_REFUSED); row++) {
		struct row r = read_row(w->history, row);

		if (is_in(&r, w->history, w->begin, w->end) && r.what >= 0 && r.what < NR_REFUSED)
			say_attempt(w, &r);
	}
	return 0;
}
