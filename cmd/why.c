/* SPDX-License-Identifier: Apache-2.0 */
/* sonde why: what cost time, most costly first, in sentences. */
#include "cmd/common/command.h"
#include "cmd/common/missing.h"
#include "cmd/answers/why_text.h"
#include "report/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(field) offsetof(struct why_options, field)

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

static void find_columns(struct question *q)
{
	q->text = sonde_rows_column(q->rows, "text");
	q->cost = sonde_rows_column(q->rows, "cost");
	q->begin = sonde_rows_column(q->rows, "begin");
	q->end = sonde_rows_column(q->rows, "end");
	q->kind = sonde_rows_column(q->rows, "kind");
	q->machine = sonde_rows_column(q->rows, "machine");
	q->vcpu = sonde_rows_column(q->rows, "vcpu");
	q->thread = sonde_rows_column(q->rows, "thread");
	q->culprit = sonde_rows_column(q->rows, "culprit");
	q->culprit_time = sonde_rows_column(q->rows, "culprit_time");
	q->count = sonde_rows_column(q->rows, "count");
	q->cause = sonde_rows_column(q->rows, "cause");
}

/* @inner is in @outer, or it is that. */
static bool is_around(const struct question *q, int64_t outer, int64_t inner)
{
	struct sonde_machine m;

	while (inner >= 0 && inner != outer && !sonde_machine_get(q->history, inner, &m))
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

	if (sonde_thread_get(q->history, thread, &t))
		return false;
	snprintf(label, sizeof(label), "%s[%" PRId64 "]", t.comm, t.tid);
	return !strcmp(t.comm, q->task) || !strcmp(label, q->task);
}

bool verdict_is_unknown(const struct question *q, size_t row)
{
	return !strcmp(verdict_cell(q, row, q->kind).s, "unknown");
}

bool verdict_is_attempt(const struct question *q, size_t row)
{
	return !strcmp(verdict_cell(q, row, q->kind).s, "attempt");
}

/* The machine that is unknown in some way is a task's own, or one around it whose events are. */
static bool concerns_task(const struct question *q, size_t row)
{
	int64_t machine = verdict_cell(q, row, q->machine).i;
	const char *what = verdict_cell(q, row, q->cause).s;
	bool of_around =
		!strcmp(what, "cpus") || !strcmp(what, "lost") || !strcmp(what, "problems");

	for (int64_t i = 0; i < sonde_nr_threads(q->history); i++) {
		struct sonde_thread t;

		if (!is_task(q, i) || sonde_thread_get(q->history, i, &t) ||
		    (q->vm >= 0 && !is_inside(q, t.machine)))
			continue;
		if (t.machine == machine || (of_around && is_around(q, machine, t.machine)))
			return true;
	}
	return false;
}

bool verdict_is_wanted(const struct question *q, size_t row)
{
	if (verdict_is_unknown(q, row) && q->task)
		return concerns_task(q, row);
	if (q->vm >= 0 && !is_inside(q, verdict_cell(q, row, q->machine).i))
		return false;
	if (verdict_is_unknown(q, row))
		return true;
	if (q->task && !is_task(q, verdict_cell(q, row, q->thread).i))
		return false;
	if (verdict_is_attempt(q, row))
		return true;
	return verdict_cell(q, row, q->cost).i >= q->slower_than;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void print_json(const struct invocation *inv, const struct question *q, int64_t begin,
		       int64_t end)
{
	struct json j = {.out = inv->screen.out};

	json_begin_object(&j, NULL);
	json_int(&j, "begin", begin);
	json_int(&j, "end", end);
	json_bool(&j, "ticks_are_ns", sonde_history_ticks_are_ns(q->history));
	missing_json(&j, q->history, begin, end);
	json_begin_array(&j, "why");
	for (size_t row = 0; row < sonde_rows_nr(q->rows); row++) {
		if (verdict_is_wanted(q, row))
			rows_json_row(&j, q->history, q->rows, row);
	}
	json_end(&j);
	json_end(&j);
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
	for (int64_t row = 0; row < sonde_nr_threads(q->history); row++) {
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
		q->vm = sonde_find_machine(q->history, opt->vm);
		if (q->vm < 0)
			return complain(inv, EXIT_USAGE,
					"--vm: there is no machine \"%s\"; sonde tree lists them",
					opt->vm);
	}
	q->task = opt->task;
	if (q->task && !task_exists(q))
		return complain(inv, EXIT_USAGE,
				"--task: no thread is called \"%s\"; sonde report -t thread_time "
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
	if (!get_window(inv, q->history, &begin, &end))
		return EXIT_USAGE;
	ticker_say(inv->ticker, "why");
	sonde_rows_get(&q->rows, q->history, opt->slower_than ? "delay" : "why", begin, end, &err);
	ticker_hide(inv->ticker);
	if (err.code)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	find_columns(q);
	if (is_json(inv))
		print_json(inv, q, begin, end);
	else
		why_print_text(inv, q, begin, end);
	sonde_rows_free(q->rows);
	return EXIT_DONE;
}

static enum exit_code run_why(const struct invocation *inv)
{
	struct question q = {.vm = -1};
	enum exit_code code = open_input(inv, &q.history);

	if (code)
		return code;
	code = answer(inv, &q);
	sonde_history_close(q.history);
	return code;
}

const struct command why_command = {
	.name = "why",
	.summary = "what cost time, most costly first, in plain sentences",
	.operands = "[FILE]",
	.about = "Each verdict says what had steal time or run-queue delay, how long, and who ran\n"
		 "meanwhile.  --time A,B below it is for sonde timeline, state and "
		 "report.\n"
		 "What cannot be known is said at the end, with what to record next time.\n",
	.common = COMMON_INPUT | COMMON_FORMAT | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct why_options),
	.pages = true,
	.whole = true,
	.run = run_why,
};
