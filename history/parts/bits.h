/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_BITS_H
#define HISTORY_PARTS_BITS_H

#include "history/parts/bytes.h"

/*
 * Bit arrays in memory: bit k is bit (k mod 8) of byte k / 8, a number of several bits has its
 * lowest bit first.  Readers and writers touch up to BITS_SLACK_BYTES beyond the last bit, so
 * every array is followed by that many bytes of the same part.
 */
#define BITS_SLACK_BYTES 16

static inline uint64_t bits_mask(unsigned width)
{
	return width >= 64 ? UINT64_MAX : (1ull << width) - 1;
}

/* How many bits the number needs: 0 for 0. */
static inline unsigned bits_width(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* What one load of 8 bytes always holds. */
#define BITS_GET_MAX 57

/* @width <= BITS_GET_MAX. */
static inline uint64_t bits_get(const uint8_t *base, uint64_t at, unsigned width)
{
	return get_u64(base + (at >> 3)) >> (at & 7) & ((1ull << width) - 1);
}

/* Any width up to 64. */
static inline uint64_t bits_get_wide(const uint8_t *base, uint64_t at, unsigned width)
{
	if (width <= 32)
		return bits_get(base, at, width);
	return bits_get(base, at, 32) | bits_get(base, at + 32, width - 32) << 32;
}

/* Writes numbers one behind the other; overwrites up to 8 bytes behind the last. */
struct bits_sink {
	uint8_t *p;
	uint64_t acc;
	unsigned nr; /* bits in acc, less than 8 between calls */
};

/* @width <= 56, and @v fits. */
static inline void bits_sink_put(struct bits_sink *s, uint64_t v, unsigned width)
{
	s->acc |= v << s->nr;
	s->nr += width;
	set_u64(s->p, s->acc);
	s->p += s->nr >> 3;
	s->acc >>= s->nr & ~7u & 63;
	s->nr &= 7;
}

/* Any width up to 64. */
static inline void bits_sink_put_wide(struct bits_sink *s, uint64_t v, unsigned width)
{
	unsigned low = width < 32 ? width : 32;

	bits_sink_put(s, v & bits_mask(low), low);
	if (width > 32)
		bits_sink_put(s, v >> 32, width - 32);
}

/* Portable population count: the instruction is not part of the x86-64 baseline. */
static inline unsigned bits_count(uint64_t v)
{
	v -= v >> 1 & 0x5555555555555555ull;
	v = (v & 0x3333333333333333ull) + (v >> 2 & 0x3333333333333333ull);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (unsigned)(v * 0x0101010101010101ull >> 56);
}

#endif
