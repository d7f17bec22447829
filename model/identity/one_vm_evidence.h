/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IDENTITY_ONE_VM_EVIDENCE_H
#define MODEL_IDENTITY_ONE_VM_EVIDENCE_H

#include "base/map.h"
#include "model/state/state.h"

/*
 * One kind of evidence that VMs without a trace are one, all of it together.
 *
 * Evidence of a kind may be wrong, and shows that by leading to what cannot be: a VM of two
 * processes, or with two vCPUs of one number.  Which part of it is wrong is not known, and must not
 * follow from which was seen first: of all that it holds together, nothing is joined then.
 */
struct joins {
	struct model *m;
	const char *evidence; /* in words */
	bool traced;  /* it joins vCPUs with a VM whose own trace has no events of them, too */
	uint32_t *to; /* owned: by machine, one that it is the same as; itself */
	bool *wrong;  /* owned: by machine, nothing joins it */
	struct map numbered; /* owned: machines as they are now, and their vCPUs' numbers */
};

/* -ENOMEM: what was noted is forgotten, and m->broken says so. */
int joins_open(struct joins *j, struct model *m, const char *evidence);

/* Two VMs of one parent, neither has a trace (or one, and may: @traced), and nothing is against
 * it. */
bool joins_possible(const struct joins *j, struct machine_state *a, struct machine_state *b);

/* Those are one; false: they cannot be. */
bool joins_note(struct joins *j, struct machine_state *a, struct machine_state *b);
/* What says that those are one says nothing of either. */
void joins_refute(struct joins *j, struct machine_state *a, struct machine_state *b);

/* Joins what holds together, and releases @j. */
void joins_settle(struct joins *j);

/* @a and @b are one from now on.  The first one stays.  What has a trace stands for itself: traces
 * that contradict each other may say otherwise, and then both stay. */
void machines_join(struct machine_state *a, struct machine_state *b);

/* @vm is vCPUs of @traced.  A guest that an address told apart in it is then one of that vCPU's, as
 * the VM's own trace alone names them. */
void machine_join_traced(struct machine_state *traced, struct machine_state *vm);

/* Whether vCPUs of both, with a trace or without, may be of one VM by what is known so far. */
bool machines_may_be_one(const struct machine_state *a, const struct machine_state *b);

bool machines_other_processes(const struct machine_state *a, const struct machine_state *b);

#endif
