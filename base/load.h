/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOAD_H
#define BASE_LOAD_H

#include "base/types.h"

#include <string.h>

/* Integers at any address, in this machine's byte order; the caller knows that they are there. */

static inline uint16_t load_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#endif
