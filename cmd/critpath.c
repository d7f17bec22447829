/* SPDX-License-Identifier: Apache-2.0 */
/* sonde critpath: what a thread waited for, followed through all layers. */
#include "analysis/facts.h"
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/critpath_marks.h"
#include "report/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct critpath_options {
	const char *task;
	const char *vm;
	const char *from, *to;
	uint64_t nth;
	uint64_t top;
	bool folded;
};

#define FIELD(field) offsetof(struct critpath_options, field)
/* Lines of sums; what is beyond them is little, and told as one. */
#define SUMS_MAX 15
#define TOP_DEFAULT 40

static const struct option_row option_rows[] = {
	{0, "task", OPTION_TEXT, FIELD(task), "NAME", NULL,
	 "whose path: a thread's name, or NAME[TID]", 0},
	{0, "vm", OPTION_TEXT, FIELD(vm), "NAME", NULL,
	 "machine the thread is in, when several have one", 0},
	{0, "from", OPTION_TEXT, FIELD(from), "MARK", NULL,
	 "from this mark, or, without --to, of spans of this name", 0},
	{0, "to", OPTION_TEXT, FIELD(to), "MARK", NULL,
	 "to the mark that follows; of several such requests the longest", 0},
	{0, "nth", OPTION_NUMBER, FIELD(nth), "N", NULL, "the Nth longest of them instead", 0},
	{'n', "top", OPTION_NUMBER, FIELD(top), "N", NULL,
	 "how many lines of \"Step by step\", the longest steps (default 40; JSON has all)", 0},
	{0, "folded", OPTION_FLAG, FIELD(folded), NULL, NULL,
	 "one line per kind of step, as flame graph programs read it: thread;is;what ns", 0},
};

/* ---- which thread -------------------------------------------------------------------------- */

#define CANDIDATES_MAX 6

static bool matches(const struct critpath_options *opt, struct sonde_run *run, int64_t row,
		    int64_t machine)
{
	struct sonde_thread t;
	char label[80];

	if (sonde_thread(run, row, &t) || !t.tid || (machine >= 0 && t.machine != machine))
		return false;
	snprintf(label, sizeof(label), "%s[%" PRId64 "]", t.comm, t.tid);
	return !strcmp(t.comm, opt->task) || !strcmp(label, opt->task);
}

static enum exit_code complain_several(const struct invocation *inv, struct sonde_run *run,
				       const int64_t *rows, unsigned nr)
{
	char names[600] = "";
	size_t used = 0;

	for (unsigned i = 0; i < nr && i < CANDIDATES_MAX && used < sizeof(names); i++) {
		struct sonde_thread t;
		struct sonde_machine m;

		sonde_thread(run, rows[i], &t);
		sonde_machine(run, t.machine, &m);
		used += (size_t)snprintf(names + used, sizeof(names) - used,
					 "%s%s[%" PRId64 "] of %s", i ? ", " : "", t.comm, t.tid,
					 m.name);
	}
	return complain(
		inv, EXIT_USAGE,
		"--task: several threads are called so; name one, with --vm where they are in "
		"several machines: %s%s",
		names, nr > CANDIDATES_MAX ? " ..." : "");
}

static enum exit_code find_thread(const struct invocation *inv, struct sonde_run *run,
				  int64_t begin, int64_t end, int64_t *out)
{
	const struct critpath_options *opt = inv->values;
	int64_t rows[CANDIDATES_MAX + 1];
	int64_t machine = opt->vm ? sonde_find_machine(run, opt->vm) : -1;
	unsigned nr = 0;

	if (opt->vm && machine < 0)
		return complain(inv, EXIT_USAGE,
				"--vm: there is no machine \"%s\"; sonde tree lists them", opt->vm);
	for (int64_t row = 0; row < sonde_nr_threads(run) && nr <= CANDIDATES_MAX; row++) {
		struct sonde_thread t;

		if (!matches(opt, run, row, machine))
			continue;
		sonde_thread(run, row, &t);
		if (t.begin < end && (t.end < 0 || t.end > begin))
			rows[nr++] = row;
	}
	if (nr > 1)
		return complain_several(inv, run, rows, nr);
	if (!nr)
		return complain(inv, EXIT_USAGE,
				"--task: no thread was called \"%s\" in that time; sonde report -s "
				"thread_time lists them",
				opt->task);
	*out = rows[0];
	return EXIT_DONE;
}

