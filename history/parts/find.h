/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_FIND_H
#define HISTORY_PARTS_FIND_H

#include "base/types.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Arrays given to find_u32() have room for this many more entries than are in use. */
#define FIND_PAD 4

/* Where @value first is among the @nr values, or @nr.  Made for lists of a few dozen, in which
 * most that is looked for is found. */
static inline unsigned find_u32(const uint32_t *values, unsigned nr, uint32_t value)
{
#ifdef __SSE2__
	const __m128i want = _mm_set1_epi32((int)value);

	for (unsigned i = 0; i < nr; i += 4) {
		__m128i got = _mm_loadu_si128((const __m128i *)(values + i));
		int hit = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(got, want)));

		if (hit) {
			i += (unsigned)__builtin_ctz((unsigned)hit);
			return i < nr ? i : nr;
		}
	}
	return nr;
#else
	unsigned i = 0;

	while (i < nr && values[i] != value)
		i++;
	return i;
#endif
}

#endif
