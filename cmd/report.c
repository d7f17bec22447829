/* SPDX-License-Identifier: Apache-2.0 */
/* sonde report: who used the CPU, who lost it, and to whom. */
#include "cmd/common/command.h"
#include "cmd/common/outfile.h"
#include "cmd/common/time_window.h"
#include "cmd/answers/report_sections.h"
#include "cmd/answers/report_summary.h"
#include "cmd/answers/report_topics.h"
#include "cmd/common/missing.h"
#include "analysis/rows.h"
#include "report/chart.h"
#include "report/csv.h"
#include "report/rows.h"
#include "report/moment.h"
#include "base/figure.h"
#include "base/units.h"
#include "serve/api/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct report_options {
	uint64_t top;
	struct text_list sections;
	const char *vm;
	const char *svg;
	const char *html;
};

#define FIELD(field) offsetof(struct report_options, field)
#define TOP_DEFAULT 15

static const struct option_row option_rows[] = {
	{'n', "top", OPTION_NUMBER, FIELD(top), "N", NULL,
	 "rows per table (default 15, and short tables whole; JSON has all of them)", 0},
	{0, "vm", OPTION_TEXT, FIELD(vm), "NAME", NULL,
	 "only what is about this machine, and those inside it", 0},
	{0, "svg", OPTION_TEXT, FIELD(svg), "FILE", NULL,
	 "draw the report (wakeup, exits, io, boot, shutdown) as SVG; - for the screen", 0},
	{'t', "table", OPTION_LIST, FIELD(sections), "NAME", NULL,
	 "only this table; may be repeated; --table help lists them", 0},
	{0, "html", OPTION_TEXT, FIELD(html), "FILE", NULL,
	 "write the page of sonde serve, of this window, as one FILE that needs no server", 0},
};

/* What a report shows when the user does not choose, in order.  Tables that have a row per machine
 * or vCPU are shown whole. */
static const struct {
	const char *name;
	bool whole;
	const char *hide[2];	/* columns */
	const char *explain[4]; /* the same, up to a NULL */
} sections[] = {
	{"machine_time", true, {NULL}, {"task", "guest", "unknown", NULL}},
	{"hypervisor", true, {NULL}, {NULL}},
	{"vcpu_time", true, {"parent", NULL}, {NULL}},
	{"preemption", false, {NULL}, {NULL}},
	{"preemption_victim", false, {"share", NULL}, {NULL}},
	{"exit_reason", false, {"reason", NULL}, {NULL}},
	{"container_time", false, {NULL}, {NULL}},
	{"process_time", false, {NULL}, {NULL}},
	{"mark", false, {NULL}, {NULL}},
	{"clock", true, {NULL}, {NULL}},
	{"gap", false, {NULL}, {NULL}},
	{"left_out", true, {NULL}, {NULL}},
	{"problem", false, {NULL}, {NULL}},
};

/* ---- rows --------------------------------------------------------------------------------- */

/* Only the rows of --vm, when it is given. */
static enum exit_code choose_rows(const struct invocation *inv, struct sonde_history *history,
				  struct sonde_rows **rows)
{
	const struct report_options *opt = inv->values;
	struct sonde_rows *all = *rows;
	int ret;

	if (!opt->vm)
		return EXIT_DONE;
	ret = rows_of_machine(rows, history, all, sonde_find_machine(history, opt->vm));
	sonde_rows_free(all);
	return ret ? complain(inv, EXIT_FAILED, "out of memory") : EXIT_DONE;
}

/* What was lost outside of the window that is shown when none is asked for is told all the same. */
static void widen(const struct invocation *inv, struct sonde_history *history, const char *name,
		  int64_t *begin, int64_t *end)
{
	if (inv->common.time || strcmp(name, "gap"))
		return;
	*begin = sonde_history_begin(history);
	*end = ns_plus(sonde_history_end(history), 1);
}

static enum exit_code fetch(const struct invocation *inv, struct sonde_history *history,
			    const char *name, int64_t begin, int64_t end, struct sonde_rows **out)
{
	struct sonde_error err = {0};
	int ret;

	ticker_say(inv->ticker, name);
	widen(inv, history, name, &begin, &end);
	ret = sonde_rows_get(out, history, name, begin, end, &err);
	ticker_hide(inv->ticker);
	if (!ret)
		return choose_rows(inv, history, out);
	return complain(inv, EXIT_FAILED, "%s", err.text);
}

