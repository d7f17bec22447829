/* SPDX-License-Identifier: Apache-2.0 */
/* source/ctf: packets, time, loss, files that belong together, and files that are broken. */
#define _GNU_SOURCE
#include "tests/unit/unit.h"

#include "source/ctf/reader.h"
#include "tests/unit/ctf_build.h"
#include "tests/unit/lost_thread.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>

static struct opened o, again;

/* In place of the C library's: fails as a disk does, after so many names; -1 never. */
static int names_left = -1;

struct dirent *readdir(DIR *dir)
{
	struct dirent *(*next)(DIR *) = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");

	if (!names_left) {
		errno = EIO;
		return NULL;
	}
	names_left -= names_left > 0;
	return next(dir);
}

#define ONE_FIELD BUILD_METADATA(BUILD_COMPACT, BUILD_EVENT(1, "e", "uint32_t x;"))

/* A packet of @nr events, one a tick, from @begin on; x counts on. */
static void put_packet(struct bits *b, const struct packet_form *f, unsigned nr, uint64_t discarded)
{
	packet_begin(b, f);
	for (unsigned i = 0; i < nr; i++) {
		compact(b, 1, f->begin + i);
		put_bits(b, f->begin + i, 32);
	}
	packet_end(b, f->begin + nr, discarded, 4096);
}

static unsigned count(const struct opened *t, unsigned kind)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < t->nr; i++)
		nr += t->events[i].kind == kind;
	return nr;
}

static void expect_monotonic(const struct opened *t)
{
	for (unsigned i = 1; i < t->nr; i++) {
		if (t->stream_of[i] == t->stream_of[i - 1])
			assert_true(t->events[i].time.v >= t->events[i - 1].time.v);
	}
}

/* Time */

static void wrap_of_27_bits(void **state)
{
	uint64_t time = (UINT64_C(5) << 27) - 3;
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = time});
	for (unsigned i = 0; i < 4; i++, time += (1u << 27) - 1) {
		compact(&b, 1, time);
		put_bits(&b, i, 32);
	}
	compact_extended(&b, 1, time + (UINT64_C(3) << 40));
	put_bits(&b, 4, 32);
	compact(&b, 1, time + (UINT64_C(3) << 40) + 9);
	put_bits(&b, 5, 32);
	packet_end(&b, time + (UINT64_C(4) << 40), 0, 4096);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr, 6);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(o.events[i].time.v,
				 (UINT64_C(5) << 27) - 3 + i * ((UINT64_C(1) << 27) - 1));
	assert_int_equal(o.events[4].time.v, time + (UINT64_C(3) << 40));
	assert_int_equal(o.events[5].time.v, time + (UINT64_C(3) << 40) + 9);
	close_trace(&o);
}

static void wrap_of_32_bits(void **state)
{
	uint64_t time = (UINT64_C(7) << 32) - 1;
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = time});
	large(&b, 300, time);
	put_bits(&b, 0, 32);
	large(&b, 300, time + 5);
	put_bits(&b, 1, 32);
	large_extended(&b, 70000, time + 6);
	packet_end(&b, time + 10, 0, 4096);
	build_trace(&o,
		    BUILD_METADATA(BUILD_LARGE, BUILD_EVENT(300, "e", "uint32_t x;")
							BUILD_EVENT(70000, "large", "")),
		    &b);
	assert_int_equal(o.nr, 3);
	assert_int_equal(o.events[0].time.v, time);
	assert_int_equal(o.events[1].time.v, time + 5);
	assert_int_equal(o.events[2].time.v, time + 6);
	assert_string_equal(o.trace->types[o.events[2].type].name, "large");
	close_trace(&o);
}

static void assert_lost(unsigned i, int64_t nr, uint64_t begin, uint64_t end)
{
	assert_int_equal(o.events[i].kind, EV_LOST);
	assert_int_equal(o.events[i].time.v, begin);
	assert_int_equal(o.events[i].arg[0], nr);
	assert_int_equal(o.events[i].arg[1], begin);
	assert_int_equal(o.events[i].arg[2], end);
}

/* A low part that decreases is a step back when a wrap would lead out of the packet.  Which of its times
 * is wrong nobody knows: none of its events is believed. */
static void step_back_inside(void **state)
{
	static const uint64_t times[] = {1000, 2000, 1500, 1990, 2500};
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
	packet_begin(&b, &(struct packet_form){.begin = 1000, .seq_num = 1});
	for (unsigned i = 0; i < ARRAY_SIZE(times); i++) {
		compact(&b, 1, times[i]);
		put_bits(&b, i, 32);
	}
	packet_end(&b, 3000, 0, 4096);
	put_packet(&b, &(struct packet_form){.begin = 4000, .seq_num = 2}, 3, 0);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr, 3 + 1 + 3);
	assert_lost(3, 0, 103, 4000);
	assert_true(has_problem(&o, "time steps back inside a packet; "));
	close_trace(&o);
}

/* The second packet says another begin.  Where that makes its events' times impossible, what is lost is
 * all between its neighbours: none of its times is believed. */
static void a_begin_that_lies(void **state)
{
	const uint64_t first = 1u << 28, second = 1u << 29, third = 1u << 30;
	static const struct {
		int64_t by;
		unsigned lost_from; /* behind the first one's begin; 0: the packet is believed */
	} cases[] = {{0, 0}, {10, 3}, {-10, 0}, {-(1 << 29) + 50, 2}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bits b = {0};

		put_packet(&b, &(struct packet_form){.begin = first}, 3, 0);
		put_packet(&b, &(struct packet_form){.begin = second, .seq_num = 1}, 20, 0);
		patch(&b, (4096 + 32) * 8, second + (uint64_t)cases[i].by);
		put_packet(&b, &(struct packet_form){.begin = third, .seq_num = 2}, 3, 0);
		build_trace(&o, ONE_FIELD, &b);
		assert_int_equal(o.nr, 3 + (cases[i].lost_from ? 1 : 20) + 3);
		if (cases[i].lost_from)
			assert_lost(3, 0, first + cases[i].lost_from, third);
		else
			assert_int_equal(o.events[3].time.v, second);
		close_trace(&o);
	}
}

static void step_back_between_packets(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 1000, .seq_num = 0}, 10, 0);
	put_packet(&b, &(struct packet_form){.begin = 500, .seq_num = 1}, 10, 0);
	put_packet(&b, &(struct packet_form){.begin = 1005, .seq_num = 2}, 10, 0);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr, 30);
	assert_int_equal(o.events[15].time.v, 1009);
	assert_int_equal(o.events[29].time.v, 1014);
	expect_monotonic(&o);
	expect_text(&o, 15, "x=505");
	assert_true(has_problem(&o, "by up to 509 ticks, first at offset 4096"));
	close_trace(&o);
}

/* Bytes of elsewhere in the file, which are packets: their events were earlier, or are there twice.
 */
