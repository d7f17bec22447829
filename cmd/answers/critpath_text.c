/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/critpath_text.h"
#include "analysis/rows.h"
#include "base/units.h"
#include "report/rows.h"
#include "report/paragraph.h"
#include "report/safe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines of sums; what is beyond them is little, and told as one. */
#define SUMS_MAX 15
#define TOP_DEFAULT 40

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
static bool sum_up(const struct sonde_rows *f, bool with_what, struct sums *out)
{
	size_t nr = sonde_rows_nr(f);
	size_t kept = 0;

	out->list = calloc(nr + 1, sizeof(*out->list));
	if (!out->list)
		return false;
	for (size_t i = 0; i < nr; i++)
		out->list[i] = (struct sum){
			rows_named(f, i, "machine").i, rows_named(f, i, "thread").i,
			rows_named(f, i, "kind").s, with_what ? rows_named(f, i, "what").s : "",
			rows_named(f, i, "length").i};
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

static void thread_text(struct sonde_history *history, int64_t thread, char *buf, size_t room)
{
	struct sonde_machine m;
	struct sonde_thread t;
	char label[120];

	if (sonde_thread_get(history, thread, &t) || sonde_machine_get(history, t.machine, &m)) {
		snprintf(buf, room, "?");
		return;
	}
	sonde_thread_label(history, thread, label, sizeof(label));
	snprintf(buf, room, "%s %s", m.name, label);
}

/* ---- text ---------------------------------------------------------------------------------- */

static int print_sums(const struct invocation *inv, struct sonde_history *history,
		      const struct sonde_rows *f, int64_t length)
{
	struct table *t = table_new(&inv->screen);
	bool is_ns = sonde_history_ticks_are_ns(history);
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
		table_cell(t, line, 1, unit_share(unit, share_ppm(time, length)));
		if (i < shown)
			thread_text(history, sums.list[i].thread, text, sizeof(text));
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
static int64_t shortest_shown(const struct sonde_rows *f, uint64_t top)
{
	size_t nr = sonde_rows_nr(f);
	int64_t *lengths = malloc((nr + 1) * sizeof(*lengths));
	int64_t shortest = 0;

	if (!lengths)
		return 0;
	for (size_t i = 0; i < nr; i++)
		lengths[i] = rows_named(f, i, "length").i;
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

static int print_steps(const struct invocation *inv, struct sonde_history *history,
		       const struct sonde_rows *f, uint64_t top)
{
	int64_t shortest = shortest_shown(f, top ? top : TOP_DEFAULT);
	struct table *t = table_new(&inv->screen);
	bool is_ns = sonde_history_ticks_are_ns(history);
	int64_t left_out_time = 0;
	size_t left_out = 0;

	if (!t)
		return -ENOMEM;
	table_column(t, "AT", TABLE_RIGHT);
	table_column(t, "FOR", TABLE_RIGHT);
	table_column(t, "THREAD", 0);
	table_column(t, "IS", 0);
	table_column(t, "WHAT", TABLE_WRAP);
	for (size_t i = 0; i < sonde_rows_nr(f); i++) {
		int64_t length = rows_named(f, i, "length").i;
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
		table_cell(t, line, 0, unit_time(unit, rows_named(f, i, "at").i, is_ns));
		table_cell(t, line, 1, unit_length(unit, length, is_ns));
		thread_text(history, rows_named(f, i, "thread").i, text, sizeof(text));
		table_cell(t, line, 2, text);
		table_cell(t, line, 3, rows_named(f, i, "kind").s);
		table_cell(t, line, 4, rows_named(f, i, "what").s);
	}
	print_left_out(t, left_out, left_out_time, is_ns);
	screen_title(&inv->screen, "Step by step");
	return table_print(t);
}

bool critpath_ended(const struct sonde_history *history, int64_t thread, int64_t *end)
{
	struct sonde_thread t;

	if (sonde_thread_get(history, thread, &t) || t.end < 0 || t.end >= *end)
		return false;
	*end = t.end;
	return true;
}

/* What stands in column IS, of the words that do. */
static void print_legend(const struct invocation *inv, const struct sonde_rows *f)
{
	static const struct {
		const char *kind, *means;
	} words[] = {
		{"runs", "its code ran"},
		{"hypervisor", "a hypervisor worked for its vCPU"},
		{"irq", "handlers of interrupts ran upon it"},
		{"steal", "its kernel took it for running, others had the CPU"},
		{"queued", "runnable, it waited for a CPU of its machine"},
		{"waits", "asleep, until an interrupt or what is not known woke it"},
	};
	char text[500];
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t row = 0;

		while (row < sonde_rows_nr(f) &&
		       strcmp(rows_named(f, row, "kind").s, words[i].kind))
			row++;
		if (row < sonde_rows_nr(f) && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s",
						 used ? "; " : "", words[i].kind, words[i].means);
	}
	if (!used || used + 2 > sizeof(text))
		return;
	memcpy(text + used, ")", 2);
	paragraph_print(&inv->screen, "(", text);
}

int critpath_print(const struct invocation *inv, struct sonde_history *history,
		   const struct sonde_rows *f, const struct critpath_asked *asked)
{
	int64_t begin = asked->begin, end = asked->end;
	bool ended = critpath_ended(history, asked->thread, &end);
	bool is_ns = sonde_history_ticks_are_ns(history);
	char from[UNIT_TEXT], length[UNIT_TEXT], name[200];
	int ret;

	thread_text(history, asked->thread, name, sizeof(name));
	screen_say(&inv->screen, "%s: the %s from %s%s, %zu steps\n", name,
		   unit_length(length, end - begin, is_ns), unit_time(from, begin, is_ns),
		   ended ? " to its end" : "", sonde_rows_nr(f));
	ret = print_sums(inv, history, f, end - begin);
	if (!ret)
		ret = print_steps(inv, history, f, asked->top);
	if (!ret)
		print_legend(inv, f);
	return ret;
}

/* Semicolons part the frames: they become commas. */
static void print_frame(FILE *out, const char *text, char end)
{
	char safe[400];

	safe_text(safe, sizeof(safe), text);
	for (const char *c = safe; *c; c++)
		fputc(*c == ';' ? ',' : *c, out);
	fputc(end, out);
}

int critpath_folded(const struct invocation *inv, struct sonde_history *history,
		    const struct sonde_rows *f)
{
	struct sums sums;

	if (!sum_up(f, true, &sums))
		return -ENOMEM;
	for (size_t i = 0; i < sums.nr; i++) {
		char name[200];

		thread_text(history, sums.list[i].thread, name, sizeof(name));
		print_frame(inv->screen.out, name, ';');
		print_frame(inv->screen.out, sums.list[i].kind, ';');
		print_frame(inv->screen.out, sums.list[i].what, ' ');
		fprintf(inv->screen.out, "%" PRId64 "\n", sums.list[i].time);
	}
	free(sums.list);
	return 0;
}
