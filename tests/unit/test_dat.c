/* SPDX-License-Identifier: Apache-2.0 */
/* source/dat: trace.dat files made here, byte by byte, are read right; broken ones do no harm. */
#include "tests/unit/unit.h"

#include "source/dat/events.h"
#include "source/dat/format.h"
#include "source/trace.h"
#include "tests/unit/dat_build.h"
#include "tests/unit/lost_thread.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define EVENTS_MAX 4096

/* A file that was made and opened, and all its events. */
struct opened {
	char path[64];
	struct trace *trace;
	struct error err;
	struct event events[EVENTS_MAX];
	unsigned stream_of[EVENTS_MAX];
	unsigned nr;
	struct cursor cursors[16]; /* kept: events point into their buffers */
	unsigned nr_cursors;
};

static const struct dat_form plain6 = {.version = 6, .long_size = 8, .packing = "none"};
static const struct dat_form zstd7 = {.version = 7, .long_size = 8, .packing = "zstd"};

static int open_bytes(struct opened *o, const uint8_t *data, size_t len)
{
	int fd;

	memset(o, 0, sizeof(*o));
	strcpy(o->path, "/tmp/sonde-test-dat-XXXXXX");
	fd = mkstemp(o->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
	return trace_open(&o->trace, o->path, &o->err);
}

static void read_range(struct opened *o, unsigned stream, uint32_t first, uint32_t nr,
		       unsigned room)
{
	struct cursor *c = &o->cursors[o->nr_cursors++];
	struct error err = {0};
	unsigned n;

	assert_int_equal(cursor_init(c, &o->trace->streams[stream], first, nr, 0, &err), 0);
	while (o->nr + room <= EVENTS_MAX && (n = cursor_next(c, o->events + o->nr, room))) {
		for (unsigned i = 0; i < n; i++)
			o->stream_of[o->nr + i] = stream;
		o->nr += n;
	}
}

static void read_all(struct opened *o)
{
	for (unsigned i = 0; i < o->trace->nr_streams && i < 16; i++)
		read_range(o, i, 0, o->trace->streams[i].nr_packets, 64);
}

static void close_opened(struct opened *o)
{
	while (o->nr_cursors)
		cursor_release(&o->cursors[--o->nr_cursors]);
	trace_release(o->trace);
	unlink(o->path);
}

static void open_pages(struct opened *o, const struct dat_form *form, const struct pages *cpus,
		       unsigned nr)
{
	struct buf file;

	dat_build(form, cpus, nr, &file);
	open_bytes(o, file.data, file.len);
	assert_string_equal(o->err.text, "");
	free(file.data);
}

static const char *printed(struct opened *o, unsigned i, char *text, size_t room)
{
	size_t len =
		trace_event_print(&o->trace->streams[o->stream_of[i]], &o->events[i], text, room);

	assert_true(len < room);
	assert_int_equal(len, strlen(text));
	return text;
}

/* Two CPUs: switches on the first, one event of every field shape on the second. */
static void two_cpus(const struct dat_form *form, struct pages cpus[2])
{
	struct buf b = {.big = form->big};

	cpus[0] = (struct pages){.form = form};
	page_begin(&cpus[0], 1000);
	page_switch(&cpus[0], 0, 0, 42, "worker one");
	page_switch(&cpus[0], 100, 42, 7, "sixteen_bytes_xx");
	page_end(&cpus[0]);
	page_begin(&cpus[0], 2000);
	page_switch(&cpus[0], 5, 7, 0, "swapper/0");
	page_end(&cpus[0]);
	cpus[1] = (struct pages){.form = form};
	page_begin(&cpus[1], 1500);
	payload_demo(&b);
	page_record(&cpus[1], 1, b.data, b.len);
	page_end(&cpus[1]);
	free(b.data);
}

static void check_two_cpus(const struct dat_form *form)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct pages cpus[2];
	struct event *e = o->events;
	char text[512];

	two_cpus(form, cpus);
	open_pages(o, form, cpus, 2);
	assert_string_equal(o->trace->hostname, "box");
	assert_string_equal(o->trace->release, "6.1.0");
	assert_string_equal(o->trace->tracer, "trace-cmd 3.1.6");
	assert_int_equal(o->trace->nr_streams, 2);
	assert_int_equal(o->trace->streams[0].packets[0].begin, 1000);
	assert_int_equal(o->trace->nr_comms, 2);
	assert_int_equal(o->trace->comms[1].tid, 42);
	assert_string_equal(o->trace->comms[1].name, "worker one");
	read_all(o);
	assert_int_equal(o->nr, 4);
	assert_int_equal(e[0].time.v, 1000);
	assert_int_equal(e[1].time.v, 1100);
	assert_int_equal(e[2].time.v, 2005);
	assert_int_equal(e[1].kind, EV_SCHED_SWITCH);
	assert_int_equal(e[1].tid, 42);
	assert_int_equal(e[1].arg[0], 42);
	assert_int_equal(e[1].arg[1], 7);
	assert_int_equal(e[1].arg[2], 1);
	assert_memory_equal(event_str(&e[1], 3), "sixteen_bytes_xx", 16);
	assert_string_equal(event_str(&e[1], 4), "prev-42");
	assert_string_equal(printed(o, 0, text, sizeof(text)),
			    "prev_comm=\"prev-0\" prev_pid=0 prev_prio=120 prev_state=1 "
			    "next_comm=\"worker one\" next_pid=42 next_prio=120");
	assert_int_equal(e[3].kind, EV_OTHER);
	assert_int_equal(e[3].time.v, 1501);
	assert_int_equal(e[3].tid, 77);
	assert_string_equal(
		printed(o, 3, text, sizeof(text)),
		"small=200 below=-2 addr=[1, 2, 3, 255] name=\"abcd\" tail=\"xy\" "
		"list=[65535, 7] odd=[9, 8, 7] pair=[-1, 1] where=18446612682070032384");
	assert_int_equal(o->trace->problems.nr, 0);
	assert_int_equal(o->trace->loss.unknown, 0);
	close_opened(o);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

static void every_version_and_packing_reads_the_same(void **state)
{
	static const char *const packings[] = {"none", "zstd", "zlib"};

	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		for (unsigned long_size = 4; long_size <= 8; long_size += 4) {
			struct dat_form form = {.version = 6,
						.big = big,
						.long_size = long_size,
						.packing = "none"};

			check_two_cpus(&form);
			form.short_last_page = true;
			check_two_cpus(&form);
			form.version = 7;
			for (unsigned i = 0; i < 3; i++) {
				form.packing = packings[i];
				check_two_cpus(&form);
			}
		}
	}
}

static void negative_numbers_stay_negative(void **state)
{
	struct dat_form form = plain6;

	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		struct opened *o = calloc(1, sizeof(*o));
		struct pages p = {.form = &form};

		form.big = big;
		page_begin(&p, 1);
		page_switch(&p, 1, -3, -1, "x");
		set_uint(p.b.data + p.used - 60, 3, 4, big); /* who does it has a number */
		page_softirq(&p, 1, 0xffffffff);
		page_end(&p);
		open_pages(o, &form, &p, 1);
		read_all(o);
		assert_int_equal(o->nr, 2);
		assert_int_equal(o->events[0].tid, 3);
		assert_true(o->events[0].arg[0] == -3);
		assert_true(o->events[0].arg[1] == -1);
		assert_true(o->events[1].arg[0] == 0xffffffff);
		close_opened(o);
		free(p.b.data);
		free(o);
	}
}

static void time_is_kept_through_all_record_kinds(void **state)
{
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));
	struct buf b = {.big = false};
	const uint64_t high = UINT64_C(3) << 59;

	(void)state;
	page_begin(&p, high + 1000);
	page_switch(&p, 0, 1, 2, "a");
	page_head(&p, 30, 5); /* time extend: 5 + (2 << 27) */
	page_word(&p, 2);
	page_switch(&p, 1, 2, 3, "b");
	page_head(&p, 29, 10); /* a discarded record of 12 bytes: its time counts */
	page_word(&p, 8);
	page_word(&p, 0xdeadbeef);
	page_switch(&p, 1, 3, 4, "c");
	page_head(&p, 31, 7); /* absolute time, low 59 bits: 7 + (4 << 27) */
	page_word(&p, 4);
	page_end(&p);
	page_begin(&p, high + 9000000000);
	payload_switch(&b, 4, 5, "long form");
	page_head(&p, 0, 3); /* length in a word of its own */
	page_word(&p, (uint32_t)b.len + 4);
	page_bytes(&p, b.data, b.len);
	page_head(&p, 29, 0); /* the page ends here, whatever follows */
	page_word(&p, 0xdeadbeef);
	page_end(&p);
	open_pages(o, &form, &p, 1);
	read_all(o);
	assert_int_equal(o->nr, 4);
	assert_int_equal(o->events[0].time.v, high + 1000);
	assert_int_equal(o->events[1].time.v, high + 1000 + 5 + (2 << 27) + 1);
	assert_int_equal(o->events[2].time.v, o->events[1].time.v + 11);
	assert_int_equal(o->events[3].time.v, high + 9000000003);
	assert_int_equal(o->events[3].arg[1], 5);
	assert_int_equal(o->trace->problems.nr, 0);
	close_opened(o);
	free(b.data);
	free(p.b.data);
	free(o);
}

static void an_absolute_time_sets_the_clock(void **state)
{
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));
	const uint64_t high = UINT64_C(3) << 59;

	(void)state;
	page_begin(&p, high + 1000);
	page_switch(&p, 0, 1, 2, "a");
	page_head(&p, 31, 7);
	page_word(&p, 4);
	page_switch(&p, 2, 2, 3, "b");
	page_head(&p, 31, 1); /* lower than before: the low 59 bits went round */
	page_word(&p, 0);
	page_switch(&p, 0, 3, 4, "c");
	page_end(&p);
	open_pages(o, &form, &p, 1);
	read_all(o);
	assert_int_equal(o->nr, 3);
	assert_int_equal(o->events[1].time.v, high + 7 + (4 << 27) + 2);
	assert_int_equal(o->events[2].time.v, high + (UINT64_C(1) << 59) + 1);
	close_opened(o);
	free(p.b.data);
	free(o);
}

