/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/report_summary.h"
#include "analysis/rows.h"
#include "base/figure.h"
#include "base/units.h"
#include "cmd/common/missing.h"
#include "report/moment.h"
#include "report/rows.h"

#include <inttypes.h>

/* Less than this of the window is not worth a line. */
#define LEAST_LOST_PPM 10000
/* More vCPUs of which much is not known are counted only. */
#define UNKNOWN_NAMES_MAX 6

static int64_t unknown_share(const struct sonde_rows *vcpus, size_t row, int64_t window)
{
	return share_ppm(rows_named(vcpus, row, "unknown").i, window);
}

/* Before a sum of which so much may be missing. */
static const char *at_least(int64_t unknown)
{
	return unknown >= LEAST_LOST_PPM ? "at least " : "";
}

/* The begin of its line; a nested VM's vCPU inherits the steal time of those that it is on. */
static void print_lost(const struct invocation *inv, const struct sonde_rows *vcpus, size_t row,
		       const char *name, int64_t unknown, bool is_ns)
{
	int64_t inherited = rows_named(vcpus, row, "inherited_steal").i;
	char text[UNIT_TEXT], share[UNIT_TEXT];

	screen_say(&inv->screen, "%s: ", name);
	if (inherited) {
		fprintf(inv->screen.out, "%s%s total steal (%s), ", at_least(unknown),
			unit_length(text, rows_named(vcpus, row, "total_steal").i, is_ns),
			unit_share(share, rows_named(vcpus, row, "total_steal_share").i));
		fprintf(inv->screen.out, "%s of it inherited;\n  ",
			unit_length(text, inherited, is_ns));
	}
}

static void print_culprits(const struct invocation *inv, struct sonde_history *history,
			   const struct sonde_rows *pairs, int64_t vcpu, bool is_ns)
{
	unsigned culprits = 0;

	for (size_t p = 0; p < sonde_rows_nr(pairs) && culprits < 3; p++) {
		char machine[80], thread[80], text[UNIT_TEXT];
		int64_t by = rows_named(pairs, p, "culprit").i;
		bool is_known = rows_named(pairs, p, "culprit_machine").i >= 0;

		if (rows_named(pairs, p, "vcpu").i != vcpu)
			continue;
		rows_cell_text(history, SONDE_COL_MACHINE, rows_named(pairs, p, "culprit_machine"),
			       machine, sizeof(machine));
		if (by >= 0)
			sonde_thread_label(history, by, thread, sizeof(thread));
		else
			snprintf(thread, sizeof(thread), "%s",
				 sonde_mode_name((enum sonde_mode)rows_named(pairs, p, "mode").i));
		screen_say(&inv->screen, "  %10s  %s%s%s\n",
			   unit_length(text, rows_named(pairs, p, "total").i, is_ns), thread,
			   is_known ? " on " : "", is_known ? machine : "");
		culprits++;
	}
}

/* Which row comes after @last, of those that lost most first; -1: no other one lost 1% of the
 * window. */
static int64_t next_loser(const struct sonde_rows *vcpus, int64_t last)
{
	int64_t before =
		last < 0 ? INT64_MAX : rows_named(vcpus, (size_t)last, "total_steal_share").i;
	int64_t next = -1, most = LEAST_LOST_PPM - 1;

	for (size_t v = 0; v < sonde_rows_nr(vcpus); v++) {
		int64_t share = rows_named(vcpus, v, "total_steal_share").i;
		bool comes = share < before || (share == before && (int64_t)v > last);

		if (comes && share > most) {
			most = share;
			next = (int64_t)v;
		}
	}
	return next;
}

