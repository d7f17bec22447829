/* SPDX-License-Identifier: Apache-2.0 */
/* source/perf: perf.data files made here, byte by byte, are read right; broken ones do no harm. */
#define _GNU_SOURCE
#include "tests/unit/unit.h"

#include "source/perf/parts.h"
#include "source/perf/reader.h"
#include "source/trace.h"
#include "tests/unit/lost_thread.h"
#include "tests/unit/perf_build.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX 16384
#define ZSTD_MAGIC 0xfd2fb528

/* A file that was made and opened, and all its events. */
struct opened {
	char path[64];
	struct trace *trace;
	struct error err;
	struct event events[EVENTS_MAX];
	unsigned stream_of[EVENTS_MAX];
	unsigned nr;
};

static const struct perf_form plain = PERF_PLAIN;

static int open_bytes(struct opened *o, const uint8_t *data, size_t len)
{
	int fd;

	o->trace = NULL;
	o->err = (struct error){0};
	o->nr = 0;
	strcpy(o->path, "/tmp/sonde-test-perf-XXXXXX");
	fd = mkstemp(o->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
	return trace_open(&o->trace, o->path, &o->err);
}

static void read_range(struct opened *o, unsigned stream, uint32_t first, uint32_t nr,
		       unsigned room)
{
	struct error err = {0};
	struct cursor c;
	unsigned n;

	assert_int_equal(cursor_init(&c, &o->trace->streams[stream], first, nr, 0, &err), 0);
	while (o->nr + room <= EVENTS_MAX && (n = cursor_next(&c, o->events + o->nr, room))) {
		for (unsigned i = 0; i < n; i++)
			o->stream_of[o->nr + i] = stream;
		o->nr += n;
	}
	cursor_release(&c);
}

static void read_all(struct opened *o)
{
	for (unsigned i = 0; i < o->trace->nr_streams; i++)
		read_range(o, i, 0, o->trace->streams[i].nr_packets, 64);
}

static void close_file(struct opened *o)
{
	trace_release(o->trace);
	unlink(o->path);
}

static void close_opened(struct opened *o)
{
	close_file(o);
	free(o);
}

/* @records as a file of @form, opened and read. */
static struct opened *opened(const struct perf_form *form, struct buf *records)
{
	struct opened *o = malloc(sizeof(*o));
	struct buf file;

	perf_build(form, records, &file);
	open_bytes(o, file.data, file.len);
	assert_string_equal(o->err.text, "");
	read_all(o);
	free(file.data);
	free(records->data);
	return o;
}

static const char *printed(const struct opened *o, unsigned i)
{
	static char text[512];

	trace_event_print(&o->trace->streams[o->stream_of[i]], &o->events[i], text, sizeof(text));
	return text;
}

static bool has_problem(const struct opened *o, const char *part)
{
	for (unsigned i = 0; i < o->trace->problems.nr; i++) {
		if (strstr(o->trace->problems.list[i].text, part))
			return true;
	}
	return false;
}

static void is_lost(const struct event *e, uint64_t nr, uint64_t from, uint64_t to)
{
	assert_int_equal(e->kind, EV_LOST);
	assert_int_equal(e->arg[0], nr);
	assert_int_equal(e->arg[1], from);
	assert_int_equal(e->arg[2], to);
	assert_int_equal(e->time.v, from);
}

/* Two CPUs' buffers, each copied twice, with what stands between. */
static void two_rounds(struct buf *b)
{
	perf_comm(b, 0, 0, 42, 43, "worker one");
	perf_switch(b, 0, 1000, 0, 43, "worker one");
	perf_softirq(b, 0, 1100, 7);
	perf_switch(b, 1, 1050, 0, 9, "other");
	perf_finished_round(b);
	perf_auxtrace(b);
	perf_switch(b, 0, 1200, 43, 0, "swapper/0");
	perf_comm(b, 1, 1250, 9, 9, "renamed");
	perf_switch(b, 1, 1300, 9, 0, "swapper/1");
	perf_finished_round(b);
}

static void check_two_rounds(const struct opened *o)
{
	const struct event *e = o->events;

	assert_string_equal(o->trace->hostname, "box");
	assert_string_equal(o->trace->release, "6.1.0");
	assert_string_equal(o->trace->tracer, "perf 6.1.192");
	assert_int_equal(o->trace->nr_streams, 2);
	assert_int_equal(o->trace->nr_cpus, 2);
	assert_int_equal(o->trace->streams[1].cpu, 1);
	assert_int_equal(o->nr, 7);
	assert_int_equal(e[0].kind, EV_STATEDUMP_PROCESS);
	assert_int_equal(e[0].time.v, 1000);
	assert_int_equal(e[0].arg[0], 43);
	assert_int_equal(e[0].arg[1], 42);
	assert_string_equal(event_str(&e[0], 3), "worker one");
	assert_string_equal(printed(o, 0), "pid=42 tid=43 comm=\"worker one\"");
	assert_int_equal(e[1].kind, EV_SCHED_SWITCH);
	assert_int_equal(e[1].time.v, 1000);
	assert_int_equal(e[1].tid, 0);
	assert_int_equal(e[1].arg[1], 43);
	assert_string_equal(event_str(&e[1], 3), "worker one");
	assert_string_equal(o->trace->types[e[1].type].name, "sched_switch");
	assert_string_equal(o->trace->types[e[1].type].system, "sched");
	assert_string_equal(printed(o, 1),
			    "prev_comm=\"prev-0\" prev_pid=0 prev_prio=120 prev_state=1 "
			    "next_comm=\"worker one\" next_pid=43 next_prio=120");
	assert_int_equal(e[2].kind, EV_SOFTIRQ_ENTRY);
	assert_int_equal(e[2].arg[0], 7);
	assert_int_equal(e[3].time.v, 1200);
	assert_int_equal(e[4].time.v, 1050);
	assert_int_equal(e[5].kind, EV_STATEDUMP_PROCESS);
	assert_int_equal(e[5].time.v, 1250);
	assert_int_equal(e[6].time.v, 1300);
	assert_int_equal(o->trace->problems.nr, 0);
	assert_int_equal(o->trace->loss.unknown, 0);
}

static void a_file_and_a_pipe_read_the_same(void **state)
{
	(void)state;
	for (unsigned pipe = 0; pipe < 2; pipe++) {
		struct perf_form form = plain;
		struct buf b = {0};
		struct opened *o;

		form.pipe = pipe;
		two_rounds(&b);
		o = opened(&form, &b);
		check_two_rounds(o);
		close_opened(o);
	}
}

static void fields_are_found_by_name(void **state)
{
	struct buf b = {0};
	struct field_value v;
	const struct stream *s;
	struct opened *o;

	(void)state;
	two_rounds(&b);
	o = opened(&plain, &b);
	s = &o->trace->streams[0];
	assert_int_equal(trace_event_field(s, &o->events[1], "next_pid", &v), 0);
	assert_int_equal(v.i, 43);
	assert_int_equal(trace_event_field(s, &o->events[2], "vec", &v), 0);
	assert_int_equal(v.u, 7);
	assert_int_equal(trace_event_field(s, &o->events[0], "comm", &v), 0);
	assert_int_equal(v.len, strlen("worker one"));
	assert_int_equal(trace_event_field(s, &o->events[0], "type", &v), -ENOENT);
	assert_int_equal(trace_event_field(s, &o->events[1], "no such", &v), -ENOENT);
	close_opened(o);
}

static void samples_without_a_number_are_told_apart_by_their_record(void **state)
{
	struct perf_form form = plain;
	struct buf b = {0};
	struct opened *o;

	(void)state;
	form.no_ids = true;
	perf_switch_of(&b, false, 0, 1000, 1, 2, "a");
	perf_switch_of(&b, false, 1, 1001, 3, 4, "b");
	o = opened(&form, &b);
	assert_int_equal(o->nr, 2);
	assert_int_equal(o->events[1].arg[1], 4);
	close_opened(o);
}

static void clocks_are_told_apart(void **state)
{
	static const struct {
		int clockid;
		enum clock_kind kind;
		const char *name;
	} clocks[] = {
		{-1, CLOCK_LOCAL, "perf"},
		{CLOCK_MONOTONIC, CLOCK_MONO, "mono"},
		{CLOCK_MONOTONIC_RAW, CLOCK_UNKNOWN, "mono_raw"},
		{CLOCK_BOOTTIME, CLOCK_BOOT, "boot"},
		{CLOCK_REALTIME, CLOCK_REAL, "realtime"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct perf_form form = {
			.clockid = clocks[i].clockid, .wall_ns = 5000, .clock_ns = i ? 3000 : 0};
		struct buf b = {0};
		struct opened *o;

		two_rounds(&b);
		o = opened(&form, &b);
		assert_int_equal(o->trace->clock.kind, clocks[i].kind);
		assert_string_equal(o->trace->clock.name, clocks[i].name);
		assert_int_equal(o->trace->clock.freq_hz, NS_PER_SEC);
		assert_int_equal(o->trace->clock.offset_known, i > 0);
		assert_int_equal(o->trace->clock.offset_ns, i ? 2000 : 0);
		close_opened(o);
	}
}

/* An interrupt's event may stand before the events that it interrupted, one of each level, in the
 * next round, too. */
static void records_are_sorted_by_time(void **state)
{
	struct buf b = {0};
	struct opened *o;
	size_t at;

	(void)state;
	perf_switch(&b, 0, 1000, 0, 1, "a");
	at = b.len;
	perf_switch(&b, 0, 1300, 1, 2, "b");
	perf_in_interrupt(&b, at);
	at = b.len;
	perf_switch(&b, 0, 1250, 1, 2, "b");
	perf_in_softirq(&b, at);
	perf_finished_round(&b);
	perf_switch(&b, 1, 1000, 1, 2, "c");
	perf_finished_round(&b);
	perf_softirq(&b, 0, 1200, 4);
	perf_switch(&b, 0, 1400, 2, 1, "d");
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 6);
	assert_int_equal(o->events[1].time.v, 1200);
	assert_int_equal(o->events[1].arg[0], 4);
	assert_int_equal(o->events[2].time.v, 1250);
	assert_int_equal(o->events[3].time.v, 1300);
	assert_int_equal(o->trace->problems.nr, 0);
	close_opened(o);
}

static void replace_all(struct buf *b, const char *from, const char *to)
{
	size_t len = strlen(from);
	uint8_t *hit = b->data;

	assert_int_equal(len, strlen(to));
	while ((hit = memmem(hit, b->len - (size_t)(hit - b->data), from, len)))
		memcpy(hit, to, len);
}

/* A field of that name which is none of the common ones may lie anywhere, behind the record, too.
 */
static void flags_that_are_not_common_are_not_looked_at(void **state)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct buf records = {0}, file;
	const struct perf_stream *ps;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		perf_switch(&records, 0, 1000 + i, 0, 1, "a");
	perf_build(&plain, &records, &file);
	replace_all(&file, "common_flags;", "other__flags;");
	replace_all(&file, "unsigned char common_preempt_count;\toffset:3;",
		    "unsigned     char common_flags;\toffset:60000;");
	open_bytes(o, file.data, file.len);
	assert_string_equal(o->err.text, "");
	read_all(o);
	assert_int_equal(o->nr, 8);
	ps = o->trace->streams[0].reader;
	assert_true(ps->perf->events.form.flags_offset < ps->perf->events.form.common_len);
	close_file(o);
	free(file.data);
	free(records.data);
	free(o);
}

