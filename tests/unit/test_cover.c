/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace covers of its machine's CPUs, and which CPUs it shows that there must be. */
#include "tests/unit/unit.h"

#include "source/cover.h"

#define CPUS 4

static struct {
	struct event events[CPUS][8];
	unsigned nr[CPUS], at;
	struct packet packets[CPUS];
	struct stream streams[CPUS];
	struct trace trace;
} w;

static int fake_init(struct cursor *c, struct error *err)
{
	(void)c;
	(void)err;
	w.at = 0;
	return 0;
}

static unsigned fake_next(struct cursor *c, struct event *events, unsigned room)
{
	unsigned n = 0, of = (unsigned)(c->stream - w.streams);

	for (; n < room && w.at < w.nr[of]; w.at++) {
		if (w.events[of][w.at].kind == EV_LOST || c->wants[w.events[of][w.at].kind])
			events[n++] = w.events[of][w.at];
	}
	return n;
}

static void fake_release(struct cursor *c)
{
	(void)c;
}

static const struct trace_ops ops = {
	.cursor_init = fake_init, .cursor_next = fake_next, .cursor_release = fake_release};

static void happens(unsigned of, uint64_t t, uint16_t kind, int tid, int64_t a0, int64_t a1)
{
	w.events[of][w.nr[of]++] =
		(struct event){.time.v = t, .kind = kind, .tid = tid, .arg = {a0, a1}};
}

static void open_world(enum trace_format format, unsigned nr)
{
	memset(&w, 0, sizeof(w));
	w.trace = (struct trace){.ops = &ops,
				 .format = format,
				 .path = "it",
				 .streams = w.streams,
				 .nr_streams = nr,
				 .nr_cpus = nr};
	for (unsigned i = 0; i < nr; i++) {
		w.packets[i] = (struct packet){.begin = 100 * (i + 1)};
		w.streams[i] = (struct stream){.trace = &w.trace,
					       .cpu = (int)i,
					       .packets = &w.packets[i],
					       .nr_packets = 1};
	}
}

static int running_of(struct cover *c, unsigned cpu)
{
	int tid;

	assert_int_equal(cover_find(c, &w.trace), 0);
	tid = c->cpus[cpu].running;
	cover_release(c);
	return tid;
}

static void the_first_switch_says_who_ran_before(void **state)
{
	struct cover c;

	(void)state;
	open_world(TRACE_DAT, 1);
	happens(0, 100, EV_SCHED_WAKING, 7, 9, 0);
	happens(0, 110, EV_VECTOR_ENTRY, 7, 236, 0);
	happens(0, 120, EV_VECTOR_EXIT, 7, 236, 0);
	happens(0, 130, EV_SCHED_SWITCH, 7, 7, 8);
	assert_int_equal(running_of(&c, 0), 7);
	w.events[0][1].kind = EV_VECTOR_EXIT; /* of a handler that began before */
	assert_int_equal(running_of(&c, 0), -1);
	w.events[0][1].kind = EV_KVM_EXIT; /* its guest had the CPU */
	w.events[0][2].kind = EV_SCHED_WAKING;
	assert_int_equal(running_of(&c, 0), -1);
	w.events[0][1].kind = EV_SCHED_WAKING;
	assert_int_equal(running_of(&c, 0), 7);
	w.events[0][0].tid = 6; /* does not fit */
	assert_int_equal(running_of(&c, 0), -1);
	w.events[0][0].tid = 7;
	w.nr[0] = 3; /* nothing says that switches are recorded at all */
	assert_int_equal(running_of(&c, 0), -1);
	w.nr[0] = 4;
	w.events[0][0].kind = EV_LOST;
	assert_int_equal(running_of(&c, 0), -1);
}