/* Of those without a line: no steal time is known of, which is not none. */
static void print_unknown(const struct invocation *inv, struct sonde_history *history,
			  const struct sonde_rows *vcpus, int64_t window)
{
	unsigned nr = 0;

	for (size_t v = 0; v < sonde_rows_nr(vcpus); v++) {
		int64_t share = unknown_share(vcpus, v, window);
		char name[80], text[UNIT_TEXT];

		if (share < LEAST_LOST_PPM ||
		    rows_named(vcpus, v, "total_steal_share").i >= LEAST_LOST_PPM ||
		    nr++ >= UNKNOWN_NAMES_MAX)
			continue;
		sonde_cpu_label(history, rows_named(vcpus, v, "vcpu").i, name, sizeof(name));
		screen_say(&inv->screen, "%s%s for %s%s", nr == 1 ? "Steal time not known: " : ", ",
			   name, unit_share(text, share), nr == 1 ? " of the window" : "");
	}
	if (nr > UNKNOWN_NAMES_MAX)
		fprintf(inv->screen.out, ", and of %u more vCPUs", nr - UNKNOWN_NAMES_MAX);
	if (nr)
		fputc('\n', inv->screen.out);
}

/* A line per vCPU that has steal time, the most first. */
static void print_losers(const struct invocation *inv, struct sonde_history *history,
			 const struct sonde_rows *vcpus, const struct sonde_rows *pairs,
			 int64_t window)
{
	bool is_ns = sonde_history_ticks_are_ns(history);
	int64_t v = next_loser(vcpus, -1);
	char outermost[80];

	rows_cell_text(history, SONDE_COL_MACHINE, (union sonde_cell){.i = 0}, outermost,
		       sizeof(outermost));
	if (v >= 0)
		screen_title(&inv->screen, "Steal time of vCPUs");
	for (; v >= 0; v = next_loser(vcpus, v)) {
		int64_t vcpu = rows_named(vcpus, (size_t)v, "vcpu").i;
		int64_t ready = rows_named(vcpus, (size_t)v, "steal").i;
		int64_t unknown = unknown_share(vcpus, (size_t)v, window);
		char name[80], text[UNIT_TEXT], percent[UNIT_TEXT];

		sonde_cpu_label(history, vcpu, name, sizeof(name));
		print_lost(inv, vcpus, (size_t)v, name, unknown, is_ns);
		fprintf(inv->screen.out, "%s%s steal time (%s)%s", at_least(unknown),
			unit_length(text, ready, is_ns),
			unit_share(percent, rows_named(vcpus, (size_t)v, "steal_share").i),
			ready ? ", by culprit" : "");
		if (unknown >= LEAST_LOST_PPM)
			fprintf(inv->screen.out, "; %s of its time is not known",
				unit_share(text, unknown));
		if (outermost_of(history) == OUTERMOST_VM)
			screen_say(&inv->screen,
				   "; what it inherited from the host of %s is not known",
				   outermost);
		fputc('\n', inv->screen.out);
		print_culprits(inv, history, pairs, vcpu, is_ns);
	}
	print_unknown(inv, history, vcpus, window);
}

/* " 8.250 s before and 3.1 ms after", " the first 8.250 s", as far as there are such lengths. */
static void print_two(FILE *out, const char *const words[2][2], const int64_t length[2], bool is_ns)
{
	const char *between = "";
	char text[UNIT_TEXT];

	for (unsigned i = 0; i < 2; i++) {
		if (!length[i])
			continue;
		fprintf(out, "%s %s%s%s", between, words[i][0], unit_length(text, length[i], is_ns),
			words[i][1]);
		between = " and";
	}
}

/* A machine that was traced outside [from, to] by a clock that nothing bounds. */
static bool find_loose(const struct sonde_history *history, int64_t from, int64_t to,
		       struct sonde_machine *m)
{
	struct sonde_clock c;

	for (int64_t i = 0; !sonde_clock_get(history, i, &c); i++) {
		if (c.bound_ns < 0 && !sonde_machine_get(history, c.machine, m) && m->end >= 0 &&
		    (m->begin < from || m->end > to))
			return true;
	}
	return false;
}