/* Who looks for a time finds the packet by its begin. */
static void a_packet_begins_with_the_first_of_all_its_records(void **state)
{
	struct buf b = {0};
	struct opened *o;

	(void)state;
	perf_switch(&b, 0, 1000, 0, 1, "a");
	perf_in_interrupt(&b, 0);
	for (unsigned i = 0; i < 20; i++)
		perf_switch(&b, 1, 1000 + i, 1, 1, "b");
	perf_softirq(&b, 0, 990, 4); /* a run of its own */
	o = opened(&plain, &b);
	assert_int_equal(o->trace->streams[0].nr_packets, 1);
	assert_int_equal(o->events[0].time.v, 990);
	assert_int_equal(o->trace->streams[0].packets[0].begin, 990);
	close_opened(o);
}

/* perf copied a part of CPU 0's buffer twice. */
static void what_is_there_twice_counts_once(void **state)
{
	struct buf b = {0};
	struct opened *o;

	(void)state;
	perf_switch(&b, 0, 1000, 0, 1, "a");
	for (unsigned i = 0; i < 2; i++) {
		perf_switch(&b, 0, 1100, 1, 2, "b");
		perf_softirq(&b, 0, 1100, 3);
		perf_switch(&b, 0, 1200, 2, 0, "c");
		perf_finished_round(&b);
	}
	perf_softirq(&b, 0, 1200, 3); /* of the same time, but another event */
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 5);
	assert_int_equal(o->events[2].kind, EV_SOFTIRQ_ENTRY);
	assert_int_equal(o->trace->problems.nr, 1);
	assert_true(o->trace->problems.list[0].note);
	close_opened(o);
}

/* perf itself lists some threads twice before it starts: that is no damage. */
static void names_written_twice_are_no_news(void **state)
{
	struct buf b = {0};
	struct opened *o;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		perf_comm(&b, 0, 0, 42, 43, "perf-exec");
	perf_switch(&b, 0, 1000, 0, 1, "a");
	perf_switch(&b, 0, 1100, 1, 2, "b");
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 3);
	assert_int_equal(o->trace->problems.nr, 0);
	close_opened(o);
}

/* Lost events are between the last event of their CPU and the first one after; other CPUs have lost
 * nothing. */
static void lost_events_are_an_interval(void **state)
{
	struct buf b = {0};
	struct opened *o;

	(void)state;
	perf_lost(&b, 1, 900, 5); /* before anything is known: no gap, but counted */
	perf_switch(&b, 0, 1000, 0, 1, "a");
	perf_switch(&b, 1, 1500, 0, 1, "b");
	perf_lost(&b, 0, 2010, 17); /* its own time is later than the event that it made room for */
	perf_switch(&b, 0, 2000, 1, 0, "c");
	perf_lost(&b, 0, 2600, 3); /* nothing behind it */
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 5);
	is_lost(&o->events[1], 17, 1000, 2000);
	is_lost(&o->events[3], 3, 2000, 2600);
	assert_int_equal(o->events[4].kind, EV_SCHED_SWITCH);
	assert_int_equal(o->trace->loss.events, 25);
	assert_int_equal(losses_have_the_thread_before(o->trace), 2);
	read_all(o); /* again: the loss is the same */
	assert_int_equal(o->trace->loss.events, 25);
	close_opened(o);
}