static void packets_that_are_not_where_they_belong(void **state)
{
	static const struct packet_form forms[] = {
		{.begin = 1000, .seq_num = 0}, {.begin = 2000, .seq_num = 1},
		{.begin = 1000, .seq_num = 0}, {.begin = 2000, .seq_num = 1},
		{.begin = 3000, .seq_num = 2},
	};
	struct bits b = {0};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++)
		put_packet(&b, &forms[i], 10, 0);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr - count(&o, EV_LOST), 30);
	assert_true(count(&o, EV_LOST) > 0);
	for (unsigned i = 0; i < o.nr; i++) {
		char text[32];

		snprintf(text, sizeof(text), "x=%llu", (unsigned long long)o.events[i].time.v);
		if (o.events[i].kind != EV_LOST)
			expect_text(&o, i, text);
	}
	expect_monotonic(&o);
	assert_true(has_problem(&o, "this packet is earlier than one in front of it"));
	close_trace(&o);
}

/* Old LTTng's habit: only the end is wrong, all times count as they are. */
static void late_end(void **state)
{
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 10});
	compact(&b, 1, 20);
	put_bits(&b, 0, 32);
	packet_end(&b, 100, 0, 4096);
	put_packet(&b, &(struct packet_form){.begin = 50, .seq_num = 1}, 2, 0);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr, 3);
	assert_int_equal(o.events[1].time.v, 50);
	assert_int_equal(o.events[2].time.v, 51);
	assert_int_equal(o.trace->streams[0].packets[0].end, 50);
	assert_int_equal(o.trace->problems.nr, 1);
	close_trace(&o);
}

/* Loss */

/* An interval of which nothing is known: the event stands where it begins. */

static void discarded_events(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100, .seq_num = 0}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 1}, 3, 7);
	put_packet(&b, &(struct packet_form){.begin = 300, .seq_num = 2}, 3, 7);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr, 10);
	assert_lost(6, 7, 202, 203); /* after the packet's last event, and before its end */
	assert_string_equal(o.trace->types[o.events[6].type].name, "lost");
	assert_int_equal(o.trace->streams[0].packets[1].lost, 7);
	assert_int_equal(o.trace->loss.events, 7);
	assert_int_equal(o.trace->loss.unknown, 0);
	close_trace(&o);
}

/* Events of both kinds of plan, and a packet that ends within one. */
static void a_loss_has_the_thread_before_it(void **state)
{
	struct bits b = {0};
	uint64_t within_last = 0;

	(void)state;
	for (unsigned p = 0; p < 3; p++) {
		packet_begin(&b, &(struct packet_form){.begin = 100 * (p + 1), .seq_num = p});
		for (unsigned i = 0; i < 3; i++) {
			unsigned id = 1 + (i + p) % 2;

			compact(&b, id, 100 * (p + 1) + i);
			put_bits(&b, 10 * p + i, 32);
			if (id == 1)
				put_bits(&b, 5, 32);
			else
				put_string(&b, "text");
		}
		within_last = b.pos - 3 * 8;
		packet_end(&b, 100 * (p + 1) + 50, p, 4096);
	}
	b.pos = within_last;
	build_trace(&o,
		    BUILD_METADATA(BUILD_COMPACT "event.context := struct { int32_t _tid; };\n",
				   BUILD_EVENT(1, "e", "uint32_t x;")
					   BUILD_EVENT(2, "s", "string s;")),
		    &b);
	assert_int_equal(losses_have_the_thread_before(o.trace), 2);
	close_trace(&o);
}

/* A snapshot: its first packet is not the stream's first, and its counter is not zero: what of that
 * was lost in it, nobody knows. */
static void snapshot(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100, .seq_num = 40}, 3, 25);
	put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 41}, 3, 26);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(count(&o, EV_LOST), 2);
	assert_int_equal(o.trace->streams[0].packets[0].lost, UINT64_MAX);
	assert_int_equal(o.trace->streams[0].packets[1].lost, 1);
	assert_int_equal(o.trace->loss.events, 1);
	assert_int_equal(o.trace->loss.unknown, 1);
	assert_int_equal(o.trace->loss.packets, 0);
	close_trace(&o);
}

/* -1 is no count. */
static void no_count(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, UINT64_MAX);
	put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 1}, 3, UINT64_MAX);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(count(&o, EV_OTHER), 6);
	assert_int_equal(count(&o, EV_LOST), 1);
	assert_int_equal(o.trace->loss.events, 0);
	assert_true(has_problem(&o, "the count of lost events is none"));
	close_trace(&o);
}

static void lost_packets(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100, .seq_num = 0}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 4}, 3, 0);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr, 7);
	assert_lost(3, 0, 103, 200);
	assert_int_equal(o.trace->streams[0].packets[1].lost, UINT64_MAX);
	assert_int_equal(o.trace->loss.packets, 3);
	assert_int_equal(o.trace->loss.unknown, 1);
	close_trace(&o);
}

/* Packets are numbered from 0 on: what was recorded first is not there. */
static void lost_first_packet(void **state)
{
	for (uint64_t first = 0; first < 3; first++) {
		struct bits b = {0};

		put_packet(&b, &(struct packet_form){.begin = 100, .seq_num = first}, 3, 0);
		put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = first + 1}, 3, 0);
		build_trace(&o, ONE_FIELD, &b);
		assert_int_equal(o.trace->streams[0].start, first ? START_MISSING : START_WHOLE);
		close_trace(&o);
	}
	(void)state;
}

static void truncated_packet(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 1}, 100, 0);
	b.pos = 4096 * 8 + (32 + 52 + 2 * 8 + 3) * 8; /* in the third event */
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr, 6);
	assert_int_equal(o.events[4].time.v, 201);
	assert_lost(5, 0, 201, o.trace->streams[0].packets[1].end);
	assert_int_equal(o.trace->loss.unknown, 1);
	assert_true(has_problem(
		&o, "ch0_0 ends at offset 4199, inside the packet that begins at 4096"));
	close_trace(&o);
}

/* A recording that was stopped hard ends so in the files of all CPUs: they are one problem. */
static void many_truncated_packets(void **state)
{
	(void)state;
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	for (unsigned cpu = 0; cpu < 8; cpu++) {
		struct packet_form form = {.begin = 100, .cpu = cpu, .instance = cpu};
		struct bits b = {0};
		char name[16];

		put_packet(&b, &form, 100, 0);
		b.pos = (1000 + cpu) * 8;
		snprintf(name, sizeof(name), "ch0_%u", cpu);
		write_bits(&o, name, &b);
	}
	must_open(&o);
	assert_int_equal(o.trace->problems.nr, 1);
	assert_true(has_problem(&o, "8 stream files of"));
	assert_true(has_problem(&o, "first ch0_0 at offset 1000"));
	assert_int_equal(o.trace->loss.unknown, 8);
	close_trace(&o);
}

/* A file that ends within a packet's header says nothing against the packet before it. */
static void truncated_header(void **state)
{
	static const char *const metadata[] = {
		ONE_FIELD,
		BUILD_INTS BUILD_TRACE("be") "stream { id = 0; " BUILD_COMPACT BUILD_CONTEXT
					     "};\n" BUILD_EVENT(1, "e", "uint32_t x;"),
	};

	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		for (unsigned left = 1; left < 84; left++) {
			struct bits b = {.big = big};

			put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
			put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 1}, 3, 0);
			b.pos = (4096 + left) * 8;
			build_trace(&o, metadata[big], &b);
			assert_int_equal(count(&o, EV_OTHER), 3);
			close_trace(&o);
		}
	}
}

/* Garbage between packets: it may have begun in the one before.  Reading goes on with the next
 * packet of this trace. */
