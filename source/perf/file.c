/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container (tools/perf/Documentation/perf.data-file-format.txt in the kernel):
 *
 *	"PERFILE2", u64 104, u64 bytes of an attribute with the section that follows it, sections
 *	{u64 offset, u64 bytes} of the attributes, of the records, and one unused, features: 256 bits
 *	attributes: struct perf_event_attr, then the section of the event's numbers, u64 each
 *	records
 *	behind them, for each feature's bit the section it is in, and these
 *
 * Written to a pipe it is "PERFILE2", u64 16, and records alone: some of them hold attributes, event
 * formats and features.
 */
#include "source/perf/reader.h"
#include "source/dat/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

#define MAGIC "PERFILE2"
#define MAGIC_SWAPPED "2ELIFREP"
#define MAGIC_BYTES 8
#define PIPE_HEADER_BYTES 16
#define FILE_HEADER_BYTES 104
#define ATTRS_MAX 65536u
#define IDS_MAX (1u << 22)
#define COMPRESSED_ZSTD 1u
#define TABLES_MAX_BYTES (512u << 20)

enum feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_DIR_FORMAT = 24,
	FEATURE_COMPRESSED = 27,
	FEATURE_CLOCK_DATA = 29,
	FEATURES = 256,
};

bool perf_file_probe(const char *path)
{
	char magic[MAGIC_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, magic, sizeof(magic));
	close(fd);
	return n == MAGIC_BYTES &&
	       (!memcmp(magic, MAGIC, MAGIC_BYTES) || !memcmp(magic, MAGIC_SWAPPED, MAGIC_BYTES));
}

static struct bytes part(const struct perf *p, uint64_t offset, uint64_t len)
{
	struct bytes all = {.data = p->map.data, .len_bytes = p->map.len_bytes};

	bytes_take(&all, offset);
	return bytes_sub(&all, len);
}

/* ---- features ------------------------------------------------------------------------------- */

/* u32 length, then text with NULs behind it. */
static void feature_text(struct bytes *b, char *out, size_t room)
{
	struct bytes text = bytes_sub(b, bytes_u32(b));

	if (!text.bad)
		snprintf(out, room, "%.*s", (int)strnlen((const char *)text.data, text.len_bytes),
			 (const char *)text.data);
}

static void feature_clock(struct perf *p, struct bytes *b)
{
	uint32_t version = bytes_u32(b);
	uint64_t wall_ns, clock_ns;

	bytes_u32(b); /* the clock: the attributes say it, too */
	wall_ns = bytes_u64(b);
	clock_ns = bytes_u64(b);
	if (b->bad || version != 1)
		return;
	p->wall_ns = wall_ns;
	p->clock_ns = clock_ns;
}

/* From magic to printk formats it is the begin of a trace.dat. */
static void feature_formats(struct perf *p, struct bytes *b)
{
	if (p->formats.bad)
		p->formats = bytes_sub(b, bytes_left(b));
}

