/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/preemption.h"
#include "analysis/preemption_log.h"
#include "model/context.h"

#include <string.h>

struct scan {
	struct sonde_run *run;
	struct cpu_users *users;
	ns_t begin, end;
	unsigned parent; /* machine that the vCPU's runs in */
	struct preemption p;
	bool (*each_run)(const struct preemption *p, const struct cpu_run *r, void *data); /* NULL: sums are asked for */
	bool (*each_use)(const struct preemption *p, const struct cpu_use *use, void *data);
	void *data;
	struct preemption_log *log; /* of sums */
	bool stop;
	int ret;
};

static bool blame(const struct cpu_run *run, void *data)
{
	struct scan *s = data;

	s->stop = !s->each_run(&s->p, run, s->data);
	return !s->stop;
}

static bool blame_use(const struct cpu_use *use, void *data)
{
	struct scan *s = data;

	preemption_log_add(s->log, use);
	s->stop = !s->each_use(&s->p, use, s->data);
	return !s->stop;
}

static void preempted_vcpu(struct scan *s, ns_t from, ns_t to)
{
	const attr_t *attrs = s->run->cpu_attrs[s->p.vcpu];
	struct sonde_interval task = {0};
	int number;

	s->p.victim = -1;
	if (!strip_at(&s->users->strips, attrs[CPU_TASK], from, &task) && task.value)
		s->p.victim = (int64_t)task.value - 1;
	number = cpu_users_parent_cpu(s->users, s->p.vcpu, from);
	s->p.from = from;
	s->p.to = to;
	preemption_log_begin(s->log, &s->p, s->parent, number);
	if (s->each_run)
		s->ret = cpu_users_runs(s->users, s->parent, number, from, to, blame, s);
	else
		s->ret = cpu_users_sum(s->users, s->parent, number, from, to, blame_use, s);
}

static uint32_t value_at(struct strips *strips, int64_t vcpu, enum cpu_attr attr, ns_t t)
{
	struct sonde_interval i;

	return strip_at(strips, strips->run->cpu_attrs[vcpu][attr], t, &i) ? 0 : i.value;
}

/* What is told by the kernel, when it is so. */
static bool is_exact(uint32_t off)
{
	return off == OFF_THROTTLED || off == OFF_READY;
}

/*
 * What a vCPU lost its CPU for is told when it does, and means nothing after a wake-up.  That a
 * quota is used up may be concluded late: then it was so from the begin on.
 */
void preemption_part(struct strips *strips, int64_t vcpu, const struct sonde_interval *i, ns_t from,
		     struct preemption_part *out)
{
	attr_t attr = strips->run->cpu_attrs[vcpu][CPU_WHY_OFF];
	uint32_t before = value_at(strips, vcpu, CPU_STATE, i->begin - 1);
	struct sonde_interval off;

	*out = (struct preemption_part){from, i->end, SONDE_OFF_UNKNOWN};
	if (before == VCPU_WAITING)
		out->why = SONDE_OFF_READY;
	else if (before != VCPU_ON_CPU)
		return;
	for (ns_t t = from; t < i->end && !strip_at(strips, attr, t, &off); t = off.end) {
		if (is_exact(off.value) && off.begin > from) {
			out->end = off.begin;
			return;
		}
		if (is_exact(off.value)) {
			out->why = off.value == OFF_READY ? SONDE_OFF_READY : SONDE_OFF_QUOTA;
			out->end = off.end < i->end ? off.end : i->end;
			return;
		}
		if (before == VCPU_ON_CPU && off.value && off.value < OFF_READY)
			out->why = (enum sonde_off)off.value;
	}
}

bool victim_counts(struct victim *v, const struct preemption *p)
{
	if (p->victim < 0)
		return false;
	if (p->victim != v->thread) {
		struct sonde_thread t;

		v->thread = p->victim;
		v->counts = !sonde_thread(v->run, p->victim, &t) && t.tid && t.vcpu < 0;
	}
	return v->counts;
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;
	struct preemption_part part;

	if (i->value != VCPU_PREEMPTED)
		return true;
	s->p.begin = i->begin;
	s->p.end = i->end;
	for (ns_t t = i->begin; t < i->end && !s->stop && !s->ret; t = part.end) {
		preemption_part(&s->users->strips, s->p.vcpu, i, t, &part);
		s->p.why = part.why;
		if (preemption_within(&part, s->begin, s->end))
			preempted_vcpu(s, part.begin < s->begin ? s->begin : part.begin,
				       part.end > s->end ? s->end : part.end);
	}
	return !s->stop && !s->ret;
}

static int scan_vcpus(struct scan *s, struct error *err)
{
	for (int64_t row = 0; row < sonde_nr_cpus(s->run) && !s->stop; row++) {
		uint32_t state = s->run->cpu_attrs[row][CPU_STATE];
		struct sonde_machine m;
		struct sonde_cpu cpu;
		int ret;

		if (state == ATTR_NONE)
			continue;
		sonde_cpu(s->run, row, &cpu);
		sonde_machine(s->run, cpu.machine, &m);
		s->parent = (unsigned)m.parent;
		s->p.vcpu = row;
		ret = strip_scan(&s->users->strips, state, s->begin, s->end, each_state, s);
		if (ret || s->ret)
			return fail(err, ret ? ret : s->ret, "cannot follow a vCPU's states: %s",
				    strerror(ret ? -ret : -s->ret));
	}
	return 0;
}

static int scan_run(struct scan *s, struct error *err)
{
	int ret = cpu_users_get(&s->users, s->run);

	if (ret)
		return fail(err, ret, "out of memory");
	if (s->each_use)
		s->log = preemption_log_new(s->begin, s->end, s->users->culprits);
	return scan_vcpus(s, err);
}

/* What is known of each from before: only what ran is read. */
static int follow_log(struct scan *s, const struct preemption_log *log, struct error *err)
{
	int ret = cpu_users_get(&s->users, s->run);

	for (size_t i = 0; i < log->nr_list && !ret && !s->stop; i++) {
		const struct preemption_logged *l = &log->list[i];

		s->p = l->p;
		ret = cpu_users_runs(s->users, l->machine, l->cpu, l->p.from, l->p.to, blame, s);
	}
	return ret ? fail(err, ret, "cannot read what ran on a CPU: %s", strerror(-ret)) : 0;
}

int preemption_runs(struct sonde_run *run, ns_t begin, ns_t end,
		    bool (*each)(const struct preemption *p, const struct cpu_run *r, void *data),
		    void *data, struct error *err)
{
	struct scan s = {.run = run, .begin = begin, .end = end, .each_run = each, .data = data};

	if (!preemption_log_is_of(run->preemptions, begin, end))
		return scan_run(&s, err);
	return follow_log(&s, run->preemptions, err);
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

int preemption_scan(struct sonde_run *run, ns_t begin, ns_t end,
		    bool (*each)(const struct preemption *p, void *data), void *data,
		    struct error *err)
{
	struct pieces pieces = {each, data};

	return preemption_runs(run, begin, end, each_piece, &pieces, err);
}

/* ---- summed up ----------------------------------------------------------------------------- */

int preemption_sum(struct sonde_run *run, ns_t begin, ns_t end,
		   bool (*each)(const struct preemption *p, const struct cpu_use *use, void *data),
		   void *data, struct error *err)
{
	struct scan s = {.run = run, .begin = begin, .end = end, .each_use = each, .data = data};
	int ret;

	if (preemption_log_tell(run->preemptions, begin, end, each, data))
		return 0;
	ret = scan_run(&s, err);
	preemption_log_keep(&run->preemptions, s.log, !ret && !s.stop);
	return ret;
}
