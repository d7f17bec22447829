/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/trace_mark.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <xxhash.h>

#define HEAD_BYTES (1u << 20) /* of a file, which begins with what describes its events */

/* Each piece's hash is the next one's seed. */
static uint64_t add(uint64_t mark, const void *data, size_t len)
{
	return XXH3_64bits_withSeed(data, len, mark);
}

static uint64_t add_stream(uint64_t mark, const struct stream *s)
{
	mark = add(mark, &s->cpu, sizeof(s->cpu));
	for (uint32_t i = 0; i < s->nr_packets; i++) {
		const struct packet *p = &s->packets[i];
		uint64_t words[] = {p->begin, p->end, p->offset_bytes, p->len_bytes};

		mark = add(mark, words, sizeof(words));
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
	for (; done < HEAD_BYTES && (nr = fread(block, 1, sizeof(block), f)) > 0; done += nr)
		mark = add(mark, block, nr);
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
	uint64_t mark = t->nr_streams;

	for (unsigned i = 0; i < t->nr_streams; i++)
		mark = add_stream(mark, &t->streams[i]);
	for (unsigned i = 0; i < t->nr_paths; i++)
		mark = add_description(mark, t->paths[i]);
	snprintf(text, TRACE_MARK_TEXT, "%016" PRIx64, mark);
}

void trace_mark_key(const struct machine *m, char key[static TRACE_MARK_KEY])
{
	snprintf(key, TRACE_MARK_KEY, "mark %.63s", m->name);
}
