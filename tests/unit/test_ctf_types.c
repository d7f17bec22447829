/* SPDX-License-Identifier: Apache-2.0 */
/* source/ctf: every kind of field, in CTF 1.8 and CTF 2, has the value that was written. */
#include "tests/unit/unit.h"

#include "arch/exits.h"
#include "source/state_line.h"
#include "tests/unit/ctf_build.h"

#include <errno.h>

static struct opened o;

/* Integers of every size, at every alignment that matters, in both orders. */

static uint64_t pattern(unsigned i, unsigned size)
{
	uint64_t v = 0x9e3779b97f4a7c15ull * (i + 1);

	return size == 64 ? v : v & ((UINT64_C(1) << size) - 1);
}

static void check_integers(bool big, unsigned align)
{
	static char metadata[32768], expected[8192];
	struct bits b = {.big = big};
	size_t len = 0, text = 0;

	len += (size_t)snprintf(
		metadata + len, sizeof(metadata) - len,
		"%s%sstream { id = 0; %s%s};\n"
		"event { name = \"ints\"; id = 0; stream_id = 0; fields := struct {",
		BUILD_INTS, big ? BUILD_TRACE("be") : BUILD_TRACE("le"), BUILD_COMPACT,
		BUILD_CONTEXT);
	packet_begin(&b, &(struct packet_form){.begin = 0});
	compact(&b, 0, 7);
	align_bits(&b, align);
	for (unsigned size = 1; size <= 64; size++) {
		bool is_signed = size % 3 == 0;
		uint64_t v = pattern(size, size);

		len += (size_t)snprintf(metadata + len, sizeof(metadata) - len,
					"integer { size = %u; align = %u; signed = %d; } f%u;\n",
					size, align, is_signed, size);
		align_bits(&b, align);
		put_bits(&b, v, size);
		if (is_signed && v >> (size - 1))
			v |= size < 64 ? ~UINT64_C(0) << size : 0;
		text += (size_t)snprintf(expected + text, sizeof(expected) - text,
					 is_signed ? "%sf%u=%lld" : "%sf%u=%llu",
					 size > 1 ? " " : "", size, (unsigned long long)v);
	}
	snprintf(metadata + len, sizeof(metadata) - len, "}; };\n");
	packet_end(&b, 100, 0, 4096);
	build_trace(&o, metadata, &b);
	assert_int_equal(o.nr, 1);
	assert_int_equal(o.events[0].time.v, 7);
	expect_text(&o, 0, expected);
	close_trace(&o);
}

static void integers(void **state)
{
	(void)state;
	for (unsigned align = 1; align <= 64; align *= 2) {
		check_integers(false, align);
		check_integers(true, align);
	}
}

/* Constants in single quotes: text where text belongs, else the number of the one character. */
static void characters(void **state)
{
	static const char metadata[] = BUILD_METADATA(
		BUILD_COMPACT,
		"env { hostname = 'h\\tx'; };\n"
		"event { name = 'e'; id = 1; stream_id = 0; fields := struct {\n"
		"enum : uint32_t { LF = '\\n', A = '\\x41', O = '\\102', NUL = '\\0', Q = '\\'',\n"
		"LOW = 'a' ... 'z' } x; }; };\n");
	static const struct {
		uint32_t value;
		const char *text;
	} values[] = {{10, "x=LF(10)"}, {65, "x=A(65)"},   {66, "x=O(66)"}, {0, "x=NUL(0)"},
		      {39, "x=Q(39)"},	{98, "x=LOW(98)"}, {11, "x=11"}};
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0});
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
		compact(&b, 1, i);
		put_bits(&b, values[i].value, 32);
	}
	packet_end(&b, 100, 0, 4096);
	build_trace(&o, metadata, &b);
	assert_int_equal(o.nr, ARRAY_SIZE(values));
	assert_string_equal(o.trace->hostname, "h\tx");
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++)
		expect_text(&o, i, values[i].text);
	close_trace(&o);
}

