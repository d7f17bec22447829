/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cpu_users.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A piece [from, to) of a CPU's time. */
struct piece {
	struct cpu_users *users;
	unsigned machine;
	int cpu;
	int64_t row; /* of that CPU, -1 unknown */
	ns_t from, to;
	bool (*each)(const struct cpu_user *user, void *data); /* NULL: sums are asked for */
	void *data;
	bool *stop;
	struct sums *sums;
	int ret;
};

/* What is summed up of a piece of a physical CPU's time. */
struct sums {
	struct cpu_users *users;
	unsigned nr; /* culprits met on the CPU at hand */
	uint32_t last_who;
	ns_t last_end;
	bool (*each)(const struct cpu_use *use, void *data);
	void *data;
};

static void clip(const struct piece *piece, const struct sonde_interval *i, ns_t *from, ns_t *to)
{
	*from = i->begin > piece->from ? i->begin : piece->from;
	*to = i->end < piece->to ? i->end : piece->to;
}

static inline void sum_up(struct sums *s, uint32_t value, ns_t from, ns_t to)
{
	const struct culprits *culprits = s->users->culprits;
	uint32_t number = culprit_number(culprits, value), who = culprits->who[number];
	struct cpu_use *use = &s->users->uses[number];
	ns_t length = to - from;

	if (!use->time_ns) {
		s->users->met[s->nr++] = number;
		use->count = 0;
		use->longest_ns = 0;
	}
	use->count += s->last_who != who || s->last_end != from;
	use->time_ns += length;
	if (length > use->longest_ns) {
		use->longest_ns = length;
		use->longest_at = from;
	}
	s->last_who = who;
	s->last_end = to;
}

/* The part [begin, end) of a list, of which only the first and the last may stick out; returns how
 * far it reaches. */
static ns_t sum_list(struct sums *s, const struct sonde_interval *list, unsigned nr, ns_t begin,
		     ns_t end)
{
	ns_t from = list[0].begin > begin ? list[0].begin : begin;

	for (unsigned i = 0; i < nr; i++) {
		if (list[i].end >= end) {
			if (end > from)
				sum_up(s, list[i].value, from, end);
			return end;
		}
		sum_up(s, list[i].value, from, list[i].end);
		from = list[i].end;
	}
	return from;
}

/* All sums of the CPU @on; they begin anew. */
static bool tell_sums(struct sums *s, int64_t on, bool more)
{
	for (unsigned i = 0; i < s->nr; i++) {
		struct cpu_use *use = &s->users->uses[s->users->met[i]];

		use->on = on;
		more = more && s->each(use, s->data);
		use->time_ns = 0;
	}
	s->nr = 0;
	return more;
}

static bool tell(const struct piece *piece, int64_t on, int64_t context, ns_t from, ns_t to)
{
	const struct cpu_user user = {on, context, from, to};

	if (to > from && !*piece->stop)
		*piece->stop = !piece->each(&user, piece->data);
	return !*piece->stop;
}

static bool tell_unknown(const struct piece *piece, ns_t from, ns_t to)
{
	if (piece->each)
		return tell(piece, -1, -1, from, to);
	if (to > from)
		sum_up(piece->sums, 0, from, to);
	*piece->stop = !tell_sums(piece->sums, -1, !*piece->stop);
	return !*piece->stop;
}

static bool tell_context(const struct sonde_interval *i, void *data)
{
	const struct piece *piece = data;
	ns_t from, to;

	clip(piece, i, &from, &to);
	return tell(piece, piece->row, (int64_t)i->value - 1, from, to);
}

static int sum_contexts(struct piece *piece, attr_t runs)
{
	ns_t t = piece->from;
	int ret = 0;

	while (t < piece->to && !ret) {
		const struct sonde_interval *list;
		unsigned nr = 0;

		ret = strip_from(&piece->users->strips, runs, t, &list, &nr);
		if (!ret)
			t = sum_list(piece->sums, list, nr, piece->from, piece->to);
	}
	*piece->stop = !tell_sums(piece->sums, piece->row, !ret && !*piece->stop);
	return ret;
}

static int follow(struct piece *piece);

/* A CPU's row may name a machine that there is none of. */
static unsigned parent_of(const struct cpu_users *u, unsigned machine)
{
	return machine < sonde_nr_machines(u->run) ? (unsigned)u->parents[machine] : 0;
}

/* One interval of a vCPU's `on`: go on with the CPU of its parent. */
static bool step_out(const struct sonde_interval *i, void *data)
{
	struct piece *piece = data;
	struct cpu_users *u = piece->users;
	struct piece outer = *piece;

	clip(piece, i, &outer.from, &outer.to);
	outer.machine = parent_of(u, piece->machine);
	outer.cpu = i->value ? (int)i->value - 1 : cpu_users_parent_cpu(u, piece->row, outer.from);
	if (outer.cpu < 0)
		return tell_unknown(piece, outer.from, outer.to);
	piece->ret = follow(&outer);
	return !piece->ret && !*piece->stop;
}

