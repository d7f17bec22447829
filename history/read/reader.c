/* SPDX-License-Identifier: Apache-2.0 */
#include "history/read/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

int part_open(const struct mapfile *file, uint64_t at, bool verify, unsigned *kind, struct part *p)
{
	const uint8_t *h;
	uint64_t room;

	if (at & 7 || at > file->len_bytes || file->len_bytes - at < PART_HEADER_BYTES)
		return -EIO;
	h = file->data + at;
	room = file->len_bytes - at - PART_HEADER_BYTES;
	if (get_u32(h) != PART_MAGIC || get_u64(h + 40) != XXH3_64bits(h, 40) ||
	    get_u64(h + 8) > room)
		return -EIO;
	*kind = get_u32(h + 4);
	p->payload = h + PART_HEADER_BYTES;
	p->len_bytes = get_u64(h + 8);
	p->begin = (ns_t)get_u64(h + 16);
	p->end = (ns_t)get_u64(h + 24);
	if (verify && get_u64(h + 32) != XXH3_64bits(p->payload, p->len_bytes))
		return -EIO;
	return 0;
}

uint32_t stream_find(const struct stream *s, ns_t t)
{
	uint32_t low = 0, nr = s->nr;

	if (!nr || stream_begin(s, 0) > t)
		return STREAM_NONE;
	while (nr > 1) {
		uint32_t half = nr / 2;

		low += stream_begin(s, low + half) <= t ? half : 0;
		nr -= half;
	}
	return low;
}

static int open_entry(struct history *h, struct stream *s, uint32_t i, struct part *p, bool verify)
{
	const struct unpacked *plain = unpacked_touch(h, s, i);
	unsigned kind;
	int ret = part_open(&h->of->file, stream_place(s, i), verify && !plain, &kind, p);

	if (ret || (kind & ~PART_PACKED) != (s->kind | s->level << 16) ||
	    p->begin != stream_begin(s, i))
		return -EIO;
	if (plain) {
		p->payload = plain->plain.data;
		p->len_bytes = plain->plain.len_bytes;
	} else if (kind & PART_PACKED) {
		ret = unpacked_open(h, s, i, p);
	}
	return ret;
}

int stream_node(struct history *h, struct stream *s, uint32_t i, const struct node **out)
{
	struct part p;
	struct node n;

	if (i >= s->nr)
		return -EIO;
	if (!s->nodes)
		s->nodes = calloc(s->nr, sizeof(*s->nodes));
	if (!s->nodes)
		return -ENOMEM;
	if (!s->nodes[i].attrs) {
		int ret = open_entry(h, s, i, &p, true);

		if (ret || !node_open(&n, p.payload, p.len_bytes))
			return ret ? ret : -EIO;
		n.end = p.end;
		n.loaded = ++h->touches;
		if (s == &h->groups)
			n.first_slice = stream_find(&h->slices, n.base);
		if (n.first_slice == STREAM_NONE)
			return -EIO;
		s->nodes[i] = n;
	} else {
		unpacked_touch(h, s, i);
	}
	*out = &s->nodes[i];
	return 0;
}

int stream_part(struct history *h, struct stream *s, uint32_t i, struct part *out)
{
	int ret;

	if (!s->checked)
		s->checked = calloc(s->nr, sizeof(*s->checked));
	if (!s->checked)
		return -ENOMEM;
	ret = open_entry(h, s, i, out, !s->checked[i]);
	if (!ret)
		s->checked[i] = true;
	return ret;
}

struct stream *history_stream(struct history *h, unsigned kind, unsigned level)
{
	struct stream *s = NULL;

	if (kind == PART_SLICE && !level)
		s = &h->slices;
	if (kind == PART_GROUP && !level)
		s = &h->groups;
	if (kind == PART_TOTALS && level < TOTALS_LEVELS)
		s = &h->totals[level];
	if (kind == PART_SUMMARY && level < SUMMARY_LEVELS)
		s = &h->summaries[level];
	if (s) {
		s->kind = kind;
		s->level = level;
	}
	return s;
}

