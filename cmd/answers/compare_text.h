/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_COMPARE_TEXT_H
#define CMD_ANSWERS_COMPARE_TEXT_H

#include "analysis/compare/compare.h"
#include "cmd/common/command.h"

/*
 * What sonde compare says in words: which machines are one though their names differ; changes,
 * first those that are more than chance; how many measures did not change; what cannot be told,
 * and why; what one of the histories does not have.
 */

/* Of a window of each of two histories; 0 the history before, 1 the one after. */
struct comparison {
	struct sonde_history *histories[2];
	int64_t begin[2], end[2];
	struct match match;
	struct sonde_rows *rows; /* of compare_windows() */
};

/* @top: changes of each kind at most; 0: as many as are usually of use.  EXIT_FAILED: memory is
 * out, and nothing was printed. */
enum exit_code comparison_print(const struct invocation *inv, const struct comparison *p,
				uint64_t top);

#endif
