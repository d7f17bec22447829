/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_BY_MACHINE_H
#define ANALYSIS_BY_MACHINE_H

#include "analysis/run.h"

/*
 * The rows of a table, machine by machine: for facts that ask of each machine for its own, which with very many VMs must
 * not mean to go through those of all.  The table's column 0 is "machine"; rows that name none that there is are left out.
 *
 * Zero-initialise, by_machine_release() at the end.
 */
struct by_machine {
	uint32_t *first; /* owned, per machine and one more: where its rows begin */
	uint32_t *rows;	 /* owned; those of one machine as they stand in the table */
};

/* 0 or -ENOMEM. */
int by_machine_init(struct by_machine *b, const struct sonde_run *run, enum run_table table);
void by_machine_release(struct by_machine *b);

/* Those of @machine, which there is; *@nr takes their number. */
static inline const uint32_t *by_machine_rows(const struct by_machine *b, int64_t machine, uint32_t *nr)
{
	*nr = b->first[machine + 1] - b->first[machine];
	return b->rows + b->first[machine];
}

#endif
