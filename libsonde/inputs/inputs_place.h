/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_INPUTS_PLACE_H
#define LIBSONDE_INPUTS_INPUTS_PLACE_H

#include "libsonde/inputs/inputs.h"

/*
 * From traces to in->topology.
 *
 * Traces that cannot be placed beside the others do not change what is found of these: without them
 * the search begins anew.  Those that L0 saw run, as a guest of a VM without a trace, become guests
 * of such a VM.  The others are left out of @in, and listed there with the reason; or, when @in
 * wants every tree, all they are placed beside each other, and their trees stand behind the run's
 * own, each with a machine of its own that runs in none.  How their times relate to L0's is only
 * guessed, by the wall clocks or by when they begin, and has no bound.
 *
 * @problems: what was wrong on the way.  After a failure nothing of in->topology is left.
 */
int inputs_place(struct inputs *in, const struct sonde_inputs *told, struct problems *problems,
		 const struct sonde_watcher *watcher, struct error *err);

/* Lists a trace that is not used; @name: of its machine, "" unknown.  Telling of it is the
 * caller's. -ENOMEM. */
int inputs_note_left_out(struct inputs *in, const char *name, const char *path, const char *why);

#endif
