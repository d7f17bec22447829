/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_REPLACE_H
#define BASE_REPLACE_H

#include "base/error.h"

#include <limits.h>

/*
 * Output that takes its place only when it is good: it is written to a file beside PATH and
 * renamed at the end, so that whatever stood at PATH stays until then, and for good when the work
 * fails.  That file is "PATH.RANDOM.part", which nobody can have put a link or a pipe at before.
 * What is no regular file (a terminal, a pipe, a link to either) is written to directly.
 *
 *	ret = replace_begin(&r, "run.sonde", err);
 *	... write the file r.write_to ...
 *	ret = replace_end(&r, good, err);
 */
struct replace {
	char path[PATH_MAX];	 /* where it will stand, links followed */
	char write_to[PATH_MAX]; /* the same as @path when it is written to directly */
};

/* Nothing is opened yet: -ENAMETOOLONG, or no random numbers. */
int replace_begin(struct replace *r, const char *path, struct error *err);

/* @keep: the file takes its place; else it is removed, and what stood there before stays. */
int replace_end(const struct replace *r, bool keep, struct error *err);

#endif
