/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_COMPARE_H
#define ANALYSIS_COMPARE_H

#include "analysis/facts.h"

/*
 * What a run measured, as many named series: each measure's value in each of COMPARE_SLICES equal
 * parts of the window.  A measure is told by machine, vCPU and what it is, in words, so that those
 * of two runs can be matched.
 */
#define COMPARE_SLICES 24

struct measure {
	const char *machine; /* in measures.arena */
	int cpu;	     /* -1: of the whole machine */
	const char *what;
	bool is_share; /* values are parts of 1; else they are counts per second */
	double values[COMPARE_SLICES];
};

struct measures {
	struct arena arena;
	struct measure *list; /* owned */
	size_t nr, room;
};

int measures_take(struct measures *m, struct sonde_run *run, ns_t begin, ns_t end,
		  struct error *err);
void measures_release(struct measures *m);

/* The measure of that name in another run, NULL when it has none. */
const struct measure *measures_find(const struct measures *m, const struct measure *like);

#endif
