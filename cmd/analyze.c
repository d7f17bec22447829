/* SPDX-License-Identifier: Apache-2.0 */
/* sonde analyze: traces in, one history out. */
#include "cmd/common/command.h"
#include "base/figure.h"
#include "base/now.h"
#include "cmd/common/missing.h"
#include "cmd/common/progress.h"
#include "cmd/common/signals.h"
#include "cmd/common/trace_options.h"
#include "record/tracers/datfile.h"
#include "record/directory/run.h"
#include "base/units.h"
#include "report/paragraph.h"
#include "report/safe.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct analyze_options {
	struct trace_options traces;
};

static const struct option_row option_rows[] = {
	TRACE_OPTIONS(struct analyze_options, traces),
};

/* The last part of @path without slashes behind it and without ".dat". */
static void name_from(const char *path, size_t len, char *out, size_t room)
{
	const char *begin;

	while (len > 1 && path[len - 1] == '/')
		len--;
	begin = path + len;
	while (begin > path && begin[-1] != '/')
		begin--;
	snprintf(out, room, "%.*s", (int)(path + len - begin), begin);
	len = strlen(out);
	if (len > 4 && !strcmp(out + len - 4, ".dat"))
		out[len - 4] = '\0';
}

/* NAME.sonde in the current directory: the trace's name, or that of the directory which all
 * paths share. */
static void default_output(const struct invocation *inv, char *out, size_t room)
{
	const char *first = inv->operands[0];
	size_t common = strlen(first);
	char name[200] = "";

	for (int i = 1; i < inv->nr_operands; i++) {
		size_t same = 0;

		while (same < common && inv->operands[i][same] == first[same])
			same++;
		while (same && first[same - 1] != '/')
			same--;
		common = same;
	}
	if (common)
		name_from(first, common, name, sizeof(name));
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "/"))
		snprintf(name, sizeof(name), "run");
	snprintf(out, room, "%s.sonde", name);
}

static void print_json(const struct invocation *inv, const char *output,
		       const struct sonde_analyze_result *r, double seconds)
{
	struct json j = {.out = inv->screen.out};

	json_begin_object(&j, NULL);
	json_str(&j, "output", output);
	json_uint(&j, "traces", r->traces);
	json_uint(&j, "machines", r->machines);
	json_uint(&j, "events", r->events);
	json_uint(&j, "user_events", r->user_events);
	json_uint(&j, "input_bytes", r->input_bytes);
	json_uint(&j, "output_bytes", r->output_bytes);
	json_uint(&j, "left_out", r->left_out);
	json_uint(&j, "problems", r->problems);
	json_uint(&j, "notes", r->notes);
	json_int(&j, "begin", r->begin);
	json_int(&j, "end", r->end);
	json_bool(&j, "ticks_are_ns", r->ticks_are_ns);
	json_bool(&j, "interrupted", r->interrupted);
	json_int(&j, "elapsed_ns", figure_round(seconds * 1e9));
	json_end(&j);
}

/* "N events that say what a CPU does", "M events of user space", or both. */
static void print_counts(FILE *out, const struct sonde_analyze_result *r)
{
	uint64_t told = r->events - r->user_events;
	char events[UNIT_TEXT], user[UNIT_TEXT];

	unit_count(events, (int64_t)told);
	unit_count(user, (int64_t)r->user_events);
	if (!r->user_events)
		fprintf(out, "%s events that say what a CPU does", events);
	else if (!told)
		fprintf(out, "%s events of user space, none that says what a CPU does", user);
	else
		fprintf(out, "%s events that say what a CPU does and %s of user space", events,
			user);
}

#define LEFT_OUT_ROOM 360

static char *left_out_text(const struct sonde_analyze_result *r, const char *output, char *buf)
{
	snprintf(buf, LEFT_OUT_ROOM, "%u trace%s left out; sonde report %s -t left_out says why",
		 r->left_out, r->left_out == 1 ? " is" : "s are", output);
	return buf;
}

static void print_problems(const struct invocation *inv, const char *output,
			   const struct sonde_analyze_result *r)
{
	unsigned long long problems = r->problems, notes = r->notes;

	if (problems)
		fprintf(inv->screen.out, "%llu thing%s in the traces needed attention", problems,
			problems == 1 ? "" : "s");
	if (notes)
		fprintf(inv->screen.out, "%s%llu note%s%s", problems ? ", and " : "", notes,
			notes == 1 ? "" : "s", problems ? "" : " on the traces");
	if (problems || notes)
		fprintf(inv->screen.out, "; sonde info %s lists %s\n", output,
			problems + notes == 1 ? "it" : "them");
}

/* The first of what is no note: how many there are says little. */
static void print_first_problem(const struct invocation *inv, const struct sonde_history *history)
{
	struct sonde_problem p;
	int64_t row = 0;
	int ret;

	while (!(ret = sonde_problem_get(history, row, &p)) && p.note)
		row++;
	if (!ret)
		paragraph_print(&inv->screen, "first: ", p.text);
}

