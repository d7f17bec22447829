/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CTF_BUILD_H
#define TESTS_UNIT_CTF_BUILD_H

/*
 * Makes small CTF traces for tests, bit by bit, in a directory of their own.
 *
 *	struct bits b = {0};
 *	packet_begin(&b, &(struct packet_form){.begin = 1000});
 *	compact(&b, 1, 1005);
 *	put_bits(&b, 42, 32);
 *	packet_end(&b, 2000, 0, 4096);
 *	build_trace(&o, METADATA(...), &b);
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/trace.h"

#define EVENTS_MAX 4096
#define BUILD_ROOM (1u << 20)

static const uint8_t build_uuid[16] = {0xc4, 0xf3, 0x0d, 0xe6, 0x03, 0x32, 0x21, 0x4e,
				       0x8a, 0x69, 0x64, 0xc1, 0x9a, 0x96, 0x87, 0x6b};

#define BUILD_INTS                                                                                 \
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"                 \
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"               \
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"               \
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"               \
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"                 \
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"                 \
	"typealias integer { size = 27; align = 1; signed = false; } := uint27_t;\n"

#define BUILD_TRACE(order)                                                                         \
	"trace { major = 1; minor = 8; uuid = \"c4f30de6-0332-214e-8a69-64c19a96876b\";\n"         \
	"byte_order = " order ";\n"                                                                \
	"packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id;\n"        \
	"uint64_t stream_instance_id; }; };\n"                                                     \
	"clock { name = \"monotonic\"; uuid = \"8d1a7810-ce13-4918-81cf-abd83ae66eaf\";\n"         \
	"freq = 1000000000; offset_s = 2; offset = 500; };\n"

#define BUILD_CONTEXT                                                                              \
	"packet.context := struct { uint64_t timestamp_begin; uint64_t timestamp_end;\n"           \
	"uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num;\n"                  \
	"uint64_t events_discarded; uint32_t cpu_id; };\n"

#define BUILD_COMPACT                                                                              \
	"event.header := struct { enum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"      \
	"variant <id> { struct { uint27_t timestamp; } compact; struct { uint32_t id;\n"           \
	"uint64_t timestamp; } extended; } v; } align(8);\n"

#define BUILD_LARGE                                                                                \
	"event.header := struct { enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;" \
	"variant <id> { struct { uint32_t timestamp; } compact; struct { uint32_t id;\n"           \
	"uint64_t timestamp; } extended; } v; } align(8);\n"

/* A little-endian LTTng-like trace with one stream class, and @events after it. */
#define BUILD_METADATA(header, events)                                                             \
	BUILD_INTS BUILD_TRACE("le") "stream { id = 0; " header BUILD_CONTEXT "};\n" events

#define BUILD_EVENT(id, name, fields)                                                              \
	"event { name = \"" name "\"; id = " #id "; stream_id = 0; fields := struct { " fields     \
	" }; };\n"

/* Bits are put one behind the other: from a byte's low end, or from its high end when big. */
struct bits {
	uint8_t *data;
	uint64_t pos;
	uint64_t packet; /* where the packet being written begins */
	uint64_t context;
	bool big;
};

static inline void put_bits(struct bits *b, uint64_t v, unsigned n)
{
	if (!b->data)
		b->data = calloc(1, BUILD_ROOM);
	assert_true((b->pos + n) / 8 < BUILD_ROOM);
	for (unsigned i = 0; i < n; i++, b->pos++) {
		unsigned bit = b->big ? n - 1 - i : i;
		unsigned in_byte = b->big ? 7 - b->pos % 8 : b->pos % 8;

		if (v >> bit & 1)
			b->data[b->pos / 8] |= (uint8_t)(1u << in_byte);
	}
}

/* Alignment counts from the packet. */
static inline void align_bits(struct bits *b, unsigned align)
{
	while ((b->pos - b->packet) % align)
		put_bits(b, 0, 1);
}

static inline void put_text(struct bits *b, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		put_bits(b, (uint8_t)text[i], 8);
}

static inline void put_string(struct bits *b, const char *text)
{
	put_text(b, text, strlen(text) + 1);
}

/* comm[16] */
static inline void put_comm(struct bits *b, const char *name)
{
	char comm[16] = "";

	memcpy(comm, name, strlen(name));
	put_text(b, comm, sizeof(comm));
}

struct packet_form {
	uint64_t begin, seq_num, instance;
	uint32_t cpu, stream_id;
	bool other_uuid;
};

static inline void packet_begin(struct bits *b, const struct packet_form *f)
{
	b->packet = b->pos;
	put_bits(b, 0xc1fc1fc1, 32);
	for (unsigned i = 0; i < 16; i++)
		put_bits(b, build_uuid[i] ^ f->other_uuid, 8);
	put_bits(b, f->stream_id, 32);
	put_bits(b, f->instance, 64);
	b->context = b->pos;
	put_bits(b, f->begin, 64);
	put_bits(b, 0, 64); /* end, content and packet size: at packet_end() */
	put_bits(b, 0, 64);
	put_bits(b, 0, 64);
	put_bits(b, f->seq_num, 64);
	put_bits(b, 0, 64);
	put_bits(b, f->cpu, 32);
}

