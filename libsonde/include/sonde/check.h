/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_CHECK_H
#define SONDE_CHECK_H

#include <sonde/types.h>

SONDE_BEGIN

/** struct sonde_check_result - what was looked at
 * @kind: "history", "trace" or "2 traces"
 * @items: how many; @unit: of what
 */
struct sonde_check_result {
	char kind[32];
	uint64_t items;
	const char *unit;
};

/* What is said of a path: a fault is something broken, missing or lost; a note is good to know. */
enum sonde_finding { SONDE_FAULT, SONDE_NOTE };

SONDE_API int
sonde_check_sized(const char *path,
		  void (*finding)(enum sonde_finding kind, const char *text, void *data),
		  void *data, const struct sonde_watcher *watcher, size_t watcher_bytes,
		  struct sonde_check_result *result, size_t result_bytes, struct sonde_error *err);

/** sonde_check - read a history, a trace or a directory of traces whole, and say what is wrong
 * @finding: called with a sentence for each; a path of which only notes are said is sound
 * @watcher: its progress() can stop it; NULL: nobody is asked
 * Returns 0 when it could be looked at, sound or not; a negative errno when nothing of it can be
 * read; -EINTR when it was stopped: what was found until then has been reported.  It takes as long
 * as reading and decoding all of it.
 *
 * A history: complete, every checksum right, intervals in order and without gaps, and for each
 * physical CPU the time per context adds up to the length of the history.  A trace: everything the
 * reader reports, and everything the tracer lost.
 */
static inline int sonde_check(const char *path,
			      void (*finding)(enum sonde_finding kind, const char *text,
					      void *data),
			      void *data, const struct sonde_watcher *watcher,
			      struct sonde_check_result *result, struct sonde_error *err)
{
	return sonde_check_sized(path, finding, data, watcher, sizeof(*watcher), result,
				 sizeof(*result), err);
}

SONDE_END

#endif
