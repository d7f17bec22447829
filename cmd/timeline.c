/* SPDX-License-Identifier: Apache-2.0 */
/* sonde timeline: what ran when: to be walked through on a terminal, or as a picture. */
#include "cmd/common/command.h"
#include "query/query.h"
#include "base/units.h"
#include "cmd/common/missing.h"
#include "cmd/common/outfile.h"
#include "cmd/common/signals.h"
#include "report/rows.h"
#include "report/missing.h"
#include "report/picture.h"
#include "term/timeline.h"
#include "term/tty.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct timeline_options {
	const char *svg;
	const char *rows;
	uint64_t width;
	bool plain;
	const char *filter;
	const char *palette;
};

#define FIELD(field) offsetof(struct timeline_options, field)
#define WIDTH_MAX 20000
#define SVG_WIDTH 1200
#define TEXT_WIDTH 80
#define TEXT_LABEL 9

static const struct option_row option_rows[] = {
	{0, "svg", OPTION_TEXT, FIELD(svg), "FILE", NULL,
	 "write an SVG picture to FILE (\"-\": stdout)", 0},
	{0, "plain", OPTION_FLAG, FIELD(plain), NULL, NULL,
	 "print the picture, also on a terminal, where it could be walked through", 0},
	{0, "filter", OPTION_TEXT, FIELD(filter), "TERMS", NULL,
	 "highlight what matches, like \"machine:vm-a state:preempted\"; a picture shows only that",
	 0},
	{0, "palette", OPTION_CHOICE, FIELD(palette), "NAME", "usual|safe",
	 "usual (default), or colours that all eyes tell apart (on a terminal)", 0},
	{'w', "width", OPTION_NUMBER, FIELD(width), "N", NULL,
	 "pixels or characters (default: the terminal's width; SVG 1200)", 0},
	{0, "rows", OPTION_TEXT, FIELD(rows), "LIST", "cpus|machines|vcpus|all",
	 "of cpus, machines, vcpus, with commas between (default: all)", 0},
};

static const struct {
	const char *name;
	unsigned bit;
} row_names[] = {
	{"cpus", PICTURE_CPUS},
	{"machines", PICTURE_MACHINES},
	{"vcpus", PICTURE_VCPUS},
	{"all", PICTURE_CPUS | PICTURE_MACHINES | PICTURE_VCPUS},
};

static bool parse_rows(const char *text, unsigned *which)
{
	*which = 0;
	while (*text) {
		size_t len = strcspn(text, ",");
		unsigned bit = 0;

		for (size_t i = 0; i < ARRAY_SIZE(row_names); i++) {
			if (strlen(row_names[i].name) == len &&
			    !strncmp(row_names[i].name, text, len))
				bit = row_names[i].bit;
		}
		if (!bit)
			return false;
		*which |= bit;
		text += len + (text[len] == ',');
	}
	return *which != 0;
}

static unsigned picture_width(const struct invocation *inv)
{
	const struct timeline_options *opt = inv->values;
	unsigned chars = inv->screen.width ? inv->screen.width : TEXT_WIDTH;

	if (opt->width)
		return (unsigned)(opt->width < WIDTH_MAX ? opt->width : WIDTH_MAX) *
		       (!opt->svg && !is_json(inv) && inv->screen.color ? 2 : 1);
	if (opt->svg || is_json(inv))
		return SVG_WIDTH;
	chars = chars > TEXT_LABEL + 20 ? chars - TEXT_LABEL : 20;
	return inv->screen.color ? 2 * chars : chars;
}

static int write_picture(FILE *out, void *data, struct error *err)
{
	(void)err;
	picture_svg(data, out);
	return 0;
}

static void json_run(struct json *j, const struct picture *p, unsigned row, unsigned first,
		     unsigned end, uint32_t value)
{
	struct sonde_context c;

	if (!value)
		return;
	json_begin_object(j, NULL);
	json_uint(j, "first", first);
	json_uint(j, "nr", end - first);
	if (p->rows[row].kind == ROW_VCPU) {
		json_str(j, "state", query_vcpu_state_name(value));
	} else if (!sonde_context_get(p->history, (int64_t)value - 1, &c)) {
		json_machine(j, "machine", p->history, c.machine);
		json_str(j, "mode", sonde_mode_name(c.mode));
		json_str(j, "detail", c.detail_text);
		json_row(j, "thread", c.thread);
	}
	json_end(j);
}

static void json_picture_row(struct json *j, const struct picture *p, unsigned row)
{
	static const char *const kinds[] = {
		[ROW_CPU] = "cpu", [ROW_MACHINE] = "machine", [ROW_VCPU] = "vcpu"};
	const struct picture_row *r = &p->rows[row];
	unsigned first = 0;

	json_begin_object(j, NULL);
	json_str(j, "kind", kinds[r->kind]);
	json_cpu(j, "cpu", p->history, r->cpu);
	json_machine(j, "machine", p->history, r->machine);
	json_begin_array(j, "runs");
	for (unsigned x = 1; x <= p->width; x++) {
		if (x < p->width && picture_cell(p, row, x) == picture_cell(p, row, first))
			continue;
		json_run(j, p, row, first, x, picture_cell(p, row, first));
		first = x;
	}
	json_end(j);
	json_end(j);
}

