/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_SORTED_H
#define HISTORY_PARTS_SORTED_H

#include "history/parts/bits.h"

/*
 * A list of rising numbers in little more than the bits it must take, with any of them readable
 * without the ones before (Elias 1974, Fano 1971).  Every number is cut in two: its low_bits
 * lowest bits stand in an array; the rest, which rises slowly, is kept as a bit row in which
 * entry i with upper part h sets bit h + i.  So the zeros before an entry count its upper part,
 * the ones count the entry.
 *
 * Layout: low parts (nr * low_bits bits, then up to the next byte), then the row of
 * nr + high_max + 1 bits.  nr, low_bits and high_max are kept by whoever holds the list.
 */
struct sorted {
	const uint8_t *low, *high;
	uint64_t high_max; /* upper part of the last number */
	uint32_t nr;
	unsigned low_bits;
};

#define SORTED_LOW_BITS_MAX 56

/* The low_bits that suit @nr numbers up to @max. */
static inline unsigned sorted_low_bits(uint32_t nr, uint64_t max)
{
	unsigned bits = nr ? bits_width(max / nr) : 0;

	if (bits)
		bits--;
	return bits > SORTED_LOW_BITS_MAX ? SORTED_LOW_BITS_MAX : bits;
}

static inline uint64_t sorted_low_bytes(uint32_t nr, unsigned low_bits)
{
	return ((uint64_t)nr * low_bits + 7) / 8;
}

static inline uint64_t sorted_high_bytes(uint32_t nr, uint64_t high_max)
{
	return (nr + high_max + 8) / 8;
}

static inline uint64_t sorted_bytes(uint32_t nr, unsigned low_bits, uint64_t high_max)
{
	return sorted_low_bytes(nr, low_bits) + sorted_high_bytes(nr, high_max);
}

/* Writes @nr numbers to zeroed memory of sorted_bytes() and BITS_SLACK_BYTES. */
void sorted_put(uint8_t *to, const uint64_t *x, uint32_t nr, unsigned low_bits);

/* Looks at a list at @from; false when it does not fit in @len_bytes (slack included). */
static inline bool sorted_open(struct sorted *s, const uint8_t *from, uint64_t len_bytes,
			       uint32_t nr, unsigned low_bits, uint64_t high_max)
{
	if (low_bits > SORTED_LOW_BITS_MAX || high_max > len_bytes * 8 || nr > len_bytes * 8)
		return false;
	if (sorted_bytes(nr, low_bits, high_max) + BITS_SLACK_BYTES > len_bytes)
		return false;
	s->low = from;
	s->high = from + sorted_low_bytes(nr, low_bits);
	s->nr = nr;
	s->low_bits = low_bits;
	s->high_max = high_max;
	return true;
}

/* How many numbers are <= @x; if any, *last becomes the largest of them (unless @last is NULL). */
uint32_t sorted_upto(const struct sorted *s, uint64_t x, uint64_t *last);

/* The same for who knows bit @from of the row, before which @before entries stand, all of them
 * smaller than @x with other upper parts. */
uint32_t sorted_upto_from(const struct sorted *s, uint64_t x, uint64_t from, uint32_t before);

/* Bit of the row that stands for entry @i, searched from bit @from on, before which @before
 * entries stand.  A damaged row ends the search at its end. */
uint64_t sorted_select(const struct sorted *s, uint32_t i, uint64_t from, uint32_t before);

static inline uint64_t sorted_join(const struct sorted *s, uint32_t i, uint64_t row_bit)
{
	return (row_bit - i) << s->low_bits |
	       bits_get(s->low, (uint64_t)i * s->low_bits, s->low_bits);
}

static inline uint64_t sorted_get(const struct sorted *s, uint32_t i)
{
	return sorted_join(s, i, sorted_select(s, i, 0, 0));
}

/* Writes entries [first, first + nr) to @out, each with @add added.  *hint: 0, or what the call
 * that decoded the entries right before @first left there. */
void sorted_decode_from(const struct sorted *s, uint32_t first, uint32_t nr, uint64_t add,
			uint64_t *out, uint64_t *hint);

static inline void sorted_decode(const struct sorted *s, uint32_t first, uint32_t nr, uint64_t *out,
				 uint64_t *hint)
{
	sorted_decode_from(s, first, nr, 0, out, hint);
}

/* Whether all of entries [first, first + nr) are certainly less than @limit; @hint as
 * sorted_decode() left it. */
bool sorted_below(const struct sorted *s, uint32_t first, uint32_t nr, uint64_t limit,
		  uint64_t hint);

/* The same as sorted_decode(), but writes what stands in @table at each entry; they must be
 * sorted_below() its length. *last becomes the last of that; false: it does not rise everywhere,
 * from *last to the first as well. */
bool sorted_look_up(const struct sorted *s, uint32_t first, uint32_t nr, const int64_t *table,
		    int64_t *last, int64_t *out, uint64_t *hint);

#endif
