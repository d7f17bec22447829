/* SPDX-License-Identifier: Apache-2.0 */
#include "history/format.h"
#include "history/reader.h"

/*
 * Queries check the parts they touch; this checks all of them, in the order of the file.  Where a
 * part's header is damaged its length is not known: the next whole header is looked for, at
 * multiples of 8, where parts begin.
 */

/* The first whole part header at or after @at, or the end of the parts. */
static uint64_t next_part(const struct mapfile *file, uint64_t at, uint64_t end)
{
	unsigned kind;
	struct part p;

	while (at < end && part_open(file, at, false, &kind, &p))
		at += 8;
	return at < end ? at : end;
}

unsigned history_verify(const struct history *h,
			void (*bad)(uint64_t offset_bytes, uint64_t len_bytes, void *data),
			void *data)
{
	uint64_t end = h->file.len_bytes;
	uint64_t at = FILE_HEADER_BYTES;
	unsigned nr = 0;

	if (h->complete)
		end -= TRAILER_BYTES;
	while (at < end) {
		uint64_t next = next_part(&h->file, at, end);
		unsigned kind;
		struct part p;

		if (next > at) {
			bad(at, next - at, data);
			nr++;
			at = next;
			continue;
		}
		part_open(&h->file, at, false, &kind, &p);
		if (part_open(&h->file, at, true, &kind, &p)) {
			bad(at, PART_HEADER_BYTES + p.len_bytes, data);
			nr++;
		}
		at += PART_HEADER_BYTES + ((p.len_bytes + 7) & ~7ull);
	}
	return nr;
}