#define UNRELATED_NAMED 3

/* Whose clock no evidence relates to its host's: what tells that it runs there is to be known. */
static void print_unrelated(const struct invocation *inv, const struct sonde_history *history)
{
	struct sonde_machine m, host;
	struct sonde_clock c;
	int64_t said = -1; /* a clock's pieces stand one behind the other */
	unsigned nr = 0;

	for (int64_t i = 0; nr < UNRELATED_NAMED && !sonde_clock_get(history, i, &c); i++) {
		if (c.machine == said || c.bound_ns >= 0 || c.pairs || c.readings || c.contained ||
		    c.timers || sonde_machine_get(history, c.machine, &m) ||
		    sonde_machine_get(history, m.parent, &host))
			continue;
		nr++;
		said = c.machine;
		screen_say(&inv->screen, "Nothing bounds the clock of %s, which runs in %s: %s\n",
			   m.name, host.name, m.evidence);
	}
}

/* How much of the window the physical machine's trace does not cover; or, where the window is what
 * that covers, what else there is. */
static void print_untraced(const struct invocation *inv, struct sonde_history *history,
			   const char *name, int64_t begin, int64_t end)
{
	static const char *const outside[2][2] = {{"", " before"}, {"", " after"}};
	static const char *const inside[2][2] = {{"the first ", ""}, {"the last ", ""}};
	bool is_ns = sonde_history_ticks_are_ns(history);
	FILE *out = inv->screen.out;
	struct sonde_machine loose;
	int64_t from, to;

	sonde_history_traced(history, &from, &to);
	if (!inv->common.time) {
		const int64_t rest[2] = {ns_since(from, sonde_history_begin(history)),
					 ns_since(sonde_history_end(history), to)};

		if (!rest[0] && !rest[1])
			return;
		if (find_loose(history, from, to, &loose)) {
			screen_say(&inv->screen,
				   "Guests may also have been traced outside that: nothing bounds "
				   "the clock of %s. --time 0%%,100%% has all\n",
				   loose.name);
			return;
		}
		fputs("Guests were also traced", out);
		print_two(out, outside, rest, is_ns);
		fputs(" that: --time 0%,100% has all\n", out);
	} else {
		const int64_t rest[2] = {ns_common(begin, end, begin, from),
					 ns_common(begin, end, to, end)};

		if (!rest[0] && !rest[1])
			return;
		screen_say(&inv->screen, "%s was not traced in", name);
		print_two(out, inside, rest, is_ns);
		fputs(" of it\n", out);
	}
}

/* From where on, and how long, it is. */
static void print_window(const struct invocation *inv, struct sonde_history *history, int64_t begin,
			 int64_t end)
{
	bool is_ns = sonde_history_ticks_are_ns(history);
	char from[UNIT_TEXT], length[UNIT_TEXT];
	struct sonde_machine l0;

	sonde_machine_get(history, 0, &l0);
	screen_say(&inv->screen, "%s: %s%s from %s, %" PRId64 " machine%s\n", l0.name,
		   unit_length(length, ns_since(end, begin), is_ns),
		   inv->common.time ? "" : " traced", unit_time(from, begin, is_ns),
		   sonde_nr_machines(history), sonde_nr_machines(history) == 1 ? "" : "s");
	print_untraced(inv, history, l0.name, begin, end);
	print_unrelated(inv, history);
	if (!is_ns)
		fprintf(inv->screen.out,
			"Times are cycles (cy): the traces do not tell the rate of the "
			"counter; sonde analyze --tsc-khz N tells it\n");
}

void report_summary_print(const struct invocation *inv, struct sonde_history *history,
			  const struct summary_rows *rows, int64_t begin, int64_t end)
{
	print_window(inv, history, begin, end);
	if (rows->whole)
		missing_print(inv, history, begin, end);
	print_losers(inv, history, rows->vcpus, rows->pairs, ns_since(end, begin));
}
