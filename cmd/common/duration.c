/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/duration.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

bool parse_duration(const char *text, double *seconds)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"", 1},	   {"s", 1},  {"ms", 1e-3}, {"us", 1e-6},
		     {"ns", 1e-9}, {"m", 60}, {"min", 60},  {"h", 3600}};
	char *end;

	*seconds = strtod(text, &end);
	for (size_t i = 0; i < ARRAY_SIZE(units) && end != text; i++) {
		if (strcmp(end, units[i].unit))
			continue;
		*seconds *= units[i].seconds;
		return *seconds > 0 && *seconds < 1e9;
	}
	return false;
}
