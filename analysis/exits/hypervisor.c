/* SPDX-License-Identifier: Apache-2.0 */
/* What hypervisors cost: time and exits per VM, and per exit reason. */
#include "analysis/exits/hypervisor.h"
#include "analysis/host_notes.h"
#include "analysis/exits/exit_sums.h"
#include "analysis/sched/usage.h"

#include <errno.h>
#include <stdlib.h>

/* ---- per exit reason ----------------------------------------------------------------------- */

/* What all of a VM's costs leave out, these do, too.  By machine, in @out's memory; NULL without any
 * more of that. */
static const char **cost_notes(struct sonde_rows *out, struct sonde_history *history,
			       const struct sonde_rows *costs)
{
	size_t nr = (size_t)sonde_nr_machines(history);
	const char **notes = calloc(nr + 1, sizeof(*notes));

	for (size_t row = 0; notes && row < sonde_rows_nr(costs); row++) {
		int64_t vm = rows_named(costs, row, "vm").i;

		if (vm < 0 || (uint64_t)vm >= nr)
			continue;
		notes[vm] = arena_strdup(&out->arena, rows_named(costs, row, "note").s);
		out->no_memory |= !notes[vm];
	}
	return notes;
}

static int list_exit_reasons(struct sonde_rows *out, struct sonde_history *history,
			     const char **notes, ns_t begin, ns_t end, struct error *err)
{
	const struct hypervisor_work *work;
	int ret = hypervisor_work_get(&work, history, begin, end, err);

	for (size_t i = 0; !ret && i < work->exits.nr; i++) {
		const struct hypervisor_exits *e = keyed_sum_at(&work->exits, i);
		const int64_t *key = keyed_cells(&work->exits, i);
		int64_t vm = key[HYPERVISOR_VM];
		union sonde_cell row[] = {
			cell_int(vm),
			cell_int(key[HYPERVISOR_BY]),
			cell_int(key[HYPERVISOR_REASON]),
			cell_str(e->name),
			cell_int((int64_t)e->count),
			cell_int((int64_t)e->maybe_more),
			cell_int(e->time_ns),
			cell_int(e->count ? e->time_ns / (ns_t)e->count : -1),
			cell_int(e->longest_ns),
			cell_str(vm >= 0 && notes[vm] ? notes[vm] : ""),
		};

		rows_add(out, row);
	}
	rows_sort(out, "total");
	return ret;
}

static int find_exit_reasons(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			     ns_t end, struct error *err)
{
	struct sonde_rows *costs;
	const char **notes;
	int ret = table_rows(&costs, history, &hypervisor_table, begin, end, err);

	if (ret)
		return ret;
	notes = cost_notes(out, history, costs);
	ret = notes ? list_exit_reasons(out, history, notes, begin, end, err)
		    : fail(err, -ENOMEM, "out of memory");
	free(notes);
	sonde_rows_free(costs);
	return ret;
}

static const struct sonde_column reason_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE,
	 "whose vCPU exited; unknown: a nested VM's, not known which"},
	{"by", "HANDLED BY", SONDE_COL_MACHINE, "machine whose hypervisor did the work"},
	{"reason", "CODE", SONDE_COL_INT, "exit reason as the hardware gives it"},
	{"name", "EXIT REASON", SONDE_COL_STRING, "its name"},
	{"count", "EXITS", SONDE_COL_INT,
	 "exits that the window has handling time of, at least; with nesting, each traced hypervisor counts "
	 "its own"},
	{"maybe_more", "MAYBE MORE", SONDE_COL_INT,
	 "so many more there may be: exits before and after a gap "
	 "count once where nothing tells them apart"},
	{"total", "HYPERVISOR", SONDE_COL_NS,
	 "CPU time of KVM and the VMM: sleep and others' work do not count"},
	{"mean", "MEAN", SONDE_COL_NS, "per exit that is counted"},
	{"longest", "LONGEST", SONDE_COL_NS, "longest on one physical CPU"},
	{"note", "NOTE", SONDE_COL_STRING, "what is missing, as in table hypervisor"},
};

const struct table_def exit_reason_table = {
	.public =
		{"exit_reason", "Hypervisor overhead by exit reason",
		 "time in KVM and the VMM's thread between VM exit and VM entry, interrupts and other "
		 "threads not counted",
		 reason_columns, ARRAY_SIZE(reason_columns)},
	.find = find_exit_reasons,
};

/* ---- per VM -------------------------------------------------------------------------------- */

struct vm_cost {
	ns_t guest_ns;	    /* the VM's own code and that of all VMs in it */
	ns_t hypervisor_ns; /* for its vCPUs, by its direct and indirect hosts */
	uint64_t
		exits[SONDE_LAYERS_MAX]; /* by the level of the machine whose hypervisor saw them */
};

struct costs {
	struct sonde_history *history;
	struct vm_cost *list; /* owned, by machine */
};

/* NULL: there is no such machine. */
static struct vm_cost *cost_of(const struct costs *c, int64_t machine)
{
	return machine >= 0 && machine < sonde_nr_machines(c->history) ? &c->list[machine] : NULL;
}

/*
 * Exits of a machine's code, as table "exits" counts them.  With nesting each hypervisor around it
 * that has a trace sees the same exit, so they are counted per level of these, and the one that saw
 * most tells: that is the outermost, to which all of them come, unless its trace has a gap.
 */
