/* SPDX-License-Identifier: Apache-2.0 */
/* sonde stolen: in a guest, when and by what its vCPUs were held up, as its host tells. */
#include "cmd/common/command.h"
#include "base/now.h"
#include "base/units.h"
#include "cmd/common/duration.h"
#include "cmd/common/signals.h"
#include "cmd/answers/stolen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct stolen_options {
	const char *duration;
	const char *delay;
	uint64_t count;
	bool list;
	const char *device;
};

#define FIELD(field) offsetof(struct stolen_options, field)
#define WINDOW_S 1.0
#define LIST_S 0.2
#define ANSWER_S 6.0 /* announcements are made every five seconds */
#define STEP_US 50000

static const struct option_row option_rows[] = {
	{'d', "duration", OPTION_TIME, FIELD(duration), "TIME", NULL,
	 "one summary of so long, beside what /proc/stat says", 0},
	{'n', "count", OPTION_NUMBER, FIELD(count), "N", NULL, "end after N windows", 0},
	{0, "delay", OPTION_TIME, FIELD(delay), "TIME", NULL, "length of a window (default: 1s)",
	 0},
	{'l', "list", OPTION_FLAG, FIELD(list), NULL, NULL,
	 "each interval as it comes, instead of sums", 0},
	{0, "device", OPTION_TEXT, FIELD(device), "PATH", NULL,
	 "where the host tells (default " STOLEN_DEVICE ")", 0},
};

/* False: interrupted.  @w may be NULL. */
static bool wait_s(double seconds, struct stolen_window *w)
{
	double until = now_s() + seconds;

	while (now_s() < until && !signals_interrupted()) {
		usleep(STEP_US);
		if (w)
			stolen_window_look(w);
	}
	return !signals_interrupted();
}

static bool wait_for_host(const struct stolen_reader *r)
{
	double until = now_s() + ANSWER_S;
	struct st_told told;

	while (now_s() < until && !signals_interrupted()) {
		for (unsigned i = 0; i < stolen_reader_nr(r); i++) {
			if (stolen_reader_told(r, i, &told) && told.ended != ST_LAST_WORD)
				return true;
		}
		usleep(STEP_US);
	}
	return false;
}

/* ---- sums ---------------------------------------------------------------------------------- */

static void print_table(const struct invocation *inv, const struct stolen_window *w, bool compare)
{
	struct table *t = table_new(&inv->screen);
	char text[80], about[160];

	fprintf(inv->screen.out, "%s\n", stolen_about(w, about, sizeof(about)));
	for (unsigned c = 0; c < stolen_columns(compare); c++)
		table_column(t, stolen_title(c), c + 1 < STOLEN_TEXT_COLUMN ? TABLE_RIGHT : 0);
	for (unsigned i = 0; i < w->nr; i++) {
		int line;

		if (!w->cpus[i].is_told)
			continue;
		line = table_line(t, TABLE_NO_PARENT);
		for (unsigned c = 0; c < stolen_columns(compare); c++)
			table_cell(t, line, c, stolen_cell(w, i, c, text, sizeof(text)));
	}
	table_print(t);
	fflush(inv->screen.out);
}

static enum exit_code watch(const struct invocation *inv, struct stolen_reader *r, double seconds,
			    uint64_t count, bool compare)
{
	struct json j = {.out = inv->screen.out};
	struct stolen_window *w = stolen_window_new(r);
	enum exit_code code = EXIT_DONE;

	if (!w)
		return complain(inv, EXIT_FAILED, "out of memory");
	if (is_json(inv))
		json_begin_array(&j, NULL);
	for (uint64_t n = 0; !count || n < count; n++) {
		stolen_window_begin(w);
		/* What was told until the user had enough is shown. */
		if (!wait_s(seconds, w) && !compare)
			break;
		stolen_window_end(w);
		if (is_json(inv))
			stolen_window_json(w, &j);
		else
			print_table(inv, w, compare);
		if (signals_interrupted())
			break;
	}
	if (is_json(inv))
		json_end(&j);
	stolen_window_free(w);
	return code;
}

/* ---- one by one ---------------------------------------------------------------------------- */

static enum exit_code list(const struct invocation *inv, struct stolen_reader *r, double seconds)
{
	struct json j = {.out = inv->screen.out, .flat = 1};
	double until = now_s() + seconds;
	struct stolen_list *l = stolen_list_new(r);
	char text[160];

	if (!l)
		return complain(inv, EXIT_FAILED, "out of memory");
	if (is_json(inv))
		json_begin_array(&j, NULL);
	while (!seconds || now_s() < until) {
		const struct stolen_stretch *s;
		bool go_on = wait_s(LIST_S, NULL);

		stolen_list_fill(l);
		while ((s = stolen_list_next(l))) {
			if (is_json(inv))
				stolen_stretch_json(s, &j);
			else
				fprintf(inv->screen.out, "%s\n",
					stolen_stretch_text(s, text, sizeof(text)));
		}
		fflush(inv->screen.out);
		if (!go_on)
			break;
	}
	if (is_json(inv))
		json_end(&j);
	if (stolen_list_missed(l) && !inv->common.quiet)
		complain(inv, EXIT_DONE, "intervals missed: %llu",
			 (unsigned long long)stolen_list_missed(l));
	stolen_list_free(l);
	return EXIT_DONE;
}

/* ---- the command --------------------------------------------------------------------------- */

static enum exit_code open_device(const struct invocation *inv, struct stolen_reader **r)
{
	const struct stolen_options *opt = inv->values;
	const char *path = opt->device ? opt->device : STOLEN_DEVICE;
	struct error err = {0};
	int ret = stolen_reader_open(r, path, &err);

	if (ret == -ENOENT)
		return complain(inv, EXIT_FAILED,
				"there is no %s: this guest of KVM needs the module sonde_guest "
				"(kernel/guest)",
				path);
	if (ret)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	return EXIT_DONE;
}

static enum exit_code run_stolen(const struct invocation *inv)
{
	const struct stolen_options *opt = inv->values;
	double seconds = 0, delay = WINDOW_S;
	struct stolen_reader *r;
	enum exit_code code;

	if (inv->nr_operands)
		return complain(inv, EXIT_USAGE, "what is \"%s\"? see sonde stolen --help",
				inv->operands[0]);
	if (opt->duration)
		parse_duration(opt->duration, &seconds);
	if (opt->delay)
		parse_duration(opt->delay, &delay);
	code = open_device(inv, &r);
	if (code)
		return code;
	signals_catch_interrupt();
	if (!wait_for_host(r)) {
		stolen_reader_close(r);
		if (signals_interrupted())
			return EXIT_INTERRUPTED;
		return complain(inv, EXIT_FAILED,
				"the host tells nothing: sonde share does not run there");
	}
	if (opt->list)
		code = list(inv, r, seconds);
	else
		code = watch(inv, r, seconds ? seconds : delay, seconds ? 1 : opt->count,
			     seconds != 0);
	stolen_reader_close(r);
	return code;
}

const struct command stolen_command = {
	.name = "stolen",
	.summary = "in a guest: the steal time of its vCPUs, live, by class of culprit",
	.operands = "",
	.about =
		"Per vCPU and second: the steal time, and what ran meanwhile (a task of\n"
		"the host, another VM, its own VM, nobody), and how long the hypervisor worked for "
		"it.\n"
		"The host says so where `sonde share` runs; the guest needs the module "
		"sonde_guest.\n",
	.common = COMMON_FORMAT,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct stolen_options),
	.run = run_stolen,
};
