/* SPDX-License-Identifier: Apache-2.0 */
/* Why it is not known what physical CPUs did, on a history written by hand. */
#include "tests/unit/unit.h"

#include "analysis/quality/unknown_time.h"
#include "sonde/sonde.h"
#include "tests/unit/small_history_test.h"

/*
 * CPU 0 is seen from 1200000 on, and no more from 1900000 on; events of it were lost from 1400000
 * to 1450000, from 1500000 to 1550000 (which the first event after it tells of) and, while nothing
 * was known anyway, before 1200000; from 1700000 to 1760000 it is just not known.  CPU 1 is always
 * seen. Losses are not in the order of time.
 */
static void changes(struct history_writer *w)
{
	attr_t runs_0 = small_attr(w, "host0", "cpu0", "runs", ATTR_ROW, ATTR_SUMMED);
	attr_t runs_1 = small_attr(w, "host0", "cpu1", "runs", ATTR_ROW, ATTR_SUMMED);
	const struct small_change list[] = {
		{1000000, runs_1, C_IDLE + 1}, {1200000, runs_0, C_IDLE + 1},
		{1400000, runs_0, 0},	       {1480000, runs_0, C_BURN_USER + 1},
		{1550000, runs_0, 0},	       {1570000, runs_0, C_IDLE + 1},
		{1700000, runs_0, 0},	       {1760000, runs_0, C_IDLE + 1},
		{1900000, runs_0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		history_writer_set(w, list[i].attr, list[i].t, list[i].value);
}

static void losses(struct history_writer *w)
{
	static const struct column columns[] = {{"machine", COL_INT},
						{"cpu", COL_INT},
						{"begin", COL_NS},
						{"end", COL_NS},
						{"events", COL_INT}};
	static const int64_t rows[][5] = {
		{HOST, -1, 1500000, 1550000, -1},
		{HOST, 0, 1100000, 1150000, 1},
		{HOST, 0, 1400000, 1450000, 1},
		{VM_A, 0, 1700000, 1750000, 1},
	};
	int table = history_writer_table(w, "loss", columns, 5);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		history_writer_row(w, table, rows[i]);
}

static int setup(void **state)
{
	const struct small_world world = {.options.ticks_are_ns = true,
					  .of_nested = -1,
					  .changes = changes,
					  .tables = {losses}};

	(void)state;
	return small_world_setup(&world);
}

static void assert_unseen(int64_t begin, int64_t end, ns_t unknown, const struct unseen *expected)
{
	struct unseen found;

	assert_int_equal(unseen_find(&found, history, begin, end, unknown), 0);
	assert_int_equal(found.before, expected->before);
	assert_int_equal(found.after, expected->after);
	assert_int_equal(found.lost, expected->lost);
	assert_int_equal(found.never, expected->never);
	assert_int_equal(found.other, expected->other);
}

static void each_moment_has_one_reason(void **state)
{
	(void)state;
	assert_unseen(SMALL_BEGIN, SMALL_END, 200000 + 100000 + 80000 + 20000 + 60000,
		      &(struct unseen){150000, 100000, 150000, 0, 60000});
}

static void a_window_cuts_them(void **state)
{
	(void)state;
	assert_unseen(1420000, 1720000, 60000 + 20000 + 20000,
		      &(struct unseen){0, 0, 80000, 0, 20000});
	assert_unseen(1100000, 1250000, 100000, &(struct unseen){50000, 0, 50000, 0, 0});
	assert_unseen(1910000, 1950000, 40000, &(struct unseen){0, 40000, 0, 0, 0});
	assert_unseen(1200000, 1300000, 0, &(struct unseen){0, 0, 0, 0, 0});
}

static void a_verdict_names_those_there_are(void **state)
{
	struct sonde_rows *f;

	(void)state;
	assert_int_equal(sonde_rows_get(&f, history, "why", 1300000, 1650000, NULL), 0);
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		const char *says =
			sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "text")).s;

		if (strncmp(says, "What CPUs did", 13))
			continue;
		assert_string_equal(says,
				    "What CPUs did is not known for 14.3% of their time. For "
				    "100.0 us events are missing: the host's tracer lost at least "
				    "1 event in 2 places, the longest of 50.00 us from "
				    "0.001500000. Larger buffers, or fewer events, avoid what its "
				    "tracer counted. sonde check of the trace says what its files "
				    "lack.");
		sonde_rows_free(f);
		return;
	}
	assert_true(false);
}

static bool says(const struct sonde_rows *f, const char *words)
{
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		if (strstr(sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "text")).s,
			   words))
			return true;
	}
	return false;
}

/* Of the host's they are part of what CPUs did; and one that a window cuts is told as the table of
 * losses has it. */
static void a_gap_is_told_once_and_whole(void **state)
{
	struct sonde_rows *f;

	(void)state;
	assert_int_equal(sonde_rows_get(&f, history, "why", 1520000, 1720000, NULL), 0);
	assert_true(
		says(f, "the host's trace has 1 gap of 50.00 us from 0.001500000. sonde check"));
	assert_false(says(f, "host0's trace has"));
	assert_true(says(
		f, "vm-a's tracer lost 1 event in 1 place, for 50.00 us on CPU 0 from 0.001700000: "
		   "nothing is known of it. Larger buffers"));
	sonde_rows_free(f);
}

/* As when the file of a trace is cut off before CPU 1's part. */
static void changes_of_one(struct history_writer *w)
{
	history_writer_set(w, small_attr(w, "host0", "cpu0", "runs", ATTR_ROW, ATTR_SUMMED),
			   SMALL_BEGIN, C_IDLE + 1);
	small_attr(w, "host0", "cpu1", "runs", ATTR_ROW, ATTR_SUMMED);
}

static int setup_one(void **state)
{
	const struct small_world world = {
		.options.ticks_are_ns = true, .of_nested = -1, .changes = changes_of_one};

	(void)state;
	return small_world_setup(&world);
}

static void a_cpu_without_events(void **state)
{
	(void)state;
	assert_unseen(1100000, 1250000, 150000, &(struct unseen){.never = 150000});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_moment_has_one_reason),
		cmocka_unit_test(a_window_cuts_them),
		cmocka_unit_test(a_verdict_names_those_there_are),
		cmocka_unit_test(a_gap_is_told_once_and_whole),
	};

	const struct CMUnitTest tests_of_one[] = {
		cmocka_unit_test(a_cpu_without_events),
	};

	return cmocka_run_group_tests(tests, setup, small_history_teardown) +
	       cmocka_run_group_tests(tests_of_one, setup_one, small_history_teardown);
}
