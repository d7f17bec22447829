/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/cpu_users.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>

/* A piece [from, to) of a CPU's time. */
struct piece {
	struct cpu_users *users;
	unsigned machine;
	int cpu;
	int64_t row; /* of that CPU, -1 unknown */
	ns_t from, to;
	bool (*each)(const struct cpu_run *run, void *data);
	void *data;
	bool *stop;
	int ret;
};

static void tell(const struct piece *piece, const struct cpu_run *run)
{
	*piece->stop = *piece->stop || !piece->each(run, piece->data);
}

static bool tell_unknown(const struct piece *piece, ns_t from, ns_t to)
{
	const ns_t begins[] = {from, to};
	const uint32_t unknown = 0;

	if (from < to)
		tell(piece, &(struct cpu_run){-1, {begins, &unknown, 1}, from, to, true});
	return !*piece->stop;
}

static int tell_physical(struct piece *piece, attr_t runs)
{
	struct cpu_run run = {.on = piece->row, .from = piece->from};
	int ret = 0;

	while (run.from < piece->to && !ret && !*piece->stop) {
		ret = interval_cache_list(&piece->users->cache, runs, run.from, piece->to,
					  &run.list);
		if (ret)
			return ret;
		run.to = run.list.begins[run.list.nr];
		run.is_last = run.to >= piece->to;
		if (run.is_last)
			run.to = piece->to;
		tell(piece, &run);
		run.from = run.to;
	}
	return 0;
}

static int follow(struct piece *piece);

/* A CPU's row may name a machine that there is none of. */
static unsigned parent_of(const struct cpu_users *u, unsigned machine)
{
	return machine < sonde_nr_machines(u->history) ? (unsigned)u->parents[machine] : 0;
}

/* As far as the piece goes, on the CPU of its parent. */
static struct piece outer_piece(const struct piece *piece, const struct sonde_interval *i)
{
	struct piece outer = *piece;

	outer.from = i->begin > piece->from ? i->begin : piece->from;
	outer.to = i->end < piece->to ? i->end : piece->to;
	outer.machine = parent_of(piece->users, piece->machine);
	return outer;
}

/* One interval of the `state` of a vCPU that is on no CPU. */
static bool step_out_off(const struct sonde_interval *i, void *data)
{
	struct piece *piece = data;
	struct piece outer = outer_piece(piece, i);

	outer.cpu = cpu_users_parent_cpu(piece->users, piece->row, outer.from);
	if (outer.cpu == -ENOMEM) {
		piece->ret = outer.cpu;
		return false;
	}
	if (outer.cpu < 0)
		return tell_unknown(piece, outer.from, outer.to);
	piece->ret = follow(&outer);
	return !piece->ret && !*piece->stop;
}

/* One interval of a vCPU's `on`: go on with the CPU of its parent. */
static bool step_out(const struct sonde_interval *i, void *data)
{
	struct piece *piece = data;
	struct piece outer = outer_piece(piece, i);
	struct piece off = *piece;

	if (i->value) {
		outer.cpu = (int)i->value - 1;
		piece->ret = follow(&outer);
		return !piece->ret && !*piece->stop;
	}
	off.from = outer.from;
	off.to = outer.to;
	piece->ret = interval_cache_walk(&off.users->cache,
					 off.users->history->cpu_attrs[off.row][CPU_STATE],
					 off.from, off.to, step_out_off, &off);
	if (!piece->ret)
		piece->ret = off.ret;
	return !piece->ret && !*piece->stop;
}

static int follow(struct piece *piece)
{
	struct sonde_history *history = piece->users->history;
	int64_t row = piece->row = sonde_find_cpu(history, piece->machine, piece->cpu);
	int ret;

	if (row < 0) {
		tell_unknown(piece, piece->from, piece->to);
		return 0;
	}
	if (piece->machine == 0)
		return tell_physical(piece, history->cpu_attrs[row][CPU_RUNS]);
	ret = interval_cache_walk(&piece->users->cache, history->cpu_attrs[row][CPU_ON],
				  piece->from, piece->to, step_out, piece);
	return ret ? ret : piece->ret;
}

int cpu_users_runs(struct cpu_users *u, unsigned machine, int number, ns_t from, ns_t to,
		   bool (*each)(const struct cpu_run *run, void *data), void *data)
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

	if (number >= 0)
		return follow(&piece);
	tell_unknown(&piece, from, to);
	return 0;
}

/* ---- one by one ---------------------------------------------------------------------------- */

struct walk {
	bool (*each)(const struct cpu_user *user, void *data);
	void *data;
};

static bool walk_run(const struct cpu_run *run, void *data)
{
	const struct walk *w = data;
	struct cpu_user user = {.on = run->on, .to = run->from};

	for (unsigned i = 0; i < run->list.nr; i++) {
		user.context = (int64_t)run->list.values[i] - 1;
		user.from = user.to;
		user.to = cpu_run_to(run, i);
		if (!w->each(&user, w->data))
			return false;
	}
	return true;
}

int cpu_users_walk(struct cpu_users *u, unsigned machine, int number, ns_t from, ns_t to,
		   bool (*each)(const struct cpu_user *user, void *data), void *data)
{
	struct walk w = {each, data};

	return cpu_users_runs(u, machine, number, from, to, walk_run, &w);
}

/* ---- summed up ----------------------------------------------------------------------------- */

struct adding {
	struct cpu_users *users;
	ns_t last_end;
	bool (*each)(const struct cpu_use *use, void *data);
	void *data;
};

/* This is where most of the time goes that rows take of what had the CPUs.  Behind the last
 * interval stands where it ends, which is @run->to or later. */