static void garbage(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
	put_text(&b, "garbage!", 8);
	put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 1}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = 300, .seq_num = 2, .other_uuid = true}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = 400, .seq_num = 3}, 3, 0);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr, 2 + 3 + 1 + 3);
	assert_lost(0, 0, 103, 103); /* nothing tells that tracing began before */
	assert_lost(1, 0, 103, 200);
	assert_lost(5, 0, 203, 400);
	assert_int_equal(o.trace->loss.bytes_skipped, 84 + 3 * 8 + 8 + 4096);
	assert_true(has_problem(&o, "at offset 4096: no packet begins here"));
	assert_true(has_problem(&o, "at offset 8200: the packet belongs to another trace"));
	close_trace(&o);
}

static void put_foreign_file(const char *name, unsigned cpu)
{
	struct bits b = {0};

	for (unsigned i = 0; i < 2; i++)
		put_packet(&b,
			   &(struct packet_form){.begin = 150 + 100 * i,
						 .seq_num = i,
						 .instance = cpu,
						 .cpu = cpu,
						 .other_uuid = true},
			   3, 0);
	write_bits(&o, name, &b);
}

/* Whole files whose packets say to be another trace's: none of their events is this one's. */
static void foreign_streams(void **state)
{
	struct bits first = {0};

	(void)state;
	put_packet(&first, &(struct packet_form){.begin = 100}, 3, 0);
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	write_bits(&o, "ch0_0", &first);
	put_foreign_file("ch0_1", 1);
	must_open(&o);
	assert_int_equal(o.trace->nr_streams, 1);
	assert_int_equal(o.nr, 3);
	assert_int_equal(o.trace->loss.unknown, 1);
	assert_int_equal(o.trace->loss.bytes_skipped, 2 * 4096);
	assert_true(has_problem(&o, "/ch0_1 is of another trace than its metadata"));
	trace_release(o.trace);
	put_foreign_file("ch0_2", 2);
	put_foreign_file("ch0_3", 3);
	must_open(&o);
	assert_int_equal(o.nr, 3);
	assert_int_equal(o.trace->problems.nr, 1);
	assert_true(has_problem(&o, "/ch0_1 and 2 more files are of another trace"));
	close_trace(&o);
}

/* The first packet says when its buffer was made.  What is lost of it is not from before the first
 * event of any CPU. */
static void first_packets_are_lost_from_the_first_event_on(void **state)
{
	for (unsigned damaged = 1; damaged <= 2; damaged++) {
		static const char *const names[] = {"ch0_0", "ch0_1"};

		make_dir(&o);
		write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
		for (unsigned cpu = 0; cpu < 2; cpu++) {
			struct packet_form form = {
				.begin = 100 + 50 * cpu, .instance = cpu, .cpu = cpu};
			struct bits b = {0};

			put_packet(&b, &form, 200 + 50 * cpu, 0);
			if (cpu < damaged)
				memset(b.data + 84, 0, 60 * 8);
			form = (struct packet_form){
				.begin = 500, .seq_num = 1, .instance = cpu, .cpu = cpu};
			put_packet(&b, &form, 3, 0);
			write_bits(&o, names[cpu], &b);
		}
		must_open(&o);
		assert_int_equal(o.nr, damaged == 1 ? 1 + 3 + 250 + 3 : 2 * (1 + 3));
		if (damaged == 1)
			assert_lost(0, 0, 150, 500);
		else
			assert_lost(0, 0, 500, 500);
		if (damaged == 2)
			assert_lost(4, 0, 500, 500);
		close_trace(&o);
	}
	(void)state;
}

/* Another machine's metadata: there is no stream, and the reason is told. */
static void foreign_metadata(void **state)
{
	(void)state;
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	put_foreign_file("ch0_0", 0);
	put_foreign_file("ch0_1", 1);
	assert_int_equal(open_dir(&o), -ENODATA);
	assert_non_null(strstr(o.err.text, "/ch0_0 and 1 more file are of another trace"));
	close_trace(&o);
}

/* Another trace's packet stands in front of a file's own: it is left out, they are not. */
static void a_foreign_first_packet(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b,
		   &(struct packet_form){.begin = 100, .other_uuid = true, .instance = 7, .cpu = 7},
		   3, 0);
	put_packet(&b, &(struct packet_form){.begin = 250, .seq_num = 1}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = 350, .seq_num = 2}, 3, 0);
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	write_bits(&o, "ch0_0", &b);
	must_open(&o);
	assert_int_equal(o.trace->streams[0].cpu, 0);
	assert_int_equal(count(&o, EV_OTHER), 6);
	assert_true(has_problem(&o, "the packet belongs to another trace"));
	assert_false(has_problem(&o, "of another trace than"));
	close_trace(&o);
}

/* ... and its events hold what looks like the begin of one of the file's own. */
static void a_false_packet_in_a_foreign_one(void **state)
{
	struct bits b = {0};
	uint64_t at;

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100, .other_uuid = true}, 3, 0);
	at = b.pos;
	b.pos = 1024 * 8;
	put_packet(&b, &(struct packet_form){.begin = 90, .instance = 9, .cpu = 9}, 3, 0);
	memset(b.data + 4096, 0, 1024);
	b.pos = at;
	put_packet(&b, &(struct packet_form){.begin = 250, .seq_num = 1}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = 350, .seq_num = 2}, 3, 0);
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	write_bits(&o, "ch0_0", &b);
	must_open(&o);
	assert_int_equal(o.trace->streams[0].cpu, 0);
	assert_int_equal(count(&o, EV_OTHER), 6);
	close_trace(&o);
}

static void put_be64(struct bits *b, uint64_t v)
{
	put_bits(b, __builtin_bswap64(v), 64);
}

static void put_index(struct bits *b, unsigned nr, uint64_t lie, uint64_t discarded)
{
	put_bits(b, __builtin_bswap32(0xc1f1dcc1), 32);
	put_bits(b, __builtin_bswap32(1), 32);
	put_bits(b, __builtin_bswap32(1), 32);
	put_bits(b, __builtin_bswap32(72), 32);
	for (unsigned i = 0; i < nr; i++) {
		const uint64_t words[] = {i * 4096,
					  4096 * 8,
					  (84 + 3 * 8) * 8,
					  100 * (i + 1),
					  100 * (i + 1) + 3 + lie,
					  discarded,
					  0,
					  0,
					  i};

		for (unsigned k = 0; k < ARRAY_SIZE(words); k++)
			put_be64(b, words[k]);
	}
}

/* The file's first packet is damaged: the others say what the file is, and the index what is missing. */
static void a_damaged_first_packet(void **state)
{
	(void)state;
	for (unsigned indexed = 0; indexed < 2; indexed++) {
		struct bits b = {0}, index = {0};
		char path[128];

		for (unsigned i = 0; i < 4; i++)
			put_packet(&b, &(struct packet_form){.begin = 100 * (i + 1), .seq_num = i},
				   3, 0);
		memset(b.data, 0, 5000); /* all of the first, and the head of the second */
		make_dir(&o);
		write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
		write_bits(&o, "ch0_0", &b);
		snprintf(path, sizeof(path), "%s/index", o.dir);
		assert_int_equal(mkdir(path, 0700), 0);
		put_index(&index, 4, 0, 0);
		if (indexed)
			write_file(&o, "index/ch0_0.idx", index.data, index.pos / 8);
		free(index.data);
		must_open(&o);
		assert_int_equal(count(&o, EV_OTHER), 6);
		assert_int_equal(o.events[0].kind, EV_LOST);
		assert_int_equal(o.trace->streams[0].start, START_MISSING);
		assert_int_equal(o.trace->loss.bytes_skipped, 8192);
		assert_true(has_problem(&o, "at offset 0: no packet begins here"));
		close_trace(&o);
	}
}

