/* SPDX-License-Identifier: Apache-2.0 */
/* sonde top: what VMs, vCPUs and threads do and who keeps them from it: now, or through a history.
 */
#include "cmd/common/command.h"
#include "analysis/rows.h"
#include "base/figure.h"
#include "base/now.h"
#include "base/units.h"
#include "cmd/common/duration.h"
#include "cmd/record/live.h"
#include "cmd/common/signals.h"
#include "report/rows.h"
#include "report/missing.h"
#include "report/top.h"
#include "term/top.h"
#include "term/tty.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct top_options {
	bool batch;
	uint64_t count;
	const char *delay;
	uint64_t threads;
	const char *sort;
};

#define FIELD(field) offsetof(struct top_options, field)
#define THREADS_BATCH 20
#define THREADS_SCREEN 200
#define WINDOW_S 1.0

static const struct option_row option_rows[] = {
	{'b', "batch", OPTION_FLAG, FIELD(batch), NULL, NULL,
	 "print the tables, window after window, also on a terminal", 0},
	{'n', "count", OPTION_NUMBER, FIELD(count), "N", NULL, "end after N windows", 0},
	{'d', "delay", OPTION_TIME, FIELD(delay), "TIME", NULL,
	 "length of a window: 1s, 200ms (default: 1s; --batch of a history: all of it)", 0},
	{0, "threads", OPTION_NUMBER, FIELD(threads), "N", NULL,
	 "how many threads are listed (default 20; JSON and on a terminal 200)", 0},
	{0, "sort", OPTION_CHOICE, FIELD(sort), "HOW", "cpu|delay",
	 "threads by CPU time (default), or by run-queue delay", 0},
};

struct top_command {
	const struct invocation *inv;
	const struct top_options *opt;
	int64_t length_ns; /* of a window; 0 not told */
	struct sonde_history *history;
	struct live *live;
	bool screen; /* all of a terminal is ours */
	struct json json;
	uint64_t windows;
};

static unsigned threads_max(const struct top_command *c)
{
	return c->opt->threads ? (unsigned)(c->opt->threads > 100000 ? 100000 : c->opt->threads)
	       : c->screen || is_json(c->inv) ? THREADS_SCREEN
					      : THREADS_BATCH;
}

static enum top_order order_of(const struct top_command *c)
{
	return c->opt->sort && !strcmp(c->opt->sort, "delay") ? TOP_BY_KEPT : TOP_BY_CPU;
}

/* ---- the line above the tables ------------------------------------------------------------- */

static char *wall_text(struct sonde_history *history, int64_t t, char *buf, size_t room)
{
	int64_t offset;
	time_t seconds;
	struct tm tm;

	*buf = '\0';
	if (!sonde_history_wall_offset(history, &offset))
		return buf;
	seconds = (time_t)((t + offset) / NS_PER_SEC);
	if (localtime_r(&seconds, &tm))
		strftime(buf, room, "%H:%M:%S", &tm);
	return buf;
}

static char *lost_text(const struct sonde_history *history, int64_t lost, char *buf, size_t room)
{
	char count[UNIT_TEXT], events[64], left_out[LEFT_OUT_TEXT];

	snprintf(events, sizeof(events), "%s",
		 !lost ? "no lost events" : "events are missing in gaps");
	if (lost > 0)
		snprintf(events, sizeof(events), "%s lost events", unit_count(count, lost));
	missing_left_out(history, left_out, sizeof(left_out));
	snprintf(buf, room, "%s%s%s", events, *left_out ? ", " : "", left_out);
	return buf;
}

/* How much of the CPUs' time nobody knows what happened in. */
static char *unknown_text(const struct top *top, char *buf, size_t room)
{
	char share[UNIT_TEXT];
	int64_t unknown = 0, all = 0;

	for (unsigned i = 0; i < top->nr && top->rows[i].kind == TOP_CPU; i++) {
		unknown += top->rows[i].parts[TOP_UNKNOWN];
		all += top->rows[i].all_ns;
	}
	*buf = '\0';
	if (unknown)
		snprintf(buf, room, "%s unknown, ", unit_share(share, share_ppm(unknown, all)));
	return buf;
}

