/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_FEED_KEPT_EVENTS_H
#define MODEL_FEED_KEPT_EVENTS_H

#include "model/state/state.h"

/*
 * Events that change no state, and that a table of results lists: they are kept as they came, with
 * their time, CPU, thread and arguments, in the history's table "kept_event".  keep_event is the
 * handler that such a row of events/kinds.def names; query/kept_events.h reads them.
 *
 * For events of which there are few (hundreds a second): each is a row in memory until the history
 * is written, and there are at most KEPT_EVENTS_MAX of all kinds together.
 */
#define KEPT_EVENTS_MAX (1u << 20)

/* A handler (feed/handlers.h): no CPU executes anything else because of it. */
bool keep_event(struct cpu *cpu, const struct event *e);

#endif
