/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_PARENTS_H
#define CLOCK_PARENTS_H

#include "clock/bounds/coincide.h"
#include "clock/kin.h"
#include "clock/sample/declared.h"
#include "clock/bounds/pairs.h"
#include "clock/topology.h"

/*
 * Who runs inside whom.  A candidate is one given trace with what is known of its place.
 */
#define PARENT_UNKNOWN (-1)
#define PARENT_NONE (-2) /* it is L0 */

struct candidate {
	const struct topology_input *in;
	struct sample *sample;
	struct call_index *calls; /* owned */
	const struct kin *kin;	  /* of all candidates; this one is @index there */
	unsigned index;
	char name[64];
	int parent;			 /* index of a candidate, or PARENT_* */
	bool told;			 /* by the user, or the recorder */
	bool missing;			 /* its recorder says where, but that machine has no trace:
					    it is not told, but known to be in none of that recording */
	bool proven;			 /* the parent lists a VM with this machine's UUID */
	const struct declared *declared; /* what its state lines say */
	const struct declared_vm *vm;	 /* as its parent lists it; NULL when it does not */
	bool exact;			 /* ... with what relates their clocks */
	bool same_clock;		 /* as the parent, by clock uuid or boot_id */
	uint64_t nr_pairs;		 /* with that parent */
	int around;		/* without a parent: the host in which it is a guest of a VM that
				   has no trace; else PARENT_UNKNOWN */
	bool tied;		/* it fits guests of two hosts of one depth, the first its parent;
				   once all are placed it has none, then */
	unsigned either[2];	/* these */
	struct coincidence fit; /* owned: with that parent, when there are no pairs, or with what is
				   around it; agreeing is 0 when there is none */
	char evidence[MACHINE_EVIDENCE];
	bool untested;	   /* its clock is the one that is listed, and nothing else tells of it */
	char refuted[256]; /* why what is listed of its clock is not believed; "" it is */
};

/* Fills @list (zeroed, [nr]) from samples, state lines and the user's word; finds parents by UUIDs,
 * pairs and clocks that are one (@kin).  The rest is left PARENT_UNKNOWN.  @problems:
 * contradictions. */
int parents_find(struct candidate *list, const struct topology_input *in, struct sample *samples,
		 const struct declared *declared, const struct kin *kin, unsigned nr,
		 struct problems *problems, struct error *err);

/* Whether everybody's parent and a way to its clock are known, L0 apart. */
bool parents_complete(const struct candidate *list, unsigned nr);

/* Finds the rest by containment; what nothing tells is left PARENT_UNKNOWN. */
int parents_search(struct candidate *list, unsigned nr, struct problems *problems,
		   struct stop *stop, struct error *err);

/* Tells of claims to be one kernel that nothing bears out, and that nothing used: once all are found.
 */
void parents_tell_unused(const struct candidate *list, unsigned nr, struct problems *problems);

void parents_release(struct candidate *list, unsigned nr);

#endif
