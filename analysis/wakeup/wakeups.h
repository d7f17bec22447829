/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_WAKEUP_WAKEUPS_H
#define ANALYSIS_WAKEUP_WAKEUPS_H

#include "analysis/wakeup/waits.h"

/*
 * Wake-ups through all layers: from the moment in which a vCPU's thread is woken to that in which the
 * guest's thread runs that all this was for.
 *
 *	begin   woken        ran         entry           runnable         running
 *	  | below |   to CPU   |  to entry  | guest's kernel  | its run queue  |
 *
 * Below: a nested vCPU's thread is woken by a kernel that had to be woken itself.  Then @begin is when
 * the outermost of these was, else it is @woken.
 *
 * A vCPU that had been woken for something else may be awake still when the interrupt comes that
 * wakes the thread (@late).  Then @begin is when the guest began to handle that one, and so are @woken,
 * @ran and @entry: nobody had to be woken for it.
 */
struct wakeup {
	const struct wait *wait;
	struct sonde_wake wake; /* when @late, of that interrupt */
	unsigned level;		/* of the VM: 1, or more when nested */
	int64_t thread;		/* row: the guest's thread that ran; -1 none, or it has no trace */
	bool late;
	ns_t begin, woken, ran, entry;
	ns_t runnable; /* -1: @thread could run before, or there is none */
	ns_t running;  /* @thread: when it ran; without one: the entry */
};

/*
 * Calls @each for every wait in [begin, end) that has ended there and in which the vCPU's thread
 * slept, outer machines first; false stops.
 *
 * Or, if @awake, for every thread of a guest that ran first in [begin, end) after an interrupt on
 * its vCPU had woken it, while another thread of the guest had the vCPU: so it had not halted, and
 * no wait tells of it.  All of these are @late, of an
 * @wait only vcpu is set.
 */
int wakeups_scan(struct sonde_history *history, bool awake, ns_t begin, ns_t end,
		 bool (*each)(const struct wakeup *w, void *data), void *data);

/* Their sums per VM and cause, and if they are not very many they themselves, which a history keeps
 * for the window that was asked for last. */
struct wakeup_sums;

#endif
