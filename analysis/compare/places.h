/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_COMPARE_PLACES_H
#define ANALYSIS_COMPARE_PLACES_H

#include "analysis/compare/match_machines.h"
#include "base/map.h"

/*
 * What the machines of two histories are to each other, by what they are called in a comparison.
 * Each has many measures, and a host many machines: all is found out once for each machine, in one
 * pass.
 */
struct place {
	const char *name;
	int64_t before, after; /* rows in either history; -1: it has none of that name */
	/* Only a VM's own trace names its threads: both histories have it, or neither.  So it is
	 * where one has no such machine, and none that this may be. */
	bool same_view;
	/* What is around a machine shows in its time: its host's trace tells when it did not run. */
	bool same_place;
	/* Not, where it has fewer vCPUs in one history, which has a VM beside it that the other has
	 * not: they may be in that one, for want of what tells whose they are. */
	bool is_whole;
	uint32_t next; /* the next of the same hash, counted from 1; 0 none */
};

struct places {
	struct place *list; /* owned */
	size_t nr;
	struct map by_hash; /* -> the last of the list that has it, counted from 1 */
};

/* For places_release() in any case; @match must outlive it.  0 or -ENOMEM. */
int places_make(struct places *p, const struct match *match);
void places_release(struct places *p);

/* Never NULL: of a name that there is not, one that neither history has. */
const struct place *places_find(const struct places *p, const char *name);

#endif
