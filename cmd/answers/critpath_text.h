/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_CRITPATH_TEXT_H
#define CMD_ANSWERS_CRITPATH_TEXT_H

#include "cmd/common/command.h"

/*
 * A critical path as text: what its time went into, per thread and kind of step, then its longest
 * steps, and what the words for their kinds mean; or in the form that programs for flame graphs
 * read.
 *
 * Both return 0 or -ENOMEM.
 */

struct critpath_asked {
	int64_t thread;	    /* row: whose path */
	int64_t begin, end; /* of the window */
	uint64_t top;	    /* steps at most; 0: as many as are usually of use */
};

/* A path ends where its thread does: true, and @end is there, when that is before @end. */
bool critpath_ended(const struct sonde_history *history, int64_t thread, int64_t *end);

/* @f: of sonde_critical_path(). */
int critpath_print(const struct invocation *inv, struct sonde_history *history,
		   const struct sonde_rows *f, const struct critpath_asked *asked);
int critpath_folded(const struct invocation *inv, struct sonde_history *history,
		    const struct sonde_rows *f);

#endif
