/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge, fed by invented streams: order, ties, runs, bounded batches, threads.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/merge.h"
#include "source/seam.h"

/* Who reads the stream's second batch waits here until it opens. */
struct gate {
	atomic_bool reached, open;
};

/* A stream of the numbers the test gives, handed out a few at a time. */
struct invented {
	const uint64_t *times;
	unsigned nr;
	unsigned at_once;
	atomic_uint *filled; /* how often it was read */
	struct gate *gate;
};

static int invented_cursor_init(struct cursor *c, struct error *err)
{
	c->buffer = calloc(1, sizeof(unsigned));
	return c->buffer ? 0 : fail(err, -ENOMEM, "out of memory");
}

static unsigned invented_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	const struct invented *in = c->stream->reader;
	unsigned *at = c->buffer;
	unsigned n = 0;

	if (in->gate && *at) {
		atomic_store(&in->gate->reached, true);
		while (!atomic_load(&in->gate->open))
			usleep(100);
	}
	while (n < room && n < in->at_once && *at < in->nr) {
		memset(&events[n], 0, sizeof(events[n]));
		events[n].time.v = in->times[*at];
		events[n].arg[0] = (int64_t)(*at)++;
		n++;
	}
	if (*at == in->nr)
		c->packet = c->packet_end;
	if (in->filled)
		atomic_fetch_add(in->filled, 1);
	return n;
}

static void invented_cursor_release(struct cursor *c)
{
	free(c->buffer);
}

static const struct trace_ops invented_ops = {
	.cursor_init = invented_cursor_init,
	.cursor_next = invented_cursor_next,
	.cursor_release = invented_cursor_release,
};

static struct trace trace = {.ops = &invented_ops};
static struct packet packet = {.len_bytes = 100};
static struct clock_piece same_piece = {.mult = UINT64_C(1) << CLOCK_SHIFT};
static const struct clock_model same_clock = {.pieces = &same_piece, .nr_pieces = 1};

static struct stream stream_of(const struct invented *in, int cpu)
{
	return (struct stream){
		.trace = &trace, .cpu = cpu, .packets = &packet, .nr_packets = 1, .reader = in};
}

static void merges_in_time_order_and_breaks_ties_by_rank(void **state)
{
	static const uint64_t host[] = {10, 20, 30};
	static const uint64_t guest[] = {5, 20, 40};
	struct invented a = {host, 3, 2, NULL, NULL}, b = {guest, 3, 3, NULL, NULL};
	struct stream sa = stream_of(&a, 0), sb = stream_of(&b, 0);
	/* The guest is named first, but the host is the lower machine: it wins the tie at 20. */
	struct merge_input in[] = {{&sb, 1, &same_clock, 0}, {&sa, 0, &same_clock, 0}};
	static const struct {
		ns_t t;
		unsigned input;
	} want[] = {{5, 0}, {10, 1}, {20, 1}, {20, 0}, {30, 1}, {40, 0}};
	struct merge *m;
	struct run run;
	unsigned at = 0;

	(void)state;
	assert_int_equal(merge_open(&m, in, 2, 0, 0, NULL), 0);
	while (merge_next(m, &run)) {
		for (unsigned i = 0; i < run.nr; i++, at++) {
			assert_true(at < ARRAY_SIZE(want));
			assert_int_equal(run.times[i], want[at].t);
			assert_int_equal(run.input, want[at].input);
		}
	}
	assert_int_equal(at, ARRAY_SIZE(want));
	assert_true(merge_progress(m) == 1.0);
	merge_close(m);
}

static void no_streams_and_empty_streams_end_at_once(void **state)
{
	struct invented nothing = {NULL, 0, 1, NULL, NULL};
	struct stream s = stream_of(&nothing, 0);
	struct merge_input in = {&s, 0, &same_clock, 0};
	struct merge *m;
	struct run run;

	(void)state;
	assert_int_equal(merge_open(&m, NULL, 0, 0, 1, NULL), 0);
	assert_false(merge_next(m, &run));
	merge_close(m);
	assert_int_equal(merge_open(&m, &in, 1, 0, 1, NULL), 0);
	assert_false(merge_next(m, &run));
	assert_false(merge_next(m, &run));
	merge_close(m);
}

/* Each thread has an entry there. */
static unsigned nr_threads(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/task", &st), 0);
	return (unsigned)st.st_nlink - 2;
}

static void no_more_workers_than_streams(void **state)
{
	struct invented nothing = {NULL, 0, 1, NULL, NULL};
	struct stream s = stream_of(&nothing, 0);
	struct merge_input in[] = {{&s, 0, &same_clock, 0}, {&s, 1, &same_clock, 0}};
	unsigned before = nr_threads();
	struct merge *m;

	(void)state;
	assert_int_equal(merge_open(&m, in, 2, 0, 64, NULL), 0);
	assert_in_range(nr_threads(), 1, before + 2);
	merge_close(m);
}

