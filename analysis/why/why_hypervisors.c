/* SPDX-License-Identifier: Apache-2.0 */
/* What hypervisors cost each VM: their work beside its own code, for which exits, and what nesting
 * adds. */
#include "analysis/by_machine.h"
#include "analysis/why/why.h"
#include "base/units.h"

#include <string.h>

/* Rows, and their rows by the VM that they are about. */
struct of_vms {
	struct sonde_rows *rows;
	struct by_machine by_vm;
};

/* @column names the VM. */
static int of_vms_init(struct of_vms *o, struct why *w, const struct table_def *table,
		       const char *column, struct error *err)
{
	int ret = why_rows(w, table, &o->rows, err);

	if (ret)
		return ret;
	ret = by_machine_init_rows(&o->by_vm, w->history, o->rows, column);
	return ret ? fail(err, ret, "out of memory") : 0;
}

static void of_vms_release(struct of_vms *o)
{
	sonde_rows_free(o->rows);
	by_machine_release(&o->by_vm);
}

/* The exits of a machine's code that took its hypervisor the most time on CPUs. */
struct top_exit {
	const char *name;
	int64_t by, count, maybe_more, total;
};

static struct top_exit top_exit(const struct of_vms *reasons, int64_t vm)
{
	const struct sonde_rows *f = reasons->rows;
	struct top_exit top = {0};
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(&reasons->by_vm, vm, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		if (rows_named(f, rows[i], "total").i <= top.total)
			continue;
		top.name = rows_named(f, rows[i], "name").s;
		top.by = rows_named(f, rows[i], "by").i;
		top.count = rows_named(f, rows[i], "count").i;
		top.maybe_more = rows_named(f, rows[i], "maybe_more").i;
		top.total = rows_named(f, rows[i], "total").i;
	}
	return top;
}

/* The longest exit of its code that was no sleep. */
static void point_at_longest(const struct of_vms *exits, int64_t vm, struct verdict *v)
{
	const struct sonde_rows *f = exits->rows;
	ns_t longest = -1;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(&exits->by_vm, vm, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		ns_t max = rows_named(f, rows[i], "max").i;

		if (max <= longest || !strcmp(rows_named(f, rows[i], "name").s, "HLT"))
			continue;
		longest = max;
		v->begin = rows_named(f, rows[i], "max_at").i;
		v->end = v->begin + max;
	}
	if (longest < 0)
		return;
	say(&v->says, " Halts aside, the longest from exit to entry took ");
	say_length(&v->says, longest);
	say(&v->says, ", from ");
	say_time(&v->says, v->begin);
	say(&v->says, ".");
}

static void say_nesting(const struct of_vms *nesting, int64_t vm, struct verdict *v)
{
	const struct sonde_rows *f = nesting->rows;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(&nesting->by_vm, vm, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		int64_t per_thousand = rows_named(f, rows[i], "per_thousand").i;
		char text[UNIT_TEXT];

		if (per_thousand < 0)
			continue;
		say(&v->says, " Each of its %s exits that ",
		    unit_count(text, rows_named(f, rows[i], "reflected").i));
		say_machine(&v->says, rows_named(f, rows[i], "host").i);
		say(&v->says, " had to handle cost %lld.%lld exits to ",
		    (long long)per_thousand / 1000, (long long)per_thousand % 1000 / 100);
		say_machine(&v->says, rows_named(f, rows[i], "by").i);
		say(&v->says, " on average.");
	}
}

static void say_top(const struct top_exit *top, struct verdict *v)
{
	char count[UNIT_TEXT];

	if (!top->count)
		return;
	say(&v->says, " %s of it, ", 2 * top->total > v->cost_ns ? "Most" : "The largest part");
	say_length(&v->says, top->total);
	say(&v->says, ", went into %s%s %s exits, ", top->maybe_more ? "at least " : "",
	    unit_count(count, top->count), *top->name ? top->name : "unnamed");
	say_length(&v->says, top->total / top->count);
	say(&v->says, top->maybe_more ? " or less" : "");
	say(&v->says, " each. Sleep, and what others ran before the entry, is not counted.");
}

static void vm_verdict(struct why *w, const struct sonde_rows *vms, size_t row,
		       const struct of_vms *reasons, const struct of_vms *exits,
		       const struct of_vms *nesting)
{
	int64_t vm = rows_named(vms, row, "vm").i;
	struct top_exit top = top_exit(reasons, vm);
	struct verdict v = why_verdict(w, "hypervisor", vm);
	const char *note = rows_named(vms, row, "note").s;
	char share[UNIT_TEXT], exits_text[UNIT_TEXT];

	v.cost_ns = rows_named(vms, row, "hypervisor").i;
	if (!v.cost_ns)
		return;
	v.by = (struct culprit){top.count ? top.by : rows_named(vms, row, "parent").i, -1,
				SONDE_MODE_HYPERVISOR, -1};
	v.by_ns = top.total;
	v.count = rows_named(vms, row, "exits").i;
	v.cause = top.count ? top.name : "";
	say(&v.says, "Hypervisors used %s", strncmp(note, "at least", 8) ? "" : "at least ");
	say_length(&v.says, v.cost_ns);
	say(&v.says, " of CPU time for ");
	say_machine(&v.says, vm);
	/* A share of what is known is no lower bound: its own code may have run meanwhile, too. */
	say(&v.says, " in %s exits, %s of %s.",
	    unit_count(exits_text, rows_named(vms, row, "exits").i),
	    unit_share(share, rows_named(vms, row, "share").i),
	    *note ? "its known time on a CPU" : "all the time it had a CPU");
	if (!strncmp(note, "no bound", 8))
		say(&v.says,
		    " An untraced host ran meanwhile, too: these times hold that, and have "
		    "no bound.");
	else if (!strncmp(note, "at least, unless", 16))
		say(&v.says,
		    " If the outermost machine is a VM, they hold what its host ran, too.");
	say_top(&top, &v);
	say_nesting(nesting, vm, &v);
	point_at_longest(exits, vm, &v);
	why_add(w, &v);
}

int why_hypervisors(struct why *w, struct error *err)
{
	struct of_vms reasons = {0}, exits = {0}, nesting = {0};
	struct sonde_rows *vms = NULL;
	int ret = why_rows(w, &hypervisor_table, &vms, err);

	if (!ret)
		ret = of_vms_init(&reasons, w, &exit_reason_table, "vm", err);
	if (!ret)
		ret = of_vms_init(&exits, w, &exits_table, "from", err);
	if (!ret)
		ret = of_vms_init(&nesting, w, &nesting_table, "vm", err);
	for (size_t i = 0; !ret && i < sonde_rows_nr(vms); i++)
		vm_verdict(w, vms, i, &reasons, &exits, &nesting);
	sonde_rows_free(vms);
	of_vms_release(&reasons);
	of_vms_release(&exits);
	of_vms_release(&nesting);
	return ret;
}