/* What the plan reads at constant offsets equals what the interpreter reads. */
static void arguments(void **state)
{
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0, .cpu = 3});
	compact(&b, 2, 5);
	put_bits(&b, 17, 32);
	put_comm(&b, "from");
	put_bits(&b, (uint32_t)-1, 32);
	put_bits(&b, 130, 64);
	put_comm(&b, "to");
	put_bits(&b, 99, 32);
	compact(&b, 3, 6);
	put_bits(&b, 18, 32);
	put_bits(&b, 3, 8); /* vtids */
	put_bits(&b, 1, 32);
	put_bits(&b, 2, 32);
	put_bits(&b, 3, 32);
	put_comm(&b, "child");
	put_bits(&b, 1000, 32);
	put_bits(&b, 1001, 32);
	packet_end(&b, 100, 0, 4096);
	build_trace(
		&o,
		BUILD_METADATA(
			BUILD_COMPACT "event.context := struct { int32_t _tid; };\n",
			"typealias integer { size = 8; align = 8; encoding = UTF8; } := char;\n" BUILD_EVENT(
				2, "sched_switch",
				"char _prev_comm[16]; int32_t _prev_tid; uint64_t _prev_state;"
				"char _next_comm[16]; int32_t _next_tid;")
				BUILD_EVENT(
					3, "sched_process_fork",
					"uint8_t __n; int32_t _vtids[__n]; char _child_comm[16];"
					"int32_t _parent_tid; int32_t _child_tid;")),
		&b);
	assert_int_equal(o.nr, 2);
	assert_int_equal(o.trace->streams[0].cpu, 3);
	assert_int_equal(o.trace->nr_cpus, 4);
	assert_int_equal(o.events[0].kind, EV_SCHED_SWITCH);
	assert_int_equal(o.events[0].tid, 17);
	assert_int_equal(o.events[0].arg[0], -1);
	assert_int_equal(o.events[0].arg[1], 99);
	assert_int_equal(o.events[0].arg[2], 130);
	assert_string_equal(event_str(&o.events[0], 3), "to");
	assert_string_equal(event_str(&o.events[0], 4), "from");
	expect_text(&o, 0,
		    "prev_comm=\"from\" prev_tid=-1 prev_state=130 next_comm=\"to\" next_tid=99 "
		    "context={tid=17}");
	assert_int_equal(o.events[1].kind, EV_FORK);
	assert_int_equal(o.events[1].arg[0], 1000);
	assert_int_equal(o.events[1].arg[1], 1001);
	assert_string_equal(event_str(&o.events[1], 2), "child");
	assert_int_equal(o.events[1].arg[3], -1);
	expect_text(&o, 1,
		    "_n=3 vtids=[1, 2, 3] child_comm=\"child\" parent_tid=1000 child_tid=1001 "
		    "context={tid=18}");
	close_trace(&o);
}

/* LTTng's logger: text whose length stands before it, with no NUL behind. */
static void a_state_line_is_read_from_the_logger(void **state)
{
	static const char text[] = "sonde: vm vm=7 pid=800 name=a%20b";
	struct bits b = {0};
	struct state_line l;
	char name[16];

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0});
	compact(&b, 2, 5);
	put_bits(&b, 17, 32);
	put_bits(&b, strlen(text), 32);
	put_text(&b, text, strlen(text));
	compact(&b, 2, 6);
	put_bits(&b, 17, 32);
	put_bits(&b, 5, 32);
	put_text(&b, "hello", 5);
	packet_end(&b, 100, 0, 4096);
	build_trace(
		&o,
		BUILD_METADATA(
			BUILD_COMPACT "event.context := struct { int32_t _tid; };\n",
			"typealias integer { size = 8; align = 8; encoding = UTF8; } := char;\n" BUILD_EVENT(
				2, "lttng_logger",
				"uint32_t __msg_length; char _msg[ __msg_length ];")),
		&b);
	assert_int_equal(o.nr, 2);
	assert_int_equal(o.events[0].kind, EV_STATE_LINE);
	assert_int_equal(o.events[0].tid, 17);
	assert_true(state_line_read(&l, &o.trace->streams[0], &o.events[0]));
	assert_int_equal(l.kind, STATE_VM);
	assert_int_equal(state_int(&l, "pid", -1), 800);
	state_text(&l, "name", name, sizeof(name));
	assert_string_equal(name, "a b");
	assert_false(state_line_read(&l, &o.trace->streams[0], &o.events[1]));
	close_trace(&o);
}

/* A field of the wrong class never gets into a slot that readers take for text. */
static void slots_of_the_wrong_class(void **state)
{
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0});
	compact(&b, 2, 5);
	put_bits(&b, 0x4141414141414141, 64);
	put_comm(&b, "text");
	put_bits(&b, 'x', 8);
	packet_end(&b, 100, 0, 4096);
	build_trace(
		&o,
		BUILD_METADATA(
			BUILD_COMPACT,
			"typealias integer { size = 8; align = 8; encoding = UTF8; } := char;\n" BUILD_EVENT(
				2, "sched_switch",
				"uint64_t _next_comm; char _next_tid[16]; char _prev_comm[1];")),
		&b);
	assert_int_equal(o.events[0].kind, EV_SCHED_SWITCH);
	assert_int_equal(o.events[0].arg[1], -1);
	assert_int_equal(o.events[0].arg[3], 0);
	assert_int_equal(o.events[0].arg[4], 0);
	close_trace(&o);
}