static void a_clock_that_steps_back_between_pieces_does_not_disorder_the_stream(void **state)
{
	static const uint64_t times[] = {100, 200, 300};
	struct clock_piece pieces[] = {
		{.from = 0, .at_ns = 1000, .mult = UINT64_C(1) << CLOCK_SHIFT},
		{.from = 200, .at_ns = 1050, .mult = UINT64_C(1) << CLOCK_SHIFT},
	};
	struct clock_model stepped = {.pieces = pieces, .nr_pieces = 2};
	struct invented a = {times, 3, 3, NULL, NULL};
	struct stream s = stream_of(&a, 0);
	struct merge_input in = {&s, 0, &stepped, 0};
	struct merge *m;
	struct run run;

	(void)state;
	assert_int_equal(merge_open(&m, &in, 1, 0, 0, NULL), 0);
	assert_true(merge_next(m, &run));
	assert_int_equal(run.nr, 3);
	assert_int_equal(run.times[0], 1100);
	assert_int_equal(run.times[1], 1100); /* would be 1050 */
	assert_int_equal(run.times[2], 1150);
	merge_close(m);
}

/* Of sched_switch: prev and next, in turn; -1: no switch, but an event of the thread that
 * follows; -2: a loss of 50 ticks that has the thread of the record before it. */
struct told {
	const int (*events)[2];
	unsigned nr;
};

static struct event lost_of(ticks_t time, int32_t tid)
{
	struct event lost = seam_lost(time, (ticks_t){time.v + 50});

	lost.tid = tid;
	lost.arg[3] = 0;
	return lost;
}

static unsigned told_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	const struct told *in = c->stream->reader;
	unsigned *at = c->buffer;
	unsigned n = 0;

	for (; n < room && *at < in->nr; n++, (*at)++) {
		const int *e = in->events[*at];

		memset(&events[n], 0, sizeof(events[n]));
		events[n].time.v = 100 * (*at + 1);
		events[n].kind = e[0] < 0 ? EV_SCHED_WAKING : EV_SCHED_SWITCH;
		events[n].tid = e[0] < 0 ? e[1] : e[0];
		events[n].arg[0] = e[0];
		events[n].arg[1] = e[1];
		if (e[0] == -2)
			events[n] = lost_of(events[n].time, e[1]);
	}
	if (*at == in->nr)
		c->packet = c->packet_end;
	return n;
}

static const struct trace_ops told_ops = {
	.cursor_init = invented_cursor_init,
	.cursor_next = told_cursor_next,
	.cursor_release = invented_cursor_release,
};

/* Events that do not fit together have a hole between them, from the last that fits. */
static void seams_show(void **state)
{
	static const int events[][2] = {
		{0, 7},	 {-1, 0}, {-1, 7}, /* the last steps of a switch are the old thread's */
		{7, 8},	 {9, 3},	   /* 8 is never seen to go */
		{-1, 3}, {-1, 4}, {4, 5},
		{5, 0},	 {-1, 0}, {-1, 5}, /* 5 has left: its last steps came before this */
	};
	static const struct {
		uint16_t kind;
		ns_t at;
	} expected[] = {
		{EV_SCHED_SWITCH, 100}, {EV_SCHED_WAKING, 200},	 {EV_SCHED_WAKING, 300},
		{EV_SCHED_SWITCH, 400}, {EV_LOST, 400},		 {EV_SCHED_SWITCH, 500},
		{EV_SCHED_WAKING, 600}, {EV_LOST, 600},		 {EV_SCHED_WAKING, 700},
		{EV_SCHED_SWITCH, 800}, {EV_SCHED_SWITCH, 900},	 {EV_SCHED_WAKING, 1000},
		{EV_LOST, 1000},	{EV_SCHED_WAKING, 1100},
	};
	struct told told = {events, ARRAY_SIZE(events)};
	struct trace t = {.ops = &told_ops};
	struct stream s = {.trace = &t, .packets = &packet, .nr_packets = 1, .reader = &told};
	struct merge_input in = {&s, 0, &same_clock, 0};
	unsigned nr = 0;
	struct merge *m;
	struct run run;

	(void)state;
	assert_int_equal(merge_open(&m, &in, 1, 0, 0, NULL), 0);
	while (merge_next(m, &run)) {
		for (unsigned i = 0; i < run.nr; i++, nr++) {
			assert_true(nr < ARRAY_SIZE(expected));
			assert_int_equal(run.events[i].kind, expected[nr].kind);
			assert_int_equal(run.times[i], expected[nr].at);
			if (run.events[i].kind != EV_LOST)
				continue;
			assert_int_equal(run.events[i].arg[1], expected[nr].at);
			assert_int_equal(run.events[i].arg[2], expected[nr].at + 100);
			assert_int_equal(run.events[i].arg[3], 1);
		}
	}
	assert_int_equal(nr, ARRAY_SIZE(expected));
	merge_close(m);
}