/* Where a loss does not say of which CPU it is, it may be of each. */
static void a_loss_of_no_cpu_is_a_gap_on_every_cpu(void **state)
{
	struct buf b = {0};
	struct opened *o;

	(void)state;
	perf_switch(&b, 0, 1000, 0, 1, "a");
	perf_switch(&b, 1, 1500, 0, 1, "b");
	perf_lost(&b, TRACE_CPUS_MAX, 1600, 7);
	perf_switch(&b, 0, 2000, 1, 0, "c");
	perf_switch(&b, 1, 2500, 1, 0, "d");
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 6);
	is_lost(&o->events[1], 0, 1000, 2000);
	is_lost(&o->events[4], 0, 1500, 2500);
	assert_int_equal(o->trace->loss.events, 7);
	close_opened(o);
}

/* Behind a hole, a count of lost events is of that one, and an older record is none: the gap is up
 * to the next event. */
static void a_hole_ends_with_an_event(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 3; first++) {
		struct buf b = {0};
		struct opened *o;
		size_t at;

		for (unsigned i = 0; i < 3; i++)
			perf_switch(&b, 0, 1000 + 100 * i, 0, 7, "seven");
		at = b.len;
		perf_switch(&b, 0, 1300, 0, 7, "seven");
		memset(b.data + at, 0, 40); /* the one in front of it goes with it */
		if (first == 1)
			perf_lost(&b, 0, 1400, 3);
		else if (first == 2)
			perf_comm(&b, 0, 1050, 5, 6, "six");
		perf_switch(&b, 0, 1800, 0, 7, "seven");
		perf_switch(&b, 0, 1900, 0, 7, "seven");
		o = opened(&plain, &b);
		assert_int_equal(o->nr, 5);
		is_lost(&o->events[2], 0, 1100, 1800);
		assert_int_equal(o->trace->loss.events, first == 1 ? 3 : 0);
		assert_int_equal(o->trace->streams[0].packets[0].lost, 0);
		assert_int_equal(o->trace->streams[0].packets[1].lost, UINT64_MAX);
		/* Nobody knows how long it did nothing behind its last event. */
		assert_int_equal(o->trace->streams[0].packets[1].end, 0);
		close_opened(o);
	}
}

/* What a filter in BPF left out nobody wanted. */
static void what_a_filter_dropped_is_not_lost(void **state)
{
	struct buf b = {0};
	struct opened *o;
	size_t at;

	(void)state;
	perf_switch(&b, 0, 1000, 0, 1, "a");
	at = b.len;
	perf_lost_samples(&b, 4);
	set_uint(b.data + at + 4, RECORD_MISC_BPF, 2, false);
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 1);
	assert_int_equal(o->trace->loss.events, 0);
	assert_false(o->trace->streams[0].cut);
	close_opened(o);
}

/* A sample says twice of which thread it is: not where the thread has no number any more. */
static void a_thread_that_is_not_its_records_is_a_gap(void **state)
{
	static const uint32_t tids[] = {7, 0, 9};

	(void)state;
	for (unsigned k = 0; k < ARRAY_SIZE(tids); k++) {
		struct buf b = {0};
		struct opened *o;

		for (unsigned i = 0; i < 20; i++) {
			size_t at = b.len;

			perf_switch(&b, 0, 1000 + 100 * i, 7, 7, "seven");
			if (i == 15)
				set_uint(b.data + at + 28, tids[k], 4, false);
		}
		o = opened(&plain, &b);
		assert_int_equal(o->nr, 20);
		assert_int_equal(o->events[15].kind == EV_LOST, tids[k] == 9);
		assert_int_equal(o->trace->loss.unknown, tids[k] == 9);
		close_opened(o);
	}
}

/* perf counts all losses in the end: those that no other record told of were after the last event.
 */
static void events_lost_at_the_end_are_told(void **state)
{
	struct buf b = {0};
	struct opened *o;

	(void)state;
	perf_switch(&b, 0, 1000, 0, 1, "a");
	perf_lost(&b, 0, 1100, 4);
	perf_switch(&b, 0, 1200, 0, 1, "a");
	perf_switch(&b, 1, 3000, 0, 1, "b");
	perf_lost_samples(&b, 4);
	perf_lost_samples(&b, 6);
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 6);
	is_lost(&o->events[3], 0, 1200, 3000);
	is_lost(&o->events[5], 0, 3000, 3000);
	assert_true(o->events[3].arg[4] && o->events[5].arg[4]); /* nobody knows until when */
	assert_false(o->events[1].arg[4]);
	assert_true(o->trace->streams[0].cut && o->trace->streams[1].cut);
	assert_int_equal(o->trace->loss.events, 10);
	close_opened(o);

	b = (struct buf){0};
	perf_switch(&b, 0, 1000, 0, 1, "a");
	perf_lost(&b, 0, 1100, 4);
	perf_switch(&b, 0, 1200, 0, 1, "a");
	perf_switch(&b, 1, 3000, 0, 1, "b");
	perf_lost_samples(&b, 4); /* the same four */
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 4);
	assert_false(o->trace->streams[0].cut || o->trace->streams[1].cut);
	assert_int_equal(o->trace->loss.events, 4);
	close_opened(o);
}

/* Records of some rounds, of two CPUs; the cut ones' place. */
static void many_rounds(struct buf *b, unsigned rounds, unsigned mark, size_t *at)
{
	struct buf some = {0}; /* a buffer grows with each number that is put */

	for (unsigned i = 0; i < rounds; i++) {
		if (i == mark)
			*at = b->len + some.len;
		for (unsigned cpu = 0; cpu < 2; cpu++) {
			perf_switch(&some, cpu, 1000 * i + 10, 0, 5, "five");
			perf_switch(&some, cpu, 1000 * i + 500, 5, 0, "swapper");
		}
		perf_finished_round(&some);
		if (i % 16 && i + 1 < rounds)
			continue;
		put(b, some.data, some.len);
		some.len = 0;
	}
	free(some.data);
}

static void damaged_bytes_are_a_gap_on_every_cpu(void **state)
{
	struct buf b = {0};
	size_t at = 0;
	struct opened *o;

	(void)state;
	many_rounds(&b, 10, 4, &at);
	memset(b.data + at, 0, 40); /* the first record of round 4 */
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 39 + 2);
	is_lost(&o->events[8], 0, 3500, 4500);
	is_lost(&o->events[19 + 1 + 8], 0, 3500, 4010);
	assert_int_equal(o->trace->loss.unknown, 1);
	assert_true(o->trace->loss.bytes_skipped > 40);
	assert_int_equal(o->trace->problems.nr, 1);
	close_opened(o);
}

/* A CPU whose first record is behind a hole may have had some in it; one that began before has its own
 * gap. */
