/* SPDX-License-Identifier: Apache-2.0 */
/* sonde why: what cost time, most costly first, in sentences. */
#include "analysis/longest.h"
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/place.h"
#include "report/facts.h"
#include "report/paragraph.h"
#include "report/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct why_options {
	uint64_t top;
	const char *vm;
	const char *task;
	const char *slower_than;
};

#define FIELD(field) offsetof(struct why_options, field)
#define TOP_DEFAULT 10

static const struct option_row option_rows[] = {
	{'n', "top", OPTION_NUMBER, FIELD(top), "N", NULL,
	 "how many verdicts (default 10; JSON has all of them)", 0},
	{0, "vm", OPTION_TEXT, FIELD(vm), "NAME", NULL,
	 "only what is about this machine and those inside it", 0},
	{0, "task", OPTION_TEXT, FIELD(task), "NAME", NULL,
	 "only what is about threads of this name, or NAME[TID]", 0},
	{0, "slower-than", OPTION_TEXT, FIELD(slower_than), "TIME", NULL,
	 "delays one by one, those of TIME or more: 10ms, 500us", 0},
};

/* A question: which rows are wanted. */
struct question {
	struct sonde_run *run;
	int64_t vm;	  /* machine, -1 any */
	const char *task; /* NULL any */
	int64_t slower_than;
	struct sonde_facts *facts;
	int text, cost, begin, end, kind, machine, vcpu, thread, culprit, culprit_time, count, cause; /* columns */
};

static void find_columns(struct question *q)
{
	q->text = sonde_facts_column(q->facts, "text");
	q->cost = sonde_facts_column(q->facts, "cost");
	q->begin = sonde_facts_column(q->facts, "begin");
	q->end = sonde_facts_column(q->facts, "end");
	q->kind = sonde_facts_column(q->facts, "kind");
	q->machine = sonde_facts_column(q->facts, "machine");
	q->vcpu = sonde_facts_column(q->facts, "vcpu");
	q->thread = sonde_facts_column(q->facts, "thread");
	q->culprit = sonde_facts_column(q->facts, "culprit");
	q->culprit_time = sonde_facts_column(q->facts, "culprit_time");
	q->count = sonde_facts_column(q->facts, "count");
	q->cause = sonde_facts_column(q->facts, "cause");
}

static union sonde_cell cell(const struct question *q, size_t row, int column)
{
	return sonde_facts_cell(q->facts, row, (unsigned)column);
}

/* @inner is in @outer, or it is that. */
static bool is_around(const struct question *q, int64_t outer, int64_t inner)
{
	struct sonde_machine m;

	while (inner >= 0 && inner != outer && !sonde_machine(q->run, inner, &m))
		inner = m.parent;
	return inner == outer;
}

static bool is_inside(const struct question *q, int64_t machine)
{
	return is_around(q, q->vm, machine);
}

static bool is_task(const struct question *q, int64_t thread)
{
	struct sonde_thread t;
	char label[80];

	if (sonde_thread(q->run, thread, &t))
		return false;
	snprintf(label, sizeof(label), "%s[%" PRId64 "]", t.comm, t.tid);
	return !strcmp(t.comm, q->task) || !strcmp(label, q->task);
}

static bool is_unknown(const struct question *q, size_t row)
{
	return !strcmp(cell(q, row, q->kind).s, "unknown");
}

/* The machine that is unknown in some way is a task's own, or one around it whose events are. */
static bool concerns_task(const struct question *q, size_t row)
{
	int64_t machine = cell(q, row, q->machine).i;
	const char *what = cell(q, row, q->cause).s;
	bool of_around = !strcmp(what, "cpus") || !strcmp(what, "lost");

	for (int64_t i = 0; i < sonde_nr_threads(q->run); i++) {
		struct sonde_thread t;

		if (!is_task(q, i) || sonde_thread(q->run, i, &t) ||
		    (q->vm >= 0 && !is_inside(q, t.machine)))
			continue;
		if (t.machine == machine || (of_around && is_around(q, machine, t.machine)))
			return true;
	}
	return false;
}

