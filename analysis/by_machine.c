/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/by_machine.h"

#include <errno.h>
#include <stdlib.h>

static bool is_machine(int64_t machine, int64_t nr_machines)
{
	return machine >= 0 && machine < nr_machines;
}

int by_machine_init(struct by_machine *b, const struct sonde_run *run, enum run_table table)
{
	int64_t nr = run->tables[table].nr_rows, nr_machines = sonde_nr_machines(run);

	b->first = calloc((size_t)nr_machines + 2, sizeof(*b->first));
	b->rows = malloc(((size_t)nr + 1) * sizeof(*b->rows));
	if (!b->first || !b->rows)
		return -ENOMEM;
	/* Counted two places behind, so that when they are put where they belong, each machine's begin is one behind. */
	for (int64_t row = 0; row < nr; row++) {
		int64_t machine = run_cell(run, table, row, 0);

		if (is_machine(machine, nr_machines))
			b->first[machine + 2]++;
	}
	for (int64_t i = 2; i < nr_machines + 2; i++)
		b->first[i] += b->first[i - 1];
	for (int64_t row = 0; row < nr; row++) {
		int64_t machine = run_cell(run, table, row, 0);

		if (is_machine(machine, nr_machines))
			b->rows[b->first[machine + 1]++] = (uint32_t)row;
	}
	return 0;
}

void by_machine_release(struct by_machine *b)
{
	free(b->first);
	free(b->rows);
	*b = (struct by_machine){0};
}
