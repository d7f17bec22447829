/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SCHED_CULPRIT_SUMS_H
#define ANALYSIS_SCHED_CULPRIT_SUMS_H

#include "analysis/sched/use_sums.h"
#include "base/hash.h"

/*
 * What had the CPU while somebody waited, summed up by culprit and physical CPU, in the order in
 * which each was added first.
 *
 * Zero-initialise, tally_release() at the end; tally_clear() before it is used for somebody else.
 */
struct tally_part {
	uint64_t key;	    /* tally_key() */
	struct use_sum use; /* .who is not set */
	ns_t met;	    /* begin of the first piece */
	uint32_t slot;	    /* that it stands in */
};

struct tally {
	struct tally_part *parts; /* owned */
	struct tally_slot {
		uint64_t key; /* 0: free */
		uint32_t at;  /* of parts */
	} * slots;	      /* owned: a power of two of them, or none */
	uint32_t nr, room, nr_slots;
	uint64_t secret; /* while there are slots */
};

/* @on: CPU row of the physical CPU, -1 unknown.  Keys of one CPU are those of culprit 0 and of
 * those behind it. */
static inline uint64_t tally_key(int64_t on, uint32_t culprit)
{
	return (uint64_t)(on + 1) << 32 | (culprit + 1);
}

static inline uint32_t tally_culprit(const struct tally_part *part)
{
	return (uint32_t)part->key - 1;
}

static inline int64_t tally_on(const struct tally_part *part)
{
	return (int64_t)(part->key >> 32) - 1;
}

/* Where the search for @key begins. */
static inline uint32_t tally_home(const struct tally *t, uint64_t key)
{
	return (uint32_t)hash_mix(key, t->secret) & (t->nr_slots - 1);
}

/* Makes a part that is not there yet; NULL: no memory. */
struct tally_part *tally_new_part(struct tally *t, uint64_t key);

static inline struct tally_part *tally_part(struct tally *t, uint64_t key)
{
	uint32_t mask = t->nr_slots - 1;

	if (!t->nr_slots)
		return tally_new_part(t, key);
	for (uint32_t i = tally_home(t, key);; i = (i + 1) & mask) {
		if (t->slots[i].key == key)
			return &t->parts[t->slots[i].at];
		if (!t->slots[i].key)
			return tally_new_part(t, key);
	}
}

/* Adds what a culprit had on a CPU, the first of it at @met; it may have come before what was added
 * before.  False: no memory. */
static inline bool tally_add(struct tally *t, uint64_t key, const struct use_sum *use, ns_t met)
{
	struct tally_part *part = tally_part(t, key);

	if (!part)
		return false;
	use_sum_add(&part->use, use);
	if (met < part->met)
		part->met = met;
	return true;
}

void tally_clear(struct tally *t);
void tally_release(struct tally *t);

#endif
