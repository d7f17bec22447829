/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_TIME_WINDOW_H
#define CMD_COMMON_TIME_WINDOW_H

#include "base/units.h"
#include "sonde/history.h"

#define PLACE_TEXT (2 * UNIT_TEXT)

/* "A,B", as --time takes it: what lasted from @begin to @end, and a fifth of that on each side, so
 * that one sees where it came from. */
char *place_text(char buf[static PLACE_TEXT], const struct sonde_history *history, int64_t begin,
		 int64_t end);

#endif