static inline void patch(struct bits *b, uint64_t pos, uint64_t v)
{
	uint64_t end = b->pos;

	b->pos = pos;
	memset(b->data + pos / 8, 0, 8);
	put_bits(b, v, 64);
	b->pos = end;
}

static inline void packet_end(struct bits *b, uint64_t end, uint64_t discarded, unsigned bytes)
{
	uint64_t content = b->pos - b->packet;

	assert_true(content <= bytes * 8ull);
	patch(b, b->context + 64, end);
	patch(b, b->context + 128, content);
	patch(b, b->context + 192, bytes * 8ull);
	patch(b, b->context + 320, discarded);
	b->pos = b->packet + bytes * 8ull;
}

static inline void compact(struct bits *b, unsigned id, uint64_t time)
{
	align_bits(b, 8);
	put_bits(b, id, 5);
	put_bits(b, time & 0x7ffffff, 27);
}

static inline void compact_extended(struct bits *b, unsigned id, uint64_t time)
{
	align_bits(b, 8);
	put_bits(b, 31, 5);
	align_bits(b, 8);
	put_bits(b, id, 32);
	put_bits(b, time, 64);
}

static inline void large(struct bits *b, unsigned id, uint64_t time)
{
	align_bits(b, 8);
	put_bits(b, id, 16);
	put_bits(b, time & 0xffffffff, 32);
}

static inline void large_extended(struct bits *b, unsigned id, uint64_t time)
{
	align_bits(b, 8);
	put_bits(b, 65535, 16);
	put_bits(b, id, 32);
	put_bits(b, time, 64);
}

/* A trace that was made and opened, and all its events. */
struct opened {
	char dir[64];
	struct trace *trace;
	struct error err;
	struct event events[EVENTS_MAX];
	unsigned stream_of[EVENTS_MAX];
	unsigned nr;
};

static inline void make_dir(struct opened *o)
{
	memset(o, 0, sizeof(*o));
	strcpy(o->dir, "/tmp/sonde-test-ctf-XXXXXX");
	assert_non_null(mkdtemp(o->dir));
}

static inline void write_file(const struct opened *o, const char *name, const void *data,
			      size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", o->dir, name);
	/* Some file systems write a file to disk at once when it was cut to nothing before. */
	remove(path);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static inline void write_bits(const struct opened *o, const char *name, struct bits *b)
{
	write_file(o, name, b->data, (size_t)((b->pos + 7) / 8));
	free(b->data);
	b->data = NULL;
}

static inline int open_dir(struct opened *o)
{
	return trace_open(&o->trace, o->dir, &o->err);
}

static inline void load_events(struct opened *o)
{
	o->nr = 0;
	for (unsigned i = 0; i < o->trace->nr_streams; i++) {
		struct cursor c;
		unsigned n;

		assert_int_equal(cursor_init(&c, &o->trace->streams[i], 0, UINT32_MAX, 0, NULL), 0);
		while ((n = cursor_next(&c, o->events + o->nr, EVENTS_MAX - o->nr)) > 0) {
			for (unsigned k = 0; k < n; k++)
				o->stream_of[o->nr++] = i;
		}
		cursor_release(&c);
	}
}

static inline void must_open(struct opened *o)
{
	if (open_dir(o))
		print_error("%s\n", o->err.text);
	assert_non_null(o->trace);
	load_events(o);
}

/* The common case: metadata and one stream file. */
static inline void build_trace(struct opened *o, const char *metadata, struct bits *b)
{
	make_dir(o);
	write_file(o, "metadata", metadata, strlen(metadata));
	write_bits(o, "ch0_0", b);
	must_open(o);
}

static inline void close_trace(struct opened *o)
{
	char command[128];

	trace_release(o->trace);
	snprintf(command, sizeof(command), "rm -r '%s'", o->dir);
	assert_int_equal(system(command), 0);
}

static inline void expect_text(const struct opened *o, unsigned i, const char *text)
{
	char buf[4096];

	assert_true(i < o->nr);
	if (o->events[i].kind == EV_LOST && o->trace->problems.nr)
		print_error("%s\n", o->trace->problems.list[0].text);
	trace_event_print(&o->trace->streams[o->stream_of[i]], &o->events[i], buf, sizeof(buf));
	assert_string_equal(buf, text);
}

static inline bool has_problem(const struct opened *o, const char *part)
{
	for (unsigned i = 0; i < o->trace->problems.nr; i++) {
		if (strstr(o->trace->problems.list[i].text, part))
			return true;
	}
	return false;
}

#endif
