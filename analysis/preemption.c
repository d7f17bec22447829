/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/preemption.h"
#include "analysis/strip.h"
#include "model/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scan {
	struct sonde_run *run;
	struct strips strips;
	attr_t *thread_cpus; /* owned, per CPU row */
	ns_t begin, end;
	struct preemption p;
	bool (*each)(const struct preemption *p, void *data);
	void *data;
	bool stop;
	int ret;
};

/* A piece [from, to) of a CPU's time whose culprit is sought. */
struct piece {
	struct scan *scan;
	unsigned machine;
	int cpu;
	ns_t from, to;
};

static void clip(const struct piece *piece, const struct sonde_interval *i, ns_t *from, ns_t *to)
{
	*from = i->begin > piece->from ? i->begin : piece->from;
	*to = i->end < piece->to ? i->end : piece->to;
}

static bool blame(struct scan *s, int64_t on, int64_t context, ns_t from, ns_t to)
{
	if (to <= from)
		return !s->stop;
	s->p.on = on;
	s->p.context = context;
	s->p.from = from;
	s->p.to = to;
	s->stop = !s->each(&s->p, s->data);
	return !s->stop;
}

static bool blame_context(const struct sonde_interval *i, void *data)
{
	const struct piece *piece = data;
	ns_t from, to;

	clip(piece, i, &from, &to);
	return blame(piece->scan, sonde_find_cpu(piece->scan->run, 0, piece->cpu),
		     (int64_t)i->value - 1, from, to);
}

static void find_culprits(struct piece *piece);

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

/* The parent's CPU that a vCPU waits for: where its thread ran last. */
static int waits_for(struct scan *s, int64_t vcpu, ns_t t)
{
	struct sonde_interval i;

	if (vcpu < 0 || strip_at(&s->strips, s->thread_cpus[vcpu], t, &i) || !i.value)
		return -1;
	return (int)i.value - 1;
}

/* One interval of a vCPU's `on`: go on with the CPU of its parent. */
static bool step_out(const struct sonde_interval *i, void *data)
{
	const struct piece *piece = data;
	struct scan *s = piece->scan;
	int64_t vcpu = sonde_find_cpu(s->run, piece->machine, piece->cpu);
	struct sonde_machine m;
	struct piece outer = {.scan = s};

	clip(piece, i, &outer.from, &outer.to);
	sonde_machine(s->run, piece->machine, &m);
	outer.machine = (unsigned)m.parent;
	outer.cpu = i->value ? (int)i->value - 1 : waits_for(s, vcpu, outer.from);
	if (outer.cpu < 0)
		return blame(s, -1, -1, outer.from, outer.to);
	find_culprits(&outer);
	return !s->stop && !s->ret;
}

static void find_culprits(struct piece *piece)
{
	struct scan *s = piece->scan;
	int64_t row = sonde_find_cpu(s->run, piece->machine, piece->cpu);
	bool physical = piece->machine == 0;
	int ret;

	if (row < 0) {
		blame(s, -1, -1, piece->from, piece->to);
		return;
	}
	ret = strip_walk(&s->strips, s->run->cpu_attrs[row][physical ? CPU_RUNS : CPU_ON],
			 piece->from, piece->to, physical ? blame_context : step_out, piece);
	if (ret && !s->ret)
		s->ret = ret;
}

/* One interval of the victim's `task` within the preemption: mostly there is just one. */
static void preempted_vcpu(struct scan *s, ns_t from, ns_t to)
{
	struct sonde_machine m;
	struct sonde_cpu cpu;
	struct sonde_interval task = {0};
	struct piece outer = {.scan = s, .from = from, .to = to};

	sonde_cpu(s->run, s->p.vcpu, &cpu);
	sonde_machine(s->run, cpu.machine, &m);
	s->p.victim = -1;
	if (!strip_at(&s->strips, s->run->cpu_attrs[s->p.vcpu][CPU_TASK], from, &task) &&
	    task.value)
		s->p.victim = (int64_t)task.value - 1;
	outer.machine = (unsigned)m.parent;
	outer.cpu = waits_for(s, s->p.vcpu, from);
	if (outer.cpu < 0)
		blame(s, -1, -1, from, to);
	else
		find_culprits(&outer);
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;

	if (i->value != VCPU_PREEMPTED)
		return true;
	s->p.begin = i->begin;
	s->p.end = i->end;
	preempted_vcpu(s, i->begin < s->begin ? s->begin : i->begin,
		       i->end > s->end ? s->end : i->end);
	return !s->stop && !s->ret;
}

static int scan_vcpus(struct scan *s, struct error *err)
{
	for (int64_t row = 0; row < sonde_nr_cpus(s->run) && !s->stop; row++) {
		uint32_t state = s->run->cpu_attrs[row][CPU_STATE];
		int ret;

		if (state == ATTR_NONE)
			continue;
		s->p.vcpu = row;
		ret = sonde_walk(s->run, state, s->begin, s->end, each_state, s);
		if (ret || s->ret)
			return fail(err, ret ? ret : s->ret, "cannot follow a vCPU's states: %s",
				    strerror(ret ? -ret : -s->ret));
	}
	return 0;
}

int preemption_scan(struct sonde_run *run, ns_t begin, ns_t end,
		    bool (*each)(const struct preemption *p, void *data), void *data,
		    struct error *err)
{
	struct scan s = {.run = run,
			 .strips = {.run = run},
			 .begin = begin,
			 .end = end,
			 .each = each,
			 .data = data};
	int ret;

	s.thread_cpus = calloc((size_t)sonde_nr_cpus(run) + 1, sizeof(*s.thread_cpus));
	if (!s.thread_cpus)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < sonde_nr_cpus(run); row++)
		s.thread_cpus[row] = thread_cpu(run, row);
	ret = scan_vcpus(&s, err);
	strips_release(&s.strips);
	free(s.thread_cpus);
	return ret;
}
