/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_KEYED_H
#define ANALYSIS_KEYED_H

#include "base/map.h"

/*
 * Rows that are summed up per key: numbers each distinct key (a few integers) 0, 1, 2 ..., in the
 * order in which they come.  The caller keeps what belongs to them in an array of its own.
 *
 * Zero-initialise with .nr_cells set, keyed_release() at the end.
 */
#define KEYED_CELLS_MAX 6

struct keyed {
	unsigned nr_cells;
	int64_t *cells; /* owned: nr x nr_cells */
	size_t nr, room;
	struct map by_key;
};

/* The key's number, a new one when it is new (it is then the last); -ENOMEM. */
int64_t keyed_get(struct keyed *k, const int64_t *cells);

static inline const int64_t *keyed_cells(const struct keyed *k, size_t number)
{
	return k->cells + number * k->nr_cells;
}

void keyed_release(struct keyed *k);

/* Makes an array of @each_bytes have room for as many as there are keys, zeroed; false: no memory. */
bool keyed_room(const struct keyed *k, void **list, size_t *room, size_t each_bytes);

/*
 * What was found last for a context, by whom it was asked for: pieces of one thread's time come one
 * after the other and mostly meet the same few contexts, so most need no hashing.
 *
 * Zero-initialise, memo_release() at the end.
 */
struct memo {
	struct memo_slot {
		uint64_t owner; /* who asked, + 1; 0 nobody yet */
		size_t at;
	} *slots; /* owned, by context + 1 */
	int64_t nr;
};

/* Makes room for contexts -1 .. @nr_contexts - 1.  0 or -ENOMEM. */
int memo_init(struct memo *m, int64_t nr_contexts);

/* What memo_put() said for this context, if it was for @owner; false: nothing. */
static inline bool memo_get(const struct memo *m, int64_t context, uint64_t owner, size_t *at)
{
	if (context + 1 >= m->nr || m->slots[context + 1].owner != owner + 1)
		return false;
	*at = m->slots[context + 1].at;
	return true;
}

static inline void memo_put(struct memo *m, int64_t context, uint64_t owner, size_t at)
{
	if (context + 1 < m->nr)
		m->slots[context + 1] = (struct memo_slot){owner + 1, at};
}

void memo_release(struct memo *m);

#endif
