/* SPDX-License-Identifier: Apache-2.0 */
/* Charts over time: how much of the CPUs each machine used, how often vCPUs left their guests. */
#include "report/buckets.h"
#include "query/counts.h"
#include "serve/tsp/tsp_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *title, *label, *unit;
	const char *cycles_unit; /* where the rate of the history's counter is not known */
} charts[] = {
	[TSP_CPU_USE] = {"CPU use by machine", "CPU use", "%", "%"},
	[TSP_EXIT_RATE] = {"VM exits", "exits", "1/s", "per 10^9 cycles"},
};

static int check_output(const struct tsp_call *c, struct error *err)
{
	if (c->output.kind == TSP_CPU_USE || c->output.kind == TSP_EXIT_RATE)
		return 0;
	return fail(err, -EINVAL, "%s is no chart", c->output.id);
}

/* ---- the tree ------------------------------------------------------------------------------ */

/* The entry of a series, or a heading above some. */
static void put_entry(struct tsp_call *c, int64_t id, int64_t parent, const char *label,
		      bool series)
{
	struct json *j = &c->json;

	json_begin_object(j, NULL);
	json_int(j, "id", id);
	json_int(j, "parentId", parent);
	json_begin_array(j, "labels");
	json_str(j, NULL, label);
	json_end(j);
	json_bool(j, "hasData", series);
	json_bool(j, "isDefault", series);
	json_end(j);
}

static void put_part_tree(struct tsp_call *c, const struct tsp_part *p)
{
	bool use = c->output.kind == TSP_CPU_USE;

	for (int64_t m = 0; m < sonde_nr_machines(p->history); m++) {
		struct sonde_machine machine;

		sonde_machine_get(p->history, m, &machine);
		put_entry(c, tsp_entry_id(p, TSP_MACHINE, m),
			  machine.parent < 0 ? -1 : tsp_entry_id(p, TSP_MACHINE, machine.parent),
			  machine.name, use);
	}
	for (int64_t row = 0; !use && row < sonde_nr_cpus(p->history); row++) {
		struct sonde_cpu cpu;
		char label[160];

		if (sonde_attr_of_cpu(p->history, row, "exit") == SONDE_NO_ATTR)
			continue;
		sonde_cpu_get(p->history, row, &cpu);
		sonde_cpu_label(p->history, row, label, sizeof(label));
		put_entry(c, tsp_entry_id(p, TSP_CPU, row),
			  tsp_entry_id(p, TSP_MACHINE, cpu.machine), label, true);
	}
}

int tsp_xy_tree(struct tsp_call *c, struct error *err)
{
	int ret = check_output(c, err);

	if (ret)
		return ret;
	json_begin_object(&c->json, "model");
	json_begin_array(&c->json, "headers");
	tsp_put_header(&c->json, "Name", "", "STRING");
	json_end(&c->json);
	json_begin_array(&c->json, "entries");
	for (unsigned i = 0; i < c->view.nr; i++)
		put_part_tree(c, &c->view.parts[i]);
	json_end(&c->json);
	json_int(&c->json, "autoExpandLevel", -1);
	json_end(&c->json);
	return 0;
}

/* ---- series -------------------------------------------------------------------------------- */

struct chart {
	struct tsp_call *call;
	int64_t begin, end; /* of the window, in the experiment's time */
	unsigned nr;	    /* buckets */
	const int64_t *items;
	int nr_items;
};

static void put_axis(struct json *j, const char *key, const char *label, const char *unit,
		     const char *type)
{
	json_begin_object(j, key);
	json_str(j, "label", label);
	json_str(j, "unit", unit);
	json_str(j, "dataType", type);
	json_end(j);
}

/* The value of a bucket belongs to the time where it begins. */
static void put_series(const struct chart *x, const struct tsp_part *p, int64_t id,
		       const char *name, const double *values)
{
	bool is_ns = sonde_history_ticks_are_ns(p->history);
	struct json *j = &x->call->json;
	enum tsp_output_kind kind = x->call->output.kind;

	json_begin_object(j, NULL);
	json_int(j, "seriesId", id);
	json_str(j, "seriesName", name);
	json_begin_array(j, "xValues");
	for (unsigned b = 0; b < x->nr; b++)
		json_int(j, NULL, bucket_begin(x->begin, x->end, x->nr, b));
	json_end(j);
	json_begin_array(j, "yValues");
	for (unsigned b = 0; b < x->nr; b++)
		json_rounded(j, NULL, values[b]);
	json_end(j);
	put_axis(j, "xValuesDescription", "time", is_ns ? "ns" : "cycles", "TIMESTAMP");
	put_axis(j, "yValuesDescription", charts[kind].label,
		 is_ns ? charts[kind].unit : charts[kind].cycles_unit, "NUMBER");
	json_begin_object(j, "style");
	json_begin_object(j, "values");
	json_str(j, "series-type", "line");
	json_str(j, "series-style", "solid");
	json_end(j);
	json_end(j);
	json_end(j);
}

/* Names of series are told apart by them, so they say of which run when there are several. */
static void series_name(const struct chart *x, const struct tsp_part *p, const char *label,
			char *buf, size_t room)
{
	const char *slash = strrchr(p->path, '/');

	if (x->call->view.nr > 1)
		snprintf(buf, room, "%s/%s", slash ? slash + 1 : p->path, label);
	else
		snprintf(buf, room, "%s", label);
}

