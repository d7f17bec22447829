/* SPDX-License-Identifier: Apache-2.0 */
/* What is drawn as values over time: how much CPU each machine uses, how often vCPUs exit, and how
 * wrong the clocks may be.  Use and exits are summed up in BUCKETS stretches of the window. */
#include "export/draw.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS 1000

struct values {
	ns_t begin, length;
	unsigned nr_buckets;
	int64_t *use_ns; /* owned: [machine][bucket] */
	uint64_t *exits; /* owned: the same */
};

struct row {
	struct draw *draw;
	int64_t machine;
	bool inside; /* of an exit */
	ns_t end;    /* of the interval before */
};

static ns_t bucket_begin(const struct values *v, unsigned bucket)
{
	return v->begin + (ns_t)((__int128)v->length * bucket / v->nr_buckets);
}

static unsigned bucket_of(const struct values *v, ns_t t)
{
	unsigned b = (unsigned)((__int128)(t - v->begin) * v->nr_buckets / v->length);

	while (b && bucket_begin(v, b) > t)
		b--;
	while (b + 1 < v->nr_buckets && bucket_begin(v, b + 1) <= t)
		b++;
	return b;
}

int values_new(struct draw *d)
{
	size_t nr = (size_t)sonde_nr_machines(d->history);
	struct values *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	d->values = v;
	v->begin = d->options->begin;
	v->length = d->options->end - d->options->begin;
	v->nr_buckets = v->length < BUCKETS ? (unsigned)v->length : BUCKETS;
	v->use_ns = calloc(nr * v->nr_buckets, sizeof(*v->use_ns));
	v->exits = calloc(nr * v->nr_buckets, sizeof(*v->exits));
	return v->use_ns && v->exits ? 0 : -ENOMEM;
}

void values_free(struct draw *d)
{
	if (!d->values)
		return;
	free(d->values->use_ns);
	free(d->values->exits);
	free(d->values);
	d->values = NULL;
}

void values_add_use(struct draw *d, unsigned machine, const struct sonde_interval *i)
{
	struct values *v = d->values;
	ns_t from = i->begin, to;

	if (machine >= sonde_nr_machines(d->history))
		return;
	for (unsigned b = bucket_of(v, from); from < i->end; b++, from = to) {
		to = b + 1 < v->nr_buckets ? bucket_begin(v, b + 1) : i->end;
		if (to > i->end)
			to = i->end;
		v->use_ns[(size_t)machine * v->nr_buckets + b] += to - from;
	}
}

/* What is learned of an exit on its way makes it go on as another one: it counts once.  Whatever
 * was between two pieces was not left: each begins where the one before ended. */
static bool each_exit(const struct sonde_interval *i, void *data)
{
	struct row *row = data;
	struct values *v = row->draw->values;

	if (i->value && !row->inside && i->begin > v->begin)
		v->exits[(size_t)row->machine * v->nr_buckets + bucket_of(v, i->begin)]++;
	row->inside = i->value != 0;
	return true;
}

static bool was_inside(struct draw *d, attr_t attr, const struct piece *p)
{
	struct sonde_interval i;

	return !p->first && !sonde_interval_at(d->history, attr, p->begin - 1, &i) && i.value;
}

static bool each_bound(const struct sonde_interval *i, void *data)
{
	const struct row *row = data;

	/* No limit is no value. */
	if (i->value != UINT32_MAX)
		row->draw->canvas->ops->value(row->draw->canvas, track_id(DRAW_BOUND, row->machine),
					      i->begin, i->value);
	return true;
}

static int draw_bounds(struct draw *d, const struct piece *p)
{
	int ret = 0;

	for (int64_t machine = 1; machine < sonde_nr_machines(d->history) && !ret; machine++) {
		struct row row = {.draw = d, .machine = machine};
		struct sonde_machine m;
		attr_t attr;

		if (!rows_has_machine(&d->rows, machine) ||
		    sonde_machine_get(d->history, machine, &m) || !m.traced)
			continue;
		attr = history_child(d->history->file, ATTR_ROOT, m.name);
		if (attr != ATTR_NONE)
			attr = history_child(d->history->file, attr, "clock_bound");
		ret = rows_walk(&d->rows, p, attr, each_bound, &row);
	}
	return ret;
}

int values_piece(struct draw *d, const struct piece *p)
{
	int ret = 0;

	for (int64_t cpu = 0; cpu < sonde_nr_cpus(d->history) && !ret; cpu++) {
		attr_t attr = d->history->cpu_attrs[cpu][CPU_EXIT];
		struct sonde_cpu c;

		sonde_cpu_get(d->history, cpu, &c);
		if (attr != ATTR_NONE && rows_has_machine(&d->rows, c.machine)) {
			struct row row = {
				.draw = d, .machine = c.machine, .inside = was_inside(d, attr, p)};

			ret = rows_walk(&d->rows, p, attr, each_exit, &row);
		}
	}
	return ret ? ret : draw_bounds(d, p);
}

static void draw_machine(struct draw *d, int64_t machine)
{
	const struct values *v = d->values;

	for (unsigned b = 0; b < v->nr_buckets; b++) {
		ns_t t = bucket_begin(v, b), end = bucket_begin(v, b + 1);
		size_t at = (size_t)machine * v->nr_buckets + b;
		double length = (double)(end - t);

		d->canvas->ops->value(d->canvas, track_id(DRAW_USE, machine), t,
				      100.0 * (double)v->use_ns[at] / length);
		if (machine)
			d->canvas->ops->value(d->canvas, track_id(DRAW_EXITS, machine), t,
					      (double)v->exits[at] * 1e9 / length);
	}
}

void values_draw(struct draw *d)
{
	for (int64_t machine = 0; machine < sonde_nr_machines(d->history); machine++) {
		if (rows_has_machine(&d->rows, machine))
			draw_machine(d, machine);
	}
}
