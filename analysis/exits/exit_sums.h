/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_EXITS_EXIT_SUMS_H
#define ANALYSIS_EXITS_EXIT_SUMS_H

#include "query/exits.h"
#include "analysis/keyed.h"
#include "analysis/longest.h"
#include "query/kept.h"
#include "base/histogram.h"

/*
 * All that is summed up of exits, from one pass over them: several tables ask for the same window
 * one after the other, so the history keeps the sums of the last window that was asked for, and the
 * longest exits.
 */
#define EXITS_KEPT (1u << 18) /* 40 bytes each */

/* The longest of several; of equal ones the one that exits_scan() tells first, vCPU by vCPU. */
struct exit_longest {
	ns_t length_ns, at;
	uint32_t vcpu; /* CPU row */
};

enum reason_key { REASON_VM, REASON_FROM, REASON_NR, REASON_ISA, REASON_NR_CELLS };

struct exit_reason {
	struct histogram *lengths; /* owned */
	uint64_t to_user;
	ns_t user_ns;
	struct exit_longest longest;
};

enum cause_key { CAUSE_THREAD, CAUSE_FROM, CAUSE_NR, CAUSE_ISA, CAUSE_NR_CELLS };

struct exit_cause {
	uint64_t count;
	ns_t total_ns, user_ns;
	struct exit_longest longest;
};

/*
 * A nested guest's exit comes to the host of its host.  That either handles it, or gives it to its
 * host, which executes a number of instructions that exit, too, before it enters its guest again
 * (VMRUN, VMRESUME): all these belong to that one exit.
 */
struct exit_nest {
	uint64_t nested; /* exits of the nested guest's code */
	uint64_t handed; /* of them, those that its own hypervisor had to handle */
	uint64_t follow; /* exits of its hypervisor meanwhile */
	ns_t nested_ns, follow_ns;
	ns_t handling_ns; /* from an exit that is handed on to the next entry of the nested guest */
};

struct exit_sums {
	struct kept kept;
	ns_t begin, end;
	struct keyed reasons; /* struct exit_reason */
	struct keyed causes;  /* struct exit_cause */
	/* Owned, per machine: as the inner one; then per machine again: of its guests of which it
	 * is not known which one it was. */
	struct exit_nest *nests;
	/* Owned: all exits before which there were less than LONGEST_MAX that took as long and were
	 * no halts. */
	struct exit_interval *list;
	size_t nr, room;
	bool all_kept; /* they were not more than EXITS_KEPT */
	struct longest longest;
};

/* The history's own: it is there until the next question. */
int exit_sums_get(const struct exit_sums **out, struct sonde_history *history, ns_t begin, ns_t end,
		  struct error *err);
/* Calls @each with the exits that may be among the LONGEST_MAX longest that are no halts, in the
 * order of vCPUs and times; others may be told, too.  False stops. */
int exit_sums_longest(const struct exit_sums *s, struct sonde_history *history,
		      bool (*each)(const struct exit_interval *list, size_t nr, void *data),
		      void *data);

#endif
