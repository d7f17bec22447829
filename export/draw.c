/* SPDX-License-Identifier: Apache-2.0 */
#include "export/draw.h"
#include "report/moment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names --------------------------------------------------------------------------------- */

const char *draw_machine_name(const struct draw *d, int64_t machine)
{
	struct sonde_machine m;

	return sonde_machine_get(d->history, machine, &m) ? "unknown" : m.name;
}

/* The same few threads are drawn over and over. */
#define LABELS 1024

struct label {
	int64_t thread; /* + 1; 0: none yet */
	char text[LABEL_MAX];
};

static void make_label(const struct draw *d, int64_t thread, char buf[static LABEL_MAX])
{
	struct sonde_thread t;
	int used = 0;

	if (!sonde_thread_get(d->history, thread, &t) && t.machine)
		used = snprintf(buf, LABEL_MAX, "%s: ", draw_machine_name(d, t.machine));
	if (used < 0 || used >= LABEL_MAX)
		used = LABEL_MAX - 1;
	sonde_thread_label(d->history, thread, buf + used, (size_t)(LABEL_MAX - used));
}

void draw_thread_label(const struct draw *d, int64_t thread, char buf[static LABEL_MAX])
{
	struct label *l = &d->labels[(uint64_t)thread % LABELS];

	if (l->thread != thread + 1 || thread < 0) {
		make_label(d, thread, l->text);
		l->thread = thread + 1;
	}
	strcpy(buf, l->text);
}

bool draw_has_thread(const struct draw *d, int64_t thread)
{
	return rows_find_thread(&d->rows, thread) >= 0;
}

bool draw_has_cpu(const struct draw *d, int64_t cpu)
{
	return rows_has_cpu(&d->rows, cpu) || rows_has_vcpu(&d->rows, cpu);
}

uint64_t draw_arrow(struct draw *d, uint64_t from, ns_t t, const char *name, const char *category)
{
	const struct sign s = {.name = name, .category = category, .flow = ++d->flows};

	d->canvas->ops->moment(d->canvas, from, t, &s);
	return d->flows;
}

/* ---- tracks -------------------------------------------------------------------------------- */

static void declare(struct draw *d, enum track_kind kind, int64_t row, uint64_t parent,
		    enum track_type type, unsigned rank, const char *name)
{
	const struct track t = {.id = track_id(kind, row),
				.parent = parent,
				.type = type,
				.name = name,
				.rank = rank};

	d->canvas->ops->track(d->canvas, &t);
}

static void declare_vcpu(struct draw *d, int64_t row, uint64_t parent, unsigned rank)
{
	char name[LABEL_MAX];

	sonde_cpu_label(d->history, row, name, sizeof(name));
	declare(d, DRAW_CPU, row, parent, TRACK_SLICES, rank, name);
	snprintf(name + strlen(name), sizeof(name) - strlen(name), " waits for");
	declare(d, DRAW_WAITS, row, parent, TRACK_SLICES, rank + 1, name);
	sonde_cpu_label(d->history, row, name, sizeof(name));
	snprintf(name + strlen(name), sizeof(name) - strlen(name), " is preempted by");
	declare(d, DRAW_KEPT_OFF, row, parent, TRACK_SLICES, rank + 2, name);
}

static void declare_cpus(struct draw *d, int64_t machine)
{
	uint64_t group = track_id(DRAW_CPUS, machine);
	bool any = false;
	unsigned rank = 0;

	for (int64_t row = sonde_next_cpu(d->history, (unsigned)machine, INT_MIN); row >= 0;) {
		struct sonde_cpu cpu;
		char name[40];

		sonde_cpu_get(d->history, row, &cpu);
		if (draw_has_cpu(d, row) && !any) {
			declare(d, DRAW_CPUS, machine, track_id(DRAW_MACHINE, machine), TRACK_GROUP,
				10, machine ? "vCPUs" : "CPUs");
			any = true;
		}
		if (rows_has_vcpu(&d->rows, row))
			declare_vcpu(d, row, group, rank);
		snprintf(name, sizeof(name), "CPU %d", cpu.number);
		if (rows_has_cpu(&d->rows, row))
			declare(d, DRAW_CPU, row, group, TRACK_SLICES, rank, name);
		rank += 3;
		row = sonde_next_cpu(d->history, (unsigned)machine, cpu.number);
	}
}

static void thread_name_in_group(const struct draw *d, int64_t thread, char buf[static LABEL_MAX])
{
	char label[120];

	sonde_thread_label(d->history, thread, buf, LABEL_MAX);
	container_text(d->history, thread, label, sizeof(label));
	if (*label)
		snprintf(buf + strlen(buf), LABEL_MAX - strlen(buf), " in %s", label);
}

