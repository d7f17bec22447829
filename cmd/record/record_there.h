/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_RECORD_RECORD_THERE_H
#define CMD_RECORD_RECORD_THERE_H

#include "base/types.h"

/* How long the trace in @folder goes, from its first event to its last, by its own clock: what a
 * recorder says of itself is held against it.  -1 when that cannot be told. */
ns_t record_there_ns(const char *folder);

#endif
