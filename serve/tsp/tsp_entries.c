/* SPDX-License-Identifier: Apache-2.0 */
/* The trees of time graphs: machines, CPUs, containers, threads. */
#include "serve/tsp/tsp_call.h"
#include "report/moment.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define THREADS_MAX 20000 /* in one tree */

/* ---- numbers ------------------------------------------------------------------------------- */

static int64_t nr_rows(const struct sonde_history *history, enum tsp_entry_kind kind)
{
	switch (kind) {
	case TSP_MACHINE:
		return sonde_nr_machines(history);
	case TSP_CPU:
		return sonde_nr_cpus(history);
	case TSP_PID_NS:
		return sonde_nr_pid_ns(history);
	default:
		return sonde_nr_threads(history);
	}
}

int64_t tsp_nr_entries(const struct sonde_history *history)
{
	int64_t nr = 0;

	for (unsigned k = 0; k < TSP_NR_KINDS; k++)
		nr += nr_rows(history, (enum tsp_entry_kind)k);
	return nr;
}

int64_t tsp_entry_id(const struct tsp_part *p, enum tsp_entry_kind kind, int64_t row)
{
	int64_t id = p->first_id + row;

	for (unsigned k = 0; k < kind; k++)
		id += nr_rows(p->history, (enum tsp_entry_kind)k);
	return id;
}

int tsp_entry_find(const struct tsp_view *v, int64_t id, struct tsp_entry *out)
{
	if (id < 0)
		return -ENOENT;
	for (unsigned i = 0; i < v->nr; i++) {
		*out = (struct tsp_entry){.part = &v->parts[i]};
		for (unsigned k = 0; k < TSP_NR_KINDS; k++) {
			int64_t nr = nr_rows(v->parts[i].history, (enum tsp_entry_kind)k);

			if (id < nr) {
				out->kind = (enum tsp_entry_kind)k;
				out->row = id;
				return 0;
			}
			id -= nr;
		}
	}
	return -ENOENT;
}

