/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/types.h"

/* Numbers as people read them.  All write into the caller's buffer and return it. */
#define UNIT_TEXT 40

/* A moment: seconds with nine digits after the point, a form that the time parser takes back;
 * plain cycles when the run's unit is not ns. */
char *unit_time(char buf[static UNIT_TEXT], ns_t t, bool ticks_are_ns);

/* A length of time, four significant digits: "1.234 s", "56.78 ms", "0". */
char *unit_length(char buf[static UNIT_TEXT], ns_t length, bool ticks_are_ns);

/* A moment on an axis with a mark every @step ns: as many digits as tell marks apart. */
char *unit_tick(char buf[static UNIT_TEXT], ns_t t, ns_t step, bool ticks_are_ns);

/* Parts per million as percent: "12.3%"; "<0.1%" rather than a zero that is none. */
char *unit_share(char buf[static UNIT_TEXT], int64_t ppm);

/* "47.1 MB". */
char *unit_bytes(char buf[static UNIT_TEXT], uint64_t bytes);

/* A number with a fraction: the fewest digits, 15 or 17, that read as the same number again. */
char *unit_real(char buf[static UNIT_TEXT], double value);

/* "1,234,567". */
char *unit_count(char buf[static UNIT_TEXT], int64_t n);

#endif
