/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/compare/match_machines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct sonde_history *history, int64_t row)
{
	struct sonde_machine m;

	return sonde_machine_get(history, row, &m) ? "" : m.name;
}

static int64_t parent_of(const struct sonde_history *history, int64_t row)
{
	struct sonde_machine m;

	return sonde_machine_get(history, row, &m) ? -1 : m.parent;
}

static void put(struct match *m, int64_t before, int64_t after, enum match_by by)
{
	m->to_before[after] = before;
	m->to_after[before] = after;
	m->by[after] = by;
}

static int put_told(struct match *m, const struct match_pair *pairs, unsigned nr, struct error *err)
{
	for (unsigned i = 0; i < nr; i++) {
		int64_t before = sonde_find_machine(m->before, pairs[i].before);
		int64_t after = sonde_find_machine(m->after, pairs[i].after);

		if (before < 0 || after < 0)
			return fail(err, -ENOENT, "the %s run has no machine \"%s\"",
				    before < 0 ? "first" : "second",
				    before < 0 ? pairs[i].before : pairs[i].after);
		if (m->to_after[before] == after) /* said twice */
			continue;
		if (m->to_after[before] >= 0 || m->to_before[after] >= 0)
			return fail(err, -ENOENT, "\"%s\" and \"%s\": one has a match already",
				    pairs[i].before, pairs[i].after);
		put(m, before, after, MATCH_TOLD);
	}
	return 0;
}

/* The outermost are each other's by their place, unless a name tells that one was a VM in the other
 * history, as where a host's trace is missing. */
static void put_outermost(struct match *m)
{
	if (sonde_nr_machines(m->before) && sonde_nr_machines(m->after) && m->to_before[0] < 0 &&
	    m->to_after[0] < 0 && sonde_find_machine(m->before, name_of(m->after, 0)) <= 0 &&
	    sonde_find_machine(m->after, name_of(m->before, 0)) <= 0)
		put(m, 0, 0, MATCH_OUTERMOST);
}

static void put_named(struct match *m)
{
	for (int64_t row = 0; row < sonde_nr_machines(m->after); row++) {
		int64_t before = sonde_find_machine(m->before, name_of(m->after, row));

		if (before >= 0 && m->to_before[row] < 0 && m->to_after[before] < 0)
			put(m, before, row, MATCH_NAME);
	}
}

/* ---- by structure -------------------------------------------------------------------------- */

/* What can be told of a machine without its name. */
struct shape {
	int64_t parent; /* row in the second history */
	unsigned vcpus, vms;
	int64_t row;
};

/* Of all machines of a history: how many vCPUs and VMs they have. */
static struct shape *shapes_of(const struct sonde_history *history)
{
	size_t nr = (size_t)sonde_nr_machines(history);
	struct shape *shapes = calloc(nr + 1, sizeof(*shapes));
	struct sonde_cpu cpu;

	if (!shapes)
		return NULL;
	for (int64_t i = 0; i < sonde_nr_cpus(history); i++) {
		if (!sonde_cpu_get(history, i, &cpu) && cpu.machine < (int64_t)nr)
			shapes[cpu.machine].vcpus++;
	}
	for (int64_t i = 0; i < (int64_t)nr; i++) {
		int64_t parent = parent_of(history, i);

		if (parent >= 0 && parent < (int64_t)nr)
			shapes[parent].vms++;
	}
	return shapes;
}

static int by_shape(const void *a, const void *b)
{
	const struct shape *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->vcpus != y->vcpus)
		return x->vcpus < y->vcpus ? -1 : 1;
	return x->vms < y->vms ? -1 : x->vms > y->vms;
}

/* Those of a history that have no match, in a machine that has one, by shape.  @all: as
 * shapes_of(). */
static size_t open_ones(const struct match *m, bool in_after, const struct shape *all,
			struct shape *out)
{
	const struct sonde_history *history = in_after ? m->after : m->before;
	size_t nr = 0;

