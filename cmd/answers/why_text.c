/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts as text: alike ones together, and what cannot be known behind them. */
#include "cmd/answers/why_text.h"

#include "analysis/longest.h"
#include "base/map.h"
#include "base/members.h"
#include "base/strings.h"
#include "base/units.h"
#include "cmd/common/missing.h"
#include "cmd/common/time_window.h"
#include "report/missing.h"
#include "report/paragraph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDENT "           " /* of what stands below a verdict's first line */

/* What to look at. */
static void print_place(const struct invocation *inv, const struct question *q, size_t row)
{
	char place[PLACE_TEXT];

	fprintf(inv->screen.out, INDENT "--time %s\n",
		place_text(place, q->history, verdict_cell(q, row, q->begin).i,
			   verdict_cell(q, row, q->end).i));
}

/* ---- of one cause -------------------------------------------------------------------------- */

/* A thread's name, which others may have, too; "" when there is none. */
static const char *name_of(const struct question *q, int64_t thread)
{
	struct sonde_thread t;

	return sonde_thread_get(q->history, thread, &t) ? "" : t.comm;
}

/* Two verdicts of one kind about the same vCPU, or about threads of one name, with one greatest
 * cause. */
static bool are_alike(const struct question *q, size_t a, size_t b)
{
	static const char *const same[] = {"machine", "culprit_machine", "culprit_cpu", "mode"};
	bool about_thread = !strcmp(verdict_cell(q, a, q->kind).s, "thread");

	if (strcmp(verdict_cell(q, a, q->kind).s, verdict_cell(q, b, q->kind).s) ||
	    (!about_thread && verdict_cell(q, a, q->vcpu).i != verdict_cell(q, b, q->vcpu).i))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		int column = sonde_rows_column(q->rows, same[i]);

		if (verdict_cell(q, a, column).i != verdict_cell(q, b, column).i)
			return false;
	}
	return !strcmp(verdict_cell(q, a, q->cause).s, verdict_cell(q, b, q->cause).s) &&
	       !strcmp(name_of(q, verdict_cell(q, a, q->culprit).i),
		       name_of(q, verdict_cell(q, b, q->culprit).i)) &&
	       (!about_thread || !strcmp(name_of(q, verdict_cell(q, a, q->thread).i),
					 name_of(q, verdict_cell(q, b, q->thread).i)));
}

/* Those that are told together with another, the worst of them. */
struct group {
	size_t more;
	int64_t cost, least; /* of all; the least of the others */
};

/* Of a thread that waited only where it is not known who ran nothing is found. */
static bool has_cost(const struct question *q, size_t row)
{
	return !verdict_is_unknown(q, row) && !verdict_is_attempt(q, row) &&
	       verdict_cell(q, row, q->cost).i > 0 && verdict_is_wanted(q, row);
}

/* Marks them in @told: rows come most costly first. */
static struct group group_of(const struct question *q, size_t row, bool *told)
{
	struct group g = {.cost = verdict_cell(q, row, q->cost).i};

	for (size_t i = row + 1; i < sonde_rows_nr(q->rows); i++) {
		if (told[i] || !has_cost(q, i) || !are_alike(q, row, i))
			continue;
		told[i] = true;
		g.more++;
		g.cost += verdict_cell(q, i, q->cost).i;
		g.least = verdict_cell(q, i, q->cost).i;
	}
	return g;
}

/* Of several verdicts without a main cause nothing says that it is the same one. */
static const char *what_they_share(const struct question *q, size_t row, bool about_thread)
{
	int machine = sonde_rows_column(q->rows, "culprit_machine");
	bool is_known = verdict_cell(q, row, machine).i >= 0 || *verdict_cell(q, row, q->cause).s;

	if (about_thread)
		return is_known ? "with the same main culprit" : "whose main culprit is not known";
	return is_known ? "with the same main cause" : "whose main cause is not known";
}

static void print_group(const struct invocation *inv, const struct question *q, size_t row,
			const struct group *g)
{
	bool is_ns = sonde_history_ticks_are_ns(q->history);
	bool about_thread = !strcmp(verdict_cell(q, row, q->kind).s, "thread");
	char text[400], nr[UNIT_TEXT], all[UNIT_TEXT], least[UNIT_TEXT];
	const struct why_options *opt = inv->values;

	if (!g->more)
		return;
	unit_count(nr, (int64_t)g->more + 1);
	unit_length(all, g->cost, is_ns);
	unit_length(least, g->least, is_ns);
	if (opt->slower_than)
		snprintf(text, sizeof(text),
			 "It is the longest of %s such delays %s: %s in all, the shortest %s.", nr,
			 what_they_share(q, row, false), all, least);
	else
		snprintf(text, sizeof(text),
			 "It is the worst of %s %s %s: %s in all, the least of them %s.", nr,
			 about_thread ? "threads of this name" : "verdicts of this kind",
			 what_they_share(q, row, about_thread), all, least);
	paragraph_print(&inv->screen, INDENT, text);
}

