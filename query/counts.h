/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_COUNTS_H
#define QUERY_COUNTS_H

#include "sonde/history.h"

/*
 * How many members public enums have.  The enums have no such member of their own: it would change
 * under programs that were built with fewer.  query.c and wake_causes.c hold these to the model's.
 */
enum {
	QUERY_NR_MODES = SONDE_MODE_TASK + 1,
	QUERY_NR_CAUSES = SONDE_CAUSE_NONE + 1,
	QUERY_NR_OFFS = SONDE_OFF_THROTTLED + 1,
};

#endif
