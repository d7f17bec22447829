/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/datfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file's text behind its length, which takes @size_bytes (4 or 8). */
static int sized_file(struct buffer *out, int dir, const char *path, unsigned size_bytes,
		      struct error *err)
{
	size_t at = out->len_bytes;
	uint64_t len;
	ssize_t n;

	buffer_bytes(out, &(uint64_t){0}, size_bytes);
	n = buffer_file(out, dir, path);
	if (n < 0)
		return fail(err, (int)n, "cannot read tracefs' %s: %s", path, strerror((int)-n));
	len = (uint64_t)n; /* native byte order, as the header says */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	len <<= 64 - 8 * size_bytes;
#endif
	memcpy(out->data + at, &len, size_bytes);
	return 0;
}

static void put_u32_at(struct buffer *out, size_t at, uint32_t v)
{
	if (!out->error)
		memcpy(out->data + at, &v, sizeof(v));
}

static int put_header(struct buffer *out, int dir, struct error *err)
{
	static const char magic[] = "\x17\x08\x44tracing";
	int ret;

	buffer_bytes(out, magic, sizeof(magic) - 1);
	buffer_text(out, "6");
	buffer_bytes(out, &(uint8_t){__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__}, 1);
	buffer_bytes(out, &(uint8_t){sizeof(long)}, 1);
	buffer_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
	buffer_text(out, "header_page");
	ret = sized_file(out, dir, "events/header_page", 8, err);
	if (ret)
		return ret;
	buffer_text(out, "header_event");
	return sized_file(out, dir, "events/header_event", 8, err);
}

/* ftrace's own events: "print" is the one that state lines are. */
static int put_ftrace_formats(struct buffer *out, int tracing_dir, struct error *err)
{
	int fd = openat(tracing_dir, "events/ftrace", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t at = out->len_bytes;
	struct dirent *entry;
	uint32_t nr = 0;
	int ret = 0;

	if (!dir) {
		ret = fail(err, -errno, "cannot read tracefs' events/ftrace: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return ret;
	}
	buffer_u32(out, 0);
	while (!ret && (entry = readdir(dir))) {
		char path[320];

		snprintf(path, sizeof(path), "events/ftrace/%s/format", entry->d_name);
		if (entry->d_name[0] == '.' || faccessat(tracing_dir, path, R_OK, 0))
			continue;
		ret = sized_file(out, tracing_dir, path, 8, err);
		nr++;
	}
	closedir(dir);
	put_u32_at(out, at, nr);
	return ret;
}

/* The formats of one system's events, which stand together in the list; returns their number, or
 * -errno. */
static int put_system(struct buffer *out, int dir, const struct event_name *from, unsigned left,
		      struct error *err)
{
	size_t at;
	unsigned nr = 0;

	buffer_text(out, from->system);
	at = out->len_bytes;
	buffer_u32(out, 0);
	while (nr < left && !strcmp(from[nr].system, from->system)) {
		char path[320];
		int ret;

		snprintf(path, sizeof(path), "events/%.64s/%.200s/format", from[nr].system,
			 from[nr].name);
		ret = sized_file(out, dir, path, 8, err);
		if (ret)
			return ret;
		nr++;
	}
	put_u32_at(out, at, nr);
	return (int)nr;
}

static int put_event_formats(struct buffer *out, int dir, const struct event_list *events,
			     struct error *err)
{
	size_t at = out->len_bytes;
	uint32_t systems = 0;

	buffer_u32(out, 0);
	for (unsigned i = 0; i < events->nr; systems++) {
		int nr = put_system(out, dir, &events->items[i], events->nr - i, err);

		if (nr < 0)
			return nr;
		i += (unsigned)nr;
	}
	put_u32_at(out, at, systems);
	return 0;
}

/* Does a print format of these ask for the name of a function? */
static bool prints_symbols(const char *text, size_t len_bytes)
{
	const char *end = text + len_bytes;

	for (const char *p = text; (p = memchr(p, '%', (size_t)(end - p))); p++) {
		if (end - p > 2 && p[1] == 'p' && strchr("sSfFB", p[2]))
			return true;
	}
	return false;
}

/* "ADDRESS TYPE NAME": a function, and not the padding before one, of which there are as many. */
static bool is_function(const char *line)
{
	const char *type = strchr(line, ' ');

	return type && strchr("tTwW", type[1]) && strncmp(type + 2, " __pfx_", 7) &&
	       strncmp(type + 2, " __cfi_", 7);
}

/* Functions, from /proc/kallsyms: reading it takes tens of milliseconds. */
static void put_symbols(struct buffer *out, bool wanted)
{
	size_t at = out->len_bytes;
	FILE *file = wanted ? fopen("/proc/kallsyms", "re") : NULL;
	char line[1024];

	buffer_u32(out, 0);
	while (file && fgets(line, sizeof(line), file)) {
		if (is_function(line))
			buffer_bytes(out, line, strlen(line));
	}
	if (file)
		fclose(file);
	put_u32_at(out, at, (uint32_t)(out->len_bytes - at - 4));
}

int datfile_head(struct buffer *out, int tracing_dir, const struct event_list *events,
		 struct error *err)
{
	size_t formats;
	int ret;

	ret = put_header(out, tracing_dir, err);
	if (!ret)
		ret = put_ftrace_formats(out, tracing_dir, err);
	if (ret)
		return ret;
	formats = out->len_bytes;
	ret = put_event_formats(out, tracing_dir, events, err);
	if (ret)
		return ret;
	put_symbols(out,
		    !out->error && prints_symbols(out->data + formats, out->len_bytes - formats));
	ret = sized_file(out, tracing_dir, "printk_formats", 4, err);
	if (ret)
		return ret;
	return out->error ? fail(err, out->error, "out of memory for the head of a trace.dat") : 0;
}