/* Pages of one switch each; @lost of them, by number, begin with a loss. */
static void fill_pages(struct pages *p, unsigned nr, unsigned uncounted, unsigned counted)
{
	for (unsigned i = 0; i < nr; i++) {
		page_begin(p, 1000 * (i + 1));
		page_switch(p, 1, (int)i, (int)i + 1, "x");
		page_switch(p, 1, (int)i, (int)i + 1, "x");
		if (i && i == uncounted)
			page_end_lost(p, 1u << 31, 0);
		else if (i && i == counted)
			page_end_lost(p, 1u << 31 | 1u << 30, 17);
		else
			page_end(p);
	}
}

static void lost_events_are_told_and_counted_once(void **state)
{
	static const unsigned long_sizes[] = {8, 4};
	struct dat_form form = plain6;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct opened *o = calloc(1, sizeof(*o));
		struct pages p = {.form = &form};

		form.long_size = long_sizes[i];
		fill_pages(&p, 8, 3, 5);
		open_pages(o, &form, &p, 1);
		read_all(o);
		assert_int_equal(o->nr, 18);
		assert_int_equal(o->events[6].kind, EV_LOST);
		assert_int_equal(o->events[6].arg[0], 0);
		assert_int_equal(o->events[6].arg[1], 3002);
		assert_int_equal(o->events[6].arg[2], 4000);
		assert_int_equal(o->events[6].time.v, 3002);
		assert_int_equal(o->events[11].kind, EV_LOST);
		assert_int_equal(o->events[11].arg[0], 17);
		assert_int_equal(o->trace->loss.events, 17);
		assert_int_equal(o->trace->loss.unknown, 1);
		o->nr = 0;
		read_all(o); /* again: the loss is the same */
		assert_int_equal(o->trace->loss.events, 17);
		assert_int_equal(o->trace->loss.unknown, 1);
		assert_int_equal(losses_have_the_thread_before(o->trace), 2);
		close_opened(o);
		free(p.b.data);
		free(o);
	}
}

static void option_stats(struct buf *b)
{
	put_text_option(b, 2,
			"CPU: 0\nentries: 0\noverrun: 20\ncommit overrun: 1\nbytes: 9\n"
			"dropped events: 2\nread events: 5\n");
}

static void the_kernels_count_of_lost_events_is_not_added_to_the_pages(void **state)
{
	struct dat_form form = zstd7;
	struct opened *o = calloc(1, sizeof(*o));
	struct pages p = {.form = &form};

	(void)state;
	form.more_options = option_stats;
	fill_pages(&p, 8, 3, 5);
	open_pages(o, &form, &p, 1);
	assert_int_equal(o->trace->loss.events, 23);
	read_all(o);
	assert_int_equal(o->trace->loss.events, 23);
	assert_int_equal(o->trace->loss.unknown, 0);
	close_opened(o);
	free(p.b.data);
	free(o);
}

static void option_of_ours(struct buf *b)
{
	put_text_option(b, 9, "sonde");
	put_text_option(b, 2, "CPU: 0\nentries: 7\noverrun: 0\nread events: 19\n");
}

static void option_of_others(struct buf *b)
{
	put_text_option(b, 9, "3.1.6 abc");
	put_text_option(b, 2, "CPU: 0\nentries: 7\noverrun: 0\nread events: 19\n");
}

/* What a recorder counted is held against what there is.  A file of others may be an excerpt. */
static void what_was_not_saved_is_missing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct dat_form form = zstd7;
		struct opened *o = calloc(1, sizeof(*o));
		struct pages p = {.form = &form};
		const struct event *last;

		form.more_options = i ? option_of_others : option_of_ours;
		fill_pages(&p, 8, 0, 0);
		open_pages(o, &form, &p, 1);
		read_all(o);
		last = &o->events[o->nr - 1];
		assert_int_equal(o->nr, 16 + !i);
		assert_int_equal(last->kind == EV_LOST, !i);
		assert_int_equal(last->time.v, 8002);
		assert_int_equal(o->trace->loss.events, i ? 0 : 26 - 16);
		assert_int_equal(o->trace->problems.nr, i ? 0 : 2);
		assert_int_equal(o->trace->excerpt_of, i ? 26 : 0);
		assert_int_equal(o->trace->excerpt, i ? 16 : 0);
		close_opened(o);
		free(p.b.data);
		free(o);
	}
}

/* Two CPUs of 16 events each, and what their recorder says that it read of them. */
static const char *counts_of; /* its name */
static const char *counts[2];

static void option_counts(struct buf *b)
{
	put_text_option(b, 9, counts_of);
	for (unsigned i = 0; i < 2; i++) {
		char text[128];

		snprintf(text, sizeof(text), "CPU: %u\noldest event ts: %sentries: 0\n", i,
			 counts[i]);
		put_text_option(b, 2, text);
	}
}

/* What is known to be missing of the first CPU: nothing, a page in its midst, events in front of one.
 */
enum known_gap { NO_GAP, ZEROED, UNCOUNTED };

/* How many gaps there are of the first CPU, when what is missing is to be shown. */
static unsigned gaps_shown(struct opened *o, const char *recorder, const char *first,
			   const char *second, enum known_gap known)
{
	struct dat_form form = plain6;
	struct pages p[2] = {{.form = &form}, {.form = &form}};
	unsigned before, gaps = 0;

	counts_of = recorder;
	counts[0] = first;
	counts[1] = second;
	form.more_options = option_counts;
	fill_pages(&p[0], 8, known == UNCOUNTED ? 3 : 0, 0);
	fill_pages(&p[1], 8, 0, 0);
	if (known == ZEROED)
		memset(p[0].b.data + 3 * BUILD_PAGE, 0, BUILD_PAGE);
	open_pages(o, &form, p, 2);
	assert_false(trace_lacks_events(o->trace)); /* not read yet */
	read_all(o);
	before = o->nr;
	if (trace_lacks_events(o->trace)) {
		assert_int_equal(before, known == ZEROED ? 27 : 32 + (known == UNCOUNTED));
		assert_int_equal(trace_show_lacking(o->trace), 0);
		assert_false(trace_lacks_events(o->trace)); /* it is shown */
	}
	o->nr = 0;
	read_all(o);
	for (unsigned i = 0; i < o->nr; i++) {
		gaps += o->events[i].kind == EV_LOST;
		assert_true(o->events[i].kind != EV_LOST || o->stream_of[i] == 0);
	}
	free(p[0].b.data);
	free(p[1].b.data);
	return gaps;
}

static void events_that_only_a_count_tells_of_are_gaps_at_every_seam(void **state)
{
	static const struct {
		const char *recorder, *first, *second;
		unsigned gaps;
		uint64_t lost, excerpt_of;
	} cases[] = {
		/* in front of each page; and behind the last, where the last that was read is
		 * later */
		{"sonde", "8000\nread events: 19\n", "8000\nread events: 16\n", 8, 3, 0},
		{"sonde", "8003\nread events: 19\n", "8003\nread events: 16\n", 9, 3, 0},
		{"sonde", "8000\nread events: 16\n", "8000\nread events: 16\n", 0, 0, 0},
		/* another CPU has all of its own; or the end is there, and the most of it */
		{"3.1.6", "9000\nread events: 900\n", "9000\nread events: 16\n", 9, 884, 0},
		{"3.1.6", "    0.000008\nread events: 30\n", "9.0\nread events: 0\n", 8, 14, 0},
		/* an excerpt; that nothing was read of a CPU says nothing */
		{"3.1.6", "9000\nread events: 900\n", "9000\nread events: 0\n", 0, 0, 900},
		{"3.1.6", "9000\nread events: 19\n", "9000\nread events: 17\n", 0, 0, 36},
		{"3.1.6", "8000\nread events: 90\n", "8000\nread events: 99\n", 0, 0, 189},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct opened *o = calloc(1, sizeof(*o));

		assert_int_equal(
			gaps_shown(o, cases[i].recorder, cases[i].first, cases[i].second, NO_GAP),
			cases[i].gaps);
		assert_int_equal(o->trace->loss.events, cases[i].lost);
		assert_int_equal(o->trace->problems.nr, cases[i].lost != 0);
		assert_int_equal(o->trace->excerpt_of, cases[i].excerpt_of);
		close_opened(o);
		free(o);
	}
}

/* An excerpt has all events of its time: one that is missing in front of another proves that the
 * file is none. */
static void an_excerpt_ends_at_one_moment(void **state)
{
	static const struct {
		const char *first;
		bool excerpt;
	} cases[] = {
		{"12003\nread events: 900\n", true},  /* behind all that is there */
		{"12002\nread events: 900\n", false}, /* as late as the other CPU's last */
		{"8003\nread events: 900\n", false},
		{"8002\nread events: 900\n", true}, /* that one is there */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct opened *o = calloc(1, sizeof(*o));
		struct dat_form form = plain6;
		struct pages p[2] = {{.form = &form}, {.form = &form}};

		counts_of = "3.1.6";
		counts[0] = cases[i].first;
		counts[1] = "99000\nread events: 900\n";
		form.more_options = option_counts;
		fill_pages(&p[0], 8, 0, 0);
		fill_pages(&p[1], 12, 0, 0);
		open_pages(o, &form, p, 2);
		read_all(o);
		assert_int_equal(o->trace->excerpt_of != 0, cases[i].excerpt);
		assert_int_equal(trace_lacks_events(o->trace), !cases[i].excerpt);
		free(p[0].b.data);
		free(p[1].b.data);
		close_opened(o);
		free(o);
	}
}