static int apply_names(struct history *h, const uint8_t *entries, uint32_t nr, struct error *err)
{
	const struct stream s = {.entries = entries, .nr = nr};

	for (uint32_t i = 0; i < nr; i++) {
		struct part p;
		unsigned kind;
		int ret = part_open(&h->of->file, stream_place(&s, i), true, &kind, &p);

		if (!ret && kind != PART_NAMES)
			ret = -EIO;
		if (!ret)
			ret = names_apply(&h->of->names, p.payload, p.len_bytes);
		if (ret == -ENOMEM)
			return fail(err, ret, "no memory to read %s", h->of->path);
		if (ret)
			return fail(
				err, -EIO,
				"%s is damaged: its names at offset %llu cannot be read; analyse the "
				"traces again",
				h->of->path, (unsigned long long)stream_place(&s, i));
	}
	return 0;
}

static int read_index(struct history *h, const struct part *p, struct error *err)
{
	const uint8_t *table = p->payload + 4;
	uint64_t nr_streams = p->len_bytes >= 4 ? get_u32(p->payload) : 0;
	uint64_t at = 4 + nr_streams * INDEX_STREAM_BYTES;
	int ret = 0;

	for (uint64_t i = 0; i < nr_streams && at <= p->len_bytes && !ret; i++) {
		uint32_t kind = get_u32(table + i * INDEX_STREAM_BYTES);
		uint32_t nr = get_u32(table + i * INDEX_STREAM_BYTES + 4);
		struct stream *s = history_stream(h, kind & 0xffff, kind >> 16);
		uint64_t len_bytes = (uint64_t)nr * INDEX_ENTRY_BYTES;

		if (len_bytes > p->len_bytes - at)
			return fail(
				err, -EIO,
				"%s is damaged: its index makes no sense; analyse the traces again",
				h->of->path);
		if (s) {
			s->nr = nr;
			s->entries = p->payload + at;
		} else if (kind == PART_NAMES) {
			ret = apply_names(h, p->payload + at, nr, err);
		}
		at += len_bytes;
	}
	return ret;
}

bool history_trailer_is_right(const struct history *h)
{
	const struct mapfile *file = &h->of->file;
	const uint8_t *t;

	if (h->len_bytes < FILE_HEADER_BYTES + TRAILER_BYTES)
		return false;
	t = file->data + h->len_bytes - TRAILER_BYTES;
	return !memcmp(t, TRAILER_MAGIC, 8) && get_u64(t + 56) == XXH3_64bits(t, 56) &&
	       get_u64(t + 32) == h->len_bytes;
}

/* 1: complete and read, 0: not complete. */
static int read_complete(struct history *h, struct error *err)
{
	const uint8_t *t;
	struct part p;
	unsigned kind;
	int ret;

	if (history_trailer_is_right(h)) {
		t = h->of->file.data + h->len_bytes - TRAILER_BYTES;
		h->begin = (ns_t)get_u64(t + 8);
		h->end = (ns_t)get_u64(t + 16);
		if (part_open(&h->of->file, get_u64(t + 24), true, &kind, &p) || kind != PART_INDEX)
			return fail(
				err, -EIO,
				"%s is damaged: its index cannot be read; analyse the traces again",
				h->of->path);
	} else if (history_find_index(h, &p)) { /* it says the same as the trailer did */
		h->begin = p.begin;
		h->end = p.end;
	} else {
		return 0;
	}
	ret = read_index(h, &p, err);
	h->complete = !ret;
	return ret ? ret : 1;
}

static bool times_make_sense(const struct history *h)
{
	return h->begin >= -FORMAT_TIME_MAX && h->begin <= h->end && h->end <= FORMAT_TIME_MAX;
}

static int read_header(struct history *h, struct error *err)
{
	const uint8_t *p = h->of->file.data;

	if (h->of->file.len_bytes < FILE_HEADER_BYTES || memcmp(p, FILE_MAGIC, 8))
		return fail(err, -EINVAL,
			    "%s is not a history: it does not begin like one; sonde analyze makes "
			    "histories of traces",
			    h->of->path);
	if (get_u32(p + 8) != FORMAT_VERSION)
		return fail(err, -EINVAL, "%s has format version %u, this program knows %u",
			    h->of->path, get_u32(p + 8), FORMAT_VERSION);
	if (get_u64(p + 56) != XXH3_64bits(p, 56))
		return fail(err, -EINVAL, "%s is damaged: checksum of its header is wrong",
			    h->of->path);
	h->flags = get_u32(p + 12);
	h->wall_offset_ns = (int64_t)get_u64(p + 16);
	return 0;
}