/* ftrace begins on all CPUs at once: one that is silent at first did nothing. */
static void a_silent_cpu_is_covered_unless_events_were_lost_there(void **state)
{
	struct cover c;

	(void)state;
	open_world(TRACE_DAT, 3);
	happens(0, 100, EV_SCHED_SWITCH, 7, 7, 8);
	happens(0, 900, EV_SCHED_SWITCH, 8, 8, 7);
	happens(1, 200, EV_SCHED_SWITCH, 3, 3, 0);
	happens(2, 300, EV_LOST, -1, 0, 300);
	happens(2, 300, EV_SCHED_SWITCH, 4, 4, 0);
	assert_int_equal(cover_find(&c, &w.trace), 0);
	assert_int_equal(c.nr, 3);
	assert_int_equal(c.all.first, 100);
	assert_int_equal(c.all.last, 900);
	assert_int_equal(c.cpus[1].first, 100);
	assert_int_equal(c.cpus[1].running, 3);
	assert_int_equal(c.cpus[1].last, 200);
	assert_false(c.cpus[1].ends);
	assert_int_equal(c.cpus[2].first, 300);
	assert_int_equal(c.cpus[2].running, -1);
	cover_release(&c);
	/* LTTng numbers its packets. */
	w.trace.format = TRACE_CTF;
	w.streams[1].start = START_WHOLE;
	w.streams[2].start = START_MISSING;
	assert_int_equal(cover_find(&c, &w.trace), 0);
	assert_int_equal(c.cpus[1].first, 100);
	assert_false(c.cpus[1].late);
	assert_int_equal(c.cpus[2].first, 300);
	assert_true(c.cpus[2].late);
	cover_release(&c);
	/* Where packets have no numbers, nobody knows. */
	w.streams[1].start = START_NOT_TOLD;
	assert_int_equal(cover_find(&c, &w.trace), 0);
	assert_int_equal(c.cpus[1].first, 200);
	assert_false(c.cpus[1].late);
	cover_release(&c);
}

/* LTTng makes its buffers, and their first packets, before it begins to trace. */
static void a_packet_begins_before_its_trace_does(void **state)
{
	struct cover c;

	(void)state;
	open_world(TRACE_CTF, 3);
	for (unsigned i = 0; i < 3; i++) {
		w.packets[i] = (struct packet){.begin = 10 + i, .end = 950};
		w.streams[i].start = START_WHOLE;
	}
	w.streams[2].start = START_MISSING; /* a hole, from where the first packet began */
	happens(0, 150, EV_SCHED_SWITCH, 7, 7, 8);
	happens(1, 100, EV_SCHED_SWITCH, 0, 0, 3);
	happens(2, 12, EV_LOST, -1, 0, 90);
	happens(2, 300, EV_SCHED_SWITCH, 4, 4, 0);
	assert_int_equal(cover_find(&c, &w.trace), 0);
	assert_int_equal(c.all.first, 100);
	assert_int_equal(c.cpus[0].first, 100);
	assert_int_equal(c.cpus[0].running, 7);
	assert_int_equal(c.cpus[1].first, 100);
	assert_int_equal(c.cpus[2].first, 100);
	assert_int_equal(c.cpus[2].running, -1);
	cover_release(&c);
	memset(w.nr, 0, sizeof(w.nr)); /* no event at all: when it was traced nothing tells */
	assert_int_equal(cover_find(&c, &w.trace), 0);
	assert_int_equal(c.all.first, c.all.last);
	cover_release(&c);
}

static void nothing_that_can_be_read_is_no_stream(void **state)
{
	struct cover c;

	(void)state;
	open_world(TRACE_DAT, 3);
	happens(0, 100, EV_SCHED_SWITCH, 7, 7, 8);
	w.packets[1].begin = w.packets[2].begin = 0;
	w.streams[1].cut = true;
	w.streams[2].nr_packets = 0; /* it was silent */
	assert_int_equal(cover_find(&c, &w.trace), 0);
	assert_true(c.cpus[0].there);
	assert_false(c.cpus[1].there);
	assert_true(c.cpus[2].there);
	assert_false(c.cpus[2].any);
	cover_release(&c);
}