/* What a gap that is known may hold is not looked for elsewhere; what it cannot hold is. */
static void a_known_gap_may_hold_what_is_missing(void **state)
{
	static const struct {
		const char *first;
		enum known_gap known;
		unsigned gaps;
	} cases[] = {
		/* A page of zeros and the two next to it: one gap, and four other pages' seams. */
		{"8000\nread events: 16\n", ZEROED, 1},
		{"8000\nread events: 900\n", ZEROED, 5},
		{"8000\nread events: 900\n", UNCOUNTED, 1},
		{"8000\noverrun: 3\nread events: 19\n", UNCOUNTED, 8}, /* what that gap lacks */
		{"8000\nentries: 3\nread events: 16\n", NO_GAP, 1},    /* the end, not saved */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct opened *o = calloc(1, sizeof(*o));

		assert_int_equal(gaps_shown(o, "sonde", cases[i].first, "8000\nread events: 16\n",
					    cases[i].known),
				 cases[i].gaps);
		close_opened(o);
		free(o);
	}
}

static void option_now(struct buf *b)
{
	put_text_option(b, 9, "3.1.6");
	put_text_option(b, 2, "CPU: 0\nentries: 0\nnow ts:     0.000009\nread events: 0\n");
}

/* A CPU's first page has nothing in front of it, the last one nothing behind: other CPUs tell, or
 * when the counters were read. */
static void a_page_of_another_time_is_not_believed(void **state)
{
	static const struct {
		const struct dat_form *form;
		unsigned page;
		uint64_t time;
		bool counted, believed;
	} cases[] = {
		{&plain6, 0, 0, false, true}, /* as it is */
		{&plain6, 7, UINT64_C(1) << 50, false, false},
		{&zstd7, 7, UINT64_C(1) << 50, false, false},
		{&plain6, 0, UINT64_C(1) << 50, false, false},
		{&plain6, 7, UINT64_C(1) << 40, false, true}, /* an idle CPU may be that late */
		{&plain6, 7, UINT64_C(1) << 40, true, false}, /* not after all has ended */
		{&zstd7, 7, UINT64_C(1) << 40, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct dat_form form = *cases[i].form;
		struct pages p[2] = {{.form = &form}, {.form = &form}};
		struct opened *o = calloc(1, sizeof(*o));
		unsigned lost = 0;

		form.more_options = cases[i].counted ? option_now : NULL;
		fill_pages(&p[0], 8, 0, 0);
		fill_pages(&p[1], 8, 0, 0);
		if (cases[i].time)
			set_uint(p[0].b.data + (size_t)cases[i].page * BUILD_PAGE, cases[i].time, 8,
				 false);
		open_pages(o, &form, p, 2);
		read_all(o);
		for (unsigned e = 0; e < o->nr; e++)
			lost += o->events[e].kind == EV_LOST;
		assert_int_equal(lost, !cases[i].believed);
		assert_int_equal(o->nr - lost, cases[i].believed ? 32 : 30);
		assert_int_equal(o->trace->problems.nr, !cases[i].believed);
		close_opened(o);
		free(p[0].b.data);
		free(p[1].b.data);
		free(o);
	}
}

/* The same in front: of a page that is far too early. */
static void a_first_page_far_too_early_is_not_believed(void **state)
{
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		page_begin(&p, (i ? UINT64_C(1) << 50 : 0) + 1000 * (i + 1));
		page_switch(&p, 1, (int)i, (int)i + 1, "x");
		page_end(&p);
	}
	open_pages(o, &form, &p, 1);
	assert_int_equal(o->trace->streams[0].packets[0].begin, (UINT64_C(1) << 50) + 2000);
	read_all(o);
	assert_int_equal(o->nr, 4);
	assert_int_equal(o->events[0].kind, EV_LOST);
	close_opened(o);
	free(p.b.data);
	free(o);
}

static void option_now_hours_later(struct buf *b)
{
	put_text_option(b, 9, "3.1.6");
	put_text_option(b, 2, "CPU: 0\nentries: 0\nnow ts: 80000.000000\nread events: 0\n");
}

/* Of three pages that are hours from each other none is far, whatever a fourth one's time is. */
static void pages_of_a_cpu_that_sleeps_for_hours_are_believed(void **state)
{
	static const uint64_t times[] = {1000, UINT64_C(1) << 45, UINT64_C(1) << 46,
					 UINT64_C(1) << 47};
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));
	unsigned lost = 0;

	(void)state;
	form.more_options = option_now_hours_later;
	for (unsigned i = 0; i < 4; i++) {
		page_begin(&p, times[i]);
		page_switch(&p, 1, (int)i, (int)i + 1, "x");
		page_end(&p);
	}
	open_pages(o, &form, &p, 1);
	read_all(o);
	for (unsigned i = 0; i < o->nr; i++)
		lost += o->events[i].kind == EV_LOST;
	assert_int_equal(lost, 1);
	assert_int_equal(o->nr - lost, 3);
	close_opened(o);
	free(p.b.data);
	free(o);
}

/* Any cut of a stream into ranges gives the events that reading it whole gives. */
static void packets_decode_on_their_own(void **state)
{
	struct dat_form forms[] = {plain6, zstd7};

	(void)state;
	for (unsigned f = 0; f < 2; f++) {
		struct opened *whole = calloc(1, sizeof(*whole));
		struct opened *parts = calloc(1, sizeof(*parts));
		struct pages p = {.form = &forms[f]};
		uint32_t nr_packets;

		forms[f].chunk_pages = 10; /* as trace-cmd has it */
		/* 510 pages a packet, plain or packed: page 510 is the first of the second packet
		 */
		fill_pages(&p, 1400, 510, 1020);
		open_pages(whole, &forms[f], &p, 1);
		open_pages(parts, &forms[f], &p, 1);
		nr_packets = whole->trace->streams[0].nr_packets;
		assert_int_equal(nr_packets, 3);
		assert_int_equal(whole->trace->streams[0].packets[1].lost, UINT64_MAX);
		assert_int_equal(whole->trace->streams[0].packets[2].lost, 17);
		assert_int_equal(whole->trace->streams[0].packets[1].begin, 511000);
		read_all(whole);
		for (uint32_t i = 0; i < nr_packets; i++)
			read_range(parts, 0, i, 1, 1 + i * 7);
		assert_int_equal(whole->nr, 2802);
		assert_int_equal(parts->nr, 2802);
		for (unsigned i = 0; i < whole->nr; i++) {
			assert_int_equal(whole->events[i].time.v, parts->events[i].time.v);
			assert_int_equal(whole->events[i].kind, parts->events[i].kind);
			for (unsigned a = 0; a < 3; a++)
				assert_int_equal(whole->events[i].arg[a], parts->events[i].arg[a]);
		}
		assert_int_equal(parts->trace->loss.events, 17);
		assert_int_equal(parts->trace->loss.unknown, 1);
		close_opened(whole);
		close_opened(parts);
		free(p.b.data);
		free(whole);
		free(parts);
	}
}

/* A page whose times are not where it stands, next to where packets meet: what a cursor believes
 * does not depend on where it begins. */
static void a_page_astray_is_the_same_for_all_cursors(void **state)
{
	static const uint64_t wild[] = {5, UINT64_C(1) << 40};
	struct dat_form form = plain6;

	(void)state;
	form.chunk_pages = 10;
	for (unsigned k = 0; k < 3 * ARRAY_SIZE(wild); k++) {
		struct opened *whole = calloc(1, sizeof(*whole));
		struct opened *parts = calloc(1, sizeof(*parts));
		struct pages p = {.form = &form};
		const struct packet *packets;

		fill_pages(&p, 1400, 0, 0);
		set_uint(p.b.data + (509 + k / 2) * BUILD_PAGE, wild[k % 2], 8, false);
		open_pages(whole, &form, &p, 1);
		open_pages(parts, &form, &p, 1);
		packets = whole->trace->streams[0].packets;
		assert_int_equal(whole->trace->streams[0].nr_packets, 3);
		assert_int_equal(packets[1].begin, k / 2 == 1 ? 512000 : 511000);
		read_all(whole);
		assert_int_equal(whole->nr, 2 * 1399 + 1);
		for (uint32_t i = 0; i < 3; i++)
			read_range(parts, 0, i, 1, 64);
		assert_int_equal(parts->nr, whole->nr);
		for (unsigned i = 0; i < whole->nr; i++) {
			assert_int_equal(whole->events[i].time.v, parts->events[i].time.v);
			assert_int_equal(whole->events[i].kind, parts->events[i].kind);
		}
		close_opened(whole);
		close_opened(parts);
		free(p.b.data);
		free(whole);
		free(parts);
	}
}

static void assert_lost(const struct opened *o, unsigned i, uint64_t begin, uint64_t end)
{
	assert_true(i < o->nr);
	assert_int_equal(o->events[i].kind, EV_LOST);
	assert_int_equal(o->events[i].time.v, begin);
	assert_int_equal(o->events[i].arg[1], begin);
	assert_int_equal(o->events[i].arg[2], end);
}

/* A page does not say whose it is; its threads do, where they fit on neither side but among
 * themselves. */
static void a_page_of_another_cpu_is_not_believed(void **state)
{
	static const struct {
		int32_t first, second, last; /* of page 5's two switches */
		bool believed;
	} cases[] = {
		{5, 6, 6, true},     {105, 106, 107, false}, {105, 106, 6, true},
		{5, 106, 107, true}, {105, 99, 107, true}, /* a kernel that leaves out switches */
	};

	(void)state;
	for (unsigned n = 0; n < ARRAY_SIZE(cases); n++) {
		struct opened *o = calloc(1, sizeof(*o));
		struct pages p = {.form = &plain6};
		unsigned lost = 0;

		for (unsigned i = 0; i < 10; i++) {
			page_begin(&p, 1000 * (i + 1));
			page_switch(&p, 1, i == 5 ? cases[n].first : (int)i, i == 5 ? 106 : 50,
				    "x");
			page_switch(&p, 1, i == 5 ? cases[n].second : 50,
				    i == 5 ? cases[n].last : (int)i + 1, "x");
			page_end(&p);
		}
		open_pages(o, &plain6, &p, 1);
		read_all(o);
		for (unsigned i = 0; i < o->nr; i++)
			lost += o->events[i].kind == EV_LOST;
		assert_int_equal(lost, !cases[n].believed);
		assert_int_equal(o->nr - lost, cases[n].believed ? 20 : 18);
		if (lost)
			assert_lost(o, 10, 5002, 7000);
		assert_int_equal(o->trace->problems.nr, lost);
		close_opened(o);
		free(p.b.data);
		free(o);
	}
}