static bool uses_cpu(unsigned mode)
{
	return mode != SONDE_MODE_IDLE && mode != SONDE_MODE_UNKNOWN;
}

static void put_machine_use(const struct chart *x, const struct tsp_part *p, const struct load *l,
			    unsigned machine, double *values)
{
	struct sonde_machine m;
	char name[300];

	memset(values, 0, x->nr * sizeof(*values));
	for (unsigned mode = 0; mode < QUERY_NR_MODES; mode++) {
		for (unsigned b = 0; uses_cpu(mode) && b < x->nr; b++) {
			int64_t length = bucket_begin(x->begin, x->end, x->nr, b + 1) -
					 bucket_begin(x->begin, x->end, x->nr, b);

			if (length > 0)
				values[b] += 100.0 * (double)load_cells(l, machine, mode)[b] /
					     (double)length;
		}
	}
	sonde_machine_get(p->history, machine, &m);
	series_name(x, p, m.name, name, sizeof(name));
	put_series(x, p, tsp_entry_id(p, TSP_MACHINE, machine), name, values);
}

static int put_use(const struct chart *x, const struct tsp_part *p, double *values)
{
	struct load l;
	int ret = load_init(&l, p->history, x->begin - p->offset, x->end - p->offset, x->nr);

	for (int64_t m = 0; !ret && m < l.nr_machines; m++) {
		if (tsp_wants(x->items, x->nr_items, tsp_entry_id(p, TSP_MACHINE, m)))
			put_machine_use(x, p, &l, (unsigned)m, values);
	}
	load_release(&l);
	return ret;
}

static void put_vcpu_exits(const struct chart *x, const struct tsp_part *p,
			   const struct exit_counts *counts, int64_t row, double *values)
{
	char label[160], name[300];

	for (unsigned b = 0; b < x->nr; b++) {
		int64_t length = bucket_begin(x->begin, x->end, x->nr, b + 1) -
				 bucket_begin(x->begin, x->end, x->nr, b);

		values[b] = length > 0 ? counts->counts[b] * 1e9 / (double)length : 0;
	}
	sonde_cpu_label(p->history, row, label, sizeof(label));
	series_name(x, p, label, name, sizeof(name));
	put_series(x, p, tsp_entry_id(p, TSP_CPU, row), name, values);
}

static int put_exits(const struct chart *x, const struct tsp_part *p, double *values)
{
	struct exit_counts counts;
	int ret = exit_counts_init(&counts, x->begin - p->offset, x->end - p->offset, x->nr);

	for (int64_t row = 0; !ret && row < sonde_nr_cpus(p->history); row++) {
		if (!tsp_wants(x->items, x->nr_items, tsp_entry_id(p, TSP_CPU, row)))
			continue;
		ret = exit_counts_of(&counts, p->history, row);
		if (!ret)
			put_vcpu_exits(x, p, &counts, row, values);
		ret = ret == -ENOENT ? 0 : ret;
		if (counts.about)
			snprintf(
				x->call->message, sizeof(x->call->message),
				"there are so many exits in this window that rates are estimated: zoom in");
	}
	exit_counts_release(&counts);
	return ret;
}

static int put_all_series(const struct chart *x, double *values)
{
	const struct tsp_view *v = &x->call->view;
	int64_t begin, end;
	int ret = 0;

	for (unsigned i = 0; i < v->nr && !ret; i++) {
		if (!tsp_clip(&v->parts[i], x->begin, x->end, &begin, &end))
			continue;
		ret = x->call->output.kind == TSP_CPU_USE ? put_use(x, &v->parts[i], values)
							  : put_exits(x, &v->parts[i], values);
	}
	return ret;
}

/* What sticks out of the experiment has nothing in it, and would only make the numbers large. */
static void set_window(struct chart *x, const struct tsp_range *range)
{
	const struct tsp_view *v = &x->call->view;

	x->begin = range->start < v->begin ? v->begin : range->start;
	x->end = range->end > v->end ? v->end : range->end;
	x->nr = range->nr > BUCKETS_MAX ? BUCKETS_MAX : range->nr;
	if (x->begin >= x->end)
		x->nr = 0;
	else if (x->end - x->begin < x->nr)
		x->nr = (unsigned)(x->end - x->begin);
}

int tsp_xy(struct tsp_call *c, struct error *err)
{
	struct chart x = {.call = c};
	double values[BUCKETS_MAX];
	struct tsp_range range;
	int64_t *items = NULL;
	int ret = check_output(c, err);

	if (!ret)
		ret = tsp_get_range(c, &range, err);
	if (!ret)
		ret = tsp_get_items(c, &items, &x.nr_items, err);
	if (ret)
		return ret;
	set_window(&x, &range);
	x.items = items;
	json_begin_object(&c->json, "model");
	json_str(&c->json, "title", charts[c->output.kind].title);
	json_begin_array(&c->json, "series");
	if (x.nr)
		ret = put_all_series(&x, values);
	json_end(&c->json);
	json_end(&c->json);
	free(items);
	return ret ? fail(err, ret, "cannot read the history: %s", error_reason(ret)) : 0;
}
