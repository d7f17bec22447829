/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_EXITS_COST_NOTES_H
#define ANALYSIS_EXITS_COST_NOTES_H

#include "analysis/rows.h"

/*
 * What the cost of a VM leaves out, in words: the hypervisors that have no trace, so that their work
 * looks like the VM's own code, and clocks that nothing bounds, so that it is not known when the VM
 * ran.
 */
struct cost_notes {
	const struct sonde_history *history;
	struct sonde_rows *rows; /* notes live as long */
	bool *loose;		 /* owned, by machine: nothing bounds its clock */
};

/* -ENOMEM. */
int cost_notes_make(struct cost_notes *n, const struct sonde_history *history,
		    struct sonde_rows *rows);
/* Whether nothing says when @vm ran: nothing bounds its clock, or that of a machine around it. */
bool cost_notes_unplaced(const struct cost_notes *n, int64_t vm);
/* "" when nothing is left out.  Out of memory: *rows says so. */
const char *cost_notes_of(struct cost_notes *n, int64_t vm);
void cost_notes_release(struct cost_notes *n);

#endif
