/* SPDX-License-Identifier: Apache-2.0 */
#include "model/agenda.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "model/cpu.h"
#include "model/thread.h"

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
					.kind = MOMENT_BOUND,
					.value = as_value(clock->pieces[i].bound_ns)};
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

/* What a trace covers of one CPU, in its ticks. */
struct cover {
	bool there;	/* it has a stream */
	bool any;	/* ... with packets */
	bool ends;	/* ... which say when they end */
	uint64_t first; /* UINT64_MAX: from the beginning */
	uint64_t last;
};

static void cover_stream(struct cover *c, struct stream *s)
{
	uint64_t last;

	if (!c->there)
		*c = (struct cover){.there = true, .ends = true, .first = UINT64_MAX};
	if (!s->nr_packets || !last_tick(s, &last))
		return;
	c->any = true;
	c->ends &= s->packets[s->nr_packets - 1].end != 0;
	if (s->packets[0].begin < c->first)
		c->first = s->packets[0].begin;
	if (last > c->last)
		c->last = last;
}

/* The whole machine: what any of its CPUs is covered. */
static struct cover sum_up(const struct cover *of, unsigned nr)
{
	struct cover all = {.first = UINT64_MAX};

	for (unsigned i = 0; i < nr; i++) {
		if (!of[i].any)
			continue;
		all.any = true;
		all.first = of[i].first < all.first ? of[i].first : all.first;
		all.last = of[i].last > all.last ? of[i].last : all.last;
	}
	return all;
}

/* Streams end one after the other when tracing stops.  One that ends this long before the last was
 * cut short. */
#define ENDS_TOGETHER_NS (NS_PER_SEC / 10)

static int add_cpu(struct model *m, struct machine_state *mc, unsigned number,
		   const struct cover *cpu, const struct cover *all, uint32_t *room)
{
	ns_t first = clock_to_l0(mc->clock, (ticks_t){all->first});
	ns_t last = clock_to_l0(mc->clock, (ticks_t){all->last});
	struct moment moment = {.machine = mc, .kind = MOMENT_CPU_END, .value = number};

	if (!cpu->there) {
		mc->nr_uncovered++;
		loss_add(mc, (int)number, first, last, -1);
		return 0;
	}
	moment.t = clock_to_l0(mc->clock, (ticks_t){cpu->last}) + 1;
	if (cpu->any && cpu->ends && last - moment.t > ENDS_TOGETHER_NS) {
		int ret = add(m, moment, room);

		if (ret)
			return ret;
		problems_add(&m->problems,
			     "%s: the stream of CPU %u ends early: what ran there "
			     "from then on is not known",
			     mc->name, number);
		loss_add(mc, (int)number, moment.t, last, -1);
	}
	if (!cpu->any || cpu->first == all->first)
		return 0;
	mc->nr_uncovered++;
	moment.kind = MOMENT_CPU_BEGIN;
	moment.t = clock_to_l0(mc->clock, (ticks_t){cpu->first});
	return add(m, moment, room);
}

static unsigned nr_cpus_of(const struct trace *t)
{
	return t->nr_cpus < TRACE_CPUS_MAX ? t->nr_cpus : TRACE_CPUS_MAX;
}

static int add_covers(struct model *m, struct machine_state *mc, struct cover *covers,
		      uint32_t *room)
{
	unsigned nr = nr_cpus_of(mc->trace);
	struct cover all;
	int ret;

	for (unsigned i = 0; i < mc->trace->nr_streams; i++) {
		struct stream *s = &mc->trace->streams[i];

		/* The last element is for those of an unknown CPU. */
		cover_stream(&covers[s->cpu >= 0 && (unsigned)s->cpu < nr ? (unsigned)s->cpu : nr],
			     s);
	}
	all = sum_up(covers, nr + 1);
	if (!all.any)
		return 0;
	ret = add(m,
		  (struct moment){.t = clock_to_l0(mc->clock, (ticks_t){all.last}) + 1,
				  .machine = mc,
				  .kind = MOMENT_END},
		  room);
	/* With streams of CPUs that are not known, any may be any's. */
	for (unsigned i = 0; i < nr && !ret && !covers[nr].there; i++)
		ret = add_cpu(m, mc, i, &covers[i], &all, room);
	return ret;
}

static int add_coverage(struct model *m, struct machine_state *mc, uint32_t *room)
{
	struct cover *covers = calloc(nr_cpus_of(mc->trace) + 1, sizeof(*covers));
	int ret = covers ? add_covers(m, mc, covers, room) : -ENOMEM;

	free(covers);
	return ret;
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
			ret = add_coverage(m, mc, &room);
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
		if (!mc->cpus[i])
			continue;
		cpu_not_found_again(mc->cpus[i]);
		cpu_forget(mc->cpus[i]);
	}
	for (struct thread *th = mc->threads; th; th = th->next_of_machine) {
		if (th->state != THREAD_DEAD)
			thread_set_state(th, THREAD_UNKNOWN);
	}
}

/* Whether the trace lacks one of the machine's CPUs tells how far its threads are known. */
static void cover_changes(struct machine_state *mc, uint32_t number, bool begins)
{
	struct model *m = mc->model;

	assert(!begins || mc->nr_uncovered > 0);
	mc->nr_uncovered += begins ? -1u : 1u;
	if (!begins && number < mc->nr_cpus && mc->cpus[number])
		cpu_uncovered(mc->cpus[number]);
	for (uint32_t i = 0; i < m->nr_cpus; i++) {
		struct thread *host = m->cpus[i]->vcpu.host;

		if (host && host->vcpu == m->cpus[i] && host->machine == mc)
			thread_show_vcpu_state(host);
	}
}

static void happen(struct model *m, const struct moment *moment)
{
	switch (moment->kind) {
	case MOMENT_BOUND:
		moment->machine->bound_ns =
			moment->value == UINT32_MAX ? -1 : (ns_t)moment->value;
		model_set(m, moment->machine->clock_bound, moment->value);
		break;
	case MOMENT_END:
		trace_ends(moment->machine);
		break;
	case MOMENT_CPU_BEGIN:
	case MOMENT_CPU_END:
		cover_changes(moment->machine, moment->value, moment->kind == MOMENT_CPU_BEGIN);
		break;
	}
}

/* Does all that is due at or before @until. */
void agenda_run(struct model *m, ns_t until)
{
	while (m->next_moment < m->nr_moments && m->moments[m->next_moment].t <= until) {
		const struct moment *moment = &m->moments[m->next_moment++];

		if (moment->t > m->now)
			m->now = moment->t;
		happen(m, moment);
	}
	m->next_moment_t = m->next_moment < m->nr_moments ? m->moments[m->next_moment].t : NS_MAX;
}