/* Where its first sentence ends. */
static size_t first_sentence_len(const char *text)
{
	for (const char *end = text; (end = strstr(end, ". ")); end++) {
		if (end[2] >= 'A' && end[2] <= 'Z')
			return (size_t)(end + 1 - text);
	}
	return strlen(text);
}

/* Its first sentence has a line of its own: who goes through the list reads only these. */
static void print_row(const struct invocation *inv, const struct question *q, size_t row)
{
	const char *text = verdict_cell(q, row, q->text).s;
	size_t len = first_sentence_len(text);
	char lead[UNIT_TEXT + 4], cost[UNIT_TEXT], first[400];

	snprintf(lead, sizeof(lead), "%9s  ",
		 unit_length(cost, verdict_cell(q, row, q->cost).i,
			     sonde_history_ticks_are_ns(q->history)));
	if (len >= sizeof(first)) {
		paragraph_print(&inv->screen, lead, text);
		return;
	}
	snprintf(first, sizeof(first), "%.*s", (int)len, text);
	paragraph_print(&inv->screen, lead, first);
	if (text[len])
		paragraph_print(&inv->screen, INDENT, text + len + 1);
}

#define TOP_DEFAULT 10

static size_t print_costs(const struct invocation *inv, const struct question *q, uint64_t top)
{
	const struct why_options *opt = inv->values;
	bool *told = calloc(sonde_rows_nr(q->rows) + 1, sizeof(*told));
	size_t more = 0;
	size_t shown = 0;

	for (size_t row = 0; row < sonde_rows_nr(q->rows) && told; row++) {
		struct group g;

		if (told[row] || !has_cost(q, row))
			continue;
		if (shown == top) {
			more++;
			continue;
		}
		shown++;
		g = group_of(q, row, told);
		fputc('\n', inv->screen.out);
		print_row(inv, q, row);
		print_group(inv, q, row, &g);
		print_place(inv, q, row);
	}
	free(told);
	if (more)
		fprintf(inv->screen.out, "\n... and %zu more that %s (-n shows more)\n", more,
			opt->slower_than ? "were shorter" : "cost less");
	return shown;
}

/* That there may be more delays than those that are looked at. */
static void print_limit(const struct invocation *inv, const struct question *q)
{
	size_t nr = sonde_rows_nr(q->rows);
	char text[200], least[UNIT_TEXT];

	if (nr < LONGEST_MAX || verdict_cell(q, nr - 1, q->cost).i < q->slower_than)
		return;
	snprintf(
		text, sizeof(text),
		"Only the %d longest delays of the window are looked at, the shortest of them %s: --time narrows it.",
		LONGEST_MAX,
		unit_length(least, verdict_cell(q, nr - 1, q->cost).i,
			    sonde_history_ticks_are_ns(q->history)));
	fputc('\n', inv->screen.out);
	paragraph_print(&inv->screen, "", text);
}

/* ---- what cannot be known ------------------------------------------------------------------- */

/* What a sentence says after whom it is about, and how much. */
static const char *reason_of(const struct question *q, size_t row)
{
	const char *text = verdict_cell(q, row, q->text).s, *colon = strstr(text, ": ");

	return colon ? colon : text;
}

/* It may be told of many in one sentence. */
static bool is_of_many(const char *what)
{
	static const char *const told_of_many[] = {"vcpus", "lost",	"trace",
						   "clock", "syscalls", "waits"};
	bool of_many = false;

	for (size_t i = 0; i < ARRAY_SIZE(told_of_many); i++)
		of_many |= !strcmp(what, told_of_many[i]);
	return of_many;
}

/* Whom a row is about, and how much of it is not known. */
static void put_whom(FILE *out, const struct question *q, size_t row)
{
	int64_t time = verdict_cell(q, row, q->culprit_time).i,
		events = verdict_cell(q, row, q->count).i;
	char text[UNIT_TEXT];
	struct sonde_machine m;
	struct sonde_cpu cpu;

	if (!sonde_machine_get(q->history, verdict_cell(q, row, q->machine).i, &m))
		fputs(m.name, out);
	if (!sonde_cpu_get(q->history, verdict_cell(q, row, q->vcpu).i, &cpu))
		fprintf(out, " vCPU %d", cpu.number);
	if (time)
		fprintf(out, " (%s)",
			unit_length(text, time, sonde_history_ticks_are_ns(q->history)));
	else if (!strcmp(verdict_cell(q, row, q->cause).s, "lost") && events)
		fprintf(out, " (%s events)", unit_count(text, events));
}

/* Rows that have the same reason, by the first of them. */
struct reasons {
	struct strings texts;
	struct map first; /* what is unknown, and why -> the first row of it */
	struct members rows;
	bool no_memory;
};

static uint64_t id_of_text(struct reasons *r, const char *text)
{
	uint32_t id = strings_put(&r->texts, text, strlen(text));

	r->no_memory |= id == UINT32_MAX;
	return id;
}

