/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIB_EVENTS_H
#define LIB_EVENTS_H

#include "report/time.h"
#include "sonde/events.h"

/* What text about times means for this stream of events. */
struct time_base events_time_base(const struct sonde_events *e);

#endif
