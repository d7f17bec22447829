/* SPDX-License-Identifier: Apache-2.0 */
#include "report/picture.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void name_group(const struct picture *p, struct picture_row *row)
{
	static const char *const what[] = {
		[ROW_CPU] = ": what really ran",
		[ROW_MACHINE] = "'s share of the CPUs",
		[ROW_VCPU] = "'s vCPUs, as its host sees them",
	};
	struct sonde_machine m;

	sonde_machine_get(p->history, row->machine < 0 ? 0 : row->machine, &m);
	snprintf(row->group, sizeof(row->group), "%.48s%s", m.name, what[row->kind]);
}

static void add_row(struct picture *p, enum row_kind kind, int64_t cpu, int64_t machine)
{
	struct picture_row *row = &p->rows[p->nr_rows++];
	struct sonde_cpu c;

	sonde_cpu_get(p->history, cpu, &c);
	*row = (struct picture_row){.kind = kind, .cpu = cpu, .machine = machine};
	snprintf(row->label, sizeof(row->label), "%s %d", kind == ROW_VCPU ? "vcpu" : "cpu",
		 c.number);
	name_group(p, row);
}

/* A row for each CPU of @of, in the order of their numbers. */
static void list_cpus(struct picture *p, enum row_kind kind, unsigned of, int64_t machine)
{
	int number = INT_MIN;
	int64_t row;

	while ((row = sonde_next_cpu(p->history, of, number)) >= 0) {
		struct sonde_cpu cpu;

		if (kind != ROW_VCPU ||
		    sonde_attr_of_cpu(p->history, row, "state") != SONDE_NO_ATTR)
			add_row(p, kind, row, machine);
		sonde_cpu_get(p->history, row, &cpu);
		number = cpu.number;
	}
}

static void list_rows(struct picture *p, unsigned which)
{
	int64_t machines = sonde_nr_machines(p->history);

	if (which & PICTURE_CPUS)
		list_cpus(p, ROW_CPU, 0, -1);
	for (int64_t m = 0; m < machines && which & PICTURE_MACHINES; m++)
		list_cpus(p, ROW_MACHINE, 0, m);
	for (int64_t m = 1; m < machines && which & PICTURE_VCPUS; m++)
		list_cpus(p, ROW_VCPU, (unsigned)m, m);
	for (unsigned i = 0; i < p->nr_rows; i++)
		p->rows[i].first = !i || strcmp(p->rows[i].group, p->rows[i - 1].group);
}

static void take_pixels(unsigned index, const struct sonde_pixels *runs, unsigned nr, void *data)
{
	struct picture *p = data;
	uint32_t *cells = p->cells + (size_t)index * p->width;
	uint8_t *shares = p->shares + (size_t)index * p->width;

	for (unsigned i = 0; i < nr; i++) {
		for (uint32_t x = runs[i].first; x < runs[i].first + runs[i].nr && x < p->width;
		     x++) {
			cells[x] = runs[i].value;
			shares[x] = runs[i].share;
		}
	}
}

/* Each attribute is asked for once, in one query, however many rows show it. */
static int query(struct picture *p, struct error *err)
{
	int64_t nr_cpus = sonde_nr_cpus(p->history);
	uint32_t *attrs = calloc((size_t)nr_cpus + 1, sizeof(*attrs));
	unsigned nr = 0;
	int ret = 0;

	p->cells = calloc(((size_t)nr_cpus + 1) * p->width, sizeof(*p->cells));
	p->shares = calloc(((size_t)nr_cpus + 1) * p->width, sizeof(*p->shares));
	if (!attrs || !p->cells || !p->shares) {
		ret = fail(err, -ENOMEM, "out of memory for a picture of %u pixels", p->width);
		goto out;
	}
	for (int64_t c = 0; c < nr_cpus; c++) {
		struct sonde_cpu cpu;
		uint32_t attr;

		sonde_cpu_get(p->history, c, &cpu);
		attr = sonde_attr_of_cpu(p->history, c, cpu.machine ? "state" : "runs");
		if (attr == SONDE_NO_ATTR)
			continue;
		for (unsigned i = 0; i < p->nr_rows; i++) {
			if (p->rows[i].cpu == c) {
				p->rows[i].cells = p->cells + (size_t)nr * p->width;
				p->rows[i].shares = p->shares + (size_t)nr * p->width;
			}
		}
		attrs[nr++] = attr;
	}
	ret = sonde_pixels_walk(p->history, attrs, nr, p->begin, p->end, p->width, take_pixels, p);
	if (ret)
		fail(err, ret, "cannot read the history: %s", error_reason(ret));
out:
	free(attrs);
	return ret;
}

int picture_init(struct picture *p, struct sonde_history *history, int64_t begin, int64_t end,
		 unsigned width, unsigned which, struct error *err)
{
	size_t rows_max =
		((size_t)sonde_nr_machines(history) + 2) * ((size_t)sonde_nr_cpus(history) + 1);
	int ret;

	*p = (struct picture){.history = history, .begin = begin, .end = end, .width = width};
	p->rows = calloc(rows_max, sizeof(*p->rows));
	if (!p->rows)
		return fail(err, -ENOMEM, "out of memory");
	list_rows(p, which);
	ret = query(p, err);
	if (ret)
		picture_release(p);
	return ret;
}

void picture_keep(struct picture *p, struct filter *filter)
{
	for (unsigned i = 0; i < p->nr_rows; i++) {
		const struct picture_row *r = &p->rows[i];

		for (unsigned x = 0; r->cells && x < p->width; x++) {
			uint32_t value = r->cells[x];
			bool kept = r->kind == ROW_VCPU
					    ? filter_vcpu_state(filter, r->cpu, value)
					    : filter_context(filter, (int64_t)value - 1);

			if (value && !kept)
				r->cells[x] = 0;
		}
	}
}

void picture_release(struct picture *p)
{
	free(p->rows);
	free(p->cells);
	free(p->shares);
	memset(p, 0, sizeof(*p));
}

uint32_t picture_cell(const struct picture *p, unsigned row, unsigned pixel)
{
	const struct picture_row *r = &p->rows[row];
	uint32_t value = r->cells ? r->cells[pixel] : 0;
	struct sonde_context c;

	if (r->kind != ROW_MACHINE)
		return value;
	/* Time of which nothing is known belongs to the physical machine. */
	if (sonde_context_get(p->history, (int64_t)value - 1, &c))
		return r->machine == 0 ? value : 0;
	return c.machine == r->machine ? value : 0;
}

int64_t picture_time(const struct picture *p, unsigned pixel)
{
	return p->begin + (int64_t)((__int128)(p->end - p->begin) * pixel / p->width);
}

int64_t picture_step(const struct picture *p, unsigned min_pixels)
{
	int64_t least = (int64_t)((__int128)(p->end - p->begin) * min_pixels / p->width);
	int64_t power = 1;

	while (power * 5 < least && power < INT64_MAX / 100)
		power *= 10;
	if (power >= least)
		return power;
	return power * 2 >= least ? power * 2 : power * 5 >= least ? power * 5 : power * 10;
}