static void feature_read(struct perf *p, unsigned feature, struct bytes b)
{
	struct trace *t = p->trace;
	char version[24] = "";
	char machine[32] = "";

	switch (feature) {
	case FEATURE_TRACING_DATA:
		feature_formats(p, &b);
		break;
	case FEATURE_HOSTNAME:
		feature_text(&b, t->hostname, sizeof(t->hostname));
		break;
	case FEATURE_OSRELEASE:
		feature_text(&b, t->release, sizeof(t->release));
		break;
	case FEATURE_ARCH:
		feature_text(&b, machine, sizeof(machine));
		t->arch = arch_of_machine(machine);
		break;
	case FEATURE_VERSION:
		feature_text(&b, version, sizeof(version));
		snprintf(t->tracer, sizeof(t->tracer), "perf %s", version);
		break;
	case FEATURE_NRCPUS:
		bytes_u32(&b); /* those that there may be */
		p->nr_online = bytes_u32(&b);
		break;
	case FEATURE_DIR_FORMAT:
		p->directory = true;
		break;
	case FEATURE_COMPRESSED:
		bytes_u32(&b); /* version */
		p->compressed = bytes_u32(&b) == COMPRESSED_ZSTD;
		break;
	case FEATURE_CLOCK_DATA:
		feature_clock(p, &b);
		break;
	}
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* Takes one attribute and its numbers; what is damaged is left out. */
static int attr_add(struct perf *p, struct bytes *attr, struct bytes *ids)
{
	struct perf_attrs *a = &p->attrs;
	struct perf_attr *one;

	if (a->nr == ATTRS_MAX)
		return 0;
	if (!room_for_one(&a->list, a->nr, &a->room))
		return -ENOMEM;
	one = &a->list[a->nr];
	if (attr->bad || !perf_attr_read(attr->data, attr->len_bytes, one)) {
		a->incomplete = true;
		trace_problem(p->trace,
			      "%s: the description of event %u is damaged; such events "
			      "cannot be read",
			      p->trace->path, a->nr);
		return 0;
	}
	/* Attributes may all name one section: all are counted, not those that differ. */
	while (bytes_left(ids) >= 8 && a->nr_ids < IDS_MAX) {
		if (!room_for_one(&a->ids, a->nr_ids, &a->ids_room) ||
		    map_put(&a->by_id, bytes_u64(ids), a->nr_ids))
			return -ENOMEM;
		a->ids[a->nr_ids++] = (struct perf_id){.attr = a->nr, .column = one->nr_ids++};
	}
	a->nr++;
	return 0;
}

static int attrs_read(struct perf *p, struct bytes *table, uint64_t each)
{
	int ret = 0;

	while (!ret && bytes_left(table) >= each) {
		struct bytes attr = bytes_sub(table, each - 16);
		uint64_t offset = bytes_u64(table);
		uint64_t len = bytes_u64(table);
		struct bytes ids = part(p, offset, len);

		ret = attr_add(p, &attr, &ids);
	}
	return ret;
}

/* ---- the two kinds of file ------------------------------------------------------------------ */

static int no_memory(const struct perf *p, struct error *err)
{
	return fail(err, -ENOMEM, "out of memory opening %s", p->trace->path);
}

/* Behind the records: for each feature there is, its section. */
static void features_read(struct perf *p, const uint8_t *bits)
{
	uint64_t at = p->end;

	for (unsigned i = 0; i < FEATURES; i++) {
		struct bytes where;
		uint64_t offset, len;

		if (!(load_u64(bits + i / 64 * 8) >> i % 64 & 1))
			continue;
		where = part(p, at, 16);
		offset = bytes_u64(&where);
		len = bytes_u64(&where);
		feature_read(p, i, part(p, offset, len));
		at += 16;
	}
}

static int read_file(struct perf *p, struct bytes *b, struct error *err)
{
	uint64_t each = bytes_u64(b);
	uint64_t attrs_at = bytes_u64(b), attrs_len = bytes_u64(b);
	uint64_t data_at = bytes_u64(b), data_len = bytes_u64(b);
	const uint8_t *bits;
	struct bytes table;

	bytes_take(b, 16);
	bits = bytes_take(b, FEATURES / 8);
	if (!bits || each < 16 || each > 4096 || data_at > p->map.len_bytes)
		return fail(err, -EINVAL, "%s has a damaged header", p->trace->path);
	if (!data_len)
		return fail(err, -EINVAL,
			    "%s was not finished: perf record writes the event formats when it "
			    "ends, and it was killed before",
			    p->trace->path);
	p->begin = data_at;
	p->cut = data_len > p->map.len_bytes - data_at;
	p->end = p->cut ? p->map.len_bytes : data_at + data_len;
	table = part(p, attrs_at, attrs_len);
	if (attrs_read(p, &table, each))
		return no_memory(p, err);
	features_read(p, bits);
	return 0;
}

/* A record that stands for a part of a file's header. */
static int pipe_record(struct perf *p, const struct perf_record *r)
{
	struct bytes b = {.data = r->data, .len_bytes = r->len_bytes};
	struct bytes attr;
	uint64_t feature;

	switch (r->type) {
	case RECORD_ATTR:
		if (b.len_bytes < 8)
			return 0;
		attr = bytes_sub(&b, load_u32(b.data + 4)); /* it says its own size */
		return attr_add(p, &attr, &b);
	case RECORD_TRACING_DATA:
		if (b.len_bytes >= 4)
			feature_read(p, FEATURE_TRACING_DATA,
				     part(p, (uint64_t)(b.data + b.len_bytes - p->map.data),
					  load_u32(b.data)));
		return 0;
	case RECORD_FEATURE:
		feature = bytes_u64(&b);
		if (!b.bad && feature < FEATURES)
			feature_read(p, (unsigned)feature, bytes_sub(&b, bytes_left(&b)));
		return 0;
	default:
		return 0;
	}
}

static int read_pipe(struct perf *p, struct error *err)
{
	struct perf_record r;

	p->begin = PIPE_HEADER_BYTES;
	p->end = p->map.len_bytes;
	for (uint64_t at = p->begin; perf_record_read(p->map.data, at, p->end, &r); at = r.next) {
		if (r.type == RECORD_SAMPLE)
			break;
		if (pipe_record(p, &r))
			return no_memory(p, err);
	}
	return 0;
}

static int read_header(struct perf *p, struct error *err)
{
	struct bytes b = {.data = p->map.data, .len_bytes = p->map.len_bytes};
	const uint8_t *magic = bytes_take(&b, MAGIC_BYTES);
	uint64_t size = bytes_u64(&b);

	if (b.bad)
		return fail(err, -EINVAL, "%s ends within its header", p->trace->path);
	if (!memcmp(magic, MAGIC_SWAPPED, MAGIC_BYTES))
		return fail(err, -ENOTSUP,
			    "%s was recorded on a machine of the other byte order, which Sonde "
			    "does not read",
			    p->trace->path);
	if (memcmp(magic, MAGIC, MAGIC_BYTES) ||
	    (size != PIPE_HEADER_BYTES && size != FILE_HEADER_BYTES))
		return fail(err, -EINVAL, "%s does not start like a perf.data file",
			    p->trace->path);
	return size == PIPE_HEADER_BYTES ? read_pipe(p, err) : read_file(p, &b, err);
}

/* ---- event formats -------------------------------------------------------------------------- */

static int formats_read(struct perf *p, struct error *err)
{
	struct bytes b = p->formats;
	const uint8_t *magic = bytes_take(&b, 10);
	const char *version = bytes_str(&b);
	const uint8_t *big = bytes_take(&b, 1);
	const uint8_t *long_size = bytes_take(&b, 1);
	struct dat_formats tables;

	bytes_u32(&b); /* size of a page */
	if (!magic || !version || !big || !long_size || b.bad)
		return fail(err, -EINVAL,
			    "%s has no event formats: no tracepoint was recorded, or its end is "
			    "missing",
			    p->trace->path);
	dat_formats_take(&b, &tables);
	p->events = (struct dat_events){
		.trace = p->trace,
		.arena = &p->arena,
		.long_size = *long_size == 4 ? 4 : 8,
	};
	return dat_events_init(&p->events, tables.ftrace, tables.events, err);
}

int perf_part_add(struct perf *p, const struct perf_part *part)
{
	if (!room_for_one(&p->parts, p->nr_parts, &p->parts_room))
		return -ENOMEM;
	p->parts[p->nr_parts++] = *part;
	return 0;
}

int perf_file_open(struct perf *p, struct error *err)
{
	int ret;

	p->arena.limit_bytes = TABLES_MAX_BYTES;
	p->formats.bad = true;
	ret = mapfile_open(&p->map, p->trace->path, err);
	if (!ret)
		ret = read_header(p, err);
	if (!ret)
		ret = formats_read(p, err);
	if (!ret && (p->compressed || p->directory))
		ret = perf_join(p, err);
	else if (!ret && perf_part_add(p, &(struct perf_part){.end = p->end, .at = p->begin}))
		ret = no_memory(p, err);
	if (ret)
		return ret;
	if (!perf_attrs_sound(&p->attrs))
		return fail(err, -EINVAL,
			    "%s: its events cannot be told apart: they are recorded in different "
			    "forms, without a number",
			    p->trace->path);
	return 0;
}

void perf_file_release(struct perf *p)
{
	if (p->events.trace)
		dat_events_release(&p->events);
	free(p->parts);
	free(p->attrs.list);
	map_release(&p->attrs.by_id);
	free(p->attrs.ids);
	free(p->attrs.columns);
	arena_release(&p->arena);
	mapfile_release(&p->map);
	mapfile_release(&p->header);
}
