/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_STEAL_STOLEN_RULES_H
#define RECORD_STEAL_STOLEN_RULES_H

#include "base/types.h"
#include "channel/stolen.h"

/*
 * What the operator of a host allows sonde share to tell, and to whom.
 *
 * That another VM ran, and when to the nanosecond, is a side channel between tenants.  So nobody is
 * told who is not named, and what depends on others is told in steps of time.
 */
#define STOLEN_RESOLUTION_NS 1000000

struct vm_info;
struct vms;

struct stolen_rules {
	const char *const *vms; /* VMs that may listen: names, UUIDs, or pid:NUMBER */
	unsigned nr_vms;
	bool all_vms;		/* any may */
	uint64_t resolution_ns; /* 1 and more */
};

/*
 * Whether that VM is one of those.  A name counts as the VMM's command line has it; what looks like
 * a UUID, or a process, is no name.  Anybody who may start a VM can call it what he likes, so a
 * text that means VMs of two processes means none.  @all: the machine's VMs.
 */
bool stolen_may_listen(const struct stolen_rules *rules, const struct vm_info *vm,
		       const struct vms *all);

/* Whether @text may mean a VM at all: a process has a number. */
bool stolen_is_name(const char *text);

/* The first text that means VMs of two processes, and which; NULL: none does. */
const char *stolen_ambiguous(const struct stolen_rules *rules, const struct vms *all, int pids[2]);

/* What depends on others; the rest, how long a vCPU's own exits took, its guest can measure. */
bool stolen_is_of_others(enum st_class kind);

/*
 * A stretch in steps: it begins where a step does, and is a number of steps long, 0 included.  What
 * of its length is not told yet is kept in *@rest_ns, of this vCPU and class, and told with the
 * next ones: sums are never off by a step, and a stretch's begin and length are not by more than
 * one.
 */
void stolen_coarsen(const struct stolen_rules *rules, int64_t *begin_ns, int64_t *length_ns,
		    uint64_t *rest_ns);

#endif
