/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/trace_mark.h"

#include <inttypes.h>
#include <stdio.h>

/* FNV-1a (Fowler, Noll, Vo), of whole words. */
#define MARK_BEGIN UINT64_C(0xcbf29ce484222325)
#define MARK_PRIME UINT64_C(0x100000001b3)

static uint64_t add(uint64_t mark, uint64_t word)
{
	for (unsigned i = 0; i < 8; i++)
		mark = (mark ^ (word >> 8 * i & 0xff)) * MARK_PRIME;
	return mark;
}

static uint64_t add_stream(uint64_t mark, const struct stream *s)
{
	mark = add(mark, (uint64_t)s->cpu);
	for (uint32_t i = 0; i < s->nr_packets; i++) {
		const struct packet *p = &s->packets[i];

		mark = add(mark, p->begin);
		mark = add(mark, p->offset_bytes);
		mark = add(mark, p->len_bytes);
	}
	return mark;
}

void trace_mark(const struct trace *t, char text[static TRACE_MARK_TEXT])
{
	uint64_t mark = add(MARK_BEGIN, t->nr_streams);

	for (unsigned i = 0; i < t->nr_streams; i++)
		mark = add_stream(mark, &t->streams[i]);
	snprintf(text, TRACE_MARK_TEXT, "%016" PRIx64, mark);
}
