/* SPDX-License-Identifier: Apache-2.0 */
#include "export/proto.h"
#include "base/utf8.h"

#include <string.h>

enum wire { WIRE_VARINT, WIRE_64, WIRE_LEN };

#define VARINT_MAX 10 /* bytes */

/* Most of what is written: without looking for room, and without a copy, where there is some. */
static inline void put_varint(struct bytes *b, uint64_t v)
{
	uint8_t *to;

	if (b->failed || b->room_bytes - b->len_bytes < VARINT_MAX) {
		bytes_put_varint(b, v);
		return;
	}
	to = b->data + b->len_bytes;
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)v | 0x80;
	*to++ = (uint8_t)v;
	b->len_bytes = (size_t)(to - b->data);
}

static inline void put_key(struct bytes *b, unsigned field, enum wire wire)
{
	put_varint(b, (uint64_t)field << 3 | wire);
}

void proto_uint(struct bytes *b, unsigned field, uint64_t value)
{
	put_key(b, field, WIRE_VARINT);
	put_varint(b, value);
}

void proto_int(struct bytes *b, unsigned field, int64_t value)
{
	proto_uint(b, field, (uint64_t)value);
}

void proto_fixed64(struct bytes *b, unsigned field, uint64_t value)
{
	put_key(b, field, WIRE_64);
	bytes_put_u64(b, value);
}

void proto_double(struct bytes *b, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	proto_fixed64(b, field, bits);
}

void proto_text(struct bytes *b, unsigned field, const char *text)
{
	size_t len = strlen(text);
	uint8_t *to;

	put_key(b, field, WIRE_LEN);
	put_varint(b, len);
	to = bytes_room(b, len);
	if (!to)
		return;
	for (size_t i = 0; i < len;) {
		unsigned n = utf8_length(text + i);

		if (n)
			memcpy(to + i, text + i, n);
		else
			to[i] = '?';
		i += n ? n : 1;
	}
	b->len_bytes += len;
}

/* The length takes a byte, as most do; more are made room for when it is known. */
size_t proto_begin(struct bytes *b, unsigned field)
{
	put_key(b, field, WIRE_LEN);
	put_varint(b, 0);
	return b->len_bytes;
}

void proto_end(struct bytes *b, size_t begin)
{
	size_t len = b->len_bytes - begin;
	unsigned more = 0;
	uint8_t *at;

	if (b->failed)
		return;
	for (size_t rest = len >> 7; rest; rest >>= 7)
		more++;
	if (more && !bytes_room(b, more))
		return;
	at = b->data + begin - 1;
	memmove(at + 1 + more, at + 1, len);
	for (unsigned i = 0; i < more; i++)
		at[i] = (uint8_t)(len >> 7 * i) | 0x80;
	at[more] = (uint8_t)(len >> 7 * more);
	b->len_bytes += more;
}
