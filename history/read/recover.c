/* SPDX-License-Identifier: Apache-2.0 */
#include "base/grow.h"
#include "history/parts/outfile.h"
#include "history/read/reader.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A file without a trailer: its writer was killed, or is still at work.  Parts are walked from the
 * front.  A names part is the last of its group, so the history reaches up to the last whole one;
 * what follows it does not count, for its attributes may be missing.
 */
static int compare_kinds(const void *pa, const void *pb)
{
	const struct outfile_part *a = pa, *b = pb;

	if (a->kind != b->kind)
		return a->kind - b->kind;
	if (a->level != b->level)
		return a->level - b->level;
	return a->at < b->at ? -1 : a->at > b->at;
}

struct walk {
	struct outfile_part *parts; /* owned */
	size_t nr, room;
	size_t nr_usable; /* up to the last names part */
	ns_t end;
};

static int remember(struct walk *w, unsigned kind, ns_t begin, uint64_t at)
{
	if (!room_for_one(&w->parts, w->nr, &w->room))
		return -ENOMEM;
	w->parts[w->nr++] = (struct outfile_part){.kind = kind & 0xffff & ~PART_PACKED,
						  .level = (uint16_t)(kind >> 16),
						  .begin = begin,
						  .at = at};
	return 0;
}

static int walk_parts(const struct mapfile *file, struct walk *w)
{
	uint64_t at = FILE_HEADER_BYTES;
	unsigned kind;
	struct part p;

	while (!part_open(file, at, false, &kind, &p)) {
		if (remember(w, kind, p.begin, at))
			return -ENOMEM;
		if (kind == PART_NAMES) {
			if (part_open(file, at, true, &kind, &p))
				break;
			w->nr_usable = w->nr;
			w->end = p.end;
		}
		at = part_behind(at, &p);
	}
	return 0;
}

/* The same bytes a finished file would have. */
static void put_index(struct walk *w, struct bytes *out)
{
	uint32_t nr_streams = 0;
	size_t nr_at = 0;

	bytes_put_u32(out, 0);
	for (size_t i = 0; i < w->nr_usable; i++) {
		if (!i || w->parts[i].kind != w->parts[i - 1].kind ||
		    w->parts[i].level != w->parts[i - 1].level) {
			bytes_put_u32(out, w->parts[i].kind | (uint32_t)w->parts[i].level << 16);
			nr_at = out->len_bytes;
			bytes_put_u32(out, 0);
			nr_streams++;
		}
		if (!out->failed)
			set_u32(out->data + nr_at, get_u32(out->data + nr_at) + 1);
	}
	if (!out->failed)
		set_u32(out->data, nr_streams);
	for (size_t i = 0; i < w->nr_usable; i++) {
		bytes_put_u64(out, (uint64_t)w->parts[i].begin);
		bytes_put_u64(out, w->parts[i].at);
	}
}

bool history_find_index(struct history *h, struct part *out)
{
	const struct mapfile *file = &h->of->file;
	uint64_t at = FILE_HEADER_BYTES, last = 0;
	unsigned kind = 0;

	while (!part_open(file, at, false, &kind, out)) {
		last = at;
		at = part_behind(at, out);
	}
	if (!last || at > file->len_bytes || file->len_bytes - at < TRAILER_BYTES)
		return false;
	h->len_bytes = at + TRAILER_BYTES;
	return (h->len_bytes == file->len_bytes || history_trailer_is_right(h)) &&
	       !part_open(file, last, true, &kind, out) && kind == PART_INDEX;
}

int history_recover(struct history *h, struct error *err)
{
	struct bytes index = {0};
	struct walk w = {0};

	if (walk_parts(&h->of->file, &w))
		index.failed = true;
	else if (w.nr_usable) {
		h->begin = w.parts[0].begin;
		h->end = w.end > h->begin ? w.end : h->begin;
		qsort(w.parts, w.nr_usable, sizeof(*w.parts), compare_kinds);
		put_index(&w, &index);
	}
	free(w.parts);
	if (index.failed) {
		bytes_release(&index);
		return fail(err, -ENOMEM, "no memory to read %s", h->of->path);
	}
	h->of->found = index.data;
	h->of->found_bytes = index.len_bytes;
	return 0;
}