/* A packet that says to be another CPU's, or another stream's: it holds together, but not here. */
static void packets_of_another_stream(void **state)
{
	static const struct packet_form others[] = {
		{.begin = 200, .seq_num = 1, .cpu = 1},
		{.begin = 200, .seq_num = 1, .instance = 1},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
		struct bits b = {0};

		put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
		put_packet(&b, &others[i], 3, 0);
		put_packet(&b, &(struct packet_form){.begin = 300, .seq_num = 2}, 3, 0);
		build_trace(&o, ONE_FIELD, &b);
		assert_int_equal(o.nr, 3 + 1 + 3);
		assert_lost(3, 0, 103, 300);
		assert_int_equal(o.trace->loss.bytes_skipped, 4096);
		assert_true(has_problem(&o, "at offset 4096: the packet is of another stream"));
		close_trace(&o);
	}
}

/* Behind a gap stands a packet that is older than what is in front of it. */
static void a_gap_between_packets_without_ends(void **state)
{
	static const char metadata[] =
		BUILD_METADATA(BUILD_COMPACT, BUILD_EVENT(1, "e", "uint32_t x;"));
	char *no_ends = strdup(metadata), *end = strstr(no_ends, "timestamp_end");
	struct bits b = {0};

	(void)state;
	assert_non_null(end);
	memcpy(end, "timestamp_nil", 13);
	put_packet(&b, &(struct packet_form){.begin = 100}, 5, 0);
	put_packet(&b, &(struct packet_form){.begin = 100, .seq_num = 4}, 5, 0);
	put_packet(&b, &(struct packet_form){.begin = 300, .seq_num = 5}, 3, 0);
	build_trace(&o, no_ends, &b);
	assert_int_equal(o.nr, 5 + 1 + 5 + 3);
	assert_lost(5, 0, 104, 104);
	expect_monotonic(&o);
	assert_true(has_problem(&o, "time steps back"));
	close_trace(&o);
	free(no_ends);
}

/* What is behind the last packet is no packet: from there on nothing is known. */
static void garbage_at_the_end(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 1}, 3, 0);
	put_text(&b, "garbage!", 8);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(o.nr, 4);
	assert_lost(3, 0, 103, 203);
	assert_true(o.trace->streams[0].cut);
	close_trace(&o);
}

/* Zeros where events were: none is made of them.  Those in front are as they were, but for one whose
 * last bytes are zeros, too, which may be missing. */
/* Behind its packets, and between two, the file has a hole: nobody reads a quarter of a terabyte. */
static void holes_are_not_read(void **state)
{
	static const uint64_t hole = UINT64_C(1) << 38;

	(void)state;
	for (unsigned between = 0; between < 2; between++) {
		struct bits b = {0}, more = {0};
		char path[128];
		FILE *f;

		put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
		put_packet(&more, &(struct packet_form){.begin = 200, .seq_num = 1}, 3, 0);
		make_dir(&o);
		write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
		write_bits(&o, "ch0_0", &b);
		snprintf(path, sizeof(path), "%s/ch0_0", o.dir);
		assert_int_equal(truncate(path, (off_t)hole), 0);
		f = fopen(path, "ab");
		assert_non_null(f);
		if (between)
			assert_int_equal(fwrite(more.data, 1, 4096, f), 4096);
		fclose(f);
		free(more.data);
		alarm(10);
		must_open(&o);
		alarm(0);
		assert_int_equal(count(&o, EV_OTHER), between ? 3 : 0);
		/* Of the first packet nothing is believed, either. */
		assert_int_equal(o.trace->loss.bytes_skipped, hole - 4096 + 84 + 3 * 8);
		close_trace(&o);
	}
}

static void zeros(void **state)
{
	for (unsigned back = 0; back < 2; back++) {
		struct bits b = {0};

		put_packet(&b, &(struct packet_form){.begin = 100}, 300, 0);
		memset(b.data + 84 + 10 * 8, 0, 100 * 8);
		if (back) /* the time of event 5 is that of event 4 */
			memcpy(b.data + 84 + 5 * 8, b.data + 84 + 3 * 8, 8);
		put_packet(&b, &(struct packet_form){.begin = 1000, .seq_num = 1}, 3, 0);
		build_trace(&o, ONE_FIELD, &b);
		assert_int_equal(o.nr, (back ? 0 : 9) + 1 + 3);
		for (unsigned i = 0; i < 9 && !back; i++)
			assert_int_equal(o.events[i].time.v, 100 + i);
		assert_lost(back ? 0 : 9, 0, back ? 1000 : 108, back ? 1000 : 400);
		assert_int_equal(o.trace->loss.unknown, 1);
		assert_int_equal(o.trace->loss.bytes_skipped,
				 (back ? 300 : 291) * 8 + (back ? 84 : 0));
		assert_true(has_problem(&o, back ? "time steps back inside a packet"
						 : "at offset 161: zeros where events should be"));
		assert_true(has_problem(&o, back ? "from offset 0 on" : "from offset 156 on"));
		close_trace(&o);
	}
	(void)state;
}

/* The same where a file is cut off, however few they are. */
static void zeros_at_the_end_of_a_cut_file(void **state)
{
	static const char metadata[] =
		BUILD_METADATA(BUILD_COMPACT, BUILD_EVENT(0, "zero", "uint32_t x;")
						      BUILD_EVENT(1, "e", "uint32_t x;"));
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = (1u << 27) - 3, .seq_num = 1}, 100, 0);
	b.pos = (4096 + 84 + 5 * 8) * 8;
	patch(&b, b.pos - 2 * 64, 0);
	patch(&b, b.pos - 64, 0);
	build_trace(&o, metadata, &b);
	assert_int_equal(o.nr, 3 + 1);
	assert_lost(3, 0, 103, (1u << 27) + 97);
	assert_true(has_problem(&o, "zeros where events should be"));
	close_trace(&o);
}

/* A content size that is too large: what is behind the events is no event. */
static void content_size_lies(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
	patch(&b, (32 + 16) * 8, 4096 * 8);
	put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 1}, 3, 0);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(count(&o, EV_OTHER), 3);
	assert_lost(0, 0, 200, 200);
	assert_int_equal(o.trace->loss.unknown, 1);
	assert_true(has_problem(&o, "zeros where events should be"));
	/* Reading it again tells and counts nothing twice. */
	load_events(&o);
	assert_int_equal(o.trace->loss.unknown, 1);
	close_trace(&o);
}

/*
 * Bytes taken out anywhere, or zeroed: what is left are events as they were, and those that are not
 * are in a gap.  Packets are of different lengths, and full: what is missing does not show by
 * zeros.
 */
static void damage(struct bits *b, size_t at, size_t len, bool zero)
{
	size_t end = b->pos / 8;

	if (zero) {
		memset(b->data + at, 0, len);
		return;
	}
	memmove(b->data + at, b->data + at + len, end - at - len);
	b->pos -= len * 8;
}

