/* SPDX-License-Identifier: Apache-2.0 */
/* What kept which thread from running, summed up from thread_delay.h's scan. */
#include "analysis/culprit.h"
#include "analysis/facts.h"
#include "analysis/keyed.h"
#include "analysis/thread_delay.h"

#include <stdlib.h>
#include <string.h>

enum key { KEY_THREAD, KEY_IN_GUEST, KEY_MACHINE, KEY_CULPRIT, KEY_MODE, NR_KEY };

struct sum {
	ns_t total_ns, longest_ns, longest_at, last_end;
	uint64_t count;
};

struct sums {
	struct sonde_run *run;
	struct keyed keys;
	struct memo memo; /* numbers of keys */
	struct sum *list; /* owned, per key */
	size_t room;
	bool no_memory;
};

static bool find_sum(struct sums *s, const struct thread_delay *d, size_t *at)
{
	uint64_t owner = (uint64_t)d->thread * 2 + d->in_guest;
	struct culprit culprit;
	int64_t found;

	if (memo_get(&s->memo, d->context, owner, at))
		return true;
	culprit = culprit_of(s->run, d->context);
	found = keyed_get(&s->keys, (int64_t[NR_KEY]){d->thread, d->in_guest, culprit.machine,
						      culprit.thread, culprit.mode});
	if (found < 0 || !keyed_room(&s->keys, (void **)&s->list, &s->room, sizeof(*s->list)))
		return false;
	*at = (size_t)found;
	memo_put(&s->memo, d->context, owner, *at);
	return true;
}

static bool add_delay(const struct thread_delay *d, void *data)
{
	struct sums *s = data;
	struct sum *sum;
	size_t at;

	if (!find_sum(s, d, &at)) {
		s->no_memory = true;
		return false;
	}
	sum = &s->list[at];
	/* Stretches of one culprit that touch are one. */
	sum->count += !sum->count || sum->last_end != d->from;
	sum->last_end = d->to;
	sum->total_ns += d->to - d->from;
	if (d->to - d->from > sum->longest_ns) {
		sum->longest_ns = d->to - d->from;
		sum->longest_at = d->from;
	}
	return true;
}

static int find_delays(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
		       struct error *err)
{
	struct sums s = {.run = run, .keys.nr_cells = NR_KEY};
	int ret = memo_init(&s.memo, sonde_nr_contexts(run));

	if (ret)
		return fail(err, ret, "out of memory");
	ret = thread_delay_scan(run, begin, end, add_delay, &s, err);
	out->no_memory = s.no_memory;
	for (size_t i = 0; i < s.keys.nr && !ret; i++) {
		const int64_t *key = keyed_cells(&s.keys, i);
		const struct sum *sum = &s.list[i];
		struct sonde_thread t;

		sonde_thread(run, key[KEY_THREAD], &t);
		facts_add(out, (union sonde_cell[]){
				       cell_int(t.machine),
				       cell_int(key[KEY_THREAD]),
				       cell_int(key[KEY_IN_GUEST]),
				       cell_int(key[KEY_MACHINE]),
				       cell_int(key[KEY_CULPRIT]),
				       cell_int(key[KEY_MODE]),
				       cell_int(sum->total_ns),
				       cell_int(share_ppm(sum->total_ns, end - begin)),
				       cell_int((int64_t)sum->count),
				       cell_int(sum->longest_ns),
				       cell_int(sum->longest_at),
			       });
	}
	free(s.list);
	keyed_release(&s.keys);
	memo_release(&s.memo);
	facts_sort(out, "total");
	return ret;
}

static const struct sonde_column columns[] = {
	{"machine", "MACHINE", SONDE_COL_MACHINE, "whose thread"},
	{"thread", "THREAD", SONDE_COL_THREAD, "who was kept from running"},
	{"in_guest", "RUNNING", SONDE_COL_BOOL,
	 "yes: its kernel took it for running, but its vCPU was off the CPU; no: it waited for a "
	 "CPU "
	 "of its own machine"},
	{"culprit_machine", "CULPRIT IN", SONDE_COL_MACHINE,
	 "machine whose code the physical CPU ran instead"},
	{"culprit", "CULPRIT", SONDE_COL_THREAD, "thread that ran instead; unknown for interrupts"},
	{"mode", "AS", SONDE_COL_MODE, "\"task\" for all a thread does but a hypervisor's work"},
	{"total", "TIME", SONDE_COL_NS, "how long in all"},
	{"share", "OF RUN", SONDE_COL_PPM, "of the window's length"},
	{"count", "TIMES", SONDE_COL_INT, "how often"},
	{"longest", "LONGEST", SONDE_COL_NS, "longest stretch"},
	{"longest_at", "LONGEST AT", SONDE_COL_TIME, "when that was"},
};

const struct analysis thread_delay_analysis = {
	{"thread_delay", "What kept threads from running",
	 "time in which a thread wanted to run, by what the physical CPU ran that it waited for",
	 columns, ARRAY_SIZE(columns)},
	find_delays,
};
