/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_CTF_BITS_H
#define SOURCE_CTF_BITS_H

#include "base/types.h"

#include <string.h>

/*
 * Integers of 1 to 64 bits at any bit position.  Little-endian: the first bit of a byte is its
 * least significant one; big-endian: its most significant one.  Only the bytes that hold the
 * integer are read.
 */
static inline uint64_t ctf_bits_le(const uint8_t *data, uint64_t pos, unsigned nr_bits)
{
	const uint8_t *p = data + (pos >> 3);
	unsigned shift = pos & 7;
	unsigned nr_bytes = (shift + nr_bits + 7) >> 3;
	uint64_t v = 0;

	/* A copy of unknown length is a function's call, and these four are most. */
	if (nr_bytes == 4)
		memcpy(&v, p, 4);
	else if (nr_bytes >= 8)
		memcpy(&v, p, 8);
	else if (nr_bytes == 1)
		v = *p;
	else if (nr_bytes == 2)
		memcpy(&v, p, 2);
	else
		memcpy(&v, p, nr_bytes);
	v >>= shift;
	if (nr_bytes > 8)
		v |= (uint64_t)p[8] << (64 - shift);
	return nr_bits == 64 ? v : v & ((UINT64_C(1) << nr_bits) - 1);
}

static inline uint64_t ctf_bits_be(const uint8_t *data, uint64_t pos, unsigned nr_bits)
{
	const uint8_t *p = data + (pos >> 3);
	unsigned shift = pos & 7;
	unsigned nr_bytes = (shift + nr_bits + 7) >> 3;
	unsigned __int128 v = 0;

	for (unsigned i = 0; i < nr_bytes; i++)
		v = v << 8 | p[i];
	v >>= nr_bytes * 8 - shift - nr_bits;
	return nr_bits == 64 ? (uint64_t)v : (uint64_t)v & ((UINT64_C(1) << nr_bits) - 1);
}

static inline uint64_t ctf_sign_extend(uint64_t v, unsigned nr_bits)
{
	uint64_t sign = UINT64_C(1) << (nr_bits - 1);

	return (v ^ sign) - sign;
}

static inline uint64_t ctf_align_up(uint64_t pos, uint64_t align)
{
	return (pos + align - 1) & ~(align - 1);
}

#endif
