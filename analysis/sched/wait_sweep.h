/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_WAIT_SWEEP_H
#define ANALYSIS_SCHED_WAIT_SWEEP_H

#include "analysis/sched/cpu_users.h"
#include "analysis/sched/culprit_sums.h"

/*
 * What CPUs did while many waited for them, each for some time: all that a CPU did is looked at
 * once, in the order of time.  Between two moments at which somebody begins to wait it is summed up
 * once for all who wait.  Only the piece in which such a moment lies is looked at for each of them,
 * and the one in which somebody ends to wait for that one.  A run of which not all can be held at
 * once is gone through part by part.
 */
struct swept_wait {
	ns_t from, to;
	unsigned machine;
	int cpu;     /* its number there, negative: not known */
	uint32_t id; /* the caller's */
	bool told;   /* by itself, too */
	struct culprit_sums
		*sum; /* what was met in it is added to this; several waits may share it */
};

/* Calls @done at the end of each of the waits that are told with what was met in it; it returns 0,
 * or -errno to stop. Waits are gone through CPU by CPU.  0, -errno. */
int wait_sweep(struct cpu_users *users, const struct swept_wait *waits, size_t nr,
	       int (*done)(const struct swept_wait *wait, const struct culprit_sums *culprits,
			   void *data),
	       void *data);

#endif
