/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source/ctf: files cut at every byte, and with every bit flipped.  With sanitizers this finds
 * reads outside of the file; without, it holds that what is left is still what was written.
 */
#include "tests/unit/unit.h"

#include "tests/unit/ctf_build.h"

static struct opened o, whole;

static const char metadata_1[] = BUILD_METADATA(
	BUILD_COMPACT "event.context := struct { int32_t _tid; };\n",
	"typealias integer { size = 8; align = 8; encoding = UTF8; } := char;\n" BUILD_EVENT(
		1, "sched_waking", "char _comm[16]; int32_t _tid; int32_t _target_cpu;")
		BUILD_EVENT(
			2, "odd",
			"string _s; uint8_t _n; uint16_t _l[_n];"
			"enum : uint8_t { A, B = 1 ... 9 } _k; variant <_k> { uint8_t A; string B; } _v;"));

static const char metadata_2[] =
	"\x1e{\"type\":\"preamble\",\"version\":2,\"uuid\":[196,243,13,230,3,50,33,78,138,105,100,193,"
	"154,150,135,107]}\n"
	"\x1e{\"type\":\"field-class-alias\",\"name\":\"u8\",\"field-class\":{\"type\":"
	"\"fixed-length-unsigned-integer\",\"length\":8,\"alignment\":8}}\n"
	"\x1e{\"type\":\"trace-class\",\"environment\":{\"hostname\":\"h\"}}\n"
	"\x1e{\"type\":\"data-stream-class\",\"event-record-header-field-class\":{\"type\":"
	"\"structure\",\"member-classes\":[{\"name\":\"id\",\"field-class\":{\"type\":"
	"\"fixed-length-unsigned-integer\",\"length\":8,\"alignment\":8,\"roles\":"
	"[\"event-record-class-id\"]}}]}}\n"
	"\x1e{\"type\":\"event-record-class\",\"id\":1,\"name\":\"e\",\"payload-field-class\":{\"type\":"
	"\"structure\",\"member-classes\":[{\"name\":\"n\",\"field-class\":\"u8\"},{\"name\":\"s\","
	"\"field-class\":{\"type\":\"dynamic-length-string\",\"length-field-location\":{\"path\":"
	"[\"n\"]}}},{\"name\":\"o\",\"field-class\":{\"type\":\"optional\",\"field-class\":"
	"{\"type\":\"variable-length-signed-integer\"},\"selector-field-location\":{\"path\":[\"n\"]}}}"
	"]}}\n";

static void make_stream_1(struct bits *b)
{
	for (unsigned p = 0; p < 2; p++) {
		packet_begin(b, &(struct packet_form){.begin = 100 * (p + 1), .seq_num = p});
		for (unsigned i = 0; i < 2; i++) {
			compact(b, 1, 100 * (p + 1) + 2 * i);
			put_bits(b, 7, 32);
			put_comm(b, "worker");
			put_bits(b, 8 + i, 32);
			put_bits(b, 1, 32);
			compact(b, 2, 100 * (p + 1) + 2 * i + 1);
			put_bits(b, 7, 32);
			put_string(b, "text");
			put_bits(b, 2, 8);
			put_bits(b, 0x0102, 16);
			put_bits(b, 0x0304, 16);
			put_bits(b, i, 8);
			put_bits(b, 0, 8);
		}
		packet_end(b, 100 * (p + 1) + 50, p, 256);
	}
}

static void make_stream_2(struct bits *b)
{
	for (unsigned i = 0; i < 6; i++) {
		put_bits(b, 1, 8);
		put_bits(b, i, 8);
		put_text(b, "abcdef", i);
		if (i)
			put_bits(b, 0x3f, 8);
	}
}

struct fault {
	uint8_t *metadata, *stream;
	size_t metadata_len, stream_len;
};

static char texts[64][512];

/* Opens what is there and reads and prints everything; true when it opened. */
static bool read_all(const struct fault *f)
{
	char buf[512];

	write_file(&o, "metadata", f->metadata, f->metadata_len);
	write_file(&o, "stream_0", f->stream, f->stream_len);
	o.nr = 0;
	if (open_dir(&o))
		return false;
	load_events(&o);
	for (unsigned i = 0; i < o.nr; i++) {
		const struct stream *s = &o.trace->streams[o.stream_of[i]];
		struct field_value v;

		trace_event_print(s, &o.events[i], buf, sizeof(buf));
		trace_event_field(s, &o.events[i], "tid", &v);
		trace_event_field(s, &o.events[i], "l", &v);
		if (i)
			assert_true(o.events[i].time.v >= o.events[i - 1].time.v);
	}
	return true;
}

/* What was read is the beginning of the whole, but for events that tell of loss. */
static void expect_prefix(void)
{
	unsigned at = 0;
	char buf[512];

	for (unsigned i = 0; i < o.nr; i++) {
		if (o.events[i].kind == EV_LOST)
			continue;
		while (at < whole.nr && whole.events[at].kind == EV_LOST)
			at++;
		assert_true(at < whole.nr);
		assert_int_equal(o.events[i].time.v, whole.events[at].time.v);
		assert_int_equal(o.events[i].kind, whole.events[at].kind);
		trace_event_print(&o.trace->streams[0], &o.events[i], buf, sizeof(buf));
		assert_string_equal(buf, texts[at]);
		at++;
	}
}

static void keep_whole(const struct fault *f)
{
	assert_true(read_all(f));
	memcpy(&whole, &o, sizeof(o));
	assert_true(o.nr > 4 && o.nr < ARRAY_SIZE(texts));
	for (unsigned i = 0; i < o.nr; i++)
		trace_event_print(&o.trace->streams[0], &o.events[i], texts[i], sizeof(texts[i]));
	trace_release(o.trace);
}

static void cut_stream(struct fault f)
{
	size_t len = f.stream_len;

	for (f.stream_len = 0; f.stream_len < len; f.stream_len++) {
		if (!read_all(&f))
			continue;
		expect_prefix();
		trace_release(o.trace);
	}
}

static void cut_metadata(struct fault f)
{
	size_t len = f.metadata_len;

	for (f.metadata_len = 0; f.metadata_len < len; f.metadata_len++) {
		if (read_all(&f))
			trace_release(o.trace);
	}
}

static void flip_bits(const struct fault *f, uint8_t *data, size_t len)
{
	for (size_t bit = 0; bit < len * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (read_all(f))
			trace_release(o.trace);
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void check(const char *metadata, size_t metadata_len, void (*make)(struct bits *b))
{
	struct fault f = {.metadata_len = metadata_len};
	struct bits b = {0};

	make(&b);
	f.metadata = (uint8_t *)strdup(metadata);
	f.stream = b.data;
	f.stream_len = b.pos / 8;
	make_dir(&o);
	keep_whole(&f);
	cut_stream(f);
	cut_metadata(f);
	flip_bits(&f, f.stream, f.stream_len);
	flip_bits(&f, f.metadata, f.metadata_len);
	free(f.metadata);
	free(f.stream);
	o.trace = NULL;
	close_trace(&o);
}

static void ctf_1(void **state)
{
	(void)state;
	check(metadata_1, sizeof(metadata_1) - 1, make_stream_1);
}

static void ctf_2(void **state)
{
	(void)state;
	check(metadata_2, sizeof(metadata_2) - 1, make_stream_2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ctf_1),
		cmocka_unit_test(ctf_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