/* ---- text ---------------------------------------------------------------------------------- */

/* One line that proves the partition: the sum of all rows is wall time times CPUs. */
static void print_sum(const struct invocation *inv, struct sonde_history *history,
		      const struct sonde_rows *rows, int64_t length)
{
	static const char *const cpu_kinds[] = {
		[OUTERMOST_UNKNOWN] = "", [OUTERMOST_PHYSICAL] = "physical ", [OUTERMOST_VM] = "v"};
	unsigned total = (unsigned)sonde_rows_column(rows, "total");
	const char *unit = sonde_history_ticks_are_ns(history) ? "ns" : "cy";
	int64_t sum = 0;
	int64_t cpus = 0;

	for (size_t row = 0; row < sonde_rows_nr(rows); row++)
		sum += sonde_rows_cell(rows, row, total).i;
	for (int64_t row = 0; row < sonde_nr_cpus(history); row++) {
		struct sonde_cpu cpu;

		sonde_cpu_get(history, row, &cpu);
		cpus += cpu.machine == 0;
	}
	fprintf(inv->screen.out, "sum %" PRId64 " %s %s %" PRId64 " %s x %" PRId64 " %sCPU%s\n",
		sum, unit, sum == length * cpus ? "=" : "IS NOT", length, unit, cpus,
		cpu_kinds[outermost_of(history)], cpus == 1 ? "" : "s");
}

/* Without traces of the guests nobody knows whom it hit: then it says what the table before it
 * says. */
static bool repeats_pairs(const char *name, const struct sonde_rows *rows)
{
	int victim = sonde_rows_column(rows, "victim");

	if (strcmp(name, "preemption_victim"))
		return false;
	for (size_t row = 0; row < sonde_rows_nr(rows); row++) {
		if (sonde_rows_cell(rows, row, (unsigned)victim).i >= 0)
			return false;
	}
	return true;
}

/* Lists that begin with what took longest: where that is. */
static void print_place(const struct invocation *inv, struct sonde_history *history,
			const struct sonde_rows *rows)
{
	const char *name = sonde_rows_table(rows)->name;
	char place[PLACE_TEXT];
	int64_t at;

	if ((strcmp(name, "wakeup_list") && strcmp(name, "io_list")) || !sonde_rows_nr(rows))
		return;
	at = rows_named(rows, 0, "at").i;
	fprintf(inv->screen.out, "the slowest of them: --time %s\n",
		place_text(place, history, at, at + rows_named(rows, 0, "total").i));
}

static enum exit_code print_section(const struct invocation *inv, struct sonde_history *history,
				    const char *name, const struct rows_view *view, int64_t begin,
				    int64_t end, size_t *nr_rows)
{
	const struct report_options *opt = inv->values;
	struct sonde_rows *rows;
	enum exit_code code = fetch(inv, history, name, begin, end, &rows);

	if (code)
		return code;
	if (!opt->sections.nr && repeats_pairs(name, rows)) {
		sonde_rows_free(rows);
		return EXIT_DONE;
	}
	*nr_rows += sonde_rows_nr(rows);
	if (rows_print(&inv->screen, history, rows, view))
		code = complain(inv, EXIT_FAILED, "out of memory");
	print_place(inv, history, rows);
	if (!strcmp(name, "machine_time") && !opt->vm)
		print_sum(inv, history, rows, end - begin);
	sonde_rows_free(rows);
	return code;
}

static enum exit_code print_summary(const struct invocation *inv, struct sonde_history *history,
				    int64_t begin, int64_t end)
{
	const struct report_options *opt = inv->values;
	struct summary_rows rows = {.whole = !opt->vm};
	enum exit_code code = fetch(inv, history, "vcpu_time", begin, end, &rows.vcpus);

	if (!code)
		code = fetch(inv, history, "preemption", begin, end, &rows.pairs);
	if (!code)
		report_summary_print(inv, history, &rows, begin, end);
	sonde_rows_free(rows.vcpus);
	sonde_rows_free(rows.pairs);
	return code;
}

