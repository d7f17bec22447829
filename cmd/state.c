/* SPDX-License-Identifier: Apache-2.0 */
/* sonde state: everything each physical CPU was doing at one moment, all layers. */
#include "cmd/common/command.h"
#include "cmd/common/missing.h"
#include "report/rows.h"
#include "report/moment.h"
#include "report/palette.h"
#include "libsonde/time_text.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state_options {
	const char *at;
	struct text_list cpus;
};

#define FIELD(field) offsetof(struct state_options, field)

static const struct option_row option_rows[] = {
	{0, "at", OPTION_TEXT, FIELD(at), "T", NULL,
	 "the moment: +1.5s, 12.345, 50%, tsc:N, 13:00:00.5 (default: the beginning)", 0},
	{0, "cpu", OPTION_CPUS, FIELD(cpus), "N", NULL, "only physical CPU N; may be repeated", 0},
};

static bool cpu_wanted(const struct state_options *opt, int cpu)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", cpu);
	for (unsigned i = 0; i < opt->cpus.nr; i++) {
		if (!strcmp(opt->cpus.items[i], text))
			return true;
	}
	return !opt->cpus.nr;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void add_frame(struct table *t, struct sonde_history *history, const struct sonde_stack *s,
		      int64_t at, unsigned i, int *line)
{
	const struct sonde_frame *f = &s->frames[i];
	bool innermost = i + 1 == s->nr;
	struct sonde_machine m;
	char text[256];

	sonde_machine_get(history, f->machine, &m);
	*line = table_line(t, *line);
	snprintf(text, sizeof(text), "L%u %s", m.level, m.name);
	table_cell(t, *line, 0, text);
	if (f->cpu >= 0) {
		snprintf(text, sizeof(text), "%d", f->cpu);
		table_cell(t, *line, 1, text);
	}
	sonde_thread_label(history, f->thread, text, sizeof(text));
	table_cell(t, *line, 2, text);
	container_text(history, f->thread, text, sizeof(text));
	table_cell(t, *line, 3, text);
	stack_does_text(history, s, i, text, sizeof(text));
	table_cell(t, *line, 4, text);
	if (innermost) {
		table_cell_color(t, *line, 4, mode_color(s->mode)->ansi);
		snprintf(text, sizeof(text), "%s",
			 unit_length((char[UNIT_TEXT]){0}, s->end - s->begin,
				     sonde_history_ticks_are_ns(history)));
		table_cell(t, *line, 5, text);
		table_cell(t, *line, 6,
			   stack_is_uncertain(s, at)
				   ? "uncertain: a change is nearer than the clock's error"
				   : "");
	}
}

/* Why that moment, when nobody asked for it. */
static const char *reason(const struct invocation *inv, const struct sonde_history *history,
			  int64_t at)
{
	const struct state_options *opt = inv->values;
	int64_t begin, end;

	sonde_history_traced(history, &begin, &end);
	if (opt->at || at == begin)
		return "";
	return opt->cpus.nr ? ": nothing is known of these CPUs before that"
			    : ": nothing is known of any CPU before that";
}

