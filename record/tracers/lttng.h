/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_LTTNG_H
#define RECORD_TRACERS_LTTNG_H

#include "record/tracers/tracer.h"

/*
 * LTTng as a tracer, driven through its command lttng(1): a session of our own ("sonde-PID"), one
 * channel, the events of record/tracers/events.h that this kernel's LTTng has, state lines through
 * /proc/lttng-logger.  Sessions of recorders that are dead are removed first.
 *
 * LTTng's own daemons write the files: into the sink's folder, where it has one; else into a
 * directory of our own, from which they are sent when recording has ended.
 */

/* 0, or -ENOENT: lttng or its kernel modules are not there. */
int lttng_usable(struct error *err);

#endif
