/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_PREEMPTION_LOG_H
#define ANALYSIS_PREEMPTION_LOG_H

#include "analysis/preemption.h"

/*
 * What preemption_sum() told of a window, kept for the next that asks for the same: several facts are made of
 * the same preemptions, one after the other.  A run keeps the one of the window asked for last; one with more than
 * PREEMPTION_LOG_MAX entries (40 bytes each) is not kept, and scanned again.
 * The one that tells pieces one by one (preemption_scan()) finds in it where to look.
 */
#define PREEMPTION_LOG_MAX (1u << 20)

struct preemption_log {
	ns_t begin, end; /* of the window */
	const struct culprits *culprits;
	const struct preemption *now; /* the one at hand, until it has an entry */
	unsigned machine;	      /* whose CPU that waited for */
	int cpu;		      /* its number, -1 unknown */
	struct preemption_logged {
		struct preemption p; /* .from, .to: the part of it that lies in the window */
		unsigned machine;
		int cpu;
	} *list; /* owned: those that have entries */
	struct preemption_log_entry {
		uint32_t of; /* the list */
		uint32_t number, count;
		int32_t on;
		ns_t time_ns, longest_ns, longest_at;
	} *entries; /* owned */
	size_t nr_list, list_room, nr, room;
	bool too_long;
};

/* Whether there is one, of that window. */
static inline bool preemption_log_is_of(const struct preemption_log *log, ns_t begin, ns_t end)
{
	return log && log->begin == begin && log->end == end;
}

/* Tells all of @log in order, when it is of that window; false: it is not, or there is none. */
bool preemption_log_tell(const struct preemption_log *log, ns_t begin, ns_t end,
			 bool (*each)(const struct preemption *p, const struct cpu_use *use,
				      void *data),
			 void *data);

/* A new one; NULL: no memory, the others take that. */
struct preemption_log *preemption_log_new(ns_t begin, ns_t end, const struct culprits *culprits);

/* What is added from now on is of @p, which stays where it is as long as that; it waited for that CPU. */
void preemption_log_begin(struct preemption_log *log, const struct preemption *p, unsigned machine,
			  int cpu);
void preemption_log_add(struct preemption_log *log, const struct cpu_use *use);

/* Puts @log in the place of the run's own, when it holds all that the scan told. */
void preemption_log_keep(struct preemption_log **kept, struct preemption_log *log, bool whole);
void preemption_log_free(struct preemption_log *log);

#endif