static void a_cpu_that_begins_behind_a_hole_lacks_its_beginning(void **state)
{
	(void)state;
	for (unsigned damaged = 0; damaged < 2; damaged++) {
		struct buf b = {0};
		struct opened *o;
		size_t at;

		for (unsigned i = 0; i < 3; i++)
			perf_switch(&b, 0, 1000 + 100 * i, 0, 7, "seven");
		at = b.len;
		perf_switch(&b, 1, 1300, 0, 9, "nine");
		memset(b.data + at, 0, damaged ? 40 : 0);
		for (unsigned i = 0; i < 3; i++) {
			perf_switch(&b, 0, 1400 + 100 * i, 0, 7, "seven");
			perf_switch(&b, 1, 1450 + 100 * i, 0, 9, "nine");
		}
		o = opened(&plain, &b);
		assert_int_equal(o->trace->streams[0].start, START_NOT_TOLD);
		assert_int_equal(o->trace->streams[1].start,
				 damaged ? START_MISSING : START_NOT_TOLD);
		close_opened(o);
	}
}

/* What is behind an AUXTRACE is longer than it was, and leads to where another record begins. */
static void a_length_that_leads_over_records_is_a_gap(void **state)
{
	unsigned nr[EV_NR_KINDS] = {0};
	struct buf b = {0};
	struct opened *o;
	size_t aux, behind;

	(void)state;
	perf_switch(&b, 0, 1000, 0, 43, "worker");
	perf_switch(&b, 1, 1050, 0, 9, "other");
	aux = b.len;
	perf_auxtrace(&b);
	behind = b.len;
	for (unsigned i = 0; i < 8; i++)
		perf_switch(&b, 0, 1100 + i, i % 2 ? 0 : 43, i % 2 ? 43 : 0, "worker");
	set_uint(b.data + aux + 8, 4096 + b.len - behind, 8, false);
	perf_switch(&b, 0, 1200, 43, 0, "swapper/0");
	o = opened(&plain, &b);
	for (unsigned i = 0; i < o->nr; i++)
		nr[o->events[i].kind]++;
	assert_true(has_problem(o, "bytes are no records"));
	assert_int_equal(nr[EV_SCHED_SWITCH], 10); /* the one in front may be damaged, too */
	assert_true(nr[EV_LOST]);
	close_opened(o);
}

/* A sample whose type or size became another one's is not passed by as a record of no interest. */
static void a_sample_that_looks_like_another_record_is_a_gap(void **state)
{
	static const struct {
		unsigned offset, bytes;
		uint64_t value;
	} damages[] = {
		{0, 4, 8},   /* PERF_RECORD_READ */
		{0, 4, 10},  /* PERF_RECORD_MMAP2 */
		{0, 4, 13},  /* PERF_RECORD_LOST_SAMPLES */
		{0, 4, 81},  /* PERF_RECORD_COMPRESSED */
		{0, 4, 137}, /* none yet */
		{6, 2, 0},   /* as long as two; filled in below */
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(damages); i++) {
		struct buf b = {0};
		uint64_t value = damages[i].value;
		struct opened *o;
		uint16_t size;
		size_t at = 0;

		many_rounds(&b, 10, 4, &at);
		memcpy(&size, b.data + at + 6, sizeof(size));
		value = value ? value : 2u * size;
		memcpy(b.data + at + damages[i].offset, &value, damages[i].bytes);
		o = opened(&plain, &b);
		assert_int_equal(o->nr, 40 - 1 - !damages[i].value + 2);
		is_lost(&o->events[8], 0, 3500, damages[i].value ? 4500 : 5010);
		assert_int_equal(o->trace->loss.unknown, 1);
		assert_int_equal(o->trace->problems.nr, 1);
		close_opened(o);
	}
}

/* A record of no interest that damage made long would hide all that it reaches over. */
static void a_record_longer_than_its_kind_is_a_gap(void **state)
{
	static const uint32_t types[] = {3, 10, 68, 82}; /* COMM, MMAP2, FINISHED_ROUND, _INIT */
	const size_t head = 8;				 /* the end of the round before */

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		struct buf b = {0};
		uint16_t size = 0;
		struct opened *o;
		size_t at = 0;

		many_rounds(&b, 200, 7, &at);
		memcpy(b.data + at - head, &types[i], sizeof(types[i]));
		/* So long that it ends where a record begins. */
		for (size_t to = at; to < b.len; to += size) {
			uint16_t len = (uint16_t)(to - at + head);

			memcpy(&size, b.data + to + 6, sizeof(size));
			if (to - at > 5200) {
				memcpy(b.data + at - head + 6, &len, sizeof(len));
				break;
			}
		}
		o = opened(&plain, &b);
		assert_true(o->nr > 780);
		assert_int_equal(o->trace->loss.unknown, 1);
		assert_int_equal(o->trace->problems.nr, 1);
		close_opened(o);
	}
}

/* The record before damaged bytes is left out, and its time with it: the gap is from the last one
 * that is sound. */
static void what_stands_before_damage_has_no_time(void **state)
{
	struct buf b = {0};
	size_t first, second;
	struct opened *o;

	(void)state;
	perf_switch(&b, 0, 100, 0, 5, "five");
	perf_finished_round(&b);
	first = b.len;
	perf_switch(&b, 1, 200, 0, 6, "six");
	for (unsigned i = 0; i < 3; i++)
		perf_switch(&b, 1, 300 + i, 6, 6, "six");
	perf_switch(&b, 0, 90000, 5, 0, "swapper"); /* the first of its CPU since */
	second = b.len;
	perf_switch(&b, 1, 600, 6, 6, "six");
	for (unsigned i = 0; i < 4; i++)
		perf_switch(&b, i % 2, 900 + i, 0, 7, "seven");
	memset(b.data + first, 0, 16);
	memset(b.data + second, 0, 16);
	o = opened(&plain, &b);
	assert_int_equal(o->trace->nr_streams, 2);
	assert_int_equal(o->nr, 4 + 6);
	assert_int_equal(o->events[0].time.v, 100);
	is_lost(&o->events[1], 0, 100, 900);
	assert_int_equal(o->events[4].time.v, 300);
	is_lost(&o->events[7], 0, 302, 901);
	close_opened(o);
}

/* A time far from those around it is none, wherever it stands; nor is what is older behind a
 * hole. */
static void times_far_from_their_neighbours_are_gaps(void **state)
{
	static const uint64_t wild[] = {1, 90000000000, UINT64_MAX / 2};
	const uint64_t begin = 5000000000, step = 1000000;

	(void)state;
	for (unsigned k = 0; k < ARRAY_SIZE(wild) * 12; k++) {
		struct buf b = {0};
		struct opened *o;
		unsigned lost = 0;

		for (unsigned i = 0; i < 12; i++) {
			bool is_wild =
				i == k % 12 && i; /* of a first one alone, nothing is known */
			uint64_t time = begin + i * step;

			perf_switch(&b, i % 2, is_wild ? wild[k / 12] : time, 0, 7, "seven");
		}
		o = opened(&plain, &b);
		for (unsigned i = 0; i < o->nr; i++) {
			lost += o->events[i].kind == EV_LOST;
			if (k % 12 >= 2 && k % 12 < 10) {
				assert_true(o->events[i].time.v >= begin);
				assert_true(o->events[i].time.v <= begin + 11 * step);
			}
		}
		assert_true(k % 12 < 2 || k % 12 >= 10 || lost >= 2);
		close_opened(o);
	}
}

