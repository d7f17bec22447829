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
 * (L0), unless sonde_history_ticks_are_ns() says that its clock is a cycle counter of unknown rate:
 * then they are its cycles.
 *
 * Rows.  Machines, CPUs, threads and so on are known by row numbers, counted from 0; -1 stands for
 * "unknown" or "none" wherever a row number is expected.
 *
 * One type per notion: time and duration int64_t; row of a table int64_t; number of a CPU int, as
 * its machine counts; number of a thread or process int64_t; attribute uint32_t; how many things a
 * caller's array has unsigned; rows of an answer size_t.
 *
 * Errors.  Functions that can fail return a negative errno and, when the caller hands in a
 * struct sonde_error, a sentence that says what went wrong.  The library never prints and never
 * exits.  -ENOMEM is possible wherever an error is; comments list the others.  On an error, *out of
 * a function that opens or computes is NULL, and there is nothing to free.
 *
 * Ownership.  What a function opens or computes is the caller's, who closes or frees it with the
 * function of that name.  Text that is handed out belongs to what it was asked of.
 *
 * Cost.  Where a comment says nothing a call takes constant time and no memory.
 *
 * Versions.  Programs go on working with a newer library of the same soname.  Functions keep their
 * meaning; enums and the columns of rows get new members at the end only.  Structs that a caller
 * holds one of (rows, inputs, results) get new members at the end only, and every function that
 * takes one is called, inline, with the size that the caller was built with: the library fills in
 * no more than that, zeroes what it does not know, and takes what an older caller does not have for
 * zero.  Other languages call those functions, whose names end in _sized, themselves.  Structs that
 * come in arrays or are handed to the caller's functions never change: sonde_interval,
 * sonde_pixels, sonde_time_share, sonde_frame, sonde_column, sonde_table, sonde_cell.
 *
 * Threads.  A history with its rows, and an event stream, may each be used by one thread at a time;
 * different ones are independent of each other.  sonde_history_again() makes one for a thread.
 */
#define SONDE_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define SONDE_BEGIN extern "C" {
#define SONDE_END }
#else
#define SONDE_BEGIN
#define SONDE_END
#endif

SONDE_BEGIN

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

/** struct sonde_watcher - how a long call talks to its caller; any of them may be NULL
 * @progress: now and then, what the call is doing and its share done, 0..1, or -1: not known.
 *            Returns false to stop.  Called in the thread that made the call.
 * @notice: something the user should hear about (a trace that was skipped, and why)
 * @data: the caller's, handed to both
 */
struct sonde_watcher {
	bool (*progress)(const char *phase, double done, void *data);
	void (*notice)(const char *text, void *data);
	void *data;
};

/** sonde_version - version of the library that is running, "0.1.0" */
SONDE_API const char *sonde_version(void);

SONDE_END

#endif
