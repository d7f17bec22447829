/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_LONGEST_H
#define ANALYSIS_LONGEST_H

#include "base/types.h"

/*
 * How long the longest of many are, of which the LONGEST_MAX longest are told one by one: so that
 * what is shorter need not be kept.  Zero-initialise.
 */
#define LONGEST_MAX 1000

struct longest {
	ns_t heap[LONGEST_MAX]; /* the shortest of them first; as long as there are fewer, the rest
				   are 0 */
};

/* What is longer than that is one of the longest so far. */
static inline ns_t longest_least(const struct longest *l)
{
	return l->heap[0];
}

/* Puts @length in, in the place of the shortest; one that is not longer than that is none of the
 * longest. */
void longest_add(struct longest *l, ns_t length);

#endif
