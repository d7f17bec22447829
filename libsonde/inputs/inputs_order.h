/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_INPUTS_ORDER_H
#define LIBSONDE_INPUTS_INPUTS_ORDER_H

#include "libsonde/inputs/inputs.h"

/*
 * The order in which traces are worked on: by what is in them, not by where they stood on a command
 * line.  What depends on order (numbers of machines, who of two equals gets a name, where windows
 * of the clock search fall) is then the same whoever lists the same traces.
 */

/* A copy of the list, by the texts; NULL: no memory.  The caller frees it, not the texts. */
const char **inputs_sorted(const char *const *list, unsigned nr);

/* Puts in->traces in order: by host name, then by when they begin, then by their ids.  Only what is
 * equal in all of these keeps the order that it had. */
void inputs_sort_traces(struct inputs *in);

#endif
