/* SPDX-License-Identifier: Apache-2.0 */
/* sonde critpath: what a thread waited for, followed through all layers. */
#include "cmd/common/command.h"
#include "cmd/answers/critpath_marks.h"
#include "cmd/answers/critpath_text.h"
#include "report/rows.h"

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

static bool matches(const struct critpath_options *opt, struct sonde_history *history, int64_t row,
		    int64_t machine)
{
	struct sonde_thread t;
	char label[80];

	if (sonde_thread_get(history, row, &t) || !t.tid || (machine >= 0 && t.machine != machine))
		return false;
	snprintf(label, sizeof(label), "%s[%" PRId64 "]", t.comm, t.tid);
	return !strcmp(t.comm, opt->task) || !strcmp(label, opt->task);
}

static enum exit_code complain_several(const struct invocation *inv, struct sonde_history *history,
				       const int64_t *rows, unsigned nr)
{
	char names[600] = "";
	size_t used = 0;

	for (unsigned i = 0; i < nr && i < CANDIDATES_MAX && used < sizeof(names); i++) {
		struct sonde_thread t;
		struct sonde_machine m;

		sonde_thread_get(history, rows[i], &t);
		sonde_machine_get(history, t.machine, &m);
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

static enum exit_code find_thread(const struct invocation *inv, struct sonde_history *history,
				  int64_t begin, int64_t end, int64_t *out)
{
	const struct critpath_options *opt = inv->values;
	int64_t rows[CANDIDATES_MAX + 1];
	int64_t machine = opt->vm ? sonde_find_machine(history, opt->vm) : -1;
	unsigned nr = 0;

	if (opt->vm && machine < 0)
		return complain(inv, EXIT_USAGE,
				"--vm: there is no machine \"%s\"; sonde tree lists them", opt->vm);
	for (int64_t row = 0; row < sonde_nr_threads(history) && nr <= CANDIDATES_MAX; row++) {
		struct sonde_thread t;

		if (!matches(opt, history, row, machine))
			continue;
		sonde_thread_get(history, row, &t);
		if (t.begin < end && (t.end < 0 || t.end > begin))
			rows[nr++] = row;
	}
	if (nr > 1)
		return complain_several(inv, history, rows, nr);
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
static enum exit_code choose(const struct invocation *inv, struct sonde_history *history,
			     int64_t *begin, int64_t *end, struct marked_request *request,
			     int64_t *thread)
{
	const struct critpath_options *opt = inv->values;
	enum exit_code code = EXIT_DONE;

	if (opt->from)
		code = marked_request_find(inv, history,
					   &(struct marks_wanted){opt->from, opt->to, opt->nth},
					   *begin, *end, request);
	if (code)
		return code;
	if (opt->from) {
		*begin = request->pair.from.t;
		*end = request->pair.to.t;
	}
	if (opt->task)
		return find_thread(inv, history, *begin, *end, thread);
	*thread = mark_thread(history, &request->pair.to);
	if (*thread < 0)
		return complain(
			inv, EXIT_USAGE,
			"it is not known which thread made the second mark: say whose path with "
			"--task");
	return EXIT_DONE;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static int print_json(const struct invocation *inv, struct sonde_history *history,
		      const struct sonde_rows *f, int64_t thread, int64_t begin, int64_t end,
		      const struct marked_request *request)
{
	struct json j = {.out = inv->screen.out};
	bool ended = critpath_ended(history, thread, &end);

	json_begin_object(&j, NULL);
	json_int(&j, "begin", begin);
	json_int(&j, "end", end);
	json_bool(&j, "ended", ended);
	json_bool(&j, "ticks_are_ns", sonde_history_ticks_are_ns(history));
	json_thread(&j, "thread", history, thread);
	marked_request_json(&j, history, request);
	rows_json(&j, "critical_path", history, f);
	json_end(&j);
	return 0;
}

/* ---- the command --------------------------------------------------------------------------- */

static enum exit_code show(const struct invocation *inv, struct sonde_history *history)
{
	const struct critpath_options *opt = inv->values;
	struct marked_request request = {.nr_pairs = 0};
	struct sonde_rows *rows;
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
	if (!get_window(inv, history, &begin, &end))
		return EXIT_USAGE;
	code = choose(inv, history, &begin, &end, &request, &thread);
	if (code)
		return code;
	ticker_say(inv->ticker, "critical path");
	ret = sonde_critical_path(&rows, history, thread, begin, end, &err);
	ticker_hide(inv->ticker);
	if (ret)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	if (is_json(inv)) {
		ret = print_json(inv, history, rows, thread, begin, end, &request);
	} else if (opt->folded) {
		ret = critpath_folded(inv, history, rows);
	} else {
		marked_request_print(inv, history, &request);
		ret = critpath_print(inv, history, rows,
				     &(struct critpath_asked){thread, begin, end, opt->top});
	}
	sonde_rows_free(rows);
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
	.whole = true,
	.run = run_critpath,
};