/* ---- whose path, from when to when --------------------------------------------------------- */

/* Whose path: that of --task, else of who made the second mark. */
static enum exit_code choose(const struct invocation *inv, struct sonde_run *run, int64_t *begin,
			     int64_t *end, struct marked_request *request, int64_t *thread)
{
	const struct critpath_options *opt = inv->values;
	enum exit_code code = EXIT_DONE;

	if (opt->from)
		code = marked_request_find(inv, run,
					   &(struct marks_wanted){opt->from, opt->to, opt->nth},
					   *begin, *end, request);
	if (code)
		return code;
	if (opt->from) {
		*begin = request->pair.from.t;
		*end = request->pair.to.t;
	}
	if (opt->task)
		return find_thread(inv, run, *begin, *end, thread);
	*thread = mark_thread(run, &request->pair.to);
	if (*thread < 0)
		return complain(
			inv, EXIT_USAGE,
			"it is not known which thread made the second mark: say whose path with "
			"--task");
	return EXIT_DONE;
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* Steps that are alike, together. */
struct sum {
	int64_t machine, thread;
	const char *kind, *what;
	int64_t time;
};

struct sums {
	struct sum *list; /* owned */
	size_t nr;
};

static int by_identity(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;
	int order = strcmp(x->kind, y->kind);

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return order ? order : strcmp(x->what, y->what);
}

static int by_time(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->time < y->time ? 1 : x->time > y->time ? -1 : by_identity(a, b);
}

/* @with_what: tell apart what steps were about, too. */
static bool sum_up(const struct sonde_facts *f, bool with_what, struct sums *out)
{
	size_t nr = sonde_facts_nr_rows(f);
	size_t kept = 0;

	out->list = calloc(nr + 1, sizeof(*out->list));
	if (!out->list)
		return false;
	for (size_t i = 0; i < nr; i++)
		out->list[i] = (struct sum){
			facts_named(f, i, "machine").i, facts_named(f, i, "thread").i,
			facts_named(f, i, "kind").s, with_what ? facts_named(f, i, "what").s : "",
			facts_named(f, i, "length").i};
	qsort(out->list, nr, sizeof(*out->list), by_identity);
	for (size_t i = 1; i < nr; i++) {
		if (by_identity(&out->list[kept], &out->list[i]))
			out->list[++kept] = out->list[i];
		else
			out->list[kept].time += out->list[i].time;
	}
	out->nr = nr ? kept + 1 : 0;
	qsort(out->list, out->nr, sizeof(*out->list), by_time);
	return true;
}

static void thread_text(struct sonde_run *run, int64_t thread, char *buf, size_t room)
{
	struct sonde_machine m;
	struct sonde_thread t;
	char label[120];

	if (sonde_thread(run, thread, &t) || sonde_machine(run, t.machine, &m)) {
		snprintf(buf, room, "?");
		return;
	}
	sonde_thread_label(run, thread, label, sizeof(label));
	snprintf(buf, room, "%s %s", m.name, label);
}

/* ---- text ---------------------------------------------------------------------------------- */

static int print_sums(const struct invocation *inv, struct sonde_run *run,
		      const struct sonde_facts *f, int64_t length)
{
	struct table *t = table_new(&inv->screen);
	bool is_ns = sonde_run_ticks_are_ns(run);
	size_t shown = SUMS_MAX;
	struct sums sums;
	int64_t rest = 0;

	if (!t || !sum_up(f, false, &sums))
		return -ENOMEM;
	/* A line that stands for one other is that one. */
	if (sums.nr <= shown + 1)
		shown = sums.nr;
	for (size_t i = shown; i < sums.nr; i++)
		rest += sums.list[i].time;
	table_column(t, "TIME", TABLE_RIGHT);
	table_column(t, "SHARE", TABLE_RIGHT);
	table_column(t, "THREAD", 0);
	table_column(t, "IS", 0);
	for (size_t i = 0; i < sums.nr && i <= shown; i++) {
		int64_t time = i < shown ? sums.list[i].time : rest;
		char text[200], unit[UNIT_TEXT];
		int line = table_line(t, TABLE_NO_PARENT);

		table_cell(t, line, 0, unit_length(unit, time, is_ns));
		table_cell(t, line, 1,
			   unit_share(unit, (int64_t)((double)time * 1e6 / (double)length)));
		if (i < shown)
			thread_text(run, sums.list[i].thread, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "... %zu smaller parts", sums.nr - shown);
		table_cell(t, line, 2, text);
		table_cell(t, line, 3, i < shown ? sums.list[i].kind : "");
	}
	free(sums.list);
	screen_title(&inv->screen, "What the time went into");
	return table_print(t);
}

static int by_length(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The length from which on a step is among the @top longest. */
static int64_t shortest_shown(const struct sonde_facts *f, uint64_t top)
{
	size_t nr = sonde_facts_nr_rows(f);
	int64_t *lengths = malloc((nr + 1) * sizeof(*lengths));
	int64_t shortest = 0;

	if (!lengths)
		return 0;
	for (size_t i = 0; i < nr; i++)
		lengths[i] = facts_named(f, i, "length").i;
	qsort(lengths, nr, sizeof(*lengths), by_length);
	if (nr > top)
		shortest = lengths[top - 1];
	free(lengths);
	return shortest;
}

/* A line for the steps between two that are shown. */
static void print_left_out(struct table *t, size_t nr, int64_t time, bool is_ns)
{
	char text[80], unit[UNIT_TEXT];
	int line;

	if (!nr)
		return;
	line = table_line(t, TABLE_NO_PARENT);
	table_cell(t, line, 1, unit_length(unit, time, is_ns));
	snprintf(text, sizeof(text), "... %zu shorter step%s", nr, nr == 1 ? "" : "s");
	table_cell(t, line, 2, text);
}

static int print_steps(const struct invocation *inv, struct sonde_run *run,
		       const struct sonde_facts *f)
{
	const struct critpath_options *opt = inv->values;
	int64_t shortest = shortest_shown(f, opt->top ? opt->top : TOP_DEFAULT);
	struct table *t = table_new(&inv->screen);
	bool is_ns = sonde_run_ticks_are_ns(run);
	int64_t left_out_time = 0;
	size_t left_out = 0;

	if (!t)
		return -ENOMEM;
	table_column(t, "AT", TABLE_RIGHT);
	table_column(t, "FOR", TABLE_RIGHT);
	table_column(t, "THREAD", 0);
	table_column(t, "IS", 0);
	table_column(t, "WHAT", TABLE_WRAP);
	for (size_t i = 0; i < sonde_facts_nr_rows(f); i++) {
		int64_t length = facts_named(f, i, "length").i;
		char text[200], unit[UNIT_TEXT];
		int line;

		if (length < shortest) {
			left_out++;
			left_out_time += length;
			continue;
		}
		print_left_out(t, left_out, left_out_time, is_ns);
		left_out = 0;
		left_out_time = 0;
		line = table_line(t, TABLE_NO_PARENT);
		table_cell(t, line, 0, unit_time(unit, facts_named(f, i, "at").i, is_ns));
		table_cell(t, line, 1, unit_length(unit, length, is_ns));
		thread_text(run, facts_named(f, i, "thread").i, text, sizeof(text));
		table_cell(t, line, 2, text);
		table_cell(t, line, 3, facts_named(f, i, "kind").s);
		table_cell(t, line, 4, facts_named(f, i, "what").s);
	}
	print_left_out(t, left_out, left_out_time, is_ns);
	screen_title(&inv->screen, "Step by step");
	return table_print(t);
}

/* A path ends where its thread does. */
static bool ended_at(const struct sonde_run *run, int64_t thread, int64_t *end)
{
	struct sonde_thread t;

	if (sonde_thread(run, thread, &t) || t.end < 0 || t.end >= *end)
		return false;
	*end = t.end;
	return true;
}

static int print_text(const struct invocation *inv, struct sonde_run *run,
		      const struct sonde_facts *f, int64_t thread, int64_t begin, int64_t end)
{
	bool ended = ended_at(run, thread, &end);
	bool is_ns = sonde_run_ticks_are_ns(run);
	char from[UNIT_TEXT], length[UNIT_TEXT], name[200];
	int ret;

	thread_text(run, thread, name, sizeof(name));
	fprintf(inv->screen.out, "%s: the %s from %s%s, %zu steps\n", name,
		unit_length(length, end - begin, is_ns), unit_time(from, begin, is_ns),
		ended ? " to its end" : "", sonde_facts_nr_rows(f));
	ret = print_sums(inv, run, f, end - begin);
	return ret ? ret : print_steps(inv, run, f);
}

/* Semicolons part the frames: they become commas. */
static void print_frame(FILE *out, const char *text, char end)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 ? '?' : *text == ';' ? ',' : *text, out);
	fputc(end, out);
}

