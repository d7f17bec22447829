/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/hypervisor.h"
#include "analysis/cpu_users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A vCPU outside guest mode, as one hypervisor sees it. */
struct open_exit {
	uint32_t value; /* of the last interval: its context's row + 1; 0: it is not outside */
	ns_t time_ns;	/* spent in it so far */
};

/* Which of these it is: that of a vCPU (a CPU row) and a level of hypervisors. */
#define OPEN_EXIT(cpu, level) ((int64_t)(cpu) * SONDE_LAYERS_MAX + (level))
_Static_assert(SONDE_LAYERS_MAX <= 8, "struct worker has a bit for each");

/* What is asked of every interval's context, by its row + 1, next to each other. */
struct worker {
	uint8_t around; /* levels around its machine, a bit each; 0 too where there is no such machine */
	uint8_t level;	/* of its machine */
	int32_t open;	/* a hypervisor's: the exit that it works on; else -1 */
	int32_t ends;	 /* a guest's: the exit found last that is over when its code runs; -1 none yet */
	int32_t exits;	 /* a hypervisor's: number of the sum that its exits belong to; -1 none yet */
};

/* A machine and those around it: at[level] is the machine of that level. */
struct lineage {
	unsigned level;
	int64_t at[SONDE_LAYERS_MAX];
};

struct scan {
	struct sonde_run *run;
	struct cpu_users *users;
	ns_t begin, end;
	int64_t nr_contexts, nr_machines, nr_cpus;
	/* Looked at for every interval: the run's tables, read once. */
	const struct sonde_context *contexts;
	struct worker *workers;		/* owned, by context + 1 */
	struct sonde_cpu *cpus;		/* owned */
	struct lineage *machines;	/* owned */
	struct keyed exits;		/* struct hypervisor_exits */
	struct open_exit *open;		/* owned, by OPEN_EXIT() */
	/* The exit that each level's hypervisor worked on last on this physical CPU, and for which levels there is one. */
	int32_t served[SONDE_LAYERS_MAX];
	uint32_t serving;
	bool no_memory;
};

/* The sum that exits of a hypervisor's context belong to; NULL: no memory. */
static struct hypervisor_exits *exits_find(struct scan *s, uint32_t value)
{
	const struct sonde_context *c = &s->contexts[value - 1];
	struct worker *w = &s->workers[value];
	struct hypervisor_exits *e;
	int64_t number;

	if (likely(w->exits >= 0))
		return keyed_sum_at(&s->exits, (size_t)w->exits);
	number = keyed_get(&s->exits, (int64_t[HYPERVISOR_NR_CELLS]){s->cpus[c->serves].machine,
								     c->machine, c->detail});
	if (number < 0)
		return NULL;
	w->exits = (int32_t)number;
	e = keyed_sum_at(&s->exits, (size_t)number);
	e->name = c->detail_text;
	return e;
}

static void close_exit(struct scan *s, struct open_exit *o)
{
	struct hypervisor_exits *e = exits_find(s, o->value);

	if (!e) {
		s->no_memory = true;
		return;
	}
	e->count++;
	e->time_ns += o->time_ns;
	if (o->time_ns > e->longest_ns)
		e->longest_ns = o->time_ns;
	*o = (struct open_exit){0};
}

/* Whether an exit that a hypervisor of @level works on is over when code of @c runs: that is of the vCPU, or of one
 * inside. */
static bool ends_exit(const struct scan *s, const struct sonde_context *c, int32_t open,
		      unsigned level)
{
	const struct sonde_cpu *served = &s->cpus[open / SONDE_LAYERS_MAX];

	if (s->machines[served->machine].at[level + 1] != s->machines[c->machine].at[level + 1])
		return false;
	return served->machine != c->machine || served->number == c->cpu;
}

/* Code of a guest runs: the hypervisors around it are done with the exits of the vCPUs that it
 * runs in, and with those of vCPUs inside these. */
static void code_runs(struct scan *s, struct worker *w, uint32_t value)
{
	for (uint32_t left = s->serving & w->around; left; left &= left - 1) {
		unsigned level = (unsigned)__builtin_ctz(left);
		int32_t open = s->served[level];

		if (open != w->ends && !ends_exit(s, &s->contexts[value - 1], open, level))
			continue;
		w->ends = open;
		if (s->open[open].value)
			close_exit(s, &s->open[open]);
		s->serving &= ~(1u << level);
	}
}

static void hypervisor_interval(struct scan *s, const struct worker *w, uint32_t value,
				ns_t length_ns)
{
	struct open_exit *o = &s->open[w->open];

	o->value = value;
	o->time_ns += length_ns;
	s->served[w->level] = w->open;
	s->serving |= 1u << w->level;
}

static bool scan_list(const struct cpu_run *run, void *data)
{
	struct scan *s = data;
	const uint32_t nr_contexts = (uint32_t)s->nr_contexts;
	struct worker *const workers = s->workers;
	const uint32_t *value = run->list.values;
	const ns_t *ends = run->list.begins + 1;
	ns_t from = run->from;

	for (unsigned left = run->list.nr; left; left--, value++, ends++) {
		struct worker *w = &workers[*value <= nr_contexts ? *value : 0];
		ns_t to = left > 1 ? *ends : run->to;

		if (s->serving & w->around)
			code_runs(s, w, *value);
		if (w->open >= 0)
			hypervisor_interval(s, w, *value, to - from);
		from = to;
	}
	return !s->no_memory;
}