/* Its classes of exceptions are no reasons of AMD's, which is what an exit without a numbering is
 * taken for. */
static void exits_of_arm64(void **state)
{
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0});
	compact(&b, 2, 5);
	put_bits(&b, 0x16, 32);
	put_bits(&b, 0xffff800080000000, 64);
	packet_end(&b, 100, 0, 4096);
	build_trace(
		&o,
		BUILD_METADATA(BUILD_COMPACT,
			       BUILD_EVENT(2, "kvm_exit", "uint32_t _esr_ec; uint64_t _vcpu_pc;")),
		&b);
	assert_int_equal(o.events[0].kind, EV_KVM_EXIT);
	assert_int_equal(o.events[0].arg[0], 0x16);
	assert_int_equal(o.events[0].arg[3], ISA_ARM64);
	close_trace(&o);
}

static void compound(void **state)
{
	struct bits b = {0};
	double pi = 3.25;
	float e = -2.5f;
	uint64_t raw = 0;
	uint32_t raw32;

	(void)state;
	memcpy(&raw, &pi, 8);
	memcpy(&raw32, &e, 4);
	packet_begin(&b, &(struct packet_form){.begin = 0});
	compact(&b, 0, 1);
	put_bits(&b, raw, 64);
	put_bits(&b, raw32, 32);
	put_bits(&b, 0xc100, 16); /* -2.5 in half precision */
	put_string(&b, "a \"quoted\"\n");
	put_bits(&b, 2, 8); /* n */
	put_bits(&b, 1, 8); /* tag: B */
	put_string(&b, "chosen");
	put_bits(&b, (uint8_t)-3, 8);	   /* level: LOW */
	for (unsigned i = 0; i < 2; i++) { /* list[n] of struct */
		put_bits(&b, i + 1, 8);
		for (unsigned k = 0; k <= i; k++)
			put_bits(&b, 10 * i + k, 16);
	}
	for (unsigned i = 0; i < 6; i++) /* grid[2][3] */
		put_bits(&b, i, 8);
	compact(&b, 1, 2);
	put_bits(&b, 77, 32);
	packet_end(&b, 100, 0, 4096);
	build_trace(
		&o,
		BUILD_METADATA(
			BUILD_COMPACT,
			"typedef floating_point { exp_dig = 11; mant_dig = 53; } double_t;\n"
			"struct item { uint8_t k; uint16_t v[k]; };\n"
			"variant choice { uint32_t A; string B; };\n"
			"enum level : integer { size = 8; align = 8; signed = true; }\n"
			"\t{ LOW = -10 ... -1, ZERO, \"HIGH LEVEL\" = 1 ... 0x7f };\n" BUILD_EVENT(
				0, "all",
				"double_t d; floating_point { exp_dig = 8; mant_dig = 24; } f;"
				"floating_point { exp_dig = 5; mant_dig = 11; } h; string s; uint8_t n;"
				"enum : uint8_t { A, B } tag; variant choice <tag> v; enum level l;"
				"struct item list[n]; uint8_t grid[2][3];")
				BUILD_EVENT(1, "after", "uint32_t x;")),
		&b);
	assert_int_equal(o.nr, 2);
	expect_text(&o, 0,
		    "d=3.25 f=-2.5 h=-2.5 s=\"a \\\"quoted\\\"\\n\" n=2 tag=B(1) v=\"chosen\" "
		    "l=LOW(-3) list=[{k=1 v=[0]}, {k=2 v=[10, 11]}] grid=[[0, 1, 2], [3, 4, 5]]");
	expect_text(&o, 1, "x=77");
	close_trace(&o);
}

/* Lengths and selectors in other records: packet header and context, event header and contexts. */
static void references(void **state)
{
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0, .cpu = 2});
	large(&b, 5, 1);
	put_bits(&b, 1, 8); /* common context: kind = TWO */
	put_bits(&b, 3, 8); /* specific context: n */
	for (unsigned i = 0; i < 2; i++)
		put_bits(&b, 40 + i, 8); /* by_cpu[cpu_id] */
	for (unsigned i = 0; i < 3; i++)
		put_bits(&b, 50 + i, 8); /* by_context[n] */
	put_bits(&b, 0x1234, 16);	 /* v: TWO */
	packet_end(&b, 100, 0, 4096);
	build_trace(
		&o,
		BUILD_METADATA(
			BUILD_LARGE
			"event.context := struct { enum : uint8_t { ONE, TWO } kind; };\n",
			"event { name = \"e\"; id = 5; stream_id = 0;\n"
			"context := struct { uint8_t n; };\n"
			"fields := struct { uint8_t by_cpu[stream.packet.context.cpu_id];\n"
			"uint8_t by_context[event.context.n];\n"
			"variant <stream.event.context.kind> { uint8_t ONE; uint16_t TWO; } v; }; };\n"),
		&b);
	assert_int_equal(o.nr, 1);
	expect_text(&o, 0,
		    "by_cpu=[40, 41] by_context=[50, 51, 52] v=4660 context={kind=TWO(1)} "
		    "event_context={n=3}");
	close_trace(&o);
}

