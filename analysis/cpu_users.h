/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_CPU_USERS_H
#define ANALYSIS_CPU_USERS_H

#include "analysis/strip.h"

/*
 * Who had a CPU: what the physical CPU behind any machine's CPU ran.
 *
 * A vCPU's CPU is the one of its parent that its thread is on, or was on last and waits for; that
 * may be a vCPU itself, so this goes outwards to the physical one.
 *
 * All analyses of a run ask the same one, so that what one has read the next need not read again.
 */
struct cpu_users {
	struct sonde_run *run;
	struct strips strips;
	attr_t *thread_cpus; /* owned, per CPU row */
	int *parents;	     /* owned, per machine: the one that it runs in */
};

/* One piece of the time asked for, in order. */
struct cpu_user {
	int64_t on;	 /* CPU row of the physical CPU, -1 unknown */
	int64_t context; /* row of what ran there, -1 unknown */
	ns_t from, to;
};

/* The run's own, made when first asked for; it goes with the run.  0 or -ENOMEM. */
int cpu_users_get(struct cpu_users **out, struct sonde_run *run);
void cpu_users_free(struct cpu_users *u);

/* Who had CPU @number of @machine in [from, to); @each returns false to stop. */
int cpu_users_walk(struct cpu_users *u, unsigned machine, int number, ns_t from, ns_t to,
		   bool (*each)(const struct cpu_user *user, void *data), void *data);

/* The parent's CPU that a vCPU (a CPU row) is on at @t, or was on last; -1 unknown. */
int cpu_users_parent_cpu(struct cpu_users *u, int64_t vcpu, ns_t t);

#endif
