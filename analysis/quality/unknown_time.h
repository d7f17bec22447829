/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_QUALITY_UNKNOWN_TIME_H
#define ANALYSIS_QUALITY_UNKNOWN_TIME_H

#include "query/query.h"

/*
 * Why it is not known what physical CPUs did.  Sums over the CPUs of L0, in a window; each moment
 * counts for one of them.
 */
struct unseen {
	ns_t before; /* nothing was known of the CPU yet since the history began */
	ns_t after;  /* nothing is known of it any more until the history ends */
	ns_t lost;   /* from a place where events of it are missing until something is known */
	ns_t never;  /* of CPUs of which nothing is known in the whole history */
	ns_t other;  /* the rest: no event told of a switch */
};

/* @unknown_ns: all of it, as sums of the window tell it.  0 or -ENOMEM. */
int unseen_find(struct unseen *out, struct sonde_history *history, ns_t begin, ns_t end,
		ns_t unknown_ns);

#endif