/* The last field of a name before the length's use counts, among few fields and among many. */
static void a_length_is_the_last_of_its_name(void **state)
{
	(void)state;
	for (unsigned more = 0; more <= 20; more += 20) {
		char fields[1024] = "", told[256] = "", metadata[8192];
		struct bits b = {0};

		packet_begin(&b, &(struct packet_form){.begin = 0});
		compact(&b, 0, 1);
		for (unsigned i = 0; i < more; i++) {
			size_t n = strlen(fields), t = strlen(told);

			snprintf(fields + n, sizeof(fields) - n, "uint8_t f%u;", i);
			snprintf(told + t, sizeof(told) - t, "f%u=3 ", i);
			put_bits(&b, 3, 8);
		}
		put_bits(&b, 1, 8);
		put_bits(&b, 2, 8);
		put_bits(&b, 0x0706, 16);
		put_bits(&b, 5, 8);
		packet_end(&b, 100, 0, 4096);
		strcat(fields, "uint8_t n; uint8_t n; uint8_t v[n]; uint8_t n;");
		strcat(told, "n=1 n=2 v=[6, 7] n=5");
		snprintf(metadata, sizeof(metadata), BUILD_METADATA(BUILD_COMPACT, "%s%s%s"),
			 "event { name = \"e\"; id = 0; stream_id = 0; fields := struct { ", fields,
			 " }; };\n");
		build_trace(&o, metadata, &b);
		expect_text(&o, 0, told);
		close_trace(&o);
	}
}

/* A selector in the event header: LTTng's headers too must be read so that it is known. */
static void reference_to_header(void **state)
{
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0});
	large_extended(&b, 5, 1);
	put_bits(&b, 0x1234, 16);
	large(&b, 5, 2);
	put_bits(&b, 0x56, 8);
	packet_end(&b, 100, 0, 4096);
	build_trace(&o,
		    BUILD_METADATA(BUILD_LARGE,
				   BUILD_EVENT(5, "e",
					       "variant <stream.event.header.id> {"
					       "uint8_t compact; uint16_t extended; } v;")),
		    &b);
	assert_int_equal(o.nr, 2);
	expect_text(&o, 0, "v=4660");
	expect_text(&o, 1, "v=86");
	close_trace(&o);
}

static void fields_by_name(void **state)
{
	struct field_value v;
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0});
	compact(&b, 0, 1);
	put_bits(&b, 5, 32);
	put_comm(&b, "me");
	put_bits(&b, 2, 8);
	put_bits(&b, 7, 16);
	put_bits(&b, 8, 16);
	put_string(&b, "file");
	packet_end(&b, 100, 0, 4096);
	build_trace(
		&o,
		BUILD_METADATA(
			"typealias integer { size = 8; align = 8; encoding = UTF8; } := char;\n" BUILD_COMPACT
			"event.context := struct { int32_t _tid; char _procname[16]; };\n",
			BUILD_EVENT(0, "e", "uint8_t _n; uint16_t _list[_n]; string _filename;")),
		&b);
	assert_int_equal(trace_event_field(&o.trace->streams[0], &o.events[0], "procname", &v), 0);
	assert_int_equal(v.cls, FIELD_STRING);
	assert_int_equal(v.len, 2);
	assert_memory_equal(v.text, "me", 2);
	assert_int_equal(trace_event_field(&o.trace->streams[0], &o.events[0], "list", &v), 0);
	assert_int_equal(v.cls, FIELD_ARRAY);
	assert_int_equal(v.len, 2);
	assert_int_equal(v.elems[0], 7);
	assert_int_equal(v.elems[1], 8);
	assert_int_equal(trace_event_field(&o.trace->streams[0], &o.events[0], "filename", &v), 0);
	assert_memory_equal(v.text, "file", 5);
	assert_int_equal(trace_event_field(&o.trace->streams[0], &o.events[0], "tid", &v), 0);
	assert_int_equal(v.cls, FIELD_INT);
	assert_int_equal(v.i, 5);
	assert_int_equal(trace_event_field(&o.trace->streams[0], &o.events[0], "nothing", &v),
			 -ENOENT);
	close_trace(&o);
}

