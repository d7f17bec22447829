/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_CULPRIT_H
#define ANALYSIS_CULPRIT_H

#include "query/kept.h"

/* Who ran instead of somebody: a context as a cause, so that what is one cause is one. */
struct culprit {
	int64_t machine; /* row of the machine whose code ran, -1 unknown */
	int64_t thread; /* row, -1 unknown; an interrupt is not the fault of the thread it fell upon
			 */
	int64_t mode;	/* enum sonde_mode; SONDE_MODE_TASK: what a thread did, in user space or in
			   the kernel */
	int64_t vcpu; /* CPU row when the machine is a VM, or of the vCPU a hypervisor serves; -1 */
};

/* The culprits of a history, numbered: analyses ask for each piece of time, and most contexts are
 * one culprit with others. */
struct culprits {
	struct kept kept;
	int64_t nr_contexts;
	uint32_t *numbers; /* owned, by context + 1; culprit 0 is that of an unknown context */
	uint8_t *modes;	   /* owned, the same: enum sonde_mode, each as it is */
	uint32_t nr;
	struct culprit *list; /* owned, by number */
	uint32_t *who;	      /* owned, by number: the same for those that differ in .vcpu alone */
};

/* The history's own, made by the first question.  0 or -ENOMEM. */
int culprits_get(const struct culprits **out, struct sonde_history *history);

/* The culprit's number that stands behind a value of a CPU's `runs`. */
static inline uint32_t culprit_number(const struct culprits *c, uint32_t value)
{
	return c->numbers[value <= c->nr_contexts ? value : 0];
}

/* What it does, not as a class. */
static inline enum sonde_mode culprit_mode(const struct culprits *c, uint32_t value)
{
	return (enum sonde_mode)c->modes[value <= c->nr_contexts ? value : 0];
}

struct culprit culprit_of(struct sonde_history *history, int64_t context);

#endif
