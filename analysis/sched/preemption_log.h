/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_PREEMPTION_LOG_H
#define ANALYSIS_SCHED_PREEMPTION_LOG_H

#include "query/kept.h"
#include "analysis/sched/preemption.h"

/*
 * What a history keeps of the preemptions of the window asked for last, for several tables are made
 * of them, one after the other: each part of each of them, so that states are followed once, unless
 * they are more than PREEMPTION_LOG_MAX (88 bytes each); and what preemption_sum() tells: little
 * more than table preemption_victim has rows, however long the window is.
 */
#define PREEMPTION_LOG_MAX (1u << 19)

/* Whose uses are summed up together. */
struct preemption_owner {
	int64_t vcpu, victim;
	bool quota; /* it was not allowed to run */
};

struct preemption_log {
	struct kept kept;
	ns_t begin, end;	  /* of the window */
	struct preemption *parts; /* owned */
	size_t nr_parts, parts_room;
	struct preemption_owner *owners; /* owned */
	struct preemption_use *uses;	 /* owned, in the order in which each was met first */
	uint32_t nr_owners, owners_room, nr_uses, uses_room;
	struct map by_owner, by_use; /* numbers of these */
	bool has_parts, has_sums;    /* all of them */
	bool too_long;		     /* parts are not kept */
};

/* The history's own, of that window, a new one when it had none; NULL: no memory. */
struct preemption_log *preemption_log_get(struct sonde_history *history, ns_t begin, ns_t end);

/* Adds a part, or forgets all of them and is too long from then on. */
void preemption_log_add(struct preemption_log *log, const struct preemption *p);
void preemption_log_forget_parts(struct preemption_log *log);

/* The number of whose sums those of a part are; -ENOMEM. */
int64_t preemption_log_owner(struct preemption_log *log, const struct preemption *p);

/* Adds what one culprit had of a part.  0 or -ENOMEM. */
int preemption_log_sum(struct preemption_log *log, uint32_t owner, const struct cpu_use *use);
void preemption_log_forget_sums(struct preemption_log *log);

#endif