/* Records that begin and end inside bytes. */
static void records_of_bits(void **state)
{
	struct bits b = {0};

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		put_bits(&b, i % 2, 1);
		put_bits(&b, i & 0x3ff, 10);
		if (i % 2)
			put_bits(&b, i & 7, 3);
	}
	build_trace(&o,
		    "trace { major = 1; minor = 8; byte_order = le; };\n"
		    "stream { event.header := struct { integer { size = 1; } id;\n"
		    "integer { size = 10; } timestamp; }; };\n"
		    "event { name = a; id = 0; };\n"
		    "event { name = b; id = 1; fields := struct { integer { size = 3; } x; }; };\n",
		    &b);
	/* 1250 bits: the last byte has 6 bits of padding, too few for one more event. */
	assert_true(o.nr >= 100);
	for (unsigned i = 0; i < 100; i++) {
		char text[8];

		snprintf(text, sizeof(text), "x=%u", i & 7);
		assert_int_equal(o.events[i].time.v, i);
		expect_text(&o, i, i % 2 ? text : "");
	}
	close_trace(&o);
}

/* CTF 2 */

#define RS "\x1e"

static const char json_head[] = RS
	"{\"type\": \"preamble\", \"version\": 2, \"uuid\": [196, 243, 13, 230, 3, 50, 33, 78, 138, "
	"105, 100, 193, 154, 150, 135, 107]}\n" RS
	"{\"type\": \"field-class-alias\", \"name\": \"u8\", \"field-class\": {\"type\": "
	"\"fixed-length-unsigned-integer\", \"length\": 8, \"alignment\": 8, \"byte-order\": "
	"\"little-endian\"}}\n" RS
	"{\"type\": \"trace-class\", \"environment\": {\"hostname\": \"h2\", \"tracer_name\": "
	"\"lttng-modules\", \"tracer_major\": 2, \"tracer_minor\": 14, \"tracer_patchlevel\": 1}}\n" RS
	"{\"type\": \"clock-class\", \"id\": \"default\", \"name\": \"monotonic\", \"frequency\": "
	"1000000000, \"origin\": \"unix-epoch\", \"offset-from-origin\": {\"seconds\": 3, "
	"\"cycles\": 4}}\n" RS
	"{\"type\": \"data-stream-class\", \"default-clock-class-id\": \"default\", "
	"\"event-record-header-field-class\": {\"type\": \"structure\", \"member-classes\": "
	"[{\"name\": \"i\", \"field-class\": {\"type\": \"fixed-length-unsigned-integer\", "
	"\"length\": 8, \"alignment\": 8, \"byte-order\": \"little-endian\", \"roles\": "
	"[\"event-record-class-id\"]}}, {\"name\": \"t\", \"field-class\": {\"type\": "
	"\"variable-length-unsigned-integer\", \"roles\": [\"default-clock-timestamp\"]}}]}}\n";

#define JSON_EVENT(id, members)                                                                    \
	RS "{\"type\": \"event-record-class\", \"id\": " #id ", \"name\": \"e" #id                 \
	   "\", \"payload-field-class\": {\"type\": \"structure\", \"member-classes\": [" members  \
	   "]}}\n"
#define JSON_MEMBER(name, type) "{\"name\": \"" name "\", \"field-class\": " type "}"
#define JSON_FIXED(type, length, more)                                                             \
	"{\"type\": \"fixed-length-" type "\", \"length\": " #length ", \"byte-order\": "          \
	"\"little-endian\"" more "}"
#define JSON_LENGTH(name) "\"length-field-location\": {\"path\": [\"" name "\"]}"
#define JSON_LENGTH_UP "\"length-field-location\": {\"path\": [null, \"n\"]}"
#define JSON_SELECT(path) "\"selector-field-location\": {\"path\": [" path "]}"

