/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_OUTERMOST_H
#define QUERY_OUTERMOST_H

#include "sonde/history.h"

/* What the outermost machine with a trace is: as it says itself, or as its hypercalls show.  Of
 * most tracers neither is known: then its CPUs may be a VM's, whose host has no trace. */
enum outermost { OUTERMOST_UNKNOWN, OUTERMOST_PHYSICAL, OUTERMOST_VM };

enum outermost outermost_of(const struct sonde_history *history);

#endif