static bool wanted(const struct question *q, size_t row)
{
	if (is_unknown(q, row) && q->task)
		return concerns_task(q, row);
	if (q->vm >= 0 && !is_inside(q, cell(q, row, q->machine).i))
		return false;
	if (is_unknown(q, row))
		return true;
	if (q->task && !is_task(q, cell(q, row, q->thread).i))
		return false;
	return cell(q, row, q->cost).i >= q->slower_than;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* What to look at. */
static void print_place(const struct invocation *inv, const struct question *q, size_t row)
{
	char place[PLACE_TEXT];

	fprintf(inv->screen.out, "%11s--time %s\n", "",
		place_text(place, q->run, cell(q, row, q->begin).i, cell(q, row, q->end).i));
}

/* ---- of one cause -------------------------------------------------------------------------- */

/* A thread's name, which others may have, too; "" when there is none. */
static const char *name_of(const struct question *q, int64_t thread)
{
	struct sonde_thread t;

	return sonde_thread(q->run, thread, &t) ? "" : t.comm;
}

/* Two verdicts of one kind about the same vCPU, or about threads of one name, with one greatest
 * cause. */
static bool are_alike(const struct question *q, size_t a, size_t b)
{
	static const char *const same[] = {"machine", "culprit_machine", "culprit_cpu", "mode"};
	bool about_thread = !strcmp(cell(q, a, q->kind).s, "thread");

	if (strcmp(cell(q, a, q->kind).s, cell(q, b, q->kind).s) ||
	    (!about_thread && cell(q, a, q->vcpu).i != cell(q, b, q->vcpu).i))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		int column = sonde_facts_column(q->facts, same[i]);

		if (cell(q, a, column).i != cell(q, b, column).i)
			return false;
	}
	return !strcmp(cell(q, a, q->cause).s, cell(q, b, q->cause).s) &&
	       !strcmp(name_of(q, cell(q, a, q->culprit).i),
		       name_of(q, cell(q, b, q->culprit).i)) &&
	       (!about_thread ||
		!strcmp(name_of(q, cell(q, a, q->thread).i), name_of(q, cell(q, b, q->thread).i)));
}

/* Those that are told together with another, the worst of them. */
struct group {
	size_t more;
	int64_t cost, least; /* of all; the least of the others */
};

/* Marks them in @told: rows come most costly first. */
static struct group group_of(const struct question *q, size_t row, bool *told)
{
	struct group g = {.cost = cell(q, row, q->cost).i};

	for (size_t i = row + 1; i < sonde_facts_nr_rows(q->facts); i++) {
		if (told[i] || is_unknown(q, i) || !wanted(q, i) || !are_alike(q, row, i))
			continue;
		told[i] = true;
		g.more++;
		g.cost += cell(q, i, q->cost).i;
		g.least = cell(q, i, q->cost).i;
	}
	return g;
}

static void print_group(const struct invocation *inv, const struct question *q, size_t row,
			const struct group *g)
{
	bool is_ns = sonde_run_ticks_are_ns(q->run);
	bool about_thread = !strcmp(cell(q, row, q->kind).s, "thread");
	char text[400], nr[UNIT_TEXT], all[UNIT_TEXT], least[UNIT_TEXT];
	const struct why_options *opt = inv->values;

	if (!g->more)
		return;
	unit_count(nr, (int64_t)g->more + 1);
	unit_length(all, g->cost, is_ns);
	unit_length(least, g->least, is_ns);
	if (opt->slower_than)
		snprintf(text, sizeof(text),
			 "This is the longest of %s such delays, of the same greatest cause: %s in all, the shortest %s.",
			 nr, all, least);
	else
		snprintf(text, sizeof(text), "This is the worst of %s %s: %s in all, the least %s.", nr,
			 about_thread ? "threads of that name that the same kept off the CPU most"
				      : "of the same greatest cause",
			 all, least);
	paragraph_print(&inv->screen, "           ", text);
}

static void print_row(const struct invocation *inv, const struct question *q, size_t row)
{
	char lead[UNIT_TEXT + 4], cost[UNIT_TEXT];

	snprintf(lead, sizeof(lead), "%9s  ",
		 unit_length(cost, cell(q, row, q->cost).i, sonde_run_ticks_are_ns(q->run)));
	paragraph_print(&inv->screen, lead, cell(q, row, q->text).s);
}

