/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* qsort_r */
/* sonde info: what is in a history, and how far it can be trusted. */
#include "cmd/common/command.h"
#include "report/rows.h"
#include "report/safe.h"
#include "base/figure.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *const quality[] = {"clock", "gap", "left_out", "problem"};

static void wall_text(const struct sonde_history *history, int64_t t, char *buf, size_t room)
{
	int64_t offset;
	struct tm tm;
	time_t s;

	*buf = '\0';
	if (!sonde_history_wall_offset(history, &offset))
		return;
	s = (time_t)((t + offset) / NS_PER_SEC);
	if (gmtime_r(&s, &tm))
		strftime(buf, room, "%Y-%m-%d %H:%M:%S UTC", &tm);
}

/* ---- text ---------------------------------------------------------------------------------- */

static const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* Where that is not all of the history. */
static void print_traced(FILE *out, struct sonde_history *history)
{
	bool is_ns = sonde_history_ticks_are_ns(history);
	char from[UNIT_TEXT], to[UNIT_TEXT], length[UNIT_TEXT];
	int64_t begin, end;

	sonde_history_traced(history, &begin, &end);
	if (begin == sonde_history_begin(history) && end == sonde_history_end(history))
		return;
	fprintf(out, "traced     %s of it on the host, from %s to %s\n",
		unit_length(length, ns_since(end, begin), is_ns), unit_time(from, begin, is_ns),
		unit_time(to, end, is_ns));
}

static void print_head(const struct invocation *inv, struct sonde_history *history)
{
	bool is_ns = sonde_history_ticks_are_ns(history);
	char begin[UNIT_TEXT], end[UNIT_TEXT], length[UNIT_TEXT], wall[40];
	FILE *out = inv->screen.out;

	fprintf(out, "from       %s\n", unit_time(begin, sonde_history_begin(history), is_ns));
	fprintf(out, "to         %s\n", unit_time(end, sonde_history_end(history), is_ns));
	fprintf(out, "length     %s%s\n",
		unit_length(length, sonde_history_end(history) - sonde_history_begin(history),
			    is_ns),
		sonde_history_complete(history) ? "" : ", not complete");
	print_traced(out, history);
	if (!is_ns)
		fprintf(out,
			"unit       cycles (cy): the traces do not tell the rate of the counter; "
			"sonde analyze --tsc-khz N does\n");
	wall_text(history, sonde_history_begin(history), wall, sizeof(wall));
	if (*wall)
		fprintf(out, "wall time  %s, as %s's clock had it\n", wall, "the host");
	fprintf(out,
		"holds      %" PRId64 " machine%s, %" PRId64 " CPU%s, %" PRId64 " threads, %" PRId64
		" PID namespace%s, %" PRId64 " contexts\n",
		sonde_nr_machines(history), plural(sonde_nr_machines(history)),
		sonde_nr_cpus(history), plural(sonde_nr_cpus(history)), sonde_nr_threads(history),
		sonde_nr_pid_ns(history), plural(sonde_nr_pid_ns(history)),
		sonde_nr_contexts(history));
	for (int64_t i = 0; i < sonde_nr_meta(history); i++) {
		struct sonde_meta meta;
		char safe[512];

		sonde_meta_get(history, i, &meta);
		if (!strcmp(meta.key, "begin_ns") || !strcmp(meta.key, "end_ns") ||
		    !strncmp(meta.key, "mark ", 5))
			continue; /* said above */
		fprintf(out, "%-9s  %s\n", meta.key, safe_text(safe, sizeof(safe), meta.value));
	}
}

/* A path on a screen @width wide (0: no limit): its end tells more than its begin. */
static const char *path_end(char *buf, size_t room, const char *path, unsigned width)
{
	size_t len = strlen(path);
	size_t most = width ? 8 + width / 8 : len;
	const char *from;

	if (len <= most)
		return path;
	from = path + len - most + 4;
	/* Whole names, when there is one that fits. */
	if (strchr(from, '/'))
		from = strchr(from, '/');
	snprintf(buf, room, "...%s", from);
	return buf;
}

/* How many CPUs each machine has, by its row; NULL when out of memory. */
static int64_t *count_cpus(const struct sonde_history *history)
{
	int64_t nr = sonde_nr_machines(history);
	int64_t *nr_cpus = calloc((size_t)nr + 1, sizeof(*nr_cpus));
	struct sonde_cpu cpu;

	for (int64_t row = 0; nr_cpus && !sonde_cpu_get(history, row, &cpu); row++) {
		if (cpu.machine < nr)
			nr_cpus[cpu.machine]++;
	}
	return nr_cpus;
}