unsigned cpu_run_add(const struct cpu_run *run, ns_t until, const struct culprits *culprits,
		     struct use_sums *out)
{
	const struct culprits all = *culprits;
	struct use_sums sums = *out;
	const uint32_t *const values = run->list.values;
	const ns_t *const ends = run->list.begins + 1, limit = until < run->to ? until : run->to;
	ns_t from = run->from;
	size_t i = 0;

	while (ends[i] < limit) {
		use_sums_add(&sums, culprit_number(&all, values[i]), from, ends[i]);
		from = ends[i++];
	}
	if (from < limit && (ends[i] == limit || run->to == limit))
		use_sums_add(&sums, culprit_number(&all, values[i++]), from, limit);
	*out = sums;
	return (unsigned)i;
}

static bool add_run(const struct cpu_run *run, void *data)
{
	struct adding *a = data;
	struct use_sums *sums = &a->users->sums;

	if (a->last_end != run->from)
		sums->last_who = UINT32_MAX;
	cpu_run_add(run, run->to, a->users->culprits, sums);
	a->last_end = run->to;
	return !run->is_last || use_sums_take(sums, run->on, a->each, a->data);
}

int cpu_users_sum(struct cpu_users *u, unsigned machine, int number, ns_t from, ns_t to,
		  bool (*each)(const struct cpu_use *use, void *data), void *data)
{
	struct adding a = {u, NS_MIN, each, data};
	int ret = cpu_users_runs(u, machine, number, from, to, add_run, &a);

	use_sums_clear(&u->sums); /* of a CPU that could not be read to its end */
	return ret;
}

static bool is_off(const struct sonde_interval *state)
{
	return state->value == VCPU_PREEMPTED || state->value == VCPU_WAITING;
}

/* The moment at which a vCPU is on the CPU that it lost, or waits for, in @off, an interval of its
 * `state`.  -ENOENT: it was not seen to be. */
static int when_on(struct cpu_users *u, attr_t state, struct sonde_interval off, ns_t *at)
{
	struct sonde_interval before = off;
	int ret = 0;

	while (!ret && is_off(&before)) {
		off = before;
		*at = off.begin - 1;
		ret = interval_cache_at(&u->cache, state, *at, &before);
		if (!ret && before.value == VCPU_WAITING && off.value == VCPU_PREEMPTED) {
			*at = off.end;
			ret = interval_cache_at(&u->cache, state, *at, &before);
			break;
		}
	}
	return ret ? ret : before.value == VCPU_ON_CPU ? 0 : -ENOENT;
}

int cpu_users_parent_cpu(struct cpu_users *u, int64_t vcpu, ns_t t)
{
	const attr_t *attrs = vcpu < 0 ? NULL : u->history->cpu_attrs[vcpu];
	struct sonde_interval i;
	int ret = attrs ? interval_cache_at(&u->cache, attrs[CPU_STATE], t, &i) : -ENOENT;

	if (!ret && i.value != VCPU_ON_CPU)
		ret = when_on(u, attrs[CPU_STATE], i, &t);
	if (!ret)
		ret = interval_cache_at(&u->cache, attrs[CPU_ON], t, &i);
	if (ret == -ENOMEM)
		return ret;
	return ret || !i.value ? -1 : (int)i.value - 1;
}

/* What a physical CPU runs; ATTR_NONE for others. */
static attr_t physical_runs(const struct sonde_history *history, int64_t row)
{
	struct sonde_cpu cpu;

	sonde_cpu_get(history, row, &cpu);
	return cpu_is_physical(&cpu) ? history->cpu_attrs[row][CPU_RUNS] : ATTR_NONE;
}

int cpu_users_hold(struct cpu_users *u, ns_t begin, ns_t end)
{
	int ret = 0;

	for (int64_t row = 0; row < sonde_nr_cpus(u->history) && !ret; row++) {
		attr_t runs = physical_runs(u->history, row);

		if (runs != ATTR_NONE)
			ret = interval_cache_hold(&u->cache, runs, begin, end);
	}
	return ret;
}

ns_t cpu_users_held(struct cpu_users *u, ns_t begin)
{
	ns_t held = NS_MAX;

	for (int64_t row = 0; row < sonde_nr_cpus(u->history); row++) {
		attr_t runs = physical_runs(u->history, row);
		ns_t end = runs == ATTR_NONE ? NS_MAX : interval_cache_held(&u->cache, runs, begin);

		held = end < held ? end : held;
	}
	return held;
}

static int make(struct cpu_users *u, struct sonde_history *history)
{
	int ret = culprits_get(&u->culprits, history);

	if (ret)
		return ret;
	u->history = u->cache.history = history;
	if (use_sums_init(&u->sums, u->culprits))
		return -ENOMEM;
	u->parents = calloc((size_t)sonde_nr_machines(history) + 1, sizeof(*u->parents));
	if (!u->parents)
		return -ENOMEM;
	for (int64_t row = 0; row < sonde_nr_machines(history); row++) {
		struct sonde_machine m;

		sonde_machine_get(history, row, &m);
		u->parents[row] = m.parent;
	}
	return 0;
}

static void release(struct kept *kept)
{
	struct cpu_users *u = (struct cpu_users *)kept;

	interval_cache_release(&u->cache);
	free(u->parents);
	use_sums_release(&u->sums);
	free(u);
}

static const struct kept_kind kind = {release};

int cpu_users_get(struct cpu_users **out, struct sonde_history *history)
{
	struct cpu_users *u = kept_find(history, &kind);

	*out = u;
	if (u)
		return 0;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	if (make(u, history)) {
		release(&u->kept);
		return -ENOMEM;
	}
	kept_set(history, &kind, &u->kept);
	*out = u;
	return 0;
}
