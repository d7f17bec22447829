/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TYPES_H
#define BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Two kinds of time that must never meet by accident.
 *
 * ticks:  what a tracer wrote, in the unit and with the origin of its own clock (LTTng: clock
 *         cycles of the CTF clock, without the clock's offset; ftrace: whatever trace_clock was,
 *         nanoseconds or TSC cycles).  Unsigned, per trace.
 * ns:     the one time line of a run: nanoseconds of the physical machine's (L0) clock.
 *
 * Only clock/ turns the first into the second.
 */
typedef struct {
	uint64_t v;
} ticks_t;

typedef int64_t ns_t;

#define NS_MIN INT64_MIN
#define NS_MAX INT64_MAX
#define NS_PER_SEC 1000000000LL

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
