/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_CRITPATH_CRITPATH_WALK_H
#define ANALYSIS_CRITPATH_CRITPATH_WALK_H

#include "analysis/critpath/critpath.h"

struct cpu_users;
struct handovers_list;
struct sonde_context;

/*
 * Following a critical path; private to its files:
 *
 *	critpath.c		a thread's states, backwards; its birth
 *	critpath_runs.c		while it wants to run: who had the CPU
 *	critpath_sleep.c	while it sleeps: who woke it, and what that one waited for
 *
 * Steps are added in any order; path_find() sorts them.  A failure is kept in the finder, and ends
 * it all.
 */

/* Wake-ups that the path is followed through; a file that is no real one may have circles. */
#define PATH_DEPTH_MAX 64

struct path_finder {
	struct path *path;
	struct sonde_history *history;
	struct cpu_users *users;
	const struct handovers_list *handed;
	int ret;
};

#define PATH_NO_WAIT (-2)

/* A thread whose path is being followed. */
struct path_walker {
	struct path_finder *f;
	int64_t thread;
	unsigned machine;
	unsigned depth;
	attr_t state, cpu, waker;
	int first_cpu;
	bool queued;   /* the interval at hand: it waits for a CPU */
	int64_t ready; /* the stretch at hand: the vCPU under it that does not run, -1 */
	int64_t waits; /* the same: context that ends its wait, -1 unknown; PATH_NO_WAIT */
};

struct path_walker path_walker_of(struct path_finder *f, int64_t thread, unsigned depth);

/* Copies @step; false when the finder has failed. */
bool path_add_step(struct path_finder *f, const struct path_step *step);

/* A step of which nothing is known but its kind and, unless -1, a context. */
void path_add(const struct path_walker *w, enum path_kind kind, int64_t context, ns_t begin,
	      ns_t end);

/* Backwards from @end, state by state. */
void path_follow(struct path_finder *f, int64_t thread, unsigned depth, ns_t begin, ns_t end);

/* ---- critpath_runs.c ---- */
/* It runs, or is @queued and runs next at @runs_at. */
void path_wants_to_run(struct path_walker *w, bool queued, ns_t begin, ns_t end, ns_t runs_at);

/* It waits for an interrupt (a context, -1 unknown) that a CPU of a VM (that of @c) handled in the
 * end.  While that was ready and did not run, it could not have handled it: who ran instead is
 * told, be it why this took so long or not. */
void path_add_wait(struct path_walker *w, int64_t context, const struct sonde_context *c,
		   ns_t begin, ns_t end);

/* ---- critpath_sleep.c ---- */
/* It slept in [begin, end), and was woken at its end. */
void path_slept(struct path_walker *w, ns_t begin, ns_t end);

/* The thread that the path goes on with, or -1: an interrupt, or nothing known. */
int64_t path_waking_thread(const struct path_walker *w, const struct sonde_context *c);

#endif
