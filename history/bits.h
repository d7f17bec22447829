/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_BITS_H
#define HISTORY_BITS_H

#include "history/bytes.h"

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

/* @width <= 57: what one load of 8 bytes always holds. */
static inline uint64_t bits_get(const uint8_t *base, uint64_t at, unsigned width)
{
	return get_u64(base + (at >> 3)) >> (at & 7) & bits_mask(width);
}

/* Any width up to 64. */
static inline uint64_t bits_get_wide(const uint8_t *base, uint64_t at, unsigned width)
{
	if (width <= 57)
		return bits_get(base, at, width);
	return bits_get(base, at, 32) | bits_get(base, at + 32, width - 32) << 32;
}

/* Into zeroed memory only; @width <= 57 and @v must fit. */
static inline void bits_put(uint8_t *base, uint64_t at, uint64_t v)
{
	uint8_t *p = base + (at >> 3);

	set_u64(p, get_u64(p) | v << (at & 7));
}

static inline void bits_put_wide(uint8_t *base, uint64_t at, uint64_t v)
{
	bits_put(base, at, v & UINT32_MAX);
	bits_put(base, at + 32, v >> 32);
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
