/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_BYTES_H
#define HISTORY_PARTS_BYTES_H

#include <endian.h>
#include <string.h>

#include "base/types.h"

/*
 * Bytes on their way into and out of a file.  A struct bytes grows; zero-initialise it,
 * bytes_release() at the end.  When memory is out it turns `failed` and takes nothing more, so
 * that a writer needs to look only once, at the end.  Everything beyond len_bytes up to the room
 * asked for is zero: the bit arrays of segments are built in place by OR-ing.
 */
struct bytes {
	uint8_t *data;
	size_t len_bytes, room_bytes;
	bool failed;
};

/* Makes room for @more further bytes, zeroed; returns where they start, NULL when memory is out.
 * The length does not change. */
uint8_t *bytes_room(struct bytes *b, size_t more);
void bytes_put(struct bytes *b, const void *data, size_t len_bytes);
void bytes_put_u8(struct bytes *b, uint8_t v);
void bytes_put_u32(struct bytes *b, uint32_t v);
void bytes_put_u64(struct bytes *b, uint64_t v);
void bytes_put_varint(struct bytes *b, uint64_t v);
void bytes_put_signed(struct bytes *b, int64_t v);
void bytes_clear(struct bytes *b);
void bytes_release(struct bytes *b);

/* Reading: a place in bytes that are not trusted.  Past the end everything reads as 0 and `bad`
 * is set. */
struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

uint64_t cursor_long_varint(struct cursor *c);

static inline const uint8_t *cursor_take(struct cursor *c, size_t len_bytes)
{
	const uint8_t *p = c->p;

	if (c->bad || (size_t)(c->end - c->p) < len_bytes) {
		c->bad = true;
		return NULL;
	}
	c->p += len_bytes;
	return p;
}

/* Numbers of one byte and of two are by far the most.  What the long ones need is a copy, so that
 * the cursor itself can stay in registers. */
static inline uint64_t cursor_varint(struct cursor *c)
{
	const uint8_t *p = c->p;
	struct cursor copy;
	uint64_t v;

	if (p < c->end && *p < 0x80) {
		c->p++;
		return *p;
	}
	if (c->end - p >= 2 && p[1] < 0x80) {
		c->p += 2;
		return (uint64_t)p[1] << 7 | (p[0] & 0x7f);
	}
	copy = *c;
	v = cursor_long_varint(&copy);
	*c = copy;
	return v;
}

static inline int64_t cursor_signed(struct cursor *c)
{
	uint64_t v = cursor_varint(c);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static inline uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t get_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void set_u32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void set_u64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

#endif
