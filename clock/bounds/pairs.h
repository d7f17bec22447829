/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_BOUNDS_PAIRS_H
#define CLOCK_BOUNDS_PAIRS_H

#include "clock/fit/fit.h"
#include "clock/sample/sample.h"

/*
 * Calls that both sides recorded.  The guest writes a request event, makes the call, and writes an
 * acknowledgement; the hypervisor records the call in between, with the same payload.  So
 *
 *	request <= exit <= call <= entry <= acknowledgement
 *
 * where exit is the end of the vCPU thread's stay in guest mode before the call, and entry the
 * beginning of the next.
 *
 * A payload does not prove who made the call: the kernel of another VM may repeat all of them.  The
 * thread that made it is the host's word.  Of the threads that made calls of a guest's CPU, these
 * do not count:
 * - those that the parent lists as another VM's;
 * - those whose calls cannot all lie between request and acknowledgement: from one call to the
 *   next, both sides' clocks must have gone on alike.
 * Where two that are left made the same calls, nobody knows, and neither counts: what has been
 * lost, or was not read, of the one would speak for the other.
 *
 * Payloads that the guest, or one thread, recorded twice tell nothing and are left out.
 */
struct call_index;
struct declared;
struct declared_vm;

int call_index_make(struct call_index **out, const struct sample *s);
void call_index_release(struct call_index *x);

/* A guest, and what else is known of it; @listed and @vm may be NULL. */
struct pair_guest {
	const struct sample *sample;
	const struct declared *listed; /* of the parent */
	const struct declared_vm *vm;  /* that it is, of those listed */
};

/* How many different calls of the guest this hypervisor also recorded; 0, too, without memory. */
uint64_t pairs_count(const struct call_index *parent, const struct pair_guest *guest);

/* The thread of the parent that made most of the guest's calls; -1 when there is none. */
int32_t pairs_thread(const struct call_index *parent, const struct pair_guest *guest);

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
int pairs_constraints(const struct call_index *parent, const struct pair_guest *guest,
		      struct constraints *out, struct vcpu_vote_list *votes, uint64_t *nr_pairs);

#endif
