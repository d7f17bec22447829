/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of top as cells of tables. */
#include "report/top.h"
#include "analysis/rows.h"
#include "base/units.h"

#include <stdio.h>

static const struct top_column cpu_table[] = {
	{"CPU", "cpu", "", 0, TOP_NAME},
	{"RUNS", "run", "ran", TOP_RUN, TOP_SHARE},
	{"GUESTS", "guest", "VMs", TOP_GUEST, TOP_SHARE},
	{"HYPERV", "hypervisor", "hypervisor", TOP_HYP, TOP_SHARE},
	{"IRQ", "irq", "interrupts", TOP_IRQ, TOP_SHARE},
	{"IDLE", "idle", "idle", TOP_WAIT, TOP_SHARE},
	{"UNKN", "unknown", "not known", TOP_UNKNOWN, TOP_SHARE},
	{"MOSTLY", "mostly", "mostly", 0, TOP_MOSTLY},
};
static const struct top_column vm_table[] = {
	{"VM", "vm", "", 0, TOP_NAME},
	{"RUNS", "run", "ran", TOP_RUN, TOP_SHARE},
	{"HYPERV", "hypervisor", "hypervisor", TOP_HYP, TOP_SHARE},
	{"NESTING", "nesting", "nesting", TOP_NEST, TOP_SHARE},
	{"HOST IRQ", "host_irq", "hardirqs and softirqs of its hosts", TOP_IRQ, TOP_SHARE},
	{"STEAL", "total_steal", "total steal", TOP_OFF, TOP_SHARE},
	{"WAITS", "wait", "waited", TOP_WAIT, TOP_SHARE},
	{"BLOCKED ON", "blocked_on", "blocked on", 0, TOP_WAITS_FOR},
	{"STOLEN BY", "stolen_by", "stolen by", 0, TOP_OFF_BY},
};
static const struct top_column thread_table[] = {
	{"THREAD", "thread", "", 0, TOP_NAME},
	{"RUNS", "run", "ran", TOP_RUN, TOP_SHARE},
	{"HYPERV", "hypervisor", "hypervisor", TOP_HYP, TOP_SHARE},
	{"IRQ", "irq", "interrupts", TOP_IRQ, TOP_SHARE},
	{"DELAY", "run_delay", "run-queue delay", TOP_OFF, TOP_SHARE},
	{"DELAYED BY", "delayed_by", "delayed by", 0, TOP_OFF_BY},
};

const struct top_column *top_columns(enum top_kind kind, unsigned *nr)
{
	switch (kind) {
	case TOP_CPU:
		*nr = ARRAY_SIZE(cpu_table);
		return cpu_table;
	case TOP_THREAD:
		*nr = ARRAY_SIZE(thread_table);
		return thread_table;
	default:
		*nr = ARRAY_SIZE(vm_table);
		return vm_table;
	}
}

static char *cause_text(const struct top_row *row, const struct top_cause *cause, char *buf,
			size_t room)
{
	char share[UNIT_TEXT];

	*buf = '\0';
	if (cause->text && cause->time_ns)
		snprintf(buf, room, "%s %s",
			 unit_share(share, share_ppm(cause->time_ns, row->all_ns)), cause->text);
	return buf;
}

/* What it waited for; or that most of what does not stand in the columns before is after its end,
 * or not known at all. */
static char *wait_text(const struct top_row *row, char *buf, size_t room)
{
	const struct top_cause unknown = {"unknown", row->parts[TOP_UNKNOWN]};
	const struct top_cause gone = {"ended", row->parts[TOP_GONE]};
	const struct top_cause *rest = gone.time_ns > unknown.time_ns ? &gone : &unknown;

	return cause_text(row, rest->time_ns > row->parts[TOP_WAIT] ? rest : &row->waits_for, buf,
			  room);
}

char *top_cell(const struct top_row *row, const struct top_column *column, char *buf, size_t room)
{
	char share[UNIT_TEXT];

	switch (column->what) {
	case TOP_NAME:
		snprintf(buf, room, "%s", row->name);
		break;
	case TOP_SHARE:
		snprintf(buf, room, "%s",
			 row->parts[column->part]
				 ? unit_share(share,
					      share_ppm(row->parts[column->part], row->all_ns))
				 : "-");
		break;
	case TOP_MOSTLY:
		return cause_text(row, &row->mostly, buf, room);
	case TOP_WAITS_FOR:
		return wait_text(row, buf, room);
	case TOP_OFF_BY:
		return cause_text(row, &row->off_by, buf, room);
	}
	return buf;
}
