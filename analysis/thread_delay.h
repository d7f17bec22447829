/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_THREAD_DELAY_H
#define ANALYSIS_THREAD_DELAY_H

#include "analysis/cpu_users.h"
#include "analysis/preemption.h"

/*
 * What kept threads from running that wanted to: they waited for a CPU of their own machine, or
 * their kernel took them for running while their vCPU was off the CPU.  Who had the physical CPU
 * meanwhile is told for both.  vCPUs' own threads are left out: preemption.h has them.
 */
struct thread_delay {
	int64_t thread;	 /* row */
	bool in_guest;	 /* its kernel took it for running; its vCPU was preempted */
	ns_t begin, end; /* of the whole delay */
};

/* Calls @each for all that each culprit had of each delay in [begin, end): those of one delay one
 * after the other, as cpu_users_sum() tells them.  False stops. */
int thread_delay_scan(struct sonde_run *run, ns_t begin, ns_t end,
		      bool (*each)(const struct thread_delay *d, const struct cpu_use *use,
				   void *data),
		      void *data, struct error *err);

/* The same of those only that waited for a CPU of their own machine. */
int thread_waits_scan(struct sonde_run *run, ns_t begin, ns_t end,
		      bool (*each)(const struct thread_delay *d, const struct cpu_use *use,
				   void *data),
		      void *data, struct error *err);

/* A preemption as its victim's delay; false when it has none that counts: an idle thread, a nested
 * vCPU's.  For who looks at preemptions anyway. */
struct victim {
	struct sonde_run *run;
	int64_t thread; /* asked for last; -1 none yet */
	bool counts;
};
bool victim_delay(struct victim *v, const struct preemption *p, struct thread_delay *out);

#endif
