/* SPDX-License-Identifier: Apache-2.0 */
/* The fused history as a trace in the Common Trace Format, 1.8: an event for each change of what a
 * CPU runs and of what vCPUs and threads do.  A stream for each CPU of each machine, one for each
 * machine's threads, and one for losses. */
#include "export/ctf.h"
#include "base/figure.h"
#include "base/grow.h"
#include "export/ctf_stream.h"
#include "export/rows.h"
#include "model/context.h"
#include "report/moment.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A change of a thread's state, of which a piece's are brought into order. */
struct change {
	ns_t t;
	uint32_t thread; /* in rows.threads */
	uint32_t state;
};

struct ctf {
	struct rows rows;
	struct sonde_history *history;
	const char *dir;
	ns_t origin;
	struct ctf_stream *cpus;    /* owned, per CPU row */
	struct ctf_stream *threads; /* owned, per machine */
	struct change *changes;	    /* owned */
	size_t nr_changes, room;
	int ret; /* what went wrong inside a walk */
};

struct row {
	struct ctf *ctf;
	int64_t cpu;
	uint32_t thread;
	const char *machine;
};

/* ---- CPUs ---------------------------------------------------------------------------------- */

static bool each_run(const struct sonde_interval *i, void *data)
{
	const struct row *row = data;
	struct sonde_history *history = row->ctf->history;
	struct ctf_stream *s = &row->ctf->cpus[row->cpu];
	struct sonde_context c;
	char thread[200] = "", container[200] = "";
	struct sonde_machine m = {.name = ""};
	struct sonde_thread t;
	bool has_thread;

	if (sonde_context_get(history, (int64_t)i->value - 1, &c) ||
	    sonde_machine_get(history, c.machine, &m)) {
		c = (struct sonde_context){.cpu = -1, .thread = -1, .detail_text = ""};
		m.name = "";
	}
	has_thread = !sonde_thread_get(history, c.thread, &t);
	if (has_thread)
		sonde_thread_label(history, c.thread, thread, sizeof(thread));
	container_text(history, c.thread, container, sizeof(container));
	ctf_event(s, i->begin, CTF_RUNS);
	ctf_text(s, m.name);
	ctf_i32(s, c.cpu);
	ctf_text(s, thread);
	ctf_i64(s, has_thread ? t.tid : -1);
	ctf_u8(s, (uint8_t)c.mode);
	ctf_text(s, c.detail_text);
	ctf_text(s, container);
	return true;
}

static bool each_vcpu_state(const struct sonde_interval *i, void *data)
{
	const struct row *row = data;
	struct ctf_stream *s = &row->ctf->cpus[row->cpu];

	ctf_event(s, i->begin, CTF_VCPU_STATE);
	ctf_text(s, row->machine);
	ctf_i32(s, (int32_t)s->cpu);
	ctf_u8(s, (uint8_t)(i->value <= VCPU_GONE ? i->value : VCPU_UNKNOWN));
	return true;
}

static int put_cpus(struct ctf *c, const struct piece *p)
{
	int ret = 0;

	for (int64_t cpu = 0; cpu < sonde_nr_cpus(c->history) && !ret; cpu++) {
		const attr_t *attrs = c->history->cpu_attrs[cpu];
		struct row row = {.ctf = c, .cpu = cpu};
		struct sonde_machine m;
		struct sonde_cpu of;

		sonde_cpu_get(c->history, cpu, &of);
		sonde_machine_get(c->history, of.machine, &m);
		row.machine = m.name;
		if (rows_has_cpu(&c->rows, cpu))
			ret = rows_walk(&c->rows, p, attrs[CPU_RUNS], each_run, &row);
		else if (rows_has_vcpu(&c->rows, cpu))
			ret = rows_walk(&c->rows, p, attrs[CPU_STATE], each_vcpu_state, &row);
		if (!ret)
			ret = c->cpus[cpu].ret;
	}
	return ret;
}

