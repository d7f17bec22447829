/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to devices as rows, on rows written by hand. */
#include "tests/unit/unit.h"

#include "sonde/sonde.h"
#include "tests/unit/small_history.h"

static struct sonde_history *history;
static char path[64];

/* Interrupts of two disks of VM_A. */
static void vectors(struct history_writer *w)
{
	static const struct column columns[] = {{"cpu", COL_INT},	 {"vector", COL_INT},
						{"cause", COL_INT},	 {"irq", COL_STRING},
						{"times", COL_INT},	 {"agree", COL_INT},
						{"evidence", COL_STRING}};
	static const char *const irqs[] = {"virtio0-req.0", "virtio2-req.0"};
	int table = history_writer_table(w, "vector", columns, ARRAY_SIZE(columns));

	for (int64_t i = 0; i < 2; i++) {
		int64_t row[] = {VM_A_0, 50 + i, SONDE_CAUSE_DISK, 0, 9, 9, 0};

		row[3] = small_string(w, irqs[i]);
		history_writer_row(w, table, row);
	}
}

/* As the model writes them: a request of 254:16, one whose disk is not known, a packet sent (until
 * its worker had it), two that came, and kicks that two disks' interrupts answered. */
static void requests(struct history_writer *w)
{
	static const char *const names[] = {
		"machine",    "cpu",	  "thread",  "kind",	 "dev",	    "sector",
		"bytes",      "depth",	  "queued",  "issued",	 "kicked",  "picked",
		"disk_begin", "disk_end", "sent",    "injected", "handled", "done",
		"worker",     "sender",	  "irq_cpu", "vector",	 "covered", "disputed"};
	static const int64_t rows[][ARRAY_SIZE(names)] = {
		{VM_A,	  VM_A_0,  APP,	    1,	     254 << 20 | 16,
		 8,	  4096,	   1,	    1100000, 1110000,
		 1120000, 1130000, -1,	    -1,	     1140000,
		 1150000, 1160000, 1170000, -1,	     -1,
		 VM_A_0,  40,	   1,	    0},
		{VM_A,	  VM_A_0,  APP,	    1,	     -1, -1, 0,	      0,
		 1200000, 1210000, 1220000, 1230000, -1, -1, 1240000, 1250000,
		 1260000, 1270000, -1,	    -1,	     -1, -1, 1,	      0},
		{VM_A, VM_A_0, APP, 4,	-1, -1,	     0,	 0,  -1, 1300000, 1310000, 1320000,
		 -1,   -1,     -1,  -1, -1, 1330000, -1, -1, -1, -1,	  1,	   0},
		{VM_A, VM_A_0, -1,	5,	 -1,	  -1,	   0,  0,  -1,	   -1, -1, -1,
		 -1,   -1,     1400000, 1410000, 1420000, 1420000, -1, -1, VM_A_0, 41, 1,  0},
		{VM_A, VM_A_0, -1,	5,	 -1,	  -1,	   0,  0,  -1,	   -1, -1, -1,
		 -1,   -1,     1500000, 1510000, 1530000, 1530000, -1, -1, VM_A_0, 41, 1,  0},
		{VM_A,	  VM_A_0,  -1,	    0,	     -1,     -1, 0,	  0,
		 -1,	  -1,	   1600000, 1610000, -1,     -1, 1620000, 1630000,
		 1640000, 1640000, -1,	    -1,	     VM_A_0, 50, 1,	  0},
		{VM_A,	  VM_A_0,  -1,	    0,	     -1,     -1, 0,	  0,
		 -1,	  -1,	   1700000, 1710000, -1,     -1, 1720000, 1730000,
		 1740000, 1740000, -1,	    -1,	     VM_A_0, 51, 1,	  0},
	};
	struct column columns[ARRAY_SIZE(names)];
	int table;

	vectors(w);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		columns[i] = (struct column){names[i], i >= 8 && i < 18 ? COL_NS
						       : i >= 22	? COL_BOOL
									: COL_INT};
	table = history_writer_table(w, "request", columns, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		history_writer_row(w, table, rows[i]);
}

static int setup(void **state)
{
	(void)state;
	return small_history_write_with(path, 0, requests)
		       ? -1
		       : sonde_history_open(&history, path, NULL);
}

static int teardown(void **state)
{
	(void)state;
	sonde_history_close(history);
	return unlink(path);
}

/* The requests that took @leg of @device; -1 where there is no such row. */
static int64_t times(const char *device, const char *leg)
{
	struct sonde_rows *f;
	int64_t count = -1;

	assert_int_equal(sonde_rows_get(&f, history, "io_stage", SMALL_BEGIN, SMALL_END, NULL), 0);
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		const char *of =
			sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "device")).s;
		const char *part =
			sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "stage")).s;

		if (!strcmp(of, device) && !strcmp(part, leg))
			count = sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "count")).i;
	}
	sonde_rows_free(f);
	return count;
}

static void packets_are_no_disk(void **state)
{
	(void)state;
	assert_int_equal(times("disk", "all"), 1);
	assert_int_equal(times("254:16", "all"), 1);
}

static void disks_without_numbers_are_told_apart_by_name(void **state)
{
	(void)state;
	assert_int_equal(times("virtio0 disk", "all"), 1);
	assert_int_equal(times("virtio2 disk", "all"), 1);
}

static void packets_that_come_have_legs_of_their_own(void **state)
{
	(void)state;
	assert_int_equal(times("network send", "all"), 1);
	assert_int_equal(times("network send", "inject"), -1);
	assert_int_equal(times("network receive", "all"), 2);
	assert_int_equal(times("network receive", "deliver"), 2);
	assert_int_equal(times("network receive", "wake"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_no_disk),
		cmocka_unit_test(disks_without_numbers_are_told_apart_by_name),
		cmocka_unit_test(packets_that_come_have_legs_of_their_own),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
