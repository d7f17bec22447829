/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DAT_BYTES_H
#define SOURCE_DAT_BYTES_H

#include "base/load.h"

#include <string.h>

/*
 * A bounded walk over bytes in the file's byte order.  Reading past the end gives zeros and sets
 * @bad, which stays set: read a whole structure, then ask once whether it was all there.
 */
struct bytes {
	const uint8_t *data;
	size_t len_bytes;
	size_t pos;
	bool swap; /* the file's byte order is not this machine's */
	bool bad;
};

static inline uint16_t load16(const uint8_t *p, bool swap)
{
	uint16_t v = load_u16(p);

	return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t load32(const uint8_t *p, bool swap)
{
	uint32_t v = load_u32(p);

	return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t load64(const uint8_t *p, bool swap)
{
	uint64_t v = load_u64(p);

	return swap ? __builtin_bswap64(v) : v;
}

/* A number of 1, 2, 4 or 8 bytes. */
static inline uint64_t load_uint(const uint8_t *p, unsigned size_bytes, bool swap)
{
	switch (size_bytes) {
	case 1:
		return *p;
	case 2:
		return load16(p, swap);
	case 4:
		return load32(p, swap);
	default:
		return load64(p, swap);
	}
}

static inline size_t bytes_left(const struct bytes *b)
{
	return b->bad ? 0 : b->len_bytes - b->pos;
}

/* The next @len_bytes as they are, or NULL when there are not so many. */
static inline const uint8_t *bytes_take(struct bytes *b, uint64_t len_bytes)
{
	if (b->bad || len_bytes > b->len_bytes - b->pos) {
		b->bad = true;
		return NULL;
	}
	b->pos += len_bytes;
	return b->data + b->pos - len_bytes;
}

static inline uint16_t bytes_u16(struct bytes *b)
{
	const uint8_t *p = bytes_take(b, 2);

	return p ? load16(p, b->swap) : 0;
}

static inline uint32_t bytes_u32(struct bytes *b)
{
	const uint8_t *p = bytes_take(b, 4);

	return p ? load32(p, b->swap) : 0;
}

static inline uint64_t bytes_u64(struct bytes *b)
{
	const uint8_t *p = bytes_take(b, 8);

	return p ? load64(p, b->swap) : 0;
}

/* A NUL-terminated string inside the data, or NULL. */
static inline const char *bytes_str(struct bytes *b)
{
	size_t left = bytes_left(b);
	const uint8_t *p = left ? b->data + b->pos : NULL;
	const uint8_t *end = left ? memchr(p, '\0', left) : NULL;

	if (!end) {
		b->bad = true;
		return NULL;
	}
	b->pos += (size_t)(end - p) + 1;
	return (const char *)p;
}

/* A part of @b as a walk of its own; bad when it does not fit. */
static inline struct bytes bytes_sub(struct bytes *b, uint64_t len_bytes)
{
	struct bytes sub = {.swap = b->swap};

	sub.data = bytes_take(b, len_bytes);
	sub.bad = b->bad;
	sub.len_bytes = sub.bad ? 0 : len_bytes;
	return sub;
}

#endif
