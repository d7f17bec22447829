/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_TIME_TEXT_H
#define LIBSONDE_TIME_TEXT_H

#include "base/error.h"
#include "clock/fit/model.h"

/*
 * Times as people write them; the one parser of all commands.  The forms stand in
 * include/sonde/time.h.
 */
struct time_base {
	ns_t begin, end; /* of the history */
	ns_t traced_begin,
		traced_end; /* what is told of unless asked otherwise; inside the history */
	bool ticks_are_ns;
	bool wall_known;
	int64_t wall_offset_ns;	      /* add to a time for Unix time in ns */
	const struct clock_model *l0; /* for "tsc:N"; NULL when not known */
};

/* -EINVAL when @text is no time, or one of a kind this history does not know. */
int time_parse(const struct time_base *base, const char *text, ns_t *out, struct error *err);

/* A number without point and unit: nanoseconds, which not everybody expects. */
bool time_is_bare(const char *text);

/* "A,B"; NULL, or an empty side, means where the physical machine was traced; an empty side beyond
 * which the other one lies, the history's own begin or end.  What sticks out of the history is cut
 * off. -ERANGE: the window lies outside the history, ends before it begins, or is empty. */
int time_parse_window(const struct time_base *base, const char *text, ns_t *begin, ns_t *end,
		      struct error *err);

#endif
