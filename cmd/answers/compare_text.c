/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/compare_text.h"
#include "cmd/answers/compare_groups.h"
#include "analysis/rows.h"
#include "base/units.h"
#include "cmd/common/missing.h"
#include "report/rows.h"
#include "report/paragraph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP_DEFAULT 15
#define TOP_UNPROVEN_DEFAULT 5
/* A change is told when chance makes any measure look so different once in a hundred times. */
#define CHANCE_PPM 10000

static bool is_share(const struct sonde_rows *f, size_t row)
{
	return !strcmp(rows_named(f, row, "unit").s, "ppm");
}

/* "20.5%", "-3.2%", "1234.0/s", or "1234.0/Gcy". */
static char *value_text(const struct sonde_rows *f, size_t row, const char *column, bool sign,
			char *buf, size_t room)
{
	double v = (double)rows_named(f, row, column).i;

	if (is_share(f, row))
		snprintf(buf, room, sign ? "%+.2f%%" : "%.2f%%", v / 1e4);
	else
		snprintf(buf, room, sign ? "%+.1f%s" : "%.1f%s", v / 1e3,
			 strcmp(rows_named(f, row, "unit").s, "per 1000 s") ? "/Gcy" : "/s");
	return buf;
}

/* "web1 vCPU 2", or "web1". */
static char *who_text(const struct sonde_rows *f, size_t row, char *buf, size_t room)
{
	int64_t cpu = rows_named(f, row, "cpu").i;

	if (cpu >= 0)
		snprintf(buf, room, "%s vCPU %" PRId64, rows_named(f, row, "machine").s, cpu);
	else
		snprintf(buf, room, "%s", rows_named(f, row, "machine").s);
	return buf;
}

/* Few and scattered values: the share afterwards may be anything. */
static bool says_nothing(const struct sonde_rows *f, size_t row)
{
	int64_t before = rows_named(f, row, "before").i;

	/* What a whole machine uses is no part of 1. */
	return is_share(f, row) && rows_named(f, row, "cpu").i >= 0 &&
	       rows_named(f, row, "low").i <= -before &&
	       rows_named(f, row, "high").i >= 1000000 - before;
}

static void print_change(const struct invocation *inv, const struct sonde_rows *f, size_t row)
{
	char lead[48], text[600], before[32], after[32], low[32], high[32], change[32], who[120];
	char limits[80];

	snprintf(lead, sizeof(lead), "%12s  ",
		 value_text(f, row, "change", true, change, sizeof(change)));
	if (says_nothing(f, row))
		snprintf(limits, sizeof(limits), "limits of the change are not known");
	else
		snprintf(limits, sizeof(limits), "the change is %s to %s",
			 value_text(f, row, "low", true, low, sizeof(low)),
			 value_text(f, row, "high", true, high, sizeof(high)));
	snprintf(text, sizeof(text), "%s: %s: %s, was %s; %s", who_text(f, row, who, sizeof(who)),
		 rows_named(f, row, "what").s,
		 value_text(f, row, "after", false, after, sizeof(after)),
		 value_text(f, row, "before", false, before, sizeof(before)), limits);
	paragraph_print(&inv->screen, lead, text);
}

/* What is unknown may make the difference. */
static bool is_hidden(const struct sonde_rows *f, size_t row)
{
	return rows_named(f, row, "hidden").i;
}

/* Beyond chance, and perhaps in what is unknown: it is not known to have changed. */
static bool is_told(const struct sonde_rows *f, size_t row)
{
	int64_t chance = rows_named(f, row, "chance").i;

	return chance > CHANCE_PPM || (chance >= 0 && !is_hidden(f, row));
}

/* One kind of changes: of shares or of rates, beyond chance or not. */
struct kind {
	const char *title;
	bool share, proven;
};

static bool is_of_kind(const struct sonde_rows *f, size_t row, const struct kind *k)
{
	int64_t chance = rows_named(f, row, "chance").i;

	if (is_share(f, row) != k->share || !is_told(f, row))
		return false;
	return k->proven ? chance <= CHANCE_PPM
			 : chance > CHANCE_PPM && !is_hidden(f, row) &&
				   rows_named(f, row, "change").i;
}

