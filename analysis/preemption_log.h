/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_PREEMPTION_LOG_H
#define ANALYSIS_PREEMPTION_LOG_H

#include "analysis/preemption.h"

/*
 * What preemption_sum() tells of a window: first of the preemption at hand, then of all, kept for the next that asks for
 * the same: several facts are made of the same preemptions, one after the other.  A run keeps the one of the window
 * asked for last; one with more than PREEMPTION_LOG_MAX uses (40 bytes each) is not kept, and scanned again.
 * The one that tells pieces one by one (preemption_scan()) finds in it where to look.
 */
#define PREEMPTION_LOG_MAX (1u << 20)

struct preemption_log {
	ns_t begin, end; /* of the window */
	struct preemption_logged {
		struct preemption p; /* .from, .to: the part of it that lies in the window */
		unsigned machine;    /* whose CPU that waited for */
		int cpu;	     /* its number, -1 unknown */
		size_t first;	     /* of its uses; the others follow, up to the next one's */
	} *list; /* owned */
	struct preemption_use *uses; /* owned */
	size_t nr_list, list_room, nr, room;
	bool too_long; /* only the one at hand is in it */
};

/* Whether there is one, of that window. */
static inline bool preemption_log_is_of(const struct preemption_log *log, ns_t begin, ns_t end)
{
	return log && log->begin == begin && log->end == end;
}

/* Tells all of @log in order, when it is of that window; false: it is not, or there is none. */
bool preemption_log_tell(const struct preemption_log *log, ns_t begin, ns_t end,
			 preemption_sum_fn *each, void *data);

/* A new one; NULL: no memory. */
struct preemption_log *preemption_log_new(ns_t begin, ns_t end);

/* What is added from now on is of @p; it waited for that CPU.  0 or -ENOMEM. */
int preemption_log_begin(struct preemption_log *log, const struct preemption *p, unsigned machine,
			 int cpu);

/* 0, -ENOMEM, or -ENOSPC: what is there of the one at hand has to be told first, and is forgotten then. */
int preemption_log_add(struct preemption_log *log, const struct cpu_use *use);
void preemption_log_forget(struct preemption_log *log);

/* Tells what was added of the one at hand; false: @each did not want more. */
bool preemption_log_tell_last(const struct preemption_log *log, preemption_sum_fn *each, void *data);

/* Puts @log in the place of the run's own, when it holds all that the scan told. */
void preemption_log_keep(struct preemption_log **kept, struct preemption_log *log, bool whole);
void preemption_log_free(struct preemption_log *log);

#endif
