/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_TIMELINE_H
#define TERM_TIMELINE_H

#include "base/error.h"
#include "sonde/history.h"

#include <stdio.h>

/* The time line of a history, with all of the terminal for it, until the user leaves. */
struct timeline_view {
	FILE *in, *out;	    /* the terminal */
	bool color;	    /* wanted */
	bool safe;	    /* colours for all eyes to begin with */
	int64_t begin, end; /* shown at first */
	const char *filter; /* to begin with; NULL none */
	bool (*stop)(void); /* a signal came */
	/* Called for each bookmark that is left, in the order of time, when the screen has been
	 * given back: nobody else keeps them.  NULL: they are lost. */
	void (*bookmark)(int64_t t, const char *note, void *data);
	void *data;
};

/* 0, -EINTR when stop() ended it, or what went wrong. */
int timeline_run(struct sonde_history *history, const struct timeline_view *view,
		 struct error *err);

#endif