/* The @top greatest of them; returns how many there are. */
static size_t print_kind(const struct invocation *inv, const struct sonde_rows *f,
			 const struct kind *k, uint64_t top)
{
	size_t nr = 0;

	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		if (!is_of_kind(f, row, k))
			continue;
		if (!nr)
			screen_title(&inv->screen, k->title);
		if (nr++ < top)
			print_change(inv, f, row);
	}
	if (nr > top)
		fprintf(inv->screen.out, "... and %zu more\n", nr - (size_t)top);
	return nr;
}

static struct row_group group_of(const struct sonde_rows *f, size_t row, int64_t also0,
				 int64_t also1, int64_t also2)
{
	return (struct row_group){.machine = rows_named(f, row, "machine").s,
				  .cpu = rows_named(f, row, "cpu").i,
				  .also = {also0, also1, also2},
				  .row = row,
				  .nr = 1};
}

/* ---- what one of the histories does not have ----------------------------------------------------
 */

static bool is_absent(const struct sonde_rows *f, size_t row)
{
	return *rows_named(f, row, "absent").s;
}

/* Each machine and vCPU once; @list has room for all rows.  How many there are. */
static size_t absences(const struct sonde_rows *f, struct row_group *list)
{
	size_t nr = 0, left = 0;
	const char *whole = NULL;

	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		if (is_absent(f, row))
			list[nr++] = group_of(
				f, row, !strcmp(rows_named(f, row, "absent").s, "after"), 0, 0);
	}
	nr = groups_merge(list, nr);
	for (size_t i = 0; i < nr; i++) {
		if (list[i].cpu < 0)
			whole = list[i].machine;
		/* Where all of a machine is absent, that is told once. */
		if (list[i].cpu < 0 || !whole || strcmp(whole, list[i].machine))
			list[left++] = list[i];
	}
	groups_sort_by_row(list, left);
	return left;
}

static void print_absent(const struct invocation *inv, const struct sonde_rows *f,
			 struct row_group *list)
{
	size_t nr = absences(f, list);

	if (nr)
		screen_title(&inv->screen, "In one of the histories only");
	for (size_t i = 0; i < nr; i++) {
		char text[600], who[120];

		snprintf(text, sizeof(text), "%s: absent in %s",
			 who_text(f, list[i].row, who, sizeof(who)),
			 inv->operands[list[i].also[0]]);
		paragraph_print(&inv->screen, "  ", text);
	}
	if (nr)
		fprintf(inv->screen.out, "--match A=B tells which machine of the first run is "
					 "which of the second\n");
}

/* Machines whose names differ, and how it is known that they are one. */
static void print_matches(const struct invocation *inv, const struct comparison *p)
{
	const struct match *m = &p->match;

	for (int64_t row = 0; row < sonde_nr_machines(m->after); row++) {
		struct sonde_machine before, after;
		char text[600];

		if (m->by[row] != MATCH_STRUCTURE && m->by[row] != MATCH_TOLD)
			continue;
		sonde_machine_get(m->before, m->to_before[row], &before);
		sonde_machine_get(m->after, row, &after);
		snprintf(text, sizeof(text), "%s is %s of %s, %s", before.name, after.name,
			 inv->operands[1],
			 m->by[row] == MATCH_TOLD
				 ? "by --match"
				 : "by its place, its number of vCPUs and of VMs in it");
		paragraph_print(&inv->screen, "", text);
	}
}

/* ---- what cannot be told ------------------------------------------------------------------- */

/* What it is about, once for all measures that share it: of those that can be told but for what is
 * hidden, or of those that cannot. */