/* No record is older than one before it that it cannot have interrupted: since when times are wrong
 * nobody knows, and those behind are believed when they go beyond all before. */
static void times_that_go_back_are_a_gap(void **state)
{
	(void)state;
	for (unsigned wrong = 0; wrong < 3; wrong++) { /* none; too early; too late */
		static const uint64_t times[] = {1400, 1150, 1750};
		struct buf b = {0};
		struct opened *o;
		unsigned told = 24; /* all that are not there */
		char words[64];

		for (unsigned i = 0; i < 12; i++) {
			uint64_t time = i == 4 ? times[wrong] : 1000 + 100 * i;

			perf_switch(&b, 0, time, 0, 7, "seven");
			perf_switch(&b, 1, 1000 + 100 * i, 0, 7, "seven");
			perf_finished_round(&b);
		}
		o = opened(&plain, &b);
		if (!wrong)
			assert_int_equal(o->nr, 24);
		for (unsigned i = 0; i < o->nr && wrong; i++) {
			const struct event *e = &o->events[i];

			if (e->kind != EV_LOST && !o->stream_of[i])
				assert_true(e->time.v < 1100 || e->time.v > times[wrong]);
			if (e->kind != EV_LOST)
				assert_int_equal(e->time.v % 100, 0);
		}
		assert_int_equal(o->trace->loss.unknown > 0, wrong > 0);
		for (unsigned i = 0; i < o->nr; i++)
			told -= o->events[i].kind != EV_LOST;
		snprintf(words, sizeof(words), "not where they stand: %u", told);
		assert_true(!wrong || has_problem(o, words));
		close_opened(o);
	}
}

/* An interrupt's event is later than the one that it interrupted, and than no more. */
static void an_interrupt_is_later_than_one_event_behind_it(void **state)
{
	(void)state;
	for (unsigned behind = 1; behind < 3; behind++) {
		struct buf b = {0};
		struct opened *o;
		size_t at;

		perf_switch(&b, 0, 1000, 0, 7, "seven");
		at = b.len;
		perf_switch(&b, 0, 1500, 7, 7, "seven");
		perf_in_interrupt(&b, at);
		for (unsigned i = 0; i < behind; i++)
			perf_switch(&b, 0, 1300 + 100 * i, 7, 7, "seven");
		perf_switch(&b, 0, 1600, 7, 7, "seven");
		o = opened(&plain, &b);
		assert_int_equal(o->nr, behind == 1 ? 4 : 1);
		assert_int_equal(o->events[o->nr - 1].time.v, 1600);
		assert_int_equal(o->trace->streams[0].start,
				 behind > 1 ? START_MISSING : START_NOT_TOLD);
		assert_int_equal(o->trace->loss.unknown, behind > 1);
		close_opened(o);
	}
}

/* A sample says twice on which CPU it was made: by its number, too. */
static void a_cpu_that_is_not_its_numbers_is_a_gap(void **state)
{
	(void)state;
	for (unsigned wrong = 0; wrong < 3; wrong++) { /* none; the CPU; the number */
		struct buf b = {0};
		struct opened *o;
		unsigned nr = 0;

		for (unsigned i = 0; i < 40; i++) {
			size_t at = b.len;

			perf_switch(&b, i % 2, 1000 + 100 * i, 0, 7, "seven");
			if (i == 20 && wrong == 1)
				set_uint(b.data + at + 40, 1, 4, false);
			if (i == 20 && wrong == 2)
				set_uint(b.data + at + 8, 11, 8, false);
		}
		o = opened(&plain, &b);
		for (unsigned i = 0; i < o->nr; i++)
			nr += o->events[i].kind != EV_LOST;
		assert_int_equal(nr, wrong ? 39 : 40);
		assert_int_equal(o->nr - nr, wrong ? 2 : 0);
		assert_int_equal(o->trace->loss.unknown, wrong > 0);
		close_opened(o);
	}
}

/* An event that was opened once for all CPUs has one number on all of them. */
static void numbers_of_no_one_cpu_prove_nothing(void **state)
{
	struct buf b = {0};
	struct opened *o;

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		perf_switch(&b, 0, 1000 + 100 * i, 0, 7, "seven");
		set_uint(b.data + b.len - (b.len / (i + 1)) + 40, i % 2, 4, false);
	}
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 40);
	close_opened(o);
}

/* Opened for threads, a number is a thread's: two that are mostly on one CPU, one of which moves.
 */
static void numbers_of_threads_prove_nothing(void **state)
{
	struct buf b = {0};
	struct opened *o;

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		size_t at = b.len;

		perf_switch(&b, i % 2, 1000 + 100 * i, 0, 7, "seven");
		set_uint(b.data + at + 40, i > 36, 4, false);
	}
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 40);
	assert_int_equal(o->trace->problems.nr, 0);
	close_opened(o);
}

/* Records that stand where others were are older than what was before the hole, whatever kind comes
 * first.  Which of them are wrong nobody knows: what is between two holes is believed, or not. */
static void older_records_behind_a_hole_are_none(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 3; first++) {
		struct buf b = {0};
		struct opened *o;
		size_t holes[2] = {0};

		for (unsigned i = 0; i < 8; i++) {
			holes[0] = i == 3 ? b.len : holes[0];
			perf_switch(&b, 0, 1000 + 100 * i, 0, 7, "seven");
		}
		holes[1] = b.len;
		perf_switch(&b, 0, 1800, 0, 7, "seven");
		if (first == 1)
			perf_comm(&b, 0, 1250, 5, 6, "six");
		else if (first == 2)
			perf_lost(&b, 0, 1250, 3);
		for (unsigned i = 0; i < 4; i++)
			perf_switch(&b, 0, 1300 + 50 * i, 0, 7, "seven");
		perf_switch(&b, 0, 2000, 0, 7, "seven");
		for (unsigned i = 0; i < ARRAY_SIZE(holes); i++)
			memset(b.data + holes[i], 0, 40);
		o = opened(&plain, &b);
		assert_int_equal(o->nr, 2 + 2); /* what stands before the damage is left out, too */
		assert_int_equal(o->events[1].time.v, 1100);
		is_lost(&o->events[2], 0, 1100, 2000);
		assert_int_equal(o->events[3].time.v, 2000);
		close_opened(o);
	}
}

/* A CPU may be all that goes on, however long: its own records tell, too, how long all of it
 * took. */
static void a_cpu_that_goes_on_alone_is_believed(void **state)
{
	static const uint64_t steps[] = {100000000, 1500000000};
	const uint64_t begin = 5000000000;

	(void)state;
	for (unsigned k = 0; k < ARRAY_SIZE(steps); k++) {
		struct buf b = {0};
		struct opened *o;

		perf_switch(&b, 1, begin, 0, 9, "nine");
		perf_switch(&b, 1, begin + 50000000, 9, 0, "swapper");
		for (unsigned i = 0; i < 40; i++)
			perf_switch(&b, 0, begin + i * steps[k], 0, 7, "seven");
		o = opened(&plain, &b);
		assert_int_equal(o->nr, 42);
		assert_int_equal(o->trace->loss.unknown, 0);
		assert_int_equal(o->trace->problems.nr, 0);
		close_opened(o);
	}
}

