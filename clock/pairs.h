/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_PAIRS_H
#define CLOCK_PAIRS_H

#include "clock/fit.h"
#include "clock/sample.h"

/*
 * Calls that both sides recorded.  The guest writes a request event, makes the call, and writes an
 * acknowledgement; the hypervisor records the call in between, with the same payload.  So
 *
 *	request <= exit <= call <= entry <= acknowledgement
 *
 * where exit is the end of the vCPU thread's stay in guest mode before the call, and entry the
 * beginning of the next.  Payloads that the guest recorded twice tell nothing and are left out; of
 * those that the hypervisor has twice, one counts that only one of the guest's own vCPU threads made:
 * the kernel of another VM may repeat what it likes.
 */
struct call_index;

int call_index_make(struct call_index **out, const struct sample *s);
void call_index_release(struct call_index *x);

/* How many different calls of @guest this hypervisor also recorded. */
uint64_t pairs_count(const struct call_index *parent, const struct sample *guest);

/* The thread of the parent that made most of the guest's calls; -1 when there is none. */
int32_t pairs_thread(const struct call_index *parent, const struct sample *guest);

/* Which vCPU of the guest the parent's thread runs, by number of calls. */
struct vcpu_vote {
	int32_t cpu, tid;
	uint64_t votes;
};

struct vcpu_vote_list {
	struct vcpu_vote *list; /* owned */
	size_t nr, room;
};

/* Adds the constraints of all pairs, and the votes; *@nr_pairs is their number. */
int pairs_constraints(const struct call_index *parent, const struct sample *guest,
		      struct constraints *out, struct vcpu_vote_list *votes, uint64_t *nr_pairs);

#endif