/* Where no switch is recorded, threads need not follow each other. */
static void threads_tell_nothing_without_switches(void **state)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct pages p = {.form = &plain6};

	(void)state;
	for (int32_t i = 0; i < 10; i++) {
		struct buf b = {0};

		page_begin(&p, 1000 * ((uint64_t)i + 1));
		payload_common(&b, ID_SOFTIRQ, i + 1);
		put_uint(&b, 3, 4);
		page_record(&p, 1, b.data, b.len);
		page_end(&p);
		free(b.data);
	}
	open_pages(o, &plain6, &p, 1);
	read_all(o);
	assert_int_equal(o->nr, 10);
	for (unsigned i = 0; i < o->nr; i++)
		assert_int_equal(o->events[i].tid, i + 1);
	assert_int_equal(o->trace->problems.nr, 0);
	close_opened(o);
	free(p.b.data);
	free(o);
}

/* Pages in each other's place, and one over another: of two that are not in order the second is not
 * believed, and the gap is where it is missing. */
static void pages_that_changed_places(void **state)
{
	static uint8_t pages[2][BUILD_PAGE];

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct opened *o = calloc(1, sizeof(*o));
		struct pages p = {.form = &plain6};
		bool found = false;

		fill_pages(&p, 20, 0, 0);
		memcpy(pages, p.b.data + 7 * BUILD_PAGE, sizeof(pages));
		memcpy(p.b.data + 7 * BUILD_PAGE, pages[1], BUILD_PAGE);
		if (!k)
			memcpy(p.b.data + 8 * BUILD_PAGE, pages[0], BUILD_PAGE);
		open_pages(o, &plain6, &p, 1);
		for (unsigned again = 0; again < 2; again++) {
			o->nr = 0;
			read_all(o);
			assert_int_equal(o->nr, 2 * 19 + 2);
			for (unsigned i = 1; i + 1 < o->nr && !found; i++) {
				if (o->events[i].kind != EV_LOST)
					continue;
				assert_int_equal(i, 14);
				assert_int_equal(o->events[i].arg[1], o->events[i - 1].time.v);
				assert_int_equal(o->events[i].arg[2], 9000);
				found = true;
			}
			assert_true(found);
			found = false;
		}
		close_opened(o);
		free(p.b.data);
		free(o);
	}
}

struct half {
	struct trace *trace;
	uint32_t first;
	uint64_t events, sum;
};

/* Every second packet of the first stream. */
static void *read_half(void *data)
{
	struct half *h = data;
	struct stream *s = &h->trace->streams[0];
	struct event events[100];

	for (uint32_t p = h->first; p < s->nr_packets; p += 2) {
		struct cursor c;
		unsigned n;

		if (cursor_init(&c, s, p, 1, 0, NULL))
			return NULL;
		while ((n = cursor_next(&c, events, ARRAY_SIZE(events)))) {
			h->events += n;
			for (unsigned i = 0; i < n; i++)
				h->sum += events[i].time.v;
		}
		cursor_release(&c);
	}
	return NULL;
}

static void threads_share_a_trace(void **state)
{
	struct dat_form form = zstd7;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));
	struct half halves[2] = {{0}};
	pthread_t threads[2];
	uint64_t sum = 0;

	(void)state;
	form.chunk_pages = 16;
	fill_pages(&p, 1900, 512, 1024);
	open_pages(o, &form, &p, 1);
	for (unsigned i = 0; i < 2; i++) {
		halves[i] = (struct half){.trace = o->trace, .first = i};
		assert_int_equal(pthread_create(&threads[i], NULL, read_half, &halves[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(o->trace->loss.events, 17);
	assert_int_equal(o->trace->loss.unknown, 1);
	read_all(o);
	for (unsigned i = 0; i < o->nr; i++)
		sum += o->events[i].time.v;
	assert_int_equal(halves[0].events + halves[1].events, o->nr);
	assert_true(halves[0].sum + halves[1].sum == sum);
	close_opened(o);
	free(p.b.data);
	free(o);
}

/* What merge/ counts on: text of a batch lives until the call after the next. */
static void text_outlives_the_next_call(void **state)
{
	struct dat_form form = zstd7;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));
	struct event batches[2][8];
	unsigned nr[2] = {0};
	struct error err = {0};
	struct cursor c;

	(void)state;
	form.chunk_pages = 1;
	for (unsigned i = 0; i < 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "thread-%u", i);
		page_begin(&p, 1000 * (i + 1));
		page_switch(&p, 1, 1, (int)i, name);
		page_end(&p);
	}
	open_pages(o, &form, &p, 1);
	assert_int_equal(cursor_init(&c, &o->trace->streams[0], 0, 1, 0, &err), 0);
	nr[0] = cursor_next(&c, batches[0], 8);
	for (unsigned call = 1; nr[(call - 1) & 1]; call++) {
		const struct event *before = batches[(call - 1) & 1];

		nr[call & 1] = cursor_next(&c, batches[call & 1], 8);
		for (unsigned i = 0; i < nr[(call - 1) & 1]; i++) {
			char name[16];

			snprintf(name, sizeof(name), "thread-%lld", (long long)before[i].arg[1]);
			assert_string_equal(event_str(&before[i], 3), name);
		}
	}
	cursor_release(&c);
	close_opened(o);
	free(p.b.data);
	free(o);
}

