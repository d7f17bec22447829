/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tables/tables_trust.h"
#include "model/tables/table_rows.h"

#include <stdio.h>

/* ns per tick that the clock would have if it ran exactly like L0's. */
static double nominal_mult(const struct topology *topo, const struct trace *t)
{
	const struct machine *l0 = &topo->machines[0];

	if (t->clock.kind == l0->trace->clock.kind && l0->clock.nr_pieces)
		return (double)l0->clock.pieces[0].mult;
	if (t->clock.freq_hz)
		return (double)(UINT64_C(1) << CLOCK_SHIFT) * NS_PER_SEC / (double)t->clock.freq_hz;
	return (double)(UINT64_C(1) << CLOCK_SHIFT);
}

static uint32_t put_clock(struct model *m, uint32_t row, unsigned machine, ns_t end)
{
	const struct machine *mc = &m->topo->machines[machine];
	const struct clock_model *clock = &mc->clock;
	double nominal = nominal_mult(m->topo, mc->trace);

	for (unsigned i = 0; i < clock->nr_pieces; i++) {
		const struct clock_piece *p = &clock->pieces[i];
		bool last = i + 1 == clock->nr_pieces;
		int64_t cells[] = {
			table_row_of(m->machines[machine]),
			i ? p->at_ns : m->begin,
			last ? end : clock->pieces[i + 1].at_ns,
			p->bound_ns == CLOCK_NO_BOUND ? -1 : p->bound_ns,
			table_string(m, clock_method_name(clock)),
			(int64_t)clock->nr_pairs,
			(int64_t)clock->nr_violations,
			clock->worst_violation_ns,
			(int64_t)(((double)p->mult / nominal - 1) * 1e9),
			(int64_t)clock->nr_readings,
			(int64_t)clock->nr_contained,
			(int64_t)clock->nr_timers,
		};

		table_put_row(m, TABLE_CLOCK, row++, cells);
	}
	return row;
}

void tables_put_clocks(struct model *m, ns_t end)
{
	uint32_t row = 0;

	for (unsigned i = 0; i < m->topo->nr_machines; i++) {
		if (m->topo->machines[i].trace)
			row = put_clock(m, row, i, end);
	}
}

void tables_put_losses(struct model *m, uint32_t from, ns_t end)
{
	for (uint32_t i = from; i < m->nr_losses; i++) {
		const struct loss *l = &m->losses[i];
		/* Of a CPU that is missing: only what is missing in this run. */
		bool inside = l->begin < end && l->end > m->begin;
		int64_t cells[] = {table_row_of(l->machine), l->cpu,
				   inside && l->begin < m->begin ? m->begin : l->begin,
				   inside && l->end > end ? end : l->end, l->events};

		table_put_row(m, TABLE_LOSS, i, cells);
	}
}

static void write_problem_list(struct model *m, int64_t machine, const struct problems *p)
{
	for (unsigned i = 0; i < p->nr; i++) {
		int64_t cells[] = {machine, table_string(m, p->list[i].text),
				   (int64_t)p->list[i].count, p->list[i].note};

		table_add_row(m, TABLE_PROBLEM, cells);
		*(p->list[i].note ? &m->nr_note_rows : &m->nr_problem_rows) += 1;
	}
	if (p->dropped) {
		int64_t cells[] = {machine, table_string(m, "further problems, not listed"),
				   (int64_t)p->dropped, false};

		table_add_row(m, TABLE_PROBLEM, cells);
		m->nr_problem_rows++;
	}
}

/* What processes recorded and lost is missing among their marks, and nowhere else. */
static void write_user_loss(struct model *m, int64_t machine, const struct trace *t)
{
	struct problems lost = {0};

	if (t->loss.events)
		problems_add(&lost, "%.150s: %llu event%s of user space %s lost", t->path,
			     (unsigned long long)t->loss.events, t->loss.events == 1 ? "" : "s",
			     t->loss.events == 1 ? "was" : "were");
	if (t->loss.unknown)
		problems_add(&lost,
			     "%.150s: events of user space were lost, nobody knows how many "
			     "(places: %llu)",
			     t->path, (unsigned long long)t->loss.unknown);
	write_problem_list(m, machine, &lost);
	problems_release(&lost);
}

static void write_trace_problems(struct model *m, int64_t machine, const struct trace *t)
{
	write_problem_list(m, machine, &t->problems);
	if (t->user_space)
		write_user_loss(m, machine, t);
	for (unsigned i = 0; i < t->nr_parts; i++)
		write_trace_problems(m, machine, t->parts[i]);
}

void tables_write_problems(struct model *m)
{
	write_problem_list(m, -1, &m->topo->problems);
	for (unsigned i = 0; i < m->topo->nr_machines; i++) {
		if (m->topo->machines[i].trace)
			write_trace_problems(m, table_row_of(m->machines[i]),
					     m->topo->machines[i].trace);
	}
	/* They change nothing but their own machine's state, and how far its clock may be wrong is
	 * told elsewhere: a note. */
	for (uint32_t i = 0; i < m->nr_machines; i++) {
		struct machine_state *mc = m->machines[i];
		int64_t cells[] = {
			table_row_of(mc),
			table_string(m, "events at times at which the host's trace says that "
					"the vCPU was not running them"),
			(int64_t)mc->violations, true};

		if (mc->violations)
			table_add_row(m, TABLE_PROBLEM, cells);
	}
	if (m->marks_dropped)
		problems_add(&m->problems, "left out, more than a history keeps: %llu of the marks",
			     (unsigned long long)m->marks_dropped);
	if (m->kept_events_dropped)
		problems_add(&m->problems,
			     "left out, more than a history keeps: %llu of the events",
			     (unsigned long long)m->kept_events_dropped);
	if (m->requests_dropped)
		problems_add(&m->problems,
			     "left out, more than a history keeps: %llu of the requests",
			     (unsigned long long)m->requests_dropped);
	write_problem_list(m, -1, &m->problems);
}

void tables_write_meta(struct model *m, ns_t end)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)m->begin);
	table_put_meta(m, "begin_ns", text);
	snprintf(text, sizeof(text), "%lld", (long long)end);
	table_put_meta(m, "end_ns", text);
}
