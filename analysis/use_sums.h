/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_USE_SUMS_H
#define ANALYSIS_USE_SUMS_H

#include "analysis/culprit.h"

/*
 * All that each culprit had of a CPU, being summed up: one place for each culprit of the run, and a list of those that
 * were met, so that what is summed up over and over costs no more than what is met.
 *
 * Zero-initialise, use_sums_release() at the end.
 */
struct cpu_use {
	int64_t on; /* CPU row of the physical CPU, of the longest piece; -1 unknown */
	const struct culprit *by;
	uint32_t number;	     /* of that culprit */
	uint32_t count;		     /* of stretches: those that touch are one, whatever vCPU they were for */
	ns_t time_ns;		     /* in all */
	ns_t longest_ns, longest_at; /* the longest piece, the first such */
	uint32_t who;		     /* culprits.who of that one */
	bool several_cpus;	     /* it was met on others, too */
	uint64_t run;		     /* use_sums.run in which it was met last */
};

struct use_sums {
	struct cpu_use *uses; /* owned, by culprit; .time_ns 0 = not met */
	uint32_t *met;	      /* owned: numbers of those met, in order */
	unsigned nr;
	uint64_t run; /* counts the runs of pieces that were added */
};

/* 0 or -ENOMEM. */
int use_sums_init(struct use_sums *s, const struct culprits *culprits);

/* The first piece of a culprit is about to be added. */
static inline void use_sums_meet(struct use_sums *s, uint32_t number, int64_t on)
{
	struct cpu_use *use = &s->uses[number];

	s->met[s->nr++] = number;
	use->on = on;
	use->several_cpus = false;
	use->count = 0;
	use->longest_ns = 0;
}

/* Tells all, in the order in which they were met; they begin anew.  False: @each did not want the rest. */
bool use_sums_take(struct use_sums *s, bool (*each)(const struct cpu_use *use, void *data),
		   void *data);

/* They begin anew. */
void use_sums_clear(struct use_sums *s);

void use_sums_release(struct use_sums *s);

#endif