static void only_wanted_kinds_are_returned(void **state)
{
	struct dat_form form = zstd7;
	struct pages cpus[2];
	struct opened *o = calloc(1, sizeof(*o));
	struct event events[8];
	struct error err = {0};
	struct cursor c;

	(void)state;
	two_cpus(&form, cpus);
	open_pages(o, &form, cpus, 2);
	cursor_init(&c, &o->trace->streams[0], 0, 1, WANT(KVM_EXIT), &err);
	assert_int_equal(cursor_next(&c, events, 8), 0);
	cursor_release(&c);
	cursor_init(&c, &o->trace->streams[0], 0, 1, WANT(SCHED_SWITCH), &err);
	assert_int_equal(cursor_next(&c, events, 8), 3);
	cursor_release(&c);
	close_opened(o);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

static void fields_are_found_by_name(void **state)
{
	struct dat_form form = plain6;
	struct pages cpus[2];
	struct opened *o = calloc(1, sizeof(*o));
	const struct stream *s;
	struct field_value v;

	(void)state;
	two_cpus(&form, cpus);
	open_pages(o, &form, cpus, 2);
	read_all(o);
	s = &o->trace->streams[0];
	assert_int_equal(trace_event_field(s, &o->events[1], "next_pid", &v), 0);
	assert_int_equal(v.cls, FIELD_INT);
	assert_int_equal(v.i, 7);
	assert_int_equal(trace_event_field(s, &o->events[1], "common_pid", &v), 0);
	assert_int_equal(v.i, 42);
	assert_int_equal(trace_event_field(s, &o->events[1], "next_comm", &v), 0);
	assert_int_equal(v.cls, FIELD_STRING);
	assert_int_equal(v.len, 16);
	assert_int_equal(trace_event_field(s, &o->events[1], "no such", &v), -ENOENT);
	assert_int_equal(trace_event_field(&o->trace->streams[1], &o->events[3], "list", &v), 0);
	assert_int_equal(v.cls, FIELD_ARRAY);
	assert_int_equal(v.len, 2);
	assert_int_equal(v.elems[0], 65535);
	close_opened(o);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

static void many_options(struct buf *b)
{
	struct buf o = {.big = b->big};
	uint8_t id[8];

	set_uint(id, 0x1122334455667788, 8, b->big);
	put_option(b, 11, id, 8);
	put_uint(&o, 2500000000u, 4); /* TSC2NSEC: mult / 2^shift ns per cycle */
	put_uint(&o, 32, 4);
	put_uint(&o, 0, 8);
	put_option(b, 14, o.data, o.len);
	o.len = 0;
	put_text(&o, "vm-a"); /* GUEST */
	put_uint(&o, 99, 8);
	put_uint(&o, 2, 4);
	put_uint(&o, 1, 4);
	put_uint(&o, 1001, 4);
	put_uint(&o, 0, 4);
	put_uint(&o, 1000, 4);
	put_option(b, 13, o.data, o.len);
	o.len = 0;
	put_uint(&o, 0x55, 8); /* TIME_SHIFT */
	put_uint(&o, 0, 4);
	put_uint(&o, 1, 4);
	put_uint(&o, 2, 4);
	put_uint(&o, 10, 8);
	put_uint(&o, 20, 8);
	put_uint(&o, (uint64_t)-5, 8);
	put_uint(&o, 6, 8);
	put_uint(&o, 1, 8);
	put_uint(&o, 3, 8);
	put_uint(&o, 0, 8);
	put_uint(&o, 48, 8);
	put_option(b, 12, o.data, o.len);
	put_option(b, 999, "?", 1); /* from the future */
	free(o.data);
}

static void options_reach_the_trace(void **state)
{
	struct dat_form forms[] = {plain6, zstd7};

	(void)state;
	for (unsigned f = 0; f < 4; f++) {
		struct dat_form form = forms[f & 1];
		struct opened *o = calloc(1, sizeof(*o));
		struct pages cpus[2];
		const struct trace *t;

		form.big = f & 2;
		form.more_options = many_options;
		form.clock = "x86-tsc";
		two_cpus(&form, cpus);
		open_pages(o, &form, cpus, 2);
		t = o->trace;
		assert_int_equal(t->clock.kind, CLOCK_TSC);
		assert_string_equal(t->clock.name, "x86-tsc");
		assert_int_equal(t->clock.freq_hz, 1717986918);
		assert_true(t->trace_id == 0x1122334455667788);
		assert_int_equal(t->nr_guests, 1);
		assert_string_equal(t->guests[0].name, "vm-a");
		assert_int_equal(t->guests[0].trace_id, 99);
		assert_int_equal(t->guests[0].nr_vcpus, 2);
		assert_int_equal(t->guests[0].vcpu_tid[0], 1000);
		assert_int_equal(t->guests[0].vcpu_tid[1], 1001);
		assert_int_equal(t->peer_trace_id, 0x55);
		assert_int_equal(t->nr_shifts, 2);
		assert_int_equal(t->shifts[0].offset, -5);
		assert_int_equal(t->shifts[1].at, 20);
		assert_int_equal(t->shifts[1].scaling, 3);
		assert_int_equal(t->shifts[1].fraction_bits, 48);
		assert_true(t->clock.shift_known);
		assert_int_equal(t->clock.shift_ticks, -5);
		assert_int_equal(t->problems.nr, 0);
		close_opened(o);
		free(cpus[0].b.data);
		free(cpus[1].b.data);
		free(o);
	}
}

/* An instance's CPUs are streams of their own; a clock that is not the trace's cannot be used. */
static void every_buffer_gives_streams(void **state)
{
	struct dat_form form = zstd7;
	struct opened *o = calloc(1, sizeof(*o));
	struct pages cpus[2];

	(void)state;
	two_cpus(&form, cpus);
	form.clock = "mono";
	form.instance = cpus;
	form.instance_clock = "mono";
	open_pages(o, &form, cpus, 2);
	assert_int_equal(o->trace->nr_streams, 4);
	assert_int_equal(o->trace->nr_cpus, 2);
	assert_string_equal(o->trace->streams[0].buffer, "");
	assert_string_equal(o->trace->streams[3].buffer, "foo");
	assert_int_equal(o->trace->streams[3].cpu, 1);
	read_all(o);
	assert_int_equal(o->nr, 8);
	assert_int_equal(o->trace->problems.nr, 0);
	close_opened(o);

	form.instance_clock = "global";
	open_pages(o, &form, cpus, 2);
	assert_int_equal(o->trace->nr_streams, 2);
	assert_true(o->trace->problems.nr > 0);
	assert_true(o->trace->loss.bytes_skipped > 0);
	close_opened(o);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

static void one_switch(struct pages *p, uint64_t time)
{
	page_begin(p, time);
	page_switch(p, 0, 1, 2, "a");
	page_end(p);
}

/* The last pages have changed places, or the last is one of an earlier time: what is left out is
 * missing at the end, too. */
static void a_late_page_in_front_of_the_last_is_a_gap_at_the_end(void **state)
{
	static const struct {
		uint64_t last[2];
		bool cut;
	} cases[] = {{{1800, 1900}, false}, {{1900, 1800}, true}, {{1600, 1700}, true}};

	(void)state;
	for (unsigned n = 0; n < ARRAY_SIZE(cases); n++) {
		struct dat_form form = plain6;
		struct pages p = {.form = &form};
		struct opened *o = calloc(1, sizeof(*o));

		for (unsigned i = 0; i < 8; i++)
			one_switch(&p, 1000 + 100 * i);
		one_switch(&p, cases[n].last[0]);
		one_switch(&p, cases[n].last[1]);
		open_pages(o, &form, &p, 1);
		read_all(o);
		assert_int_equal(o->trace->streams[0].cut, cases[n].cut);
		assert_int_equal(o->events[o->nr - 1].kind == EV_LOST, cases[n].cut);
		/* Nobody knows until when. */
		assert_int_equal(o->events[o->nr - 1].arg[4] == 1, cases[n].cut);
		close_opened(o);
		free(p.b.data);
		free(o);
	}
}

/* A coarse clock gives several pages one time: that says nothing. */
static void pages_of_one_time_are_no_gap(void **state)
{
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		page_begin(&p, 1000 + i / 2);
		page_switch(&p, 0, i & 1 ? 2 : 1, i & 1 ? 1 : 2, "a");
		page_end(&p);
	}
	open_pages(o, &form, &p, 1);
	read_all(o);
	assert_false(o->trace->streams[0].cut);
	assert_int_equal(o->nr, 8);
	close_opened(o);
	free(p.b.data);
	free(o);
}

/* A record of common fields alone. */
static void one_short(struct pages *p, uint64_t time, uint16_t id)
{
	struct buf b = {.big = p->form->big};

	page_begin(p, time);
	payload_common(&b, id, 2);
	page_record(p, 0, b.data, b.len);
	page_end(p);
	free(b.data);
}

static void unexplained_short_and_backward_events_are_told(void **state)
{
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));

	(void)state;
	one_switch(&p, 1000);
	one_short(&p, 2000, 900); /* no such format: of a module that came later */
	one_switch(&p, 2100);
	one_short(&p, 3000, ID_SWITCH); /* its fields are not there */
	one_switch(&p, 3900);
	one_switch(&p, 4000);
	one_switch(&p, 5000);
	one_switch(&p, 1500);	  /* earlier than the page before */
	one_switch(&p, 1u << 31); /* later than all behind it */
	one_switch(&p, 6000);
	one_switch(&p, 7000);
	open_pages(o, &form, &p, 1);
	read_all(o);
	assert_int_equal(o->nr, 6 + 2);
	assert_int_equal(o->events[1].kind, EV_OTHER);
	assert_int_equal(o->events[1].tid, 2);
	assert_string_equal(o->trace->types[o->events[1].type].name, "unknown");
	assert_lost(o, 2, 2000, 4000);
	assert_lost(o, 5, 5000, 6000);
	assert_int_equal(o->events[6].kind, EV_SCHED_SWITCH);
	assert_int_equal(o->events[6].time.v, 6000);
	assert_int_equal(o->trace->problems.nr, 4);
	close_opened(o);
	free(p.b.data);
	free(o);
}

static void a_broken_page_costs_itself_and_its_neighbours(void **state)
{
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));

	(void)state;
	fill_pages(&p, 11, 0, 0);
	set_uint(p.b.data + 2 * BUILD_PAGE + 8, BUILD_PAGE, 8, false); /* more than fits */
	p.b.data[7 * BUILD_PAGE + 16] = 28; /* type_len: the record's data overlaps the next */
	set_uint(p.b.data + 7 * BUILD_PAGE + 8, 60, 8, false);
	open_pages(o, &form, &p, 1);
	read_all(o);
	assert_int_equal(o->nr, 2 + 1 + 4 + 1 + 4);
	assert_lost(o, 2, 1002, 5000);
	assert_lost(o, 7, 6002, 10000);
	assert_int_equal(o->trace->loss.unknown, 6);
	assert_int_equal(o->trace->loss.bytes_skipped, 6 * BUILD_PAGE);
	assert_int_equal(o->trace->problems.nr, 3);
	close_opened(o);
	free(p.b.data);
	free(o);
}

/* Records of two lengths, so that a page is full at one place or another. */
static void fill_full(struct pages *p, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		page_begin(p, 1000 * (i + 1));
		for (unsigned k = 0; p->used + 68 <= p->page + BUILD_PAGE; k++) {
			if ((i + k) % 3)
				page_softirq(p, 1, 1000 * (i + 1) + k + 1);
			else
				page_switch(p, 1, (int32_t)(1000 * (i + 1) + k + 1), 7, "a");
		}
		page_end(p);
	}
}

/* All that is there is as it was, and all else is in a gap. */
static void assert_less(const struct opened *whole, const struct opened *o)
{
	unsigned at = 0;

	for (unsigned i = 0; i < whole->nr; i++) {
		const struct event *e = &whole->events[i];
		bool in_gap = false;

		while (at < o->nr && o->events[at].kind == EV_LOST)
			at++;
		if (at < o->nr && o->events[at].time.v == e->time.v) {
			assert_int_equal(o->events[at].kind, e->kind);
			assert_int_equal(o->events[at].arg[0], e->arg[0]);
			at++;
			continue;
		}
		for (unsigned k = 0; k < o->nr && !in_gap; k++) {
			const struct event *l = &o->events[k];

			in_gap = l->kind == EV_LOST && l->arg[1] <= (int64_t)e->time.v &&
				 (l->arg[2] >= (int64_t)e->time.v || l->arg[2] == l->arg[1]);
		}
		assert_true(in_gap || e->time.v < o->events[0].time.v);
	}
	while (at < o->nr && o->events[at].kind == EV_LOST)
		at++;
	assert_int_equal(at, o->nr);
}

/* Bytes that are missing, or zeros, anywhere: what is left of a page is no page. */
static void check_damaged(const struct opened *whole, const struct pages *p, size_t at, size_t len,
			  bool zero)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct pages damaged = *p;

	damaged.b.data = calloc(1, p->b.len);
	memcpy(damaged.b.data, p->b.data, p->b.len);
	if (zero)
		memset(damaged.b.data + at, 0, len);
	else
		memmove(damaged.b.data + at, p->b.data + at + len, p->b.len - at - len);
	open_pages(o, p->form, &damaged, 1);
	read_all(o);
	while (o->nr && o->events[o->nr - 1].kind == EV_LOST)
		o->nr--; /* to the end */
	o->events[o->nr++] = (struct event){
		.kind = EV_LOST, .arg = {0, (int64_t)o->events[o->nr - 1].time.v + 1, INT64_MAX}};
	assert_less(whole, o);
	assert_true(o->nr > whole->nr / 4);
	assert_true(o->trace->loss.unknown > 0);
	close_opened(o);
	free(damaged.b.data);
	free(o);
}

static void damaged_pages_are_gaps(void **state)
{
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *whole = calloc(1, sizeof(*whole));

	(void)state;
	fill_full(&p, 24);
	open_pages(whole, &form, &p, 1);
	read_all(whole);
	for (size_t at = 10 * BUILD_PAGE - 60; at < 11 * BUILD_PAGE + 60; at++) {
		check_damaged(whole, &p, at, 700, false);
		check_damaged(whole, &p, at, 2 * BUILD_PAGE, true);
	}
	close_opened(whole);
	free(p.b.data);
	free(whole);
}