static const char json_events[] = JSON_EVENT(
	1,
	JSON_MEMBER("n", "\"u8\"") ", " JSON_MEMBER("flag", JSON_FIXED("boolean", 8, ", \"alignment\": 8")) ", " JSON_MEMBER(
		"map",
		JSON_FIXED(
			"bit-map", 8,
			", \"alignment\": 8, \"flags\": {\"low\": [[0, 0]], "
			"\"mid\": [[2, 3]], \"odd\": [[3, 1]], \"high\": [[7, 99]]}")) ", " JSON_MEMBER("bits",
													JSON_FIXED(
														"bit-array",
														4,
														", \"bit-order\": \"last-to-first\"")) ", " JSON_MEMBER("u",
																					JSON_FIXED(
																						"unsigned-integer",
																						64,
																						", \"alignment\": 8, \"mappings\": "
																						"{\"top\": [[18446744073709551615, 18446744073709551615]]}")) ", " JSON_MEMBER("s",
																															       "{\"type\": \"static-length-string\", \"length\": 6}") ", " JSON_MEMBER("d", "{\"type\": \"dynamic-length-string\", " JSON_LENGTH("n") "}") ", " JSON_MEMBER("z",
																																																			    "{\"type\": \"null-terminated-string\", \"encoding\": \"utf-16le\"}") ", " JSON_MEMBER("blob",
																																																														   "{\"type\": \"static-length-blob\", \"length\": 2}") ", " JSON_MEMBER("dblob",
																																																																							 "{\"type\": \"dynamic-length-blob\", " JSON_LENGTH("n") "}") ", " JSON_MEMBER("o",
																																																																																       "{\"type\": \"optional\", \"field-class\": \"u8\", " JSON_SELECT(
																																																																																	       "\"flag\"") "}") ", " JSON_MEMBER("absent", "{\"type\": \"optional\", \"field-class\": \"u8\", \"selector-field-ranges\""
																																																																																							   ": [[9, 9]], " JSON_SELECT(
																																																																																								   "\"n\"") "}") ", " JSON_MEMBER("v",
																																																																																												  "{\"type\": \"variant\", \"options\": [{\"name\": \"a\", \"field-class\": \"u8\", "
																																																																																												  "\"selector-field-ranges\": [[0, 1]]}, {\"field-class\": {\"type\": "
																																																																																												  "\"variable-length-signed-integer\"}, \"selector-field-ranges\": [[2, 5]]}], " JSON_SELECT("\"n\"") "}") ", " JSON_MEMBER("in", "{\"type\": \"structure\", \"minimum-alignment\": 32, \"member-classes\": [" JSON_MEMBER("list",
																																																																																																																							   "{\"type\": \"dynamic-length-array\", \"element-field-class\": "
																																																																																																																							   "\"u8\", " JSON_LENGTH_UP
																																																																																																																							   "}") "]}") ", " JSON_MEMBER("arr",
																																																																																																																										       "{\"type\": \"static-length-array\", \"length\": 2, \"element-field-class\": "
																																																																																																																										       "\"u8\"}"));

static void ctf2(void **state)
{
	char metadata[16384];
	struct bits b = {0};

	(void)state;
	put_bits(&b, 1, 8);
	put_bits(&b, 0x80 | 5, 8); /* time 5 + 3 * 128 */
	put_bits(&b, 3, 8);
	align_bits(&b, 32);    /* a structure is aligned as its members need it */
	put_bits(&b, 3, 8);    /* n */
	put_bits(&b, 1, 8);    /* flag */
	put_bits(&b, 0x89, 8); /* map: high, mid, low */
	put_bits(&b, 1, 4);    /* bits, reversed: 8 */
	align_bits(&b, 8);
	put_bits(&b, UINT64_MAX, 64);
	put_text(&b, "ab\0\0\0\0", 6);
	put_text(&b, "xyz", 3);
	put_text(&b, "\xe9\0\x3d\xd8\x00\xde\0\0", 8); /* e acute, U+1F600 */
	put_text(&b, "\x0a\xff", 2);
	put_text(&b, "\x01\x02\x03", 3);
	put_bits(&b, 200, 8);
	put_bits(&b, 0x7f, 8); /* v: -1 */
	align_bits(&b, 32);
	put_text(&b, "\x07\x08\x09", 3);
	put_text(&b, "\x01\x02", 2);
	snprintf(metadata, sizeof(metadata), "%s%s", json_head, json_events);
	make_dir(&o);
	write_file(&o, "metadata", metadata, strlen(metadata));
	write_bits(&o, "stream", &b);
	must_open(&o);
	assert_int_equal(o.nr, 1);
	assert_int_equal(o.events[0].time.v, 389);
	expect_text(
		&o, 0,
		"n=3 flag=true map=137(low|mid|high) bits=8 u=top(18446744073709551615) s=\"ab\" "
		"d=\"xyz\" z=\"\xc3\xa9\xf0\x9f\x98\x80\" blob=<0a ff> dblob=<01 02 03> o=200 "
		"absent=none v=-1 in={list=[7, 8, 9]} arr=[1, 2]");
	assert_string_equal(o.trace->hostname, "h2");
	assert_string_equal(o.trace->tracer, "lttng-modules 2.14.1");
	assert_int_equal(o.trace->clock.kind, CLOCK_MONO);
	assert_true(o.trace->clock.offset_known);
	assert_int_equal(o.trace->clock.offset_ns, 3000000004);
	close_trace(&o);
}

