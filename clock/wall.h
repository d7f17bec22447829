/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_WALL_H
#define CLOCK_WALL_H

#include "clock/parents.h"

/*
 * By their wall clocks, where both traces tell them or their recorders read them: ns that @a begins after @b has ended, or
 * negative: that @b begins after @a has ended.  0: they overlap, or it is not known.  Wall clocks
 * may be wrong: this is no evidence, but worth saying of traces that nothing else relates.
 */
ns_t wall_apart(const struct candidate *a, const struct candidate *b);

#endif
