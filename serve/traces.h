/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TRACES_H
#define SERVE_TRACES_H

#include "base/error.h"
#include "sonde/events.h"
#include "sonde/run.h"

/*
 * The traces that a history was made of, for those who want its events: what sonde_analyze() was
 * told, as far as the history knows it.  The topology is not guessed again: the history has it.
 */
struct traces {
	struct sonde_inputs inputs; /* for sonde_events_open() */
	const char **guests;	    /* owned, each owned: NAME=PATH */
	const char **parents;	    /* owned, each owned: CHILD=PARENT */
	unsigned nr;		    /* of both */
};

/* -ENOENT: one of them is not where it was.  To be released in any case. */
int traces_find(struct traces *t, struct sonde_run *run, struct error *err);
void traces_release(struct traces *t);

#endif
