/* SPDX-License-Identifier: Apache-2.0 */
/* What VMs are like: the profile of each, and groups of those that are alike, over any number of
 * histories.  Two stages: what their time goes into; and within such a group, how often and how
 * long. */
#include "analysis/compare/cluster.h"
#include "analysis/host_notes.h"
#include "analysis/rows.h"
#include "base/figure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum mix {
	MIX_OWN,
	MIX_KVM,
	MIX_VMM,
	MIX_HALTING,
	MIX_NESTING,
	MIX_OUTER_IRQ,
	MIX_LOST,
	MIX_TIMER,
	MIX_DISK,
	MIX_NETWORK,
	MIX_IPI,
	MIX_DEVICE,
	MIX_OTHER,
	NR_MIX
};
enum rate { RATE_EXITS, RATE_WAITS, RATE_WAIT_LENGTH, NR_RATES };

/* Columns of table vcpu_state that each part of the mix is the sum of. */
static const struct {
	const char *column;
	enum mix part;
} parts[] = {
	{"user", MIX_OWN},
	{"kernel", MIX_OWN},
	{"guest", MIX_OWN},
	{"nested", MIX_OWN},
	{"kvm", MIX_KVM},
	{"vmm", MIX_VMM},
	{"halting", MIX_HALTING},
	{"nesting", MIX_NESTING},
	{"host_irq", MIX_OUTER_IRQ},
	{"inherited_steal", MIX_LOST},
	{"queued", MIX_LOST},
	{"preempted", MIX_LOST},
	{"throttled", MIX_LOST},
	{"steal_unknown", MIX_LOST},
	{"wait_timer", MIX_TIMER},
	{"wait_disk", MIX_DISK},
	{"wait_network", MIX_NETWORK},
	{"wait_ipi", MIX_IPI},
	{"wait_device", MIX_DEVICE},
	{"wait_vmm", MIX_OTHER},
	{"wait_host", MIX_OTHER},
	{"wait_unknown", MIX_OTHER},
};

struct profile {
	const char *run, *vm;
	int64_t vcpus;
	ns_t all_ns;	    /* the window, once per vCPU */
	ns_t known_ns;	    /* of that */
	ns_t unknown_ns;    /* neither known nor after a vCPU's end */
	double mix[NR_MIX]; /* of what is known, so that VMs can be compared */
	bool is_ns;	    /* its history's time is in ns; else in cycles */
	bool has_rates;	    /* they compare to those of the others: all are of one unit */
	double rates[NR_RATES];
	double slept; /* in all these waits */
	const char *note;
	int kind, group;
	double silhouette;
};

struct profiles {
	struct profile *list; /* owned */
	unsigned nr;
};

/* ---- the VMs of a history ------------------------------------------------------------------ */

/* The profile of the VM that a CPU row belongs to; NULL there is none. */
static struct profile *of_cpu(struct profile *by_machine, const struct sonde_history *history,
			      int64_t cpu)
{
	struct sonde_cpu c;

	if (sonde_cpu_get(history, cpu, &c) || c.machine >= sonde_nr_machines(history))
		return NULL;
	return &by_machine[c.machine];
}

static void add_mix(struct profile *by_machine, const struct sonde_history *history,
		    const struct sonde_rows *states)
{
	for (size_t row = 0; row < sonde_rows_nr(states); row++) {
		struct profile *p = of_cpu(by_machine, history, rows_named(states, row, "vcpu").i);

		if (!p)
			continue;
		p->vcpus++;
		p->all_ns += rows_named(states, row, "total").i;
		p->unknown_ns += rows_named(states, row, "unknown").i;
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			ns_t time = rows_named(states, row, parts[i].column).i;

			p->mix[parts[i].part] += (double)time;
			p->known_ns += time;
		}
	}
}

static void add_rates(struct profile *by_machine, const struct sonde_history *history,
		      const struct sonde_rows *exits, const struct sonde_rows *waits)
{
	for (size_t row = 0; row < sonde_rows_nr(exits); row++) {
		int64_t vm = rows_named(exits, row, "vm").i;

		if (vm >= 0 && vm < sonde_nr_machines(history))
			by_machine[vm].rates[RATE_EXITS] +=
				(double)rows_named(exits, row, "count").i;
	}
	for (size_t row = 0; row < sonde_rows_nr(waits); row++) {
		struct profile *p = of_cpu(by_machine, history, rows_named(waits, row, "vcpu").i);

		if (!p)
			continue;
		p->rates[RATE_WAITS] += (double)rows_named(waits, row, "count").i;
		p->slept += (double)rows_named(waits, row, "total").i;
	}
}