/* The row with which it is told. */
static size_t told_with(struct reasons *r, const struct question *q, size_t row)
{
	const char *what = verdict_cell(q, row, q->cause).s;
	bool has_time = verdict_cell(q, row, q->culprit_time).i != 0;
	uint64_t key;
	const uint32_t *first;

	if (!is_of_many(what))
		return row;
	key = id_of_text(r, reason_of(q, row)) << 32 | id_of_text(r, what) << 1 | has_time;
	first = map_get(&r->first, key);
	if (first)
		return *first;
	r->no_memory |= map_put(&r->first, key, (uint32_t)row) != 0;
	return row;
}

/* False: no memory. */
static bool find_reasons(struct reasons *r, const struct question *q)
{
	size_t nr = sonde_rows_nr(q->rows);
	size_t *with = calloc(nr + 1, sizeof(*with));

	if (!with || members_init(&r->rows, (int64_t)nr, (int64_t)nr)) {
		free(with);
		return false;
	}
	for (size_t row = 0; row < nr; row++) {
		with[row] = SIZE_MAX;
		if (verdict_is_unknown(q, row) && verdict_is_wanted(q, row))
			with[row] = told_with(r, q, row);
	}
	for (size_t row = nr; row-- > 0;) {
		if (with[row] != SIZE_MAX)
			members_add(&r->rows, (int64_t)with[row], (int64_t)row);
	}
	free(with);
	return !r->no_memory;
}

/* The row's sentence, and who else it is said of.  Owned by the caller; NULL: no memory. */
static char *unknown_text(const struct question *q, const struct reasons *r, size_t row)
{
	int64_t next = members_next(&r->rows, (int64_t)row);
	const char *between = " The same goes for ";
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs(verdict_cell(q, row, q->text).s, out);
	while (next >= 0) {
		size_t whom = (size_t)next;

		next = members_next(&r->rows, next);
		fputs(next < 0 && *between == ',' ? " and " : between, out);
		put_whom(out, q, whom);
		between = ", ";
	}
	if (*between == ',')
		fputc('.', out);
	return fclose(out) ? NULL : text;
}

static void print_unknown(const struct invocation *inv, const struct question *q)
{
	struct reasons r = {0};
	bool any = false;
	size_t nr = find_reasons(&r, q) ? sonde_rows_nr(q->rows) : 0;

	for (size_t row = 0; row < nr; row++) {
		char *text;

		if (members_first(&r.rows, (int64_t)row) < 0)
			continue;
		if (!any)
			screen_title(&inv->screen, "What cannot be known");
		any = true;
		text = unknown_text(q, &r, row);
		paragraph_print(&inv->screen, "- ", text ? text : verdict_cell(q, row, q->text).s);
		free(text);
	}
	strings_release(&r.texts);
	map_release(&r.first);
	members_release(&r.rows);
}

/* ---- what was refused ----------------------------------------------------------------------- */

static void print_attempts(const struct invocation *inv, const struct question *q)
{
	bool any = false;

	for (size_t row = 0; row < sonde_rows_nr(q->rows); row++) {
		if (!verdict_is_attempt(q, row) || !verdict_is_wanted(q, row))
			continue;
		if (!any)
			screen_title(&inv->screen, "What was refused");
		any = true;
		paragraph_print(&inv->screen, "- ", verdict_cell(q, row, q->text).s);
	}
}

/* ---- no verdict ----------------------------------------------------------------------------- */

/* Where nobody knows what ran, nobody knows what was delayed. */
static void print_nothing(const struct invocation *inv, const struct question *q, int64_t begin,
			  int64_t end)
{
	const struct why_options *opt = inv->values;
	struct not_known of;

	if (not_known_find(&of, q->history, begin, end) ||
	    (of.time_ns && of.time_ns == of.all_ns)) {
		fputs("\nSteal time and run-queue delay are not known: no trace shows what CPUs ran.\n",
		      inv->screen.out);
		return;
	}
	fprintf(inv->screen.out, "\n%s%s was delayed%s.\n",
		of.time_ns ? "As far as the traces show, nothing" : "Nothing",
		opt->task ? " of that name" : "", opt->slower_than ? " that long" : "");
}

/* ---- all of it ------------------------------------------------------------------------------ */

void why_print_text(const struct invocation *inv, const struct question *q, int64_t begin,
		    int64_t end)
{
	const struct why_options *opt = inv->values;
	bool is_ns = sonde_history_ticks_are_ns(q->history);
	char from[UNIT_TEXT], length[UNIT_TEXT];
	struct sonde_machine l0;

	sonde_machine_get(q->history, 0, &l0);
	screen_say(&inv->screen, "%s: %s%s from %s, ", l0.name,
		   unit_length(length, end - begin, is_ns), inv->common.time ? "" : " traced",
		   unit_time(from, begin, is_ns));
	if (opt->slower_than)
		fprintf(inv->screen.out, "delays of %s or more, longest first\n",
			unit_length(length, q->slower_than, is_ns));
	else
		fputs("most costly first\n", inv->screen.out);
	missing_print(inv, q->history, begin, end);
	if (!print_costs(inv, q, opt->top ? opt->top : TOP_DEFAULT))
		print_nothing(inv, q, begin, end);
	if (opt->slower_than)
		print_limit(inv, q);
	print_attempts(inv, q);
	print_unknown(inv, q);
}