static int follow(struct piece *piece)
{
	struct sonde_run *run = piece->users->run;
	int64_t row = piece->row = sonde_find_cpu(run, piece->machine, piece->cpu);
	bool physical = piece->machine == 0;
	int ret;

	if (row < 0) {
		tell_unknown(piece, piece->from, piece->to);
		return 0;
	}
	if (physical && !piece->each)
		return sum_contexts(piece, run->cpu_attrs[row][CPU_RUNS]);
	ret = strip_walk(&piece->users->strips, run->cpu_attrs[row][physical ? CPU_RUNS : CPU_ON],
			 piece->from, piece->to, physical ? tell_context : step_out, piece);
	return ret ? ret : piece->ret;
}

int cpu_users_walk(struct cpu_users *u, unsigned machine, int number, ns_t from, ns_t to,
		   bool (*each)(const struct cpu_user *user, void *data), void *data)
{
	bool stop = false;
	struct piece piece = {.users = u,
			      .machine = machine,
			      .cpu = number,
			      .from = from,
			      .to = to,
			      .each = each,
			      .data = data,
			      .stop = &stop};

	return follow(&piece);
}

int cpu_users_sum(struct cpu_users *u, unsigned machine, int number, ns_t from, ns_t to,
		  bool (*each)(const struct cpu_use *use, void *data), void *data)
{
	bool stop = false;
	struct sums sums = {.users = u, .last_who = UINT32_MAX, .each = each, .data = data};
	struct piece piece = {.users = u,
			      .machine = machine,
			      .cpu = number,
			      .from = from,
			      .to = to,
			      .stop = &stop,
			      .sums = &sums};

	if (number >= 0)
		return follow(&piece);
	tell_unknown(&piece, from, to);
	return 0;
}

/* The attribute that says on which of the parent's CPUs the thread of a vCPU is or was last. */
static attr_t thread_cpu(const struct sonde_run *run, int64_t vcpu)
{
	struct sonde_machine parent;
	struct sonde_machine m;
	struct sonde_cpu cpu;
	char path[160];

	if (sonde_cpu(run, vcpu, &cpu) || sonde_machine(run, cpu.machine, &m) ||
	    sonde_machine(run, m.parent, &parent) || cpu.host_thread < 0)
		return ATTR_NONE;
	snprintf(path, sizeof(path), "%s/threads/%lld/cpu", parent.name,
		 (long long)cpu.host_thread);
	return sonde_attr(run, path);
}

int cpu_users_parent_cpu(struct cpu_users *u, int64_t vcpu, ns_t t)
{
	struct sonde_interval i;

	if (vcpu < 0 || strip_at(&u->strips, u->thread_cpus[vcpu], t, &i) || !i.value)
		return -1;
	return (int)i.value - 1;
}

static int make(struct cpu_users *u, struct sonde_run *run)
{
	int ret = culprits_get(&u->culprits, run);

	if (ret)
		return ret;
	u->run = u->strips.run = run;
	u->met = calloc(u->culprits->nr, sizeof(*u->met));
	u->uses = calloc(u->culprits->nr, sizeof(*u->uses));
	if (!u->met || !u->uses)
		return -ENOMEM;
	for (uint32_t i = 0; i < u->culprits->nr; i++) {
		u->uses[i].by = &u->culprits->list[i];
		u->uses[i].number = i;
	}
	u->thread_cpus = calloc((size_t)sonde_nr_cpus(run) + 1, sizeof(*u->thread_cpus));
	u->parents = calloc((size_t)sonde_nr_machines(run) + 1, sizeof(*u->parents));
	if (!u->thread_cpus || !u->parents)
		return -ENOMEM;
	for (int64_t row = 0; row < sonde_nr_machines(run); row++) {
		struct sonde_machine m;

		sonde_machine(run, row, &m);
		u->parents[row] = m.parent;
	}
	for (int64_t row = 0; row < sonde_nr_cpus(run); row++)
		u->thread_cpus[row] = thread_cpu(run, row);
	return 0;
}

int cpu_users_get(struct cpu_users **out, struct sonde_run *run)
{
	if (!run->cpu_users) {
		struct cpu_users *u = calloc(1, sizeof(*u));

		if (!u || make(u, run)) {
			cpu_users_free(u);
			return -ENOMEM;
		}
		run->cpu_users = u;
	}
	*out = run->cpu_users;
	return 0;
}

void cpu_users_free(struct cpu_users *u)
{
	if (!u)
		return;
	strips_release(&u->strips);
	free(u->thread_cpus);
	free(u->parents);
	free(u->uses);
	free(u->met);
	free(u);
}