/* No tracer counts what was lost with the link to an agent, or with the end of a file. */
static const char *note_problems(struct sonde_history *history, const char *section)
{
	const char *note = "";
	struct sonde_rows *f;

	if (strcmp(section, "gap") ||
	    sonde_rows_get(&f, history, "problem", sonde_history_begin(history),
			   sonde_history_end(history), NULL))
		return note;
	if (sonde_rows_nr(f))
		note = " that a tracer counted; what else is missing: --table problem";
	sonde_rows_free(f);
	return note;
}

/* The history has some of it, be it at another time or of another VM. */
static bool is_recorded(struct sonde_history *history, const struct topic *topic)
{
	struct sonde_rows *f;
	bool found;

	if (sonde_rows_get(&f, history, topic->sections[0].name, sonde_history_begin(history),
			   sonde_history_end(history), NULL))
		return false;
	found = sonde_rows_nr(f) > 0;
	sonde_rows_free(f);
	return found;
}

/* What the user chose holds for every table. */
static size_t rows_of(const struct report_options *opt, bool whole)
{
	return opt->top ? opt->top : whole ? 0 : TOP_DEFAULT;
}

/* Where something is missing, nobody knows that there was nothing. */
static const char *as_known(struct sonde_history *history, int64_t begin, int64_t end)
{
	return missing_is_told(history, begin, end) ? "as far as the traces show, " : "";
}

static enum exit_code print_topic(const struct invocation *inv, struct sonde_history *history,
				  const struct topic *topic, int64_t begin, int64_t end)
{
	const struct report_options *opt = inv->values;
	struct rows_view view = {0};
	const struct sonde_table *declared;
	enum exit_code code = EXIT_DONE;
	size_t rows = 0;

	if (missing_is_told(history, begin, end))
		missing_print(inv, history, begin, end);
	for (unsigned i = 0; topic->sections[i].name && !code; i++) {
		view.hide = topic->sections[i].hide;
		view.explain = topic->sections[i].explain;
		view.rows_max = rows_of(opt, topic->sections[i].whole);
		code = print_section(inv, history, topic->sections[i].name, &view, begin, end,
				     &rows);
	}
	view = (struct rows_view){.rows_max = rows_of(opt, false)};
	for (unsigned i = 0; (declared = table_of_topic(topic->name, i)) && !code; i++)
		code = print_section(inv, history, declared->name, &view, begin, end, &rows);
	if (!code && !rows)
		fprintf(inv->screen.out, "%s%s%s%s in this history%s%s\n", opt->vm ? opt->vm : "",
			opt->vm ? ": " : "", as_known(history, begin, end), topic->nothing,
			inv->common.time ? "'s window" : "",
			topic->record && !is_recorded(history, topic) ? topic->record : "");
	return code;
}

static void print_none(const struct invocation *inv, struct sonde_history *history,
		       const char *section, int64_t begin, int64_t end)
{
	const struct report_options *opt = inv->values;
	const char *note = note_problems(history, section);

	fprintf(inv->screen.out, "%s%s%s: %snone in this history%s%s\n", opt->vm ? opt->vm : "",
		opt->vm ? ": " : "", report_title(section),
		*note ? "" : as_known(history, begin, end), inv->common.time ? "'s window" : "",
		note);
}

static enum exit_code print_text(const struct invocation *inv, struct sonde_history *history,
				 const struct topic *topic, int64_t begin, int64_t end)
{
	const struct report_options *opt = inv->values;
	struct rows_view view = {.rows_max = rows_of(opt, false)};
	enum exit_code code = EXIT_DONE;
	size_t rows = 0;

	if (topic)
		return print_topic(inv, history, topic, begin, end);
	for (unsigned i = 0; i < opt->sections.nr && !code; i++, rows = 0) {
		code = print_section(inv, history, opt->sections.items[i], &view, begin, end,
				     &rows);
		if (!code && !rows)
			print_none(inv, history, opt->sections.items[i], begin, end);
	}
	if (opt->sections.nr)
		return code;
	code = print_summary(inv, history, begin, end);
	for (size_t i = 0; i < ARRAY_SIZE(sections) && !code; i++) {
		view.hide = sections[i].hide;
		view.explain = sections[i].explain;
		view.rows_max = rows_of(opt, sections[i].whole);
		code = print_section(inv, history, sections[i].name, &view, begin, end, &rows);
	}
	return code;
}

