/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/time_window.h"

#include <stdio.h>

char *place_text(char buf[static PLACE_TEXT], const struct sonde_run *run, int64_t begin,
		 int64_t end)
{
	bool is_ns = sonde_run_ticks_are_ns(run);
	int64_t margin = (end - begin) / 5 + 1;
	char from[UNIT_TEXT], to[UNIT_TEXT];

	begin = begin - margin < sonde_run_begin(run) ? sonde_run_begin(run) : begin - margin;
	end = end + margin > sonde_run_end(run) ? sonde_run_end(run) : end + margin;
	snprintf(buf, PLACE_TEXT, "%s,%s", unit_time(from, begin, is_ns),
		 unit_time(to, end, is_ns));
	return buf;
}
