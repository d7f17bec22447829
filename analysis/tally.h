/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_TALLY_H
#define ANALYSIS_TALLY_H

#include "analysis/use_sums.h"
#include "base/map.h"

/*
 * What had the CPU during one wait, or during several of one thread, summed up by culprit and physical CPU, in the order in
 * which each was added first.
 *
 * Zero-initialise, tally_release() at the end; tally_clear() before it is used for others.
 */
struct tally_part {
	uint32_t culprit; /* number */
	int32_t on;	  /* CPU row of the physical CPU, -1 unknown */
	uint32_t count;	  /* of stretches: those that touch are one, whatever vCPU they were for */
	uint32_t slot;	  /* that it stands in */
	ns_t time_ns;	  /* in all */
	ns_t longest_ns, longest_at; /* the longest piece, the first such */
	ns_t met;		     /* begin of its first piece */
};

struct tally {
	struct tally_part *parts; /* owned */
	uint32_t *slots;	  /* owned: number of a part, + 1; 0 free.  A power of two of them */
	uint32_t nr, room, nr_slots;
};

/* Makes a new part, which is not there yet; NULL: no memory. */
struct tally_part *tally_new_part(struct tally *t, uint32_t culprit, int32_t on);

static inline uint32_t tally_slot(const struct tally *t, uint32_t culprit, int32_t on)
{
	return map_hash((uint64_t)(uint32_t)on << 32 | culprit) & (t->nr_slots - 1);
}

/* The part of a culprit on a CPU; NULL: no memory.  Good until the next is asked for. */
static inline struct tally_part *tally_part(struct tally *t, uint32_t culprit, int32_t on)
{
	if (!t->nr_slots)
		return tally_new_part(t, culprit, on);
	for (uint32_t i = tally_slot(t, culprit, on); t->slots[i]; i = (i + 1) & (t->nr_slots - 1)) {
		struct tally_part *part = &t->parts[t->slots[i] - 1];

		if (part->culprit == culprit && part->on == on)
			return part;
	}
	return tally_new_part(t, culprit, on);
}

/* Adds what a culprit had, the first of it at @met; it may have come before what was added before.  @count instead of that
 * of @use.  False: no memory. */
static inline bool tally_add(struct tally *t, uint32_t culprit, int32_t on, const struct use_sum *use,
			     uint32_t count, ns_t met)
{
	struct tally_part *part = tally_part(t, culprit, on);

	if (!part)
		return false;
	part->count += count;
	part->time_ns += use->time_ns;
	part->met = met < part->met ? met : part->met;
	if (use->longest_ns > part->longest_ns ||
	    (use->longest_ns == part->longest_ns && use->longest_at < part->longest_at)) {
		part->longest_ns = use->longest_ns;
		part->longest_at = use->longest_at;
	}
	return true;
}

void tally_clear(struct tally *t);
void tally_release(struct tally *t);

#endif