/* What was not wanted may have been another thread's: then nothing is known in front of the loss,
 * either. */
static void a_loss_shows_who_had_come(void **state)
{
	static const int events[][2] = {
		{0, 7},	 {-2, 7},		    /* 200: the thread itself */
		{0, 7},	 {-2, 0},		    /* 400: the last steps of the switch */
		{0, 7},	 {-1, 7}, {-2, -1},	    /* 700: nobody knows */
		{0, 7},	 {-1, 7}, {-2, 9},  {9, 7}, /* 1000: 7 had gone since 900 */
		{-2, 5}, {-2, 7},		    /* 1200: and since 1100; 1300: it may be back */
		{0, 7},	 {-1, 7}, {-2, 0},	    /* 1500: the old one's last steps were over */
	};
	static const uint64_t begins[] = {200, 400, 700, 900, 1100, 1300, 1500};
	struct told told = {events, ARRAY_SIZE(events)};
	struct trace t = {.ops = &told_ops};
	struct stream s = {.trace = &t, .packets = &packet, .nr_packets = 1, .reader = &told};
	struct merge_input in = {&s, 0, &same_clock, 0};
	unsigned nr = 0, events_seen = 0;
	struct merge *m;
	struct run run;

	(void)state;
	assert_int_equal(merge_open(&m, &in, 1, 0, 0, NULL), 0);
	while (merge_next(m, &run)) {
		for (unsigned i = 0; i < run.nr; i++) {
			const struct event *e = &run.events[i];

			events_seen++;
			if (e->kind != EV_LOST)
				continue;
			assert_true(nr < ARRAY_SIZE(begins));
			assert_int_equal(e->time.v, begins[nr]);
			assert_int_equal(run.times[i], begins[nr]);
			assert_int_equal(e->arg[1], begins[nr]);
			assert_int_equal(e->arg[2] % 100, 50);
			assert_int_equal(e->arg[3], 0);
			nr++;
		}
	}
	assert_int_equal(nr, ARRAY_SIZE(begins));
	assert_int_equal(events_seen, ARRAY_SIZE(events));
	merge_close(m);
}

/* As many as can be. */
static void every_event_may_be_a_seam(void **state)
{
	static int events[3 * MERGE_BATCH][2];
	struct told told = {events, ARRAY_SIZE(events)};
	struct trace t = {.ops = &told_ops};
	struct stream s = {.trace = &t, .packets = &packet, .nr_packets = 1, .reader = &told};
	struct merge_input in = {&s, 0, &same_clock, 0};
	unsigned nr = 0, lost = 0;
	struct merge *m;
	struct run run;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(events); i++) {
		events[i][0] = (int)i * 2;
		events[i][1] = (int)i * 2 + 1;
	}
	assert_int_equal(merge_open(&m, &in, 1, 0, 0, NULL), 0);
	while (merge_next(m, &run)) {
		for (unsigned i = 0; i < run.nr; i++) {
			bool is_lost = run.events[i].kind == EV_LOST;

			assert_int_equal(is_lost, (nr + lost) % 2);
			assert_true(is_lost || run.events[i].arg[0] == (int)nr * 2);
			lost += is_lost;
			nr += !is_lost;
		}
	}
	assert_int_equal(nr, ARRAY_SIZE(events));
	assert_int_equal(lost, ARRAY_SIZE(events) - 1);
	merge_close(m);
}

#define MANY_STREAMS 17
#define MANY_EVENTS 20000

