/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_CRITPATH_CRITPATH_H
#define ANALYSIS_CRITPATH_CRITPATH_H

#include "query/query.h"

/*
 * The critical path of a thread in a window: what it waited for, followed backwards from the end.
 *
 * While the thread wants to run, the path is its own.  While it sleeps, the path is that of whoever
 * woke it at the end of the sleep, over the same time; and so on.  An interrupt handler that wakes
 * a thread of a VM leads outwards: to what woke the vCPU that handled it, when that slept itself;
 * to the vCPU's thread, while that was ready until the handler ran, but did not.  Before a thread
 * was made, the path is its maker's.  Where nobody is known to go on with, the time is a wait, for
 * that interrupt or for what is unknown.  The steps partition the window.
 */
enum path_kind {
	PATH_RUNS,	  /* its code really ran */
	PATH_HYPERVISOR,  /* a hypervisor worked for the vCPU it was on */
	PATH_INTERRUPTED, /* handlers of its own machine ran upon it */
	PATH_OFF_CPU,	  /* its kernel took it for running; somebody else had the physical CPU */
	PATH_QUEUED,	  /* it was ready, and waited for a CPU of its machine */
	PATH_WAITS,	  /* asleep, until an interrupt or something unknown woke it */
	PATH_UNKNOWN,
	PATH_NR_KINDS
};

struct path_step {
	ns_t begin, end;
	enum path_kind kind;
	unsigned depth;	 /* how many wake-ups away from the thread asked for */
	int64_t thread;	 /* row: whose part of the path this is, -1 unknown */
	int64_t context; /* row: what the physical CPU ran; PATH_WAITS: what woke it; -1 unknown */
	int64_t on;	 /* CPU row of the physical CPU, -1 */
	int64_t ready;	 /* CPU row of a vCPU under it that was ready and did not run; -1 none */
	int64_t instead; /* PATH_WAITS, with @ready: row of what @on ran instead; -1 unknown */
};

struct path {
	struct path_step *steps; /* owned, in order of time */
	size_t nr, room;
};

int path_find(struct path *p, struct sonde_history *history, int64_t thread, ns_t begin, ns_t end,
	      struct error *err);
void path_release(struct path *p);

#endif
