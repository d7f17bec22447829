/* SPDX-License-Identifier: Apache-2.0 */
/* sonde export: a history in the formats of other programs. */
#include "export/export.h"
#include "base/now.h"
#include "base/units.h"
#include "cmd/common/command.h"
#include "cmd/common/outdir.h"
#include "cmd/common/outfile.h"
#include "cmd/common/progress.h"
#include "cmd/common/signals.h"
#include "report/csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct export_values {
	const char *to;
	const char *only;
	const char *rows;
	struct text_list machines;
};

#define FIELD(field) offsetof(struct export_values, field)

static const struct option_row option_rows[] = {
	{0, "to", OPTION_CHOICE, FIELD(to), "FORMAT", "perfetto|chrome|ctf|csv",
	 "perfetto (ui.perfetto.dev), chrome (JSON), ctf (babeltrace2, Trace Compass) or csv", 0},
	{0, "only", OPTION_TEXT, FIELD(only), "LIST", "cpus|vcpus|threads|values|all",
	 "some of cpus, vcpus, threads, values, with commas between (default: all)", 0},
	{'m', "machine", OPTION_LIST, FIELD(machines), "NAME", NULL,
	 "only this machine's rows; may be repeated", 0},
	{0, "table", OPTION_TEXT, FIELD(rows), "NAME", NULL,
	 "csv: not states, but that table; sonde report -t help lists them", 0},
};

/* ---- what the user asked for --------------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned bits;
} row_names[] = {
	{"cpus", EXPORT_CPUS},	   {"vcpus", EXPORT_VCPUS}, {"threads", EXPORT_THREADS},
	{"values", EXPORT_VALUES}, {"all", EXPORT_ALL},
};

static bool parse_rows(const char *text, unsigned *rows)
{
	*rows = 0;
	while (*text) {
		size_t len = strcspn(text, ",");
		unsigned bits = 0;

		for (size_t i = 0; i < ARRAY_SIZE(row_names); i++) {
			if (strlen(row_names[i].name) == len &&
			    !strncmp(row_names[i].name, text, len))
				bits = row_names[i].bits;
		}
		if (!bits)
			return false;
		*rows |= bits;
		text += len + (text[len] == ',');
	}
	return *rows != 0;
}

/* *out is NULL when all are wanted. */
static enum exit_code choose_machines(const struct invocation *inv, struct sonde_history *history,
				      bool **out)
{
	const struct export_values *opt = inv->values;

	*out = NULL;
	if (!opt->machines.nr)
		return EXIT_DONE;
	*out = calloc((size_t)sonde_nr_machines(history), sizeof(**out));
	if (!*out)
		return complain(inv, EXIT_FAILED, "out of memory");
	for (unsigned i = 0; i < opt->machines.nr; i++) {
		int64_t row = sonde_find_machine(history, opt->machines.items[i]);

		if (row < 0)
			return complain(inv, EXIT_USAGE,
					"--machine: there is no machine \"%s\"; sonde tree lists "
					"them",
					opt->machines.items[i]);
		(*out)[row] = true;
	}
	return EXIT_DONE;
}

/* Before anything takes time. */
static enum exit_code check_command_line(const struct invocation *inv)
{
	const struct export_values *opt = inv->values;
	const char *output = inv->common.output;
	bool is_dir = opt->to && !strcmp(opt->to, "ctf");
	struct stat st;

	if (!opt->to)
		return complain(inv, EXIT_USAGE,
				"--to FORMAT is missing: perfetto, chrome, ctf or csv");
	if (!output)
		return complain(inv, EXIT_USAGE, "-o %s is missing: where is it to be written?",
				is_dir ? "DIR" : "FILE");
	if (opt->rows && strcmp(opt->to, "csv"))
		return complain(inv, EXIT_USAGE, "--table is for --to csv");
	if (opt->rows && (opt->only || opt->machines.nr))
		return complain(inv, EXIT_USAGE,
				"--table has no rows that --only or --machine "
				"could choose from");
	if (strcmp(output, "-") && !stat(output, &st) &&
	    (is_dir || S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size)))
		return complain(inv, EXIT_FAILED,
				"%s exists: it is not overwritten; remove it or choose another "
				"name",
				output);
	return EXIT_DONE;
}

