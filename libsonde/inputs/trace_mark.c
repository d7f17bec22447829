/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/trace_mark.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* FNV-1a (Fowler, Noll, Vo), of whole words. */
#define MARK_BEGIN UINT64_C(0xcbf29ce484222325)
#define MARK_PRIME UINT64_C(0x100000001b3)

#define HEAD_BYTES (1u << 20) /* of a file, which begins with what describes its events */

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
		mark = add(mark, p->end);
	}
	return mark;
}

static uint64_t add_file(uint64_t mark, const char *path)
{
	FILE *f = fopen(path, "rbe");
	unsigned char block[4096];
	size_t nr, done = 0;

	if (!f)
		return mark;
	while (done < HEAD_BYTES && (nr = fread(block, 1, sizeof(block), f)) > 0) {
		for (size_t i = 0; i < nr; i++)
			mark = (mark ^ block[i]) * MARK_PRIME;
		done += nr;
	}
	fclose(f);
	return mark;
}

/* What describes the events. */
static uint64_t add_description(uint64_t mark, const char *path)
{
	char metadata[PATH_MAX];
	struct stat st;

	if (stat(path, &st))
		return mark;
	if (S_ISREG(st.st_mode))
		return add_file(mark, path);
	if (!S_ISDIR(st.st_mode) ||
	    snprintf(metadata, sizeof(metadata), "%s/metadata", path) >= (int)sizeof(metadata))
		return mark;
	return add_file(mark, metadata);
}

void trace_mark(const struct trace *t, char text[static TRACE_MARK_TEXT])
{
	uint64_t mark = add(MARK_BEGIN, t->nr_streams);

	for (unsigned i = 0; i < t->nr_streams; i++)
		mark = add_stream(mark, &t->streams[i]);
	for (unsigned i = 0; i < t->nr_paths; i++)
		mark = add_description(mark, t->paths[i]);
	snprintf(text, TRACE_MARK_TEXT, "%016" PRIx64, mark);
}