static int print_text(const struct invocation *inv, struct sonde_history *history, int64_t at)
{
	static const char *const titles[] = {"MACHINE", "CPU", "THREAD", "CONTAINER",
					     "DOES",	"FOR", ""};
	const struct state_options *opt = inv->values;
	bool is_ns = sonde_history_ticks_are_ns(history);
	struct table *t = table_new(&inv->screen);
	char when[UNIT_TEXT], since[UNIT_TEXT];
	int ret = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(titles); i++)
		table_column(t, titles[i],
			     i == 0		? TABLE_TREE
			     : i == 1 || i == 5 ? TABLE_RIGHT
			     : i == 2		? 0
						: TABLE_WRAP);
	for (int64_t row = 0; row < sonde_nr_cpus(history) && !ret; row++) {
		struct sonde_stack stack;
		struct sonde_cpu cpu;
		int line = TABLE_NO_PARENT;

		sonde_cpu_get(history, row, &cpu);
		if (cpu.machine != 0 || !cpu_wanted(opt, cpu.number))
			continue;
		ret = sonde_stack_at(history, cpu.number, at, &stack);
		for (unsigned i = 0; i < stack.nr && !ret; i++)
			add_frame(t, history, &stack, at, i, &line);
	}
	if (!ret)
		fprintf(inv->screen.out, "at %s, %s after the start%s\n",
			unit_time(when, at, is_ns),
			unit_length(since, at - sonde_history_begin(history), is_ns),
			reason(inv, history, at));
	if (!ret)
		missing_print_at(inv, history, at);
	if (!ret)
		fputc('\n', inv->screen.out);
	return table_print(t) ? -ENOMEM : ret;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_stack(struct json *j, struct sonde_history *history, int cpu, int64_t at,
		       const struct sonde_stack *s)
{
	json_begin_object(j, NULL);
	json_int(j, "cpu", cpu);
	json_int(j, "begin", s->begin);
	json_int(j, "end", s->end);
	json_str(j, "mode", sonde_mode_name(s->mode));
	json_str(j, "detail", s->detail_text);
	json_cpu(j, "serves", history, s->serves);
	json_row(j, "bound_ns", s->bound_ns);
	json_bool(j, "uncertain", stack_is_uncertain(s, at));
	json_begin_array(j, "stack");
	for (unsigned i = 0; i < s->nr; i++) {
		struct sonde_thread t;

		sonde_thread_get(history, s->frames[i].thread, &t);
		json_begin_object(j, NULL);
		json_machine(j, "machine", history, s->frames[i].machine);
		json_row(j, "cpu", s->frames[i].cpu);
		json_thread(j, "thread", history, s->frames[i].thread);
		json_pid_ns(j, "pid_ns", history, s->frames[i].thread < 0 ? -1 : t.pid_ns);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static int print_json(const struct invocation *inv, struct sonde_history *history, int64_t at)
{
	struct json j = {.out = inv->screen.out};
	int ret = 0;

	json_begin_object(&j, NULL);
	json_int(&j, "at", at);
	missing_json(&j, history, at, at + 1);
	json_begin_array(&j, "cpus");
	for (int64_t row = 0; row < sonde_nr_cpus(history) && !ret; row++) {
		struct sonde_stack stack;
		struct sonde_cpu cpu;

		sonde_cpu_get(history, row, &cpu);
		if (cpu.machine != 0 || !cpu_wanted(inv->values, cpu.number))
			continue;
		ret = sonde_stack_at(history, cpu.number, at, &stack);
		if (!ret)
			json_stack(&j, history, cpu.number, at, &stack);
	}
	json_end(&j);
	json_end(&j);
	return ret;
}

static bool cpus_exist(const struct invocation *inv, struct sonde_history *history)
{
	const struct state_options *opt = inv->values;

	for (unsigned i = 0; i < opt->cpus.nr; i++) {
		if (sonde_find_cpu(history, 0, atoi(opt->cpus.items[i])) < 0) {
			complain(inv, EXIT_USAGE, "--cpu: the host has no CPU \"%s\"",
				 opt->cpus.items[i]);
			return false;
		}
	}
	return true;
}

/* From when on CPU @cpu is known first, at or after @from; @end: it is not before. */
static int64_t known_from(struct sonde_history *history, int cpu, int64_t from, int64_t end)
{
	struct sonde_stack stack;

	while (from < end && !sonde_stack_at(history, cpu, from, &stack) &&
	       stack.mode == SONDE_MODE_UNKNOWN && stack.end > from)
		from = stack.end;
	return from < end ? from : end;
}

/* The first moment, where the host was traced, at which one of the CPUs is known; where none ever
 * is, the first of all. */
static int64_t default_moment(const struct invocation *inv, struct sonde_history *history)
{
	int64_t begin, end, best;

	sonde_history_traced(history, &begin, &end);
	best = end;
	for (int64_t row = 0; row < sonde_nr_cpus(history); row++) {
		struct sonde_cpu cpu;

		sonde_cpu_get(history, row, &cpu);
		if (cpu.machine == 0 && cpu_wanted(inv->values, cpu.number))
			best = known_from(history, cpu.number, begin, best);
	}
	return best < end ? best : begin;
}

static enum exit_code show(const struct invocation *inv, struct sonde_history *history)
{
	const struct state_options *opt = inv->values;
	int64_t at;
	bool is_ns = sonde_history_ticks_are_ns(history);
	char from[UNIT_TEXT], to[UNIT_TEXT];
	struct sonde_error err = {0};
	int ret;

	if (!cpus_exist(inv, history))
		return EXIT_USAGE;
	at = opt->at ? 0 : default_moment(inv, history);
	if (opt->at && sonde_history_time(history, opt->at, &at, &err))
		return complain(inv, EXIT_USAGE, "--at: %s", err.text);
	if (at < sonde_history_begin(history) || at >= sonde_history_end(history))
		return complain(inv, EXIT_USAGE,
				"--at %s lies outside the history, which lasts from %s to %s%s",
				opt->at ? opt->at : "",
				unit_time(from, sonde_history_begin(history), is_ns),
				unit_time(to, sonde_history_end(history), is_ns),
				is_ns && opt->at && time_is_bare(opt->at)
					? " (without a unit it is in ns: write 12s for seconds)"
					: "");
	ret = is_json(inv) ? print_json(inv, history, at) : print_text(inv, history, at);
	if (ret)
		return complain(inv, EXIT_FAILED, "cannot read the history: %s", error_reason(ret));
	return EXIT_DONE;
}

static enum exit_code run_state(const struct invocation *inv)
{
	return with_input(inv, show);
}

const struct command state_command = {
	.name = "state",
	.summary = "all layers of each physical CPU at one moment",
	.operands = "[FILE]",
	.about = "Each CPU is a tree: the host's thread, inside it the VM's, inside that the\n"
		 "nested VM's, each with its container; the innermost line says what it does.\n",
	.common = COMMON_INPUT | COMMON_FORMAT,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct state_options),
	.whole = true,
	.run = run_state,
};
