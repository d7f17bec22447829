/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/time_window.h"

#include <stdio.h>

char *place_text(char buf[static PLACE_TEXT], const struct sonde_history *history, int64_t begin,
		 int64_t end)
{
	bool is_ns = sonde_history_ticks_are_ns(history);
	int64_t margin = (end - begin) / 5 + 1;
	char from[UNIT_TEXT], to[UNIT_TEXT];

	begin = begin - margin < sonde_history_begin(history) ? sonde_history_begin(history)
							      : begin - margin;
	end = end + margin > sonde_history_end(history) ? sonde_history_end(history) : end + margin;
	snprintf(buf, PLACE_TEXT, "%s,%s", unit_time(from, begin, is_ns),
		 unit_time(to, end, is_ns));
	return buf;
}
