/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_SEGMENT_H
#define HISTORY_PARTS_SEGMENT_H

#include "history/parts/sorted.h"

/*
 * A segment: the changes of one attribute inside one node, column by column.  Places (a time or
 * the number of a time, see node.h) are a sorted list; values are packed at a fixed width, either
 * as they are above the smallest one, or as numbers of a dictionary of the segment's distinct
 * values; summaries have a third column, the share.  Any entry can be read without the others.
 */
struct segment {
	struct sorted places;
	const uint8_t *dict, *values, *shares; /* bit arrays; dict NULL: no dictionary */
	uint32_t value_min;
	uint32_t nr_dict;
	unsigned value_bits, dict_bits;
};

/* Bits of a share; all ones: the value held all of the time. */
#define SHARE_BITS 4
#define SHARE_ALL ((1u << SHARE_BITS) - 1)

/* Entries to encode; places strictly rising; shares NULL in nodes that have none. */
struct segment_entries {
	const uint64_t *places;
	const uint32_t *values;
	const uint8_t *shares;
	uint32_t nr; /* at least 1 */
};

/* Work memory of the encoder; about 150 KB, reused for every segment. */
struct segment_work;
struct segment_work *segment_work_new(void);
void segment_work_free(struct segment_work *w);

/* Without @work, NULL, there is no dictionary. */
void segment_put(struct bytes *out, const struct segment_entries *e, struct segment_work *work);

/* Looks at a segment; false when its bytes make no sense. */
bool segment_open(struct segment *s, const uint8_t *from, uint64_t len_bytes, bool has_shares);

/* Has the memory fetched in which place @x probably is. */
static inline void segment_prefetch(const struct segment *s, uint64_t x)
{
	uint64_t high = x >> s->places.low_bits;
	const uint8_t *low;
	uint64_t i;

	if (high > s->places.high_max)
		high = s->places.high_max;
	i = s->places.nr * high / (s->places.high_max + 1);
	for (uint64_t at = 0; at <= high + i && at < 8 * 512; at += 512)
		__builtin_prefetch(s->places.high + (at >> 3));
	low = s->places.low + (i * s->places.low_bits >> 3);
	__builtin_prefetch(low > s->places.low + 32 ? low - 32 : low);
	__builtin_prefetch(low + 32);
	__builtin_prefetch(s->values + (i * s->value_bits >> 3));
}

static inline uint32_t segment_value(const struct segment *s, uint32_t i)
{
	uint64_t v = bits_get(s->values, (uint64_t)i * s->value_bits, s->value_bits);

	if (s->dict)
		v = v < s->nr_dict ? bits_get(s->dict, v * s->dict_bits, s->dict_bits) : 0;
	return s->value_min + (uint32_t)v;
}

static inline unsigned segment_share(const struct segment *s, uint32_t i)
{
	return (unsigned)bits_get(s->shares, (uint64_t)i * SHARE_BITS, SHARE_BITS);
}

/* Writes the shares of entries [first, first + nr) to @out. */
void segment_shares(const struct segment *s, uint32_t first, uint32_t nr, uint8_t *out);

/* Writes the values of entries [first, first + nr) to @out. */
void segment_values(const struct segment *s, uint32_t first, uint32_t nr, uint32_t *out);

#endif