/* What the history that was written lacks. */
static void print_lacking(const struct invocation *inv, const char *output)
{
	struct sonde_history *history;

	if (sonde_history_open(&history, output, NULL))
		return;
	print_first_problem(inv, history);
	missing_print_gaps(inv, history, sonde_history_begin(history), sonde_history_end(history));
	sonde_history_close(history);
}

static void print_text(const struct invocation *inv, const char *output,
		       const struct sonde_analyze_result *r, double seconds)
{
	char in[UNIT_TEXT], out[UNIT_TEXT], length[UNIT_TEXT], left_out[LEFT_OUT_ROOM];
	char name[256]; /* it may be a folder's, which others chose */
	/* How much of the input was read is not known when the user stopped it. */
	const char *part = r->interrupted ? "a part of " : "";

	if (inv->common.quiet)
		return;
	safe_text(name, sizeof(name), output);
	fprintf(inv->screen.out, "%s: ", name);
	print_counts(inv->screen.out, r);
	fprintf(inv->screen.out,
		", of %u traced machine%s over %s from the first to the last, %s%s of events in, "
		"%s out, in %.2f s\n",
		r->machines, r->machines == 1 ? "" : "s",
		unit_length(length, r->end - r->begin, r->ticks_are_ns), part,
		unit_bytes(in, r->input_bytes), unit_bytes(out, r->output_bytes), seconds);
	if (!r->ticks_are_ns)
		fprintf(inv->screen.out,
			"times are cycles (cy) of a counter whose rate the traces do "
			"not tell; --tsc-khz N tells it\n");
	if (r->left_out)
		fprintf(inv->screen.out, "%s\n", left_out_text(r, name, left_out));
	print_problems(inv, name, r);
	print_lacking(inv, output);
}

/* Whether a killed recorder left raw parts of traces there. */
static bool has_parts(const char *run)
{
	DIR *dir = opendir(run);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		char path[PATH_MAX];

		found = entry->d_name[0] != '.' &&
			(size_t)snprintf(path, sizeof(path), "%s/%s", run, entry->d_name) <
				sizeof(path) &&
			datfile_has_parts(path);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Joins them.  Where that fails, what is whole can be analysed all the same: the analysis tells
 * what is missing.  Not so a run that is still being recorded: false. */
static bool recover(const struct invocation *inv)
{
	for (int i = 0; i < inv->nr_operands; i++) {
		struct error err = {0};
		unsigned done;
		int ret;

		if (!has_parts(inv->operands[i]))
			continue;
		ret = run_recover(inv->operands[i], &done, &err);
		if (ret)
			complain(inv, EXIT_FAILED, "%s", err.text);
		if (ret == -EBUSY)
			return false;
		if (!ret)
			complain(inv, EXIT_DONE,
				 "%s: joined what a killed recorder left of %u machine%s",
				 inv->operands[i], done, done == 1 ? "" : "s");
	}
	return true;
}

static enum exit_code run(const struct invocation *inv)
{
	const struct analyze_options *opt = inv->values;
	struct sonde_inputs inputs = trace_inputs(inv, &opt->traces);
	struct sonde_analyze_result result;
	struct sonde_watcher watcher;
	struct sonde_error err = {0};
	struct progress progress;
	double begin_s = now_s();
	char output[256], left_out[LEFT_OUT_ROOM];
	int ret;

	if (!inputs.nr_paths && !inputs.nr_guests)
		return complain(inv, EXIT_USAGE, "which traces? see sonde analyze --help");
	if (inv->common.output)
		snprintf(output, sizeof(output), "%s", inv->common.output);
	else if (inv->nr_operands)
		default_output(inv, output, sizeof(output));
	else
		snprintf(output, sizeof(output), "run.sonde");
	signals_catch_interrupt();
	if (!recover(inv))
		return EXIT_FAILED;
	progress_init(&progress, inv);
	watcher = (struct sonde_watcher){progress_report, progress_notice, &progress};
	ret = sonde_analyze(&inputs, output, &watcher, &result, &err);
	progress_end(&progress);
	if (ret == -EINTR)
		return complain(inv, EXIT_INTERRUPTED, "%s; %s is not written", err.text, output);
	if (ret)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	if (is_json(inv))
		print_json(inv, output, &result, now_s() - begin_s);
	else
		print_text(inv, output, &result, now_s() - begin_s);
	if (!result.interrupted && result.left_out && inv->common.quiet)
		return complain(inv, EXIT_UNSOUND, "%s", left_out_text(&result, output, left_out));
	if (!result.interrupted)
		return result.left_out ? EXIT_UNSOUND : EXIT_DONE;
	return complain(inv, EXIT_INTERRUPTED, "interrupted: %s ends where the work stopped",
			output);
}

const struct command analyze_command = {
	.name = "analyze",
	.summary = "align the clocks of traces and fuse them into one history",
	.operands = "PATH...",
	.about = "PATH is a trace.dat or perf.data file, a CTF directory, or a directory that is\n"
		 "searched for these.  Which trace is whose, and which machine runs in which, is "
		 "found out.\n"
		 "Without -o the history is called NAME.sonde, after the trace or the directory.\n",
	.common = COMMON_OUTPUT | COMMON_FORMAT,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct analyze_options),
	.run = run,
};
