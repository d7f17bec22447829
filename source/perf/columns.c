/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPU's each column of numbers is (struct perf_id): that of most of its samples.  Where these
 * are of many CPUs, the event was opened for threads, and nothing follows.  Nor does it where a
 * thread may have stayed on one CPU for long (perf record --per-thread): where there is one column
 * only, or two are of one CPU.
 */
#include "source/perf/reader.h"

#include <errno.h>
#include <stdlib.h>

#define LOOK_BYTES (64u << 20) /* enough to know them */
#define STEP_BYTES 8	       /* records begin at such places */

static void vote(struct perf_column *c, uint32_t cpu)
{
	if (c->same && c->cpu != cpu) {
		c->others++;
	} else {
		c->cpu = cpu;
		c->same++;
	}
	if (c->others > c->same)
		*c = (struct perf_column){.cpu = cpu, .same = c->others, .others = c->same};
}

static uint32_t nr_columns(const struct perf_attrs *a)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < a->nr_ids; i++)
		nr = a->ids[i].column >= nr ? a->ids[i].column + 1 : nr;
	return nr;
}

static bool are_of_cpus(const struct perf_column *columns, uint32_t nr)
{
	uint64_t taken[TRACE_CPUS_MAX / 64] = {0};

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t bit = 1ull << columns[i].cpu % 64;
		uint64_t *word = &taken[columns[i].cpu % TRACE_CPUS_MAX / 64];

		if (!perf_column_is_sure(&columns[i]))
			continue;
		if (*word & bit)
			return false;
		*word |= bit;
	}
	return nr > 1;
}

int perf_columns_learn(struct perf *p)
{
	struct perf_attrs *a = &p->attrs;
	uint64_t at = p->begin, end = p->end;
	struct perf_column *columns;
	struct perf_record r;
	uint32_t nr = nr_columns(a);

	if (!nr)
		return 0;
	columns = calloc(nr, sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	end = end - at > LOOK_BYTES ? at + LOOK_BYTES : end;
	for (; at < end; at = r.next) {
		const struct perf_id *id;
		uint32_t cpu;

		if (!perf_record_read(p->map.data, at, p->end, &r))
			r = (struct perf_record){.next = at + STEP_BYTES};
		if (r.type == RECORD_SAMPLE && (id = perf_sample_id(a, &r, &cpu)))
			vote(&columns[id->column], cpu);
	}
	a->columns = columns;
	a->nr_columns = are_of_cpus(columns, nr) ? nr : 0;
	return 0;
}
