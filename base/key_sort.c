/* SPDX-License-Identifier: Apache-2.0 */
#include "base/key_sort.h"

#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define LONG_LIST 512

static void sort_by_digit(const struct sort_item *from, struct sort_item *to, size_t nr,
			  unsigned shift)
{
	uint32_t starts[DIGITS] = {0};
	size_t at = 0;

	for (size_t i = 0; i < nr; i++)
		starts[from[i].key >> shift & (DIGITS - 1)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		size_t its = starts[d];

		starts[d] = at;
		at += its;
	}
	for (size_t i = 0; i < nr; i++)
		to[starts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* Merges two lists of which one follows the other. */
static void merge(const struct sort_item *a, size_t nr_a, size_t nr_b, struct sort_item *to)
{
	const struct sort_item *const end_a = a + nr_a, *const end_b = end_a + nr_b, *b = end_a;

	while (a < end_a && b < end_b)
		*to++ = a->key <= b->key ? *a++ : *b++;
	memcpy(to, a, (size_t)(end_a - a) * sizeof(*a));
	memcpy(to + (end_a - a), b, (size_t)(end_b - b) * sizeof(*b));
}

/* Both tell in which of the two lists they end up. */
static struct sort_item *sort_short(struct sort_item *from, struct sort_item *to, size_t nr)
{
	for (size_t length = 1; length < nr; length *= 2) {
		struct sort_item *swap = from;

		for (size_t i = 0; i < nr; i += 2 * length) {
			size_t nr_a = nr - i < length ? nr - i : length, rest = nr - i - nr_a;

			merge(from + i, nr_a, rest < length ? rest : length, to + i);
		}
		from = to;
		to = swap;
	}
	return from;
}

static struct sort_item *sort_long(struct sort_item *from, struct sort_item *to, size_t nr,
				   uint64_t differ)
{
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct sort_item *swap = from;

		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		sort_by_digit(from, to, nr, shift);
		from = to;
		to = swap;
	}
	return from;
}

void key_sort(struct sort_item *items, size_t nr)
{
	struct sort_item *sorted = items, *room = items + nr;
	uint64_t differ = 0; /* bits that are not the same in all keys */

	for (size_t i = 0; i < nr; i++)
		differ |= items[i].key ^ items[0].key;
	if (differ)
		sorted = nr < LONG_LIST ? sort_short(items, room, nr)
					: sort_long(items, room, nr, differ);
	if (sorted != items)
		memcpy(items, sorted, nr * sizeof(*items));
}
