/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/pack_columns.h"

#include <errno.h>
#include <stdlib.h>

#include "history/parts/pack.h"

#define ZSTD_LEVEL 1
#define ENTRY_NUMBERS 3	   /* an entry is at most so many numbers, */
#define ROW_NUMBERS 4	   /* and a row so many more, */
#define SNAPSHOT_NUMBERS 3 /* and one of a snapshot so many */

int pack_columns_init(struct pack_columns *c)
{
	c->zstd = ZSTD_createCCtx();
	return c->zstd ? 0 : -ENOMEM;
}

void pack_columns_release(struct pack_columns *c)
{
	ZSTD_freeCCtx(c->zstd);
	free(c->columns);
	free(c->bits);
}

static uint64_t column_room(unsigned column, const struct pack_size *size)
{
	if (column <= COLUMN_MODE)
		return size->rows;
	return column >= COLUMN_SNAPSHOT_ATTR && column <= COLUMN_SNAPSHOT_SINCE ? size->snapshot
										 : size->entries;
}

/* Memory for @size_bytes that need not keep what it holds. */
static bool fresh(uint8_t **memory, size_t *room, size_t size_bytes)
{
	if (size_bytes <= *room)
		return true;
	free(*memory);
	*memory = malloc(size_bytes);
	*room = *memory ? size_bytes : 0;
	return *memory;
}

bool pack_columns_start(struct pack_columns *c, const struct pack_size *size)
{
	uint64_t numbers = size->entries * ENTRY_NUMBERS + size->rows * ROW_NUMBERS +
			   size->snapshot * SNAPSHOT_NUMBERS;
	uint64_t sum = 0;

	for (unsigned i = 0; i < NR_COLUMNS; i++)
		sum += column_room(i, size);
	if (!fresh(&c->columns, &c->room, sum + 1) ||
	    !fresh(&c->bits, &c->bits_room, numbers * sizeof(uint64_t) + BITS_SLACK_BYTES))
		return false;
	sum = 0;
	for (unsigned i = 0; i < NR_COLUMNS; i++) {
		c->begin[i] = c->end[i] = c->columns + sum;
		sum += column_room(i, size);
	}
	c->sink = (struct bits_sink){.p = c->bits};
	return true;
}

/* Appends a column: its length, its length here, its bytes, compressed where that helps. */
static void put_column(struct pack_columns *c, unsigned column, struct bytes *out)
{
	size_t len_bytes = (size_t)(c->end[column] - c->begin[column]);
	size_t bound = ZSTD_compressBound(len_bytes);
	size_t at, len = 0;
	uint8_t *to;

	bytes_put_varint(out, len_bytes);
	if (!len_bytes)
		return;
	at = out->len_bytes;
	to = bytes_room(out, bound + 5);
	if (to)
		len = ZSTD_compressCCtx(c->zstd, to + 5, bound, c->begin[column], len_bytes,
					ZSTD_LEVEL);
	if (!to || ZSTD_isError(len) || len >= len_bytes) {
		bytes_put_varint(out, 0);
		bytes_put(out, c->begin[column], len_bytes);
		return;
	}
	bytes_put_varint(out, len);
	if (out->failed)
		return;
	memmove(out->data + out->len_bytes, out->data + at + 5, len);
	out->len_bytes += len;
}

bool pack_columns_finish(struct pack_columns *c, struct bytes *out)
{
	uint64_t len_bytes = 0;

	for (unsigned i = 0; i < NR_COLUMNS; i++) {
		len_bytes += (uint64_t)(c->end[i] - c->begin[i]);
		put_column(c, i, out);
	}
	set_u64(c->sink.p, c->sink.acc);
	bytes_put(out, c->bits, (size_t)(c->sink.p - c->bits) + (c->sink.nr + 7) / 8);
	bytes_put_u64(out, 0);
	bytes_put_u64(out, 0);
	return !out->failed && len_bytes <= PACK_RATIO_MAX * out->len_bytes;
}
