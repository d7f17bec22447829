/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzz target: what a guest sends.  The input is read twice: as a stream of blocks, and as the
 * registers of hypercalls, whose blocks are then read.
 */
#include "channel/reader.h"

#include <stdlib.h>

static void read_block(struct ht_reader *r, const uint8_t *block, uint32_t len)
{
	uint64_t last = 0;
	struct ht_item item;

	if (ht_block_open(r, block, len))
		return;
	last = r->begin;
	while (ht_block_next(r, &item)) {
		if (item.tsc - r->begin < last - r->begin || item.nr_args > HT_ARGS_MAX)
			abort();
		last = item.tsc;
		for (unsigned i = 0; i < item.nr_text; i++)
			if ((const uint8_t *)item.text[i].at + item.text[i].len > block + len)
				abort();
	}
}

/* On the heap, so that the sanitizer sees one byte too many. */
static void read_copy(struct ht_reader *r, const uint8_t *block, uint32_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memcpy(copy, block, len);
	read_block(r, copy, len);
	free(copy);
}

static void read_stream(const uint8_t *data, size_t len)
{
	struct ht_reader r;

	ht_reader_init(&r);
	for (size_t at = 0; at < len;) {
		uint32_t left = len - at > UINT32_MAX ? UINT32_MAX : (uint32_t)(len - at);
		uint32_t block = ht_block_length(data + at, left);

		read_copy(&r, data + at, block && block < left ? block : left < 64 ? left : 64);
		at += block ? block : 1;
	}
}

static void read_calls(const uint8_t *data, size_t len)
{
	static struct ht_assembler a;
	struct ht_mark_call mark;
	struct ht_reader r;
	uint64_t c[5];

	memset(&a, 0, sizeof(a));
	ht_reader_init(&r);
	for (; len >= sizeof(c); data += sizeof(c), len -= sizeof(c)) {
		uint32_t block;

		memcpy(c, data, sizeof(c));
		if (ht_mark_take(&mark, c[0], c[1], c[2], c[3], c[4]) &&
		    strlen(mark.text) > HT_MARK_TEXT_MAX)
			abort();
		block = ht_call_take(&a, c[0], c[1], c[2], c[3], c[4]);
		if (block)
			read_copy(&r, a.block, block);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	read_stream(data, len);
	read_calls(data, len);
	return 0;
}
