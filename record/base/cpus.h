/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_BASE_CPUS_H
#define RECORD_BASE_CPUS_H

#include "base/types.h"

#define CPUS_MAX 8192u /* the largest NR_CPUS of a kernel */

/*
 * A list of CPUs that the kernel keeps, "online", "present" or "possible".  Returns the highest
 * number in it plus one (0 when it cannot be read), and sets set[cpu] for each below @room.
 */
unsigned cpu_list(const char *which, bool *set, unsigned room);

#endif
