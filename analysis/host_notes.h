/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_HOST_NOTES_H
#define ANALYSIS_HOST_NOTES_H

#include "analysis/rows.h"

/*
 * What figures of a VM leave out, in words, because of the machines around it: hypervisors that have
 * no trace, so that nobody saw what they did meanwhile, and clocks that nothing bounds, so that it
 * is not known when the VM ran.
 */
struct host_notes {
	const struct sonde_history *history;
	struct sonde_rows *rows; /* notes live as long */
	bool *loose;		 /* owned, by machine: nothing bounds its clock */
};

/* -ENOMEM. */
int host_notes_make(struct host_notes *n, const struct sonde_history *history,
		    struct sonde_rows *rows);
/* Whether nothing says when @vm ran: nothing bounds its clock, or that of a machine around it. */
bool host_notes_unplaced(const struct host_notes *n, int64_t vm);
/* Of what the VM cost beside its own code, which is seen as its own where a hypervisor has no
 * trace.  "" when nothing is left out.  Out of memory: *rows says so. */
const char *host_notes_of_cost(struct host_notes *n, int64_t vm);
/* The same of the steal time of a vCPU of it, that of the vCPUs around it included. */
const char *host_notes_of_steal(struct host_notes *n, int64_t vm);
void host_notes_release(struct host_notes *n);

#endif
