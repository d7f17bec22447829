/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_KEPT_EVENTS_H
#define QUERY_KEPT_EVENTS_H

#include "events/event.h"
#include "query/query.h"

/* Events that the model kept as they came (model/feed/kept_events.h), in order of time. */
struct query_kept_event {
	ns_t at;
	int64_t machine, cpu, thread; /* rows; -1 not known */
	int64_t vcpu;		      /* row of the CPU that the thread runs; -1 none */
	int64_t arg[EVENT_ARGS];      /* as the kind's row in events/kinds.def has them */
};

/*
 * The next event called @name in [begin, end), from row *@row on:
 *
 *	for (int64_t row = 0; query_kept_event(history, "halt_poll", begin, end, &row, &e);)
 *
 * False: there is no other.  A name that no history has is no error: older ones lack the table.
 */
bool query_kept_event(const struct sonde_history *history, const char *name, ns_t begin, ns_t end,
		      int64_t *row, struct query_kept_event *e);

#endif
