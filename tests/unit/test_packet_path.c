/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Critical paths through packets, on a history written by hand.  APP in vm-a sleeps from 1100000
 * on, until the soft interrupt for packets that came wakes it at 1600000.  BURN, vm-a's worker, was
 * awake all along; IDLE_1's row stands for another VM's worker, awake as well, and TASK for that
 * VM's thread that sends at 1300000, without a kick.  The worker hands that on at 1400000; BURN
 * sends the interrupt at 1500000.
 */
#include "tests/unit/unit.h"

#include "sonde/sonde.h"
#include "tests/unit/small_history_test.h"

enum { SLEEPS = 1100000, SENDS = 1300000, HANDS_ON = 1400000, TELLS = 1500000, WAKES = 1600000 };
enum { SEND = 4, RECEIVE = 5 };

static void requests(struct history_writer *w)
{
	static const struct column columns[] = {
		{"machine", COL_INT},	{"cpu", COL_INT},      {"thread", COL_INT},
		{"kind", COL_INT},	{"dev", COL_INT},      {"sector", COL_INT},
		{"bytes", COL_INT},	{"depth", COL_INT},    {"queued", COL_NS},
		{"issued", COL_NS},	{"kicked", COL_NS},    {"picked", COL_NS},
		{"disk_begin", COL_NS}, {"disk_end", COL_NS},  {"sent", COL_NS},
		{"injected", COL_NS},	{"handled", COL_NS},   {"done", COL_NS},
		{"worker", COL_INT},	{"sender", COL_INT},   {"irq_cpu", COL_INT},
		{"vector", COL_INT},	{"covered", COL_BOOL}, {"disputed", COL_BOOL},
	};
	static const int64_t rows[][ARRAY_SIZE(columns)] = {
		{VM_AN, VM_AN_0, TASK, SEND, -1, -1,	   0,	   0,  -1, SENDS, -1, -1,
		 -1,	-1,	 -1,   -1,   -1, HANDS_ON, IDLE_1, -1, -1, -1,	  1,  0},
		{VM_A,	       VM_A_0,	     -1,     RECEIVE,  -1,     -1, 0,	  0,
		 -1,	       -1,	     -1,     HANDS_ON, -1,     -1, TELLS, -1,
		 WAKES - 1000, WAKES - 1000, IDLE_1, BURN,     VM_A_0, 40, 1,	  0},
	};
	int table = history_writer_table(w, "request", columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		history_writer_row(w, table, rows[i]);
}

static void changes(struct history_writer *w)
{
	attr_t runs = small_attr(w, "host0", "cpu0", "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t app = small_attr(w, "vm-a", "threads/6", "state", ATTR_ENUM, 0);
	attr_t waker = small_attr(w, "vm-a", "threads/6", "waker", ATTR_ROW, 0);
	attr_t kvm = small_attr(w, "host0", "threads/2", "state", ATTR_ENUM, 0);
	attr_t worker = small_attr(w, "host0", "threads/4", "state", ATTR_ENUM, 0);
	attr_t other = small_attr(w, "host0", "threads/1", "state", ATTR_ENUM, 0);
	attr_t sends = small_attr(w, "vm-a-n", "threads/7", "state", ATTR_ENUM, 0);
	const struct small_change list[] = {
		{SMALL_BEGIN, runs, C_BURN_USER + 1}, {SMALL_BEGIN, app, THREAD_RUNNING},
		{SMALL_BEGIN, kvm, THREAD_RUNNING},   {SMALL_BEGIN, worker, THREAD_RUNNABLE},
		{SMALL_BEGIN, other, THREAD_RUNNING}, {SMALL_BEGIN, sends, THREAD_RUNNING},
		{SLEEPS, app, THREAD_SLEEPING},	      {WAKES, waker, C_NET_RX_OF_A + 1},
		{WAKES, app, THREAD_RUNNING},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
	requests(w);
}

static int setup(void **state)
{
	const struct small_world world = {
		.options.ticks_are_ns = true, .of_nested = KVM_AN, .changes = changes};

	(void)state;
	return small_world_setup(&world);
}

static int64_t cell(const struct sonde_rows *f, size_t row, const char *column)
{
	return sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, column)).i;
}

/* Whose the path is throughout [from, to). */
static void assert_whose(const struct sonde_rows *f, ns_t from, ns_t to, int64_t thread)
{
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		ns_t at = cell(f, row, "at"), end = at + cell(f, row, "length");

		if (at < to && end > from)
			assert_int_equal(cell(f, row, "thread"), thread);
	}
}

static void a_packet_goes_back_to_who_sent_it(void **state)
{
	struct sonde_rows *f;

	(void)state;
	assert_int_equal(sonde_critical_path(&f, history, APP, SLEEPS, WAKES, NULL), 0);
	assert_whose(f, SLEEPS, SENDS, TASK);
	assert_whose(f, SENDS, HANDS_ON, IDLE_1);
	assert_whose(f, HANDS_ON, TELLS, BURN);
	assert_whose(f, TELLS, WAKES, KVM_A);
	sonde_rows_free(f);
}

/* It was on its way already: it is on the path only as far as it had still to go. */
static void what_was_sent_before_the_sleep_is_not_followed_further(void **state)
{
	struct sonde_rows *f;

	(void)state;
	assert_int_equal(sonde_critical_path(&f, history, APP, HANDS_ON + 50000, WAKES, NULL), 0);
	assert_whose(f, HANDS_ON + 50000, TELLS, BURN);
	assert_whose(f, TELLS, WAKES, KVM_A);
	sonde_rows_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_goes_back_to_who_sent_it),
		cmocka_unit_test(what_was_sent_before_the_sleep_is_not_followed_further),
	};

	return cmocka_run_group_tests(tests, setup, small_history_teardown);
}
