/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_EVENTS_H
#define LIBSONDE_EVENTS_H

#include "libsonde/time_text.h"
#include "sonde/events.h"

/* What text about times means for this stream of events. */
struct time_base events_time_base(const struct sonde_events *e);

#endif
