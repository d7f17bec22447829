/* SPDX-License-Identifier: Apache-2.0 */
/* What really runs on each physical CPU, as slices within slices: L0's thread, in it the guest's
 * that runs in that vCPU, and so on, innermost what that one does.  A layer that stays goes on as
 * one slice while what is in it changes. */
#include "export/draw.h"
#include "report/moment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS_MAX (SONDE_LAYERS_MAX + 1)

enum layer_kind { LAYER_THREAD = 1, LAYER_VCPU, LAYER_DOES };

/* Compared as a whole. */
struct layer {
	int64_t kind;
	int64_t row; /* of the thread, of the CPU, of the machine for LAYER_DOES */
	int64_t mode, detail, vmm;
};

struct cpu_stack {
	struct layer layers[LAYERS_MAX];
	unsigned nr;
};

struct row {
	struct draw *draw;
	int64_t cpu;
};

/* ---- layers -------------------------------------------------------------------------------- */

/* The vCPUs around a context, from the innermost outwards; a row is -1 where that is unknown. */
static unsigned vcpus_around(const struct draw *d, const struct sonde_context *c, ns_t t,
			     int64_t vcpus[SONDE_LAYERS_MAX])
{
	int64_t machine = c->machine;
	int number = c->cpu;
	unsigned nr = 0;

	while (machine > 0 && nr < SONDE_LAYERS_MAX - 1) {
		int64_t row = sonde_find_cpu(d->history, (unsigned)machine, number);
		struct sonde_machine m;

		vcpus[nr++] = row;
		if (row < 0 || sonde_machine_get(d->history, machine, &m) || m.parent <= 0)
			break;
		number = cpu_users_parent_cpu(d->users, row, t);
		machine = m.parent;
	}
	return nr;
}

static unsigned add_thread(const struct draw *d, int64_t thread, struct layer *layers, unsigned nr)
{
	struct sonde_thread t;

	if (sonde_thread_get(d->history, thread, &t) || !t.tid)
		return nr;
	layers[nr] = (struct layer){.kind = LAYER_THREAD, .row = thread};
	return nr + 1;
}

static unsigned add_vcpu(const struct draw *d, int64_t row, struct layer *layers, unsigned nr)
{
	struct sonde_cpu cpu;

	if (sonde_cpu_get(d->history, row, &cpu))
		return nr;
	if (cpu.host_thread >= 0)
		return add_thread(d, cpu.host_thread, layers, nr);
	layers[nr] = (struct layer){.kind = LAYER_VCPU, .row = row};
	return nr + 1;
}

static unsigned layers_of(const struct draw *d, const struct sonde_interval *i,
			  struct layer layers[LAYERS_MAX])
{
	int64_t vcpus[SONDE_LAYERS_MAX];
	struct sonde_context c = {.detail = -1, .vmm = -1};
	unsigned nr = 0, around = 0;

	if (i->value && !sonde_context_get(d->history, (int64_t)i->value - 1, &c))
		around = vcpus_around(d, &c, i->begin, vcpus);
	while (around)
		nr = add_vcpu(d, vcpus[--around], layers, nr);
	if (i->value && c.mode != SONDE_MODE_IDLE && c.mode != SONDE_MODE_UNKNOWN)
		nr = add_thread(d, c.thread, layers, nr);
	layers[nr] = (struct layer){LAYER_DOES, c.machine, c.mode, c.detail, c.vmm};
	return nr + 1;
}

/* ---- slices -------------------------------------------------------------------------------- */

static void begin_thread(struct draw *d, uint64_t track, ns_t t, int64_t thread)
{
	struct note note = {.key = "container"};
	char name[LABEL_MAX], container[120];
	struct sonde_thread th;
	struct sign s = {.name = name, .notes = &note};

	draw_thread_label(d, thread, name);
	sonde_thread_get(d->history, thread, &th);
	s.category = draw_machine_name(d, th.machine);
	container_text(d->history, thread, container, sizeof(container));
	if (*container) {
		note.text = container;
		s.nr_notes = 1;
	}
	d->canvas->ops->begin(d->canvas, track, t, &s);
}

static void begin_layer(struct draw *d, uint64_t track, ns_t t, const struct layer *l,
			const struct sonde_interval *i)
{
	char name[LABEL_MAX] = "unknown";
	struct sign s = {.name = name, .category = "unknown"};
	struct sonde_context c;

	if (l->kind == LAYER_THREAD) {
		begin_thread(d, track, t, l->row);
		return;
	}
	if (l->kind == LAYER_VCPU) {
		sonde_cpu_label(d->history, l->row, name, sizeof(name));
		s.category = "vCPU";
	} else if (i->value && !sonde_context_get(d->history, (int64_t)i->value - 1, &c)) {
		context_mode_label(&c, name, sizeof(name));
		s.category = sonde_mode_name(c.mode);
	}
	d->canvas->ops->begin(d->canvas, track, t, &s);
}

static void change_layers(struct draw *d, int64_t cpu, const struct sonde_interval *i)
{
	struct cpu_stack *stack = &d->stacks[cpu];
	uint64_t track = track_id(DRAW_CPU, cpu);
	struct layer layers[LAYERS_MAX];
	unsigned nr = layers_of(d, i, layers), same = 0;

	while (same < nr && same < stack->nr &&
	       !memcmp(&layers[same], &stack->layers[same], sizeof(layers[same])))
		same++;
	for (; stack->nr > same; stack->nr--)
		d->canvas->ops->end(d->canvas, track, i->begin);
	for (; stack->nr < nr; stack->nr++) {
		stack->layers[stack->nr] = layers[stack->nr];
		begin_layer(d, track, i->begin, &layers[stack->nr], i);
	}
}

static bool each_run(const struct sonde_interval *i, void *data)
{
	const struct row *row = data;
	struct draw *d = row->draw;
	struct sonde_context c;

	if (rows_has_cpu(&d->rows, row->cpu))
		change_layers(d, row->cpu, i);
	if (d->values && i->value && !sonde_context_get(d->history, (int64_t)i->value - 1, &c) &&
	    c.mode != SONDE_MODE_IDLE && c.mode != SONDE_MODE_UNKNOWN)
		values_add_use(d, c.machine, i);
	return true;
}

int draw_cpus_begin(struct draw *d)
{
	d->stacks = calloc((size_t)sonde_nr_cpus(d->history) + 1, sizeof(*d->stacks));
	return d->stacks ? 0 : -ENOMEM;
}

int draw_cpus(struct draw *d, const struct piece *p)
{
	int ret = 0;

	for (int64_t cpu = 0; cpu < sonde_nr_cpus(d->history) && !ret; cpu++) {
		struct row row = {d, cpu};

		if (rows_has_cpu(&d->rows, cpu) || d->values)
			ret = rows_walk(&d->rows, p, d->history->cpu_attrs[cpu][CPU_RUNS], each_run,
					&row);
	}
	return ret;
}

void draw_cpus_end(struct draw *d)
{
	for (int64_t cpu = 0; cpu < sonde_nr_cpus(d->history); cpu++) {
		for (; d->stacks[cpu].nr; d->stacks[cpu].nr--)
			d->canvas->ops->end(d->canvas, track_id(DRAW_CPU, cpu), d->options->end);
	}
}