static bool in_gap(uint64_t time)
{
	if (time < o.events[0].time.v) /* nothing is said of it */
		return true;
	for (unsigned i = 0; i < o.nr; i++) {
		if (o.events[i].kind == EV_LOST && (uint64_t)o.events[i].arg[1] <= time &&
		    ((uint64_t)o.events[i].arg[2] >= time ||
		     o.events[i].arg[1] == o.events[i].arg[2]))
			return true;
	}
	return false;
}

static void check_damaged(size_t at, size_t len, bool zero)
{
	struct bits b = {0};
	unsigned seen = 0;
	bool there[5 * 64] = {false};

	for (unsigned i = 0; i < 5; i++)
		put_packet(&b, &(struct packet_form){.begin = 100 + 100 * i, .seq_num = i}, 40 + i,
			   0);
	damage(&b, at, len, zero);
	build_trace(&o, ONE_FIELD, &b);
	for (unsigned i = 0; i < o.nr; i++) {
		char text[24];

		if (o.events[i].kind == EV_LOST)
			continue;
		snprintf(text, sizeof(text), "x=%llu", (unsigned long long)o.events[i].time.v);
		expect_text(&o, i, text);
		there[(o.events[i].time.v / 100 - 1) * 64 + o.events[i].time.v % 100] = true;
		seen++;
	}
	for (unsigned i = 0; i < 5; i++) {
		for (unsigned k = 0; k < 40 + i; k++)
			assert_true(there[i * 64 + k] || in_gap(100 + 100 * i + k));
	}
	assert_true(seen >= 40 && seen < 5 * 42);
	close_trace(&o);
}

static void damaged_packets_are_gaps(void **state)
{
	(void)state;
	for (size_t at = 4096; at < 4096 + 500; at += 7) {
		check_damaged(at, 41, false);
		check_damaged(at, 4096 + 41, false);
		check_damaged(at, 4096, true);
	}
}

static void impossible_sizes(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
	put_packet(&b, &(struct packet_form){.begin = 200, .seq_num = 1}, 3, 0);
	patch(&b, 4096 * 8 + (32 + 24) * 8, 0);
	put_packet(&b, &(struct packet_form){.begin = 300, .seq_num = 2}, 3, 0);
	build_trace(&o, ONE_FIELD, &b);
	assert_int_equal(count(&o, EV_OTHER), 6);
	assert_true(has_problem(&o, "at offset 4096: packet size 0 bits is impossible"));
	close_trace(&o);
}

static void empty_and_foreign_files(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	write_bits(&o, "ch0_0", &b);
	write_file(&o, "ch0_1", "", 0);
	write_file(&o, "notes.txt", "this is no stream at all, though longer than a header", 53);
	write_file(&o, ".hidden", "x", 1);
	must_open(&o);
	assert_int_equal(o.trace->nr_streams, 1);
	assert_int_equal(o.nr, 3);
	assert_true(has_problem(&o, "ch0_1 is empty"));
	assert_true(has_problem(&o, "notes.txt at offset 0: no packet begins here"));
	close_trace(&o);
}

/* LTTng writes a file for every CPU. */
static void missing_stream(void **state)
{
	static const char metadata[] = ONE_FIELD
		"env { tracer_name = \"lttng-modules\"; tracer_major = 2; tracer_minor = 13; };\n";

	(void)state;
	make_dir(&o);
	write_file(&o, "metadata", metadata, strlen(metadata));
	for (uint32_t cpu = 0; cpu < 12; cpu += 1 + (cpu == 2)) {
		struct bits b = {0};
		char name[16];

		put_packet(&b, &(struct packet_form){.begin = 100, .cpu = cpu, .instance = cpu}, 3,
			   0);
		snprintf(name, sizeof(name), "ch0_%u", cpu);
		write_bits(&o, name, &b);
	}
	must_open(&o);
	assert_int_equal(o.trace->nr_streams, 11);
	assert_int_equal(o.trace->nr_cpus, 12);
	assert_int_equal(o.trace->problems.nr, 1);
	assert_true(has_problem(&o, "ch0_3 is missing"));
	close_trace(&o);
}

/* A copy of a CPU's file that says to be another stream: which of them is the CPU's, nobody knows.
 * One that begins where the other ends is its next part. */
static void a_cpu_that_two_streams_claim(void **state)
{
	static const char metadata[] = ONE_FIELD
		"env { tracer_name = \"lttng-modules\"; tracer_major = 2; tracer_minor = 13; };\n";

	(void)state;
	for (unsigned after = 0; after < 2; after++) {
		struct bits own = {0}, copy = {0}, other = {0};

		put_packet(&own, &(struct packet_form){.begin = 100, .instance = 0}, 3, 0);
		put_packet(&copy, &(struct packet_form){.begin = after ? 9000 : 101, .instance = 5},
			   3, 0);
		put_packet(&other, &(struct packet_form){.begin = 100, .cpu = 1, .instance = 1}, 3,
			   0);
		make_dir(&o);
		write_file(&o, "metadata", metadata, strlen(metadata));
		write_bits(&o, "ch0_0", &own);
		write_bits(&o, "ch0_1", &other);
		write_bits(&o, "copy_0", &copy);
		must_open(&o);
		assert_int_equal(o.nr, after ? 9 : 3);
		assert_int_equal(o.trace->nr_cpus, 2);
		assert_int_equal(o.trace->streams[0].cut, !after);
		assert_int_equal(o.trace->problems.nr, !after);
		assert_int_equal(has_problem(&o, "ch0_0 and "), !after);
		close_trace(&o);
	}
}

/* A directory that cannot be read to its end may have more files. */
static void a_directory_that_cannot_be_listed(void **state)
{
	struct bits b = {0};

	(void)state;
	put_packet(&b, &(struct packet_form){.begin = 100}, 3, 0);
	build_trace(&o, ONE_FIELD, &b);
	trace_release(o.trace);
	for (names_left = 0; names_left < 4; names_left++) {
		int left = names_left;

		assert_int_equal(open_dir(&o), -EIO);
		assert_non_null(strstr(o.err.text, "cannot list directory"));
		names_left = left;
	}
	names_left = -1;
	close_trace(&o);
}

static void nothing_usable(void **state)
{
	(void)state;
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	assert_int_equal(open_dir(&o), -ENODATA);
	write_file(&o, "metadata", "", 0);
	assert_int_equal(open_dir(&o), -EINVAL);
	write_file(&o, "metadata", "trace { major = 3; };", 21);
	assert_int_equal(open_dir(&o), -EINVAL);
	assert_non_null(strstr(o.err.text, "CTF version 3"));
	close_trace(&o);
}

