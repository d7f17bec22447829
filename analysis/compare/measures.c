/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/compare/compare.h"
#include "base/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct taker {
	struct measures *m;
	struct sonde_history *history;
	ns_t begin, end; /* of the slice */
	unsigned slice;
	/* Owned, for each CPU and each machine of the history: what of the slice at hand tells no
	 * culprit of its preemptions; of its exits, how many there are, and without an origin. */
	int64_t *no_culprit_ns, *exits, *no_origin;
	struct error *err;
};

static bool same(const struct measure *a, const struct measure *b)
{
	return a->cpu == b->cpu && !strcmp(a->machine, b->machine) && !strcmp(a->what, b->what);
}

uint64_t measures_hash(const char *machine, int cpu, const char *what)
{
	uint64_t hash = XXH3_64bits_withSeed(machine, strlen(machine), hash_secret());

	return XXH3_64bits_withSeed(what, strlen(what), hash + (uint64_t)cpu);
}

static uint64_t hash_of(const struct measure *m)
{
	return measures_hash(m->machine, m->cpu, m->what);
}

const struct measure *measures_find(const struct measures *m, const struct measure *like)
{
	const uint32_t *last = map_get(&m->by_hash, hash_of(like));

	for (uint32_t i = last ? *last : 0; i; i = m->list[i - 1].next) {
		if (same(&m->list[i - 1], like))
			return &m->list[i - 1];
	}
	return NULL;
}

/* Makes the one behind the last of the list part of it; false: memory is out. */
static bool enlist(struct measures *m)
{
	struct measure *at = &m->list[m->nr];
	const uint32_t *last = map_get(&m->by_hash, hash_of(at));

	at->next = last ? *last : 0;
	if (map_put(&m->by_hash, hash_of(at), (uint32_t)m->nr + 1))
		return false;
	m->nr++;
	return true;
}

static int add(struct taker *t, const struct measure *like, double value)
{
	struct measures *m = t->m;
	struct measure *at = (struct measure *)measures_find(m, like);

	if (!at) {
		if (!room_for_one(&m->list, m->nr, &m->room))
			return fail(t->err, -ENOMEM, "out of memory");
		at = &m->list[m->nr];
		*at = *like;
		at->machine = arena_strdup(&m->arena, like->machine);
		at->what = arena_strdup(&m->arena, like->what);
		at->by = like->by ? arena_strdup(&m->arena, like->by) : NULL;
		if (!at->machine || !at->what || (like->by && !at->by) || !enlist(m))
			return fail(t->err, -ENOMEM, "out of memory");
	}
	at->values[t->slice] += value;
	return 0;
}

const char *measures_machine(const struct measures *m, const struct sonde_history *history,
			     int64_t row)
{
	struct sonde_machine machine;

	if (sonde_machine_get(history, row, &machine))
		return "?";
	return m->names ? m->names[row] : machine.name;
}

static const char *machine_name(const struct taker *t, int64_t row)
{
	return measures_machine(t->m, t->history, row);
}

static double of_slice(const struct taker *t, int64_t ns)
{
	return (double)ns / (double)(t->end - t->begin);
}

/* ---- what is measured ---------------------------------------------------------------------- */

static int take_machine(struct taker *t, const struct sonde_rows *f, size_t row)
{
	const struct measure like = {.machine = machine_name(t, rows_named(f, row, "machine").i),
				     .cpu = -1,
				     .what = "CPU time of its own code, in CPUs",
				     .is_share = true,
				     .in_cpus = true};

	return add(t, &like, of_slice(t, rows_named(f, row, "total").i));
}

static enum measure_needs needs_of(const char *state)
{
	if (!strcmp(state, "user") || !strcmp(state, "kernel") || !strcmp(state, "guest") ||
	    !strcmp(state, "nested"))
		return NEEDS_CODE;
	return !strncmp(state, "wait_", 5) ? NEEDS_CAUSE : NEEDS_STATE;
}

