/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_PROTO_H
#define EXPORT_PROTO_H

#include "history/parts/bytes.h"

/*
 * Protocol Buffers' wire format, as far as a writer needs it
 * (protobuf.dev/programming-guides/encoding): a message is a sequence of fields, each a varint of
 * number << 3 | kind, then the value.
 *
 *	size_t packet = proto_begin(&b, 1);
 *	proto_uint(&b, 8, t);
 *	proto_text(&b, 23, "name");
 *	proto_end(&b, packet);
 *
 * Messages may stand in messages.  What runs out of memory turns b.failed.
 */
void proto_uint(struct bytes *b, unsigned field, uint64_t value);
void proto_int(struct bytes *b, unsigned field, int64_t value); /* int32, int64: not zigzag */
void proto_fixed64(struct bytes *b, unsigned field, uint64_t value);
void proto_double(struct bytes *b, unsigned field, double value);

/* A string; bytes that are no UTF-8 become '?', as string fields may hold none. */
void proto_text(struct bytes *b, unsigned field, const char *text);

/* A message within a message: what proto_begin() returns, proto_end() takes. */
size_t proto_begin(struct bytes *b, unsigned field);
void proto_end(struct bytes *b, size_t begin);

#endif
