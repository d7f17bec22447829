/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_THREAD_SCAN_H
#define ANALYSIS_SCHED_THREAD_SCAN_H

#include "analysis/sched/thread_waits.h"

/*
 * Looks for the waits that thread_waits.h tells of: all that touch the window, by thread row and
 * time.  Their states are those that other tables read, too (thread_tracks.h); what CPUs they were
 * on is read as it comes, and not kept.  0, -errno.
 */
int thread_scan(struct sonde_history *history, ns_t begin, ns_t end,
		void (*each)(const struct thread_wait *wait, void *data), void *data);

#endif