/* Each of a vCPU's states is a measure, but that which is none. */
static int take_states(struct taker *t, const struct sonde_rows *f, size_t row)
{
	const struct sonde_table *a = sonde_rows_table(f);
	struct sonde_machine vm;
	struct sonde_cpu cpu;
	int ret = 0;

	sonde_cpu_get(t->history, rows_named(f, row, "vcpu").i, &cpu);
	sonde_machine_get(t->history, cpu.machine, &vm);
	for (unsigned c = 0; c < a->nr_columns && !ret; c++) {
		char what[160];
		struct measure like = {.machine = machine_name(t, cpu.machine),
				       .cpu = cpu.number,
				       .what = what,
				       .is_share = true};

		/* A nested VM's hypervisor shows in the trace of the machine that it is in. */
		if (vm.parent > 0)
			like.by = machine_name(t, vm.parent);
		if (a->columns[c].type != SONDE_COL_NS || !strcmp(a->columns[c].name, "total") ||
		    !strcmp(a->columns[c].name, "unknown") ||
		    !strcmp(a->columns[c].name, "steal_unknown"))
			continue;
		snprintf(what, sizeof(what), "%s", a->columns[c].help);
		like.needs = needs_of(a->columns[c].name);
		like.or_state = !strcmp(a->columns[c].name, "guest") ||
				!strcmp(a->columns[c].name, "nested");
		ret = add(t, &like, of_slice(t, sonde_rows_cell(f, row, c).i));
	}
	return ret;
}

/* Code of a traced machine of which its trace, here, does not say whose. */
static bool is_culprit_known(const struct taker *t, int64_t machine, enum sonde_mode mode)
{
	struct sonde_machine m;

	if (mode == SONDE_MODE_GUEST)
		return !sonde_machine_get(t->history, machine, &m) && !m.traced;
	return mode != SONDE_MODE_UNKNOWN;
}

static int take_preemption(struct taker *t, const struct sonde_rows *f, size_t row)
{
	struct sonde_thread thread;
	struct sonde_cpu cpu;
	char what[200];
	struct measure like = {.what = what, .is_share = true, .needs = NEEDS_CULPRIT};
	enum sonde_mode mode = (enum sonde_mode)rows_named(f, row, "mode").i;
	int64_t machine = rows_named(f, row, "culprit_machine").i;
	int64_t vcpu = rows_named(f, row, "vcpu").i, total = rows_named(f, row, "total").i;

	sonde_cpu_get(t->history, vcpu, &cpu);
	like.machine = machine_name(t, cpu.machine);
	like.cpu = cpu.number;
	like.by = machine_name(t, machine);
	if (!is_culprit_known(t, machine, mode))
		t->no_culprit_ns[vcpu] += total;
	/* Numbers of threads mean nothing in another history. */
	if (!sonde_thread_get(t->history, rows_named(f, row, "culprit").i, &thread) &&
	    thread.vcpu < 0)
		snprintf(what, sizeof(what), "steal time, by %s of %s", thread.comm, like.by);
	else
		snprintf(what, sizeof(what), "steal time, by %s of %s", sonde_mode_name(mode),
			 like.by);
	return add(t, &like, of_slice(t, total));
}

static int take_exits(struct taker *t, const struct sonde_rows *f, size_t row)
{
	const char *name = sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "name")).s;
	int64_t vm = rows_named(f, row, "vm").i, from = rows_named(f, row, "from").i;
	int64_t count = rows_named(f, row, "count").i;
	char what[200];
	struct measure like = {.machine = machine_name(t, vm), .cpu = -1, .what = what};
	double seconds = (double)(t->end - t->begin) / 1e9;

	t->exits[vm] += count;
	t->no_origin[vm] += from < 0 ? count : 0;
	if (from == vm) {
		snprintf(what, sizeof(what), "%s exits", *name ? name : "unnamed");
	} else {
		snprintf(what, sizeof(what), "%s exits of %s in it", *name ? name : "unnamed",
			 machine_name(t, from));
		like.needs = NEEDS_ORIGIN;
		like.or_state = true;
	}
	return add(t, &like, (double)count / seconds);
}