bool history_probe(const char *path)
{
	char magic[sizeof(FILE_MAGIC) - 1];
	FILE *f = fopen(path, "rb");
	bool found;

	if (!f)
		return false;
	found = fread(magic, sizeof(magic), 1, f) == 1 && !memcmp(magic, FILE_MAGIC, sizeof(magic));
	fclose(f);
	return found;
}

static struct history *new_history(void)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->of = calloc(1, sizeof(*h->of));
	if (!h->of) {
		free(h);
		return NULL;
	}
	atomic_init(&h->of->readers, 1);
	h->unpacked_max = UNPACKED_BYTES;
	return h;
}

int history_open(struct history **out, const char *path, struct error *err)
{
	struct history *h = new_history();
	int ret;

	if (!h)
		return fail(err, -ENOMEM, "no memory to read %s", path);
	ret = mapfile_open(&h->of->file, path, err);
	if (ret)
		goto out;
	if (h->of->file.data)
		madvise((void *)h->of->file.data, h->of->file.len_bytes, MADV_NORMAL);
	h->of->path = strdup(path);
	if (!h->of->path || names_init(&h->of->names)) {
		ret = fail(err, -ENOMEM, "no memory to read %s", path);
		goto out;
	}
	h->len_bytes = h->of->file.len_bytes;
	ret = read_header(h, err);
	if (!ret)
		ret = read_complete(h, err);
	if (!ret) {
		ret = history_recover(h, err);
		if (!ret && h->of->found)
			ret = read_index(h,
					 &(struct part){.payload = h->of->found,
							.len_bytes = h->of->found_bytes},
					 err);
	}
	if (ret >= 0 && !times_make_sense(h))
		ret = fail(err, -EIO, "%s is damaged: its times make no sense", path);
out:
	if (ret < 0) {
		history_close(h);
		return ret;
	}
	*out = h;
	return 0;
}

/* Where the parts are: what has been touched of them is each reader's own. */
static void same_parts(struct stream *s, const struct stream *of)
{
	s->kind = of->kind;
	s->level = of->level;
	s->nr = of->nr;
	s->entries = of->entries;
}

int history_again(struct history **out, const struct history *of)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->of = of->of;
	atomic_fetch_add(&h->of->readers, 1);
	h->begin = of->begin;
	h->end = of->end;
	h->complete = of->complete;
	h->len_bytes = of->len_bytes;
	h->flags = of->flags;
	h->wall_offset_ns = of->wall_offset_ns;
	h->unpacked_max = of->unpacked_max;
	same_parts(&h->slices, &of->slices);
	same_parts(&h->groups, &of->groups);
	for (unsigned i = 0; i < TOTALS_LEVELS; i++)
		same_parts(&h->totals[i], &of->totals[i]);
	for (unsigned i = 0; i < SUMMARY_LEVELS; i++)
		same_parts(&h->summaries[i], &of->summaries[i]);
	*out = h;
	return 0;
}

static void opened_release(struct opened *of)
{
	if (atomic_fetch_sub(&of->readers, 1) > 1)
		return;
	names_release(&of->names);
	mapfile_release(&of->file);
	free(of->found);
	free(of->path);
	free(of);
}

static void stream_release(struct stream *s)
{
	stream_times_release(s);
	free(s->nodes);
	free(s->unpacked);
	free(s->checked);
}

void history_close(struct history *h)
{
	if (!h)
		return;
	unpacked_release(h);
	stream_release(&h->slices);
	stream_release(&h->groups);
	for (unsigned i = 0; i < TOTALS_LEVELS; i++)
		stream_release(&h->totals[i]);
	for (unsigned i = 0; i < SUMMARY_LEVELS; i++)
		stream_release(&h->summaries[i]);
	opened_release(h->of);
	free(h);
}
