/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_EXITS_H
#define QUERY_EXITS_H

#include "query/query.h"

/*
 * Exits, one by one: from the event that says that a vCPU's thread left guest mode to its next VM
 * entry.  That is what `perf kvm stat` measures: real time, be the thread on a CPU or not; a halt
 * lasts as long as the vCPU sleeps.
 */
struct exit_kind {
	int64_t reason; /* as the hardware gives it */
	int64_t isa;	/* enum exit_isa; 0 not told */
	int64_t serves; /* CPU row: whose code ran until then; -1: of a guest of the vCPU, not known
			   which */
	int64_t user_reason; /* why KVM went on to the VMM's user space; -1: it did not */
};

struct exit_interval {
	ns_t begin, end;
	ns_t user_begin;    /* from when on in the VMM's user space, if it came there */
	uint32_t vcpu;	    /* CPU row: whose thread it is */
	uint32_t kind;	    /* row of table "exit": its reason, and whose code ran */
	uint32_t user_kind; /* the same: why it came to the VMM's user space; 0: it did not */
};

/* A row of table "exit", as long as the history is open; NULL when there is none, or it says that
 * nothing is known. */
static inline const struct exit_kind *query_exit_kind(const struct sonde_history *history,
						      int64_t row)
{
	return row > 0 && row < history->nr_exit_kinds ? &history->exit_kinds[row] : NULL;
}

/*
 * Calls @each with the exits of @vcpu (a CPU row) that begin in [begin, end) and whose end was
 * seen, in order, some hundred at a time; false stops.  0 or -errno.
 */
int exits_scan(struct sonde_history *history, int64_t vcpu, ns_t begin, ns_t end,
	       bool (*each)(const struct exit_interval *list, size_t nr, void *data), void *data);

/* Its name, "" when it has none. */
const char *exit_name(const struct sonde_history *history, int64_t isa, int64_t reason);
bool exit_is_halt(const struct sonde_history *history, int64_t isa, int64_t reason);
/* Why the VMM's user space was called: "IO", "MMIO" ... */
const char *user_exit_name(int64_t reason);

#endif