uint32_t tsp_entry_attr(enum tsp_output_kind output, const struct tsp_entry *e)
{
	if (output == TSP_FUSED && e->kind == TSP_CPU)
		return sonde_attr_of_cpu(e->part->history, e->row, "runs");
	if (output == TSP_VCPUS && e->kind == TSP_CPU)
		return sonde_attr_of_cpu(e->part->history, e->row, "state");
	if (output == TSP_THREADS && e->kind == TSP_THREAD)
		return sonde_attr_of_thread(e->part->history, e->row, "state");
	return SONDE_NO_ATTR;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void begin_entry(struct tsp_call *c, const struct tsp_part *p, enum tsp_entry_kind kind,
			int64_t row, int64_t parent)
{
	json_begin_object(&c->json, NULL);
	json_int(&c->json, "id", tsp_entry_id(p, kind, row));
	json_int(&c->json, "parentId", parent);
	json_begin_array(&c->json, "labels");
}

/* Fills up to the number of headers; begin and end are those of the experiment, which viewers take
 * the first entry's begin for. */
static void end_entry(struct tsp_call *c, unsigned missing, bool has_data)
{
	struct json *j = &c->json;

	while (missing--)
		json_str(j, NULL, "");
	json_end(j);
	json_int(j, "start", c->view.begin);
	json_int(j, "end", c->view.end);
	json_bool(j, "hasData", has_data);
}

void tsp_put_machine(struct tsp_call *c, const struct tsp_part *p, int64_t machine,
		     unsigned nr_labels)
{
	const char *slash = strrchr(p->path, '/');
	struct sonde_machine m;
	char label[300];

	sonde_machine_get(p->history, machine, &m);
	begin_entry(c, p, TSP_MACHINE, machine,
		    m.parent < 0 ? -1 : tsp_entry_id(p, TSP_MACHINE, m.parent));
	if (m.parent < 0 && c->view.nr > 1)
		snprintf(label, sizeof(label), "%s (%s)", m.name, slash ? slash + 1 : p->path);
	else
		snprintf(label, sizeof(label), "%s", m.name);
	json_str(&c->json, NULL, label);
	end_entry(c, nr_labels - 1, false);
	json_end(&c->json);
}

static void put_cpu(struct tsp_call *c, const struct tsp_part *p, int64_t row)
{
	bool fused = c->output.kind == TSP_FUSED;
	struct sonde_cpu cpu;
	char label[160];

	sonde_cpu_get(p->history, row, &cpu);
	begin_entry(c, p, TSP_CPU, row, tsp_entry_id(p, TSP_MACHINE, cpu.machine));
	sonde_cpu_label(p->history, row, label, sizeof(label));
	json_str(&c->json, NULL, label);
	if (!fused) {
		sonde_thread_label(p->history, cpu.host_thread, label, sizeof(label));
		json_str(&c->json, NULL, cpu.host_thread < 0 ? "" : label);
	}
	end_entry(c, 0, true);
	json_end(&c->json);
}

static void put_cpus(struct tsp_call *c, const struct tsp_part *p, unsigned machine)
{
	int number = INT_MIN;
	int64_t row;

	while ((row = sonde_next_cpu(p->history, machine, number)) >= 0) {
		struct tsp_entry e = {p, TSP_CPU, row};
		struct sonde_cpu cpu;

		if (tsp_entry_attr(c->output.kind, &e) != SONDE_NO_ATTR)
			put_cpu(c, p, row);
		if (sonde_cpu_get(p->history, row, &cpu) || cpu.number == INT_MAX)
			break;
		number = cpu.number;
	}
}

/* The container a namespace is, under the one around it. */
static int64_t container_parent(const struct tsp_part *p, int64_t row)
{
	struct sonde_pid_ns ns;

	if (sonde_pid_ns_get(p->history, row, &ns))
		return -1;
	if (ns.level && is_container(p->history, ns.parent))
		return tsp_entry_id(p, TSP_PID_NS, ns.parent);
	return tsp_entry_id(p, TSP_MACHINE, ns.machine);
}

static void put_containers(struct tsp_call *c, const struct tsp_part *p, unsigned nr_labels)
{
	for (int64_t row = 0; row < sonde_nr_pid_ns(p->history); row++) {
		char label[160];

		if (!is_container(p->history, row))
			continue;
		begin_entry(c, p, TSP_PID_NS, row, container_parent(p, row));
		sonde_pid_ns_label(p->history, row, label, sizeof(label));
		json_str(&c->json, NULL, label);
		end_entry(c, nr_labels - 1, false);
		json_end(&c->json);
	}
}

static void put_thread(struct tsp_call *c, const struct tsp_part *p, int64_t row,
		       const struct sonde_thread *t)
{
	struct json *j = &c->json;
	int64_t parent = tsp_entry_id(p, TSP_MACHINE, t->machine);
	char text[32];

	if (is_container(p->history, t->pid_ns))
		parent = tsp_entry_id(p, TSP_PID_NS, t->pid_ns);
	begin_entry(c, p, TSP_THREAD, row, parent);
	json_str(j, NULL, *t->comm ? t->comm : "?");
	snprintf(text, sizeof(text), "%lld", (long long)t->tid);
	json_str(j, NULL, text);
	snprintf(text, sizeof(text), "%lld", (long long)t->pid);
	json_str(j, NULL, t->pid < 0 ? "" : text);
	json_end(j);
	json_int(j, "start", tsp_time(p, t->begin));
	json_int(j, "end", tsp_time(p, t->end < 0 ? p->end : t->end));
	json_bool(j, "hasData", true);
	json_begin_object(j, "metadata");
	json_begin_array(j, "tid");
	json_int(j, NULL, t->tid);
	json_end(j);
	json_begin_array(j, "exec_name");
	json_str(j, NULL, t->comm);
	json_end(j);
	json_end(j);
	json_end(j);
}

/* Those that lived in the window. */
static void put_threads(struct tsp_call *c, const struct tsp_part *p,
			const struct tsp_range *window, unsigned *nr)
{
	for (int64_t row = 0; row < sonde_nr_threads(p->history); row++) {
		struct tsp_entry e = {p, TSP_THREAD, row};
		struct sonde_thread t;

		if (sonde_thread_get(p->history, row, &t) || !t.tid)
			continue;
		if (window && (tsp_time(p, t.begin) >= window->end ||
			       tsp_time(p, t.end < 0 ? p->end : t.end) < window->start))
			continue;
		if (tsp_entry_attr(TSP_THREADS, &e) == SONDE_NO_ATTR)
			continue;
		if ((*nr)++ < THREADS_MAX)
			put_thread(c, p, row, &t);
	}
}

static void put_headers(struct tsp_call *c)
{
	struct json *j = &c->json;

	json_begin_array(j, "headers");
	tsp_put_header(j, "Name", "", "STRING");
	if (c->output.kind == TSP_VCPUS)
		tsp_put_header(j, "Thread", "The thread of its host that is this vCPU", "STRING");
	if (c->output.kind == TSP_THREADS) {
		tsp_put_header(j, "TID", "As its own machine counts", "NUMBER");
		tsp_put_header(j, "PID", "Its process", "NUMBER");
	}
	json_end(j);
}

static void put_part(struct tsp_call *c, const struct tsp_part *p, const struct tsp_range *window,
		     unsigned *nr_threads)
{
	unsigned nr_labels = c->output.kind == TSP_FUSED ? 1 : c->output.kind == TSP_VCPUS ? 2 : 3;

	for (int64_t m = 0; m < sonde_nr_machines(p->history); m++) {
		if (c->output.kind == TSP_FUSED && m)
			break;
		tsp_put_machine(c, p, m, nr_labels);
		if (c->output.kind != TSP_THREADS)
			put_cpus(c, p, (unsigned)m);
	}
	if (c->output.kind != TSP_THREADS)
		return;
	put_containers(c, p, nr_labels);
	put_threads(c, p, window, nr_threads);
}

int tsp_tree(struct tsp_call *c, struct error *err)
{
	struct tsp_range window;
	unsigned nr_threads = 0;
	int ret = tsp_query_range(c->query, &window, err);

	if (c->output.kind > TSP_THREADS)
		return fail(err, -EINVAL, "%s is no time graph", c->output.id);
	if (ret && ret != -ENODATA)
		return ret;
	json_begin_object(&c->json, "model");
	put_headers(c);
	json_begin_array(&c->json, "entries");
	for (unsigned i = 0; i < c->view.nr; i++)
		put_part(c, &c->view.parts[i], ret ? NULL : &window, &nr_threads);
	json_end(&c->json);
	json_int(&c->json, "autoExpandLevel", -1);
	json_end(&c->json);
	if (nr_threads > THREADS_MAX)
		snprintf(c->message, sizeof(c->message), "%d of %u threads", THREADS_MAX,
			 nr_threads);
	return 0;
}
