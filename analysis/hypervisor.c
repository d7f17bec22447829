/* SPDX-License-Identifier: Apache-2.0 */
/* What hypervisors cost: time and exits per VM, and per exit reason. */
#include "analysis/exits.h"
#include "analysis/usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exits of one VM's vCPUs with one reason, handled by one machine. */
struct exits {
	int64_t vm;
	int64_t by;
	int64_t reason;
	const char *name;
	uint64_t count;
	ns_t time_ns;
	ns_t longest_ns;
};

/*
 * An exit is one stay of a vCPU outside guest mode, as one hypervisor sees it.  Interrupt handlers
 * and other threads cut it into several hypervisor intervals; they are one exit until code inside
 * that vCPU has run.  Its reason is the last one said: a nested hypervisor works for a while before
 * its own trace says why.
 */
struct open_exit {
	bool open;
	const struct sonde_context *context; /* of the last interval */
	ns_t time_ns;			     /* spent in it so far */
};

/* A machine and those around it: at[level] is the machine of that level. */
struct lineage {
	unsigned level;
	int64_t at[SONDE_LAYERS_MAX];
};

struct scan {
	struct sonde_run *run;
	ns_t begin, end;
	/* Looked at for every interval: the run's tables, read once. */
	struct sonde_context *contexts; /* owned */
	struct sonde_cpu *cpus;		/* owned */
	struct lineage *machines;	/* owned */
	struct exits *list;		/* owned */
	size_t nr, room;
	struct map by_key;
	struct open_exit (*open)[SONDE_LAYERS_MAX]; /* owned: per CPU row, level of hypervisor */
	/* CPU row for which each level's hypervisor worked last on this physical CPU, or -1. */
	int64_t served[SONDE_LAYERS_MAX];
	bool no_memory;
};

static size_t exits_find(struct scan *s, const struct sonde_context *c, int64_t vm)
{
	uint64_t key = (uint64_t)vm << 48 ^ (uint64_t)c->machine << 36 ^
		       ((uint64_t)c->detail & 0xfffffffff);
	uint32_t *at = map_get(&s->by_key, key);

	if (at)
		return *at;
	if (s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 64;
		struct exits *grown = reallocarray(s->list, room, sizeof(*grown));

		if (!grown)
			return SIZE_MAX;
		s->list = grown;
		s->room = room;
	}
	if (map_put(&s->by_key, key, (uint32_t)s->nr))
		return SIZE_MAX;
	s->list[s->nr] = (struct exits){
		.vm = vm, .by = c->machine, .reason = c->detail, .name = c->detail_text};
	return s->nr++;
}

static void close_exit(struct scan *s, int64_t cpu, unsigned level)
{
	struct open_exit *o = &s->open[cpu][level];
	struct exits *e;
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
	}
}

static void hypervisor_interval(struct scan *s, const struct sonde_context *c, ns_t length_ns)
{
	unsigned level = s->machines[c->machine].level;
	struct open_exit *o = &s->open[c->serves][level];

	if (!o->open)
		o->time_ns = 0;
	o->open = true;
	o->context = c;
	o->time_ns += length_ns;
	s->served[level] = c->serves;
}

static bool scan_interval(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;
	const struct sonde_context *c;
	ns_t from = i->begin < s->begin ? s->begin : i->begin;
	ns_t to = i->end > s->end ? s->end : i->end;

	if (!i->value || i->value > sonde_nr_contexts(s->run))
		return true;
	c = &s->contexts[i->value - 1];
	if (c->machine >= sonde_nr_machines(s->run))
		return true;
	code_runs(s, c);
	if (c->mode == SONDE_MODE_HYPERVISOR && c->serves >= 0 && c->serves < sonde_nr_cpus(s->run))
		hypervisor_interval(s, c, to - from);
	return !s->no_memory;
}