static size_t print_costs(const struct invocation *inv, const struct question *q, uint64_t top)
{
	const struct why_options *opt = inv->values;
	bool *told = calloc(sonde_facts_nr_rows(q->facts) + 1, sizeof(*told));
	size_t more = 0;
	size_t shown = 0;

	for (size_t row = 0; row < sonde_facts_nr_rows(q->facts) && told; row++) {
		struct group g;

		if (told[row] || is_unknown(q, row) || !wanted(q, row))
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
	size_t nr = sonde_facts_nr_rows(q->facts);
	char text[200], least[UNIT_TEXT];

	if (nr < LONGEST_MAX || cell(q, nr - 1, q->cost).i < q->slower_than)
		return;
	snprintf(text, sizeof(text),
		 "Only the %d longest delays of the window are looked at, the shortest of them %s: --time narrows it.",
		 LONGEST_MAX, unit_length(least, cell(q, nr - 1, q->cost).i, sonde_run_ticks_are_ns(q->run)));
	fputc('\n', inv->screen.out);
	paragraph_print(&inv->screen, "", text);
}

/* ---- what cannot be known ------------------------------------------------------------------- */

/* What a sentence says after whom it is about, and how much. */
static const char *reason_of(const struct question *q, size_t row)
{
	const char *text = cell(q, row, q->text).s, *colon = strstr(text, ": ");

	return colon ? colon : text;
}

static bool have_same_reason(const struct question *q, size_t a, size_t b)
{
	static const char *const told_of_many[] = {"vcpus", "lost", "trace", "clock", "syscalls"};
	const char *what = cell(q, a, q->cause).s;
	bool of_many = false;

	for (size_t i = 0; i < ARRAY_SIZE(told_of_many); i++)
		of_many |= !strcmp(what, told_of_many[i]);
	return of_many && !strcmp(what, cell(q, b, q->cause).s) &&
	       !strcmp(reason_of(q, a), reason_of(q, b)) &&
	       !cell(q, a, q->culprit_time).i == !cell(q, b, q->culprit_time).i;
}

/* Whom a row is about, and how much of it is not known. */
static void put_whom(FILE *out, const struct question *q, size_t row)
{
	int64_t time = cell(q, row, q->culprit_time).i, events = cell(q, row, q->count).i;
	char text[UNIT_TEXT];
	struct sonde_machine m;
	struct sonde_cpu cpu;

	if (!sonde_machine(q->run, cell(q, row, q->machine).i, &m))
		fputs(m.name, out);
	if (!sonde_cpu(q->run, cell(q, row, q->vcpu).i, &cpu))
		fprintf(out, " vCPU %d", cpu.number);
	if (time)
		fprintf(out, " (%s)", unit_length(text, time, sonde_run_ticks_are_ns(q->run)));
	else if (!strcmp(cell(q, row, q->cause).s, "lost") && events)
		fprintf(out, " (%s events)", unit_count(text, events));
}

/* The row's sentence, and who else it is said of; marks these in @told.  Owned by the caller; NULL: no memory. */
static char *unknown_text(const struct question *q, size_t row, bool *told)
{
	size_t len, last = row;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs(cell(q, row, q->text).s, out);
	for (size_t i = row + 1; i < sonde_facts_nr_rows(q->facts); i++) {
		if (told[i] || !is_unknown(q, i) || !wanted(q, i) || !have_same_reason(q, row, i))
			continue;
		told[i] = true;
		fputs(last == row ? " The same goes for " : ", ", out);
		put_whom(out, q, i);
		last = i;
	}
	fputs(last == row ? "" : ".", out);
	return fclose(out) ? NULL : text;
}

static void print_unknown(const struct invocation *inv, const struct question *q)
{
	bool *told = calloc(sonde_facts_nr_rows(q->facts) + 1, sizeof(*told));
	bool any = false;

	for (size_t row = 0; row < sonde_facts_nr_rows(q->facts) && told; row++) {
		char *text;

		if (told[row] || !is_unknown(q, row) || !wanted(q, row))
			continue;
		if (!any)
			screen_title(&inv->screen, "What cannot be known");
		any = true;
		text = unknown_text(q, row, told);
		paragraph_print(&inv->screen, "- ", text ? text : cell(q, row, q->text).s);
		free(text);
	}
	free(told);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static enum exit_code print_text(const struct invocation *inv, const struct question *q,
				 int64_t begin, int64_t end)
{
	const struct why_options *opt = inv->values;
	bool is_ns = sonde_run_ticks_are_ns(q->run);
	char from[UNIT_TEXT], length[UNIT_TEXT];
	struct sonde_machine l0;

	sonde_machine(q->run, 0, &l0);
	fprintf(inv->screen.out, "%s: %s from %s, ", l0.name,
		unit_length(length, end - begin, is_ns), unit_time(from, begin, is_ns));
	if (opt->slower_than)
		fprintf(inv->screen.out, "delays of %s or more, longest first\n",
			unit_length(length, q->slower_than, is_ns));
	else
		fputs("most costly first\n", inv->screen.out);
	if (!print_costs(inv, q, opt->top ? opt->top : TOP_DEFAULT))
		fprintf(inv->screen.out, "\nNothing%s was kept from running%s.\n",
			opt->task ? " of that name" : "", opt->slower_than ? " that long" : "");
	if (opt->slower_than)
		print_limit(inv, q);
	print_unknown(inv, q);
	return EXIT_DONE;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static enum exit_code print_json(const struct invocation *inv, const struct question *q,
				 int64_t begin, int64_t end)
{
	struct json j = {.out = inv->screen.out};

	json_begin_object(&j, NULL);
	json_int(&j, "begin", begin);
	json_int(&j, "end", end);
	json_bool(&j, "ticks_are_ns", sonde_run_ticks_are_ns(q->run));
	json_begin_array(&j, "why");
	for (size_t row = 0; row < sonde_facts_nr_rows(q->facts); row++) {
		if (wanted(q, row))
			facts_json_row(&j, q->run, q->facts, row);
	}
	json_end(&j);
	json_end(&j);
	return EXIT_DONE;
}

/* ---- the command --------------------------------------------------------------------------- */

static bool parse_length(const char *text, int64_t *out)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};
	char *rest;
	double value = strtod(text, &rest);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (rest == text || strcmp(rest, units[i].unit) || !(value >= 0) ||
		    value * units[i].ns > 9e18)
			continue;
		*out = (int64_t)(value * units[i].ns);
		return true;
	}
	return false;
}

