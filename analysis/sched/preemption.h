/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_PREEMPTION_H
#define ANALYSIS_SCHED_PREEMPTION_H

#include "analysis/sched/cpu_users.h"

/*
 * Who ran while a vCPU was ready to run but did not.
 *
 * Walks the `state` of every vCPU; each time it is preempted, looks at the CPU of its parent that
 * its thread lost, or waits for (cpu_users_parent_cpu()), and follows that CPU outwards to the
 * physical one: a vCPU of a nested VM waits for a vCPU of its parent, which may itself be off the
 * CPU.  What the physical CPU ran meanwhile is the culprit, whatever machine it belongs to.
 */
struct preemption {
	int64_t vcpu;	 /* row: who lost the CPU */
	int64_t victim;	 /* thread row: what would have run in it (the vCPU's `task`), -1 unknown */
	ns_t begin, end; /* of the whole preemption */
	bool unseen;	 /* its begin: it was woken, or lost a CPU, which is not known */
	enum sonde_off why; /* it does not run, in the part at hand: a quota is there again before
			       it does */
	unsigned machine;   /* whose CPU its thread waited for */
	int cpu;	    /* number of that, -1 unknown */
	int64_t on;	    /* CPU row of the physical CPU it waited for, -1 unknown */
	int64_t context;    /* row of what ran there instead, -1 unknown */
	ns_t from, to;	    /* when this context ran, within [begin, end) */
};

/* Calls @each for every culprit of every preemption in [begin, end); false stops. */
int preemption_scan(struct sonde_history *history, ns_t begin, ns_t end,
		    bool (*each)(const struct preemption *p, void *data), void *data,
		    struct error *err);

/* The same, many culprits at a time, as cpu_users_runs() tells them: .on, .context, .from and .to
 * of @p are not set. */
int preemption_runs(struct sonde_history *history, ns_t begin, ns_t end,
		    bool (*each)(const struct preemption *p, const struct cpu_run *r, void *data),
		    void *data, struct error *err);

/* The same without culprits: .on and .context are not set, .from and .to tell the part of it that
 * lies in the window and is .why.  By vCPU and time.  @each must not ask for preemptions. */
int preemption_parts(struct sonde_history *history, ns_t begin, ns_t end,
		     bool (*each)(const struct preemption *p, void *data), void *data,
		     struct error *err);

/* Those of one vCPU, which the history does not keep: for who asks for few of very many. */
int preemption_parts_of(struct sonde_history *history, int64_t vcpu, ns_t begin, ns_t end,
			bool (*each)(const struct preemption *p, void *data), void *data);

/* What had the CPU in one whole preemption (.vcpu, .begin and .end of @p), as far as it lies in
 * [begin, end), as cpu_users_sum() tells it, part by part. */
int preemption_uses(struct sonde_history *history, const struct preemption *p, ns_t begin, ns_t end,
		    bool (*each)(const struct cpu_use *use, void *data), void *data);

/* All that one culprit had of the preemptions of one vCPU in which one victim would have run: what
 * of struct cpu_use is kept. */
struct preemption_use {
	uint32_t owner; /* preemption_log.h's */
	uint32_t number, count;
	int32_t on;
	bool several_cpus;
	ns_t time_ns, longest_ns, longest_at;
};

/* Tells these, in the order in which each was met first, several at a time when they are of one
 * vCPU and victim: .vcpu, .victim and .why of @p are set, the latter for no more than that a quota
 * was used up. */
typedef bool preemption_sum_fn(const struct preemption *p, const struct preemption_use *uses,
			       size_t nr, void *data);
int preemption_sum(struct sonde_history *history, ns_t begin, ns_t end, preemption_sum_fn *each,
		   void *data, struct error *err);

/* For who sums up other uses, too. */
static inline struct cpu_use preemption_cpu_use(const struct preemption_use *use)
{
	return (struct cpu_use){
		.on = use->on,
		.number = use->number,
		.count = use->count,
		.time_ns = use->time_ns,
		.longest_ns = use->longest_ns,
		.longest_at = use->longest_at,
		.several_cpus = use->several_cpus,
	};
}

/* Whether the thread that would have run was delayed by it, too: an idle thread was not, and what
 * is a nested vCPU's counts there. */
struct victim {
	struct sonde_history *history;
	int64_t thread; /* asked for last; -1 none yet */
	bool counts;
};
bool victim_counts(struct victim *v, const struct preemption *p);

/* The time of a part (.from, .to) that lies in [begin, end). */
static inline ns_t preemption_within(const struct preemption *p, ns_t begin, ns_t end)
{
	ns_t from = p->from > begin ? p->from : begin, to = p->to < end ? p->to : end;

	return to > from ? to - from : 0;
}

#endif