static int scan_run(struct scan *s, struct error *err)
{
	int held = cpu_users_hold(s->users, s->begin, s->end);

	for (int64_t row = 0; row < sonde_nr_cpus(s->run); row++) {
		struct sonde_cpu cpu;
		int ret = held;

		sonde_cpu(s->run, row, &cpu);
		if (!cpu_is_physical(&cpu))
			continue;
		s->serving = 0;
		if (!ret)
			ret = cpu_users_runs(s->users, 0, cpu.number, s->begin, s->end, scan_list, s);
		if (ret)
			return fail(err, ret, "cannot read what ran on CPU %d: %s", cpu.number,
				    strerror(-ret));
		/* A vCPU may go on elsewhere; what is open here has been counted. */
		for (int64_t i = 0; i < OPEN_EXIT(s->nr_cpus, 0); i++) {
			if (s->open[i].value)
				close_exit(s, &s->open[i]);
		}
	}
	return s->no_memory ? fail(err, -ENOMEM, "out of memory") : 0;
}

static void find_lineage(struct scan *s, int64_t machine)
{
	struct lineage *l = &s->machines[machine];
	struct sonde_machine m;

	memset(l->at, -1, sizeof(l->at));
	sonde_machine(s->run, machine, &m);
	l->level = m.level < SONDE_LAYERS_MAX ? m.level : SONDE_LAYERS_MAX - 1;
	while (machine >= 0 && !sonde_machine(s->run, machine, &m)) {
		if (m.level < SONDE_LAYERS_MAX)
			l->at[m.level] = machine;
		machine = m.parent;
	}
}

static struct worker worker_of(const struct scan *s, const struct sonde_context *c)
{
	struct worker w = {.open = -1, .ends = -1, .exits = -1};

	if (c->machine >= s->nr_machines)
		return w;
	w.level = (uint8_t)s->machines[c->machine].level;
	w.around = (uint8_t)((1u << w.level) - 1);
	if (c->mode == SONDE_MODE_HYPERVISOR && c->serves >= 0 && c->serves < s->nr_cpus)
		w.open = (int32_t)OPEN_EXIT(c->serves, w.level);
	return w;
}

static bool read_tables(struct scan *s)
{
	size_t nr_machines = (size_t)s->nr_machines;
	size_t nr_cpus = (size_t)s->nr_cpus;

	s->open = calloc(nr_cpus * SONDE_LAYERS_MAX + 1, sizeof(*s->open));
	s->contexts = run_contexts(s->run);
	s->cpus = calloc(nr_cpus + 1, sizeof(*s->cpus));
	s->machines = calloc(nr_machines + 1, sizeof(*s->machines));
	s->workers = calloc((size_t)s->nr_contexts + 1, sizeof(*s->workers));
	if (!s->open || !s->contexts || !s->cpus || !s->machines || !s->workers)
		return false;
	for (size_t i = 0; i < nr_machines; i++)
		find_lineage(s, (int64_t)i);
	for (size_t i = 0; i < nr_cpus; i++) {
		sonde_cpu(s->run, (int64_t)i, &s->cpus[i]);
		if (s->cpus[i].machine >= nr_machines) /* a damaged file */
			s->cpus[i].machine = 0;
	}
	s->workers[0] = (struct worker){.open = -1}; /* of an unknown context */
	for (int64_t i = 0; i < s->nr_contexts; i++)
		s->workers[i + 1] = worker_of(s, &s->contexts[i]);
	return true;
}

static void scan_release(struct scan *s)
{
	free(s->open);
	free(s->cpus);
	free(s->machines);
	free(s->workers);
	keyed_release(&s->exits);
}

int hypervisor_work_get(const struct hypervisor_work **out, struct sonde_run *run, ns_t begin,
			ns_t end, struct error *err)
{
	struct scan s = {.run = run,
			 .begin = begin,
			 .end = end,
			 .nr_contexts = sonde_nr_contexts(run),
			 .nr_machines = sonde_nr_machines(run),
			 .nr_cpus = sonde_nr_cpus(run),
			 .exits = {.nr_cells = HYPERVISOR_NR_CELLS,
				   .sum_bytes = sizeof(struct hypervisor_exits)}};
	struct hypervisor_work *w = run->hypervisor_work;
	int ret;

	*out = w;
	if (w && w->begin == begin && w->end == end)
		return 0;
	hypervisor_work_free(w);
	run->hypervisor_work = NULL;
	ret = !cpu_users_get(&s.users, run) && read_tables(&s)
		      ? scan_run(&s, err)
		      : fail(err, -ENOMEM, "out of memory");
	w = ret ? NULL : malloc(sizeof(*w));
	if (w) {
		*w = (struct hypervisor_work){begin, end, s.exits};
		s.exits = (struct keyed){0};
	} else if (!ret) {
		ret = fail(err, -ENOMEM, "out of memory");
	}
	scan_release(&s);
	*out = run->hypervisor_work = w;
	return ret;
}

void hypervisor_work_free(struct hypervisor_work *w)
{
	if (!w)
		return;
	keyed_release(&w->exits);
	free(w);
}