static int print_folded(const struct invocation *inv, struct sonde_run *run,
			const struct sonde_facts *f)
{
	struct sums sums;

	if (!sum_up(f, true, &sums))
		return -ENOMEM;
	for (size_t i = 0; i < sums.nr; i++) {
		char name[200];

		thread_text(run, sums.list[i].thread, name, sizeof(name));
		print_frame(inv->screen.out, name, ';');
		print_frame(inv->screen.out, sums.list[i].kind, ';');
		print_frame(inv->screen.out, sums.list[i].what, ' ');
		fprintf(inv->screen.out, "%" PRId64 "\n", sums.list[i].time);
	}
	free(sums.list);
	return 0;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static int print_json(const struct invocation *inv, struct sonde_run *run,
		      const struct sonde_facts *f, int64_t thread, int64_t begin, int64_t end,
		      const struct marked_request *request)
{
	struct json j = {.out = inv->screen.out};
	bool ended = ended_at(run, thread, &end);

	json_begin_object(&j, NULL);
	json_int(&j, "begin", begin);
	json_int(&j, "end", end);
	json_bool(&j, "ended", ended);
	json_bool(&j, "ticks_are_ns", sonde_run_ticks_are_ns(run));
	json_thread(&j, "thread", run, thread);
	marked_request_json(&j, run, request);
	facts_json(&j, "critical_path", run, f);
	json_end(&j);
	return 0;
}

/* ---- the command --------------------------------------------------------------------------- */

static enum exit_code show(const struct invocation *inv, struct sonde_run *run)
{
	const struct critpath_options *opt = inv->values;
	struct marked_request request = {.nr_pairs = 0};
	struct sonde_facts *facts;
	struct sonde_error err = {0};
	int64_t begin, end, thread = -1;
	enum exit_code code;
	int ret;

	if ((opt->to || opt->nth) && !opt->from)
		return complain(inv, EXIT_USAGE, "--from MARK is missing: where does it begin?");
	if (!opt->task && !opt->from)
		return complain(
			inv, EXIT_USAGE,
			"--task NAME is missing: whose critical path is asked for? (--from and "
			"--to MARK: that of a request)");
	if (!get_window(inv, run, &begin, &end))
		return EXIT_USAGE;
	code = choose(inv, run, &begin, &end, &request, &thread);
	if (code)
		return code;
	ticker_say(inv->ticker, "critical path");
	ret = sonde_critical_path(&facts, run, thread, begin, end, &err);
	ticker_hide(inv->ticker);
	if (ret)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	if (is_json(inv)) {
		ret = print_json(inv, run, facts, thread, begin, end, &request);
	} else if (opt->folded) {
		ret = print_folded(inv, run, facts);
	} else {
		marked_request_print(inv, run, &request);
		ret = print_text(inv, run, facts, thread, begin, end);
	}
	sonde_facts_free(facts);
	return ret ? complain(inv, EXIT_FAILED, "out of memory") : EXIT_DONE;
}

static enum exit_code run_critpath(const struct invocation *inv)
{
	return with_input(inv, show);
}

const struct command critpath_command = {
	.name = "critpath",
	.summary = "what a thread waited for, through wake-ups, vCPUs and hosts",
	.operands = "[FILE]",
	.about = "From the end of --time, or of a request between two marks, backwards: while the "
		 "thread\n"
		 "wants to run, its own time, and who had the CPU; while it sleeps, the time of "
		 "whoever\n"
		 "woke it, in whatever layer.\n",
	.common = COMMON_INPUT | COMMON_FORMAT | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct critpath_options),
	.pages = true,
	.run = run_critpath,
};
