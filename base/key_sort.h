/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_KEY_SORT_H
#define BASE_KEY_SORT_H

#include "base/types.h"

/*
 * Long lists, sorted by their numbers alone: digit by digit, or, where it is not worth counting all
 * digits, by comparing them.  What has the same key stays in order, so who sorts by one key and
 * then by another sorts by both.
 */
struct sort_item {
	uint64_t key;
	uint32_t at; /* the caller's */
};

/* The key that makes a number with a sign stand where it belongs. */
static inline uint64_t sort_key(int64_t number)
{
	return (uint64_t)number ^ 1ull << 63;
}

/* Sorts @nr (below 2^32) by rising keys.  @items has room for twice as many. */
void key_sort(struct sort_item *items, size_t nr);

#endif
