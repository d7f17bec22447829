/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_FIND_H
#define LIBSONDE_INPUTS_FIND_H

#include "base/error.h"

/*
 * sonde_find_traces(), which also says what looks like a trace but is none: a *.dat file that is
 * empty or does not begin like one, CTF streams without their metadata, raw parts of a trace that
 * is still recorded or whose recorder was killed, what may not be read. Each is told to @watcher,
 * which may be NULL: its path, and one sentence.  Where there is no trace the first of these is the
 * reason, and only @err says it.
 */
struct find_watcher {
	void (*suspect)(const char *path, const char *text, void *data);
	/* May be NULL.  A directory below the one that is searched has a manifest: 1 when its traces are
	 * listed by that, and are not looked for here; 0, or -ENOMEM. */
	int (*run)(const char *path, void *data);
	void *data;
};

int find_traces(const char *path, const struct find_watcher *watcher, char ***out,
		struct error *err);

/* How much of such a sentence is the reason: the rest says that the trace is left out. */
int find_reason_len(const char *text);

#endif
