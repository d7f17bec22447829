/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/match.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct sonde_run *run, int64_t row)
{
	struct sonde_machine m;

	return sonde_machine(run, row, &m) ? "" : m.name;
}

static int64_t parent_of(const struct sonde_run *run, int64_t row)
{
	struct sonde_machine m;

	return sonde_machine(run, row, &m) ? -1 : m.parent;
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
		if (m->to_after[before] == after) /* the outermost are each other's anyway */
			continue;
		if (m->to_after[before] >= 0 || m->to_before[after] >= 0)
			return fail(err, -ENOENT, "\"%s\" and \"%s\": one has a match already",
				    pairs[i].before, pairs[i].after);
		put(m, before, after, MATCH_TOLD);
	}
	return 0;
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
	int64_t parent; /* row in the second run */
	unsigned vcpus, vms;
};

static bool same_shape(const struct shape *a, const struct shape *b)
{
	return a->parent == b->parent && a->vcpus == b->vcpus && a->vms == b->vms;
}

static struct shape shape_of(const struct sonde_run *run, int64_t row, int64_t parent)
{
	struct shape s = {.parent = parent};

	for (int64_t i = 0; i < sonde_nr_cpus(run); i++) {
		struct sonde_cpu cpu;

		s.vcpus += !sonde_cpu(run, i, &cpu) && cpu.machine == row;
	}
	for (int64_t i = 0; i < sonde_nr_machines(run); i++)
		s.vms += parent_of(run, i) == row;
	return s;
}

/* The only machine of a run of that shape that has no match yet; -1: none, or several. */
static int64_t only_of(const struct match *m, bool in_after, const struct shape *want)
{
	const struct sonde_run *run = in_after ? m->after : m->before;
	int64_t found = -1;

	for (int64_t row = 0; row < sonde_nr_machines(run); row++) {
		int64_t parent = parent_of(run, row);
		struct shape shape;

		if ((in_after ? m->to_before : m->to_after)[row] >= 0 || parent < 0)
			continue;
		shape = shape_of(run, row, in_after ? parent : m->to_after[parent]);
		if (!same_shape(&shape, want))
			continue;
		if (found >= 0)
			return -1;
		found = row;
	}
	return found;
}

/* Outer machines come first: what is in them may have a match then. */
static bool put_shaped(struct match *m)
{
	bool any = false;

	for (int64_t row = 0; row < sonde_nr_machines(m->after); row++) {
		int64_t parent = parent_of(m->after, row), before;
		struct shape shape;

		if (m->to_before[row] >= 0 || parent < 0 || m->to_before[parent] < 0)
			continue;
		shape = shape_of(m->after, row, parent);
		before = only_of(m, false, &shape);
		if (before < 0 || only_of(m, true, &shape) != row)
			continue;
		put(m, before, row, MATCH_STRUCTURE);
		any = true;
	}
	return any;
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

int match_make(struct match *m, const struct sonde_run *before, const struct sonde_run *after,
	       const struct match_pair *pairs, unsigned nr, struct error *err)
{
	int ret;

	*m = (struct match){.before = before, .after = after};
	if (!make_room(m)) {
		match_release(m);
		return fail(err, -ENOMEM, "out of memory");
	}
	if (sonde_nr_machines(before) && sonde_nr_machines(after))
		put(m, 0, 0, MATCH_OUTERMOST);
	ret = put_told(m, pairs, nr, err);
	if (!ret) {
		put_named(m);
		while (put_shaped(m))
			;
		ret = name_all(m) ? 0 : fail(err, -ENOMEM, "out of memory");
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
