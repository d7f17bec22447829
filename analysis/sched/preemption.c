/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/preemption.h"
#include "analysis/sched/preemption_log.h"
#include "model/context.h"

#include <errno.h>

struct scan {
	struct sonde_history *history;
	struct cpu_users *users;
	ns_t begin, end;
	struct preemption p;
	bool (*each)(const struct preemption *p, void *data);
	void *data;
	struct preemption_log *log; /* NULL: what is found is not kept */
	struct sonde_interval last; /* of the vCPU's `state`, before the one at hand */
	bool stop;
	int ret;
};

/* Whether it is known what an attribute was; without the memory to read it the scan ends, for that
 * is not the same. */
static bool known_at(struct scan *s, attr_t attr, ns_t t, struct sonde_interval *out)
{
	int ret = interval_cache_at(&s->users->cache, attr, t, out);

	if (ret == -ENOMEM)
		s->ret = ret;
	return !ret;
}

static void tell_part(struct scan *s)
{
	const attr_t *attrs = s->history->cpu_attrs[s->p.vcpu];
	struct sonde_interval task = {0};

	s->p.victim = -1;
	if (known_at(s, attrs[CPU_TASK], s->p.from, &task) && task.value)
		s->p.victim = (int64_t)task.value - 1;
	s->p.cpu = cpu_users_parent_cpu(s->users, s->p.vcpu, s->p.from);
	if (s->p.cpu == -ENOMEM)
		s->ret = s->p.cpu;
	s->stop = s->ret;
	if (s->stop)
		return;
	if (s->log)
		preemption_log_add(s->log, &s->p);
	s->stop = !s->each(&s->p, s->data);
}

/* What is told by the kernel, when it is so. */
static bool is_exact(uint32_t off)
{
	return off == OFF_THROTTLED || off == OFF_READY;
}

/*
 * Why the vCPU did not run in @i, an interval of its `state` in which it is preempted, from @from
 * on: it had been woken and waited for its turn, or it lost the CPU.  Returns until when that is
 * why, the interval's end or before.
 *
 * What a vCPU lost its CPU for is told when it does, and means nothing after a wake-up.  That a
 * quota is used up may be concluded late: then it was so from the begin on.
 */
static ns_t find_why(struct scan *s, const struct sonde_interval *i, ns_t from)
{
	const attr_t *attrs = s->history->cpu_attrs[s->p.vcpu];
	struct sonde_interval off;
	uint32_t before = s->last.value;

	if (s->last.end != i->begin) /* the first of the window */
		before = known_at(s, attrs[CPU_STATE], i->begin - 1, &off) ? off.value : 0;
	s->p.why = before == VCPU_WAITING ? SONDE_OFF_READY : SONDE_OFF_UNKNOWN;
	s->p.unseen = before != VCPU_WAITING && before != VCPU_ON_CPU;
	if (s->p.unseen)
		return i->end;
	for (ns_t t = from; t < i->end && known_at(s, attrs[CPU_WHY_OFF], t, &off); t = off.end) {
		if (is_exact(off.value) && off.begin > from)
			return off.begin;
		if (is_exact(off.value)) {
			s->p.why = off.value == OFF_READY ? SONDE_OFF_READY : SONDE_OFF_QUOTA;
			return off.end < i->end ? off.end : i->end;
		}
		if (before == VCPU_ON_CPU && off.value && off.value < OFF_READY)
			s->p.why = (enum sonde_off)off.value;
	}
	return i->end;
}

bool victim_counts(struct victim *v, const struct preemption *p)
{
	if (p->victim < 0)
		return false;
	if (p->victim != v->thread) {
		struct sonde_thread t;

		v->thread = p->victim;
		v->counts = !sonde_thread_get(v->history, p->victim, &t) && t.tid && t.vcpu < 0;
	}
	return v->counts;
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;

	if (i->value != VCPU_PREEMPTED) {
		s->last = *i;
		return true;
	}
	s->p.begin = i->begin;
	s->p.end = i->end;
	for (ns_t t = i->begin, end; t < i->end && !s->stop; t = end) {
		end = find_why(s, i, t);
		s->p.from = t > s->begin ? t : s->begin;
		s->p.to = end < s->end ? end : s->end;
		if (s->p.from < s->p.to)
			tell_part(s);
	}
	return !s->stop;
}

