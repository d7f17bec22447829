/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_INPUTS_WITHIN_H
#define LIBSONDE_INPUTS_INPUTS_WITHIN_H

#include "libsonde/inputs/inputs.h"

/*
 * What guests sent to their hosts by hypercall, among a run's inputs: files of folded calls go to
 * the host's trace that they stand beside; guests within a host's trace become traces of their own;
 * and what is there twice is left out.  Only for libsonde/inputs/inputs.c.
 */

/* Files of folded calls are no traces of their own: each joins its host's trace, or is left out
 * and told to the watcher and the topology's problems.  -ENOMEM. */
int inputs_attach_folded(struct inputs *in, const struct sonde_watcher *watcher, struct error *err);

/* Adds traces of the guests within the traces of the topology's machines.  1: there are some, and
 * the topology is not of them; 0: none; -errno. */
int inputs_find_guests(struct inputs *in, enum inputs_within how,
		       const struct sonde_watcher *watcher, struct error *err);

/* What is known beforehand of the guests that were found within their hosts' traces. */
void inputs_apply_origins(struct topology_input *list, unsigned nr, const struct inputs *in);

/* Releases the traces that inputs_find_guests() added; there is no topology. */
void inputs_drop_guests(struct inputs *in);

/* Releases what guests sent of which there is a trace by their own tracer, too.  1: there were
 * some, and the topology is released; 0: none; -ENOMEM. */
int inputs_drop_doubles(struct inputs *in, struct problems *problems);

#endif