/* Bytes missing in one CPU's data: the next one's stands earlier, and is read there. */
static void check_missing(size_t missing)
{
	struct dat_form form = plain6;
	struct pages cpus[2] = {{.form = &form}, {.form = &form}};
	struct opened *o = calloc(1, sizeof(*o));
	bool whole_pages = missing % BUILD_PAGE == 0; /* those behind these are still in place */
	struct buf file;
	size_t at;

	fill_full(&cpus[0], 24);
	fill_full(&cpus[1], 24);
	dat_build(&form, cpus, 2, &file);
	assert_int_equal(open_bytes(o, file.data, file.len), 0);
	assert_false(o->trace->streams[0].cut);
	at = o->trace->streams[0].packets[0].offset_bytes + 7 * BUILD_PAGE + 100;
	close_opened(o);
	memmove(file.data + at, file.data + at + missing, file.len - at - missing);
	assert_int_equal(open_bytes(o, file.data, file.len - missing), 0);
	assert_true(whole_pages || o->trace->streams[0].cut);
	assert_false(o->trace->streams[1].cut);
	read_range(o, 1, 0, o->trace->streams[1].nr_packets, 7);
	for (unsigned i = 0; i < o->nr; i++)
		assert_int_not_equal(o->events[i].kind, EV_LOST);
	assert_int_equal(o->events[0].time.v, 1001);
	assert_true(o->events[o->nr - 1].time.v > 24000);
	o->nr = 0;
	read_range(o, 0, 0, o->trace->streams[0].nr_packets, 7);
	assert_int_equal(o->events[o->nr - 1].kind, EV_LOST);
	assert_int_equal(o->events[o->nr - 1].time.v < 7000, !whole_pages);
	close_opened(o);
	free(file.data);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

/* Which bytes of CPU 1's place in the table are changed, and what is left of both. */
static void check_claim(unsigned number, uint64_t value, unsigned left, unsigned left_cut,
			const char *problem)
{
	struct dat_form form = plain6;
	struct opened *o = calloc(1, sizeof(*o));
	struct pages cpus[2];
	struct buf file;
	uint8_t *table;
	bool told = false;

	two_cpus(&form, cpus);
	dat_build(&form, cpus, 2, &file);
	for (table = file.data; memcmp(table, "flyrecord", 10); table++)
		;
	table += 10;
	set_uint(table + 8 * number, value ? value : (uint64_t)table[0] + table[1] * 256u, 8,
		 false);
	assert_int_equal(open_bytes(o, file.data, file.len), 0);
	read_all(o);
	for (unsigned i = 0; i < o->nr; i++)
		left -= o->events[i].kind != EV_LOST;
	assert_int_equal(left, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(o->trace->streams[i].cut, left_cut >> i & 1);
	for (unsigned i = 0; i < o->trace->problems.nr; i++)
		told |= strstr(o->trace->problems.list[i].text, problem) != NULL;
	assert_int_equal(told, left_cut != 0);
	close_opened(o);
	free(file.data);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

/* Pages do not say whose they are: what a table lists for two CPUs is neither's. */
static void bytes_that_two_cpus_claim_are_nobodys(void **state)
{
	static const char problem[] = "the file lists the same bytes for CPU 0 and CPU 1";

	(void)state;
	check_claim(1, 2 * BUILD_PAGE, 4, 0, problem); /* as it is */
	check_claim(2, 0, 0, 3, problem);	       /* CPU 1 begins where CPU 0 does */
	check_claim(1, 3 * BUILD_PAGE, 3, 3, problem); /* CPU 0 is as long as both */
}

static void a_cpu_that_is_listed_twice_is_not_believed(void **state)
{
	struct dat_form form = {.version = 7, .long_size = 8, .packing = "none"};
	struct opened *o = calloc(1, sizeof(*o));
	uint8_t entry[12] = {1}, *p;
	struct pages cpus[2];
	struct buf file;

	(void)state;
	two_cpus(&form, cpus);
	dat_build(&form, cpus, 2, &file);
	assert_int_equal(open_bytes(o, file.data, file.len), 0);
	set_uint(entry + 4, o->trace->streams[1].packets[0].offset_bytes, 8, false);
	close_opened(o);
	for (p = file.data; memcmp(p, entry, sizeof(entry)); p++)
		;
	*p = 0;
	assert_int_equal(open_bytes(o, file.data, file.len), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(o->trace->streams[i].nr_packets, 0);
		assert_true(o->trace->streams[i].cut);
	}
	assert_non_null(strstr(o->trace->problems.list[0].text, "lists CPU 0 more than once"));
	close_opened(o);
	free(file.data);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

static void data_behind_missing_bytes_is_found(void **state)
{
	(void)state;
	check_missing(5 * BUILD_PAGE + 44);
	check_missing(5 * BUILD_PAGE);
}

/* Pages of zeros, wherever they are, are time of which nothing is known; the same for readers of
 * single packets. */
static void check_hole(const struct dat_form *form, unsigned first, unsigned nr, uint64_t from,
		       uint64_t to)
{
	struct pages p = {.form = form};
	struct opened *whole = calloc(1, sizeof(*whole)), *parts = calloc(1, sizeof(*parts));
	bool packed = form->version == 7; /* then neighbours are those of the same chunk */
	unsigned before = first && !(packed && first % 64 == 0);
	unsigned end = first + nr, after = end < 1400 && !(packed && end % 64 == 0);
	unsigned at = 2 * (first - before);

	fill_pages(&p, 1400, 0, 0);
	memset(p.b.data + (size_t)first * BUILD_PAGE, 0, (size_t)nr * BUILD_PAGE);
	open_pages(whole, form, &p, 1);
	open_pages(parts, form, &p, 1);
	read_all(whole);
	from = first ? from - 1000 * before : to + 1000 * after;
	to = end < 1400 ? to + 1000 * after : from;
	assert_lost(whole, at, from, to);
	assert_int_equal(whole->trace->loss.bytes_skipped, (before + nr + after) * BUILD_PAGE);
	assert_int_equal(whole->trace->problems.nr, 1 + (before || after));
	for (uint32_t i = 0; i < parts->trace->streams[0].nr_packets; i++)
		read_range(parts, 0, i, 1, 7);
	assert_int_equal(whole->nr, parts->nr);
	for (unsigned i = 0; i < whole->nr; i++) {
		assert_int_equal(whole->events[i].time.v, parts->events[i].time.v);
		assert_int_equal(whole->events[i].kind, parts->events[i].kind);
	}
	for (unsigned i = at; i < whole->nr; i++) /* several packets have a hole each */
		assert_true(whole->events[i].time.v >= to || whole->events[i].kind == EV_LOST);
	close_opened(whole);
	close_opened(parts);
	free(p.b.data);
	free(whole);
	free(parts);
}

static void pages_of_zeros_are_a_gap(void **state)
{
	struct dat_form forms[] = {plain6, zstd7};

	(void)state;
	for (unsigned f = 0; f < 2; f++) {
		forms[f].chunk_pages = 64;
		check_hole(&forms[f], 100, 60, 100002, 161000);
		check_hole(&forms[f], 500, 12, 500002, 513000);	  /* to its packet's end */
		check_hole(&forms[f], 512, 12, 512002, 525000);	  /* from its packet's begin on */
		check_hole(&forms[f], 500, 600, 500002, 1101000); /* a packet and more */
		check_hole(&forms[f], 0, 600, 601000, 601000);
		check_hole(&forms[f], 1300, 100, 1300002, 1300002);
	}
}

/* A few bytes that claim to be megabytes of zeros are read until they are far more than the file;
 * a CPU without them is not touched. */
static void chunks_of_zeros_are_read_to_a_limit(void **state)
{
	struct dat_form form = zstd7;
	struct pages cpus[2] = {{.form = &form}, {.form = &form}};
	struct opened *o = calloc(1, sizeof(*o));
	unsigned nr_read = 0;

	(void)state;
	form.chunk_pages = 8192;
	fill_pages(&cpus[0], 8192 * 6, 0, 0);
	fill_pages(&cpus[1], 300, 0, 0);
	memset(cpus[0].b.data + 100 * BUILD_PAGE, 0, (size_t)(8192 * 6 - 200) * BUILD_PAGE);
	open_pages(o, &form, cpus, 2);
	read_all(o);
	assert_non_null(strstr(o->trace->problems.list[0].text,
			       "CPU 0's chunks unpack to pages without events"));
	assert_true(o->trace->streams[0].cut && !o->trace->streams[1].cut);
	for (unsigned i = 0; i < o->nr; i++)
		nr_read += o->events[i].kind == EV_SCHED_SWITCH;
	assert_int_equal(nr_read, 2 * (99 + 300));
	close_opened(o);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

/* Numbers are loaded in 8 bytes: not beyond what is mapped, though. */
static void the_last_bytes_of_a_file_are_read_safely(void **state)
{
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));
	struct buf file = {0};

	(void)state;
	do { /* until the last record ends where a page of memory does */
		free(file.data);
		page_begin(&p, p.b.len);
		for (unsigned i = 0; i < (BUILD_PAGE - 16) / 16; i++)
			page_softirq(&p, 1, 0xfffffff0 + i % 8);
		page_end(&p);
		dat_build(&form, &p, 1, &file);
	} while (file.len % 4096);
	assert_int_equal(open_bytes(o, file.data, file.len), 0);
	read_all(o);
	assert_int_equal(o->nr, p.b.len / BUILD_PAGE * 31);
	assert_int_equal(o->events[o->nr - 1].kind, EV_SOFTIRQ_ENTRY);
	assert_int_equal(o->events[o->nr - 1].arg[0], 0xfffffff0 + 30 % 8);
	assert_int_equal(o->trace->problems.nr, 0);
	close_opened(o);
	free(file.data);
	free(p.b.data);
	free(o);
}

static void put_printk(struct pages *p, uint16_t id, uint64_t address, const void *args, size_t len)
{
	struct buf b = {0};

	payload_common(&b, id, 42);
	put_uint(&b, 0xffffffff81234567, 8);
	if (address)
		put_uint(&b, address, 8);
	put(&b, args, len);
	page_record(p, 10, b.data, b.len);
	free(b.data);
}

#define FORMAT_IP "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"

/* What the kernel's own code wrote: text as it is, a text's address, a format's and its arguments.
 */
static void trace_printk_is_text(void **state)
{
	static const char *const formats[] = {
		"name: print\nID: 5\n" FORMAT_COMMON FORMAT_IP
		"\tfield:char buf;\toffset:16;\tsize:0;\tsigned:1;\n\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n",
		"name: bprint\nID: 6\n" FORMAT_COMMON FORMAT_IP
		"\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n",
		"name: bputs\nID: 7\n" FORMAT_COMMON FORMAT_IP
		"\tfield:const char * str;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->str\n",
		NULL};
	struct dat_form form = {
		.version = 6,
		.long_size = 8,
		.ftrace_formats = formats,
		.clock = "mono",
		.printk = "0xffffffff81000010 : \"n=%d u=%u x=%#x s=%s after=%d %%\\n\"\n"
			  "0xffffffff81000020 : \"l=%ld ll=%llx w=%5d|%-5d|%05d|%.2s p=%p\\n\"\n"
			  "0xffffffff81000030 : \"just \\\"text\\\"\\n\"\n"
			  "0xffffffff81000040 : \"%c%hhd%hd %*d|%pd\\n\"\n"};
	static const struct {
		int32_t n;
		uint32_t u, x;
		char s[4];
		int32_t after;
	} first = {-3, 4000000000, 0xbeef, "abc", 7};
	static const struct {
		int64_t l;
		uint64_t ll;
		int32_t w[3];
		char s[8];
		uint64_t p;
	} __attribute__((packed)) second = {-5, 0xdeadbeefcafe, {42, 43, 44}, "string", 0x1234};
	static const uint8_t third[] = {'k', 0xfe, 0xff, 0x7f, 4,   0,	 0,   0, 9,
					0,   0,	   0,	 'n',  'a', 'm', 'e', 0};
	static const char *const texts[] = {"old\\x0atext",
					    "n=-3 u=4000000000 x=0xbeef s=abc after=7 %",
					    "l=-5 ll=deadbeefcafe w=   42|43   |00044|st p=0x1234",
					    "just \\\"text\\\"",
					    "k-2",
					    "n=-3 u=%u x=%#x s=%s after=%d %%"};
	struct opened *o = calloc(1, sizeof(*o));
	struct pages cpu = {.form = &form};
	struct field_value v;
	char text[400], want[200];

	(void)state;
	page_begin(&cpu, 1000);
	put_printk(&cpu, 5, 0, "old\ntext\n", 10);
	put_printk(&cpu, 6, 0xffffffff81000010, &first, sizeof(first));
	put_printk(&cpu, 6, 0xffffffff81000020, &second, sizeof(second));
	put_printk(&cpu, 7, 0xffffffff81000030, NULL, 0);
	put_printk(&cpu, 6, 0xffffffff81000040, third, sizeof(third));
	put_printk(&cpu, 6, 0xffffffff81000010, &first, 4); /* cut */
	put_printk(&cpu, 6, 0xffffffff81000050, &first, 4); /* a format that is not there */
	page_end(&cpu);
	open_pages(o, &form, &cpu, 1);
	read_all(o);
	assert_int_equal(o->nr, 7);
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(o->events[i].kind, EV_STATE_LINE);
		snprintf(want, sizeof(want), "\"%s", texts[i]);
		printed(o, i, text, sizeof(text));
		if (!strstr(text, want))
			print_error("%s is not in %s\n", want, text);
		assert_non_null(strstr(text, want));
	}
	assert_int_equal(trace_event_field(&o->trace->streams[0], &o->events[6], "text", &v),
			 -ENOENT);
	assert_null(strstr(printed(o, 6, text, sizeof(text)), "text="));
	close_opened(o);
	free(cpu.b.data);
	free(o);
}

/* Reads everything there is, in every way.  Returns how many events were not lost. */
static unsigned exercise(struct opened *o)
{
	char text[4096];
	struct field_value v;
	unsigned kept = 0;

	read_all(o);
	for (unsigned i = 0; i < o->nr; i++) {
		const struct event *e = &o->events[i];
		const struct stream *s = &o->trace->streams[o->stream_of[i]];

		trace_event_print(s, e, text, sizeof(text));
		trace_event_field(s, e, "next_comm", &v);
		if (e->kind == EV_SCHED_SWITCH && e->arg[3])
			(void)strnlen(event_str(e, 3), 16);
		kept += e->kind != EV_LOST;
	}
	return kept;
}

static void a_file_cut_anywhere_is_never_silently_short(void **state)
{
	struct dat_form forms[] = {plain6, zstd7};

	(void)state;
	for (unsigned f = 0; f < 2; f++) {
		struct opened *o = calloc(1, sizeof(*o));
		struct pages cpus[2];
		struct buf file;

		two_cpus(&forms[f], cpus);
		dat_build(&forms[f], cpus, 2, &file);
		for (size_t len = 0; len < file.len; len++) {
			unsigned kept = 4;

			if (open_bytes(o, file.data, len))
				assert_true(strlen(o->err.text) > 10);
			else
				kept = exercise(o);
			assert_true(kept == 4 || (kept < 4 && o->trace->problems.nr > 0));
			close_opened(o);
		}
		free(file.data);
		free(cpus[0].b.data);
		free(cpus[1].b.data);
		free(o);
	}
}

/* Of a page that is cut off nothing shows that all of it belongs together; those before it are
 * whole. */
static void a_page_that_is_cut_off_is_not_believed(void **state)
{
	struct dat_form form = plain6;
	struct pages p = {.form = &form};
	struct opened *o = calloc(1, sizeof(*o));
	struct buf file;
	unsigned whole;

	(void)state;
	fill_full(&p, 3);
	dat_build(&form, &p, 1, &file);
	assert_int_equal(open_bytes(o, file.data, file.len - BUILD_PAGE), 0);
	whole = exercise(o);
	close_opened(o);
	assert_true(whole > 2);
	/* Before that only its unused end is missing. */
	for (size_t less = 68; less < BUILD_PAGE; less++) {
		assert_int_equal(open_bytes(o, file.data, file.len - less), 0);
		assert_int_equal(exercise(o), whole);
		assert_int_equal(o->events[o->nr - 1].kind, EV_LOST);
		close_opened(o);
	}
	free(file.data);
	free(p.b.data);
	free(o);
}

static void option_two_cpus(struct buf *b)
{
	uint8_t nr[4];

	set_uint(nr, 2, 4, b->big);
	put_option(b, 8, nr, sizeof(nr));
}

/* What tells where the events are comes last in the file, and is lost first. */
static void events_are_found_without_the_end_of_the_file(void **state)
{
	struct dat_form form = zstd7;
	struct opened *o = calloc(1, sizeof(*o));
	struct pages cpus[2];
	struct buf file;

	(void)state;
	form.more_options = option_two_cpus;
	form.clock = "mono";
	two_cpus(&form, cpus);
	dat_build(&form, cpus, 2, &file);
	assert_int_equal(open_bytes(o, file.data, file.len - 90), 0);
	assert_int_equal(o->trace->nr_streams, 2);
	assert_int_equal(o->trace->clock.kind, CLOCK_MONO);
	assert_int_equal(exercise(o), 4);
	assert_int_equal(o->trace->loss.unknown, 0);
	assert_int_equal(o->trace->problems.nr, 2);
	close_opened(o);
	/* Cut into the second CPU's: the first one's events are left, and the loss is told. */
	assert_int_equal(open_bytes(o, file.data, file.len - 300), 0);
	assert_int_equal(exercise(o), 3);
	assert_int_equal(o->trace->loss.unknown, 1);
	close_opened(o);
	/* There is nothing to go by when the page size is lost, too. */
	memset(file.data + 14, 0, 4);
	assert_int_equal(open_bytes(o, file.data, file.len - 90), -EINVAL);
	close_opened(o);
	free(file.data);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

static void no_flipped_bit_does_harm(void **state)
{
	struct dat_form forms[] = {plain6, zstd7};

	(void)state;
	forms[1].packing = "none";
	for (unsigned f = 0; f < 2; f++) {
		struct opened *o = calloc(1, sizeof(*o));
		struct pages cpus[2];
		struct buf file;

		forms[f].more_options = many_options;
		two_cpus(&forms[f], cpus);
		dat_build(&forms[f], cpus, 2, &file);
		for (size_t bit = 0; bit < 8 * file.len; bit += 3) {
			file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (!open_bytes(o, file.data, file.len))
				exercise(o);
			close_opened(o);
			file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		free(file.data);
		free(cpus[0].b.data);
		free(cpus[1].b.data);
		free(o);
	}
}

/* Replaces text in a file by text of the same length. */
static void forge(struct buf *file, const char *from, const char *to)
{
	uint8_t *at = NULL;

	assert_int_equal(strlen(from), strlen(to));
	for (size_t i = 0; i + strlen(from) <= file->len && !at; i++) {
		if (!memcmp(file->data + i, from, strlen(from)))
			at = file->data + i;
	}
	assert_non_null(at);
	memcpy(at, to, strlen(to));
}

/* A format that calls a number "next_comm" must not make a pointer of it, nor text a number. */
static void formats_cannot_forge_pointers(void **state)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct pages cpus[2];
	struct buf file;

	(void)state;
	two_cpus(&plain6, cpus);
	dat_build(&plain6, cpus, 2, &file);
	forge(&file, "char next_comm[16];\toffset:40;\tsize:16;",
	      "u64 next_comm;     \toffset:40;\tsize:8; ");
	forge(&file, "pid_t prev_pid;\toffset:24;\tsize:4;", "char prev_pid[];\toffset:24;size:4;");
	assert_int_equal(open_bytes(o, file.data, file.len), 0);
	read_all(o);
	assert_int_equal(o->nr, 4);
	assert_int_equal(o->events[1].kind, EV_SCHED_SWITCH);
	assert_int_equal(o->events[1].arg[3], 0);
	assert_true(o->events[1].arg[0] == -1);
	assert_string_equal(event_str(&o->events[1], 4), "prev-42");
	close_opened(o);
	free(file.data);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

/* The places of the common fields, too, are only what the file says. */
static void formats_cannot_reach_out_of_a_record(void **state)
{
	static const char *const places[] = {"9000", "0900", "0060"};
	struct opened *o = calloc(1, sizeof(*o));

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		char to[] = "u32 common_pid;\toffset:0000;size:4;";
		struct pages cpus[2];
		struct buf file;

		memcpy(strstr(to, "0000"), places[i], 4);
		two_cpus(&plain6, cpus);
		dat_build(&plain6, cpus, 2, &file);
		for (unsigned format = 0; format < 3; format++)
			forge(&file, "int common_pid;\toffset:4;\tsize:4;\ts", to);
		if (!open_bytes(o, file.data, file.len))
			exercise(o);
		close_opened(o);
		free(file.data);
		free(cpus[0].b.data);
		free(cpus[1].b.data);
	}
	free(o);
}

#define MANY 5000

/* More fields than any event has: those that there is room for are taken. */
static void a_format_has_no_more_fields_than_fit(void **state)
{
	static char text[64 * MANY];
	struct arena arena = {0};
	struct dat_format format;
	size_t len = (size_t)snprintf(text, sizeof(text), "name: x\nID: 5\nformat:\n");

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"\tfield:u8 f%u;\toffset:%u;\tsize:1;\tsigned:0;\n", i, i);
	assert_int_equal(dat_format_parse(&arena, text, len, 8, &format), 0);
	assert_int_equal(format.layout->nr_fields, 256);
	arena_release(&arena);
}

static int parse_format(const char *id, const char *place)
{
	struct arena arena = {0};
	struct dat_format format;
	char text[200];
	int len = snprintf(text, sizeof(text),
			   "name: x\nID: %s\nformat:\n\tfield:u8 f;\t%s\tsigned:0;\n", id, place);
	int ret = dat_format_parse(&arena, text, (size_t)len, 8, &format);

	if (!ret)
		ret = (int)format.layout->nr_fields;
	arena_release(&arena);
	return ret;
}

/* Records have 16 bits for an event's number, and 64 KiB: what is more is not cut, but refused. */
static void what_no_record_has_is_in_no_format(void **state)
{
	(void)state;
	assert_int_equal(parse_format("65535", "offset:65535;\tsize:1;"), 1);
	assert_int_equal(parse_format("65536", "offset:65535;\tsize:1;"), -EINVAL);
	assert_int_equal(parse_format("4294967301", "offset:65535;\tsize:1;"), -EINVAL);
	assert_int_equal(parse_format("5", "offset:65536;\tsize:1;"), 0);
	assert_int_equal(parse_format("5", "offset:0;\tsize:65537;"), 0);
	assert_int_equal(parse_format("5", "offset:-1;\tsize:1;"), 0);
}

/* An array of all that a record can hold is cut. */
static void a_long_array_is_cut(void **state)
{
	static const char line[] = "field:u16 a[32000];\toffset:0;\tsize:64000;\tsigned:0;";
	static uint8_t data[64000];
	struct arena arena = {0};
	struct dat_field field;
	struct dat_layout layout = {.fields = &field, .nr_fields = 1};
	struct dat_record r = {.layout = &layout, .data = data, .len_bytes = sizeof(data)};
	struct field_value v;

	(void)state;
	assert_int_equal(dat_field_parse(&arena, line, sizeof(line) - 1, 8, &field), 0);
	memset(data, 1, sizeof(data));
	assert_int_equal(dat_record_field(&r, "a", &v), 0);
	assert_int_equal(v.cls, FIELD_ARRAY);
	assert_int_equal(v.len, 8192);
	assert_int_equal(v.elems[8191], 0x101);
	arena_release(&arena);
}

static void many_guests(struct buf *b)
{
	struct buf o = {.big = b->big};

	for (unsigned i = 0; i < MANY; i++) {
		o.len = 0;
		put_text(&o, "vm");
		put_uint(&o, i, 8);
		put_uint(&o, 0, 4);
		put_option(b, 13, o.data, o.len);
	}
	free(o.data);
}

/* One with as many vCPUs as a machine may have, and one with one more. */
static void wide_guests(struct buf *b)
{
	struct buf o = {.big = b->big};

	for (uint32_t nr = TRACE_CPUS_MAX; nr <= TRACE_CPUS_MAX + 1; nr++) {
		o.len = 0;
		put_text(&o, "vm");
		put_uint(&o, nr, 8);
		put_uint(&o, nr, 4);
		for (uint32_t i = 0; i < nr; i++)
			put_uint(&o, (uint64_t)i << 32 | i, 8);
		put_option(b, 13, o.data, o.len);
	}
	free(o.data);
}

/* Each of them costs a copy of those before it. */
static void guests_are_bounded(void **state)
{
	static void (*const more[])(struct buf *) = {many_guests, wide_guests};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(more); i++) {
		struct opened *o = calloc(1, sizeof(*o));
		struct dat_form form = plain6;
		struct pages cpus[2];

		form.more_options = more[i];
		two_cpus(&form, cpus);
		open_pages(o, &form, cpus, 2);
		assert_int_equal(o->trace->nr_guests, i ? 1 : 1024);
		close_opened(o);
		free(cpus[0].b.data);
		free(cpus[1].b.data);
		free(o);
	}
}

static void options_in_a_circle_end(void **state)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct pages cpus[2];
	struct buf file;
	uint64_t first;
	size_t done;

	(void)state;
	two_cpus(&zstd7, cpus);
	dat_build(&zstd7, cpus, 2, &file);
	memcpy(&first, file.data + 18 + 9, 8);
	done = file.len - 8; /* the last DONE option's value */
	set_uint(file.data + done, first, 8, false);
	assert_int_equal(open_bytes(o, file.data, file.len), 0);
	assert_int_equal(o->trace->problems.nr, 1);
	assert_non_null(strstr(o->trace->problems.list[0].text, "circle"));
	assert_int_equal(exercise(o), 4);
	close_opened(o);
	free(file.data);
	free(cpus[0].b.data);
	free(cpus[1].b.data);
	free(o);
}

