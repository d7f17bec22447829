/* SPDX-License-Identifier: Apache-2.0 */
/* Every interval of every row as a line: docs/export.md has the columns. */
#include "report/csv.h"
#include "analysis/sched/cpu_users.h"
#include "query/query.h"
#include "export/rows.h"
#include "report/moment.h"

#include <inttypes.h>
#include <string.h>

struct csv {
	struct rows rows;
	struct sonde_history *history;
	FILE *out;
};

/* One row of the history. */
struct line {
	struct csv *csv;
	const char *kind;
	char label[200];
	const char *(*state_name)(uint32_t state); /* NULL: a physical CPU's */
};

static void put_begin(const struct line *l, const struct sonde_interval *i, const char *state)
{
	FILE *out = l->csv->out;

	fprintf(out, "%s,", l->kind);
	csv_text(out, l->label);
	fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,", i->begin, i->end,
		i->end - i->begin, state);
}

/* What the CPU does, and which machine, CPU and thread that is. */
static void put_context(const struct line *l, const struct sonde_interval *i)
{
	struct sonde_history *history = l->csv->history;
	FILE *out = l->csv->out;
	struct sonde_context c;
	struct sonde_machine m;
	struct sonde_thread t;
	char label[200];

	if (!i->value || sonde_context_get(history, (int64_t)i->value - 1, &c)) {
		put_begin(l, i, "unknown");
		fputs(",,,,\n", out);
		return;
	}
	put_begin(l, i, sonde_mode_name(c.mode));
	context_mode_label(&c, label, sizeof(label));
	csv_text(out, label[strcspn(label, " ")] ? strchr(label, ' ') + 1 : "");
	fputc(',', out);
	csv_text(out, sonde_machine_get(history, c.machine, &m) ? "" : m.name);
	fprintf(out, ",%d,", c.cpu);
	if (!sonde_thread_get(history, c.thread, &t)) {
		sonde_thread_label(history, c.thread, label, sizeof(label));
		csv_text(out, label);
		fputc(',', out);
		container_text(history, c.thread, label, sizeof(label));
		csv_text(out, label);
	} else {
		fputc(',', out);
	}
	fputc('\n', out);
}

static bool each(const struct sonde_interval *i, void *data)
{
	const struct line *l = data;

	if (!l->state_name) {
		put_context(l, i);
	} else if (l->state_name(i->value)) {
		put_begin(l, i, l->state_name(i->value));
		fputs(",,,,\n", l->csv->out);
	}
	return true;
}

static int put_cpus(struct csv *c, const struct piece *p)
{
	int ret = 0;

	for (int64_t row = 0; row < sonde_nr_cpus(c->history) && !ret; row++) {
		struct line l = {.csv = c, .kind = "cpu"};

		sonde_cpu_label(c->history, row, l.label, sizeof(l.label));
		if (rows_has_cpu(&c->rows, row))
			ret = rows_walk(&c->rows, p, c->history->cpu_attrs[row][CPU_RUNS], each,
					&l);
		l.kind = "vcpu";
		l.state_name = vcpu_state_name;
		if (!ret && rows_has_vcpu(&c->rows, row))
			ret = rows_walk(&c->rows, p, c->history->cpu_attrs[row][CPU_STATE], each,
					&l);
	}
	return ret;
}

static int put_threads(struct csv *c, const struct piece *p)
{
	int ret = 0;

	for (size_t i = 0; i < c->rows.nr_threads && !ret; i++) {
		const struct thread_row *t = &c->rows.threads[i];
		struct line l = {.csv = c, .kind = "thread", .state_name = thread_state_name};
		struct sonde_machine m;
		char label[120];

		if (!rows_lives_in(t, p))
			continue;
		sonde_machine_get(c->history, t->machine, &m);
		sonde_thread_label(c->history, t->thread, label, sizeof(label));
		snprintf(l.label, sizeof(l.label), "%.70s: %s", m.name, label);
		ret = rows_walk(&c->rows, p, t->state, each, &l);
	}
	return ret;
}

static int put_piece(const struct piece *p, void *data)
{
	struct csv *c = data;
	int ret = put_cpus(c, p);

	if (!ret)
		ret = put_threads(c, p);
	return ret ? ret : rows_output(&c->rows, c->out);
}

int export_csv(FILE *out, struct sonde_history *history, const struct export_options *o,
	       struct error *err)
{
	struct csv c = {.history = history, .out = out};
	int ret = rows_init(&c.rows, history, o);

	fputs("kind,row,begin,end,length,state,detail,machine,cpu,thread,container\n", out);
	if (!ret)
		ret = rows_pieces(&c.rows, put_piece, &c);
	rows_release(&c.rows);
	return rows_fail(err, ret, out);
}
