/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_READINGS_H
#define CLOCK_READINGS_H

#include "clock/sample/declared.h"
#include "clock/fit/fit.h"

/*
 * Readings of clocks: a state line has the cycle counter and the kernel's clocks as they were read
 * together.  Where at least one of two machines' traces counts ns, each reading is a constraint
 * from both sides on the relation of their clocks:
 *
 *	a clock shows v  <=>  its machine's cycle counter shows tsc, give or take the width
 *	                 <=>  the other machine's counter shows so much (the TSC relation)
 *	                 <=>  and the other machine's clock so much, between two readings of its own
 *
 * What is assumed in the last step is what clock/fit/fit.h assumes anyway: that between two
 * readings a clock stays within 1 us of a straight line.  Beyond its first and last reading a clock
 * may run off by 100 ppm, and further than a second away from them nothing is said.
 */

/* Adds what the guest's and the host's readings say, in guest ticks and host ticks. */
int readings_constraints(struct constraints *out, const struct declared *guest,
			 const struct declared *host, const struct tsc_relation *r);

/* The value of the trace's clock in a reading; false when it is not in it. */
bool readings_value(const struct trace_clock *c, const struct declared_clock *reading,
		    uint64_t *value);

#endif
