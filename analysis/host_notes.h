/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_HOST_NOTES_H
#define ANALYSIS_HOST_NOTES_H

#include "analysis/rows.h"

/*
 * What figures of a VM leave out, in words, because of the machines around it: hypervisors that have
 * no trace, or one with gaps, or that begins late or ends early, so that nobody saw what they did
 * meanwhile, and clocks that nothing bounds, so that it is not known when the VM ran.
 *
 * A note begins with what the figure is of the true one.  "at least": what is missing is not in it;
 * "at least, unless M is a VM" where the outermost machine M does not say whether it is one.
 * "no bound": something else is in it, too, as a host that has no trace is in all times that its VM
 * had a CPU.  "not known": it is no figure at all.
 *
 * Of a window.  Where the outermost trace has not begun or has ended, no figure counts anything: the
 * other traces are measured by it, as they never begin and end in the same moment.
 */
struct host_notes {
	const struct sonde_history *history;
	struct sonde_rows *rows; /* notes live as long */
	ns_t begin, end;	 /* the window, as far as the outermost trace goes */
	ns_t length;		 /* of all of it */
	bool *loose;		 /* owned, by machine: nothing bounds its clock */
	ns_t *gaps_ns;		 /* owned, by machine: gaps on its CPUs, together */
	char of_cost[128];	 /* how a note of a cost that lacks something begins */
};

/* -ENOMEM. */
int host_notes_make(struct host_notes *n, const struct sonde_history *history,
		    struct sonde_rows *rows, ns_t begin, ns_t end);
/* Whether nothing says when @vm ran: nothing bounds its clock, or that of a machine around it. */
bool host_notes_unplaced(const struct host_notes *n, int64_t vm);
/* Of what the VM cost beside its own code, which is seen as its own where a hypervisor has no
 * trace.  @had_ns: how long it is known to have had a CPU; a hundredth of it is not told.  "" when
 * nothing is left out.  Out of memory: *rows says so. */
const char *host_notes_of_cost(struct host_notes *n, int64_t vm, ns_t had_ns);
/* The same of the steal time of a vCPU of it, that of the vCPUs around it included, of which
 * @unknown_ns of the window are not known; less than a hundredth of the window is not told. */
const char *host_notes_of_steal(struct host_notes *n, int64_t vm, ns_t unknown_ns);
void host_notes_release(struct host_notes *n);

#endif