/* Files that follow each other: one stream, counted through. */
static void files_of_one_stream(void **state)
{
	struct bits first = {0}, second = {0}, other = {0};
	char buf[64];

	(void)state;
	put_packet(&second, &(struct packet_form){.begin = 300, .seq_num = 2, .instance = 9}, 3, 5);
	put_packet(&first, &(struct packet_form){.begin = 100, .seq_num = 0, .instance = 9}, 3, 0);
	put_packet(&first, &(struct packet_form){.begin = 200, .seq_num = 1, .instance = 9}, 3, 5);
	put_packet(&other, &(struct packet_form){.begin = 150, .cpu = 1, .instance = 10}, 3, 0);
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	write_bits(&o, "ch0_0_0", &second);
	write_bits(&o, "ch0_0_1", &first);
	write_bits(&o, "ch0_1_0", &other);
	must_open(&o);
	assert_int_equal(o.trace->nr_streams, 2);
	assert_int_equal(o.trace->loss.events, 5);
	assert_int_equal(o.trace->loss.packets, 0);
	assert_int_equal(o.nr, 13);
	expect_monotonic(&o);
	for (unsigned i = 0; i < o.nr; i++) {
		if (o.events[i].kind == EV_LOST)
			continue;
		snprintf(buf, sizeof(buf), "x=%llu", (unsigned long long)o.events[i].time.v);
		expect_text(&o, i, buf);
	}
	close_trace(&o);
}

/* Parts of one trace in three directories, two of which have a packet in common. */
static void parts_of_one_trace(void **state)
{
	static const struct {
		unsigned first, nr;
	} parts[] = {{0, 3}, {2, 3}, {6, 2}};
	char folders[3][80], name[32], buf[64];
	const char *paths[3];
	unsigned lost = 0, nr = 0;

	(void)state;
	make_dir(&o);
	for (unsigned p = 0; p < 3; p++) {
		struct bits b = {0};

		snprintf(folders[p], sizeof(folders[p]), "%s/%u", o.dir, p);
		paths[p] = folders[p];
		assert_int_equal(mkdir(folders[p], 0700), 0);
		snprintf(name, sizeof(name), "%u/metadata", p);
		write_file(&o, name, ONE_FIELD, strlen(ONE_FIELD));
		for (unsigned i = parts[p].first; i < parts[p].first + parts[p].nr; i++)
			put_packet(&b,
				   &(struct packet_form){
					   .begin = 100 + 100 * i, .seq_num = i, .instance = 9},
				   3, i > 3 ? 5 : 0);
		snprintf(name, sizeof(name), "%u/ch0_0", p);
		write_bits(&o, name, &b);
	}
	assert_int_equal(trace_open_parts(&o.trace, paths, 3, &o.err), 0);
	load_events(&o);
	assert_int_equal(o.trace->nr_streams, 1);
	assert_int_equal(o.trace->streams[0].nr_packets, 7);
	assert_int_equal(o.trace->loss.events, 5);  /* in the fifth packet */
	assert_int_equal(o.trace->loss.packets, 1); /* the sixth */
	expect_monotonic(&o);
	for (unsigned i = 0; i < o.nr; i++) {
		lost += o.events[i].kind == EV_LOST;
		if (o.events[i].kind == EV_LOST)
			continue;
		snprintf(buf, sizeof(buf), "x=%u", 100 + 100 * (nr / 3 + (nr >= 15)) + nr % 3);
		expect_text(&o, i, buf);
		nr++;
	}
	assert_int_equal(nr, 21);
	assert_int_equal(lost, 2);
	close_trace(&o);
}

/* LTTng's index */

static void add_be64(struct bits *b, size_t at, int64_t more, bool swapped)
{
	uint64_t v;

	memcpy(&v, b->data + at, sizeof(v));
	v = swapped ? __builtin_bswap64(v) : v;
	v += (uint64_t)more;
	v = swapped ? __builtin_bswap64(v) : v;
	memcpy(b->data + at, &v, sizeof(v));
}

