/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_ROWS_TIME_H
#define BENCH_ROWS_TIME_H

#include <stddef.h>

#include <sonde/sonde.h>

/* How many rows an analysis of the whole history has.  An error ends the program, in both. */
size_t rows_rows(struct sonde_history *history, const char *analysis);

/* The CPU time in ms that it takes on a history that is opened for it; @rows takes their number. */
double rows_time(const char *path, const char *analysis, size_t *rows);

/* The same for all analyses one after the other, on a history that is opened once. */
double rows_time_together(const char *path, size_t *rows);

#endif
