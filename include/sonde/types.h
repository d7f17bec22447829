/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_TYPES_H
#define SONDE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What every part of libsonde shares.
 *
 * Time.  All times and durations are int64_t nanoseconds on the clock of the physical machine
 * (L0), unless sonde_run_ticks_are_ns() says that its clock is a cycle counter of unknown rate:
 * then they are its cycles.
 *
 * Rows.  Machines, CPUs, threads and so on are known by row numbers, counted from 0; -1 stands for
 * "unknown" or "none" wherever a row number is expected.
 *
 * Errors.  Functions that can fail return a negative errno and, when the caller hands in a
 * struct sonde_error, a sentence that says what went wrong.  The library never prints and never
 * exits.
 *
 * Threads.  A run, a set of facts and an event stream may each be used by one thread at a time;
 * different ones are independent of each other.
 */
#define SONDE_API __attribute__((visibility("default")))

#define SONDE_TIME_MIN INT64_MIN
#define SONDE_TIME_MAX INT64_MAX

/** struct sonde_error - why a call failed
 * @code: negative errno, 0 when nothing failed
 * @text: one sentence for a person, without a full stop
 */
struct sonde_error {
	int code;
	char text[512];
};

/** sonde_version - version of the library that is running, "0.1.0" */
SONDE_API const char *sonde_version(void);

#endif