/* Counts of -1 are not told, and no fault. */
static void check_index(unsigned indexed, uint64_t lie, uint64_t discarded, bool fits)
{
	struct bits b = {0}, index = {0};
	char path[128];

	for (unsigned i = 0; i < 3; i++)
		put_packet(&b, &(struct packet_form){.begin = 100 * (i + 1), .seq_num = i}, 3, 0);
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	write_bits(&o, "ch0_0", &b);
	snprintf(path, sizeof(path), "%s/index", o.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	put_index(&index, indexed, lie, discarded);
	write_bits(&o, "index/ch0_0.idx", &index);
	must_open(&o);
	assert_int_equal(o.nr, 9 + (indexed > 3));
	assert_int_equal(o.trace->streams[0].nr_packets, 3);
	assert_int_equal(o.trace->streams[0].packets[2].end, 303);
	assert_int_equal(o.trace->loss.events, 0);
	/* A packet that only the index has was there: what came after the others is lost. */
	assert_int_equal(o.trace->loss.packets, indexed > 3 ? indexed - 3 : 0);
	if (indexed > 3)
		assert_lost(9, 0, 303, 303);
	assert_int_equal(has_problem(&o, "does not fit"), !fits);
	close_trace(&o);
}

enum lie { LIE_BEGIN, LIE_EARLY, LIE_LATER, LIE_END, LIE_LOST };

/* Of four packets, the third has a false entry: what is decoded is the same. */
static void check_false_entry(enum lie lie, bool noticed_at_open)
{
	struct bits b = {0}, index = {0};
	uint64_t first = 4096 * 8;
	char path[128];

	put_bits(&index, __builtin_bswap32(0xc1f1dcc1), 32);
	put_bits(&index, __builtin_bswap32(1), 32);
	put_bits(&index, __builtin_bswap32(1), 32);
	put_bits(&index, __builtin_bswap32(72), 32);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t begin = (UINT64_C(1) << 29) * (i + 1), lost = i > 1 ? 7 : 0;
		uint64_t wrong = i == 2 ? 1 : 0;
		const uint64_t words[] = {i * 4096,
					  first,
					  (84 + 3 * 8) * 8,
					  begin + (lie == LIE_BEGIN ? -wrong * 1000 : 0) -
						  (lie == LIE_EARLY ? wrong << 28 : 0) +
						  (lie == LIE_LATER ? wrong << 33 : 0),
					  begin + 3 + (lie == LIE_END ? wrong * 100 : 0),
					  lost + (lie == LIE_LOST ? wrong * 1000 : 0),
					  0,
					  0,
					  i};

		put_packet(&b, &(struct packet_form){.begin = begin, .seq_num = i}, 3, lost);
		for (unsigned k = 0; k < ARRAY_SIZE(words); k++)
			put_be64(&index, words[k]);
	}
	make_dir(&o);
	write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
	write_bits(&o, "ch0_0", &b);
	snprintf(path, sizeof(path), "%s/index", o.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	write_bits(&o, "index/ch0_0.idx", &index);
	must_open(&o);
	assert_int_equal(o.nr, 12 + 1);
	assert_int_equal(count(&o, EV_LOST), 1);
	for (unsigned i = 0, nr = 0; i < o.nr; i++) {
		if (o.events[i].kind == EV_LOST) {
			assert_int_equal(nr, 9);
			assert_int_equal(o.events[i].arg[0], 7);
			continue;
		}
		assert_int_equal(o.events[i].time.v, (UINT64_C(1) << 29) * (nr / 3 + 1) + nr % 3);
		nr++;
	}
	assert_int_equal(o.trace->loss.events, 7);
	assert_int_equal(has_problem(&o, "does not fit"), noticed_at_open);
	assert_int_equal(has_problem(&o, "is wrong about the packet at offset 8192"),
			 !noticed_at_open);
	close_trace(&o);
}

static void index_that_lies_in_the_middle(void **state)
{
	(void)state;
	check_false_entry(LIE_BEGIN, false);
	check_false_entry(LIE_EARLY, false); /* by more than what events have of a time */
	check_false_entry(LIE_LATER, true);
	check_false_entry(LIE_END, false);
	check_false_entry(LIE_LOST, false);
}

static void index_file(void **state)
{
	(void)state;
	check_index(3, 0, 0, true);
	check_index(3, 0, UINT64_MAX, true);
	check_index(2, 0, 0, true); /* what is behind it is read from the packets */
	check_index(3, 50, 0, false);
	check_index(3, (uint64_t)-1000, 0, false); /* negative times */
	check_index(4, 0, 0, false);
}

/* The first packet of four, or the last one, has other times than the index says, or ends before it
 * begins: none of its events is believed.  Where most are others, it is another's index. */
static void packet_whose_times_are_disputed(void **state)
{
	static const struct {
		unsigned packet;
		int64_t begin, end; /* moved by so much */
		unsigned entries_moved, kept;
		const char *why;
	} cases[] = {
		{0, 0, 0, 0, 12, NULL},
		{0, -90, 0, 0, 9, "are not those that the index has"},
		{3, 0, 1000, 0, 9, "are not those that the index has"},
		{0, 1000, 0, 0, 9, "ends before it begins"},
		{3, -1, 0, 3, 12, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bits b = {0}, index = {0};
		char path[128];

		for (unsigned p = 0; p < 4; p++)
			put_packet(&b, &(struct packet_form){.begin = 100 * (p + 1), .seq_num = p},
				   3, 0);
		put_index(&index, 4, 0, 0);
		add_be64(&b, 4096 * cases[i].packet + 32, cases[i].begin, false);
		add_be64(&b, 4096 * cases[i].packet + 40, cases[i].end, false);
		for (unsigned p = 0; p < cases[i].entries_moved; p++)
			add_be64(&index, 16 + 72 * p + 24, 1, true);
		make_dir(&o);
		write_file(&o, "metadata", ONE_FIELD, strlen(ONE_FIELD));
		write_bits(&o, "ch0_0", &b);
		snprintf(path, sizeof(path), "%s/index", o.dir);
		assert_int_equal(mkdir(path, 0700), 0);
		write_bits(&o, "index/ch0_0.idx", &index);
		must_open(&o);
		assert_int_equal(count(&o, EV_OTHER), cases[i].kept);
		if (cases[i].why)
			assert_true(has_problem(&o, cases[i].why));
		assert_int_equal(o.trace->loss.unknown != 0, cases[i].why != NULL);
		close_trace(&o);
	}
}

/* Cursors */

/* Packets without numbers: only the index tells that one is missing, and where. */
static void index_without_numbers(void **state)
{
	static const char metadata[] = BUILD_INTS BUILD_TRACE(
		"le") "stream { id = 0; " BUILD_COMPACT
		      "packet.context := struct { uint64_t timestamp_begin; uint64_t timestamp_end;\n"
		      "uint64_t content_size; uint64_t packet_size; uint64_t other;\n"
		      "uint64_t events_discarded; uint32_t cpu_id; }; };\n" BUILD_EVENT(
			      1, "e", "uint32_t x;");

	(void)state;
	for (unsigned missing = 0; missing < 4; missing++) {
		struct bits b = {0}, index = {0};
		char path[128];

		for (unsigned i = 0; i < 4; i++) {
			if (i != missing)
				put_packet(&b, &(struct packet_form){.begin = 100 * (i + 1)}, 3, 0);
		}
		make_dir(&o);
		write_file(&o, "metadata", metadata, strlen(metadata));
		write_bits(&o, "ch0_0", &b);
		snprintf(path, sizeof(path), "%s/index", o.dir);
		assert_int_equal(mkdir(path, 0700), 0);
		put_index(&index, 4, 0, 0);
		write_bits(&o, "index/ch0_0.idx", &index);
		must_open(&o);
		assert_int_equal(count(&o, EV_OTHER), 9);
		assert_int_equal(count(&o, EV_LOST), 1);
		assert_int_equal(o.trace->loss.packets, 1);
		assert_int_equal(o.trace->loss.unknown, 1);
		if (missing == 1 || missing == 2)
			assert_lost(3 * missing, 0, 100 * missing + 3, 100 * (missing + 2));
		close_trace(&o);
	}
}

/* Any range of packets gives the events that the whole gives there. */
static void ranges(void **state)
{
	struct bits b = {0};
	unsigned at = 0;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		put_packet(&b,
			   &(struct packet_form){.begin = 100 * i - (i % 3) * 60 + 200,
						 .seq_num = i + i / 7},
			   i, i / 4);
	build_trace(&o, ONE_FIELD, &b);
	for (uint32_t first = 0; first < 20; first += 3) {
		struct event events[7]; /* few, so that packets end inside a call and at its end */
		struct cursor c;
		unsigned n;

		assert_int_equal(cursor_init(&c, &o.trace->streams[0], first, 3, 0, NULL), 0);
		while ((n = cursor_next(&c, events, ARRAY_SIZE(events))) > 0) {
			assert_memory_equal(events, &o.events[at], n * sizeof(*events));
			at += n;
		}
		cursor_release(&c);
	}
	assert_int_equal(at, o.nr);
	expect_monotonic(&o);
	close_trace(&o);
}

static void wanted_kinds(void **state)
{
	struct event events[32];
	struct bits b = {0};
	struct cursor c;

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 100});
	for (unsigned i = 0; i < 5; i++) {
		compact(&b, 1, 100 + 3 * i);
		put_bits(&b, i, 32);
		compact(&b, 2, 101 + 3 * i);
		put_bits(&b, i, 32);
		compact(&b, 3, 102 + 3 * i);
		put_string(&b, "some text");
	}
	packet_end(&b, 200, 9, 4096);
	build_trace(&o,
		    BUILD_METADATA(BUILD_COMPACT,
				   BUILD_EVENT(1, "softirq_raise", "uint32_t vec;")
					   BUILD_EVENT(2, "softirq_entry", "uint32_t vec;")
						   BUILD_EVENT(3, "other", "string s;")),
		    &b);
	assert_int_equal(o.nr, 16);
	assert_int_equal(cursor_init(&c, &o.trace->streams[0], 0, 1, WANT(SOFTIRQ_ENTRY), NULL), 0);
	assert_int_equal(cursor_next(&c, events, ARRAY_SIZE(events)), 6);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(events[i].kind, EV_SOFTIRQ_ENTRY);
		assert_int_equal(events[i].time.v, 101 + 3 * i);
		assert_int_equal(events[i].arg[0], i);
	}
	assert_int_equal(events[5].kind, EV_LOST);
	cursor_release(&c);
	close_trace(&o);
}

