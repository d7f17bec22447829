/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_BY_MACHINE_H
#define ANALYSIS_BY_MACHINE_H

#include "analysis/rows.h"

/*
 * The rows of a table or of rows, machine by machine: for who asks of each machine for its own,
 * which with very many VMs must not mean to go through those of all.  Rows that name no machine
 * that there is are left out.
 *
 * Zero-initialise, by_machine_release() at the end.
 */
struct by_machine {
	uint32_t *first; /* owned, per machine and one more: where its rows begin */
	uint32_t *rows;	 /* owned; those of one machine in their order */
};

/* Those of a table whose column 0 is "machine".  0 or -ENOMEM. */
int by_machine_init(struct by_machine *b, const struct sonde_history *history,
		    enum query_table table);
/* The same of rows, by a column that names a machine. */
int by_machine_init_rows(struct by_machine *b, const struct sonde_history *history,
			 const struct sonde_rows *f, const char *column);
void by_machine_release(struct by_machine *b);

/* Those of @machine, which there is; *@nr takes their number. */
static inline const uint32_t *by_machine_rows(const struct by_machine *b, int64_t machine,
					      uint32_t *nr)
{
	*nr = b->first[machine + 1] - b->first[machine];
	return b->rows + b->first[machine];
}

#endif
