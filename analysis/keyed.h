/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_KEYED_H
#define ANALYSIS_KEYED_H

#include "base/types.h"

/*
 * Rows that are summed up per key: numbers each distinct key (a few integers) 0, 1, 2 ..., in the
 * order in which they come, and keeps a sum for each, a struct of the caller's that begins as all
 * 0.
 *
 * Zero-initialise with .nr_cells and .sum_bytes set, keyed_release() at the end.
 */
#define KEYED_CELLS_MAX 6

struct keyed {
	unsigned nr_cells;
	size_t sum_bytes; /* 0: no sums, just numbers */
	int64_t *cells;	  /* owned: nr x nr_cells */
	char *sums;	  /* owned: nr x sum_bytes */
	size_t nr, room;
	/* Owned, twice as many as there is room for keys: where they are, by their hashes' highest
	 * bits. */
	struct keyed_slot {
		uint32_t hash;
		uint32_t number; /* + 1; 0: free */
	} * slots;
	unsigned shift;	 /* of a hash, to get its slot */
	uint64_t secret; /* while there is room */
};

/* The key's number, a new one when it is new (it is then the last); -ENOMEM. */
int64_t keyed_get(struct keyed *k, const int64_t *cells);

static inline const int64_t *keyed_cells(const struct keyed *k, size_t number)
{
	return k->cells + number * k->nr_cells;
}

/* A key's sum; it may move when keyed_get() makes a new one. */
static inline void *keyed_sum_at(const struct keyed *k, size_t number)
{
	return k->sums + number * k->sum_bytes;
}

/* The sum of a key, of a new one when it is new; NULL: no memory. */
static inline void *keyed_sum(struct keyed *k, const int64_t *cells)
{
	int64_t number = keyed_get(k, cells);

	return number < 0 ? NULL : keyed_sum_at(k, (size_t)number);
}

void keyed_release(struct keyed *k);

/*
 * What was found last for a culprit, by whom it was asked for: parts of one thread's time come one
 * after the other and mostly meet the same few culprits, so most need no hashing.
 *
 * Zero-initialise, memo_release() at the end.
 */
struct memo {
	struct memo_slot {
		uint64_t owner; /* who asked, + 1; 0 nobody yet */
		size_t at;
	} * slots; /* owned, by the culprit's number (analysis/culprit.h) */
};

/* 0 or -ENOMEM. */
int memo_init(struct memo *m, uint32_t nr_culprits);

/* What memo_put() said for this culprit, if it was for @owner; false: nothing. */
static inline bool memo_get(const struct memo *m, uint32_t culprit, uint64_t owner, size_t *at)
{
	if (m->slots[culprit].owner != owner + 1)
		return false;
	*at = m->slots[culprit].at;
	return true;
}

static inline void memo_put(struct memo *m, uint32_t culprit, uint64_t owner, size_t at)
{
	m->slots[culprit] = (struct memo_slot){owner + 1, at};
}

void memo_release(struct memo *m);

#endif
