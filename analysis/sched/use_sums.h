/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_USE_SUMS_H
#define ANALYSIS_SCHED_USE_SUMS_H

#include "analysis/culprit.h"

/* All that one culprit had of a CPU. */
struct cpu_use {
	int64_t on;	 /* CPU row of the physical CPU, of the longest piece; -1 unknown */
	uint32_t number; /* of the culprit */
	uint32_t count;	 /* of stretches: those that touch are one, whatever vCPU they were for; 0:
			    it goes on */
	ns_t time_ns;	 /* in all */
	ns_t longest_ns, longest_at; /* the longest piece, the first such */
	bool several_cpus;	     /* it was met on others, too */
};

/* The same of one physical CPU, being summed up: what is looked at for each piece, and no more. */
struct use_sum {
	ns_t time_ns;
	ns_t longest_ns, longest_at;
	uint32_t count;
	uint32_t who; /* culprits.who of the culprit */
};

/* Adds what the same one had at another time, before or after. */
static inline void use_sum_add(struct use_sum *sum, const struct use_sum *more)
{
	sum->count += more->count;
	sum->time_ns += more->time_ns;
	if (more->longest_ns > sum->longest_ns ||
	    (more->longest_ns == sum->longest_ns && more->longest_at < sum->longest_at)) {
		sum->longest_ns = more->longest_ns;
		sum->longest_at = more->longest_at;
	}
}

/*
 * Sums of all culprits: one place for each culprit of the history, and a list of those that were
 * met, so that what is summed up over and over costs no more than what is met.
 *
 * Zero-initialise, use_sums_release() at the end.
 */
struct use_sums {
	struct use_sum *uses; /* owned, by culprit; .longest_ns 0 = not met */
	struct use_met {
		ns_t at; /* begin of its first piece */
		uint32_t number;
	} * met; /* owned: those met, in order */
	unsigned nr;
	uint32_t last_who; /* whose (culprits.who) the last piece was; UINT32_MAX: none touches the
			      next one */
};

/* 0 or -ENOMEM. */
int use_sums_init(struct use_sums *s, const struct culprits *culprits);

/* Adds a piece, which is not empty, behind those that were added before. */
static inline void use_sums_add(struct use_sums *s, uint32_t number, ns_t from, ns_t to)
{
	struct use_sum *use = &s->uses[number];
	ns_t length = to - from;

	use->count += s->last_who != use->who;
	use->time_ns += length;
	s->last_who = use->who;
	if (length <= use->longest_ns)
		return;
	if (!use->longest_ns) /* its first piece is longer than nothing */
		s->met[s->nr++] = (struct use_met){from, (uint32_t)(use - s->uses)};
	use->longest_ns = length;
	use->longest_at = from;
}

/* Tells all, in the order in which they were met; they begin anew.  @on: CPU row that it was.
 * False: @each did not want the rest. */
bool use_sums_take(struct use_sums *s, int64_t on,
		   bool (*each)(const struct cpu_use *use, void *data), void *data);

/* They begin anew. */
void use_sums_clear(struct use_sums *s);

void use_sums_release(struct use_sums *s);

#endif
