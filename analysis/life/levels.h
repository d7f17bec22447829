/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_LIFE_LEVELS_H
#define ANALYSIS_LIFE_LEVELS_H

#include "analysis/by_machine.h"
#include "query/losses.h"

/*
 * The steps of a kernel's boot, which are those of its initcalls, too ("early" ... "late"), and its
 * first program: by milestones of the machine's own trace, of which a gap may hide some.
 *
 * Zero-initialise, levels_release() at the end.
 */
struct level {
	ns_t at;
	const char *name; /* "" the first program */
	size_t came;	  /* the order of those at the same time */
};

struct levels {
	struct level *list; /* owned, by time */
	size_t nr;
	struct losses losses; /* owned: of the machine */
	bool is_cut;	      /* so much of it that nobody knows how much was overwritten */
};

/* @milestones: rows of all machines.  0 or -ENOMEM. */
int levels_init(struct levels *l, const struct sonde_history *history, int64_t machine,
		const struct by_machine *milestones);
void levels_release(struct levels *l);

/* The last that is known to have begun by @t; NULL none. */
const struct level *levels_at(const struct levels *l, ns_t t);
/* Whether another one may have begun since, by @t. */
bool levels_may_be_later(const struct levels *l, const struct level *level, ns_t t);

/* Nothing comes before it. */
bool level_is_first(const char *level);
/* Levels that follow each other, of which a kernel leaves out none; @next "": the first program. */
bool level_is_next(const char *level, const char *next);

#endif
