/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_PACK_COLUMNS_H
#define HISTORY_PARTS_PACK_COLUMNS_H

#include <zstd.h>

#include "history/parts/bytes.h"
#include "history/parts/pack_model.h"

/*
 * What a packed part is written as: columns of symbols, a byte each, and one row of bits.  A number
 * is its head, in a column, and the rest of it, in the row (pack_model.h).  All stay in memory
 * until the part is finished, each column compressed on its own.
 *
 * Zero-initialise, pack_columns_init(), pack_columns_release().
 */
struct pack_columns {
	ZSTD_CCtx *zstd;
	uint8_t *columns; /* owned: room for all of them */
	size_t room;
	uint8_t *begin[NR_COLUMNS], *end[NR_COLUMNS];
	uint8_t *bits; /* owned */
	size_t bits_room;
	struct bits_sink sink;
};

/* What there is at most in a part. */
struct pack_size {
	uint64_t rows, entries, snapshot;
};

/* 0 or -ENOMEM. */
int pack_columns_init(struct pack_columns *c);
void pack_columns_release(struct pack_columns *c);

/* Starts an empty part: from here on nobody looks for room.  False: no memory. */
bool pack_columns_start(struct pack_columns *c, const struct pack_size *size);
/* Appends all of it.  False: no memory, or so long that readers would not take it. */
bool pack_columns_finish(struct pack_columns *c, struct bytes *out);

static inline void pack_symbol(struct pack_columns *c, unsigned column, unsigned symbol)
{
	*c->end[column]++ = (uint8_t)symbol;
}

/* The part of @x that its head does not tell. */
static inline void pack_rest(struct pack_columns *c, uint64_t x, unsigned head)
{
	unsigned bits = head_rest_bits(head);

	if (likely(bits <= 32))
		bits_sink_put(&c->sink, x & bits_mask(bits), bits);
	else
		bits_sink_put_wide(&c->sink, x & bits_mask(bits), bits);
}

/* Returns the head. */
static inline unsigned pack_number(struct pack_columns *c, unsigned column, uint64_t x)
{
	unsigned head = number_head(x);

	pack_symbol(c, column, head);
	pack_rest(c, x, head);
	return head;
}

#endif
