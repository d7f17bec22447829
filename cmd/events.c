/* SPDX-License-Identifier: Apache-2.0 */
/* sonde events: all events of all traces as one sequence in L0 time. */
#include "base/grow.h"
#include "cmd/common/command.h"
#include "cmd/common/progress.h"
#include "cmd/common/signals.h"
#include "cmd/common/trace_options.h"
#include "base/text.h"
#include "report/safe.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct events_options {
	struct trace_options traces;
	struct text_list names;
	struct text_list machines;
	struct text_list cpus;
	struct text_list fields;
	uint64_t limit;
	bool ticks;
	bool count;
};

#define FIELD(field) offsetof(struct events_options, field)

static const struct option_row option_rows[] = {
	{'e', "event", OPTION_LIST, FIELD(names), "PATTERN", NULL,
	 "only events whose name fits (\"kvm_*\"); may be repeated", 0},
	{'m', "machine", OPTION_LIST, FIELD(machines), "NAME", NULL, "only this machine's events",
	 0},
	{0, "cpu", OPTION_CPUS, FIELD(cpus), "N", NULL, "only events of CPU N of their machine", 0},
	{0, "fields", OPTION_LIST, FIELD(fields), "NAME", NULL,
	 "only this field instead of all; may be repeated", 0},
	{'n', "limit", OPTION_NUMBER, FIELD(limit), "N", NULL, "stop after N events", 0},
	{0, "ticks", OPTION_FLAG, FIELD(ticks), NULL, NULL,
	 "show the tracer's own time stamps, too", 0},
	{'c', "count", OPTION_FLAG, FIELD(count), NULL, NULL,
	 "only count events, per machine and name", 0},
	TRACE_OPTIONS(struct events_options, traces),
};

#define FIELDS_TEXT 65536
#define LINES_TEXT 32768

/* ---- filters ------------------------------------------------------------------------------- */

static enum exit_code set_filters(const struct invocation *inv, struct sonde_events *e)
{
	const struct events_options *opt = inv->values;
	struct sonde_error err = {0};
	int64_t begin, end;

	for (unsigned i = 0; i < opt->names.nr; i++) {
		if (sonde_events_only_name(e, opt->names.items[i])) {
			return complain(inv, EXIT_FAILED, "no trace has an event called \"%s\"",
					opt->names.items[i]);
		}
	}
	for (unsigned i = 0; i < opt->machines.nr; i++) {
		if (sonde_events_only_machine(e, opt->machines.items[i])) {
			return complain(inv, EXIT_FAILED, "there is no machine called \"%s\"",
					opt->machines.items[i]);
		}
	}
	for (unsigned i = 0; i < opt->cpus.nr; i++) {
		const char *text = opt->cpus.items[i];

		if (sonde_events_only_cpu(e, atoi(text)))
			return complain(inv, EXIT_FAILED, "no trace has a CPU %s", text);
	}
	if (sonde_events_window(e, inv->common.time, &begin, &end, &err))
		return complain(inv, EXIT_USAGE, "--time: %s", err.text);
	sonde_events_only_time(e, begin, end);
	return EXIT_DONE;
}

/* ---- output -------------------------------------------------------------------------------- */

struct printer {
	FILE *out;
	struct sonde_events *events;
	const struct events_options *opt;
	bool is_ns;
	struct json json;
	char *fields; /* FIELDS_TEXT bytes */
	char *lines;  /* LINES_TEXT bytes: what is yet to be written */
	size_t lines_len;
	bool by_line;	  /* somebody watches */
	bool *field_seen; /* per field the user asked for: some event had it */
	int name_width;
};

/* The fields the user asked for, "name=value ..."; those that an event lacks are left out. */
static void pick_fields(struct printer *p, char *buf, size_t room)
{
	size_t used = 0;

	*buf = '\0';
	for (unsigned i = 0; i < p->opt->fields.nr && used < room; i++) {
		const char *field = p->opt->fields.items[i];
		const char *space = used ? " " : "";
		int64_t value;
		int ret = sonde_event_int(p->events, field, &value);

		if (ret == -ENODATA)
			used += (size_t)snprintf(buf + used, room - used, "%s%s=unknown", space,
						 field);
		else if (!ret)
			used += (size_t)snprintf(buf + used, room - used, "%s%s=%lld", space, field,
						 (long long)value);
		p->field_seen[i] |= !ret || ret == -ENODATA;
	}
}