static bool task_exists(const struct question *q)
{
	for (int64_t row = 0; row < sonde_nr_threads(q->run); row++) {
		if (is_task(q, row))
			return true;
	}
	return false;
}

static enum exit_code read_question(const struct invocation *inv, struct question *q)
{
	const struct why_options *opt = inv->values;

	if (opt->slower_than && !parse_length(opt->slower_than, &q->slower_than))
		return complain(
			inv, EXIT_USAGE,
			"--slower-than: \"%s\" is no length of time; write 10ms, 500us or 1.5s",
			opt->slower_than);
	if (opt->vm) {
		q->vm = sonde_find_machine(q->run, opt->vm);
		if (q->vm < 0)
			return complain(inv, EXIT_USAGE,
					"--vm: there is no machine \"%s\"; sonde tree lists them",
					opt->vm);
	}
	q->task = opt->task;
	if (q->task && !task_exists(q))
		return complain(inv, EXIT_USAGE,
				"--task: no thread is called \"%s\"; sonde report -s thread_time "
				"lists them",
				q->task);
	return EXIT_DONE;
}

static enum exit_code answer(const struct invocation *inv, struct question *q)
{
	const struct why_options *opt = inv->values;
	enum exit_code code = read_question(inv, q);
	struct sonde_error err = {0};
	int64_t begin, end;

	if (code)
		return code;
	if (!get_window(inv, q->run, &begin, &end))
		return EXIT_USAGE;
	ticker_say(inv->ticker, "why");
	sonde_facts_get(&q->facts, q->run, opt->slower_than ? "delay" : "why", begin, end, &err);
	ticker_hide(inv->ticker);
	if (err.code)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	find_columns(q);
	code = is_json(inv) ? print_json(inv, q, begin, end) : print_text(inv, q, begin, end);
	sonde_facts_free(q->facts);
	return code;
}

static enum exit_code run_why(const struct invocation *inv)
{
	struct question q = {.vm = -1};
	enum exit_code code = open_input(inv, &q.run);

	if (code)
		return code;
	code = answer(inv, &q);
	sonde_run_close(q.run);
	return code;
}

const struct command why_command = {
	.name = "why",
	.summary = "what cost time, most costly first, in plain sentences",
	.operands = "[FILE]",
	.about = "Each verdict says who was kept from running, how long, because of whom, and "
		 "where\n"
		 "its worst stretch is: --time A,B below it is for sonde timeline, state and "
		 "report.\n"
		 "What cannot be known is said at the end, with what to record next time.\n",
	.common = COMMON_INPUT | COMMON_FORMAT | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct why_options),
	.pages = true,
	.run = run_why,
};
