/* SPDX-License-Identifier: Apache-2.0 */
#include "source/dat/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "\x17\x08\x44tracing"
#define MAGIC_BYTES 10
#define SECTION_HEADER_BYTES 16
#define SECTION_PACKED 1u
#define SECTION_OPTIONS 0
#define BUFFERS_MAX 1024u
#define OPTION_SECTIONS_MAX 256
#define TABLES_MAX_BYTES (512u << 20)

bool dat_file_probe(const char *path)
{
	char magic[MAGIC_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, magic, sizeof(magic));
	close(fd);
	return n == MAGIC_BYTES && !memcmp(magic, MAGIC, MAGIC_BYTES);
}

void dat_problem(struct dat_file *f, uint64_t offset_bytes, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	trace_problem(f->trace, "%s, offset %llu: %s", f->trace->path,
		      (unsigned long long)offset_bytes, text);
}

struct dat_buffer *dat_buffer_add(struct dat_file *f, const char *name)
{
	struct dat_buffer *grown;
	struct dat_buffer *u;

	if (f->nr_buffers == BUFFERS_MAX)
		return NULL;
	if (!*name && f->nr_buffers) /* the top buffer has its place */
		return &f->buffers[0];
	grown = arena_alloc(&f->arena, (f->nr_buffers + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	if (f->nr_buffers)
		memcpy(grown, f->buffers, f->nr_buffers * sizeof(*grown));
	f->buffers = grown;
	u = &grown[f->nr_buffers];
	u->name = arena_strdup(&f->arena, name);
	u->clock = "";
	u->page_size = f->page_size;
	if (!u->name)
		return NULL;
	f->nr_buffers++;
	return u;
}

/* By the numbers of trace.dat's options, which name sections. */
static const char *section_name(uint16_t id)
{
	static const char *const names[] = {
		[SECTION_OPTIONS] = "options", [3] = "events",	       [16] = "header formats",
		[17] = "ftrace's own events",  [18] = "event formats", [19] = "symbols",
		[20] = "printk's formats",     [21] = "thread names",
	};

	return id < ARRAY_SIZE(names) && names[id] ? names[id] : "an unknown kind";
}

/* Whether a packed section is worth a try: what a file says may lead to a broken one again and
 * again, or to many that share their data, and each try takes as long as all of it. */
static bool may_unpack(struct dat_file *f, uint64_t offset)
{
	for (unsigned i = 0; i < f->nr_broken; i++) {
		if (f->broken[i] == offset)
			return false;
	}
	if (f->nr_broken < DAT_BROKEN_MAX)
		return true;
	dat_problem(f, offset, "%u of its compressed sections are broken; no more are tried",
		    DAT_BROKEN_MAX);
	return false;
}

/* @b stands behind the header of a packed section of @size bytes. */
static void section_unpack(struct dat_file *f, uint64_t offset, uint16_t id, struct bytes *b,
			   uint64_t size, struct bytes *out)
{
	uint32_t in_len = bytes_u32(b);
	uint32_t out_len = bytes_u32(b);
	const uint8_t *in = bytes_take(b, in_len);
	uint8_t *data;
	int ret;

	if (!in || in_len > size || out_len > UNPACK_MAX_BYTES) {
		dat_problem(f, offset, "its compressed section of %s has an impossible size",
			    section_name(id));
		return;
	}
	if (!may_unpack(f, offset))
		return;
	data = arena_alloc(&f->arena, out_len);
	ret = data ? unpack(&f->unpacker, f->packing, in, in_len, data, out_len) : -ENOMEM;
	if (ret) {
		f->broken[f->nr_broken++] = offset;
		dat_problem(f, offset, "cannot decompress its section of %s: %s", section_name(id),
			    strerror(-ret));
		return;
	}
	*out = (struct bytes){.data = data, .len_bytes = out_len, .swap = f->swap};
}

/* A section's data, unpacked if need be.  @out is bad when it cannot be had. */
static void section_open(struct dat_file *f, uint64_t offset, uint16_t want_id, struct bytes *out)
{
	struct bytes b = {.data = f->map.data, .len_bytes = f->map.len_bytes, .swap = f->swap};
	uint16_t id, flags;
	uint64_t size;

	*out = (struct bytes){.swap = f->swap, .bad = true};
	b.pos = dat_inside(f, offset, SECTION_HEADER_BYTES) ? offset : f->map.len_bytes;
	id = bytes_u16(&b);
	flags = bytes_u16(&b);
	(void)bytes_u32(&b); /* its name, for people */
	size = bytes_u64(&b);
	if (offset >= f->map.len_bytes) {
		trace_problem(f->trace,
			      "%s ends before its section of %s begins: it is cut off, or damaged",
			      f->trace->path, section_name(want_id));
		return;
	}
	if (b.bad || id != want_id) {
		dat_problem(f, offset, "its section of %s is not here", section_name(want_id));
		return;
	}
	if (size > bytes_left(&b)) {
		dat_problem(f, offset, "its section of %s reaches beyond the end of the file",
			    section_name(id));
		size = bytes_left(&b);
	}
	if (flags & SECTION_PACKED)
		section_unpack(f, offset, id, &b, size, out);
	else
		*out = bytes_sub(&b, size);
}

void dat_section_table(struct dat_file *f, uint64_t offset_bytes, uint16_t id, enum dat_table which)
{
	if (f->tables[which].bad) /* the first good one counts */
		section_open(f, offset_bytes, id, &f->tables[which]);
}

uint64_t dat_options_section(struct dat_file *f, uint64_t offset_bytes)
{
	struct bytes b;
	uint64_t next = 0;

	section_open(f, offset_bytes, SECTION_OPTIONS, &b);
	if (!b.bad)
		dat_options_read(f, &b, offset_bytes + SECTION_HEADER_BYTES, &next);
	return next;
}

/* Follows the chain of options sections; every one is visited once. */
static void read_sections(struct dat_file *f, uint64_t first)
{
	uint64_t seen[OPTION_SECTIONS_MAX];
	uint64_t offset = first;

	for (unsigned nr = 0; offset; nr++) {
		for (unsigned i = 0; i < nr; i++) {
			if (seen[i] == offset) {
				dat_problem(f, offset, "the options sections lead in a circle");
				return;
			}
		}
		if (nr == OPTION_SECTIONS_MAX) {
			dat_problem(f, offset, "more than %d options sections; the rest is ignored",
				    OPTION_SECTIONS_MAX);
			return;
		}
		seen[nr] = offset;
		offset = dat_options_section(f, offset);
	}
}

/* A block of version 6: a size, then so many bytes. */
static struct bytes sized_block(struct bytes *b, unsigned size_bytes)
{
	uint64_t len = size_bytes == 8 ? bytes_u64(b) : bytes_u32(b);

	return bytes_sub(b, len);
}

/* The walks below measure the tables of version 6, which have no length of their own. */
static void skip_headers(struct bytes *b)
{
	bytes_take(b, sizeof("header_page"));
	sized_block(b, 8);
	bytes_take(b, sizeof("header_event"));
	sized_block(b, 8);
}

static void skip_ftrace_formats(struct bytes *b)
{
	uint32_t nr = bytes_u32(b);

	for (uint32_t i = 0; i < nr && !b->bad; i++)
		sized_block(b, 8);
}

static void skip_event_formats(struct bytes *b)
{
	uint32_t nr_systems = bytes_u32(b);

	for (uint32_t i = 0; i < nr_systems && !b->bad; i++) {
		bytes_str(b);
		skip_ftrace_formats(b);
	}
}

static void skip_cmdlines(struct bytes *b)
{
	sized_block(b, 8);
}

static struct bytes take_table(struct bytes *b, void (*skip)(struct bytes *b))
{
	size_t from = b->pos;

	skip(b);
	/* When it is cut short, what is there is still used. */
	return (struct bytes){.data = b->data + from,
			      .len_bytes = (b->bad ? b->len_bytes : b->pos) - from,
			      .swap = b->swap};
}

void dat_formats_take(struct bytes *b, struct dat_formats *out)
{
	out->headers = take_table(b, skip_headers);
	out->ftrace = take_table(b, skip_ftrace_formats);
	out->events = take_table(b, skip_event_formats);
}

/* Version 6: "flyrecord", then where each CPU's pages are. */
static int read_flyrecord(struct dat_file *f, struct bytes *b, struct dat_buffer *u, uint32_t nr)
{
	const uint8_t *kind = bytes_take(b, 10);

	if (!kind || memcmp(kind, "flyrecord", 10))
		return -EINVAL;
	if (nr > bytes_left(b) / 16)
		nr = (uint32_t)(bytes_left(b) / 16);
	u->cpus = arena_alloc(&f->arena, nr * sizeof(*u->cpus));
	if (!u->cpus)
		return -ENOMEM;
	u->nr_cpus = nr;
	for (uint32_t i = 0; i < nr; i++) {
		u->cpus[i].cpu = (int)i;
		u->cpus[i].offset_bytes = bytes_u64(b);
		u->cpus[i].len_bytes = bytes_u64(b);
	}
	return 0;
}

/* The other buffers of version 6: a BUFFER option told where. */
static void read_instances(struct dat_file *f, uint32_t nr_cpus)
{
	for (unsigned i = 1; i < f->nr_buffers; i++) {
		struct dat_buffer *u = &f->buffers[i];
		struct bytes b = {
			.data = f->map.data, .len_bytes = f->map.len_bytes, .swap = f->swap};

		b.pos = dat_inside(f, u->section_bytes, 0) ? u->section_bytes : b.len_bytes;
		if (read_flyrecord(f, &b, u, nr_cpus))
			dat_problem(f, u->section_bytes, "no data of buffer \"%s\" here", u->name);
	}
}

static int read_version6(struct dat_file *f, struct bytes *b, struct error *err)
{
	struct dat_formats formats;
	uint32_t nr_cpus;
	uint64_t next;

	dat_formats_take(b, &formats);
	f->tables[DAT_HEADERS] = formats.headers;
	f->tables[DAT_FTRACE_FORMATS] = formats.ftrace;
	f->tables[DAT_EVENT_FORMATS] = formats.events;
	f->tables[DAT_SYMBOLS] = sized_block(b, 4);
	f->tables[DAT_PRINTK] = sized_block(b, 4);
	f->tables[DAT_CMDLINES] = take_table(b, skip_cmdlines);
	nr_cpus = bytes_u32(b);
	if (!dat_buffer_add(f, ""))
		return fail(err, -ENOMEM, "out of memory opening %s", f->trace->path);
	if (bytes_left(b) >= 10 && !memcmp(b->data + b->pos, "options  ", 10)) {
		bytes_take(b, 10);
		dat_options_read(f, b, 0, &next);
	}
	if (read_flyrecord(f, b, &f->buffers[0], nr_cpus))
		return fail(err, -EINVAL,
			    "%s holds no binary event data at offset %zu: it is cut short, or text "
			    "of the latency tracer",
			    f->trace->path, b->pos);
	read_instances(f, f->option_cpus ? f->option_cpus : nr_cpus);
	return 0;
}

static int read_version7(struct dat_file *f, struct bytes *b, struct error *err)
{
	const char *name = bytes_str(b);
	const char *version = bytes_str(b);
	uint64_t offset = bytes_u64(b);

	if (b->bad || !version)
		return fail(err, -EINVAL, "%s ends within its header", f->trace->path);
	f->packing = packing_by_name(name);
	if (f->packing == PACKING_UNKNOWN)
		return fail(err, -ENOTSUP,
			    "%s is compressed with \"%.32s\"; known are zstd and zlib (trace-cmd "
			    "convert can write it anew)",
			    f->trace->path, name);
	if (!dat_buffer_add(f, ""))
		return fail(err, -ENOMEM, "out of memory opening %s", f->trace->path);
	read_sections(f, offset);
	for (unsigned i = 0; i < f->nr_buffers; i++) {
		if (f->buffers[i].nr_cpus)
			return 0;
	}
	dat_salvage(f, b->pos);
	return 0;
}

static int read_header(struct dat_file *f, struct bytes *b, struct error *err)
{
	const char *path = f->trace->path;
	const uint8_t *magic = bytes_take(b, MAGIC_BYTES);
	const char *version = bytes_str(b);
	const uint8_t *big = bytes_take(b, 1);
	const uint8_t *long_size = bytes_take(b, 1);

	if (!magic || !version || !big || !long_size)
		return fail(err, -EINVAL, "%s ends within its header", path);
	if (memcmp(magic, MAGIC, MAGIC_BYTES))
		return fail(err, -EINVAL, "%s does not start like a trace.dat file", path);
	if (strcmp(version, "6") && strcmp(version, "7"))
		return fail(err, -ENOTSUP, "%s is trace.dat version \"%.8s\"; known are 6 and 7",
			    path, version);
	if (*big > 1 || (*long_size != 4 && *long_size != 8))
		return fail(err, -EINVAL,
			    "%s claims byte order %u and a long of %u bytes; neither can be", path,
			    *big, *long_size);
	f->version = (unsigned)(version[0] - '0');
	f->swap = *big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	b->swap = f->swap;
	f->long_size = *long_size;
	f->page_size = bytes_u32(b);
	if (b->bad)
		return fail(err, -EINVAL, "%s ends within its header", path);
	return 0;
}

int dat_file_open(struct dat_file *f, struct error *err)
{
	struct bytes b;
	int ret;

	f->arena.limit_bytes = TABLES_MAX_BYTES;
	f->stat_buffer = "";
	for (unsigned i = 0; i < DAT_NR_TABLES; i++)
		f->tables[i].bad = true;
	ret = mapfile_open(&f->map, f->trace->path, err);
	if (ret)
		return ret;
	b = (struct bytes){.data = f->map.data, .len_bytes = f->map.len_bytes};
	ret = read_header(f, &b, err);
	if (!ret)
		ret = f->version == 6 ? read_version6(f, &b, err) : read_version7(f, &b, err);
	if (!ret && dat_stats_assign(f))
		ret = fail(err, -ENOMEM, "out of memory opening %s", f->trace->path);
	return ret;
}

void dat_file_release(struct dat_file *f)
{
	unpacker_release(&f->unpacker);
	arena_release(&f->arena);
	mapfile_release(&f->map);
}