/* Threads of one process that has several are in a group called as its first thread is. */
static void declare_threads(struct draw *d, int64_t machine)
{
	const struct thread_row *rows = d->rows.threads;
	uint64_t group = track_id(DRAW_THREADS, machine), parent = group;
	size_t i = 0, process_end = 0;
	char name[LABEL_MAX];

	while (i < d->rows.nr_threads && rows[i].machine != machine)
		i++;
	if (i == d->rows.nr_threads)
		return;
	declare(d, DRAW_THREADS, machine, track_id(DRAW_MACHINE, machine), TRACK_GROUP, 20,
		"threads");
	for (; i < d->rows.nr_threads && rows[i].machine == machine; i++) {
		thread_name_in_group(d, rows[i].thread, name);
		if (i >= process_end) {
			for (process_end = i + 1; process_end < d->rows.nr_threads; process_end++) {
				if (rows[process_end].machine != machine || rows[i].pid < 0 ||
				    rows[process_end].pid != rows[i].pid)
					break;
			}
			parent = group;
			if (process_end - i > 1) {
				parent = track_id(DRAW_PROCESS, rows[i].thread);
				declare(d, DRAW_PROCESS, rows[i].thread, group, TRACK_GROUP,
					(unsigned)i, name);
			}
		}
		declare(d, DRAW_THREAD, rows[i].thread, parent, TRACK_SLICES, (unsigned)i, name);
	}
}

static void declare_value(struct draw *d, enum track_kind kind, int64_t machine, unsigned rank,
			  const char *name, const char *unit)
{
	const struct track t = {.id = track_id(kind, machine),
				.parent = track_id(DRAW_MACHINE, machine),
				.type = TRACK_COUNTER,
				.name = name,
				.unit = unit,
				.rank = rank};

	d->canvas->ops->track(d->canvas, &t);
}

/* A machine whose rows nobody wants is there as well when it holds others. */
static void declare_machine(struct draw *d, int64_t row)
{
	struct sonde_machine m;
	char name[LABEL_MAX];

	sonde_machine_get(d->history, row, &m);
	snprintf(name, sizeof(name), "%s%s", m.name, m.traced ? "" : " (no trace of its own)");
	declare(d, DRAW_MACHINE, row, m.parent < 0 ? 0 : track_id(DRAW_MACHINE, m.parent),
		TRACK_GROUP, 100 + (unsigned)row, name);
	if (!rows_has_machine(&d->rows, row))
		return;
	if (d->values) {
		declare_value(d, DRAW_USE, row, 0, "CPU use", "% of a CPU");
		if (row)
			declare_value(d, DRAW_EXITS, row, 1, "exits", "1/s");
		if (row && m.traced)
			declare_value(d, DRAW_BOUND, row, 2, "clock error at most", "ns");
	}
	declare_cpus(d, row);
	declare_threads(d, row);
}

/* Parents first, whatever the order of their rows. */
static void declare_machines(struct draw *d, int64_t parent, unsigned depth)
{
	if (depth > SONDE_LAYERS_MAX)
		return;
	for (int64_t row = 0; row < sonde_nr_machines(d->history); row++) {
		struct sonde_machine m;

		if (sonde_machine_get(d->history, row, &m) || m.parent != parent)
			continue;
		declare_machine(d, row);
		declare_machines(d, row, depth + 1);
	}
}

/* ---- time ---------------------------------------------------------------------------------- */

static int draw_piece(const struct piece *p, void *data)
{
	struct draw *d = data;
	int ret = draw_cpus(d, p);

	if (!ret && d->options->rows & EXPORT_VCPUS)
		ret = draw_vcpus(d, p);
	if (!ret)
		ret = draw_threads(d, p);
	if (!ret && d->values)
		ret = values_piece(d, p);
	return ret ? ret : rows_output(&d->rows, d->canvas->out);
}

static int draw_all(struct draw *d)
{
	int ret;

	declare_machines(d, -1, 0);
	ret = draw_notes(d);
	if (!ret)
		ret = rows_pieces(&d->rows, draw_piece, d);
	if (ret)
		return ret;
	draw_cpus_end(d);
	if (d->values)
		values_draw(d);
	return rows_output(&d->rows, d->canvas->out);
}

int draw_run(struct canvas *c, struct sonde_history *history, const struct export_options *o,
	     struct error *err)
{
	struct draw d = {.history = history, .options = o, .canvas = c};
	int ret = rows_init(&d.rows, history, o);

	d.labels = calloc(LABELS, sizeof(*d.labels));
	if (!ret && !d.labels)
		ret = -ENOMEM;
	if (!ret)
		ret = cpu_users_get(&d.users, history);
	if (!ret)
		ret = draw_cpus_begin(&d);
	if (!ret && o->rows & EXPORT_VALUES)
		ret = values_new(&d);
	query_threads(history); /* without the memory for all of them each slice costs more */
	if (!ret)
		ret = draw_all(&d);
	rows_release(&d.rows);
	free(d.stacks);
	free(d.labels);
	values_free(&d);
	return rows_fail(err, ret, c->out);
}

static int write_canvas(struct canvas *c, struct sonde_history *history,
			const struct export_options *o, struct error *err)
{
	int ret, closed;

	if (!c)
		return fail(err, -ENOMEM, "out of memory");
	ret = draw_run(c, history, o, err);
	closed = canvas_close(c);
	return ret || !closed ? ret : fail(err, closed, "%s", strerror(-closed));
}

int export_perfetto(FILE *out, struct sonde_history *history, const struct export_options *o,
		    struct error *err)
{
	return write_canvas(perfetto_open(out, history), history, o, err);
}

int export_chrome(FILE *out, struct sonde_history *history, const struct export_options *o,
		  struct error *err)
{
	return write_canvas(chrome_open(out, history), history, o, err);
}