/* Fragments one after the other, without separators. */
static void ctf2_concatenated(void **state)
{
	char metadata[16384];
	struct bits b = {0};
	size_t n = 0;

	(void)state;
	for (const char *c = json_head; *c; c++) {
		if (*c != RS[0] && *c != '\n')
			metadata[n++] = *c;
	}
	n += (size_t)snprintf(metadata + n, sizeof(metadata) - n,
			      "{\"type\": \"event-record-class\", \"id\": 9, \"name\": \"nine\"}");
	put_bits(&b, 9, 8);
	put_bits(&b, 1, 8);
	put_bits(&b, 9, 8);
	put_bits(&b, 2, 8);
	make_dir(&o);
	write_file(&o, "metadata", metadata, n);
	write_bits(&o, "stream", &b);
	must_open(&o);
	assert_int_equal(o.nr, 2);
	assert_int_equal(o.events[1].time.v, 2);
	assert_string_equal(o.trace->types[o.events[1].type].name, "nine");
	close_trace(&o);
}

/* A stream of events of class 1, each a byte of time and so many others. */
static void open_json(const char *events, const char *bytes, size_t len)
{
	char metadata[16384];
	struct bits b = {0};

	put_text(&b, bytes, len);
	snprintf(metadata, sizeof(metadata), "%s%s", json_head, events);
	make_dir(&o);
	write_file(&o, "metadata", metadata, strlen(metadata));
	write_bits(&o, "stream", &b);
	must_open(&o);
}

#define JSON_LIST(origin, path)                                                                    \
	JSON_MEMBER("list",                                                                        \
		    "{\"type\": \"dynamic-length-array\", \"element-field-class\": \"u8\", "       \
		    "\"length-field-location\": {" origin "\"path\": [" path "]}}")
#define JSON_OPTION(name, low, class)                                                              \
	"{\"name\": \"" name "\", \"selector-field-ranges\": [[" #low ", " #low                    \
	"]], \"field-class\": " class "}"

/* A length that the event does not have is not that of the event before. */
static void ctf2_length_of_another_event(void **state)
{
	(void)state;
	open_json(
		JSON_EVENT(
			1,
			JSON_MEMBER("s", "\"u8\"") ", " JSON_MEMBER(
				"v",
				"{\"type\": \"variant\", " JSON_SELECT("\"s\"") ", \"options\": [" JSON_OPTION(
					"a", 0,
					"{\"type\": \"structure\", \"member-classes\": [" JSON_MEMBER(
						"n",
						"\"u8\"") "]}") ", " JSON_OPTION("b", 1,
										 "\"u8\"") "]}") ", " JSON_LIST("",
														"\"v\", \"n\"")),
		"\1\5\0\2\x11\x22"
		"\1\6\1\7\x33\x44",
		12);
	assert_int_equal(o.nr, 2);
	expect_text(&o, 0, "s=0 v={n=2} list=[17, 34]");
	assert_int_equal(o.events[1].kind, EV_LOST);
	close_trace(&o);
}

/* Nor is one that comes later. */
static void ctf2_length_behind(void **state)
{
	(void)state;
	open_json(JSON_EVENT(1, JSON_LIST("\"origin\": \"event-record-payload\", ",
					  "\"n\"") ", " JSON_MEMBER("n", "\"u8\"")),
		  "\1\5\2\1\6\x11\x22\2", 8);
	assert_true(has_problem(&o, "\"n\", which a length or a selector refers to, is not an "
				    "integer that comes before it"));
	assert_int_equal(o.nr, 1);
	assert_int_equal(o.events[0].kind, EV_LOST);
	close_trace(&o);
}

/* One event class that cannot be understood costs only its own events. */
static void broken_event_class(void **state)
{
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0});
	compact(&b, 0, 1);
	put_bits(&b, 1, 32);
	packet_end(&b, 50, 0, 4096);
	packet_begin(&b, &(struct packet_form){.begin = 50, .seq_num = 1});
	compact(&b, 1, 51);
	packet_end(&b, 100, 0, 4096);
	build_trace(&o,
		    BUILD_METADATA(BUILD_COMPACT, BUILD_EVENT(0, "good", "uint32_t x;") BUILD_EVENT(
							  1, "bad", "uint8_t list[missing];")
							  BUILD_EVENT(2, "worse", "unknown_t x;")),
		    &b);
	expect_text(&o, 0, "x=1");
	assert_int_equal(o.events[o.nr - 1].kind, EV_LOST);
	assert_true(has_problem(&o, "\"missing\""));
	assert_true(has_problem(&o, "unknown_t"));
	close_trace(&o);
}