static void about_live(const struct live_window *w, char *buf, size_t room)
{
	char wall[32], lost[128], watched[UNIT_TEXT], elapsed[UNIT_TEXT];

	snprintf(buf, room, " %s  %s of %s watched, %s; sonde: %.1f %% of a CPU",
		 wall_text(w->history, w->end, wall, sizeof(wall)),
		 unit_length(watched, w->cost.watched_ns, true),
		 unit_length(elapsed, w->cost.elapsed_ns, true),
		 lost_text(w->history, (int64_t)w->cost.events_lost, lost, sizeof(lost)),
		 100.0 * (double)w->cost.cpu_ns /
			 (double)(w->cost.elapsed_ns ? w->cost.elapsed_ns : 1));
}

static void about_run(struct sonde_history *history, const struct top *top, char *buf, size_t room)
{
	bool is_ns = sonde_history_ticks_are_ns(history);
	const char *name = strrchr(sonde_history_path(history), '/');
	char from[UNIT_TEXT], span[UNIT_TEXT], after[UNIT_TEXT], lost[128], unknown[64];

	snprintf(buf, room, " %s  from %s (+%s) for %s, %s%s",
		 name ? name + 1 : sonde_history_path(history), unit_time(from, top->begin, is_ns),
		 unit_length(after, top->begin - sonde_history_begin(history), is_ns),
		 unit_length(span, top->end - top->begin, is_ns),
		 unknown_text(top, unknown, sizeof(unknown)),
		 lost_text(history, top->lost, lost, sizeof(lost)));
}

/* ---- batch --------------------------------------------------------------------------------- */

/* The rows from @first on that stand in one table; returns the row behind them. */
static unsigned print_table(const struct screen *screen, const struct top *top, unsigned first)
{
	unsigned nr, i;
	const struct top_column *columns = top_columns(top->rows[first].kind, &nr);
	struct table *t = table_new(screen);
	int vm = TABLE_NO_PARENT;

	for (unsigned c = 0; c < nr; c++)
		table_column(t, columns[c].title,
			     columns[c].what == TOP_SHARE ? TABLE_RIGHT
			     : !c			  ? TABLE_TREE
							  : TABLE_TRUNC);
	for (i = first; i < top->nr; i++) {
		const struct top_row *row = &top->rows[i];
		unsigned other_nr;
		int line;

		if (top_columns(row->kind, &other_nr) != columns)
			break;
		line = table_line(t, row->kind == TOP_VCPU ? vm : TABLE_NO_PARENT);
		vm = row->kind == TOP_VM ? line : vm;
		for (unsigned c = 0; c < nr; c++) {
			char text[240];

			table_cell(t, line, c, top_cell(row, &columns[c], text, sizeof(text)));
		}
	}
	table_print(t);
	return i;
}

static void print_text(const struct top_command *c, const struct top *top, const char *about)
{
	const struct screen *screen = &c->inv->screen;

	if (c->windows)
		putc('\n', screen->out);
	fprintf(screen->out, "%s\n", about + 1);
	for (unsigned i = 0; i < top->nr;) {
		putc('\n', screen->out);
		i = print_table(screen, top, i);
	}
	if (top->nr && top->rows[top->nr - 1].kind == TOP_THREAD) {
		unsigned shown = 0;

		for (unsigned i = 0; i < top->nr; i++)
			shown += top->rows[i].kind == TOP_THREAD;
		if (top->threads > shown)
			fprintf(screen->out, "... and %u more\n", top->threads - shown);
	}
	fflush(screen->out);
}

static void json_cause(struct json *j, const char *key, const struct top_cause *cause)
{
	if (!cause->text || !cause->time_ns)
		return;
	json_begin_object(j, key);
	json_str(j, "what", cause->text);
	json_int(j, "ns", cause->time_ns);
	json_end(j);
}

static void json_top_row(struct json *j, struct sonde_history *history, const struct top_row *row)
{
	unsigned nr;
	const struct top_column *columns = top_columns(row->kind, &nr);

	json_begin_object(j, NULL);
	json_str(j, "name", row->name);
	if (row->kind == TOP_VM)
		json_machine(j, "machine", history, row->machine);
	else if (row->kind == TOP_THREAD)
		json_thread(j, "thread", history, row->thread);
	else
		json_cpu(j, "cpu", history, row->cpu);
	json_int(j, "all", row->all_ns);
	for (unsigned i = 0; i < nr; i++) {
		if (columns[i].what == TOP_SHARE)
			json_int(j, columns[i].name, row->parts[columns[i].part]);
	}
	if (row->kind == TOP_VM || row->kind == TOP_VCPU) {
		json_int(j, "unknown", row->parts[TOP_UNKNOWN]);
		json_int(j, "gone", row->parts[TOP_GONE]);
	}
	json_cause(j, "mostly", &row->mostly);
	json_cause(j, "blocked_on", &row->waits_for);
	json_cause(j, row->kind == TOP_THREAD ? "delayed_by" : "stolen_by", &row->off_by);
	json_end(j);
}

