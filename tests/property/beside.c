/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the outer host tells of a nested VM: before the trace of that VM's own host begins, and
 * after its end.  The whole history says less there than the one that lacks this trace: so much
 * more may that one's sums have, and no more.
 */
#include "sheet.h"

#include <string.h>

/* The machine that the row is about whose host's trace only the whole history has; -1 none. */
static int64_t nested_of(const struct pair *p, const struct sheet *s, size_t row)
{
	for (int c = 0; c < (int)s->of->nr_columns; c++) {
		int64_t machine = machine_of_key(p, s, row, c);

		if (lacks_host_trace(p, machine))
			return machine;
	}
	return -1;
}

/* The second history's table before and after that trace. */
static void open_beside(const struct pair *p, struct sheet *s, int64_t machine)
{
	int64_t since, until, begin = sonde_history_begin(p->cut.history),
			      end = sonde_history_end(p->cut.history);
	struct sonde_error err;

	if (s->beside_of == machine + 1)
		return;
	grid_release(&s->beside[0]);
	grid_release(&s->beside[1]);
	memset(s->beside, 0, sizeof(s->beside));
	s->beside_of = machine + 1;
	host_trace_tells(p, machine, &since, &until);
	since = time_in_cut(p, since);
	until = until < sonde_history_end(p->whole.history) ? time_in_cut(p, until) : end;
	if (since > begin && grid_get(&s->beside[0], &p->cut, s->of->name, begin, since, &err))
		s->beside[0].nr = 0;
	if (until < end && grid_get(&s->beside[1], &p->cut, s->of->name, until, end, &err))
		s->beside[1].nr = 0;
}

int64_t told_beside(const struct pair *p, struct sheet *s, size_t row, int column)
{
	int64_t machine = nested_of(p, s, row), told = 0;

	if (machine < 0)
		return 0;
	open_beside(p, s, machine);
	for (int side = 0; side < 2; side++) {
		const struct grid *g = &s->beside[side];

		for (size_t i = 0; i < g->nr; i++) {
			int64_t value = cell(g, i, column).i;

			if (!same_keys_as(s, g, i, row) ||
			    (s->is_spread && cell(g, i, s->from).i < cell(&s->cut, row, s->from).i))
				continue;
			told = s->rules[column] == RULE_SUM ? told + value
			       : value > told		    ? value
							    : told;
		}
	}
	return told;
}