/* The compiled plans and the interpreter come to the same. */
static void plans_and_interpreter(void **state)
{
	(void)state;
	for (unsigned step = 0; step < 64; step++) {
		struct bits b = {0};
		struct ctf_trace *ct;
		unsigned nr;

		packet_begin(&b, &(struct packet_form){.begin = 100});
		for (unsigned i = 0; i < 30; i++) {
			uint64_t v = 0x9e3779b97f4a7c15ull * (step * 31 + i + 1);

			compact(&b, 1 + i % 3, 100 + i);
			put_bits(&b, v, 32);
			if (i % 3 == 0) {
				put_bits(&b, v >> 11, 12);
				put_bits(&b, v >> 20, 20);
				put_bits(&b, v, 64);
			} else if (i % 3 == 1) {
				put_string(&b, v & 1 ? "" : "some text");
				put_bits(&b, v % 5, 8);
				for (unsigned k = 0; k < v % 5; k++)
					put_bits(&b, k, 16);
				put_bits(&b, v >> 7, 32);
			} else {
				put_bits(&b, v & 1, 8);
				put_bits(&b, v >> 9, v & 1 ? 16 : 8);
				put_bits(&b, v >> 3, 32);
			}
		}
		packet_end(&b, 200, 0, 4096);
		build_trace(
			&o,
			BUILD_METADATA(
				BUILD_COMPACT "event.context := struct { int32_t _tid; };\n",
				BUILD_EVENT(1, "kvm_x86_hypercall",
					    "integer { size = 12; signed = true; } _nr;"
					    "integer { size = 20; align = 1; } _a0; uint64_t _a1;")
					BUILD_EVENT(2, "irq_softirq_entry",
						    "string _s; uint8_t _n; uint16_t _l[_n];"
						    "uint32_t _vec;")
						BUILD_EVENT(
							3, "sched_migrate_task",
							"enum : uint8_t { A, B } _k; variant <_k> {"
							"uint8_t A; uint16_t B; } _v; int32_t _tid;")),
			&b);
		memcpy(again.events, o.events, sizeof(o.events));
		nr = o.nr;
		ct = o.trace->reader;
		assert_int_equal(ct->plans[0].header, CTF_HEADER_COMPACT);
		assert_false(ct->plans[0].plans[0].walked);
		assert_false(ct->plans[0].plans[1].walked);
		assert_false(ct->plans[0].plans[2].walked);
		ctf_plan_use_walk(&ct->plans[0]);
		load_events(&o);
		assert_int_equal(o.nr, nr);
		assert_int_equal(o.nr, 30);
		assert_memory_equal(again.events, o.events, nr * sizeof(*o.events));
		close_trace(&o);
	}
}

/* vcpu_id with a pointer in it counts as unknown, and so does what goes wrong with it. */
static void unsound_vcpu_id(void **state)
{
	for (unsigned unsound = 0; unsound < 2; unsound++) {
		struct bits b = {0};

		(void)state;
		packet_begin(&b, &(struct packet_form){.begin = 100});
		compact(&b, 1, 101);
		put_bits(&b, unsound ? 0x8a3f4000 : 1, 32);
		compact(&b, 2, 102);
		put_bits(&b, 2, 32);
		packet_end(&b, 200, 0, 4096);
		build_trace(&o,
			    BUILD_METADATA(BUILD_COMPACT,
					   BUILD_EVENT(1, "kvm_x86_entry", "uint32_t _vcpu_id;")
						   BUILD_EVENT(2, "kvm_x86_nested_vmexit",
							       "uint32_t _exit_code;")),
			    &b);
		assert_int_equal(o.trace->vcpu_id_unsound, unsound);
		assert_int_equal(o.events[0].arg[0], unsound ? -1 : 1);
		assert_int_equal(o.events[1].arg[0], unsound ? -1 : 2);
		assert_int_equal(o.trace->problems.nr, unsound);
		expect_text(&o, 0, unsound ? "vcpu_id=2319400960" : "vcpu_id=1");
		close_trace(&o);
	}
}

static void syscall_names(void **state)
{
	struct bits b = {0};

	(void)state;
	packet_begin(&b, &(struct packet_form){.begin = 100});
	compact(&b, 1, 101);
	compact(&b, 2, 102);
	put_bits(&b, (uint64_t)-2, 64);
	packet_end(&b, 200, 0, 4096);
	build_trace(
		&o,
		BUILD_METADATA(BUILD_COMPACT,
			       BUILD_EVENT(1, "syscall_entry_openat", "") BUILD_EVENT(
				       2, "syscall_exit_openat",
				       "integer { size = 64; align = 8; signed = true; } _ret;")),
		&b);
	assert_int_equal(o.events[0].kind, EV_SYSCALL_ENTRY);
	assert_int_equal(o.events[1].kind, EV_SYSCALL_EXIT);
	assert_int_equal(o.events[1].arg[1], -2);
	assert_int_equal(o.trace->nr_syscall_names, 1);
	assert_int_equal(o.trace->types[o.events[0].type].syscall, 0);
	assert_int_equal(o.trace->types[o.events[1].type].syscall, 0);
	assert_string_equal(o.trace->syscall_names[0], "openat");
	assert_int_equal(o.trace->clock.offset_ns, 2000000500);
	close_trace(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrap_of_27_bits),
		cmocka_unit_test(wrap_of_32_bits),
		cmocka_unit_test(step_back_inside),
		cmocka_unit_test(a_begin_that_lies),
		cmocka_unit_test(step_back_between_packets),
		cmocka_unit_test(packets_that_are_not_where_they_belong),
		cmocka_unit_test(late_end),
		cmocka_unit_test(discarded_events),
		cmocka_unit_test(a_loss_has_the_thread_before_it),
		cmocka_unit_test(snapshot),
		cmocka_unit_test(no_count),
		cmocka_unit_test(lost_packets),
		cmocka_unit_test(lost_first_packet),
		cmocka_unit_test(truncated_packet),
		cmocka_unit_test(many_truncated_packets),
		cmocka_unit_test(truncated_header),
		cmocka_unit_test(garbage),
		cmocka_unit_test(foreign_streams),
		cmocka_unit_test(first_packets_are_lost_from_the_first_event_on),
		cmocka_unit_test(foreign_metadata),
		cmocka_unit_test(a_foreign_first_packet),
		cmocka_unit_test(a_false_packet_in_a_foreign_one),
		cmocka_unit_test(a_damaged_first_packet),
		cmocka_unit_test(packets_of_another_stream),
		cmocka_unit_test(a_gap_between_packets_without_ends),
		cmocka_unit_test(garbage_at_the_end),
		cmocka_unit_test(holes_are_not_read),
		cmocka_unit_test(zeros),
		cmocka_unit_test(zeros_at_the_end_of_a_cut_file),
		cmocka_unit_test(damaged_packets_are_gaps),
		cmocka_unit_test(content_size_lies),
		cmocka_unit_test(impossible_sizes),
		cmocka_unit_test(empty_and_foreign_files),
		cmocka_unit_test(missing_stream),
		cmocka_unit_test(a_cpu_that_two_streams_claim),
		cmocka_unit_test(a_directory_that_cannot_be_listed),
		cmocka_unit_test(nothing_usable),
		cmocka_unit_test(files_of_one_stream),
		cmocka_unit_test(parts_of_one_trace),
		cmocka_unit_test(index_file),
		cmocka_unit_test(index_without_numbers),
		cmocka_unit_test(packet_whose_times_are_disputed),
		cmocka_unit_test(index_that_lies_in_the_middle),
		cmocka_unit_test(ranges),
		cmocka_unit_test(wanted_kinds),
		cmocka_unit_test(plans_and_interpreter),
		cmocka_unit_test(unsound_vcpu_id),
		cmocka_unit_test(syscall_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