static void json_rows(struct json *j, const char *key, struct sonde_history *history,
		      const struct top *top, enum top_kind kind)
{
	json_begin_array(j, key);
	for (unsigned i = 0; i < top->nr; i++) {
		if (top->rows[i].kind == kind)
			json_top_row(j, history, &top->rows[i]);
	}
	json_end(j);
}

static void print_json(struct top_command *c, struct sonde_history *history, const struct top *top,
		       const struct live_cost *cost)
{
	struct json *j = &c->json;

	if (!j->depth)
		json_begin_array(j, NULL);
	json_begin_object(j, NULL);
	json_int(j, "begin", top->begin);
	json_int(j, "end", top->end);
	json_int(j, "events_lost", top->lost);
	json_int(j, "left_out", sonde_nr_left_outs(history));
	if (cost) {
		json_begin_object(j, "live");
		json_int(j, "watched_ns", cost->watched_ns);
		json_int(j, "elapsed_ns", cost->elapsed_ns);
		json_int(j, "cpu_ns", cost->cpu_ns);
		json_uint(j, "events_lost", cost->events_lost);
		json_uint(j, "bytes", cost->bytes);
		json_str(j, "clock", cost->clock);
		json_str(j, "notice", cost->notice);
		json_end(j);
	}
	json_rows(j, "cpus", history, top, TOP_CPU);
	json_rows(j, "vms", history, top, TOP_VM);
	json_rows(j, "vcpus", history, top, TOP_VCPU);
	json_rows(j, "threads", history, top, TOP_THREAD);
	json_end(j);
	fflush(j->out);
}

static bool wait_in_batch(int ms, void *data)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	(void)data;
	nanosleep(&t, NULL);
	return !signals_interrupted();
}

/* One window, told; 0 or -errno. */
static int tell(struct top_command *c, struct sonde_history *history, int64_t begin, int64_t end,
		const struct live_window *w, struct error *err)
{
	char about[256];
	struct top top;
	int ret = top_make(&top, history, begin, end, order_of(c), threads_max(c), err);

	if (ret)
		return ret;
	if (w)
		about_live(w, about, sizeof(about));
	else
		about_run(history, &top, about, sizeof(about));
	if (is_json(c->inv))
		print_json(c, history, &top, w ? &w->cost : NULL);
	else
		print_text(c, &top, about);
	c->windows++;
	top_release(&top);
	return 0;
}

static int batch_live(struct top_command *c, struct error *err)
{
	const struct live_wait wait = {wait_in_batch, NULL};
	char said[256] = "";
	int ret = 0;

	while (!ret && (!c->opt->count || c->windows < c->opt->count)) {
		struct live_window w;

		ret = live_window(c->live, c->length_ns, &wait, &w, err);
		if (!ret)
			ret = tell(c, w.history, w.begin, w.end, &w, err);
		if (!ret && strcmp(said, w.cost.notice) && !c->inv->common.quiet)
			complain(c->inv, EXIT_DONE, "%s", w.cost.notice);
		if (!ret)
			snprintf(said, sizeof(said), "%s", w.cost.notice);
	}
	return ret;
}

static int batch_run(struct top_command *c, int64_t begin, int64_t end, struct error *err)
{
	int64_t length = c->length_ns ? c->length_ns : end - begin;
	int ret = 0;

	while (!ret && begin < end && (!c->opt->count || c->windows < c->opt->count)) {
		int64_t next = end - begin > length ? begin + length : end;

		if (signals_interrupted())
			return -EINTR;
		ret = tell(c, c->history, begin, next, NULL, err);
		begin = next;
	}
	return ret;
}

static int batch(struct top_command *c, int64_t begin, int64_t end, struct error *err)
{
	int ret;

	signals_catch_silently(NULL);
	c->json = (struct json){.out = c->inv->screen.out};
	ret = c->live ? batch_live(c, err) : batch_run(c, begin, end, err);
	if (is_json(c->inv) && !ret && !c->json.depth)
		json_begin_array(&c->json, NULL);
	if (c->json.depth) /* windows before one that cannot be read are right */
		json_end(&c->json);
	return ret;
}

