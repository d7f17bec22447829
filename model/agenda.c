/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens at a time that is known beforehand, without an event: a machine's clock bound
 * changes with the pieces of its clock model, and a machine's trace ends while others go on.
 */
#include <stdlib.h>

#include "model/state.h"

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->t < y->t ? -1 : x->t > y->t;
}

static int add(struct model *m, struct moment moment, uint32_t *room)
{
	int ret = model_grow(m, (void **)&m->moments, m->nr_moments, room, sizeof(*m->moments));

	if (!ret)
		m->moments[m->nr_moments++] = moment;
	return ret;
}

static uint32_t as_value(ns_t bound_ns)
{
	return bound_ns < 0 || bound_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)bound_ns;
}

static int add_bounds(struct model *m, struct machine_state *mc, const struct clock_model *clock,
		      uint32_t *room)
{
	for (unsigned i = 0; i < clock->nr_pieces; i++) {
		struct moment moment = {.t = i ? clock->pieces[i].at_ns : NS_MIN,
					.machine = mc,
					.bound = as_value(clock->pieces[i].bound_ns)};
		int ret = add(m, moment, room);

		if (ret)
			return ret;
	}
	return 0;
}

/* The last event's tick in one packet. */
static bool last_tick_of(struct stream *s, uint32_t packet, uint64_t *tick)
{
	struct event events[64];
	struct cursor c;
	bool any = false;
	unsigned nr;

	if (cursor_init(&c, s, packet, 1, 0, NULL))
		return false;
	while ((nr = cursor_next(&c, events, ARRAY_SIZE(events)))) {
		*tick = events[nr - 1].time.v;
		any = true;
	}
	cursor_release(&c);
	return any;
}

/* When a stream ends: a CTF packet says; a trace.dat page does not, but its last event does. */
static bool last_tick(struct stream *s, uint64_t *tick)
{
	for (uint32_t p = s->nr_packets; p-- > 0;) {
		*tick = s->packets[p].end;
		if (*tick || last_tick_of(s, p, tick))
			return true;
	}
	return false;
}

static int add_end(struct model *m, struct machine_state *mc, const struct clock_model *clock,
		   uint32_t *room)
{
	uint64_t last = 0, tick;
	bool any = false;

	for (unsigned i = 0; i < mc->trace->nr_streams; i++) {
		if (!last_tick(&mc->trace->streams[i], &tick))
			continue;
		any = true;
		last = tick > last ? tick : last;
	}
	if (!any)
		return 0;
	return add(m,
		   (struct moment){.t = clock_to_l0(clock, (ticks_t){last}) + 1,
				   .machine = mc,
				   .ends = true},
		   room);
}

int agenda_open(struct model *m)
{
	uint32_t room = 0;

	for (unsigned i = 0; i < m->topo->nr_machines; i++) {
		const struct machine *from = &m->topo->machines[i];
		struct machine_state *mc = m->machines[i];
		int ret;

		mc->clock_bound = history_writer_attr(m->w, mc->dir, "clock_bound", ATTR_NUMBER, 0);
		ret = add_bounds(m, mc, &from->clock, &room);
		if (!ret)
			ret = add_end(m, mc, &from->clock, &room);
		if (ret)
			return ret;
	}
	qsort(m->moments, m->nr_moments, sizeof(*m->moments), by_time);
	m->next_moment_t = m->nr_moments ? m->moments[0].t : NS_MAX;
	return 0;
}

/* From here on nothing is known about the machine from its own trace. */
static void trace_ends(struct machine_state *mc)
{
	for (unsigned i = 0; i < mc->nr_cpus; i++) {
		if (mc->cpus[i])
			cpu_forget(mc->cpus[i]);
	}
	for (struct thread *th = mc->threads; th; th = th->next_of_machine) {
		if (th->state != THREAD_DEAD)
			thread_set_state(th, THREAD_UNKNOWN);
	}
}

/* Does all that is due at or before @until. */
void agenda_run(struct model *m, ns_t until)
{
	while (m->next_moment < m->nr_moments && m->moments[m->next_moment].t <= until) {
		const struct moment *moment = &m->moments[m->next_moment++];

		if (moment->t > m->now)
			m->now = moment->t;
		if (moment->ends)
			trace_ends(moment->machine);
		else
			model_set(m, moment->machine->clock_bound, moment->bound);
	}
	m->next_moment_t = m->next_moment < m->nr_moments ? m->moments[m->next_moment].t : NS_MAX;
}