/* ---- JSON and CSV -------------------------------------------------------------------------- */

/* Writes one table: as the next member of an object, or a table behind an empty line. */
typedef enum exit_code (*write_section)(const struct invocation *inv, struct json *j,
					struct sonde_history *history, const char *name,
					int64_t begin, int64_t end);

static enum exit_code json_section(const struct invocation *inv, struct json *j,
				   struct sonde_history *history, const char *name, int64_t begin,
				   int64_t end)
{
	struct sonde_rows *rows;
	enum exit_code code = fetch(inv, history, name, begin, end, &rows);

	if (code)
		return code;
	rows_json(j, name, history, rows);
	sonde_rows_free(rows);
	return EXIT_DONE;
}

static enum exit_code csv_section(const struct invocation *inv, struct json *j,
				  struct sonde_history *history, const char *name, int64_t begin,
				  int64_t end)
{
	struct sonde_rows *rows;
	enum exit_code code = fetch(inv, history, name, begin, end, &rows);

	if (code)
		return code;
	if (j->filled[0])
		fputc('\n', j->out);
	j->filled[0] = true;
	rows_csv(j->out, history, rows);
	sonde_rows_free(rows);
	return EXIT_DONE;
}

/* All tables that were asked for. */
static enum exit_code write_sections(const struct invocation *inv, struct json *j,
				     struct sonde_history *history, const struct topic *topic,
				     int64_t begin, int64_t end, write_section write)
{
	const struct report_options *opt = inv->values;
	enum exit_code code = EXIT_DONE;

	if (topic) {
		const struct sonde_table *declared;

		for (unsigned i = 0; topic->sections[i].name && !code; i++)
			code = write(inv, j, history, topic->sections[i].name, begin, end);
		for (unsigned i = 0; (declared = table_of_topic(topic->name, i)) && !code; i++)
			code = write(inv, j, history, declared->name, begin, end);
		return code;
	}
	for (unsigned i = 0; i < opt->sections.nr && !code; i++)
		code = write(inv, j, history, opt->sections.items[i], begin, end);
	for (size_t i = 0; i < ARRAY_SIZE(sections) && !opt->sections.nr && !code; i++)
		code = write(inv, j, history, sections[i].name, begin, end);
	return code;
}

static enum exit_code print_json(const struct invocation *inv, struct sonde_history *history,
				 const struct topic *topic, int64_t begin, int64_t end)
{
	struct json j = {.out = inv->screen.out};
	enum exit_code code;

	json_begin_object(&j, NULL);
	json_int(&j, "begin", begin);
	json_int(&j, "end", end);
	json_bool(&j, "complete", sonde_history_complete(history));
	json_bool(&j, "ticks_are_ns", sonde_history_ticks_are_ns(history));
	code = write_sections(inv, &j, history, topic, begin, end, json_section);
	json_end(&j);
	return code;
}

static enum exit_code print_csv(const struct invocation *inv, struct sonde_history *history,
				const struct topic *topic, int64_t begin, int64_t end)
{
	struct json j = {.out = inv->screen.out};

	return write_sections(inv, &j, history, topic, begin, end, csv_section);
}

/* ---- the command --------------------------------------------------------------------------- */

/* "sonde report boot run.sonde": the first operand is a report; alone, unless there is a file of
 * that name. */
static const struct topic *take_topic(struct invocation *inv)
{
	const struct topic *topic = inv->nr_operands ? topic_find(inv->operands[0]) : NULL;
	struct stat st;

	if (!topic || (inv->nr_operands == 1 && !stat(topic->name, &st) && S_ISREG(st.st_mode)))
		return NULL;
	inv->operands++;
	inv->nr_operands--;
	return topic;
}

struct drawing {
	struct sonde_history *history;
	const struct topic *topic;
	struct sonde_rows *rows;
};

static int write_chart(FILE *out, void *data, struct error *err)
{
	const struct drawing *d = data;

	(void)err;
	if (d->topic->is_phases)
		chart_phases(out, d->history, d->rows);
	else
		chart_spread(out, d->history, d->rows);
	return 0;
}