static void set_vcpu(struct scan *s, int64_t vcpu)
{
	struct sonde_machine m;
	struct sonde_cpu cpu;

	sonde_cpu_get(s->history, vcpu, &cpu);
	sonde_machine_get(s->history, cpu.machine, &m);
	s->last = (struct sonde_interval){.end = NS_MIN};
	s->p.vcpu = vcpu;
	s->p.machine = (unsigned)m.parent;
}

static int scan_vcpus(struct scan *s)
{
	int ret = 0;

	for (int64_t row = 0; row < sonde_nr_cpus(s->history) && !ret && !s->stop; row++) {
		attr_t state = s->history->cpu_attrs[row][CPU_STATE];

		if (state == ATTR_NONE)
			continue;
		set_vcpu(s, row);
		ret = interval_cache_scan(&s->users->cache, state, s->begin, s->end, each_state, s);
	}
	return ret ? ret : s->ret;
}

static int scan_run(struct scan *s, struct error *err)
{
	int ret = scan_vcpus(s);

	s->log->has_parts = !ret && !s->stop && !s->log->too_long;
	if (!s->log->has_parts)
		preemption_log_forget_parts(s->log);
	return ret ? fail(err, ret, "cannot follow a vCPU's states: %s", error_reason(ret)) : 0;
}

int preemption_parts(struct sonde_history *history, ns_t begin, ns_t end,
		     bool (*each)(const struct preemption *p, void *data), void *data,
		     struct error *err)
{
	struct scan s = {
		.history = history, .begin = begin, .end = end, .each = each, .data = data};
	int ret = cpu_users_get(&s.users, history);

	s.log = ret ? NULL : preemption_log_get(history, begin, end);
	if (!s.log)
		return fail(err, -ENOMEM, "out of memory");
	if (!s.log->has_parts)
		return scan_run(&s, err);
	for (size_t i = 0; i < s.log->nr_parts && each(&s.log->parts[i], data); i++)
		;
	return 0;
}

int preemption_parts_of(struct sonde_history *history, int64_t vcpu, ns_t begin, ns_t end,
			bool (*each)(const struct preemption *p, void *data), void *data)
{
	struct scan s = {
		.history = history, .begin = begin, .end = end, .each = each, .data = data};
	int ret = cpu_users_get(&s.users, history);

	if (ret)
		return ret;
	set_vcpu(&s, vcpu);
	return interval_cache_scan(&s.users->cache, history->cpu_attrs[vcpu][CPU_STATE], begin, end,
				   each_state, &s);
}

/* ---- with what ran ------------------------------------------------------------------------- */

struct runs {
	struct cpu_users *users;
	const struct preemption *p;
	bool (*each)(const struct preemption *p, const struct cpu_run *r, void *data);
	void *data;
	bool stop;
	int ret;
};

static bool each_run(const struct cpu_run *run, void *data)
{
	struct runs *r = data;

	r->stop = !r->each(r->p, run, r->data);
	return !r->stop;
}

static bool runs_of_part(const struct preemption *p, void *data)
{
	struct runs *r = data;

	r->p = p;
	r->ret = cpu_users_runs(r->users, p->machine, p->cpu, p->from, p->to, each_run, r);
	return !r->ret && !r->stop;
}

static int cannot_read(int ret, struct error *err)
{
	return ret ? fail(err, ret, "cannot read what ran on a CPU: %s", error_reason(ret)) : 0;
}

int preemption_runs(struct sonde_history *history, ns_t begin, ns_t end,
		    bool (*each)(const struct preemption *p, const struct cpu_run *r, void *data),
		    void *data, struct error *err)
{
	struct runs r = {.each = each, .data = data};
	int ret = cpu_users_get(&r.users, history);

	if (ret)
		return fail(err, ret, "out of memory");
	ret = preemption_parts(history, begin, end, runs_of_part, &r, err);
	return ret ? ret : cannot_read(r.ret, err);
}

struct uses {
	struct cpu_users *users;
	bool (*each)(const struct cpu_use *use, void *data);
	void *data;
	int ret;
};