/* Sums become shares and rates. */
static void finish(struct profile *p)
{
	double seconds = (double)p->known_ns / 1e9; /* of vCPUs; or 10^9 cycles */

	for (unsigned i = 0; i < NR_MIX; i++)
		p->mix[i] /= (double)p->known_ns;
	if (p->rates[RATE_WAITS] > 0)
		p->rates[RATE_WAIT_LENGTH] = p->slept / p->rates[RATE_WAITS];
	p->rates[RATE_EXITS] /= seconds;
	p->rates[RATE_WAITS] /= seconds;
}

/* Those of which anything is known join the list. */
static int keep_known(struct profiles *ps, struct host_notes *notes, struct profile *by_machine,
		      const char *name)
{
	const struct sonde_history *history = notes->history;
	struct sonde_rows *out = notes->rows;
	int64_t nr = sonde_nr_machines(history);
	struct profile *grown = reallocarray(ps->list, ps->nr + (size_t)nr, sizeof(*grown));
	const char *run = arena_strdup(&out->arena, name);

	if (!grown || !run) {
		ps->list = grown ? grown : ps->list;
		return -ENOMEM;
	}
	ps->list = grown;
	for (int64_t vm = 1; vm < nr; vm++) {
		struct profile *p = &by_machine[vm];
		struct sonde_machine m;

		if (!p->known_ns)
			continue;
		finish(p);
		p->note = host_notes_of_steal(notes, vm, p->unknown_ns / (p->vcpus ? p->vcpus : 1));
		sonde_machine_get(history, vm, &m);
		p->run = run;
		p->is_ns = sonde_history_ticks_are_ns(history);
		p->vm = arena_strdup(&out->arena, m.name);
		if (!p->vm)
			return -ENOMEM;
		ps->list[ps->nr++] = *p;
	}
	return 0;
}

static int add_run(struct profiles *ps, struct sonde_rows *out, struct sonde_history *history,
		   const char *name, ns_t begin, ns_t end, struct error *err)
{
	struct sonde_rows *states = NULL, *exits = NULL, *waits = NULL;
	struct profile *by_machine =
		calloc((size_t)sonde_nr_machines(history) + 1, sizeof(*by_machine));
	struct host_notes notes;
	int ret = host_notes_make(&notes, history, out, begin, end);

	if (!ret)
		ret = by_machine ? table_rows(&states, history, &vcpu_state_table, begin, end, err)
				 : -ENOMEM;
	if (!ret)
		ret = table_rows(&exits, history, &exits_table, begin, end, err);
	if (!ret)
		ret = table_rows(&waits, history, &wait_table, begin, end, err);
	if (!ret) {
		add_mix(by_machine, history, states);
		add_rates(by_machine, history, exits, waits);
		ret = keep_known(ps, &notes, by_machine, name);
	}
	host_notes_release(&notes);
	free(by_machine);
	sonde_rows_free(states);
	sonde_rows_free(exits);
	sonde_rows_free(waits);
	return ret;
}

/* ---- groups -------------------------------------------------------------------------------- */

struct work {
	double *points;
	int *group;
	double *silhouette;
	unsigned *of; /* numbers of the profiles that are looked at */
};

static void put_mix(const struct profile *p, double *point)
{
	memcpy(point, p->mix, sizeof(p->mix));
}

/* A doubling is a step, whatever the size. */
static void put_rates(const struct profile *p, double *point)
{
	for (unsigned i = 0; i < NR_RATES; i++)
		point[i] = log2(1 + p->rates[i]);
}

/* Cycles of a rate that nobody knows say nothing beside seconds. */
static void find_comparable(struct profiles *ps)
{
	bool any_ns = false;

	for (unsigned i = 0; i < ps->nr; i++)
		any_ns |= ps->list[i].is_ns;
	for (unsigned i = 0; i < ps->nr; i++)
		ps->list[i].has_rates = ps->list[i].is_ns == any_ns;
}

