/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_MISSING_H
#define REPORT_MISSING_H

#include "sonde/history.h"

#include <stddef.h>

/*
 * What is missing of a history: a reader is to know it before an answer, not behind it.  Commands
 * and screens say it in the same words.
 */

#define MISSING_TEXT 160
#define LEFT_OUT_TEXT 48

/* How much of the physical CPUs' time in a window is not known. */
struct not_known {
	int64_t time_ns, all_ns;
};

/* 0 or negative errno: the sums are 0 then. */
int not_known_find(struct not_known *out, struct sonde_history *history, int64_t begin,
		   int64_t end);

/* Gaps that touch the window. */
int64_t missing_gaps(const struct sonde_history *history, int64_t begin, int64_t end);

/* "1 trace left out": LEFT_OUT_TEXT; "" when there is none. */
char *missing_left_out(const struct sonde_history *history, char *buf, size_t room);

/* "1 trace left out, 3 gaps, 0.4% of the CPU time unknown": for a head line, MISSING_TEXT;
 * "not complete" before that, where the history is not; "" when
 * nothing is missing. */
char *missing_line(struct sonde_history *history, int64_t begin, int64_t end, char *buf,
		   size_t room);

#endif
