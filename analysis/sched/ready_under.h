/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_READY_UNDER_H
#define ANALYSIS_SCHED_READY_UNDER_H

#include "analysis/sched/cpu_users.h"

/*
 * When code of a machine's CPU could not run because a vCPU under it was ready to run and did not.
 *
 * A vCPU may be off the CPU by its own parent's doing, or because the vCPU of that parent which it
 * was on did not run itself, and so on outwards.  The first on this way that was ready is named;
 * cpu_users_walk() tells what the physical CPU ran meanwhile.
 */
struct ready_stretch {
	int64_t vcpu; /* CPU row of the vCPU that was ready, -1: none was */
	ns_t from, to;
};

struct ready_list {
	struct ready_stretch *list; /* owned; all of the time asked for, in order */
	size_t nr, room;
};

/* What was ready in [from, to) under CPU @number of @machine.  0 or a negative errno; to be
 * released in either case. */
int ready_under_find(struct ready_list *out, struct cpu_users *users, unsigned machine, int number,
		     ns_t from, ns_t to);
void ready_under_release(struct ready_list *r);

#endif
