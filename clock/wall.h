/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_WALL_H
#define CLOCK_WALL_H

#include "clock/sample/sample.h"

/*
 * By their wall clocks, where both traces have them: ns that @a begins after @b has ended, or
 * negative: that @b begins after @a has ended.  0: they overlap, or it is not known.  Wall clocks
 * may be wrong: this is no evidence, but worth saying of traces that nothing else relates.
 */
ns_t wall_apart(const struct sample *a, const struct sample *b);

#endif
