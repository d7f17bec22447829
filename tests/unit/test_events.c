/* SPDX-License-Identifier: Apache-2.0 */
/* Events read again from the traces that a history was made of: the same as at first. */
#include "sonde/sonde.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLE "samples/lttng"
#define TEXT_MAX 256

static struct {
	char path[64];
	struct sonde_history *history;
	struct sonde_events *aligned; /* clocks found from the traces */
	struct sonde_events *known;   /* clocks from the history */
} w;

static int setup(void **state)
{
	static const char *const paths[] = {SAMPLE};
	struct sonde_inputs in = {.paths = paths, .nr_paths = 1, .threads = 1};
	struct sonde_error err = {0};

	(void)state;
	snprintf(w.path, sizeof(w.path), "/tmp/sonde-test-events-%d", (int)getpid());
	assert_int_equal(sonde_analyze(&in, w.path, NULL, NULL, &err), 0);
	assert_int_equal(sonde_history_open(&w.history, w.path, &err), 0);
	assert_int_equal(sonde_events_open(&w.aligned, &in, NULL, &err), 0);
	assert_int_equal(sonde_history_events(&w.known, w.history, &err), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sonde_events_close(w.aligned);
	sonde_events_close(w.known);
	sonde_history_close(w.history);
	unlink(w.path);
	return 0;
}

static uint64_t compare(int64_t begin, int64_t end)
{
	uint64_t nr = 0;

	sonde_events_only_time(w.aligned, begin, end);
	sonde_events_only_time(w.known, begin, end);
	for (;; nr++) {
		struct sonde_event a = {0}, b = {0};
		char text_a[TEXT_MAX], text_b[TEXT_MAX];
		int ret = sonde_events_next(w.aligned, &a);

		assert_int_equal(sonde_events_next(w.known, &b), ret);
		if (ret <= 0)
			break;
		assert_int_equal(a.t_ns, b.t_ns);
		assert_int_equal(a.ticks, b.ticks);
		assert_int_equal(a.cpu, b.cpu);
		assert_int_equal(a.tid, b.tid);
		assert_string_equal(a.machine_name, b.machine_name);
		assert_string_equal(a.name, b.name);
		sonde_event_print(w.aligned, text_a, sizeof(text_a));
		sonde_event_print(w.known, text_b, sizeof(text_b));
		assert_string_equal(text_a, text_b);
	}
	return nr;
}

static void test_whole_and_again(void **state)
{
	int64_t begin = sonde_history_begin(w.history), end = sonde_history_end(w.history);
	uint64_t all = compare(begin, end);
	int64_t half = begin + (end - begin) / 2;

	(void)state;
	assert_true(all > 10000);
	assert_int_equal(compare(begin, half) + compare(half, end), all);
	assert_int_equal(compare(half, half), 0);
	assert_int_equal(compare(begin, end), all);
}

/* A window that is left before its end is no part of the next one. */
static void test_left_early(void **state)
{
	int64_t begin = sonde_history_begin(w.history), end = sonde_history_end(w.history);
	struct sonde_event event;

	(void)state;
	sonde_events_only_time(w.known, end - 1000000, end);
	assert_int_equal(sonde_events_next(w.known, &event), 1);
	assert_true(event.t_ns >= end - 1000000);
	sonde_events_only_time(w.known, begin, end);
	assert_int_equal(sonde_events_next(w.known, &event), 1);
	assert_true(event.t_ns < begin + 1000000);
}

/* Filters stay what they were. */
static void test_filtered_again(void **state)
{
	int64_t begin = sonde_history_begin(w.history), end = sonde_history_end(w.history);
	struct sonde_error err = {0};
	struct sonde_events *e;
	struct sonde_event event;
	uint64_t nr[2] = {0};

	(void)state;
	assert_int_equal(sonde_history_events(&e, w.history, &err), 0);
	assert_int_equal(sonde_events_only_machine(e, "vm-b"), 0);
	assert_int_equal(sonde_events_only_name(e, "sched_switch"), 0);
	for (unsigned i = 0; i < 2; i++) {
		sonde_events_only_time(e, begin, end);
		while (sonde_events_next(e, &event) > 0) {
			assert_string_equal(event.machine_name, "vm-b");
			nr[i]++;
		}
	}
	assert_true(nr[0] > 100);
	assert_int_equal(nr[0], nr[1]);
	sonde_events_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_and_again),
		cmocka_unit_test(test_left_early),
		cmocka_unit_test(test_filtered_again),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
