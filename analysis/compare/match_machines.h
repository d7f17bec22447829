/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_COMPARE_MATCH_MACHINES_H
#define ANALYSIS_COMPARE_MATCH_MACHINES_H

#include "query/query.h"
#include "base/arena.h"

/*
 * Which machine of one history is which of another.
 *
 * Those that the user says come first.  Then the outermost machines are each other's, whatever they
 * are called, unless one is called as a VM of the other history.  Then those of one name, and by
 * structure: of VMs in machines that are each other's, and that no name tells, those that are alone
 * in having so many vCPUs and so many VMs in them.  What stays open is in one of the runs only.
 */
enum match_by { MATCH_NONE, MATCH_OUTERMOST, MATCH_TOLD, MATCH_NAME, MATCH_STRUCTURE };

struct match {
	struct arena arena;
	const struct sonde_history *before, *after;
	int64_t *
		to_before; /* owned, per machine of the second history: row in the first, -1 none */
	int64_t *to_after; /* owned, the other way round */
	enum match_by *by; /* owned, per machine of the second history */
	/* Owned, per machine of the second history: what it is called in a comparison; its name in
	 * the first history, and no such name where it has none there. */
	const char **names;
};

/* Says that @before of the first history is @after of the second. */
struct match_pair {
	const char *before, *after;
};

/* 0, -ENOENT when a pair names a machine that there is not, or one that is another's, or -ENOMEM.
 * Both histories must outlive it. */
int match_make(struct match *m, const struct sonde_history *before,
	       const struct sonde_history *after, const struct match_pair *pairs, unsigned nr,
	       struct error *err);
void match_release(struct match *m);

#endif