static void print_doubts_of(const struct invocation *inv, const struct sonde_rows *f, bool told,
			    struct row_group *list)
{
	size_t nr = 0;

	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		if (is_told(f, row) == told && (told ? is_hidden(f, row) : !is_absent(f, row)))
			list[nr++] =
				group_of(f, row, rows_named(f, row, "known_before").i,
					 rows_named(f, row, "known_after").i, is_hidden(f, row));
	}
	nr = groups_merge(list, nr);
	groups_sort_by_row(list, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct row_group *g = &list[i];
		char text[600], who[120], number[UNIT_TEXT];

		snprintf(text, sizeof(text),
			 "%s: %s measure%s \"%s\"; known in %" PRId64
			 " of 24 parts before, in %" PRId64 " after",
			 who_text(f, g->row, who, sizeof(who)), unit_count(number, g->nr),
			 g->nr == 1 ? "," : "s, among them", rows_named(f, g->row, "what").s,
			 g->also[0], g->also[1]);
		paragraph_print(&inv->screen, "  ", text);
	}
}

/* Differences between known parts that chance makes likely, where the unknown ones may make up for
 * them. */
static void print_hidden(const struct invocation *inv, const struct comparison *p,
			 struct row_group *list)
{
	const struct sonde_rows *f = p->rows;
	char text[300], number[UNIT_TEXT];
	int64_t nr = 0;

	for (size_t row = 0; row < sonde_rows_nr(f); row++)
		nr += is_told(f, row) && is_hidden(f, row);
	if (!nr)
		return;
	snprintf(text, sizeof(text),
		 "Of these, %s %s not known to differ at all: gaps may explain the difference.",
		 unit_count(number, nr), nr == 1 ? "is" : "are");
	paragraph_print(&inv->screen, "", text);
	print_doubts_of(inv, f, true, list);
}

static void print_doubts(const struct invocation *inv, const struct comparison *p, size_t nr,
			 struct row_group *list)
{
	const char *why = "too much of a window is unknown, or what is recorded is not the same";
	char text[300], number[UNIT_TEXT];

	if (sonde_history_ticks_are_ns(p->histories[0]) !=
	    sonde_history_ticks_are_ns(p->histories[1]))
		why = "rates per second and per cycle do not compare, and what is unknown does not";
	snprintf(text, sizeof(text), "Of %s measure%s it is not known whether they changed: %s.",
		 unit_count(number, (int64_t)nr), nr == 1 ? "" : "s", why);
	paragraph_print(&inv->screen, "", text);
	print_doubts_of(inv, p->rows, false, list);
}

/* How to read what was printed of changes. */
static void print_notes(const struct invocation *inv, const struct sonde_rows *f)
{
	bool skips = false;

	for (size_t row = 0; row < sonde_rows_nr(f); row++)
		skips |=
			is_told(f, row) && (rows_named(f, row, "known_before").i < COMPARE_SLICES ||
					    rows_named(f, row, "known_after").i < COMPARE_SLICES);
	fprintf(inv->screen.out, "\n");
	paragraph_print(
		&inv->screen, "",
		"Limits hold for each measure by itself, with a probability of 95 %; they are "
		"not corrected for how many there are, so that some exclude 0 by chance.");
	if (skips)
		paragraph_print(&inv->screen, "",
				"Values are means over the parts of a window of which no more than "
				"2 % is unknown, and may differ from those of sonde report, which "
				"has all of it.");
}

/* "shares by 3.1% and rates by 12.0/s at most": how much of a difference chance may be. */
static char *greatest_text(const struct sonde_rows *f, char *buf, size_t room)
{
	int64_t greatest[2] = {0};
	size_t at[2] = {0}, used = 0;
	char value[32];

	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		bool share = is_share(f, row);
		int64_t size = rows_named(f, row, "size").i;

		if (is_told(f, row) && rows_named(f, row, "chance").i > CHANCE_PPM &&
		    size > greatest[share]) {
			greatest[share] = size;
			at[share] = row;
		}
	}
	*buf = '\0';
	for (int share = 1; share >= 0; share--) {
		if (greatest[share] && used < room)
			used += (size_t)snprintf(
				buf + used, room - used, "%s%s by %s", used ? " and " : "",
				share ? "shares" : "rates",
				value_text(f, at[share], "size", false, value, sizeof(value)));
	}
	if (used && used < room)
		snprintf(buf + used, room - used, " at most");
	return buf;
}

