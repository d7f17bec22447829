/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/error.h"
#include "base/stop.h"

#include <stdio.h>

struct sonde_history;

/*
 * A history in the formats of other programs: docs/export.md says what is in each, and how they are
 * opened.
 *
 * All are written as the history is read, from its begin to its end; memory does not depend on its
 * length, only on how many machines, CPUs, threads and names there are.  Times are the history's:
 * ns on L0's clock. -EINTR: options->stop asked to end, and what was written is not whole.
 */
enum export_rows {
	EXPORT_CPUS = 1,  /* what really runs on each physical CPU */
	EXPORT_VCPUS = 2, /* vCPUs' states, what they wait for, who has the CPU when they want it */
	EXPORT_THREADS = 4, /* threads' states, and who wakes whom */
	EXPORT_VALUES = 8,  /* over time: use of CPUs, rate of exits, clocks' bounds */
};
#define EXPORT_ALL 15u

struct export_options {
	int64_t begin, end;   /* a window inside the history */
	unsigned rows;	      /* EXPORT_* */
	const bool *machines; /* by row: those whose rows are wanted; NULL = all */
	struct stop *stop;    /* asked now and then; may be NULL */
};

/* Each: 0, or a negative errno and a sentence. */
int export_perfetto(FILE *out, struct sonde_history *history, const struct export_options *o,
		    struct error *err);
int export_chrome(FILE *out, struct sonde_history *history, const struct export_options *o,
		  struct error *err);

/* A line for each interval of each row. */
int export_csv(FILE *out, struct sonde_history *history, const struct export_options *o,
	       struct error *err);

/* Into a directory that is there, and empty. */
int export_ctf(const char *dir, struct sonde_history *history, const struct export_options *o,
	       struct error *err);

#endif
