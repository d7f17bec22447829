/* SPDX-License-Identifier: Apache-2.0 */
#include "history/read/reader.h"

static const char *const kind_names[PART_KIND_MAX] = {
	[PART_SLICE] = "changes",	[PART_GROUP] = "changes and a snapshot",
	[PART_NAMES] = "names",		[PART_SUMMARY] = "summaries for pictures",
	[PART_TOTALS] = "sums of time", [PART_INDEX] = "index",
};

int history_verify(const struct history *h,
		   void (*bad)(const struct history_damage *damage, void *data), void *data)
{
	uint64_t end = h->complete ? h->len_bytes - TRAILER_BYTES : h->of->file.len_bytes;
	uint64_t at = FILE_HEADER_BYTES;
	int nr = 0;

	while (at < end) {
		struct history_damage damage = {.offset_bytes = at};
		unsigned kind;
		struct part p;

		if (part_open(&h->of->file, at, false, &kind, &p)) {
			/* An incomplete file may well end inside a part: no news. */
			if (!h->complete)
				return nr;
			damage.len_bytes = end - at;
			damage.needed = true;
			bad(&damage, data);
			return nr + 1;
		}
		if (part_open(&h->of->file, at, true, &kind, &p)) {
			kind &= 0xffff & ~PART_PACKED;
			damage.len_bytes = PART_HEADER_BYTES + p.len_bytes;
			damage.what = kind < PART_KIND_MAX ? kind_names[kind] : NULL;
			damage.begin = p.begin;
			damage.end = p.end;
			damage.needed = kind != PART_SUMMARY && kind != PART_TOTALS;
			bad(&damage, data);
			nr++;
		}
		at = part_behind(at, &p);
	}
	if (h->complete && !history_trailer_is_right(h)) {
		bad(&(struct history_damage){.offset_bytes = end,
					     .len_bytes = TRAILER_BYTES,
					     .what = "the file's end",
					     .begin = h->begin,
					     .end = h->end},
		    data);
		nr++;
	}
	return nr;
}
