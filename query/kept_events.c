/* SPDX-License-Identifier: Apache-2.0 */
#include "query/kept_events.h"

#include "query/cells.h"

#include <string.h>

enum { AT, EVENT, MACHINE, CPU, THREAD, ARG };

bool query_kept_event(const struct sonde_history *history, const char *name, ns_t begin, ns_t end,
		      int64_t *row, struct query_kept_event *e)
{
	const enum query_table t = QUERY_KEPT_EVENT;
	struct sonde_thread thread;

	for (int64_t r; (r = *row) < query_nr_rows(history, t);) {
		++*row;
		e->at = query_number(history, t, r, AT);
		if (e->at < begin || e->at >= end ||
		    strcmp(query_string(history, t, r, EVENT), name))
			continue;
		e->machine = query_number(history, t, r, MACHINE);
		e->cpu = query_number(history, t, r, CPU);
		e->thread = query_number(history, t, r, THREAD);
		e->vcpu = sonde_thread_get(history, e->thread, &thread) ? -1 : thread.vcpu;
		for (unsigned i = 0; i < EVENT_ARGS; i++)
			e->arg[i] = query_number(history, t, r, ARG + i);
		return true;
	}
	return false;
}