/* Nothing is before a CPU's first record: what is behind it, and the other CPUs, tell. */
static void a_first_time_far_from_the_next_is_none(void **state)
{
	static const uint64_t times[] = {100000000000, UINT64_MAX / 2, 1000};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(times); i++) {
		struct buf b = {0};
		struct opened *o;

		perf_switch(&b, 0, times[i], 0, 5, "five");
		for (unsigned k = 0; k < 4; k++) {
			perf_switch(&b, 0, 50000000100 + 100 * k, 5, 5, "five");
			perf_switch(&b, 1, 50000000110 + 100 * k, 6, 6, "six");
		}
		o = opened(&plain, &b);
		assert_int_equal(o->trace->nr_streams, 2);
		assert_int_equal(o->trace->loss.unknown, 1);
		assert_true(o->nr >= 8);
		for (unsigned k = 0; k < o->nr; k++)
			assert_in_range(o->events[k].time.v, 50000000100, 50000000410);
		close_opened(o);
	}
}

/* A CPU of which nothing else is there has no stream. */
static void a_cpu_of_which_nothing_sound_is_there_has_no_stream(void **state)
{
	struct buf b = {0};
	struct opened *o;
	size_t at;

	(void)state;
	perf_switch(&b, 0, 100, 0, 5, "five");
	perf_switch(&b, 1, 90000, 0, 5, "five");
	at = b.len;
	for (unsigned i = 0; i < 5; i++)
		perf_switch(&b, 0, 200 + i, 5, 5, "five");
	memset(b.data + at, 0, 16);
	o = opened(&plain, &b);
	assert_int_equal(o->trace->nr_streams, 1);
	assert_int_equal(o->nr, 1 + 1 + 4);
	is_lost(&o->events[1], 0, 100, 201);
	assert_int_equal(o->events[5].time.v, 204);
	close_opened(o);
}

static bool same_event(const struct opened *a, unsigned i, const struct opened *b, unsigned k)
{
	return a->stream_of[i] == b->stream_of[k] && a->events[i].kind == b->events[k].kind &&
	       a->events[i].time.v == b->events[k].time.v &&
	       a->events[i].arg[1] == b->events[k].arg[1];
}

/* Event @i of the whole file is there, or in a gap of its CPU, or before all that is known. */
static bool accounted_for(const struct opened *whole, unsigned i, const struct opened *cut)
{
	uint64_t time = whole->events[i].time.v;
	bool began = false;

	for (unsigned k = 0; k < cut->nr; k++) {
		const struct event *e = &cut->events[k];
		bool is_last = k + 1 == cut->nr || cut->stream_of[k + 1] != cut->stream_of[k];

		if (cut->stream_of[k] != whole->stream_of[i])
			continue;
		if (same_event(whole, i, cut, k))
			return true;
		if (e->kind == EV_LOST && (uint64_t)e->arg[1] <= time &&
		    (time <= (uint64_t)e->arg[2] || is_last))
			return true;
		began |= e->time.v < time;
	}
	return !began;
}

/* True when a span of the records of many_rounds() reaches over a record's end.  Within one, fields
 * can change and nobody can tell. */
static bool spans_records(size_t from, size_t len, size_t begin)
{
	const size_t record = 128, round = 4 * record + 8;
	size_t in_round = (from - begin) % round;

	return in_round % record + len > record || in_round + len > round;
}

/* Any span of zeros: what is still told was told before, and what is not lies in gaps. */
static void holes_are_never_silent(void **state)
{
	struct buf b = {0}, file;
	struct opened *whole = malloc(sizeof(*whole)), *cut = malloc(sizeof(*cut));
	unsigned seed = 14, found = 0;
	size_t at, begin = 104 + 6 * 8 + 3 * (sizeof(struct perf_event_attr) + 16);

	(void)state;
	many_rounds(&b, 30, 0, &at);
	perf_build(&plain, &b, &file);
	open_bytes(whole, file.data, file.len);
	read_all(whole);
	for (unsigned i = 0; i < 150; i++) {
		size_t from = begin + (size_t)rand_r(&seed) % b.len;
		size_t len = 1 + (size_t)rand_r(&seed) % (begin + b.len - from);
		uint8_t *saved;

		len = i % 2 ? len : len % 200 + 1;
		len = len > begin + b.len - from ? begin + b.len - from : len;
		if (!spans_records(from, len, begin))
			continue;
		saved = malloc(len);
		memcpy(saved, file.data + from, len);
		memset(file.data + from, 0, len);
		if (!open_bytes(cut, file.data, file.len)) {
			read_all(cut);
			for (unsigned k = 0; k < whole->nr; k++)
				assert_true(accounted_for(whole, k, cut));
			found += cut->nr > whole->nr / 2;
		}
		close_file(cut);
		memcpy(file.data + from, saved, len);
		free(saved);
	}
	assert_true(found > 50); /* what is left is read */
	close_opened(whole);
	free(cut);
	free(file.data);
	free(b.data);
}

static void a_pipe_that_ends_early_is_a_gap_at_its_end(void **state)
{
	struct perf_form form = plain;
	struct opened *o = malloc(sizeof(*o));
	struct buf b = {0}, file;

	(void)state;
	form.pipe = true;
	two_rounds(&b);
	perf_build(&form, &b, &file);
	assert_int_equal(open_bytes(o, file.data, file.len - 30), 0);
	read_all(o);
	assert_int_equal(o->trace->loss.unknown, 1);
	assert_int_equal(o->trace->problems.nr, 1);
	is_lost(&o->events[4], 0, 1200, 1250);
	is_lost(&o->events[7], 0, 1250, 1250); /* in place of the last switch */
	assert_int_equal(o->nr, 8);
	close_opened(o);
	free(file.data);
	free(b.data);
}

/* More than one packet, and each decodes on its own. */
static void packets_decode_on_their_own(void **state)
{
	struct buf b = {0};
	struct opened *whole, *parts = malloc(sizeof(*parts));
	struct buf file;
	size_t at;

	(void)state;
	many_rounds(&b, 3000, 0, &at);
	perf_build(&plain, &b, &file);
	open_bytes(parts, file.data, file.len);
	free(file.data);
	whole = opened(&plain, &b);
	assert_true(whole->trace->streams[0].nr_packets > 2);
	for (unsigned s = 0; s < 2; s++) {
		for (uint32_t p = 0; p < parts->trace->streams[s].nr_packets; p++)
			read_range(parts, s, p, 1, 1 + p * 7);
	}
	assert_int_equal(whole->nr, 12000);
	assert_int_equal(parts->nr, 12000);
	for (unsigned i = 0; i < whole->nr; i++) {
		assert_int_equal(whole->events[i].time.v, parts->events[i].time.v);
		assert_int_equal(whole->events[i].arg[1], parts->events[i].arg[1]);
	}
	close_opened(whole);
	close_opened(parts);
}