/* Types that are nested without end, or that would take all memory. */
static void hostile_metadata(void **state)
{
	static char text[1 << 20];
	size_t n;

	(void)state;
	n = (size_t)snprintf(text, sizeof(text),
			     "trace { major = 1; minor = 8; byte_order = le; };\n"
			     "struct s0 { integer { size = 8; } a; };\n");
	for (unsigned i = 1; i < 20; i++) /* each level twice as much: some 200 MB */
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "struct s%u { struct s%u a; struct s%u b; };\n", i, i - 1,
				      i - 1);
	make_dir(&o);
	write_file(&o, "metadata", text, n);
	write_file(&o, "stream", "x", 1);
	assert_int_equal(open_dir(&o), -E2BIG);
	memset(text, '[', sizeof(text));
	memcpy(text, "{\"type\": ", 9);
	write_file(&o, "metadata", text, sizeof(text));
	assert_true(open_dir(&o) < 0);
	n = (size_t)snprintf(text, sizeof(text), "trace { packet.header := ");
	while (n < 1 << 19)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "struct { ");
	write_file(&o, "metadata", text, n);
	assert_true(open_dir(&o) < 0);
	n = (size_t)snprintf(text, sizeof(text),
			     "trace { major = 1; minor = 8; byte_order = le; };\nstruct s {");
	while (n < 1 << 16)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " a_word_of_a_name");
	n += (size_t)snprintf(text + n, sizeof(text) - n, " x; };\n");
	write_file(&o, "metadata", text, n);
	assert_true(open_dir(&o) < 0);
	assert_non_null(strstr(o.err.text, "type name is longer"));
	close_trace(&o);
}

/* More sequences, each with a length of its own, than a plan has room for: such records are read
 * the slow way. */
static void more_lengths_than_a_plan_has(void **state)
{
	enum { LENGTHS = 150, IN_RUN = 50 };
	static char metadata[96 * LENGTHS], fields[64 * LENGTHS], text[1 << 16];
	struct bits b = {0};
	size_t n = 0;

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 0});
	compact(&b, 0, 1);
	for (unsigned i = 0; i < LENGTHS; i++) {
		bool ends_run = i % IN_RUN == IN_RUN - 1;

		n += (size_t)snprintf(fields + n, sizeof(fields) - n, "uint8_t n%u;", i);
		put_bits(&b, 1, 8);
		if (!ends_run)
			continue;
		n += (size_t)snprintf(fields + n, sizeof(fields) - n, "uint8_t a%u[n%u];\n", i, i);
		put_bits(&b, i, 8);
	}
	for (unsigned i = 0; i < LENGTHS; i++) {
		n += (size_t)snprintf(fields + n, sizeof(fields) - n, "uint8_t b%u[n%u];\n", i, i);
		put_bits(&b, i, 8);
	}
	packet_end(&b, 100, 0, 8192);
	snprintf(metadata, sizeof(metadata),
		 "%sevent { name = \"e\"; id = 0; stream_id = 0; fields := struct {\n%s}; };\n",
		 BUILD_METADATA(BUILD_COMPACT, ""), fields);
	build_trace(&o, metadata, &b);
	assert_int_equal(o.nr, 1);
	trace_event_print(&o.trace->streams[0], &o.events[0], text, sizeof(text));
	assert_non_null(strstr(text, "a49=[49]"));
	assert_non_null(strstr(text, "b149=[149]"));
	close_trace(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),
		cmocka_unit_test(characters),
		cmocka_unit_test(arguments),
		cmocka_unit_test(a_state_line_is_read_from_the_logger),
		cmocka_unit_test(slots_of_the_wrong_class),
		cmocka_unit_test(exits_of_arm64),
		cmocka_unit_test(compound),
		cmocka_unit_test(references),
		cmocka_unit_test(a_length_is_the_last_of_its_name),
		cmocka_unit_test(reference_to_header),
		cmocka_unit_test(fields_by_name),
		cmocka_unit_test(records_of_bits),
		cmocka_unit_test(ctf2),
		cmocka_unit_test(ctf2_concatenated),
		cmocka_unit_test(ctf2_length_of_another_event),
		cmocka_unit_test(ctf2_length_behind),
		cmocka_unit_test(broken_event_class),
		cmocka_unit_test(hostile_metadata),
		cmocka_unit_test(more_lengths_than_a_plan_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