static void cpus_that_events_name_must_be_there(void **state)
{
	(void)state;
	open_world(TRACE_DAT, 2);
	happens(0, 100, EV_SCHED_WAKING, 7, 9, 1);
	happens(0, 110, EV_SCHED_WAKING, 7, 9, 5000); /* once: damaged, maybe */
	happens(1, 120, EV_SCHED_WAKING, 7, 9, 3);
	happens(1, 130, EV_SCHED_WAKING, 7, 9, -1);
	happens(1, 140, EV_SCHED_WAKING, 7, 9, 1 << 20);
	assert_int_equal(cover_count_cpus(&w.trace), 0);
	assert_int_equal(w.trace.nr_cpus, 2);
	assert_int_equal(w.trace.problems.nr, 0);
	happens(1, 150, EV_SCHED_MIGRATE, 7, 9, 3);
	assert_int_equal(cover_count_cpus(&w.trace), 0);
	assert_int_equal(w.trace.nr_cpus, 4);
	assert_int_equal(w.trace.problems.nr, 2);
	assert_non_null(strstr(w.trace.problems.list[1].text, "CPU 3 has no stream"));
	problems_release(&w.trace.problems);
}

/* One that was given work and has no events lost them; one that slept has none. */
static void a_cpu_that_was_given_work_has_events(void **state)
{
	struct cover c;

	(void)state;
	open_world(TRACE_DAT, 4);
	w.streams[1].nr_packets = w.streams[2].nr_packets = w.streams[3].nr_packets = 0;
	happens(0, 100, EV_SCHED_WAKING, 7, 8, 2); /* an offline CPU, where each slept */
	happens(0, 110, EV_SCHED_WAKING, 7, 9, 2);
	happens(0, 120, EV_SCHED_WAKING, 7, 11, 3); /* it ran there in between */
	happens(0, 130, EV_SCHED_WAKING, 7, 11, 3);
	happens(0, 140, EV_SCHED_WAKING, 7, 11, 3);
	assert_int_equal(cover_count_cpus(&w.trace), 0);
	assert_int_equal(w.trace.problems.nr, 1);
	assert_non_null(strstr(w.trace.problems.list[0].text, "CPU 3 has no events"));
	assert_int_equal(cover_find(&c, &w.trace), 0);
	assert_true(c.cpus[1].there);
	assert_true(c.cpus[2].there);
	assert_false(c.cpus[3].there);
	cover_release(&c);
	problems_release(&w.trace.problems);
}

/* Two buffers of one CPU: of what is in the one the other's first switch knows nothing. */
static void two_streams_of_a_cpu_tell_no_first_thread(void **state)
{
	struct cover c;

	(void)state;
	open_world(TRACE_DAT, 2);
	happens(0, 100, EV_SCHED_SWITCH, 7, 7, 8);
	happens(1, 200, EV_SCHED_SWITCH, 3, 3, 0);
	assert_int_equal(running_of(&c, 1), 3);
	w.streams[1].cpu = 0;
	w.trace.nr_cpus = 1;
	assert_int_equal(running_of(&c, 0), -1);
}

/* The head of a cut packet says how far it went; what is there of it ends before. */
static void a_cut_stream_ends_with_what_is_there(void **state)
{
	struct cover c;

	(void)state;
	open_world(TRACE_CTF, 1);
	w.packets[0] = (struct packet){.begin = 90, .end = 950};
	happens(0, 100, EV_SCHED_SWITCH, 7, 7, 8);
	happens(0, 400, EV_SCHED_SWITCH, 8, 8, 7);
	assert_int_equal(cover_find(&c, &w.trace), 0);
	assert_int_equal(c.cpus[0].last, 950);
	cover_release(&c);
	w.streams[0].cut = true;
	assert_int_equal(cover_find(&c, &w.trace), 0);
	assert_int_equal(c.cpus[0].last, 400);
	cover_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_switch_says_who_ran_before),
		cmocka_unit_test(a_silent_cpu_is_covered_unless_events_were_lost_there),
		cmocka_unit_test(a_packet_begins_before_its_trace_does),
		cmocka_unit_test(two_streams_of_a_cpu_tell_no_first_thread),
		cmocka_unit_test(a_cut_stream_ends_with_what_is_there),
		cmocka_unit_test(nothing_that_can_be_read_is_no_stream),
		cmocka_unit_test(cpus_that_events_name_must_be_there),
		cmocka_unit_test(a_cpu_that_was_given_work_has_events),
	};

	return cmocka_run_group_tests_name("cover", tests, NULL, NULL);
}
