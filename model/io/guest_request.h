/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_IO_GUEST_REQUEST_H
#define MODEL_IO_GUEST_REQUEST_H

#include "model/state/state.h"

/*
 * Which request of a VM a request of its host's disk is for; private to model/.
 *
 * No event says it.  Where one request of the VM's is under way that it may be for, it is for that
 * one.  Among several, these tell, in this order: the thread (it took the request up, or was woken
 * by the one that did, first of all if it did so just then); the place (the VM's disk is a file
 * that lies somewhere on the host's, and where it lies was seen when there was no doubt); the size.
 * Where none of them leaves one, it is not known: all that are left are disputed.
 *
 * Where requests may be under way that were not seen, or of which not all was, the only evidence
 * that counts is who has just picked it up; all others are disputed.
 */

/* NULL when there is none, or when it is not known; then they are marked as disputed. */
struct request *served_choose(struct machine_state *vm, const struct request *host);

/* @host may be for one of them: for which, if any, is not known. */
void served_dispute(struct machine_state *vm, const struct request *host);

/* Notes what @host, that was found to be for @r, shows of where the disk lies.  Before its bytes
 * are added to those of @r. */
void served_learn(struct machine_state *vm, const struct request *r, const struct request *host);

#endif