/* Puts the fields into p->fields; returns their length. */
static size_t print_fields(struct printer *p)
{
	size_t len;

	if (p->opt->fields.nr) {
		pick_fields(p, p->fields, FIELDS_TEXT);
		return strlen(p->fields);
	}
	*p->fields = '\0';
	len = sonde_event_print(p->events, p->fields, FIELDS_TEXT);
	return len < FIELDS_TEXT ? len : FIELDS_TEXT - 1;
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* Nothing but printable ASCII, eight bytes at a time: of each, the top bit of the byte itself, of
 * it plus 1 (DEL) and of it less 0x20 (control) must be 0; a borrow only comes from a byte that
 * fails. */
static bool is_plain(const char *text, size_t len)
{
	uint64_t odd = 0, word;
	size_t i = 0;

	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		odd |= word | (word + EACH_BYTE(1)) | (word - EACH_BYTE(0x20));
	}
	for (; i < len; i++)
		odd |= (unsigned char)(text[i] - 0x20) < 0x7f - 0x20 ? 0 : 0x80;
	return !(odd & EACH_BYTE(0x80));
}

static void write_lines(struct printer *p)
{
	fwrite(p->lines, 1, p->lines_len, p->out);
	p->lines_len = 0;
}

static void emit(struct printer *p, const char *text, size_t len)
{
	if (len > LINES_TEXT - p->lines_len)
		write_lines(p);
	if (len > LINES_TEXT) {
		fwrite(text, 1, len, p->out);
		return;
	}
	memcpy(p->lines + p->lines_len, text, len);
	p->lines_len += len;
}

/* What is the traces' own. */
static void emit_safe(struct printer *p, const char *text, size_t len)
{
	char safe[4096];

	if (!is_plain(text, len)) {
		text = safe_text(safe, sizeof(safe), text);
		len = strlen(text);
	}
	emit(p, text, len);
}

/* "TIME (TICKS) MACHINE [CPU]    TID  " */
static void emit_place(struct printer *p, const struct sonde_event *e)
{
	char buf[256], when[UNIT_TEXT];
	struct text line = text_in(buf, sizeof(buf));
	size_t name_end;

	text_str(&line, unit_time(when, e->t_ns, p->is_ns));
	if (p->opt->ticks) {
		text_str(&line, " (");
		text_u64(&line, e->ticks);
		text_char(&line, ')');
	}
	text_char(&line, ' ');
	name_end = line.len + (size_t)p->name_width;
	text_str(&line, e->machine_name);
	while (line.len < name_end)
		text_char(&line, ' ');
	text_str(&line, e->cpu < 0 ? " [  -" : " [");
	if (e->cpu >= 0)
		text_u64_zeros(&line, (uint64_t)e->cpu, 3);
	text_str(&line, "] ");
	text_i64_right(&line, e->tid, 6);
	text_str(&line, "  ");
	emit_safe(p, buf, text_end(&line, sizeof(buf)));
}

static void print_text(struct printer *p, const struct sonde_event *e)
{
	size_t len = print_fields(p);

	emit_place(p, e);
	emit_safe(p, e->name, strlen(e->name));
	if (len)
		emit(p, ": ", 2);
	emit_safe(p, p->fields, len);
	emit(p, "\n", 1);
	if (p->by_line)
		write_lines(p);
}

static void print_json(struct printer *p, const struct sonde_event *e)
{
	struct json *j = &p->json;

	json_begin_object(j, NULL);
	json_int(j, "t", e->t_ns);
	json_uint(j, "ticks", e->ticks);
	json_str(j, "machine", e->machine_name);
	json_row(j, "cpu", e->cpu);
	json_row(j, "tid", e->tid);
	json_str(j, "name", e->name);
	json_str(j, "kind", e->kind);
	if (!p->opt->fields.nr) {
		print_fields(p);
		json_str(j, "fields", p->fields);
	} else {
		json_begin_object(j, "fields");
		for (unsigned i = 0; i < p->opt->fields.nr; i++) {
			int64_t value;
			int ret = sonde_event_int(p->events, p->opt->fields.items[i], &value);

			if (ret == -ENODATA)
				json_put_null(j, p->opt->fields.items[i]);
			else if (!ret)
				json_int(j, p->opt->fields.items[i], value);
			p->field_seen[i] |= !ret || ret == -ENODATA;
		}
		json_end(j);
	}
	json_end(j);
}