static void many_long_streams_merge_the_same_with_and_without_threads(void **state)
{
	struct invented in[MANY_STREAMS];
	struct stream streams[MANY_STREAMS];
	struct merge_input inputs[MANY_STREAMS];

	(void)state;
	srand(1);
	for (unsigned s = 0; s < MANY_STREAMS; s++) {
		uint64_t *times = malloc(MANY_EVENTS * sizeof(*times));
		uint64_t t = 0;

		for (unsigned i = 0; i < MANY_EVENTS; i++)
			times[i] = t += (uint64_t)rand() % (s + 2);
		in[s] = (struct invented){times, MANY_EVENTS, 1 + s * 97, NULL, NULL};
		streams[s] = stream_of(&in[s], (int)s);
		inputs[s] = (struct merge_input){&streams[s], s % 3, &same_clock, 0};
	}
	for (unsigned threads = 0; threads < 3; threads++) {
		unsigned seen[MANY_STREAMS] = {0};
		ns_t last = NS_MIN;
		unsigned total = 0;
		struct merge *m;
		struct run run;

		assert_int_equal(merge_open(&m, inputs, MANY_STREAMS, 0, threads, NULL), 0);
		while (merge_next(m, &run)) {
			assert_true(run.nr > 0 && run.nr <= MERGE_BATCH);
			for (unsigned i = 0; i < run.nr; i++) {
				assert_true(run.times[i] >= last);
				last = run.times[i];
				assert_int_equal(run.events[i].arg[0], seen[run.input]++);
			}
			total += run.nr;
		}
		assert_int_equal(total, MANY_STREAMS * MANY_EVENTS);
		merge_close(m);
	}
	for (unsigned s = 0; s < MANY_STREAMS; s++)
		free((void *)in[s].times);
}

#define BATCHES 8
#define PATIENCE_MS 20000

static bool soon(const atomic_uint *filled, unsigned nr)
{
	for (unsigned i = 0; i < PATIENCE_MS && atomic_load(filled) < nr; i++)
		usleep(1000);
	return atomic_load(filled) >= nr;
}

static const uint64_t *numbers_from(uint64_t first)
{
	uint64_t *times = malloc(BATCHES * MERGE_BATCH * sizeof(*times));

	for (unsigned i = 0; i < BATCHES * MERGE_BATCH; i++)
		times[i] = first + i;
	return times;
}

/* Whatever the caller takes, the next batch is filled without it. */
static void a_worker_is_always_a_batch_ahead(void **state)
{
	atomic_uint filled = 0;
	struct invented in = {numbers_from(0), BATCHES * MERGE_BATCH, MERGE_BATCH, &filled, NULL};
	struct stream s = stream_of(&in, 0);
	struct merge_input input = {&s, 0, &same_clock, 0};
	struct merge *m;
	struct run run;

	(void)state;
	assert_int_equal(merge_open(&m, &input, 1, 0, 1, NULL), 0);
	for (unsigned i = 0; i < BATCHES; i++) {
		assert_true(soon(&filled, i ? i + 1 : 2));
		assert_true(merge_next(m, &run));
		assert_int_equal(run.nr, MERGE_BATCH);
	}
	assert_false(merge_next(m, &run));
	merge_close(m);
	free((void *)in.times);
}

/* The only worker is held up: the caller fills itself what it needs.  Then the worker goes on. */
static void a_caller_that_helps_itself_leaves_the_rest_to_the_worker(void **state)
{
	struct gate gate = {false, false};
	atomic_uint filled = 0;
	struct invented late = {numbers_from(1 << 20), BATCHES * MERGE_BATCH, MERGE_BATCH, NULL,
				&gate};
	struct invented early = {numbers_from(0), BATCHES * MERGE_BATCH, MERGE_BATCH, &filled,
				 NULL};
	struct stream streams[] = {stream_of(&late, 0), stream_of(&early, 1)};
	struct merge_input in[] = {{&streams[0], 0, &same_clock, 0},
				   {&streams[1], 0, &same_clock, 0}};
	struct merge *m;
	struct run run;

	(void)state;
	assert_int_equal(merge_open(&m, in, 2, 0, 1, NULL), 0);
	while (!atomic_load(&gate.reached))
		usleep(100);
	for (unsigned i = 0; i < BATCHES / 2; i++) {
		assert_true(merge_next(m, &run));
		assert_int_equal(run.input, 1);
	}
	atomic_store(&gate.open, true);
	assert_true(soon(&filled, BATCHES / 2 + 1));
	while (merge_next(m, &run))
		;
	merge_close(m);
	free((void *)late.times);
	free((void *)early.times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges_in_time_order_and_breaks_ties_by_rank),
		cmocka_unit_test(no_streams_and_empty_streams_end_at_once),
		cmocka_unit_test(no_more_workers_than_streams),
		cmocka_unit_test(
			a_clock_that_steps_back_between_pieces_does_not_disorder_the_stream),
		cmocka_unit_test(seams_show),
		cmocka_unit_test(a_loss_shows_who_had_come),
		cmocka_unit_test(every_event_may_be_a_seam),
		cmocka_unit_test(many_long_streams_merge_the_same_with_and_without_threads),
		cmocka_unit_test(a_worker_is_always_a_batch_ahead),
		cmocka_unit_test(a_caller_that_helps_itself_leaves_the_rest_to_the_worker),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
