/* SPDX-License-Identifier: Apache-2.0 */
/* What kept which thread from running, by thread_waits.h's sums and preemption.h's scan. */
#include "analysis/facts.h"
#include "analysis/keyed.h"
#include "analysis/preemption.h"
#include "analysis/thread_waits.h"

#include <errno.h>

enum key { KEY_THREAD, KEY_IN_GUEST, KEY_WHO, NR_KEY };

struct sum {
	const struct culprit *by; /* one of those that are the same one, on whatever vCPU */
	ns_t total_ns, longest_ns, longest_at;
	uint64_t count;
};

struct sums {
	struct keyed keys;
	struct memo memo; /* numbers of keys, by culprits.who */
	const struct culprits *culprits;
	struct victim victim;
	bool no_memory;
};

static struct sum *find_sum(struct sums *s, int64_t thread, bool in_guest,
			    const struct cpu_use *use)
{
	uint64_t owner = (uint64_t)thread * 2 + in_guest;
	uint32_t who = s->culprits->who[use->number];
	struct sum *sum;
	int64_t found;
	size_t at;

	if (memo_get(&s->memo, who, owner, &at))
		return keyed_sum_at(&s->keys, at);
	found = keyed_get(&s->keys, (int64_t[NR_KEY]){thread, in_guest, who});
	if (found < 0)
		return NULL;
	memo_put(&s->memo, who, owner, (size_t)found);
	sum = keyed_sum_at(&s->keys, (size_t)found);
	sum->by = &s->culprits->list[use->number];
	return sum;
}

static void add_use(struct sums *s, int64_t thread, bool in_guest, const struct cpu_use *use)
{
	struct sum *sum = find_sum(s, thread, in_guest, use);

	s->no_memory = !sum;
	if (!sum)
		return;
	sum->count += use->count;
	sum->total_ns += use->time_ns;
	if (use->longest_ns > sum->longest_ns ||
	    (use->longest_ns == sum->longest_ns && use->longest_at < sum->longest_at)) {
		sum->longest_ns = use->longest_ns;
		sum->longest_at = use->longest_at;
	}
}

static bool add_preemption(const struct preemption *p, const struct preemption_use *uses, size_t nr,
			   void *data)
{
	struct sums *s = data;

	if (!victim_counts(&s->victim, p))
		return true;
	for (size_t i = 0; i < nr && !s->no_memory; i++) {
		const struct cpu_use use = preemption_cpu_use(&uses[i]);

		add_use(s, p->victim, true, &use);
	}
	return !s->no_memory;
}

static void add_waits(struct sums *s, const struct thread_waits *w)
{
	for (size_t i = 0; i < w->nr_waiters; i++) {
		const struct waiter *waiter = &w->waiters[i];

		for (size_t u = waiter->first; u < waiter->first + waiter->nr && !s->no_memory; u++)
			add_use(s, waiter->thread, false, &w->uses[u]);
	}
}

static int find_delays(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
		       struct error *err)
{
	struct sums s = {.keys = {.nr_cells = NR_KEY, .sum_bytes = sizeof(struct sum)},
			 .victim = {.run = run, .thread = -1}};
	const struct sonde_thread *threads = run_threads(run);
	const struct thread_waits *waits;
	int ret = threads ? culprits_get(&s.culprits, run) : -ENOMEM;

	if (!ret)
		ret = memo_init(&s.memo, s.culprits->nr);
	if (ret)
		return fail(err, ret, "out of memory");
	ret = thread_waits_get(&waits, run, begin, end, err);
	if (!ret) {
		add_waits(&s, waits);
		ret = preemption_sum(run, begin, end, add_preemption, &s, err);
	}
	out->no_memory = s.no_memory;
	for (size_t i = 0; i < s.keys.nr && !ret; i++) {
		const int64_t *key = keyed_cells(&s.keys, i);
		const struct sum *sum = keyed_sum_at(&s.keys, i);

		facts_add(out, (union sonde_cell[]){
				       cell_int(threads[key[KEY_THREAD]].machine),
				       cell_int(key[KEY_THREAD]),
				       cell_int(key[KEY_IN_GUEST]),
				       cell_int(sum->by->machine),
				       cell_int(sum->by->thread),
				       cell_int(sum->by->mode),
				       cell_int(sum->total_ns),
				       cell_int(share_ppm(sum->total_ns, end - begin)),
				       cell_int((int64_t)sum->count),
				       cell_int(sum->longest_ns),
				       cell_int(sum->longest_at),
			       });
	}
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
