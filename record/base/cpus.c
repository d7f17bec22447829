/* SPDX-License-Identifier: Apache-2.0 */
#include "record/base/cpus.h"
#include "record/base/buffer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

unsigned cpu_list(const char *which, bool *set, unsigned room)
{
	char path[64], text[4096];
	unsigned long end = 0;
	char *p = text;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", which);
	read_small(AT_FDCWD, path, text, sizeof(text));
	while (*p >= '0' && *p <= '9') { /* "0-3,8" */
		unsigned long first = strtoul(p, &p, 10);
		unsigned long last = *p == '-' ? strtoul(p + 1, &p, 10) : first;

		if (last >= CPUS_MAX)
			break;
		for (unsigned long cpu = first; cpu <= last && cpu < room; cpu++)
			set[cpu] = true;
		end = last + 1 > end ? last + 1 : end;
		p += *p == ',';
	}
	return (unsigned)end;
}
