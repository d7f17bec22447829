/* SPDX-License-Identifier: Apache-2.0 */
/* What there is: machines, CPUs, containers, clocks, losses; contexts and threads by the chunk. */
#include "serve/api/api.h"
#include "query/counts.h"
#include "report/rows.h"
#include "report/moment.h"
#include "sonde/tables.h"
#include "sonde/sonde.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CLOCKS_MAX 20000
#define LOSSES_MAX 20000
#define LEFT_OUT_SHOWN 200
#define PROBLEMS_SHOWN 200

/* 64 bits that a page's numbers cannot hold. */
static void json_wide(struct json *j, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	json_str(j, key, text);
}

static void json_attr(struct json *j, const char *key, uint32_t attr)
{
	if (attr == SONDE_NO_ATTR)
		json_put_null(j, key);
	else
		json_uint(j, key, attr);
}

/* A time of the history; what sticks out of it is cut off. */
static void json_moment(struct json *j, const struct call *c, int64_t t)
{
	int64_t past = t < c->begin ? 0 : t - c->begin;

	json_int(j, NULL, t >= c->begin + c->length ? c->length : past);
}

/* The part of it in which the physical machine was traced: all of it, where that is outside of what
 * is told. */
static void write_traced(struct json *j, const struct call *c)
{
	int64_t begin, end;

	sonde_history_traced(c->history, &begin, &end);
	if (end <= c->begin || begin >= c->begin + c->length) {
		begin = c->begin;
		end = c->begin + c->length;
	}
	json_begin_array(j, "traced");
	json_moment(j, c, begin);
	json_moment(j, c, end);
	json_end(j);
}

static void write_run(struct json *j, const struct call *c)
{
	const char *name = strrchr(c->path, '/');
	char cpus[128];
	int64_t wall;

	json_str(j, "file", name ? name + 1 : c->path);
	json_str(j, "version", sonde_version());
	json_wide(j, "begin", c->begin);
	json_int(j, "length", c->length);
	write_traced(j, c);
	json_bool(j, "ticks_are_ns", sonde_history_ticks_are_ns(c->history));
	outermost_cpus_text(c->history, cpus, sizeof(cpus));
	json_str(j, "cpus_title", cpus);
	json_bool(j, "complete", sonde_history_complete(c->history));
	if (sonde_history_wall_offset(c->history, &wall))
		json_wide(j, "wall", wall);
	else
		json_put_null(j, "wall");
	json_int(j, "nr_threads", sonde_nr_threads(c->history));
	json_int(j, "nr_contexts", sonde_nr_contexts(c->history));
}

static void write_machines(struct json *j, const struct call *c)
{
	json_begin_array(j, "machines");
	for (int64_t row = 0; row < sonde_nr_machines(c->history); row++) {
		struct sonde_machine m;
		char kind[32];

		sonde_machine_get(c->history, row, &m);
		machine_kind_text(c->history, row, true, kind, sizeof(kind));
		json_begin_object(j, NULL);
		json_int(j, "parent", m.parent);
		json_str(j, "kind", kind);
		json_machine_members(j, c->history, row);
		json_end(j);
	}
	json_end(j);
}

static void write_cpus(struct json *j, const struct call *c)
{
	json_begin_array(j, "cpus");
	for (int64_t row = 0; row < sonde_nr_cpus(c->history); row++) {
		struct sonde_cpu cpu;

		sonde_cpu_get(c->history, row, &cpu);
		json_begin_object(j, NULL);
		json_uint(j, "machine", cpu.machine);
		json_int(j, "number", cpu.number);
		json_int(j, "host_tid", cpu.host_tid);
		json_int(j, "host_thread", cpu.host_thread);
		json_attr(j, "runs", sonde_attr_of_cpu(c->history, row, "runs"));
		json_attr(j, "state", sonde_attr_of_cpu(c->history, row, "state"));
		json_attr(j, "task", sonde_attr_of_cpu(c->history, row, "task"));
		json_end(j);
	}
	json_end(j);
}

static void write_pid_ns(struct json *j, const struct call *c)
{
	json_begin_array(j, "pid_ns");
	for (int64_t row = 0; row < sonde_nr_pid_ns(c->history); row++) {
		struct sonde_pid_ns ns;
		char label[160];

		sonde_pid_ns_get(c->history, row, &ns);
		sonde_pid_ns_label(c->history, row, label, sizeof(label));
		json_begin_object(j, NULL);
		json_uint(j, "machine", ns.machine);
		json_int(j, "parent", ns.parent);
		json_uint(j, "level", ns.level);
		json_str(j, "label", label);
		json_end(j);
	}
	json_end(j);
}

/* [machine, from, to, bound] each. */
static void write_clocks(struct json *j, const struct call *c)
{
	json_begin_array(j, "clocks");
	for (int64_t row = 0; row < sonde_nr_clocks(c->history) && row < CLOCKS_MAX; row++) {
		struct sonde_clock clock;

		sonde_clock_get(c->history, row, &clock);
		json_begin_array(j, NULL);
		json_uint(j, NULL, clock.machine);
		json_moment(j, c, clock.from);
		json_moment(j, c, clock.to);
		json_int(j, NULL, clock.bound_ns);
		json_end(j);
	}
	json_end(j);
}

