/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_CULPRIT_SUMS_H
#define ANALYSIS_SCHED_CULPRIT_SUMS_H

#include "analysis/sched/use_sums.h"
#include "base/hash.h"

/*
 * What had the CPU while somebody waited, summed up by culprit and physical CPU, in the order in
 * which each was added first.
 *
 * Zero-initialise, culprit_sums_release() at the end; culprit_sums_clear() before it is used for somebody else.
 */
struct culprit_sum {
	uint64_t key;	    /* culprit_sums_key() */
	struct use_sum use; /* .who is not set */
	ns_t met;	    /* begin of the first piece */
	uint32_t slot;	    /* that it stands in */
};

struct culprit_sums {
	struct culprit_sum *parts; /* owned */
	struct culprit_sums_slot {
		uint64_t key; /* 0: free */
		uint32_t at;  /* of parts */
	} * slots;	      /* owned: a power of two of them, or none */
	uint32_t nr, room, nr_slots;
	uint64_t secret; /* while there are slots */
};

/* @on: CPU row of the physical CPU, -1 unknown.  Keys of one CPU are those of culprit 0 and of
 * those behind it. */
static inline uint64_t culprit_sums_key(int64_t on, uint32_t culprit)
{
	return (uint64_t)(on + 1) << 32 | (culprit + 1);
}

static inline uint32_t culprit_sums_culprit(const struct culprit_sum *part)
{
	return (uint32_t)part->key - 1;
}

static inline int64_t culprit_sums_on(const struct culprit_sum *part)
{
	return (int64_t)(part->key >> 32) - 1;
}

/* Where the search for @key begins. */
static inline uint32_t culprit_sums_home(const struct culprit_sums *t, uint64_t key)
{
	return (uint32_t)hash_mix(key, t->secret) & (t->nr_slots - 1);
}

/* Makes a part that is not there yet; NULL: no memory. */
struct culprit_sum *culprit_sums_new(struct culprit_sums *t, uint64_t key);

static inline struct culprit_sum *culprit_sums_get(struct culprit_sums *t, uint64_t key)
{
	uint32_t mask = t->nr_slots - 1;

	if (!t->nr_slots)
		return culprit_sums_new(t, key);
	for (uint32_t i = culprit_sums_home(t, key);; i = (i + 1) & mask) {
		if (t->slots[i].key == key)
			return &t->parts[t->slots[i].at];
		if (!t->slots[i].key)
			return culprit_sums_new(t, key);
	}
}

/* Adds what a culprit had on a CPU, the first of it at @met; it may have come before what was added
 * before.  False: no memory. */
static inline bool culprit_sums_add(struct culprit_sums *t, uint64_t key, const struct use_sum *use,
				    ns_t met)
{
	struct culprit_sum *part = culprit_sums_get(t, key);

	if (!part)
		return false;
	use_sum_add(&part->use, use);
	if (met < part->met)
		part->met = met;
	return true;
}

void culprit_sums_clear(struct culprit_sums *t);
void culprit_sums_release(struct culprit_sums *t);

#endif