static enum exit_code draw(const struct invocation *inv, struct sonde_history *history,
			   const struct topic *topic, int64_t begin, int64_t end)
{
	const struct report_options *opt = inv->values;
	struct drawing d = {.history = history, .topic = topic};
	char names[TOPIC_NAMES];
	enum exit_code code;

	if (!topic || !topic->drawn)
		return complain(inv, EXIT_USAGE,
				"--svg: there is no picture of that; there is one of %s",
				topic_names(names, sizeof(names), true));
	code = fetch(inv, history, topic->drawn, begin, end, &d.rows);
	if (code)
		return code;
	if (!sonde_rows_nr(d.rows))
		code = complain(inv, EXIT_FAILED, "there is nothing to draw: no %s in that time",
				topic->name);
	else
		code = write_outfile(inv, opt->svg, write_chart, &d);
	sonde_rows_free(d.rows);
	return code;
}

/* ---- HTML ---------------------------------------------------------------------------------- */

struct window {
	struct sonde_history *history;
	int64_t begin, end;
};

static int write_html(FILE *out, void *data, struct error *err)
{
	const struct window *w = data;

	return html_write(out, w->history, w->begin, w->end, err);
}

static enum exit_code report(const struct invocation *inv, struct sonde_history *history,
			     const struct topic *topic)
{
	const struct report_options *opt = inv->values;
	int64_t begin, end;

	if (opt->vm && sonde_find_machine(history, opt->vm) < 0)
		return complain(inv, EXIT_USAGE,
				"--vm: there is no machine \"%s\"; sonde tree lists them", opt->vm);
	if (opt->vm && opt->html)
		return complain(inv, EXIT_USAGE,
				"--html: the page has all machines, not those of --vm");
	if (!get_window(inv, history, &begin, &end))
		return EXIT_USAGE;
	if (opt->svg)
		return draw(inv, history, topic, begin, end);
	if (opt->html) {
		struct window w = {history, begin, end};

		return write_outfile(inv, opt->html, write_html, &w);
	}
	if (is_json(inv))
		return print_json(inv, history, topic, begin, end);
	if (is_csv(inv))
		return print_csv(inv, history, topic, begin, end);
	return print_text(inv, history, topic, begin, end);
}

static enum exit_code run_report(const struct invocation *inv)
{
	const struct report_options *opt = inv->values;
	struct invocation asked = *inv;
	const struct topic *topic = take_topic(&asked);
	char names[TOPIC_NAMES];
	struct sonde_history *history;
	enum exit_code code;

	for (unsigned i = 0; i < opt->sections.nr; i++) {
		if (!strcmp(opt->sections.items[i], "help")) {
			if (is_json(inv))
				report_sections_json(inv->screen.out);
			else
				report_sections_list(inv->screen.out);
			return EXIT_DONE;
		}
		if (!report_title(opt->sections.items[i]))
			return complain(inv, EXIT_USAGE,
					"there is no table \"%s\"; --table help lists them",
					opt->sections.items[i]);
	}
	if (!topic && inv->nr_operands == 2 && access(inv->operands[0], F_OK))
		return complain(inv, EXIT_USAGE, "no report \"%s\"; reports are %s",
				inv->operands[0], topic_names(names, sizeof(names), false));
	if (!topic && inv->nr_operands == 2 && topic_find(inv->operands[1]))
		return complain(inv, EXIT_USAGE,
				"the name of the report stands before the file: sonde report %s %s",
				inv->operands[1], inv->operands[0]);
	code = open_input(&asked, &history);
	if (code)
		return code;
	code = report(&asked, history, topic);
	sonde_history_close(history);
	return code;
}

const struct command report_command = {
	.name = "report",
	.summary = "who used the CPU, steal time and its culprits",
	.operands = "[REPORT] [FILE]",
	.about = "CPU time by machine, VM, container and process; what hypervisors cost; which\n"
		 "vCPU and which guest thread was preempted by whom; how far clocks and traces\n"
		 "can be trusted.  Reports of one question: wait, wakeup, preempt, exits,\n"
		 "io, boot, shutdown, vms.\n",
	.common = COMMON_INPUT | COMMON_FORMAT_CSV | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct report_options),
	.pages = true,
	.whole = true,
	.run = run_report,
};