static int print_machines(const struct invocation *inv, struct sonde_history *history)
{
	struct table *t = table_new(&inv->screen);
	int64_t *nr_cpus = count_cpus(history);
	static const char *const titles[] = {"MACHINE", "IN",	 "CPUS",    "KERNEL",
					     "TRACER",	"TRACE", "FOUND BY"};
	static const unsigned flags[] = {0, 0, TABLE_RIGHT, 0, TABLE_TRUNC, 0, TABLE_WRAP};

	for (unsigned i = 0; i < ARRAY_SIZE(titles); i++)
		table_column(t, titles[i], flags[i]);
	for (int64_t row = 0; nr_cpus && row < sonde_nr_machines(history); row++) {
		struct sonde_machine m, parent;
		int line = table_line(t, TABLE_NO_PARENT);
		char path[512];
		char text[24];

		sonde_machine_get(history, row, &m);
		snprintf(text, sizeof(text), "%" PRId64, nr_cpus[row]);
		table_cell(t, line, 0, m.name);
		table_cell(t, line, 1,
			   sonde_machine_get(history, m.parent, &parent) ? "" : parent.name);
		table_cell(t, line, 2, text);
		table_cell(t, line, 3, m.release);
		table_cell(t, line, 4, m.tracer);
		table_cell(t, line, 5,
			   m.traced ? path_end(path, sizeof(path), m.trace_path, inv->screen.width)
				    : "(none)");
		table_cell(t, line, 6, m.evidence);
	}
	free(nr_cpus);
	screen_title(&inv->screen, "Machines");
	return table_print(t);
}