/* ---- threads ------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static bool each_thread_state(const struct sonde_interval *i, void *data)
{
	const struct row *row = data;
	struct ctf *c = row->ctf;

	if (!room_for_one(&c->changes, c->nr_changes, &c->room)) {
		c->ret = -ENOMEM;
		return false;
	}
	c->changes[c->nr_changes++] = (struct change){i->begin, row->thread, i->value};
	return true;
}

static int put_change(struct ctf *c, const struct change *change)
{
	const struct thread_row *row = &c->rows.threads[change->thread];
	struct ctf_stream *s = &c->threads[row->machine];
	struct sonde_machine m;
	char label[200];

	sonde_machine_get(c->history, row->machine, &m);
	sonde_thread_label(c->history, row->thread, label, sizeof(label));
	ctf_event(s, change->t, CTF_THREAD_STATE);
	ctf_text(s, m.name);
	ctf_text(s, label);
	ctf_i64(s, row->pid);
	ctf_i64(s, row->tid);
	ctf_u8(s, (uint8_t)(change->state <= THREAD_DEAD ? change->state : THREAD_UNKNOWN));
	return s->ret;
}

static int put_threads(struct ctf *c, const struct piece *p)
{
	int ret = 0;

	c->nr_changes = 0;
	for (size_t i = 0; i < c->rows.nr_threads && !ret; i++) {
		struct row row = {.ctf = c, .thread = (uint32_t)i};

		if (rows_lives_in(&c->rows.threads[i], p))
			ret = rows_walk(&c->rows, p, c->rows.threads[i].state, each_thread_state,
					&row);
	}
	if (!ret)
		ret = c->ret;
	qsort(c->changes, c->nr_changes, sizeof(*c->changes), by_time);
	for (size_t i = 0; i < c->nr_changes && !ret; i++)
		ret = put_change(c, &c->changes[i]);
	return ret;
}

/* ---- losses -------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct sonde_loss *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void put_loss(struct ctf *c, struct ctf_stream *s, const struct sonde_loss *l)
{
	struct sonde_machine m;

	sonde_machine_get(c->history, l->machine, &m);
	ctf_event(s, l->begin, CTF_LOSS);
	ctf_text(s, m.name);
	ctf_i32(s, l->cpu);
	ctf_i64(s, ns_since(l->end, l->begin));
	ctf_i64(s, l->events);
}

static int put_losses(struct ctf *c)
{
	struct ctf_stream s = {
		.dir = c->dir, .name = "gaps", .class = CTF_LOST, .origin = c->origin};
	struct sonde_loss *losses;
	size_t nr;
	int ret = rows_losses(&c->rows, &losses, &nr);

	if (ret)
		return ret;
	qsort(losses, nr, sizeof(*losses), by_begin);
	for (size_t i = 0; i < nr; i++)
		put_loss(c, &s, &losses[i]);
	free(losses);
	return ctf_close(&s, c->rows.options->end);
}

/* ---- the directory ------------------------------------------------------------------------- */

static int put_piece(const struct piece *p, void *data)
{
	struct ctf *c = data;
	int ret = put_cpus(c, p);

	return ret ? ret : put_threads(c, p);
}

/* A machine's name may hold anything: files go by numbers. */
static int open_streams(struct ctf *c)
{
	size_t cpus = (size_t)sonde_nr_cpus(c->history),
	       machines = (size_t)sonde_nr_machines(c->history);

	c->cpus = calloc(cpus + 1, sizeof(*c->cpus));
	c->threads = calloc(machines + 1, sizeof(*c->threads));
	if (!c->cpus || !c->threads)
		return -ENOMEM;
	for (size_t i = 0; i < cpus; i++) {
		struct ctf_stream *s = &c->cpus[i];
		struct sonde_cpu cpu;

		sonde_cpu_get(c->history, (int64_t)i, &cpu);
		*s = (struct ctf_stream){.dir = c->dir,
					 .class = cpu_is_physical(&cpu) ? CTF_CPU : CTF_VCPU,
					 .cpu = (uint32_t)cpu.number,
					 .origin = c->origin};
		snprintf(s->name, sizeof(s->name), "machine%" PRId64 "_cpu%d_%zu", cpu.machine,
			 cpu.number, i);
	}
	for (size_t m = 0; m < machines; m++) {
		c->threads[m] = (struct ctf_stream){
			.dir = c->dir, .class = CTF_THREADS, .origin = c->origin};
		snprintf(c->threads[m].name, CTF_NAME_MAX, "machine%zu_threads", m);
	}
	return 0;
}

static int close_streams(struct ctf *c)
{
	ns_t end = c->rows.options->end;
	int ret = 0;

	for (int64_t i = 0; c->cpus && i < sonde_nr_cpus(c->history); i++) {
		int closed = ctf_close(&c->cpus[i], end);

		ret = ret ? ret : closed;
	}
	for (int64_t m = 0; c->threads && m < sonde_nr_machines(c->history); m++) {
		int closed = ctf_close(&c->threads[m], end);

		ret = ret ? ret : closed;
	}
	free(c->cpus);
	free(c->threads);
	return ret;
}

static int put_metadata(const struct ctf *c)
{
	const struct export_options *o = c->rows.options;
	char path[PATH_MAX];
	FILE *out;
	int ret;

	if ((size_t)snprintf(path, sizeof(path), "%s/metadata", c->dir) >= sizeof(path))
		return -ENAMETOOLONG;
	out = fopen(path, "we");
	if (!out)
		return -errno;
	ctf_metadata(out, c->history, o->begin, o->end, c->origin);
	ret = rows_output(&c->rows, out);
	if (fclose(out) && !ret)
		ret = -errno;
	return ret;
}

int export_ctf(const char *dir, struct sonde_history *history, const struct export_options *o,
	       struct error *err)
{
	struct ctf c = {.history = history, .dir = dir, .origin = o->begin < 0 ? o->begin : 0};
	int ret = rows_init(&c.rows, history, o), read = 0, closed;

	if (!ret)
		ret = open_streams(&c);
	if (!ret)
		ret = put_metadata(&c);
	if (!ret)
		ret = put_losses(&c);
	if (!ret)
		read = rows_pieces(&c.rows, put_piece, &c);
	closed = close_streams(&c); /* why, if one could not be written */
	rows_release(&c.rows);
	free(c.changes);
	ret = ret ? ret : closed;
	if (ret == -EINTR || read == -EINTR)
		return fail(err, -EINTR, "interrupted");
	if (ret)
		return fail(err, ret, "%s", strerror(-ret));
	return read ? fail(err, read, "cannot read the history: %s", error_reason(read)) : 0;
}
