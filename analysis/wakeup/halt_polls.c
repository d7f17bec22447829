/* SPDX-License-Identifier: Apache-2.0 */
/* How long KVM polls for a halted vCPU before its thread blocks: each change of that. */
#include "analysis/rows.h"
#include "query/kept_events.h"

enum { VCPU_ID, NEW_NS, OLD_NS };

static int find_changes(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
			struct error *err)
{
	struct query_kept_event e;

	(void)err;
	for (int64_t row = 0; query_kept_event(history, "halt_poll", begin, end, &row, &e);)
		rows_add(out, (union sonde_cell[]){
				      cell_int(e.at),
				      cell_int(e.vcpu),
				      cell_int(e.arg[OLD_NS]),
				      cell_int(e.arg[NEW_NS]),
				      cell_int(e.thread),
			      });
	return 0;
}

static const struct sonde_column columns[] = {
	{"at", "AT", SONDE_COL_TIME, "when KVM changed it"},
	{"vcpu", "VCPU", SONDE_COL_CPU, "whose halts it is about"},
	{"old_ns", "OLD ns", SONDE_COL_INT, "until then KVM polled so long, in ns"},
	{"new_ns", "NEW ns", SONDE_COL_INT, "from then on; 0: it does not poll"},
	{"thread", "THREAD", SONDE_COL_THREAD, "the vCPU's thread"},
};

const struct table_def halt_poll_table = {
	.public = {"halt_poll", "Changes of halt polling",
		   "each change of the time that KVM polls before a halted vCPU's thread blocks",
		   columns, ARRAY_SIZE(columns)},
	.find = find_changes,
	.topic = "wait",
};
