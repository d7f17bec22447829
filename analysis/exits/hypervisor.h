/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_EXITS_HYPERVISOR_H
#define ANALYSIS_EXITS_HYPERVISOR_H

#include "analysis/keyed.h"
#include "query/kept.h"

/*
 * What hypervisors did on physical CPUs, summed up by VM, hypervisor and exit reason.  The history
 * keeps it for the window that was asked for last: several tables ask for the same.
 *
 * An exit is one stay of a vCPU outside guest mode, as one hypervisor sees it.  Interrupt handlers
 * and other threads cut it into several hypervisor intervals; they are one exit until code inside
 * that vCPU has run.  Its reason is the last one said: a nested hypervisor works for a while before
 * its own trace says why.  What it did before and after a time of which nothing is known counts as
 * one where nothing tells them apart: there may be one more.
 */
/* Exits of one VM's vCPUs with one reason, handled by one machine. */
enum hypervisor_key { HYPERVISOR_VM, HYPERVISOR_BY, HYPERVISOR_REASON, HYPERVISOR_NR_CELLS };

struct hypervisor_exits {
	const char *name; /* of the reason */
	uint64_t count, maybe_more;
	ns_t time_ns;
	ns_t longest_ns;
};

struct hypervisor_work {
	struct kept kept;
	ns_t begin, end;
	struct keyed exits; /* struct hypervisor_exits */
};

/* The history's own: it is there until the next question. */
int hypervisor_work_get(const struct hypervisor_work **out, struct sonde_history *history,
			ns_t begin, ns_t end, struct error *err);

#endif