static int scan_run(struct scan *s, struct error *err)
{
	for (int64_t row = 0; row < sonde_nr_cpus(s->run); row++) {
		struct sonde_cpu cpu;
		int ret;

		sonde_cpu(s->run, row, &cpu);
		if (!cpu_is_physical(&cpu))
			continue;
		memset(s->served, -1, sizeof(s->served));
		ret = sonde_walk(s->run, s->run->cpu_attrs[row][CPU_RUNS], s->begin, s->end,
				 scan_interval, s);
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

static bool read_tables(struct scan *s)
{
	size_t nr_contexts = (size_t)sonde_nr_contexts(s->run);
	size_t nr_machines = (size_t)sonde_nr_machines(s->run);
	size_t nr_cpus = (size_t)sonde_nr_cpus(s->run);

	s->open = calloc(nr_cpus + 1, sizeof(*s->open));
	s->contexts = calloc(nr_contexts + 1, sizeof(*s->contexts));
	s->cpus = calloc(nr_cpus + 1, sizeof(*s->cpus));
	s->machines = calloc(nr_machines + 1, sizeof(*s->machines));
	if (!s->open || !s->contexts || !s->cpus || !s->machines)
		return false;
	for (size_t i = 0; i < nr_contexts; i++)
		sonde_context(s->run, (int64_t)i, &s->contexts[i]);
	for (size_t i = 0; i < nr_machines; i++)
		find_lineage(s, (int64_t)i);
	for (size_t i = 0; i < nr_cpus; i++) {
		sonde_cpu(s->run, (int64_t)i, &s->cpus[i]);
		if (s->cpus[i].machine >= nr_machines) /* a damaged file */
			s->cpus[i].machine = 0;
	}
	return true;
}

static int scan_init(struct scan *s, struct sonde_run *run, ns_t begin, ns_t end, struct error *err)
{
	*s = (struct scan){.run = run, .begin = begin, .end = end};
	return read_tables(s) ? scan_run(s, err) : fail(err, -ENOMEM, "out of memory");
}

static void scan_release(struct scan *s)
{
	free(s->list);
	free(s->open);
	free(s->contexts);
	free(s->cpus);
	free(s->machines);
	map_release(&s->by_key);
}

/* ---- per exit reason ----------------------------------------------------------------------- */

static int find_exit_reasons(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
			     struct error *err)
{
	struct scan s;
	int ret = scan_init(&s, run, begin, end, err);

	for (size_t i = 0; i < s.nr && !ret; i++) {
		const struct exits *e = &s.list[i];
		union sonde_cell row[] = {
			cell_int(e->vm),
			cell_int(e->by),
			cell_int(e->reason),
			cell_str(e->name),
			cell_int((int64_t)e->count),
			cell_int(e->time_ns),
			cell_int(e->time_ns / (ns_t)e->count),
			cell_int(e->longest_ns),
		};

		facts_add(out, row);
	}
	scan_release(&s);
	facts_sort(out, "total");
	return ret;
}

static const struct sonde_column reason_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "whose vCPU left guest mode"},
	{"by", "HANDLED BY", SONDE_COL_MACHINE, "machine whose hypervisor did the work"},
	{"reason", "CODE", SONDE_COL_INT, "exit reason as the hardware gives it"},
	{"name", "EXIT REASON", SONDE_COL_STRING, "its name"},
	{"count", "EXITS", SONDE_COL_INT,
	 "stays outside guest mode; with nesting, each hypervisor that records counts its own"},
	{"total", "TIME", SONDE_COL_NS, "hypervisor time"},
	{"mean", "MEAN", SONDE_COL_NS, "per exit"},
	{"longest", "LONGEST", SONDE_COL_NS, "longest on one physical CPU"},
};

const struct analysis exit_reason_analysis = {
	{"exit_reason", "Hypervisor time by exit reason",
	 "time in KVM and the VMM's thread between VM exit and VM entry, interrupts and other "
	 "threads not counted",
	 reason_columns, ARRAY_SIZE(reason_columns)},
	find_exit_reasons,
};

/* ---- per VM -------------------------------------------------------------------------------- */

struct vm_cost {
	ns_t guest_ns;	    /* the VM's own code and that of all VMs in it */
	ns_t hypervisor_ns; /* for its vCPUs, by its direct and indirect hosts */
	uint64_t exits;
};

/*
 * Exits of a machine's code, as fact "exits" counts them.  With nesting each hypervisor around it
 * that has a trace sees the same exit, so they are counted per level of these, and the one that saw
 * most tells: that is the outermost, to which all of them come, unless its trace has a gap.
 */
struct exit_counts {
	const struct scan *s;
	uint64_t (*list)[SONDE_LAYERS_MAX]; /* owned: per machine, level of the vCPU's machine */
};

