/* SPDX-License-Identifier: Apache-2.0 */
/* What kept which thread from running, by thread_waits.h's sums and preemption.h's scan. */
#include "analysis/rows.h"
#include "analysis/keyed.h"
#include "analysis/sched/preemption.h"
#include "analysis/sched/thread_waits.h"
#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

/* How long one culprit kept a thread from running. */
struct delay {
	int64_t thread;
	const struct culprit *by; /* one of those that are the same one, on whatever vCPU */
	ns_t total_ns, longest_ns, longest_at;
	uint64_t count;
	bool in_guest;
};

struct delays {
	struct rows_log log;
	struct delay *list; /* owned */
	size_t nr, room;
	const struct sonde_thread *threads; /* the history's */
	ns_t window_ns;
};

/* Of delays being summed up: where each is. */
struct sums {
	struct delays *to;
	struct memo memo;  /* by culprits.who */
	struct map by_key; /* those in guests, by thread and culprits.who */
	const struct culprits *culprits;
	struct victim victim;
	bool no_memory;
};

static struct delay *new_delay(struct sums *s, int64_t thread, bool in_guest, uint32_t number)
{
	struct delays *d = s->to;

	s->no_memory = !room_for_one(&d->list, d->nr, &d->room);
	if (s->no_memory)
		return NULL;
	d->list[d->nr] = (struct delay){
		.thread = thread, .in_guest = in_guest, .by = &s->culprits->list[number]};
	return &d->list[d->nr++];
}

static void add_use(struct delay *d, const struct cpu_use *use)
{
	d->count += use->count;
	d->total_ns += use->time_ns;
	if (use->longest_ns > d->longest_ns ||
	    (use->longest_ns == d->longest_ns && use->longest_at < d->longest_at)) {
		d->longest_ns = use->longest_ns;
		d->longest_at = use->longest_at;
	}
}

/* All that a thread waited behind is told at once: what the memo does not know of it is new. */
static void add_wait_use(struct sums *s, int64_t thread, const struct cpu_use *use)
{
	uint32_t who = s->culprits->who[use->number];
	size_t at = s->to->nr;

	if (!memo_get(&s->memo, who, (uint64_t)thread, &at)) {
		if (!new_delay(s, thread, false, use->number))
			return;
		memo_put(&s->memo, who, (uint64_t)thread, at);
	}
	add_use(&s->to->list[at], use);
}

static void add_waits(struct sums *s, const struct thread_waits *w)
{
	for (size_t i = 0; i < w->nr_waiters; i++) {
		const struct waiter *waiter = &w->waiters[i];

		for (size_t u = waiter->first; u < waiter->first + waiter->nr && !s->no_memory; u++)
			add_wait_use(s, waiter->thread, &w->uses[u]);
	}
}

/* Preemptions come in the order of time, of many threads in turn. */
static struct delay *delay_in_guest(struct sums *s, int64_t thread, uint32_t number)
{
	uint64_t key = (uint64_t)thread << 32 | s->culprits->who[number];
	const uint32_t *at = map_get(&s->by_key, key);
	size_t nr = s->to->nr;

	if (at)
		return &s->to->list[*at];
	s->no_memory = nr == UINT32_MAX || map_put(&s->by_key, key, (uint32_t)nr);
	return s->no_memory ? NULL : new_delay(s, thread, true, number);
}

static bool add_preemption(const struct preemption *p, const struct preemption_use *uses, size_t nr,
			   void *data)
{
	struct sums *s = data;

	if (!victim_counts(&s->victim, p))
		return true;
	for (size_t i = 0; i < nr && !s->no_memory; i++) {
		const struct cpu_use use = preemption_cpu_use(&uses[i]);
		struct delay *d = delay_in_guest(s, p->victim, use.number);

		if (d)
			add_use(d, &use);
	}
	return !s->no_memory;
}

enum delay_column {
	MACHINE,
	THREAD,
	IN_GUEST,
	CULPRIT_MACHINE,
	CULPRIT,
	MODE,
	TOTAL,
	SHARE,
	COUNT,
	LONGEST,
	LONGEST_AT
};