/* ---- the work ------------------------------------------------------------------------------ */

struct work {
	struct sonde_history *history;
	struct export_options options;
	const struct export_values *values;
	struct progress progress;
};

static bool go_on(double done, void *data)
{
	return progress_report("export", done, data);
}

static int write_table(FILE *out, struct work *w, struct error *err)
{
	struct sonde_error why = {0};
	struct sonde_rows *rows;
	int ret = sonde_rows_get(&rows, w->history, w->values->rows, w->options.begin,
				 w->options.end, &why);

	if (ret)
		return fail(err, ret, "%s", why.text);
	rows_csv(out, w->history, rows);
	sonde_rows_free(rows);
	return 0;
}

static int write_export(FILE *out, void *data, struct error *err)
{
	struct work *w = data;

	if (w->values->rows)
		return write_table(out, w, err);
	switch (w->values->to[1]) {
	case 'e':
		return export_perfetto(out, w->history, &w->options, err);
	case 'h':
		return export_chrome(out, w->history, &w->options, err);
	default:
		return export_csv(out, w->history, &w->options, err);
	}
}

static int write_ctf(const char *dir, void *data, struct error *err)
{
	struct work *w = data;

	return export_ctf(dir, w->history, &w->options, err);
}

static enum exit_code write_output(const struct invocation *inv, struct work *w)
{
	enum exit_code code;

	signals_catch_interrupt();
	progress_init(&w->progress, inv);
	if (!strcmp(w->values->to, "ctf"))
		code = write_outdir(inv, inv->common.output, write_ctf, w);
	else
		code = write_outfile(inv, inv->common.output, write_export, w);
	progress_end(&w->progress);
	return code;
}

static enum exit_code export_run(const struct invocation *inv, struct sonde_history *history)
{
	struct work w = {
		.history = history, .values = inv->values, .options = {.rows = EXPORT_ALL}};
	double begin_s = now_s();
	char length[UNIT_TEXT];
	enum exit_code code;
	struct stop stop;
	bool *machines;

	if (!get_window(inv, history, &w.options.begin, &w.options.end))
		return EXIT_USAGE;
	/* States are no shares of anything: all of them. */
	if (!inv->common.time && !w.values->rows) {
		w.options.begin = sonde_history_begin(history);
		w.options.end = sonde_history_end(history);
	}
	if (w.values->only && !parse_rows(w.values->only, &w.options.rows))
		return complain(inv, EXIT_USAGE,
				"--only: \"%s\" is no list of cpus, vcpus, threads and values",
				w.values->only);
	code = choose_machines(inv, history, &machines);
	stop_init(&stop, go_on, &w.progress);
	w.options.stop = &stop;
	w.options.machines = machines;
	if (!code)
		code = write_output(inv, &w);
	free(machines);
	if (!code && !inv->common.quiet && strcmp(inv->common.output, "-"))
		fprintf(inv->screen.out, "%s: %s of %lld machine%s, in %.2f s\n",
			inv->common.output,
			unit_length(length, w.options.end - w.options.begin,
				    sonde_history_ticks_are_ns(history)),
			(long long)sonde_nr_machines(history),
			sonde_nr_machines(history) == 1 ? "" : "s", now_s() - begin_s);
	return code;
}

static enum exit_code run_export(const struct invocation *inv)
{
	enum exit_code code = check_command_line(inv);

	return code ? code : with_input(inv, export_run);
}

const struct command export_command = {
	.name = "export",
	.summary = "a history for other viewers: Perfetto, Chrome, CTF, CSV",
	.operands = "[FILE]",
	.about = "Writes a history as a Perfetto trace, Chrome trace events (JSON), a CTF\n"
		 "trace (a directory), or CSV: what ran on each physical CPU, vCPUs, threads, who\n"
		 "woke and who preempted whom.  docs/export.md says how to open each.\n",
	.common = COMMON_INPUT | COMMON_OUTPUT | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct export_values),
	.run = run_export,
};