static void only_wanted_kinds_are_returned(void **state)
{
	struct buf b = {0};
	struct event events[8];
	struct error err = {0};
	struct opened *o;
	struct cursor c;

	(void)state;
	two_rounds(&b);
	o = opened(&plain, &b);
	cursor_init(&c, &o->trace->streams[0], 0, 9, WANT(SOFTIRQ_ENTRY), &err);
	assert_int_equal(cursor_next(&c, events, 8), 1);
	cursor_release(&c);
	cursor_init(&c, &o->trace->streams[0], 0, 9, 0, &err);
	c.from = 1100;
	assert_int_equal(cursor_next(&c, events, 8), 2);
	assert_int_equal(events[0].time.v, 1100);
	cursor_release(&c);
	close_opened(o);
}

/* In a container perf has other numbers for threads than the events' fields: names are left out. */
static void names_of_another_namespace_are_not_taken(void **state)
{
	struct buf b = {0}, data = {0}, raw = {0};
	struct opened *o;

	(void)state;
	perf_comm(&b, 0, 0, 3, 3, "inside");
	put_sample_head(&data, 0, 0, 1000, 3, true);
	payload_switch(&raw, 1003, 0, "swapper/0");
	put_raw(&data, &raw);
	perf_record(&b, PERF_RECORD_SAMPLE, &data);
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 1);
	assert_int_equal(o->events[0].tid, 1003);
	close_opened(o);
	free(data.data);
	free(raw.data);
}

static void unexplained_samples_are_told(void **state)
{
	struct buf b = {0}, data = {0}, raw = {0};
	struct opened *o;

	(void)state;
	perf_switch(&b, 0, 1000, 0, 1, "a");
	put_sample_head(&data, 0, 0, 1010, 3, true); /* not the record of this event */
	payload_common(&raw, 9999, 3);
	put_raw(&data, &raw);
	perf_record(&b, PERF_RECORD_SAMPLE, &data);
	data.len = raw.len = 0;
	put_sample_head(&data, 0, 0, 1020, 3, true); /* its fields are not there */
	payload_common(&raw, ID_SWITCH, 3);
	put_raw(&data, &raw);
	perf_record(&b, PERF_RECORD_SAMPLE, &data);
	data.len = 0;
	put_sample_head(&data, 8, 0, 1030, 3, true); /* an event that is not described */
	put_raw(&data, &raw);
	perf_record(&b, PERF_RECORD_SAMPLE, &data);
	perf_switch(&b, 0, 1040, 1, 2, "b");
	o = opened(&plain, &b);
	assert_int_equal(o->nr, 5);
	is_lost(&o->events[1], 0, 1000, 1020);
	assert_int_equal(o->events[2].kind, EV_OTHER);
	is_lost(&o->events[3], 0, 1020, 1040);
	assert_int_equal(o->trace->problems.nr, 2);
	close_opened(o);
	free(data.data);
	free(raw.data);
}

/* What cannot be read says why. */
static void refused(const uint8_t *data, size_t len, int code, const char *word)
{
	struct opened *o = malloc(sizeof(*o));

	assert_int_equal(open_bytes(o, data, len), code);
	assert_non_null(strstr(o->err.text, word));
	close_opened(o);
}

static void what_cannot_be_read_is_refused_in_words(void **state)
{
	struct perf_form form = plain;
	struct buf b = {0}, none = {0}, file;

	(void)state;
	two_rounds(&b);
	perf_build(&plain, &none, &file);
	refused(file.data, 9, -EINVAL, "ends within its header");
	refused(file.data, file.len, -EINVAL, "was not finished");
	free(file.data);
	form.no_formats = true;
	perf_build(&form, &b, &file);
	refused(file.data, file.len, -EINVAL, "no event formats");
	free(file.data);
	form = plain;
	form.swapped = true;
	perf_build(&form, &b, &file);
	refused(file.data, file.len, -ENOTSUP, "other byte order");
	free(file.data);
	form = plain;
	form.pipe = true;
	perf_build(&form, &none, &file);
	refused(file.data, file.len, -EINVAL, "holds no events");
	free(file.data);
	put_uint(&none, 0, 8);
	perf_record(&b, 81, &none);
	perf_build(&plain, &b, &file);
	refused(file.data, file.len, -ENOTSUP, "compressed");
	free(file.data);
	free(b.data);
	free(none.data);
}

/* Without -a the switches of all others are missing, and no gap says so. */
static void a_file_of_threads_is_refused(void **state)
{
	(void)state;
	for (int tid = -1; tid < 2; tid += 2) {
		struct buf records = {0}, data = {0}, file;

		put_uint(&data, 2, 8);
		for (uint64_t i = 0; i < 2; i++) {
			put_uint(&data, 100 + i, 8);
			put_uint(&data, i, 8);
			put_uint(&data, i, 8);
			put_uint(&data, (uint64_t)(int64_t)tid, 8);
		}
		perf_record(&records, 69, &data);
		perf_switch(&records, 0, 1000, 0, 1, "a");
		if (tid < 0) {
			close_opened(opened(&plain, &records));
		} else {
			perf_build(&plain, &records, &file);
			refused(file.data, file.len, -ENOTSUP, "perf record -a");
			free(file.data);
			free(records.data);
		}
		free(data.data);
	}
}

/* A pipe cut anywhere gives the first events of the whole, or says why there are none. */
static void a_file_cut_anywhere_does_no_harm(void **state)
{
	struct perf_form form = plain;
	struct opened *o = malloc(sizeof(*o));
	struct buf b = {0}, file;

	(void)state;
	form.pipe = true;
	two_rounds(&b);
	perf_build(&form, &b, &file);
	for (size_t len = 8; len < file.len; len += 61) {
		if (open_bytes(o, file.data, len))
			assert_true(strlen(o->err.text) > 0);
		else
			read_all(o);
		close_file(o);
	}
	free(o);
	free(file.data);
	free(b.data);
}

static void no_flipped_bit_does_harm(void **state)
{
	struct opened *o = malloc(sizeof(*o));
	struct buf b = {0}, file;

	(void)state;
	two_rounds(&b);
	perf_build(&plain, &b, &file);
	for (size_t i = 8; i < file.len; i += 29) {
		file.data[i] ^= (uint8_t)(1u << i % 8);
		if (open_bytes(o, file.data, file.len))
			assert_true(strlen(o->err.text) > 0);
		else
			read_all(o);
		for (unsigned k = 1; k < o->nr; k++)
			assert_true(o->stream_of[k] != o->stream_of[k - 1] ||
				    o->events[k].time.v >= o->events[k - 1].time.v);
		close_file(o);
		file.data[i] ^= (uint8_t)(1u << i % 8);
	}
	free(o);
	free(file.data);
	free(b.data);
}

#define SHARING 1000
#define SHARED_IDS 5000

