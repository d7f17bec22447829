/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_CPU_USERS_H
#define ANALYSIS_SCHED_CPU_USERS_H

#include "query/kept.h"
#include "query/intervals.h"
#include "analysis/sched/use_sums.h"

/*
 * Who had a CPU: what the physical CPU behind any machine's CPU ran.
 *
 * A vCPU's CPU is the one of its parent that its thread is on, lost, or waits for; that
 * may be a vCPU itself, so this goes outwards to the physical one.
 *
 * All analyses of a history ask the same one, so that what one has read the next need not read
 * again.
 */
struct cpu_users {
	struct kept kept;
	struct sonde_history *history;
	struct interval_cache cache;
	int *parents; /* owned, per machine: the one that it runs in */
	const struct culprits *culprits;
	struct use_sums sums; /* of cpu_users_sum() */
};

/* One piece of the time asked for, in order. */
struct cpu_user {
	int64_t on;	 /* CPU row of the physical CPU, -1 unknown */
	int64_t context; /* row of what ran there, -1 unknown */
	ns_t from, to;
};

/* The same, many at a time: intervals of the physical CPU's `runs` that cover [from, to), of which
 * only the first and the last may stick out. */
struct cpu_run {
	int64_t on;		   /* CPU row of the physical CPU, -1 unknown */
	struct interval_list list; /* the value is a context's row + 1, 0 unknown */
	ns_t from, to;
	bool is_last; /* that is all for now that is asked of this CPU */
};

/* Where its @i-th interval ends, as far as it was asked for. */
static inline ns_t cpu_run_to(const struct cpu_run *run, unsigned i)
{
	return i + 1 < run->list.nr ? run->list.begins[i + 1] : run->to;
}

/* Leaves out its first @nr intervals. */
static inline void cpu_run_skip(struct cpu_run *run, unsigned nr)
{
	if (nr)
		run->from = cpu_run_to(run, nr - 1);
	run->list.begins += nr;
	run->list.values += nr;
	run->list.nr -= nr;
}

/* Adds those that end until @until to @sums; returns how many they are. */
unsigned cpu_run_add(const struct cpu_run *run, ns_t until, const struct culprits *culprits,
		     struct use_sums *sums);

/* The history's own, made when first asked for; it goes with the history.  0 or -ENOMEM. */
int cpu_users_get(struct cpu_users **out, struct sonde_history *history);

/* Who had CPU @number of @machine in [from, to); @each returns false to stop.  It must not ask for
 * what ran on a physical CPU.  Negative @number: the CPU is not known. */
int cpu_users_runs(struct cpu_users *u, unsigned machine, int number, ns_t from, ns_t to,
		   bool (*each)(const struct cpu_run *run, void *data), void *data);

/* The same, piece by piece. */
int cpu_users_walk(struct cpu_users *u, unsigned machine, int number, ns_t from, ns_t to,
		   bool (*each)(const struct cpu_user *user, void *data), void *data);

/*
 * The same, summed up: culprits in the order in which each was met first; where the CPU is a
 * vCPU's, separately for each time that it was on one physical CPU.  For who does not ask when each
 * piece was.
 */
int cpu_users_sum(struct cpu_users *u, unsigned machine, int number, ns_t from, ns_t to,
		  bool (*each)(const struct cpu_use *use, void *data), void *data);

/* For who will follow all CPUs through a window: reads what physical CPUs ran in it at once.  0,
 * -errno. */
int cpu_users_hold(struct cpu_users *u, ns_t begin, ns_t end);

/* Until when all of that is at hand, NS_MAX when there is nothing to read; @begin: it is too much.
 */
ns_t cpu_users_held(struct cpu_users *u, ns_t begin);

/* The parent's CPU that a vCPU (a CPU row) is on at @t, or that it lost; when it was woken and
 * waits for its turn, the one that it then runs on.  -1: not known, as where events were lost since
 * it was on it or until it runs; -ENOMEM. */
int cpu_users_parent_cpu(struct cpu_users *u, int64_t vcpu, ns_t t);

#endif