/* Those of one kind whose rates do not compare: one group; returns the first number not used. */
static int without_rates(struct profiles *ps, int kind, int first)
{
	bool any = false;

	for (unsigned i = 0; i < ps->nr; i++) {
		if (ps->list[i].kind != kind || ps->list[i].has_rates)
			continue;
		ps->list[i].group = first;
		any = true;
	}
	return first + any;
}

/* Of one kind: groups by how often and how long; returns the first group's number not used. */
static int second_stage(struct profiles *ps, struct work *w, int kind, int first)
{
	unsigned nr = 0;
	int groups;

	for (unsigned i = 0; i < ps->nr; i++) {
		if (ps->list[i].kind != kind || !ps->list[i].has_rates)
			continue;
		put_rates(&ps->list[i], w->points + (size_t)nr * NR_RATES);
		w->of[nr++] = i;
	}
	groups = cluster(w->points, nr, NR_RATES, w->group, w->silhouette);
	if (groups < 0)
		return groups;
	for (unsigned i = 0; i < nr; i++) {
		ps->list[w->of[i]].group = first + w->group[i];
		/* What says less about it: that it is of this kind, or of this group. */
		if (groups > 1 && w->silhouette[i] < ps->list[w->of[i]].silhouette)
			ps->list[w->of[i]].silhouette = w->silhouette[i];
	}
	return without_rates(ps, kind, first + groups);
}

