/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_EXITS_H
#define ANALYSIS_EXITS_H

#include "analysis/run.h"

/*
 * Exits, one by one: from the event that says that a vCPU's thread left guest mode to its next VM
 * entry.  That is what `perf kvm stat` measures: real time, be the thread on a CPU or not; a halt
 * lasts as long as the vCPU sleeps.
 */
struct exit_kind {
	int64_t reason;	     /* as the hardware gives it */
	int64_t isa;	     /* 1 Intel, 2 AMD, 0 not told */
	int64_t serves;	     /* CPU row: whose code ran until then, -1 unknown */
	int64_t user_reason; /* why KVM went on to the VMM's user space; -1: it did not */
};

struct exit_interval {
	int64_t vcpu; /* CPU row: whose thread it is */
	int64_t from; /* CPU row of the vCPU whose code ran: that one, or one nested in it */
	int64_t reason, isa, user_reason;
	ns_t begin, end;
	ns_t user_begin; /* from when on in the VMM's user space; @end: never */
};

/* A row of table "exit", as long as the run is open; NULL when there is none, or it says that nothing is known. */
const struct exit_kind *run_exit_kind(const struct sonde_run *run, int64_t row);

/*
 * Calls @each for every exit of @vcpu (a CPU row) that begins in [begin, end) and whose end was
 * seen, in order; false stops.
 */
int exits_scan(struct sonde_run *run, int64_t vcpu, ns_t begin, ns_t end,
	       bool (*each)(const struct exit_interval *e, void *data), void *data);

/* Its name, "" when it has none. */
const char *exit_name(const struct sonde_run *run, int64_t isa, int64_t reason);
bool exit_is_halt(const struct sonde_run *run, int64_t isa, int64_t reason);
/* Why the VMM's user space was called: "IO", "MMIO" ... */
const char *user_exit_name(int64_t reason);

#endif