static void what_is_no_trace_is_refused_in_words(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *says;
	} cases[] = {
		{"", 0, "not a trace"},
		{"\x17\x08\x44trac", 7, "not a trace"},
		{"\x17\x08\x44tracing", 10, "header"},
		{"\x17\x08\x44tracing9\0\0\x08\0\x10\0\0", 18, "version"},
		{"\x17\x08\x44tracing6\0\2\x08\0\x10\0\0", 18, "byte order"},
		{"\x17\x08\x44tracing6\0\0\7\0\x10\0\0", 18, "long"},
		{"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0", 18, "cut short"},
		{"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\0\0", 24, "header"},
		{"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0lz4\0001\0\0\0\0\0\0\0\0\0", 33, "lz4"},
	};
	struct opened *o = calloc(1, sizeof(*o));

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		int ret = open_bytes(o, (const uint8_t *)cases[i].bytes, cases[i].len);

		assert_true(ret < 0);
		print_message("%s\n", o->err.text);
		assert_non_null(strstr(o->err.text, cases[i].says));
		close_opened(o);
	}
	free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_and_packing_reads_the_same),
		cmocka_unit_test(negative_numbers_stay_negative),
		cmocka_unit_test(time_is_kept_through_all_record_kinds),
		cmocka_unit_test(an_absolute_time_sets_the_clock),
		cmocka_unit_test(lost_events_are_told_and_counted_once),
		cmocka_unit_test(what_was_not_saved_is_missing),
		cmocka_unit_test(events_that_only_a_count_tells_of_are_gaps_at_every_seam),
		cmocka_unit_test(an_excerpt_ends_at_one_moment),
		cmocka_unit_test(a_known_gap_may_hold_what_is_missing),
		cmocka_unit_test(a_page_of_another_time_is_not_believed),
		cmocka_unit_test(a_late_page_in_front_of_the_last_is_a_gap_at_the_end),
		cmocka_unit_test(pages_of_one_time_are_no_gap),
		cmocka_unit_test(a_page_of_another_cpu_is_not_believed),
		cmocka_unit_test(threads_tell_nothing_without_switches),
		cmocka_unit_test(a_first_page_far_too_early_is_not_believed),
		cmocka_unit_test(pages_of_a_cpu_that_sleeps_for_hours_are_believed),
		cmocka_unit_test(the_kernels_count_of_lost_events_is_not_added_to_the_pages),
		cmocka_unit_test(packets_decode_on_their_own),
		cmocka_unit_test(a_page_astray_is_the_same_for_all_cursors),
		cmocka_unit_test(pages_that_changed_places),
		cmocka_unit_test(threads_share_a_trace),
		cmocka_unit_test(text_outlives_the_next_call),
		cmocka_unit_test(only_wanted_kinds_are_returned),
		cmocka_unit_test(fields_are_found_by_name),
		cmocka_unit_test(options_reach_the_trace),
		cmocka_unit_test(every_buffer_gives_streams),
		cmocka_unit_test(unexplained_short_and_backward_events_are_told),
		cmocka_unit_test(a_broken_page_costs_itself_and_its_neighbours),
		cmocka_unit_test(pages_of_zeros_are_a_gap),
		cmocka_unit_test(chunks_of_zeros_are_read_to_a_limit),
		cmocka_unit_test(damaged_pages_are_gaps),
		cmocka_unit_test(bytes_that_two_cpus_claim_are_nobodys),
		cmocka_unit_test(a_cpu_that_is_listed_twice_is_not_believed),
		cmocka_unit_test(data_behind_missing_bytes_is_found),
		cmocka_unit_test(the_last_bytes_of_a_file_are_read_safely),
		cmocka_unit_test(a_file_cut_anywhere_is_never_silently_short),
		cmocka_unit_test(a_page_that_is_cut_off_is_not_believed),
		cmocka_unit_test(events_are_found_without_the_end_of_the_file),
		cmocka_unit_test(no_flipped_bit_does_harm),
		cmocka_unit_test(formats_cannot_forge_pointers),
		cmocka_unit_test(trace_printk_is_text),
		cmocka_unit_test(formats_cannot_reach_out_of_a_record),
		cmocka_unit_test(options_in_a_circle_end),
		cmocka_unit_test(a_format_has_no_more_fields_than_fit),
		cmocka_unit_test(what_no_record_has_is_in_no_format),
		cmocka_unit_test(a_long_array_is_cut),
		cmocka_unit_test(guests_are_bounded),
		cmocka_unit_test(what_is_no_trace_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
