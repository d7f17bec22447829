/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LTTng's packet index, index/NAME.idx beside the stream file NAME.  All numbers big-endian:
 *
 *	offset size
 *	     0    4 magic 0xc1f1dcc1
 *	     4    4 major version, 1
 *	     8    4 minor version, 0 or 1
 *	    12    4 bytes of one entry
 *	    16      entries: offset of the packet in bytes, packet size and content size in bits,
 *	            begin, end, discarded events, stream class id; since 1.1 stream instance id
 *	            and packet sequence number; eight bytes each
 */
#include "source/ctf/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INDEX_MAGIC 0xc1f1dcc1u
#define INDEX_HEADER_BYTES 16
#define ENTRY_WORDS_1_0 7
#define ENTRY_WORDS_1_1 9

static uint32_t be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static uint64_t be64(const uint8_t *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

static void read_entry(struct ctf_lttng_entry *e, const uint8_t *p, unsigned minor)
{
	uint64_t *const words[ENTRY_WORDS_1_1] = {
		&e->offset_bytes, &e->packet_bits, &e->content_bits, &e->begin,	 &e->end,
		&e->discarded,	  &e->stream_id,   &e->instance,     &e->seq_num};
	unsigned nr = minor ? ENTRY_WORDS_1_1 : ENTRY_WORDS_1_0;

	for (unsigned i = 0; i < nr; i++)
		*words[i] = be64(p + 8 * i);
}

static int parse(struct ctf_lttng_index *lt, const struct mapfile *map, const char *path,
		 struct error *err)
{
	const uint8_t *data = map->data;
	uint32_t entry_bytes;

	if (map->len_bytes < INDEX_HEADER_BYTES || be32(data) != INDEX_MAGIC || be32(data + 4) != 1)
		return fail(err, -EINVAL, "%s is no packet index that is known here", path);
	lt->minor = be32(data + 8);
	entry_bytes = be32(data + 12);
	if (entry_bytes < 8 * (lt->minor ? ENTRY_WORDS_1_1 : ENTRY_WORDS_1_0) ||
	    (map->len_bytes - INDEX_HEADER_BYTES) % entry_bytes)
		return fail(err, -EINVAL, "%s has entries of a strange size, %u bytes", path,
			    entry_bytes);
	lt->nr = (uint32_t)((map->len_bytes - INDEX_HEADER_BYTES) / entry_bytes);
	lt->entries = calloc(lt->nr + 1, sizeof(*lt->entries));
	if (!lt->entries)
		return fail(err, -ENOMEM, "out of memory reading %s", path);
	for (uint32_t i = 0; i < lt->nr; i++)
		read_entry(&lt->entries[i], data + INDEX_HEADER_BYTES + (size_t)i * entry_bytes,
			   lt->minor);
	return 0;
}

int ctf_lttng_index_read(struct ctf_lttng_index *lt, const char *stream_path, struct error *err)
{
	const char *slash = strrchr(stream_path, '/');
	const char *base = slash ? slash + 1 : stream_path;
	struct mapfile map;
	char path[4096];
	int ret;

	memset(lt, 0, sizeof(*lt));
	ret = snprintf(path, sizeof(path), "%.*sindex/%s.idx", (int)(base - stream_path),
		       stream_path, base);
	if (ret < 0 || (size_t)ret >= sizeof(path) || access(path, F_OK))
		return -ENOENT;
	ret = mapfile_open(&map, path, err);
	if (ret)
		return ret;
	ret = parse(lt, &map, path, err);
	mapfile_release(&map);
	return ret;
}
