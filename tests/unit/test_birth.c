/* SPDX-License-Identifier: Apache-2.0 */
/* Critical paths of threads that begin in the window, on a history written by hand. */
#include "tests/unit/unit.h"

#include "sonde/sonde.h"
#include "tests/unit/small_history_test.h"

/*
 * On cpu 0 of the host, BURN runs and makes threads: the vCPU's thread KVM_A (its wake-up tells of
 * BURN a little after the fork), KVM_B (no wake-up was recorded).  IDLE_1's row stands for a thread
 * that was there, but is seen first when BURN wakes it.
 */

#define FORK 1300000
#define WOKEN 1310000
#define FIRST_RUN 1400000

static void changes(struct history_writer *w)
{
	attr_t runs = small_attr(w, "host0", "cpu0", "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t burn_state = small_attr(w, "host0", "threads/4", "state", ATTR_ENUM, 0);
	attr_t burn_cpu = small_attr(w, "host0", "threads/4", "cpu", ATTR_NUMBER, 0);
	attr_t a_state = small_attr(w, "host0", "threads/2", "state", ATTR_ENUM, 0);
	attr_t a_cpu = small_attr(w, "host0", "threads/2", "cpu", ATTR_NUMBER, 0);
	attr_t a_waker = small_attr(w, "host0", "threads/2", "waker", ATTR_ROW, 0);
	attr_t runs_1 = small_attr(w, "host0", "cpu1", "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t b_cpu = small_attr(w, "host0", "threads/3", "cpu", ATTR_NUMBER, 0);
	attr_t b_state = small_attr(w, "host0", "threads/3", "state", ATTR_ENUM, 0);
	attr_t b_waker = small_attr(w, "host0", "threads/3", "waker", ATTR_ROW, 0);
	attr_t seen_state = small_attr(w, "host0", "threads/1", "state", ATTR_ENUM, 0);
	attr_t seen_waker = small_attr(w, "host0", "threads/1", "waker", ATTR_ROW, 0);
	const struct small_change list[] = {
		{1000000, runs, C_BURN_USER + 1},
		{1000000, runs_1, C_GUEST + 1},
		{1000000, burn_state, THREAD_RUNNING},
		{1000000, burn_cpu, 1},
		{1000000, a_cpu, 1},
		{FORK, a_state, THREAD_RUNNABLE},
		{FORK, b_state, THREAD_RUNNABLE},
		{FORK, seen_state, THREAD_RUNNABLE},
		{FORK, seen_waker, C_BURN_USER + 1},
		{WOKEN, a_waker, C_BURN_USER + 1},
		{FIRST_RUN, runs, C_HLT + 1},
		{FIRST_RUN, burn_state, THREAD_RUNNABLE},
		{FIRST_RUN, a_state, THREAD_RUNNING},
		{FIRST_RUN, b_state, THREAD_RUNNING},
		{1500000, b_state, THREAD_SLEEPING},
		{1600000, b_waker, C_BURN_USER + 1}, /* much later: not who made it */
		{1600000, b_state, THREAD_RUNNABLE},
		{1600000, b_cpu, 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
}

static int setup(void **state)
{
	const struct small_world world = {
		.options.ticks_are_ns = true, .of_nested = KVM_AN, .changes = changes};

	(void)state;
	return small_world_setup(&world);
}

static void assert_first_step(int64_t of, int64_t end, int64_t thread, const char *kind,
			      int64_t length)
{
	struct sonde_rows *f;

	assert_int_equal(sonde_critical_path(&f, history, of, SMALL_BEGIN, end, NULL), 0);
	assert_string_equal(sonde_rows_cell(f, 0, (unsigned)sonde_rows_column(f, "kind")).s, kind);
	assert_int_equal(sonde_rows_cell(f, 0, (unsigned)sonde_rows_column(f, "thread")).i, thread);
	assert_int_equal(sonde_rows_cell(f, 0, (unsigned)sonde_rows_column(f, "length")).i, length);
	sonde_rows_free(f);
}

static void a_path_goes_on_with_who_made_the_thread(void **state)
{
	(void)state;
	assert_first_step(KVM_A, 1500000, BURN, "runs", FORK - SMALL_BEGIN);
}

static void a_thread_does_not_wait_before_it_exists(void **state)
{
	(void)state;
	assert_first_step(KVM_B, 1500000, KVM_B, "unknown", FORK - SMALL_BEGIN);
}

static void who_was_there_slept_until_its_first_wake_up(void **state)
{
	(void)state;
	assert_first_step(IDLE_1, FIRST_RUN, BURN, "runs", FORK - SMALL_BEGIN);
}

/* It is queued where it was put last, as nobody sees it run. */
static void who_is_queued_at_the_runs_end_is_so_on_its_cpu(void **state)
{
	struct sonde_rows *f;

	(void)state;
	assert_int_equal(sonde_critical_path(&f, history, KVM_B, 1600000, SMALL_END, NULL), 0);
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_string_equal(sonde_rows_cell(f, 0, (unsigned)sonde_rows_column(f, "kind")).s,
			    "queued");
	assert_string_equal(sonde_rows_cell(f, 0, (unsigned)sonde_rows_column(f, "what")).s,
			    "runnable, CPU 1 ran vm-b vCPU 0");
	sonde_rows_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_goes_on_with_who_made_the_thread),
		cmocka_unit_test(a_thread_does_not_wait_before_it_exists),
		cmocka_unit_test(who_was_there_slept_until_its_first_wake_up),
		cmocka_unit_test(who_is_queued_at_the_runs_end_is_so_on_its_cpu),
	};

	return cmocka_run_group_tests(tests, setup, small_history_teardown);
}
