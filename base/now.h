/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NOW_H
#define BASE_NOW_H

#include "base/types.h"

#include <time.h>

/* The clocks of this machine, for measuring our own work: not the time of a trace. */
static inline int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

/* Milliseconds, and seconds, of CLOCK_MONOTONIC. */
static inline int64_t now_ms(void)
{
	return now_ns(CLOCK_MONOTONIC) / 1000000;
}

static inline double now_s(void)
{
	return (double)now_ns(CLOCK_MONOTONIC) / NS_PER_SEC;
}

#endif
