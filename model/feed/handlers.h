/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_FEED_HANDLERS_H
#define MODEL_FEED_HANDLERS_H

#include "model/state/state.h"

/*
 * What each kind of event does to the model: the handlers that events/kinds.def names.  A kind with
 * a handler is one that the model wants.
 *
 * A handler is called when its CPU's thread is known to be the event's, and no guest has the CPU.
 * Events about threads, devices and machines come by the CPU that recorded them: that is only where
 * they were noticed.
 */

/* True when what @cpu executes may have changed. */
bool handle_event(struct cpu *cpu, const struct event *e);

#endif
