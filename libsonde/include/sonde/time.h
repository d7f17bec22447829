/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_TIME_H
#define SONDE_TIME_H

#include <sonde/history.h>
#include <sonde/events.h>

SONDE_BEGIN

/*
 * Times as people write them.  docs/man/sonde.1.scd describes the forms:
 *
 *	123456789        nanoseconds on L0's clock
 *	12.345678901     seconds on L0's clock (a number with a point)
 *	12.3s 120ms      L0's clock, with a unit: ns us ms s min
 *	+1.5s -200ms     from the begin of the history, from its end
 *	50%              of the history
 *	tsc:123456       time stamp as L0's tracer wrote it
 *	2026-11-21T13:00:00.5, 13:00:00.5    wall clock (UTC), when the traces tell it
 */

/** sonde_history_time - a moment of a history; -EINVAL and a sentence when the text is no time */
SONDE_API int sonde_history_time(struct sonde_history *history, const char *text, int64_t *out,
				 struct sonde_error *err);

/** sonde_history_window - "A,B", where each side may be empty
 * NULL, or an empty side: where the physical machine was traced, see sonde_history_traced();
 * "0%,100%" is the whole history.  What sticks out of the history is cut off.  -ERANGE: the window
 * lies outside the history, ends before it begins, or is empty.
 */
SONDE_API int sonde_history_window(struct sonde_history *history, const char *text, int64_t *begin,
				   int64_t *end, struct sonde_error *err);

/** sonde_events_window - the same for a stream of events, which knows its begin and end */
SONDE_API int sonde_events_window(const struct sonde_events *e, const char *text, int64_t *begin,
				  int64_t *end, struct sonde_error *err);

SONDE_END

#endif
