/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/inputs_graft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/fit/compose.h"
#include "source/span.h"
#include "source/ticks.h"

/* From the tree's times to the run's: out = (t - from) * scale + to. */
struct shift {
	ns_t from, to;
	double scale; /* 1 but where one counts ns and the other cycles of unknown rate */
	const char *by;
};

static ns_t first_time(const struct machine *m)
{
	uint64_t first = trace_first_begin(m->trace);

	return first == UINT64_MAX ? 0 : clock_to_l0(&m->clock, (ticks_t){first});
}

static ns_t first_of_all(const struct topology *t)
{
	ns_t first = first_time(&t->machines[0]);

	for (unsigned i = 1; i < t->nr_machines; i++) {
		ns_t one = first_time(&t->machines[i]);

		first = one < first ? one : first;
	}
	return first;
}

/* Units of the topology's time in a microsecond, as far as is known. */
static double units_per_us(const struct topology *t)
{
	return t->ticks_are_ns ? 1000 : ticks_per_us(t->machines[0].trace);
}

static struct shift find_shift(const struct topology *t, const struct topology *tree)
{
	struct shift s = {.scale = units_per_us(t) / units_per_us(tree)};

	if (t->ticks_are_ns && tree->ticks_are_ns && t->wall_known && tree->wall_known) {
		s.to = clamp_ns((__int128)tree->wall_offset_ns - t->wall_offset_ns);
		s.by = "by the wall clocks";
	} else {
		s.from = first_of_all(tree);
		s.to = first_of_all(t);
		s.by = "as if it began at the same time";
	}
	return s;
}

static ns_t shifted(const struct shift *s, ns_t t)
{
	__int128 d = (__int128)t - s->from;

	if (s->scale != 1)
		d = (__int128)((double)d * s->scale);
	return clamp_ns(d + s->to);
}

static int shift_clock(struct clock_model *c, const struct shift *s, bool is_root)
{
	if (!c->nr_pieces) { /* ticks are times */
		c->pieces = calloc(1, sizeof(*c->pieces));
		if (!c->pieces)
			return -ENOMEM;
		c->pieces[0].mult = UINT64_C(1) << CLOCK_SHIFT;
		c->nr_pieces = 1;
	}
	for (unsigned i = 0; i < c->nr_pieces; i++) {
		struct clock_piece *p = &c->pieces[i];
		double mult = (double)p->mult * s->scale;

		p->at_ns = shifted(s, p->at_ns);
		if (s->scale != 1)
			p->mult = mult < (double)INT64_MAX ? (uint64_t)mult : INT64_MAX;
		p->bound_ns = CLOCK_NO_BOUND;
	}
	if (is_root)
		c->method = CLOCK_METHOD_NONE;
	return 0;
}

static int graft_machine(struct topology *t, struct machine *m, const struct shift *s)
{
	struct machine *out = &t->machines[t->nr_machines];
	bool is_root = m->parent < 0;

	if (s && shift_clock(&m->clock, s, is_root))
		return -ENOMEM;
	if (s && is_root)
		snprintf(m->evidence, sizeof(m->evidence),
			 "nothing relates it to %.60s; its times are placed %s",
			 t->machines[0].name, s->by);
	*out = *m;
	memset(m, 0, sizeof(*m));
	t->nr_machines++;
	return 0;
}

/* The VM without a trace that is called so; if there is none, where it will be. */
static unsigned find_between(const struct topology *t, const char *name)
{
	unsigned i = 0;

	while (i < t->nr_machines &&
	       (t->machines[i].trace || !*name || strcmp(t->machines[i].name, name)))
		i++;
	return i;
}

/* The VM in L0 in which it runs, of which there is nothing else. */
static void add_between(struct topology *t, struct machine *m, const char *name)
{
	unsigned at = find_between(t, name);
	struct machine *out = &t->machines[at];

	m->parent = (int)at;
	m->level = 2;
	if (at < t->nr_machines)
		return;
	t->nr_machines++;
	*out = (struct machine){.parent = 0, .level = 1};
	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->evidence, sizeof(out->evidence),
		 "%.60s is active only while %.60s runs a guest of this VM", m->name,
		 t->machines[0].name);
}

/* By what L0 saw of it. */
static int place_between(const struct topology *t, struct machine *m,
			 const struct clock_model *to_l0, struct error *err)
{
	uint64_t last = to_l0->pieces[to_l0->nr_pieces - 1].from;
	struct clock_model clock;
	int ret = clock_compose(&clock, to_l0, &t->machines[0].clock, last, err);

	if (ret)
		return ret;
	clock_model_release(&m->clock);
	m->clock = clock;
	snprintf(m->evidence, sizeof(m->evidence),
		 "it is active only while %.60s runs a guest of a VM that has no trace",
		 t->machines[0].name);
	return 0;
}

int inputs_graft(struct topology *t, struct topology *tree, struct clock_model *to_l0,
		 const char *host, struct error *err)
{
	bool between = to_l0->nr_pieces && tree->nr_machines == 1;
	const struct shift s = find_shift(t, tree);
	unsigned at = t->nr_machines;
	struct machine *more =
		reallocarray(t->machines, at + tree->nr_machines + 1, sizeof(*t->machines));

	if (!more)
		return fail(err, -ENOMEM, "out of memory");
	t->machines = more;
	for (unsigned i = 0; i < tree->nr_machines; i++) {
		if (tree->machines[i].parent >= 0)
			tree->machines[i].parent += (int)at;
		if (between && place_between(t, &tree->machines[i], to_l0, err))
			return -ENOMEM;
		if (between && host)
			add_between(t, &tree->machines[i], host);
		if (graft_machine(t, &tree->machines[i], between ? NULL : &s))
			return fail(err, -ENOMEM, "out of memory");
	}
	clock_model_release(to_l0);
	for (unsigned i = 0; i < tree->problems.nr; i++)
		(tree->problems.list[i].note ? problems_note : problems_add)(
			&t->problems, "%s", tree->problems.list[i].text);
	return 0;
}
