/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_RUNDIR_H
#define LIBSONDE_INPUTS_RUNDIR_H

#include "base/arena.h"
#include "base/error.h"

/*
 * The manifest of a run directory (docs/formats/run.md), as far as analysis needs it: which folder
 * is which machine's, which machine it was reached through, and what went wrong on the way.
 *
 * The manifest may come with a run from elsewhere: folders are names in the run directory, nothing
 * else; text is only shown.
 */
#define RUNDIR_MANIFEST "run.json"

struct rundir_machine {
	const char *name;
	const char *parent; /* name; NULL for the host */
	const char *folder; /* whole path */
	int vm_pid;	    /* the process of its parent that it is; 0 not told */
};

struct rundir {
	struct rundir_machine *machines; /* in the arena, like all text */
	unsigned nr;
	struct arena arena;
};

/*
 * 1: @path is a run directory, and *out is its manifest; what it says went wrong has been added to
 * @problems.  0: it is none, or (a problem says so) its manifest cannot be used.  -ENOMEM.
 */
int rundir_read(struct rundir *out, const char *path, struct problems *problems, struct error *err);
void rundir_release(struct rundir *r);

#endif
