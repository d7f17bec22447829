/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_ORIGIN_H
#define ANALYSIS_ORIGIN_H

#include "base/error.h"
#include "sonde/analyze.h"
#include "sonde/run.h"

/*
 * The traces that a history was made of, as inputs for sonde_events_open(): which machine each is of
 * and inside which that runs is told, so that it is not guessed again.  Zero-initialised is released,
 * too.
 */
struct origin {
	struct sonde_inputs inputs; /* points into what follows */
	const char **guests;	    /* owned, each owned: NAME=PATH */
	const char **parents;	    /* owned, each owned: CHILD=PARENT */
	unsigned nr;		    /* of both */
};

/* -ENOENT: a trace is not where it was, or may not be read. */
int origin_init(struct origin *o, const struct sonde_run *run, struct error *err);
void origin_release(struct origin *o);

#endif
