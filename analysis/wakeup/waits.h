/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_WAKEUP_WAITS_H
#define ANALYSIS_WAKEUP_WAITS_H

#include "query/kept.h"
#include "query/intervals.h"

/*
 * The waits of vCPUs, one by one, with what ended each: from the exit by which a vCPU halted (or
 * from when its thread fell asleep for another reason) to its next VM entry.
 *
 *	begin    asleep          woken      ran      entry
 *	  | halted |  its thread   | ready to |  its   | guest code
 *	  |        |   sleeps      | run      | thread |
 *
 * A hypervisor may poll for a while before it lets the thread sleep; when that is enough, it never
 * sleeps: then @polled, and asleep, woken and ran are @entry.  Else it may sleep several times: then
 * @asleep is the begin of the first, @woken the end of the last.
 *
 * Of a nested vCPU whose host has no trace no thread is seen (@no_thread).  Then @woken is when the
 * vCPU that it is on went on last, and @ran is the same: how long its thread waited for a CPU after
 * that is not known.
 */
struct wait {
	int64_t vcpu; /* CPU row */
	int64_t wake; /* row of table "wake": what ended it; -1 it goes on, or that is not known */
	ns_t begin, asleep, woken, ran, entry;
	ns_t time_ns; /* slept, or when @polled its thread had a CPU to poll on, within the window
		       */
	bool polled;
	bool no_thread;
	bool ended;  /* the entry was seen; else @entry is the end of the history, where events were
			lost,  or where its thread ended */
	bool unseen; /* before the entry was seen its host lost events: when it ran is not known,
			and, where it was not seen to sleep, not when it slept: @asleep is then
			@begin */
};

/*
 * Several tables are made of the same waits: a history keeps those of the window asked for last, up
 * to WAITS_MAX (72 bytes each).
 */
#define WAITS_MAX (1u << 18)

struct waits {
	struct kept kept;
	ns_t begin, end;
	struct wait *list; /* owned */
	size_t nr, room;
	struct waits_of {
		bool known;
		size_t first, nr;
	} * vcpus; /* owned, per CPU row */
};

/* Calls @each for every wait of @vcpu that touches [begin, end), in order; false stops.  One that
 * halted in it, but slept first at @end or later, does not.  @each may not ask for waits itself. */
int waits_scan(struct interval_cache *cache, int64_t vcpu, ns_t begin, ns_t end,
	       bool (*each)(const struct wait *w, void *data), void *data);

/* What a wait is put down to: all of "unknown" for one without a known end. */
void wait_wake(const struct sonde_history *history, const struct wait *w, struct sonde_wake *out);

#endif