/* Attributes that all name one section of numbers: a small file is not work without end. */
static void attributes_that_share_their_numbers_are_bounded(void **state)
{
	struct opened *o = malloc(sizeof(*o));
	struct buf b = {0}, file;
	uint64_t each, attrs, ids, table;
	uint32_t nr = 0;

	(void)state;
	two_rounds(&b);
	perf_build(&plain, &b, &file);
	memcpy(&each, file.data + 16, 8);
	memcpy(&attrs, file.data + 24, 8);
	ids = file.len;
	for (unsigned i = 0; i < SHARED_IDS; i++)
		put_uint(&file, 10, 8);
	table = file.len;
	for (unsigned i = 0; i < SHARING; i++) {
		struct perf_event_attr attr;

		memcpy(&attr, file.data + attrs, sizeof(attr));
		put(&file, &attr, sizeof(attr));
		put_uint(&file, ids, 8);
		put_uint(&file, SHARED_IDS * 8, 8);
	}
	memcpy(file.data + 24, &table, 8);
	table = SHARING * each;
	memcpy(file.data + 32, &table, 8);
	if (!open_bytes(o, file.data, file.len)) {
		const struct perf *p = o->trace->reader;

		for (uint32_t i = 0; i < p->attrs.nr; i++)
			nr += p->attrs.list[i].nr_ids;
		assert_int_equal(p->attrs.nr, SHARING);
		assert_in_range(nr, SHARED_IDS, 1u << 22);
	}
	assert_non_null(o->trace);
	close_opened(o);
	free(file.data);
	free(b.data);
}

/* Reads a part, the first of a zstd frame or not, that stands at @where in its file. */
static void part_enters(struct perf_parts *p, bool begins_frame)
{
	static uint32_t nr;
	uint32_t data[2] = {begins_frame ? ZSTD_MAGIC : 0, ++nr};

	assert_true(perf_parts_enter(p, (const uint8_t *)data, sizeof(data)));
}

/* A part with four samples of CPU 0 at @time; whether it is believed. */
static bool is_believed(struct perf_parts *p, uint64_t time, const enum perf_level *level)
{
	static uint64_t nr;
	struct perf_place place = {.time = time};
	int ret = 1;

	part_enters(p, false);
	for (unsigned i = 0; i < 4 && ret == 1; i++) {
		uint64_t data = ++nr;

		ret = perf_parts_sample(p, &(struct perf_part_sample){(const uint8_t *)&data,
								      sizeof(data), &place, level});
	}
	assert_int_equal(perf_parts_add(p, (struct perf_part_place){0}), 0);
	return ret == 1;
}

/* A file of a directory is a CPU's or a thread's; what is late in the one may be early in another.
 */
static void times_go_back_within_a_file_only(void **state)
{
	static const enum perf_level task = PERF_TASK;
	const enum perf_level *levels[] = {NULL, &task};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(levels); i++) {
		struct perf_parts p;

		assert_int_equal(perf_parts_init(&p), 0);
		perf_parts_begin(&p);
		assert_true(is_believed(&p, 1000, levels[i]));
		assert_true(is_believed(&p, 2000, levels[i]));
		perf_parts_begin(&p);
		assert_true(is_believed(&p, 500, levels[i]));
		assert_false(is_believed(&p, 10, levels[i]));
		perf_parts_release(&p);
	}
}

/* Where the part that is read is damaged, nothing is believed from @at on; 0: from there. */
static void assert_back(const struct perf_parts *p, uint64_t at)
{
	const struct perf_part_place *back = perf_parts_back(p);

	assert_int_equal(back ? back->at : 0, at);
}

/* Parts of a file are numbered from 1 on here.  Its first may be of an old frame. */
static void damage_takes_back_a_frame_of_its_file(void **state)
{
	static const struct {
		bool begins_frame;
		uint64_t back; /* which part */
	} parts[] = {{false, 0}, {false, 1}, {true, 2},	 {false, 3}, {false, 3},
		     {true, 5},	 {true, 6},  {false, 7}, {false, 7}, {false, 7},
		     {false, 7}, {false, 7}, {false, 7}, {false, 8}, {false, 9}};
	struct perf_parts p;

	(void)state;
	assert_int_equal(perf_parts_init(&p), 0);
	for (unsigned file = 0; file < 2; file++) {
		perf_parts_begin(&p);
		for (unsigned i = 0; i < ARRAY_SIZE(parts); i++) {
			part_enters(&p, parts[i].begins_frame);
			assert_back(&p, parts[i].back);
			assert_int_equal(perf_parts_add(&p, (struct perf_part_place){i + 1, 0}), 0);
		}
	}
	perf_parts_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_and_a_pipe_read_the_same),
		cmocka_unit_test(fields_are_found_by_name),
		cmocka_unit_test(samples_without_a_number_are_told_apart_by_their_record),
		cmocka_unit_test(clocks_are_told_apart),
		cmocka_unit_test(records_are_sorted_by_time),
		cmocka_unit_test(flags_that_are_not_common_are_not_looked_at),
		cmocka_unit_test(a_packet_begins_with_the_first_of_all_its_records),
		cmocka_unit_test(what_is_there_twice_counts_once),
		cmocka_unit_test(names_written_twice_are_no_news),
		cmocka_unit_test(a_file_of_threads_is_refused),
		cmocka_unit_test(lost_events_are_an_interval),
		cmocka_unit_test(a_loss_of_no_cpu_is_a_gap_on_every_cpu),
		cmocka_unit_test(a_hole_ends_with_an_event),
		cmocka_unit_test(what_a_filter_dropped_is_not_lost),
		cmocka_unit_test(a_thread_that_is_not_its_records_is_a_gap),
		cmocka_unit_test(events_lost_at_the_end_are_told),
		cmocka_unit_test(damaged_bytes_are_a_gap_on_every_cpu),
		cmocka_unit_test(a_cpu_that_begins_behind_a_hole_lacks_its_beginning),
		cmocka_unit_test(a_length_that_leads_over_records_is_a_gap),
		cmocka_unit_test(a_sample_that_looks_like_another_record_is_a_gap),
		cmocka_unit_test(a_record_longer_than_its_kind_is_a_gap),
		cmocka_unit_test(what_stands_before_damage_has_no_time),
		cmocka_unit_test(times_far_from_their_neighbours_are_gaps),
		cmocka_unit_test(times_that_go_back_are_a_gap),
		cmocka_unit_test(an_interrupt_is_later_than_one_event_behind_it),
		cmocka_unit_test(a_cpu_that_is_not_its_numbers_is_a_gap),
		cmocka_unit_test(numbers_of_no_one_cpu_prove_nothing),
		cmocka_unit_test(numbers_of_threads_prove_nothing),
		cmocka_unit_test(older_records_behind_a_hole_are_none),
		cmocka_unit_test(a_cpu_that_goes_on_alone_is_believed),
		cmocka_unit_test(a_first_time_far_from_the_next_is_none),
		cmocka_unit_test(a_cpu_of_which_nothing_sound_is_there_has_no_stream),
		cmocka_unit_test(holes_are_never_silent),
		cmocka_unit_test(a_pipe_that_ends_early_is_a_gap_at_its_end),
		cmocka_unit_test(packets_decode_on_their_own),
		cmocka_unit_test(only_wanted_kinds_are_returned),
		cmocka_unit_test(names_of_another_namespace_are_not_taken),
		cmocka_unit_test(unexplained_samples_are_told),
		cmocka_unit_test(what_cannot_be_read_is_refused_in_words),
		cmocka_unit_test(a_file_cut_anywhere_does_no_harm),
		cmocka_unit_test(no_flipped_bit_does_harm),
		cmocka_unit_test(attributes_that_share_their_numbers_are_bounded),
		cmocka_unit_test(times_go_back_within_a_file_only),
		cmocka_unit_test(damage_takes_back_a_frame_of_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