static void print_json(const struct invocation *inv, const struct picture *p)
{
	struct json j = {.out = inv->screen.out};

	json_begin_object(&j, NULL);
	json_int(&j, "begin", p->begin);
	json_int(&j, "end", p->end);
	json_uint(&j, "width", p->width);
	missing_json(&j, p->history, p->begin, p->end);
	json_begin_array(&j, "rows");
	for (unsigned row = 0; row < p->nr_rows; row++)
		json_picture_row(&j, p, row);
	json_end(&j);
	json_end(&j);
}

/* On a terminal, and when nothing was asked for that only a picture can be. */
static bool is_interactive(const struct invocation *inv)
{
	const struct timeline_options *opt = inv->values;
	const char *term = getenv("TERM");

	return !opt->plain && !opt->svg && !opt->width && !opt->rows && !is_json(inv) &&
	       isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");
}

struct bookmarks {
	FILE *out;
	bool ticks_are_ns;
	unsigned nr;
};

/* As they can be gone to again: "/" takes these times. */
static void print_bookmark(int64_t t, const char *note, void *data)
{
	struct bookmarks *b = data;
	char when[UNIT_TEXT];

	if (!b->nr++)
		fprintf(b->out, "Bookmarks\n");
	fprintf(b->out, "%s%s%s\n", unit_time(when, t, b->ticks_are_ns), *note ? "  " : "", note);
}

static enum exit_code walk_through(const struct invocation *inv, struct sonde_history *history)
{
	const struct timeline_options *opt = inv->values;
	struct bookmarks bookmarks = {.out = inv->screen.out,
				      .ticks_are_ns = sonde_history_ticks_are_ns(history)};
	struct timeline_view view = {
		.bookmark = print_bookmark,
		.data = &bookmarks,
		.in = stdin,
		.out = stdout,
		.color = inv->screen.color,
		.safe = opt->palette && !strcmp(opt->palette, "safe"),
		.filter = opt->filter,
		.stop = signals_interrupted,
	};
	struct error err = {0};
	int ret;

	if (!get_window(inv, history, &view.begin, &view.end))
		return EXIT_USAGE;
	signals_catch_silently(tty_abandon);
	ret = timeline_run(history, &view, &err);
	if (ret && ret != -EINTR)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	return EXIT_DONE;
}

static enum exit_code draw(const struct invocation *inv, struct sonde_history *history,
			   unsigned which)
{
	const struct timeline_options *opt = inv->values;
	enum exit_code code = EXIT_DONE;
	struct error err = {0};
	struct filter filter = {0};
	int64_t begin, end;
	struct picture p;

	if (!get_window(inv, history, &begin, &end))
		return EXIT_USAGE;
	if (picture_init(&p, history, begin, end, picture_width(inv), which, &err))
		return complain(inv, EXIT_FAILED, "%s", err.text);
	if (opt->filter && filter_init(&filter, history, opt->filter)) {
		picture_release(&p);
		return complain(inv, EXIT_FAILED, "out of memory for the filter");
	}
	if (opt->filter)
		picture_keep(&p, &filter);
	filter_release(&filter);
	if (opt->svg) {
		code = write_outfile(inv, opt->svg, write_picture, &p);
	} else if (is_json(inv)) {
		print_json(inv, &p);
	} else {
		missing_print(inv, history, begin, end);
		picture_print(&p, inv->screen.out, inv->screen.color);
	}
	picture_release(&p);
	return code;
}

static enum exit_code run_timeline(const struct invocation *inv)
{
	const struct timeline_options *opt = inv->values;
	struct sonde_history *history;
	enum exit_code code;
	unsigned which;

	if (!parse_rows(opt->rows ? opt->rows : "all", &which))
		return complain(inv, EXIT_USAGE,
				"--rows: \"%s\" is no list of cpus, machines and vcpus", opt->rows);
	code = open_input(inv, &history);
	if (code)
		return code;
	code = is_interactive(inv) ? walk_through(inv, history) : draw(inv, history, which);
	sonde_history_close(history);
	return code;
}

const struct command timeline_command = {
	.name = "timeline",
	.summary = "what ran when: walk through it on a terminal; or a picture",
	.operands = "[FILE]",
	.about =
		"On a terminal: zoom, move, open what is inside, highlight; ? there lists the "
		"keys.\n"
		"With --plain, --rows or --width, in a pipe and as SVG it is a picture: a row per\n"
		"physical CPU shows what really ran on it.  Below, the same rows for each machine\n"
		"show its part only, and a row per vCPU shows when it was on a CPU, preempted or\n"
		"waiting.\n",
	.common = COMMON_INPUT | COMMON_FORMAT | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct timeline_options),
	.whole = true,
	.run = run_timeline,
};