/* ---- on a terminal ------------------------------------------------------------------------- */

static int next_window(void *data, bool (*wait)(int ms, void *wait_data), void *wait_data,
		       enum top_order order, struct top_window *out, struct error *err)
{
	struct top_command *c = data;
	const struct live_wait live_wait = {wait, wait_data};
	struct live_window w;
	int ret = live_window(c->live, c->length_ns, &live_wait, &w, err);

	if (!ret)
		ret = top_make(&out->top, w.history, w.begin, w.end, order, threads_max(c), err);
	if (ret)
		return ret;
	out->ticks_are_ns = sonde_history_ticks_are_ns(w.history);
	about_live(&w, out->about, sizeof(out->about));
	snprintf(out->notice, sizeof(out->notice), "%s", w.cost.notice);
	return 0;
}

static int window_at(void *data, int64_t begin, int64_t end, enum top_order order,
		     struct top_window *out, struct error *err)
{
	struct top_command *c = data;
	int ret = top_make(&out->top, c->history, begin, end, order, threads_max(c), err);

	if (ret)
		return ret;
	out->ticks_are_ns = sonde_history_ticks_are_ns(c->history);
	about_run(c->history, &out->top, out->about, sizeof(out->about));
	return 0;
}

static int on_screen(struct top_command *c, int64_t begin, int64_t end, struct error *err)
{
	struct top_view view = {
		.in = stdin,
		.out = stdout,
		.color = c->inv->screen.color,
		.stop = signals_interrupted,
		.next = c->live ? next_window : NULL,
		.at = window_at,
		.data = c,
		.order = order_of(c),
		.run_begin = begin,
		.run_end = end,
		.begin = begin,
		.end = end - begin > c->length_ns ? begin + c->length_ns : end,
	};

	signals_catch_silently(tty_abandon);
	return top_run(&view, err);
}

/* ---- the command --------------------------------------------------------------------------- */

static bool is_batch(const struct invocation *inv)
{
	const struct top_options *opt = inv->values;
	const char *term = getenv("TERM");

	return opt->batch || opt->count || is_json(inv) || !isatty(STDIN_FILENO) ||
	       !isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb");
}

static enum exit_code show(struct top_command *c)
{
	struct error err = {0};
	int64_t begin = 0, end = 0;
	int ret;

	if (c->history && !get_window(c->inv, c->history, &begin, &end))
		return EXIT_USAGE;
	ret = c->screen ? on_screen(c, begin, end, &err) : batch(c, begin, end, &err);
	if (ret == -EINTR || signals_interrupted())
		return c->opt->count ? EXIT_INTERRUPTED : EXIT_DONE;
	return ret ? complain(c->inv, EXIT_FAILED, "%s", err.text) : EXIT_DONE;
}

static enum exit_code run_top(const struct invocation *inv)
{
	struct top_command c = {.inv = inv, .opt = inv->values, .screen = !is_batch(inv)};
	bool recorded = inv->nr_operands || inv->common.input;
	double seconds = recorded && !c.screen ? 0 : WINDOW_S;
	struct error err = {0};
	enum exit_code code;

	if (c.opt->delay)
		parse_duration(c.opt->delay, &seconds);
	if (!recorded && inv->common.time)
		return complain(inv, EXIT_USAGE, "--time is for a history; name its file");
	c.length_ns = figure_round(seconds * 1e9);
	if (recorded) {
		code = open_input(inv, &c.history);
		if (code)
			return code;
	} else if (live_open(&c.live, &err)) {
		return complain(inv, EXIT_FAILED, "%s", err.text);
	}
	code = show(&c);
	sonde_history_close(c.history);
	live_close(c.live);
	return code;
}

const struct command top_command = {
	.name = "top",
	.summary = "what VMs, vCPUs and threads do, and who delays them: now, or in a history",
	.operands = "[FILE]",
	.about = "Without FILE: this machine as it is now, as root.  A window is recorded into "
		 "memory\n"
		 "and analysed, again and again; the first line says how much of the time was "
		 "watched\n"
		 "and what that cost.  With FILE: a history, to be scrolled through.  ? lists the "
		 "keys.\n"
		 "In a pipe or with --batch the tables are printed.\n",
	.common = COMMON_INPUT | COMMON_FORMAT | COMMON_TIME,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct top_options),
	.run = run_top,
};