static bool count_exit(const struct exit_interval *e, void *data)
{
	struct exit_counts *c = data;

	if (e->from < 0 || e->from >= sonde_nr_cpus(c->s->run)) /* a damaged file */
		return true;
	c->list[c->s->cpus[e->from].machine][c->s->machines[c->s->cpus[e->vcpu].machine].level]++;
	return true;
}

static int count_exits(struct exit_counts *c, const struct scan *s, struct error *err)
{
	int ret = 0;

	c->s = s;
	c->list = calloc((size_t)sonde_nr_machines(s->run) + 1, sizeof(*c->list));
	if (!c->list)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(s->run) && !ret; vcpu++)
		ret = exits_scan(s->run, vcpu, s->begin, s->end, count_exit, c);
	return ret ? fail(err, ret, "cannot read a vCPU's exits: %s", strerror(-ret)) : 0;
}

static uint64_t exits_of(const struct exit_counts *c, int64_t vm)
{
	uint64_t most = 0;

	for (unsigned level = 0; level < SONDE_LAYERS_MAX; level++)
		most = c->list[vm][level] > most ? c->list[vm][level] : most;
	return most;
}

static void add_guest_time(struct sonde_run *run, const struct usages *u, int64_t vm,
			   struct vm_cost *cost)
{
	for (size_t i = 0; i < u->nr; i++) {
		if (run_is_inside(run, u->list[i].context.machine, vm))
			cost->guest_ns += u->list[i].time_ns;
	}
}

/* A hypervisor without a trace does not show: its work counts as its machine's own code. */
static const char *cost_note(struct sonde_facts *out, struct sonde_run *run, int64_t parent)
{
	struct sonde_machine m;
	char text[200];
	char *kept;

	for (; parent > 0 && !sonde_machine(run, parent, &m); parent = m.parent) {
		if (m.traced)
			continue;
		snprintf(text, sizeof(text), "at least: %s has no trace", m.name);
		kept = arena_strdup(&out->arena, text);
		out->no_memory |= !kept;
		return kept ? kept : "";
	}
	return "";
}

static int find_hypervisor(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
			   struct error *err)
{
	struct exit_counts counts = {0};
	struct usages u = {0};
	struct scan s;
	int ret = scan_init(&s, run, begin, end, err);

	if (!ret)
		ret = count_exits(&counts, &s, err);
	if (!ret)
		ret = usages_init(&u, run, begin, end, err);
	for (int64_t vm = 1; vm < sonde_nr_machines(run) && !ret; vm++) {
		struct vm_cost cost = {0};
		struct sonde_machine m;

		sonde_machine(run, vm, &m);
		add_guest_time(run, &u, vm, &cost);
		for (size_t i = 0; i < s.nr; i++) {
			if (s.list[i].vm == vm)
				cost.hypervisor_ns += s.list[i].time_ns;
		}
		facts_add(out, (union sonde_cell[]){
				       cell_int(vm),
				       cell_int(m.parent),
				       cell_int(cost.guest_ns),
				       cell_int(cost.hypervisor_ns),
				       cell_int(share_ppm(cost.hypervisor_ns,
							  cost.guest_ns + cost.hypervisor_ns)),
				       cell_int((int64_t)exits_of(&counts, vm)),
				       cell_str(cost_note(out, run, m.parent)),
			       });
	}
	free(counts.list);
	usages_release(&u);
	scan_release(&s);
	facts_sort(out, "hypervisor");
	return ret;
}

static const struct sonde_column vm_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "virtual machine"},
	{"parent", "IN", SONDE_COL_MACHINE, "machine it runs in"},
	{"guest", "GUEST CODE", SONDE_COL_NS, "time its code ran, VMs inside it included"},
	{"hypervisor", "HYPERVISOR", SONDE_COL_NS, "hypervisor time on behalf of its vCPUs"},
	{"share", "OVERHEAD", SONDE_COL_PPM, "hypervisor / (hypervisor + guest code)"},
	{"exits", "EXITS", SONDE_COL_INT,
	 "exits of its code, as \"exits\" has them; with nesting, each of them once"},
	{"note", "NOTE", SONDE_COL_STRING,
	 "\"at least\": a machine around it has no trace, so the work of its hypervisor is not "
	 "known"},
};

const struct analysis hypervisor_analysis = {
	{"hypervisor", "Hypervisor time by VM", "what running each VM cost beside its own code",
	 vm_columns, ARRAY_SIZE(vm_columns)},
	find_hypervisor,
};