/* How many of those that can be told did not change. */
static void print_rest(const struct invocation *inv, const struct comparison *p, size_t told,
		       size_t beyond)
{
	bool no_vms =
		sonde_nr_machines(p->histories[0]) == 1 || sonde_nr_machines(p->histories[1]) == 1;
	char number[UNIT_TEXT], all[UNIT_TEXT], greatest[120], text[300];

	fprintf(inv->screen.out, "\n");
	greatest_text(p->rows, greatest, sizeof(greatest));
	unit_count(number, (int64_t)(told - beyond));
	if (told == beyond)
		snprintf(text, sizeof(text),
			 "%s of %s measures differ by no more than chance makes "
			 "likely.",
			 number, unit_count(all, (int64_t)told));
	else if (!*greatest && told == 1)
		snprintf(text, sizeof(text),
			 "The only measure that could be compared is the same "
			 "in both.");
	else if (!*greatest)
		snprintf(text, sizeof(text), "%s of %s measures %s the same in both.", number,
			 unit_count(all, (int64_t)told), told - beyond == 1 ? "is" : "are");
	else if (told == 1)
		snprintf(text, sizeof(text),
			 "The only measure that could be compared differs by no "
			 "more than chance makes likely: %s.",
			 greatest);
	else
		snprintf(text, sizeof(text),
			 "%s of %s measures differ by no more than chance makes "
			 "likely: %s.",
			 number, unit_count(all, (int64_t)told), greatest);
	paragraph_print(&inv->screen, "", text);
	if (no_vms)
		fprintf(inv->screen.out,
			"There is no VM in both of them: nothing but the CPU time of "
			"machines is compared.\n");
}

/* What is missing, once where it is one window of one file. */
static void print_missing(const struct invocation *inv, const struct comparison *p)
{
	char files[2][128];
	bool same = p->begin[0] == p->begin[1] && p->end[0] == p->end[1];

	for (unsigned i = 0; i < 2; i++)
		sonde_history_file_id(p->histories[i], files[i], sizeof(files[i]));
	same &= !strcmp(files[0], files[1]);
	for (unsigned i = same; i < 2; i++)
		missing_print_of(inv,
				 same ? "both: "
				 : i  ? "after: "
				      : "before: ",
				 p->histories[i], p->begin[i], p->end[i]);
}

enum exit_code comparison_print(const struct invocation *inv, const struct comparison *p,
				uint64_t top)
{
	char length[2][UNIT_TEXT];
	static const struct kind kinds[] = {
		{"Shares of time that changed", true, true},
		{"Rates that changed", false, true},
		{"Shares of time that may have changed: chance alone makes some look so different",
		 true, false},
		{"Rates that may have changed", false, false},
	};
	size_t told = 0, absent = 0, beyond = 0, shown = 0, all = sonde_rows_nr(p->rows);
	struct row_group *list =
		calloc(all + 1, sizeof(*list)); /* of those rows that are told as one */

	if (!list)
		return complain(inv, EXIT_FAILED, "out of memory");
	for (unsigned i = 0; i < 2; i++)
		unit_length(length[i], p->end[i] - p->begin[i],
			    sonde_history_ticks_are_ns(p->histories[i]));
	fprintf(inv->screen.out, "%s of %s, against %s of %s before\n", length[1], inv->operands[1],
		length[0], inv->operands[0]);
	print_missing(inv, p);
	print_matches(inv, p);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		uint64_t most = kinds[i].proven ? TOP_DEFAULT : TOP_UNPROVEN_DEFAULT;
		size_t nr = print_kind(inv, p->rows, &kinds[i], top ? top : most);

		beyond += kinds[i].proven ? nr : 0;
		shown += nr;
	}
	for (size_t row = 0; row < all; row++) {
		told += is_told(p->rows, row);
		absent += is_absent(p->rows, row);
	}
	if (shown)
		print_notes(inv, p->rows);
	print_rest(inv, p, told, beyond);
	print_hidden(inv, p, list);
	if (told + absent < all)
		print_doubts(inv, p, all - told - absent, list);
	print_absent(inv, p->rows, list);
	free(list);
	return EXIT_DONE;
}
