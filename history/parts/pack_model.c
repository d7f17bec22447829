/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/pack_model.h"

/* Merges two rising lists; returns where the result ends. */
static uint64_t *merge_two(const uint64_t *a, const uint64_t *a_end, const uint64_t *b,
			   const uint64_t *b_end, uint64_t *out)
{
	while (a < a_end && b < b_end) {
		uint64_t va = *a, vb = *b;

		*out++ = va < vb ? va : vb;
		a += va <= vb;
		b += vb <= va;
	}
	while (a < a_end)
		*out++ = *a++;
	while (b < b_end)
		*out++ = *b++;
	return out;
}

/* Neighbours pair by pair, until one is left. */
uint64_t *model_merge(uint64_t *places, uint64_t *spare, uint32_t *ends, uint32_t nr,
		      uint32_t *nr_out)
{
	while (nr > 1) {
		uint64_t *out = spare, *swap = places;
		uint32_t from = 0, nr_merged = 0;

		for (uint32_t i = 0; i < nr; i += 2) {
			uint32_t last = i + 1 < nr ? i + 1 : i;

			out = merge_two(places + from, places + ends[i], places + ends[i],
					places + ends[last], out);
			from = ends[last];
			ends[nr_merged++] = (uint32_t)(out - spare);
		}
		nr = nr_merged;
		places = spare;
		spare = swap;
	}
	*nr_out = nr ? ends[0] : 0;
	return places;
}
