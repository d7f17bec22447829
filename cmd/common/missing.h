/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_MISSING_H
#define CMD_COMMON_MISSING_H

#include "cmd/common/command.h"

/*
 * What is missing, in the first lines of an answer: a reader is to know it before the answer, not
 * behind it.  Each line says what, on which CPU of which machine, from when to when, and what tells
 * more.  Nothing is printed where nothing is missing.
 */

/* That the history is not complete; of a window: the time that is not known, the longest gap of the outermost machine that has one,
 * whether all of it was on a VM whose host has no trace, how many traces are left out. */
void missing_print(const struct invocation *inv, struct sonde_history *history, int64_t begin,
		   int64_t end);

/* Of these only the longest gap, and how many more there are. */
void missing_print_gaps(const struct invocation *inv, struct sonde_history *history, int64_t begin,
			int64_t end);

/* Whether it tells of more than a share of the time: of a gap, a trace left out, a host without,
 * a history that is not complete. */
bool missing_is_told(const struct sonde_history *history, int64_t begin, int64_t end);

/* The same of one run of several: each line begins with @lead. */
void missing_print_of(const struct invocation *inv, const char *lead, struct sonde_history *history,
		      int64_t begin, int64_t end);

/* Members of an object: complete, left_out, gaps that touch the window. */
void missing_json(struct json *j, const struct sonde_history *history, int64_t begin, int64_t end);

/* Of a moment: the gaps that it is in. */
void missing_print_at(const struct invocation *inv, struct sonde_history *history, int64_t at);

#endif