/* What machines, or those they run in, say of them; nothing when no recorder asked them. */
static int print_identities(const struct invocation *inv, struct sonde_history *history)
{
	static const struct {
		const char *title, *key;
	} columns[] = {
		{"HOST NAME", "hostname"},	 {"VM NAME", "vm_name"},
		{"UUID", "product_uuid"},	 {"HYPERVISOR", "hypervisor"},
		{"CLOCK SOURCE", "clocksource"}, {"TSC KHZ", "tsc_khz"},
		{"CPUS ONLINE", "online"},
	};
	struct table *t;

	if (!sonde_nr_identities(history))
		return 0;
	t = table_new(&inv->screen);
	table_column(t, "MACHINE", 0);
	for (unsigned i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(t, columns[i].title, TABLE_WRAP);
	for (int64_t row = 0; row < sonde_nr_machines(history); row++) {
		int line = table_line(t, TABLE_NO_PARENT);
		struct sonde_machine m;

		sonde_machine_get(history, row, &m);
		table_cell(t, line, 0, m.name);
		for (unsigned i = 0; i < ARRAY_SIZE(columns); i++) {
			const char *value = sonde_identity_of(history, row, columns[i].key);

			if (!*value && !strcmp(columns[i].key, "product_uuid"))
				value = sonde_identity_of(history, row, "vm_uuid");
			table_cell(t, line, i + 1, value);
		}
	}
	screen_title(&inv->screen, "What machines say of themselves");
	return table_print(t);
}

/* ---- /proc/stat: from the first reading of a CPU to the last ----------------------------------
 */

#define NR_CPU_TIMES 10

static const char *const cpu_time_titles[NR_CPU_TIMES] = {
	"USER", "NICE",	   "SYSTEM", "IDLE",  "IOWAIT",
	"IRQ",	"SOFTIRQ", "STEAL",  "GUEST", "GUEST NICE",
};

static int64_t cpu_time(const struct sonde_cpu_times *c, unsigned column)
{
	const int64_t times[NR_CPU_TIMES] = {c->user,	c->nice,      c->system,  c->idle,
					     c->iowait, c->irq,	      c->softirq, c->steal,
					     c->guest,	c->guest_nice};

	return times[column];
}

/* Readings of each CPU together, in their order. */
static int by_cpu(const void *a, const void *b, void *history)
{
	int64_t row_a = *(const int64_t *)a, row_b = *(const int64_t *)b;
	struct sonde_cpu_times x, y;

	sonde_cpu_times_get(history, row_a, &x);
	sonde_cpu_times_get(history, row_b, &y);
	if (x.machine != y.machine)
		return x.machine < y.machine ? -1 : 1;
	if (x.cpu != y.cpu)
		return x.cpu < y.cpu ? -1 : 1;
	return row_a < row_b ? -1 : row_a > row_b;
}

/* The last of @nr readings of one CPU that is in the first one's unit, if that is another one; 0:
 * there is none. */
static int64_t last_of(const struct sonde_history *history, const int64_t *rows, int64_t nr)
{
	struct sonde_cpu_times first, last;

	sonde_cpu_times_get(history, rows[0], &first);
	for (int64_t i = nr - 1; i > 0 && first.hz > 0; i--) {
		sonde_cpu_times_get(history, rows[i], &last);
		if (last.hz == first.hz)
			return rows[i];
	}
	return 0;
}

/* By the first reading of each CPU, the last one; 0 for all others.  NULL: no memory. */
static int64_t *pair_readings(struct sonde_history *history)
{
	int64_t nr = sonde_nr_cpu_times(history);
	int64_t *rows = calloc((size_t)nr, sizeof(*rows));
	int64_t *last = calloc((size_t)nr, sizeof(*last));
	struct sonde_cpu_times a, b;

	for (int64_t row = 0; row < nr && rows; row++)
		rows[row] = row;
	if (rows)
		qsort_r(rows, (size_t)nr, sizeof(*rows), by_cpu, history);
	for (int64_t from = 0, to; from < nr && rows && last; from = to) {
		sonde_cpu_times_get(history, rows[from], &a);
		for (to = from + 1; to < nr; to++) {
			sonde_cpu_times_get(history, rows[to], &b);
			if (b.machine != a.machine || b.cpu != a.cpu)
				break;
		}
		last[rows[from]] = last_of(history, rows + from, to - from);
	}
	if (!rows) {
		free(last);
		last = NULL;
	}
	free(rows);
	return last;
}

static void add_cpu_times(struct table *t, struct sonde_history *history,
			  const struct sonde_cpu_times *a, const struct sonde_cpu_times *b)
{
	int line = table_line(t, TABLE_NO_PARENT);
	struct sonde_machine m;
	char text[UNIT_TEXT];

	sonde_machine_get(history, a->machine, &m);
	table_cell(t, line, 0, m.name);
	snprintf(text, sizeof(text), "%d", a->cpu);
	table_cell(t, line, 1, text);
	table_cell(t, line, 2,
		   unit_length(text, ns_since(b->t, a->t), sonde_history_ticks_are_ns(history)));
	for (unsigned i = 0; i < NR_CPU_TIMES; i++) {
		int64_t from = cpu_time(a, i), to = cpu_time(b, i);

		if (from < 0 || to < from || a->hz <= 0)
			continue;
		snprintf(text, sizeof(text), "%.2f s", (double)(to - from) / (double)a->hz);
		table_cell(t, line, i + 3, text);
	}
}

static int print_cpu_times(const struct invocation *inv, struct sonde_history *history)
{
	struct table *t;
	int64_t *last;

	if (!sonde_nr_cpu_times(history))
		return 0;
	t = table_new(&inv->screen);
	table_column(t, "MACHINE", 0);
	table_column(t, "CPU", TABLE_RIGHT);
	table_column(t, "WITHIN", TABLE_RIGHT);
	for (unsigned i = 0; i < NR_CPU_TIMES; i++)
		table_column(t, cpu_time_titles[i], TABLE_RIGHT);
	last = pair_readings(history);
	for (int64_t row = 0; last && row < sonde_nr_cpu_times(history); row++) {
		struct sonde_cpu_times from, to;

		sonde_cpu_times_get(history, row, &from);
		if (last[row] && !sonde_cpu_times_get(history, last[row], &to))
			add_cpu_times(t, history, &from, &to);
	}
	free(last);
	screen_title(&inv->screen, "CPU time by the kernels' own account (/proc/stat)");
	return table_print(t);
}

static enum exit_code print_text(const struct invocation *inv, struct sonde_history *history)
{
	static const struct rows_view view = {.rows_max = 30};
	struct sonde_error err = {0};

	print_head(inv, history);
	print_machines(inv, history);
	print_identities(inv, history);
	print_cpu_times(inv, history);
	for (size_t i = 0; i < ARRAY_SIZE(quality); i++) {
		struct sonde_rows *rows;

		if (sonde_rows_get(&rows, history, quality[i], sonde_history_begin(history),
				   sonde_history_end(history) + 1, &err))
			return complain(inv, EXIT_FAILED, "%s", err.text);
		rows_print(&inv->screen, history, rows, &view);
		sonde_rows_free(rows);
	}
	return EXIT_DONE;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_machine_row(struct json *j, struct sonde_history *history, int64_t row)
{
	struct sonde_machine m;

	sonde_machine_get(history, row, &m);
	json_begin_object(j, NULL);
	json_machine_members(j, history, row);
	json_machine(j, "parent", history, m.parent);
	json_str(j, "hostname", m.hostname);
	json_str(j, "trace_path", m.trace_path);
	json_end(j);
}

static void json_cpu_row(struct json *j, struct sonde_history *history, int64_t row)
{
	struct sonde_cpu cpu;

	sonde_cpu_get(history, row, &cpu);
	json_begin_object(j, NULL);
	json_machine(j, "machine", history, cpu.machine);
	json_int(j, "cpu", cpu.number);
	json_row(j, "host_tid", cpu.host_tid);
	json_uint(j, "nested_id", cpu.nested_id);
	json_end(j);
}

static void json_head(struct json *j, struct sonde_history *history)
{
	int64_t offset, begin, end;

	sonde_history_traced(history, &begin, &end);
	json_int(j, "begin", sonde_history_begin(history));
	json_int(j, "end", sonde_history_end(history));
	json_int(j, "traced_begin", begin);
	json_int(j, "traced_end", end);
	json_bool(j, "complete", sonde_history_complete(history));
	json_bool(j, "ticks_are_ns", sonde_history_ticks_are_ns(history));
	if (sonde_history_wall_offset(history, &offset))
		json_int(j, "wall_offset_ns", offset);
	else
		json_put_null(j, "wall_offset_ns");
	json_int(j, "threads", sonde_nr_threads(history));
	json_int(j, "contexts", sonde_nr_contexts(history));
	json_begin_object(j, "meta");
	for (int64_t i = 0; i < sonde_nr_meta(history); i++) {
		struct sonde_meta meta;

		sonde_meta_get(history, i, &meta);
		json_str(j, meta.key, meta.value);
	}
	json_end(j);
}

static void json_identities(struct json *j, struct sonde_history *history)
{
	json_begin_array(j, "identities");
	for (int64_t row = 0; row < sonde_nr_identities(history); row++) {
		struct sonde_identity id;

		sonde_identity_get(history, row, &id);
		json_begin_object(j, NULL);
		json_machine(j, "machine", history, id.machine);
		json_str(j, "key", id.key);
		json_str(j, "value", id.value);
		json_end(j);
	}
	json_end(j);
}

static void json_cpu_times(struct json *j, struct sonde_history *history)
{
	static const char *const names[NR_CPU_TIMES] = {"user",	  "nice",      "system",  "idle",
							"iowait", "irq",       "softirq", "steal",
							"guest",  "guest_nice"};

	json_begin_array(j, "cpu_times");
	for (int64_t row = 0; row < sonde_nr_cpu_times(history); row++) {
		struct sonde_cpu_times c;

		sonde_cpu_times_get(history, row, &c);
		json_begin_object(j, NULL);
		json_machine(j, "machine", history, c.machine);
		json_int(j, "cpu", c.cpu);
		json_int(j, "t", c.t);
		json_str(j, "cause", c.cause);
		json_int(j, "hz", c.hz);
		for (unsigned i = 0; i < NR_CPU_TIMES; i++)
			json_row(j, names[i], cpu_time(&c, i));
		json_end(j);
	}
	json_end(j);
}

static enum exit_code print_json(const struct invocation *inv, struct sonde_history *history)
{
	struct json j = {.out = inv->screen.out};
	struct sonde_error err = {0};

	json_begin_object(&j, NULL);
	json_head(&j, history);
	json_begin_array(&j, "machines");
	for (int64_t row = 0; row < sonde_nr_machines(history); row++)
		json_machine_row(&j, history, row);
	json_end(&j);
	json_begin_array(&j, "cpus");
	for (int64_t row = 0; row < sonde_nr_cpus(history); row++)
		json_cpu_row(&j, history, row);
	json_end(&j);
	json_identities(&j, history);
	json_cpu_times(&j, history);
	for (size_t i = 0; i < ARRAY_SIZE(quality); i++) {
		struct sonde_rows *rows;

		if (sonde_rows_get(&rows, history, quality[i], sonde_history_begin(history),
				   sonde_history_end(history) + 1, &err))
			return complain(inv, EXIT_FAILED, "%s", err.text);
		rows_json(&j, quality[i], history, rows);
		sonde_rows_free(rows);
	}
	json_end(&j);
	return EXIT_DONE;
}

static enum exit_code run_info(const struct invocation *inv)
{
	struct sonde_history *history;
	enum exit_code code = open_input(inv, &history);

	if (code)
		return code;
	code = is_json(inv) ? print_json(inv, history) : print_text(inv, history);
	sonde_history_close(history);
	return code;
}

const struct command info_command = {
	.name = "info",
	.summary = "what is in a history: traces, machines, clocks, gaps, problems",
	.operands = "[FILE]",
	.about = "FILE is a history made by sonde analyze.\n",
	.common = COMMON_INPUT | COMMON_FORMAT,
	.pages = true,
	.whole = true,
	.run = run_info,
};
