/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/bytes.h"

#include <stdlib.h>

uint8_t *bytes_room(struct bytes *b, size_t more)
{
	if (b->failed)
		return NULL;
	if (b->room_bytes - b->len_bytes < more) {
		size_t room = b->room_bytes ? b->room_bytes * 2 : 4096;
		uint8_t *data;

		while (room - b->len_bytes < more)
			room *= 2;
		data = realloc(b->data, room);
		if (!data) {
			b->failed = true;
			return NULL;
		}
		b->data = data;
		b->room_bytes = room;
	}
	if (more) /* there may be nothing yet */
		memset(b->data + b->len_bytes, 0, more);
	return b->data + b->len_bytes;
}

void bytes_put(struct bytes *b, const void *data, size_t len_bytes)
{
	uint8_t *p = bytes_room(b, len_bytes);

	if (!p || !len_bytes)
		return;
	memcpy(p, data, len_bytes);
	b->len_bytes += len_bytes;
}

void bytes_put_u8(struct bytes *b, uint8_t v)
{
	bytes_put(b, &v, 1);
}

void bytes_put_u32(struct bytes *b, uint32_t v)
{
	v = htole32(v);
	bytes_put(b, &v, sizeof(v));
}

void bytes_put_u64(struct bytes *b, uint64_t v)
{
	v = htole64(v);
	bytes_put(b, &v, sizeof(v));
}

void bytes_put_varint(struct bytes *b, uint64_t v)
{
	uint8_t tmp[10];
	unsigned n = 0;

	for (; v >= 0x80; v >>= 7)
		tmp[n++] = (uint8_t)v | 0x80;
	tmp[n++] = (uint8_t)v;
	bytes_put(b, tmp, n);
}

void bytes_put_signed(struct bytes *b, int64_t v)
{
	bytes_put_varint(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void bytes_clear(struct bytes *b)
{
	b->len_bytes = 0;
	b->failed = false;
}

void bytes_release(struct bytes *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

uint64_t cursor_long_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
		uint8_t b = *c->p++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}
