/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/hypervisor.h"
#include "analysis/cpu_users.h"
#include "base/grow.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A vCPU outside guest mode, as one hypervisor sees it. */
struct open_exit {
	bool open;
	const struct sonde_context *context; /* of the last interval */
	ns_t time_ns;			     /* spent in it so far */
};

/* What is asked of every interval's context: of the run's table, next to each other. */
struct worker {
	uint8_t level; /* of its machine */
	bool known;	 /* it names a machine that there is */
	int32_t serves; /* a hypervisor's: CPU row of the vCPU that it works for; else -1 */
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
	struct worker *workers;		/* owned, by context */
	struct sonde_cpu *cpus;		/* owned */
	struct lineage *machines;	/* owned */
	struct hypervisor_exits *list;	/* owned */
	size_t nr, room;
	struct map by_key;
	struct open_exit (*open)[SONDE_LAYERS_MAX]; /* owned: per CPU row, level of hypervisor */
	/* CPU row for which each level's hypervisor worked last on this physical CPU, or -1. */
	int64_t served[SONDE_LAYERS_MAX];
	unsigned serving; /* levels that it did so for, a bit each */
	bool no_memory;
};

static size_t exits_find(struct scan *s, const struct sonde_context *c, int64_t vm)
{
	uint64_t key = (uint64_t)vm << 48 ^ (uint64_t)c->machine << 36 ^
		       ((uint64_t)c->detail & 0xfffffffff);
	uint32_t *at = map_get(&s->by_key, key);

	if (at)
		return *at;
	if (!room_for_one(&s->list, s->nr, &s->room))
		return SIZE_MAX;
	if (map_put(&s->by_key, key, (uint32_t)s->nr))
		return SIZE_MAX;
	s->list[s->nr] = (struct hypervisor_exits){
		.vm = vm, .by = c->machine, .reason = c->detail, .name = c->detail_text};
	return s->nr++;
}

static void close_exit(struct scan *s, int64_t cpu, unsigned level)
{
	struct open_exit *o = &s->open[cpu][level];
	struct hypervisor_exits *e;
	size_t index;

	if (!o->open)
		return;
	o->open = false;
	index = exits_find(s, o->context, s->cpus[cpu].machine);
	if (index == SIZE_MAX) {
		s->no_memory = true;
		return;
	}
	e = &s->list[index];
	e->count++;
	e->time_ns += o->time_ns;
	if (o->time_ns > e->longest_ns)
		e->longest_ns = o->time_ns;
}

/* Code of a guest runs: the hypervisors around it are done with the exits of the vCPUs that it
 * runs in, and with those of vCPUs inside these. */
static void code_runs(struct scan *s, const struct sonde_context *c)
{
	const struct lineage *runs = &s->machines[c->machine];

	for (unsigned i = 0; i < runs->level; i++) {
		const struct sonde_cpu *served;

		if (s->served[i] < 0)
			continue;
		served = &s->cpus[s->served[i]];
		if (s->machines[served->machine].at[i + 1] != runs->at[i + 1])
			continue;
		if (served->machine == c->machine && served->number != c->cpu)
			continue;
		close_exit(s, s->served[i], i);
		s->served[i] = -1;
		s->serving &= ~(1u << i);
	}
}

static void hypervisor_interval(struct scan *s, const struct worker *w,
				const struct sonde_context *c, ns_t length_ns)
{
	struct open_exit *o = &s->open[w->serves][w->level];

	if (!o->open)
		o->time_ns = 0;
	o->open = true;
	o->context = c;
	o->time_ns += length_ns;
	s->served[w->level] = w->serves;
	s->serving |= 1u << w->level;
}

static bool scan_list(const struct cpu_run *run, void *data)
{
	struct scan *s = data;
	ns_t from = run->from;

	for (unsigned i = 0; i < run->list.nr && !s->no_memory; i++) {
		ns_t to = cpu_run_to(run, i);
		uint32_t value = run->list.values[i];
		const struct worker *w;
		ns_t length = to - from;

		from = to;
		if (!value || value > s->nr_contexts)
			continue;
		w = &s->workers[value - 1];
		if (!w->known)
			continue;
		if (s->serving & ((1u << w->level) - 1))
			code_runs(s, &s->contexts[value - 1]);
		if (w->serves >= 0)
			hypervisor_interval(s, w, &s->contexts[value - 1], length);
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
		memset(s->served, -1, sizeof(s->served));
		s->serving = 0;
		if (!ret)
			ret = cpu_users_runs(s->users, 0, cpu.number, s->begin, s->end, scan_list, s);
		if (ret)
			return fail(err, ret, "cannot read what ran on CPU %d: %s", cpu.number,
				    strerror(-ret));
		/* A vCPU may go on elsewhere; what is open here has been counted. */
		for (int64_t i = 0; i < sonde_nr_cpus(s->run); i++) {
			for (unsigned level = 0; level < SONDE_LAYERS_MAX; level++)
				close_exit(s, i, level);
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
	struct worker w = {.serves = -1};

	w.known = c->machine < s->nr_machines;
	if (w.known)
		w.level = (uint8_t)s->machines[c->machine].level;
	if (c->mode == SONDE_MODE_HYPERVISOR && c->serves >= 0 && c->serves < s->nr_cpus)
		w.serves = (int32_t)c->serves;
	return w;
}

static bool read_tables(struct scan *s)
{
	size_t nr_machines = (size_t)s->nr_machines;
	size_t nr_cpus = (size_t)s->nr_cpus;

	s->open = calloc(nr_cpus + 1, sizeof(*s->open));
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
	for (int64_t i = 0; i < s->nr_contexts; i++)
		s->workers[i] = worker_of(s, &s->contexts[i]);
	return true;
}

static void scan_release(struct scan *s)
{
	free(s->list);
	free(s->open);
	free(s->cpus);
	free(s->machines);
	free(s->workers);
	map_release(&s->by_key);
}

int hypervisor_work_get(const struct hypervisor_work **out, struct sonde_run *run, ns_t begin,
			ns_t end, struct error *err)
{
	struct scan s = {.run = run,
			 .begin = begin,
			 .end = end,
			 .nr_contexts = sonde_nr_contexts(run),
			 .nr_machines = sonde_nr_machines(run),
			 .nr_cpus = sonde_nr_cpus(run)};
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
		*w = (struct hypervisor_work){begin, end, s.list, s.nr};
		s.list = NULL;
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
	free(w->list);
	free(w);
}
