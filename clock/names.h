/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_NAMES_H
#define CLOCK_NAMES_H

#include "clock/align.h"

/*
 * What machines are called.  The user's word counts first, then the manifest's.  A host name is its
 * machine's own word, and a guest's own word is nothing against its host, or its neighbours.  So
 * host names are taken as they are where no other machine has them; else the host's list of its VMs
 * decides, which needs what is found by names: parents and threads.  Thus names are chosen first,
 * and settled when all is known; where that changes one, the search begins anew with those names.
 */
#define MACHINE_NAME 64 /* bytes */

/* Gives each of @list a name of its own: users' words, manifests', host names; a number behind one
 * that is taken.  -ENOMEM. */
int names_choose(struct candidate *list, unsigned nr);

/*
 * Names for @list (the machines in their order, threads known), where host names contradict each
 * other or their host's list: a VM is called what its host calls it, and nobody takes its host's
 * name, or one that the host gives another VM.  @names: [nr], in the same order.  @problems: who
 * was renamed so.  1: some have another name than now; 0; -ENOMEM.
 */
int names_settle(char (*names)[MACHINE_NAME], const struct placed *list, unsigned nr,
		 struct problems *problems);

#endif