static const struct {
	const struct table_def *table;
	int (*take)(struct taker *t, const struct sonde_rows *f, size_t row);
} sources[] = {
	{&machine_time_table, take_machine},
	{&vcpu_state_table, take_states},
	{&preemption_table, take_preemption},
	{&exits_table, take_exits},
};

/* What the rows of the slice's tables leave open. */
static bool take_open(struct taker *t)
{
	bool fits = true;

	for (int64_t row = 0; row < sonde_nr_cpus(t->history) && fits; row++) {
		struct sonde_cpu cpu;

		sonde_cpu_get(t->history, row, &cpu);
		fits = !t->no_culprit_ns[row] ||
		       known_lacks(t->m, machine_name(t, cpu.machine), cpu.number, t->slice,
				   NEEDS_CULPRIT, t->no_culprit_ns[row], t->end - t->begin);
		t->no_culprit_ns[row] = 0;
	}
	for (int64_t row = 0; row < sonde_nr_machines(t->history) && fits; row++) {
		fits = !t->no_origin[row] ||
		       known_lacks(t->m, machine_name(t, row), -1, t->slice, NEEDS_ORIGIN,
				   t->no_origin[row], t->exits[row]);
		t->exits[row] = t->no_origin[row] = 0;
	}
	return fits;
}

static int take_slice(struct taker *t)
{
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sources) && !ret; i++) {
		struct sonde_rows *f;

		ret = table_rows(&f, t->history, sources[i].table, t->begin, t->end, t->err);
		if (ret)
			return ret;
		for (size_t row = 0; row < sonde_rows_nr(f) && !ret; row++)
			ret = sources[i].take(t, f, row);
		if (!ret && sources[i].take == take_states)
			ret = known_take(t->m, t->history, t->slice, t->begin, t->end, f, t->err);
		sonde_rows_free(f);
	}
	return ret || take_open(t) ? ret : fail(t->err, -ENOMEM, "out of memory");
}

static int take_slices(struct taker *t, ns_t begin, ns_t step)
{
	size_t machines = (size_t)sonde_nr_machines(t->history) + 1;
	int ret = 0;

	t->no_culprit_ns = calloc((size_t)sonde_nr_cpus(t->history) + 1, sizeof(*t->no_culprit_ns));
	t->exits = calloc(machines, sizeof(*t->exits));
	t->no_origin = calloc(machines, sizeof(*t->no_origin));
	if (!t->no_culprit_ns || !t->exits || !t->no_origin)
		ret = fail(t->err, -ENOMEM, "out of memory");
	for (t->slice = 0; t->slice < COMPARE_SLICES && !ret; t->slice++) {
		t->begin = begin + step * (ns_t)t->slice;
		t->end = t->begin + step;
		ret = take_slice(t);
	}
	free(t->no_culprit_ns);
	free(t->exits);
	free(t->no_origin);
	return ret;
}

int measures_take(struct measures *m, struct sonde_history *history, const char *const *names,
		  ns_t begin, ns_t end, struct error *err)
{
	struct taker t = {.m = m, .history = history, .err = err};
	ns_t step = (end - begin) / COMPARE_SLICES;
	int ret;

	*m = (struct measures){.names = names};
	if (step <= 0)
		return fail(err, -ERANGE, "the window is too short to be compared");
	ret = take_slices(&t, begin, step);
	if (ret)
		measures_release(m);
	return ret;
}

void measures_release(struct measures *m)
{
	arena_release(&m->arena);
	free(m->list);
	free(m->known);
	map_release(&m->by_hash);
	map_release(&m->known_by_hash);
	*m = (struct measures){0};
}