static int find_groups(struct profiles *ps)
{
	struct work w = {
		.points = calloc((size_t)ps->nr * NR_MIX + 1, sizeof(*w.points)),
		.group = calloc(ps->nr + 1, sizeof(*w.group)),
		.silhouette = calloc(ps->nr + 1, sizeof(*w.silhouette)),
		.of = calloc(ps->nr + 1, sizeof(*w.of)),
	};
	int kinds = -ENOMEM, next = 0;

	find_comparable(ps);
	if (w.points && w.group && w.silhouette && w.of) {
		for (unsigned i = 0; i < ps->nr; i++)
			put_mix(&ps->list[i], w.points + (size_t)i * NR_MIX);
		kinds = cluster(w.points, ps->nr, NR_MIX, w.group, w.silhouette);
		for (unsigned i = 0; i < ps->nr; i++) {
			ps->list[i].kind = w.group[i];
			ps->list[i].silhouette = w.silhouette[i];
		}
	}
	for (int kind = 0; kind < kinds && next >= 0; kind++)
		next = second_stage(ps, &w, kind, next);
	free(w.points);
	free(w.group);
	free(w.silhouette);
	free(w.of);
	return kinds < 0 ? kinds : next < 0 ? next : 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

static void add_row(struct sonde_rows *out, const struct profile *p)
{
	union sonde_cell row[8 + NR_MIX + NR_RATES];
	double known = p->all_ns > 0 ? (double)p->known_ns / (double)p->all_ns : 0;
	unsigned n = 0;

	row[n++] = cell_str(p->vm);
	row[n++] = cell_str(p->run);
	row[n++] = cell_int(p->group + 1);
	row[n++] = cell_int(figure_round(p->silhouette * 1e6));
	row[n++] = cell_int(p->vcpus);
	for (unsigned i = 0; i < NR_MIX; i++)
		row[n++] = cell_int(figure_round(p->mix[i] * known * 1e6));
	row[n++] = cell_int(figure_round((1 - known) * 1e6));
	for (unsigned i = 0; i < NR_RATES; i++)
		row[n++] = cell_int(p->has_rates ? figure_round(p->rates[i]) : -1);
	row[n++] = cell_str(!p->has_rates ? "" : p->is_ns ? "per s" : "per 10^9 cycles");
	row[n++] = cell_str(p->note);
	rows_add(out, row);
}

static const struct sonde_column columns[] = {
	{"vm", "VM", SONDE_COL_STRING, "virtual machine"},
	{"history", "HISTORY", SONDE_COL_STRING,
	 "the history that it is in, when there are several"},
	{"group", "GROUP", SONDE_COL_INT, "VMs of one group behave alike"},
	{"silhouette", "FIT", SONDE_COL_PPM,
	 "its silhouette: near 100% it belongs to its group clearly, below 0 it does not; 0 where "
	 "all "
	 "are of one group; a group of more than 100 counts by 100 of it"},
	{"vcpus", "VCPUS", SONDE_COL_INT, "that it has"},
	{"guest_mode", "GUEST MODE", SONDE_COL_PPM,
	 "of the window, once per vCPU, as all that follows: its code ran, VMs in it included"},
	{"kvm", "KVM", SONDE_COL_PPM, "its hypervisor worked for it"},
	{"vmm", "VMM", SONDE_COL_PPM, "its VMM's user space handled an exit"},
	{"halting", "HALTING", SONDE_COL_PPM,
	 "its hypervisor polled, put it to sleep or woke it up"},
	{"nesting", "NESTING", SONDE_COL_PPM,
	 "hypervisors worked for the vCPUs it was on, or for VMs in it"},
	{"host_irq", "HOST IRQ", SONDE_COL_PPM, "hardirqs and softirqs of its hosts"},
	{"total_steal", "TOTAL STEAL", SONDE_COL_PPM,
	 "steal time and inherited steal, at least: more may be in what is unknown"},
	{"timer", "TIMER", SONDE_COL_PPM, "it waited for a timer"},
	{"disk", "DISK", SONDE_COL_PPM, "for a disk"},
	{"network", "NETWORK", SONDE_COL_PPM, "for the network"},
	{"ipi", "IPI", SONDE_COL_PPM, "for another of its vCPUs"},
	{"device", "DEVICE", SONDE_COL_PPM, "for another device"},
	{"other", "OTHER", SONDE_COL_PPM, "for its VMM, its host, or what is not known"},
	{"unknown", "UNKNOWN", SONDE_COL_PPM, "not known, or after its end"},
	{"exits", "EXITS/S", SONDE_COL_INT,
	 "exits per second of a vCPU's time; -1 in a history whose unit is cycles, beside one in ns"},
	{"waits", "WAITS/S", SONDE_COL_INT, "waits, likewise"},
	{"wait_length", "WAIT", SONDE_COL_NS, "mean length of a wait, likewise"},
	{"unit", "RATES", SONDE_COL_STRING,
	 "of these rates: per s, or, when the unit of no history is ns, per 10^9 cycles"},
	{"note", "NOTE", SONDE_COL_STRING,
	 "of its steal, \"at least\": a part of its time, or of what a host around it ran, is not "
	 "known, as in table vcpu_time"},
};

static int add_groups(struct sonde_rows *out, struct profiles *ps)
{
	int ret = find_groups(ps);

	for (unsigned i = 0; i < ps->nr && !ret; i++)
		add_row(out, &ps->list[i]);
	return ret;
}

static int find_vms(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		    struct error *err)
{
	struct profiles ps = {0};
	struct error inner = {0};
	int ret = add_run(&ps, out, history, "", begin, end, &inner);

	if (!ret)
		ret = add_groups(out, &ps);
	free(ps.list);
	return ret ? fail(err, ret, "%s", *inner.text ? inner.text : "out of memory") : 0;
}

const struct table_def vms_table = {
	.public =
		{"vms", "What VMs are like",
		 "the profile of each VM: what its vCPUs' time went into, how often it exits and waits; "
		 "and groups "
		 "of VMs that are alike",
		 columns, ARRAY_SIZE(columns)},
	.find = find_vms,
};

int sonde_vms(struct sonde_rows **out, struct sonde_history *const *histories,
	      const char *const *names, unsigned nr, struct sonde_error *err)
{
	struct sonde_rows *f = calloc(1, sizeof(*f));
	struct error inner = {0};
	struct profiles ps = {0};
	struct error text = {0};
	int ret = f ? 0 : -ENOMEM;

	*out = NULL;
	if (f)
		f->table = &vms_table.public;
	for (unsigned i = 0; i < nr && !ret; i++) {
		int64_t begin, end;

		sonde_history_traced(histories[i], &begin, &end);
		query_begin(histories[i], vms_table.public.name);
		ret = add_run(&ps, f, histories[i], names[i], begin, end, &inner);
		ret = query_end(histories[i], ret, &inner);
	}
	if (!ret)
		ret = add_groups(f, &ps);
	free(ps.list);
	if (!ret && f->no_memory)
		ret = -ENOMEM;
	if (ret) {
		sonde_rows_free(f);
		fail(&text, ret, "%s", *inner.text ? inner.text : "out of memory");
		return query_error(err, ret, &text);
	}
	*out = f;
	return 0;
}
