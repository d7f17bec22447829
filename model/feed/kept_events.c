/* SPDX-License-Identifier: Apache-2.0 */
#include "model/feed/kept_events.h"

#include "events/rows.h"

bool keep_event(struct cpu *cpu, const struct event *e)
{
	struct model *m = cpu->machine->model;
	struct kept_event *k;

	if (m->nr_kept_events >= KEPT_EVENTS_MAX) {
		m->kept_events_dropped++;
		return false;
	}
	if (model_grow(m, (void **)&m->kept_events, m->nr_kept_events, &m->kept_events_room,
		       sizeof(*m->kept_events)))
		return false;
	k = &m->kept_events[m->nr_kept_events++];
	*k = (struct kept_event){
		.at = m->now,
		.cpu = cpu,
		.thread = cpu->thread,
		.kind = (uint16_t)e->kind,
	};
	/* Text is a pointer into the trace: no number that another run would have, too. */
	for (unsigned i = 0; i < EVENT_ARGS; i++) {
		if (event_rows[e->kind].args[i].type != ARG_TEXT)
			k->arg[i] = e->arg[i];
	}
	return false;
}