static union sonde_cell delay_cell(const struct rows_log *log, size_t row, unsigned column)
{
	const struct delays *all = (const struct delays *)log;
	const struct delay *d = &all->list[row];

	switch ((enum delay_column)column) {
	case MACHINE:
		return cell_int(all->threads[d->thread].machine);
	case THREAD:
		return cell_int(d->thread);
	case IN_GUEST:
		return cell_int(d->in_guest);
	case CULPRIT_MACHINE:
		return cell_int(d->by->machine);
	case CULPRIT:
		return cell_int(d->by->thread);
	case MODE:
		return cell_int(d->by->mode);
	case TOTAL:
		return cell_int(d->total_ns);
	case SHARE:
		return cell_int(share_ppm(d->total_ns, all->window_ns));
	case COUNT:
		return cell_int((int64_t)d->count);
	case LONGEST:
		return cell_int(d->longest_ns);
	case LONGEST_AT:
		return cell_int(d->longest_at);
	}
	return cell_int(-1);
}

static void delays_release(struct rows_log *log)
{
	struct delays *d = (struct delays *)log;

	free(d->list);
	free(d);
}

static int sum_delays(struct sums *s, struct sonde_history *history, ns_t begin, ns_t end,
		      struct error *err)
{
	const struct thread_waits *waits;
	int ret = thread_waits_get(&waits, history, begin, end, err);

	if (ret)
		return ret;
	add_waits(s, waits);
	return s->no_memory ? 0 : preemption_sum(history, begin, end, add_preemption, s, err);
}

static int find_delays(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		       struct error *err)
{
	struct delays *d = calloc(1, sizeof(*d));
	struct sums s = {.to = d, .victim = {.history = history, .thread = -1}};
	int ret = d && query_threads(history) ? culprits_get(&s.culprits, history) : -ENOMEM;

	if (!ret)
		ret = memo_init(&s.memo, s.culprits->nr);
	if (ret) {
		free(d);
		return fail(err, ret, "out of memory");
	}
	d->log = (struct rows_log){delay_cell, delays_release};
	d->threads = query_threads(history);
	d->window_ns = end - begin;
	ret = sum_delays(&s, history, begin, end, err);
	map_release(&s.by_key);
	memo_release(&s.memo);
	rows_set_log(out, &d->log, d->nr);
	out->no_memory |= s.no_memory;
	rows_sort(out, "total");
	return ret;
}

static const struct sonde_column columns[] = {
	[MACHINE] = {"machine", "MACHINE", SONDE_COL_MACHINE, "whose thread"},
	[THREAD] = {"thread", "THREAD", SONDE_COL_THREAD, "which was delayed"},
	[IN_GUEST] =
		{"in_guest", "RUNNING", SONDE_COL_BOOL,
		 "yes: its kernel took it for running, but its vCPU was off the CPU; no: it waited "
		 "for a CPU of its own machine"},
	[CULPRIT_MACHINE] = {"culprit_machine", "CULPRIT IN", SONDE_COL_MACHINE,
			     "machine whose code the physical CPU ran instead"},
	[CULPRIT] = {"culprit", "CULPRIT", SONDE_COL_THREAD,
		     "thread that ran instead; unknown for interrupts"},
	[MODE] = {"mode", "AS", SONDE_COL_MODE,
		  "\"task\" for all a thread does but a hypervisor's work"},
	[TOTAL] = {"total", "TIME", SONDE_COL_NS, "how long in all"},
	[SHARE] = {"share", "OF WINDOW", SONDE_COL_PPM, "of the window's length"},
	[COUNT] = {"count", "TIMES", SONDE_COL_INT, "how often"},
	[LONGEST] = {"longest", "LONGEST", SONDE_COL_NS, "longest at a time"},
	[LONGEST_AT] = {"longest_at", "LONGEST AT", SONDE_COL_TIME, "when that was"},
};

const struct table_def thread_delay_table = {
	.public =
		{"thread_delay", "Run-queue delay of threads, by culprit",
		 "time in which a thread was runnable and did not run, by what its physical CPU ran",
		 columns, ARRAY_SIZE(columns)},
	.find = find_delays,
};