static bool uses_of_part(const struct preemption *p, void *data)
{
	struct uses *u = data;

	u->ret = cpu_users_sum(u->users, p->machine, p->cpu, p->from, p->to, u->each, u->data);
	return !u->ret;
}

int preemption_uses(struct sonde_history *history, const struct preemption *p, ns_t begin, ns_t end,
		    bool (*each)(const struct cpu_use *use, void *data), void *data)
{
	const struct sonde_interval i = {p->begin, p->end, VCPU_PREEMPTED};
	struct uses u = {.each = each, .data = data};
	struct scan s = {
		.history = history, .begin = begin, .end = end, .each = uses_of_part, .data = &u};
	int ret = cpu_users_get(&s.users, history);

	if (ret)
		return ret;
	u.users = s.users;
	set_vcpu(&s, p->vcpu);
	each_state(&i, &s);
	return s.ret ? s.ret : u.ret;
}

/* ---- one by one ---------------------------------------------------------------------------- */

struct pieces {
	bool (*each)(const struct preemption *p, void *data);
	void *data;
};

static bool each_piece(const struct preemption *whole, const struct cpu_run *r, void *data)
{
	const struct pieces *pieces = data;
	struct preemption p = *whole;

	p.on = r->on;
	p.to = r->from;
	for (unsigned i = 0; i < r->list.nr; i++) {
		p.context = (int64_t)r->list.values[i] - 1;
		p.from = p.to;
		p.to = cpu_run_to(r, i);
		if (!pieces->each(&p, pieces->data))
			return false;
	}
	return true;
}

int preemption_scan(struct sonde_history *history, ns_t begin, ns_t end,
		    bool (*each)(const struct preemption *p, void *data), void *data,
		    struct error *err)
{
	struct pieces pieces = {each, data};

	return preemption_runs(history, begin, end, each_piece, &pieces, err);
}

/* ---- summed up ----------------------------------------------------------------------------- */

struct sums {
	struct cpu_users *users;
	struct preemption_log *log;
	uint32_t owner; /* of the part at hand */
	int ret;
};

static bool sum_use(const struct cpu_use *use, void *data)
{
	struct sums *s = data;

	s->ret = preemption_log_sum(s->log, s->owner, use);
	return !s->ret;
}

static bool sum_part(const struct preemption *p, void *data)
{
	struct sums *s = data;
	int64_t owner = preemption_log_owner(s->log, p);
	int ret = owner < 0 ? (int)owner : 0;

	s->owner = (uint32_t)owner;
	if (!ret)
		ret = cpu_users_sum(s->users, p->machine, p->cpu, p->from, p->to, sum_use, s);
	s->ret = ret ? ret : s->ret;
	return !s->ret;
}

static int sum_all(struct preemption_log *log, struct sonde_history *history, struct error *err)
{
	struct sums s = {.log = log};
	int ret = cpu_users_get(&s.users, history);

	if (ret)
		return fail(err, ret, "out of memory");
	ret = preemption_parts(history, log->begin, log->end, sum_part, &s, err);
	if (!ret)
		ret = cannot_read(s.ret, err);
	log->has_sums = !ret;
	if (ret)
		preemption_log_forget_sums(log);
	return ret;
}

static void tell_sums(const struct preemption_log *log, preemption_sum_fn *each, void *data)
{
	for (uint32_t first = 0, end; first < log->nr_uses; first = end) {
		const struct preemption_owner *owner = &log->owners[log->uses[first].owner];
		const struct preemption p = {
			.vcpu = owner->vcpu,
			.victim = owner->victim,
			.why = owner->quota ? SONDE_OFF_QUOTA : SONDE_OFF_UNKNOWN,
		};

		end = first + 1;
		while (end < log->nr_uses && log->uses[end].owner == log->uses[first].owner)
			end++;
		if (!each(&p, log->uses + first, end - first, data))
			return;
	}
}

int preemption_sum(struct sonde_history *history, ns_t begin, ns_t end, preemption_sum_fn *each,
		   void *data, struct error *err)
{
	struct preemption_log *log = preemption_log_get(history, begin, end);
	int ret = 0;

	if (!log)
		return fail(err, -ENOMEM, "out of memory");
	if (!log->has_sums)
		ret = sum_all(log, history, err);
	if (!ret)
		tell_sums(log, each, data);
	return ret;
}
