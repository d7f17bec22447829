/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preemptions one by one.  There are more of them than of anything else that rows list, so they
 * are kept as what a physical CPU ran, one after the other, and which preemption that was in: 16
 * bytes each.
 */
#include "analysis/culprit.h"
#include "analysis/rows.h"
#include "analysis/sched/preemption.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

/* What one physical CPU ran without a gap during a preemption. */
struct stretch {
	int32_t vcpu, on; /* rows, -1 unknown */
	uint32_t victim;  /* row + 1, 0 unknown */
	enum sonde_off why;
	ns_t begin, end; /* of the whole preemption */
	ns_t to;	 /* where the last of its rows ends */
};

struct list {
	struct rows_log log;
	const struct culprits *culprits;
	struct stretch *stretches; /* owned */
	size_t nr_stretches, stretches_room;
	struct list_row {
		ns_t from;	  /* to where the next of that stretch begins */
		uint32_t value;	  /* of the physical CPU's `runs` */
		uint32_t stretch; /* its number */
	} * *blocks; /* owned, each owned: LIST_BLOCK rows each, which stay where they are */
	size_t nr, blocks_room;
	bool no_memory;
};
#define LIST_BLOCK 4096

static struct list_row *row_at(const struct list *l, size_t row)
{
	return &l->blocks[row / LIST_BLOCK][row % LIST_BLOCK];
}

enum list_column { AT, LENGTH, VCPU, VICTIM, ON, MACHINE, CULPRIT, MODE, BEGIN, WHOLE, WHY };

static const struct sonde_column list_columns[] = {
	[AT] = {"at", "AT", SONDE_COL_TIME, "from when on the culprit ran"},
	[LENGTH] = {"length", "FOR", SONDE_COL_NS, "how long"},
	[VCPU] = {"vcpu", "VCPU", SONDE_COL_CPU, "which was preempted"},
	[VICTIM] = {"victim", "VICTIM", SONDE_COL_THREAD, "guest thread that would have run"},
	[ON] = {"on", "ON", SONDE_COL_CPU, "physical CPU it waited for"},
	[MACHINE] = {"culprit_machine", "CULPRIT IN", SONDE_COL_MACHINE,
		     "machine whose code ran instead"},
	[CULPRIT] = {"culprit", "CULPRIT", SONDE_COL_THREAD,
		     "thread that ran instead; unknown for interrupts"},
	[MODE] = {"mode", "MODE", SONDE_COL_MODE, "what the culprit was doing"},
	[BEGIN] = {"preemption_begin", "PREEMPTED AT", SONDE_COL_TIME,
		   "start of the whole preemption"},
	[WHOLE] = {"preemption_length", "PREEMPTED FOR", SONDE_COL_NS,
		   "length of the whole preemption"},
	[WHY] = {"why", "WHY", SONDE_COL_STRING,
		 "why it did not run: slice (expired), wakeup (another was woken that is due "
		 "before it), class (real-time), migrated, throttled (cpu.max), queued (woken, or not "
		 "throttled any more, and it waited for its turn), unknown"},
};

static ns_t row_end(const struct list *l, size_t row)
{
	const struct list_row *next = row + 1 < l->nr ? row_at(l, row + 1) : NULL;
	uint32_t stretch = row_at(l, row)->stretch;

	return next && next->stretch == stretch ? next->from : l->stretches[stretch].to;
}

static union sonde_cell list_cell(const struct rows_log *log, size_t row, unsigned column)
{
	const struct list *l = (const struct list *)log;
	const struct list_row *r = row_at(l, row);
	const struct stretch *s = &l->stretches[r->stretch];
	const struct culprit *by = &l->culprits->list[culprit_number(l->culprits, r->value)];

	switch ((enum list_column)column) {
	case AT:
		return cell_int(r->from);
	case LENGTH:
		return cell_int(row_end(l, row) - r->from);
	case VCPU:
		return cell_int(s->vcpu);
	case VICTIM:
		return cell_int((int64_t)s->victim - 1);
	case ON:
		return cell_int(s->on);
	case MACHINE:
		return cell_int(by->machine);
	case CULPRIT:
		return cell_int(by->thread);
	case MODE:
		return cell_int(culprit_mode(l->culprits, r->value));
	case BEGIN:
		return cell_int(s->begin);
	case WHOLE:
		return cell_int(s->end - s->begin);
	case WHY:
		return cell_str(sonde_off_name(s->why));
	}
	return cell_int(-1);
}

static void list_release(struct rows_log *log)
{
	struct list *l = (struct list *)log;

	for (size_t i = 0; i * LIST_BLOCK < l->nr; i++)
		free(l->blocks[i]);
	free(l->blocks);
	free(l->stretches);
	free(l);
}

static bool add_stretch(struct list *l, const struct stretch *s)
{
	if (l->nr_stretches == UINT32_MAX ||
	    !room_for_one(&l->stretches, l->nr_stretches, &l->stretches_room))
		return false;
	l->stretches[l->nr_stretches++] = *s;
	return true;
}

static bool add_block(struct list *l)
{
	size_t blocks = l->nr / LIST_BLOCK;

	if (!room_for_one(&l->blocks, blocks, &l->blocks_room))
		return false;
	l->blocks[blocks] = malloc(LIST_BLOCK * sizeof(**l->blocks));
	return l->blocks[blocks];
}

/* What ran in the stretch that was added last. */
static bool add_rows(struct list *l, const struct cpu_run *r)
{
	uint32_t stretch = (uint32_t)l->nr_stretches - 1;
	ns_t from = r->from; /* the first may stick out */

	for (unsigned i = 0; i < r->list.nr;) {
		size_t room = LIST_BLOCK - l->nr % LIST_BLOCK;
		unsigned end = r->list.nr - i < room ? r->list.nr : i + (unsigned)room;
		struct list_row *row;

		if (room == LIST_BLOCK && !add_block(l))
			return false;
		row = row_at(l, l->nr);
		l->nr += end - i;
		for (; i < end; from = r->list.begins[++i])
			*row++ = (struct list_row){from, r->list.values[i], stretch};
	}
	return true;
}

static bool add_run(const struct preemption *p, const struct cpu_run *r, void *data)
{
	struct list *l = data;
	struct stretch stretch = {
		.vcpu = (int32_t)p->vcpu,
		.on = (int32_t)r->on,
		.victim = (uint32_t)(p->victim + 1),
		.why = p->why,
		.begin = p->begin,
		.end = p->end,
		.to = r->to,
	};

	l->no_memory = !add_stretch(l, &stretch) || !add_rows(l, r);
	return !l->no_memory;
}

static int find_list(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		     struct error *err)
{
	struct list *l = calloc(1, sizeof(*l));
	int ret = l ? culprits_get(&l->culprits, history) : -ENOMEM;

	if (ret) {
		free(l);
		return fail(err, ret, "out of memory");
	}
	l->log = (struct rows_log){list_cell, list_release};
	ret = preemption_runs(history, begin, end, add_run, l, err);
	rows_set_log(out, &l->log, l->nr);
	out->no_memory |= l->no_memory;
	return ret;
}

const struct table_def preemption_list_table = {
	.public = {"preemption_list", "Preemptions, one by one",
		   "each time in which a vCPU was runnable and something else ran", list_columns,
		   ARRAY_SIZE(list_columns)},
	.find = find_list,
};