/* [machine, cpu, begin, end, events] each. */
static void write_losses(struct json *j, const struct call *c)
{
	json_begin_array(j, "gaps");
	for (int64_t row = 0; row < sonde_nr_losses(c->history) && row < LOSSES_MAX; row++) {
		struct sonde_loss loss;

		sonde_loss_get(c->history, row, &loss);
		json_begin_array(j, NULL);
		json_int(j, NULL, loss.machine);
		json_int(j, NULL, loss.cpu);
		json_moment(j, c, loss.begin);
		json_moment(j, c, loss.end);
		json_int(j, NULL, loss.events);
		json_end(j);
	}
	json_end(j);
	json_int(j, "nr_gaps", sonde_nr_losses(c->history));
}

static void write_problems(struct json *j, const struct call *c)
{
	json_begin_array(j, "problems");
	for (int64_t row = 0; row < sonde_nr_problems(c->history) && row < PROBLEMS_SHOWN; row++) {
		struct sonde_problem p;

		sonde_problem_get(c->history, row, &p);
		json_begin_object(j, NULL);
		json_int(j, "machine", p.machine);
		json_str(j, "text", p.text);
		json_int(j, "count", p.count);
		json_end(j);
	}
	json_end(j);
	json_int(j, "nr_problems", sonde_nr_problems(c->history));
}

static void write_tables(struct json *j)
{
	unsigned nr;
	const struct sonde_table *const *list = sonde_tables(&nr);

	json_begin_array(j, "tables");
	for (unsigned i = 0; i < nr; i++) {
		json_begin_object(j, NULL);
		json_str(j, "name", list[i]->name);
		json_str(j, "title", list[i]->title);
		json_str(j, "help", list[i]->help);
		json_end(j);
	}
	json_end(j);
	json_begin_array(j, "modes");
	for (unsigned m = 0; m < QUERY_NR_MODES; m++)
		json_str(j, NULL, sonde_mode_name((enum sonde_mode)m));
	json_end(j);
}

int answer_model(struct call *c, struct error *err)
{
	struct json j = {.out = c->reply->out};

	(void)err;
	json_begin_object(&j, NULL);
	write_run(&j, c);
	write_machines(&j, c);
	write_cpus(&j, c);
	write_pid_ns(&j, c);
	write_clocks(&j, c);
	write_losses(&j, c);
	json_left_out(&j, c->history, LEFT_OUT_SHOWN);
	json_int(&j, "nr_left_out", sonde_nr_left_outs(c->history));
	write_problems(&j, c);
	write_tables(&j);
	json_end(&j);
	return 0;
}

static int get_chunk(const struct call *c, int64_t nr_rows, int64_t *first, int64_t *end,
		     struct error *err)
{
	int64_t nr;
	int ret = request_int(c->request, "first", 0, INT32_MAX, first, err);

	if (!ret)
		ret = request_int(c->request, "nr", 1, CHUNK_MAX, &nr, err);
	if (ret)
		return ret;
	*end = *first + nr < nr_rows ? *first + nr : nr_rows;
	return 0;
}

void context_cells(struct json *j, const struct call *c, int64_t row)
{
	struct sonde_context x;

	sonde_context_get(c->history, row, &x);
	json_uint(j, NULL, x.machine);
	json_int(j, NULL, x.cpu);
	json_int(j, NULL, x.thread);
	json_uint(j, NULL, x.mode);
	json_int(j, NULL, x.serves);
	json_str(j, NULL, x.detail_text);
}

void thread_cells(struct json *j, const struct call *c, int64_t row)
{
	struct sonde_thread t;

	sonde_thread_get(c->history, row, &t);
	json_uint(j, NULL, t.machine);
	json_int(j, NULL, t.tid);
	json_int(j, NULL, t.pid);
	json_str(j, NULL, t.comm);
	json_int(j, NULL, t.pid_ns);
	json_int(j, NULL, t.vcpu);
	json_attr(j, NULL, sonde_attr_of_thread(c->history, row, "state"));
}

/* A row of a table, as an array. */
typedef void write_cells(struct json *j, const struct call *c, int64_t row);

static void write_row(struct json *j, const struct call *c, int64_t row, write_cells *write)
{
	json_begin_array(j, NULL);
	write(j, c, row);
	json_end(j);
}

static int answer_chunk(struct call *c, int64_t nr_rows, write_cells *write, struct error *err)
{
	struct json j = {.out = c->reply->out, .flat = 1};
	int64_t row, end;
	int ret = get_chunk(c, nr_rows, &row, &end, err);

	if (ret)
		return ret;
	json_begin_array(&j, NULL);
	for (; row < end; row++)
		write_row(&j, c, row, write);
	json_end(&j);
	return 0;
}

/* Those rows that are named: of a long history a page has no use for all. */
static int answer_list(struct call *c, int64_t nr_rows, write_cells *write, struct error *err)
{
	struct json j = {.out = c->reply->out, .flat = 1};
	uint32_t rows[LIST_MAX];
	int nr = request_list(c->request, "rows", rows, LIST_MAX, err);

	if (nr < 0)
		return nr;
	for (int i = 0; i < nr; i++) {
		if (rows[i] >= nr_rows)
			return fail(err, -EINVAL, "rows has %u, which the history does not",
				    rows[i]);
	}
	json_begin_array(&j, NULL);
	for (int i = 0; i < nr; i++)
		write_row(&j, c, rows[i], write);
	json_end(&j);
	return 0;
}

int answer_contexts(struct call *c, struct error *err)
{
	if (request_text(c->request, "rows"))
		return answer_list(c, sonde_nr_contexts(c->history), context_cells, err);
	return answer_chunk(c, sonde_nr_contexts(c->history), context_cells, err);
}

int answer_threads(struct call *c, struct error *err)
{
	return answer_chunk(c, sonde_nr_threads(c->history), thread_cells, err);
}