	for (int64_t row = 0; row < sonde_nr_machines(history); row++) {
		int64_t parent = parent_of(history, row);

		if ((in_after ? m->to_before : m->to_after)[row] >= 0 || parent < 0 ||
		    (in_after ? m->to_before : m->to_after)[parent] < 0)
			continue;
		out[nr] = all[row];
		out[nr].row = row;
		out[nr++].parent = in_after ? parent : m->to_after[parent];
	}
	if (nr)
		qsort(out, nr, sizeof(*out), by_shape);
	return nr;
}

static bool is_alone(const struct shape *list, size_t nr, size_t i)
{
	return (!i || by_shape(&list[i - 1], &list[i])) &&
	       (i + 1 == nr || by_shape(&list[i], &list[i + 1]));
}

/* Outer machines come first: what is in them may have a match the next time. */
static bool put_alike(struct match *m, const struct shape *before, size_t nr_before,
		      const struct shape *after, size_t nr_after)
{
	size_t b = 0;
	bool any = false;

	for (size_t a = 0; a < nr_after; a++) {
		while (b < nr_before && by_shape(&before[b], &after[a]) < 0)
			b++;
		if (b == nr_before || by_shape(&before[b], &after[a]) ||
		    !is_alone(before, nr_before, b) || !is_alone(after, nr_after, a))
			continue;
		put(m, before[b].row, after[a].row, MATCH_STRUCTURE);
		any = true;
	}
	return any;
}

static int put_shaped(struct match *m)
{
	struct shape *of_before = shapes_of(m->before), *of_after = shapes_of(m->after);
	struct shape *before = malloc(((size_t)sonde_nr_machines(m->before) + 1) * sizeof(*before));
	struct shape *after = malloc(((size_t)sonde_nr_machines(m->after) + 1) * sizeof(*after));
	bool any = of_before && of_after && before && after;
	int ret = any ? 0 : -ENOMEM;

	while (any) {
		size_t nr_before = open_ones(m, false, of_before, before);
		size_t nr_after = open_ones(m, true, of_after, after);

		any = put_alike(m, before, nr_before, after, nr_after);
	}
	free(of_before);
	free(of_after);
	free(before);
	free(after);
	return ret;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static bool name_all(struct match *m)
{
	for (int64_t row = 0; row < sonde_nr_machines(m->after); row++) {
		const char *name = name_of(m->after, row);
		char text[300];

		if (m->to_before[row] >= 0)
			name = name_of(m->before, m->to_before[row]);
		else if (sonde_find_machine(m->before, name) >= 0) {
			snprintf(text, sizeof(text), "%s (after)", name);
			name = text;
		}
		m->names[row] = arena_strdup(&m->arena, name);
		if (!m->names[row])
			return false;
	}
	return true;
}

static bool make_room(struct match *m)
{
	size_t before = (size_t)sonde_nr_machines(m->before);
	size_t after = (size_t)sonde_nr_machines(m->after);

	m->to_before = malloc((after + 1) * sizeof(*m->to_before));
	m->to_after = malloc((before + 1) * sizeof(*m->to_after));
	m->by = calloc(after + 1, sizeof(*m->by));
	m->names = calloc(after + 1, sizeof(*m->names));
	if (!m->to_before || !m->to_after || !m->by || !m->names)
		return false;
	for (size_t i = 0; i < after; i++)
		m->to_before[i] = -1;
	for (size_t i = 0; i < before; i++)
		m->to_after[i] = -1;
	return true;
}

int match_make(struct match *m, const struct sonde_history *before,
	       const struct sonde_history *after, const struct match_pair *pairs, unsigned nr,
	       struct error *err)
{
	int ret;

	*m = (struct match){.before = before, .after = after};
	if (!make_room(m)) {
		match_release(m);
		return fail(err, -ENOMEM, "out of memory");
	}
	ret = put_told(m, pairs, nr, err);
	if (!ret) {
		put_outermost(m);
		put_named(m);
		ret = put_shaped(m);
		if (ret || !name_all(m))
			ret = fail(err, -ENOMEM, "out of memory");
	}
	if (ret)
		match_release(m);
	return ret;
}

void match_release(struct match *m)
{
	arena_release(&m->arena);
	free(m->to_before);
	free(m->to_after);
	free(m->by);
	free(m->names);
	*m = (struct match){0};
}