/* A field that no event had is a slip of the hand, as an unknown event is. */
static enum exit_code complain_fields(const struct invocation *inv, const struct printer *p)
{
	enum exit_code code = EXIT_DONE;

	for (unsigned i = 0; i < p->opt->fields.nr; i++) {
		if (!p->field_seen[i])
			code = complain(inv, EXIT_FAILED,
					"none of these events has an integer field \"%s\"",
					p->opt->fields.items[i]);
	}
	return code;
}

static bool printer_init(struct printer *p, const struct invocation *inv,
			 struct sonde_events *events)
{
	const struct events_options *opt = inv->values;

	*p = (struct printer){
		.out = inv->screen.out,
		.events = events,
		.opt = opt,
		.is_ns = sonde_events_ticks_are_ns(events),
		.json = {.out = inv->screen.out, .flat = 1},
		.fields = malloc(FIELDS_TEXT),
		.lines = malloc(LINES_TEXT),
		.by_line = isatty(fileno(inv->screen.out)),
		.field_seen = calloc(opt->fields.nr + 1, sizeof(*p->field_seen)),
	};
	for (unsigned m = 0; m < sonde_events_nr_machines(events); m++) {
		int width = (int)strlen(sonde_events_machine_name(events, m));

		p->name_width = width > p->name_width ? width : p->name_width;
	}
	return p->fields && p->lines && p->field_seen;
}

static void printer_release(struct printer *p)
{
	free(p->fields);
	free(p->lines);
	free(p->field_seen);
}

/* That is an answer, no error; but silence could be taken for one. */
static void say_nothing_found(const struct invocation *inv)
{
	const struct events_options *opt = inv->values;
	bool filters = opt->names.nr || opt->machines.nr || opt->cpus.nr;

	if (!inv->common.quiet)
		complain(inv, EXIT_DONE, "no event%s%s", filters ? " of these" : "",
			 inv->common.time ? " in that window" : "");
}

static enum exit_code print_events(const struct invocation *inv, struct sonde_events *events)
{
	const struct events_options *opt = inv->values;
	enum exit_code code = EXIT_DONE;
	struct sonde_event event;
	struct printer p;
	uint64_t nr = 0;
	int ret = 0;

	if (!printer_init(&p, inv, events)) {
		printer_release(&p);
		return complain(inv, EXIT_FAILED, "out of memory");
	}
	while ((!opt->limit || nr < opt->limit) && !signals_interrupted() &&
	       (ret = sonde_events_next(events, &event)) > 0) {
		if (is_json(inv)) /* one object a line: no list has to be ended */
			print_json(&p, &event);
		else
			print_text(&p, &event);
		nr++;
	}
	write_lines(&p);
	if (ret < 0)
		code = complain(inv, EXIT_FAILED, "%s", strerror(-ret));
	else if (signals_interrupted())
		code = EXIT_INTERRUPTED;
	else if (nr)
		code = complain_fields(inv, &p);
	else
		say_nothing_found(inv);
	printer_release(&p);
	return code;
}

/* ---- counting ------------------------------------------------------------------------------ */

struct tally {
	const char *machine;
	const char *name; /* of the trace: lives as long as the events are open */
	uint64_t nr;
};

struct tallies {
	struct tally *list; /* owned */
	size_t nr, room;
};

/* The same name of the same machine is the same pointer, mostly; two types may share a name. */
static bool tally(struct tallies *t, const struct sonde_event *e)
{
	for (size_t i = 0; i < t->nr; i++) {
		if (t->list[i].name == e->name && t->list[i].machine == e->machine_name) {
			t->list[i].nr++;
			/* What is frequent moves to the front. */
			if (i && t->list[i].nr > t->list[i - 1].nr) {
				struct tally swap = t->list[i];

				t->list[i] = t->list[i - 1];
				t->list[i - 1] = swap;
			}
			return true;
		}
	}
	if (!room_for_one(&t->list, t->nr, &t->room))
		return false;
	t->list[t->nr++] = (struct tally){e->machine_name, e->name, 1};
	return true;
}

