/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_THREAD_WAITS_H
#define ANALYSIS_SCHED_THREAD_WAITS_H

#include "query/kept.h"
#include "analysis/sched/cpu_users.h"

/*
 * Threads that waited for a CPU of their own machine: each such wait, and what had the CPU
 * meanwhile, summed up for each thread, and for each of the longest waits.  vCPUs' own threads are
 * left out: preemption.h has them.
 *
 * They are summed up CPU by CPU in the order of time (wait_sweep.h), for many wait for one CPU at a
 * time. A history keeps what was found of the window asked for last; of a window with more than
 * THREAD_WAITS_MAX waits (40 bytes each, and a hundred more while they are summed up), which is
 * summed up in parts, the threads' sums only, and the waits are looked for again.  Of what the
 * longest waits were made of it keeps as much as WAIT_PARTS_MAX (16 bytes each), for many may be
 * equally long; the rest is summed up again.  Of each it keeps the first WAIT_PARTS_EACH that were
 * met.
 */
#define THREAD_WAITS_MAX (1u << 20)
#define WAIT_PARTS_MAX (1u << 20)
#define WAIT_PARTS_EACH 24

struct thread_wait {
	int64_t thread;	 /* row */
	ns_t begin, end; /* of the whole wait */
	unsigned machine;
	int cpu; /* number, in its machine: the one that it then ran on; -1 unknown */
	uint32_t parts,
		nr_parts; /* of one of the longest: in thread_waits.parts; .nr_parts 0: not kept */
};

/* What one culprit had of a long wait, on one physical CPU. */
struct wait_part {
	uint32_t culprit; /* number */
	int32_t on;	  /* CPU row, -1 unknown */
	ns_t time_ns;
};

/* A thread that waited, and what it waited behind: @nr uses from @first on, in the order in which
 * each culprit was met, over all its waits. */
struct waiter {
	int64_t thread;
	ns_t total_ns; /* within the window */
	uint64_t count;
	ns_t worst_begin, worst_end; /* of its longest wait, the first such */
	ns_t last_begin;
	size_t first, nr;
};

struct thread_waits {
	struct kept kept;
	ns_t begin, end;
	struct waiter *waiters;	  /* owned, by thread row */
	struct cpu_use *uses;	  /* owned: of the waiters */
	struct wait_part *parts;  /* owned: of the longest waits */
	struct thread_wait *list; /* owned, by thread row and time */
	size_t nr_waiters, nr_uses, uses_room, nr_parts, parts_room, nr, room;
	bool too_many; /* @list is not kept */
};

/* The history's own, good until another window is asked for. */
int thread_waits_get(const struct thread_waits **out, struct sonde_history *history, ns_t begin,
		     ns_t end, struct error *err);

/* Calls @each for every wait that touches the window, by thread row and time. */
int thread_waits_scan(const struct thread_waits *w, struct sonde_history *history,
		      void (*each)(const struct thread_wait *wait, void *data), void *data,
		      struct error *err);

/* What had the CPU during one of them, within the window, in the order in which it was met first.
 * A culprit may be told of more than once for the same CPU. */
int thread_wait_parts(const struct thread_waits *w, struct sonde_history *history,
		      const struct thread_wait *wait,
		      bool (*each)(const struct wait_part *part, void *data), void *data);

#endif