static void add_exits(const struct costs *c, const struct exit_sums *s)
{
	for (size_t i = 0; i < s->reasons.nr; i++) {
		const struct exit_reason *sum = keyed_sum_at(&s->reasons, i);
		const int64_t *key = keyed_cells(&s->reasons, i);
		struct vm_cost *cost = cost_of(c, key[REASON_FROM]);
		struct sonde_machine m;

		if (cost && !sonde_machine_get(c->history, key[REASON_VM], &m))
			cost->exits[m.level < SONDE_LAYERS_MAX ? m.level : SONDE_LAYERS_MAX - 1] +=
				sum->lengths->count;
	}
}

static uint64_t most_exits(const struct vm_cost *cost)
{
	uint64_t most = 0;

	for (unsigned level = 0; level < SONDE_LAYERS_MAX; level++)
		most = cost->exits[level] > most ? cost->exits[level] : most;
	return most;
}

/* What runs in a VM runs in all those around it. */
static void add_guest_time(const struct costs *c, const struct usages *u)
{
	for (size_t i = 0; i < u->nr; i++) {
		int64_t machine = u->list[i].context->machine;
		struct sonde_machine m;

		for (; machine > 0 && !sonde_machine_get(c->history, machine, &m);
		     machine = m.parent)
			c->list[machine].guest_ns += u->list[i].time_ns;
	}
}

static void add_hypervisor_time(const struct costs *c, const struct hypervisor_work *work)
{
	for (size_t i = 0; i < work->exits.nr; i++) {
		const struct hypervisor_exits *e = keyed_sum_at(&work->exits, i);
		struct vm_cost *cost = cost_of(c, keyed_cells(&work->exits, i)[HYPERVISOR_VM]);

		if (cost)
			cost->hypervisor_ns += e->time_ns;
	}
}

static int find_costs(const struct costs *c, ns_t begin, ns_t end, struct error *err)
{
	const struct hypervisor_work *work;
	const struct exit_sums *sums;
	const struct usages *u;
	int ret = hypervisor_work_get(&work, c->history, begin, end, err);

	if (!ret)
		add_hypervisor_time(c, work);
	if (!ret)
		ret = exit_sums_get(&sums, c->history, begin, end, err);
	if (!ret)
		add_exits(c, sums);
	if (!ret)
		ret = usages_get(&u, c->history, begin, end, err);
	if (!ret)
		add_guest_time(c, u);
	return ret;
}

/* Where nothing says when it ran, it is not known to have cost nothing. */
static void add_vm(struct sonde_rows *out, const struct costs *c, int64_t vm,
		   struct host_notes *notes)
{
	const struct vm_cost *cost = &c->list[vm];
	ns_t all = cost->guest_ns + cost->hypervisor_ns;
	bool seen = all || !host_notes_unplaced(notes, vm);
	struct sonde_machine m;

	sonde_machine_get(c->history, vm, &m);
	rows_add(out, (union sonde_cell[]){
			      cell_int(vm),
			      cell_int(m.parent),
			      cell_int(seen ? cost->guest_ns : -1),
			      cell_int(seen ? cost->hypervisor_ns : -1),
			      cell_int(seen ? share_ppm(cost->hypervisor_ns, all) : -1),
			      cell_int((int64_t)most_exits(cost)),
			      cell_str(host_notes_of_cost(notes, vm, all)),
		      });
}

static int find_hypervisor(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			   ns_t end, struct error *err)
{
	struct costs c = {history, calloc((size_t)sonde_nr_machines(history) + 1, sizeof(*c.list))};
	struct host_notes notes;
	int ret = host_notes_make(&notes, history, out, begin, end);

	ret = !c.list || ret ? fail(err, -ENOMEM, "out of memory")
			     : find_costs(&c, begin, end, err);
	for (int64_t vm = 1; vm < sonde_nr_machines(history) && !ret; vm++)
		add_vm(out, &c, vm, &notes);
	host_notes_release(&notes);
	free(c.list);
	rows_sort(out, "hypervisor");
	return ret;
}

static const struct sonde_column vm_columns[] = {
	{"vm", "VM", SONDE_COL_MACHINE, "virtual machine"},
	{"parent", "IN", SONDE_COL_MACHINE, "machine it runs in"},
	{"guest", "GUEST MODE", SONDE_COL_NS, "time its code ran, nested VMs included"},
	{"hypervisor", "HYPERVISOR", SONDE_COL_NS,
	 "time in KVM and the VMM on behalf of its vCPUs"},
	{"share", "OVERHEAD", SONDE_COL_PPM,
	 "hypervisor / (hypervisor + guest mode), of what is known"},
	{"exits", "EXITS", SONDE_COL_INT,
	 "exits of its code, as \"exits\" has them; with nesting, each of them once"},
	{"note", "NOTE", SONDE_COL_STRING,
	 "\"at least\": a host of it has no trace, or one that lacks a part (under 1% is not "
	 "noted), so the work of that hypervisor is not known; \"unless M is a VM\" or \"no bound\": "
	 "times may hold, or do, what an untraced host ran; \"not known\": when it ran is not"},
};

const struct table_def hypervisor_table = {
	.public = {"hypervisor", "Hypervisor overhead by VM",
		   "what running each VM cost beside its own code", vm_columns,
		   ARRAY_SIZE(vm_columns)},
	.find = find_hypervisor,
};