static int by_machine_and_count(const void *a, const void *b)
{
	const struct tally *x = a;
	const struct tally *y = b;
	int order = strcmp(x->machine, y->machine);

	if (order)
		return order;
	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void print_tallies(const struct invocation *inv, const struct tallies *t)
{
	struct json j = {.out = inv->screen.out, .flat = 2};
	struct table *table = NULL;
	char text[UNIT_TEXT];

	if (is_json(inv)) {
		json_begin_array(&j, NULL);
		j.flat = 1;
	} else {
		table = table_new(&inv->screen);
		table_column(table, "MACHINE", 0);
		table_column(table, "EVENT", 0);
		table_column(table, "COUNT", TABLE_RIGHT);
	}
	for (size_t i = 0; i < t->nr; i++) {
		if (!table) {
			json_begin_object(&j, NULL);
			json_str(&j, "machine", t->list[i].machine);
			json_str(&j, "name", t->list[i].name);
			json_uint(&j, "count", t->list[i].nr);
			json_end(&j);
		} else {
			int line = table_line(table, TABLE_NO_PARENT);

			table_cell(table, line, 0, t->list[i].machine);
			table_cell(table, line, 1, t->list[i].name);
			table_cell(table, line, 2, unit_count(text, (int64_t)t->list[i].nr));
		}
	}
	if (table)
		table_print(table);
	else
		json_end(&j);
}

static enum exit_code count_events(const struct invocation *inv, struct sonde_events *events)
{
	const struct events_options *opt = inv->values;
	struct sonde_event event;
	struct tallies t = {0};
	uint64_t nr = 0;
	int ret = 0;

	while ((!opt->limit || nr++ < opt->limit) && !signals_interrupted() &&
	       (ret = sonde_events_next(events, &event)) > 0) {
		if (!tally(&t, &event)) {
			free(t.list);
			return complain(inv, EXIT_FAILED, "out of memory");
		}
	}
	if (ret < 0) {
		free(t.list);
		return complain(inv, EXIT_FAILED, "%s", strerror(-ret));
	}
	if (t.nr)
		qsort(t.list, t.nr, sizeof(*t.list), by_machine_and_count);
	print_tallies(inv, &t);
	free(t.list);
	return signals_interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
}

/* By which clock each machine's times are, and how far they may be wrong. */
static void say_clocks(const struct invocation *inv, const struct sonde_events *events)
{
	unsigned nr = sonde_events_nr_machines(events);

	for (unsigned m = 0; m < nr && nr > 1 && !inv->common.quiet; m++) {
		struct sonde_events_clock c;
		char bound[UNIT_TEXT], name[128];

		sonde_events_clock_get(events, m, &c);
		safe_text(name, sizeof(name), sonde_events_machine_name(events, m));
		unit_length(bound, c.bound_ns, sonde_events_ticks_are_ns(events));
		if (c.bound_ns >= 0)
			complain(inv, EXIT_DONE, "clock of %s: %s, within %s", name, c.method,
				 bound);
		else
			complain(inv, EXIT_DONE,
				 "clock of %s: %s; nothing bounds how wrong its times are; %s",
				 name, c.method, c.evidence);
	}
}

static enum exit_code run_events(const struct invocation *inv)
{
	const struct events_options *opt = inv->values;
	struct sonde_inputs inputs = trace_inputs(inv, &opt->traces);
	struct sonde_watcher watcher;
	struct sonde_error err = {0};
	struct sonde_events *events;
	struct progress progress;
	enum exit_code code;
	int ret;

	if (!inputs.nr_paths && !inputs.nr_guests)
		return complain(inv, EXIT_USAGE, "which traces? see sonde events --help");
	progress_init(&progress, inv);
	watcher = (struct sonde_watcher){progress_report, progress_notice, &progress};
	ret = sonde_events_open(&events, &inputs, &watcher, &err);
	progress_end(&progress);
	if (ret)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	say_clocks(inv, events);
	code = set_filters(inv, events);
	if (!code)
		code = opt->count ? count_events(inv, events) : print_events(inv, events);
	if (!code && sonde_events_left_out(events))
		code = EXIT_UNSOUND;
	sonde_events_close(events);
	return code;
}

const struct command events_command = {
	.name = "events",
	.summary = "the events of all traces as one sequence, clocks aligned",
	.operands = "PATH...",
	.about = "PATHs are those of sonde analyze.  A line is: time on the host's\n"
		 "clock, machine, its CPU, its running thread, event, fields.\n",
	.common = COMMON_FORMAT | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct events_options),
	.pages = true,
	.run = run_events,
};
