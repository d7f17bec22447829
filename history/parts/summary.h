/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_SUMMARY_H
#define HISTORY_PARTS_SUMMARY_H

#include "history/parts/format.h"
#include "history/parts/node.h"
#include "history/parts/outfile.h"

/*
 * Summaries, so that a window of any width can be drawn without reading all that is in it.
 *
 * Level l cuts time into buckets of summary_width(l) ns, the same for every attribute and aligned
 * to time 0.  In every bucket that it covers, an attribute has the value that held longest in it,
 * and the share of the bucket the value held at least.  Neighbours with equal value and share are
 * one run; a level is the list of runs, kept like changes are: by attribute, in nodes.
 *
 * An attribute is not covered by the levels on which it would have about as many runs as it has
 * changes (there its changes are read), and the finest level that covers it follows its pace.  One
 * that has changed less than COVERED_CHANGES_MIN times is not covered at all.
 *
 * On the finest level of an attribute the longest value is found from the changes themselves (of
 * more than SUMMARY_VALUES_MAX values in one bucket, some are not looked at).  Above, the times
 * known from the four children are added up; of a child those values count that held at least one
 * part in SUMMARY_RAISE_PART of it, and always its longest.  So the value is the longest among
 * those that count, and the share is what is known of it: a lower bound.
 */
#define SUMMARY_LEVELS 21
#define SUMMARY_SHIFT_MIN 8
#define SUMMARY_STEP 2 /* a bucket is made of 1 << SUMMARY_STEP buckets of the level below */
#define SUMMARY_VALUES_MAX 32
#define SUMMARY_RAISE_PART 16

static inline unsigned summary_shift(unsigned level)
{
	return SUMMARY_SHIFT_MIN + SUMMARY_STEP * level;
}

/* When a bucket begins. */
static inline ns_t summary_time(int64_t bucket, unsigned level)
{
	return (ns_t)((uint64_t)bucket << summary_shift(level));
}

/* A run with value 0 and share 0: from here on the attribute is not covered. */
#define SHARE_NONE 0

struct summary;

struct summary *summary_new(void);
void summary_free(struct summary *s);

/* Attribute @attr changes @nr times in the slice [begin, end), at base + times[i] to values[i]. */
void summary_row(struct summary *s, uint32_t attr, ns_t begin, ns_t end, const uint64_t *times,
		 const uint32_t *values, uint32_t nr);

/* The slice is over: writes the levels that are full. */
void summary_slice(struct summary *s, ns_t end, struct outfile *file);

/* The history is over. */
void summary_finish(struct summary *s, ns_t end, struct outfile *file);

#endif
