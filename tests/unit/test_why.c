/* SPDX-License-Identifier: Apache-2.0 */
/* Exits, delays and verdicts, on the history of small_history.h, by hand. */
#include "tests/unit/unit.h"

#include "base/histogram.h"
#include "sonde/sonde.h"
#include "tests/unit/small_history_test.h"

#include <errno.h>

static struct sonde_rows *rows(const char *name, int64_t begin, int64_t end)
{
	struct sonde_rows *f;

	assert_int_equal(sonde_rows_get(&f, history, name, begin, end, NULL), 0);
	return f;
}

static int64_t cell(const struct sonde_rows *f, size_t row, const char *column)
{
	int at = sonde_rows_column(f, column);

	assert_true(at >= 0);
	return sonde_rows_cell(f, row, (unsigned)at).i;
}

static const char *cell_text(const struct sonde_rows *f, size_t row, const char *column)
{
	return sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, column)).s;
}

/* ---- exits --------------------------------------------------------------------------------- */

/* The row of that reason and code; fails when there is none. */
static size_t exits_row(const struct sonde_rows *f, const char *name, int64_t from)
{
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		if (!strcmp(cell_text(f, row, "name"), name) && cell(f, row, "from") == from)
			return row;
	}
	print_error("no exits %s\n", name);
	assert_true(false);
	return 0;
}

static void exits_last_until_the_entry(void **state)
{
	struct sonde_rows *f = rows("exits", SMALL_BEGIN, SMALL_END);
	size_t row;

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 4); /* not the one without an end */
	row = exits_row(f, "HLT", VM_A);
	assert_int_equal(cell(f, row, "count"), 1);
	assert_int_equal(cell(f, row, "total"), 150000);
	assert_int_equal(cell(f, row, "by"), HOST);
	row = exits_row(f, "VMRUN", VM_A);
	assert_int_equal(cell(f, row, "count"), 2);
	assert_int_equal(cell(f, row, "total"), 30000);
	assert_int_equal(cell(f, row, "min"), 10000);
	assert_int_equal(cell(f, row, "max"), 20000);
	assert_int_equal(cell(f, row, "max_at"), 1480000);
	assert_int_equal(cell(f, row, "user_count"), 0);
	row = exits_row(f, "MSR", VM_AN);
	assert_int_equal(cell(f, row, "vm"), VM_A);
	assert_int_equal(cell(f, row, "total"), 30000);
	assert_int_equal(cell(f, row, "user_count"), 1);
	assert_int_equal(cell(f, row, "user"), 20000);
	sonde_rows_free(f);
}

/* Each exit belongs to the window it begins in, whole. */
static void windows_share_no_exit(void **state)
{
	static const int64_t cuts[] = {SMALL_BEGIN, 1350000, 1490000, 1565000, 1595000, SMALL_END};
	int64_t count = 0, total = 0;

	(void)state;
	for (unsigned i = 0; i + 1 < ARRAY_SIZE(cuts); i++) {
		struct sonde_rows *f = rows("exits", cuts[i], cuts[i + 1]);

		for (size_t row = 0; row < sonde_rows_nr(f); row++) {
			count += cell(f, row, "count");
			total += cell(f, row, "total");
		}
		sonde_rows_free(f);
	}
	assert_int_equal(count, 5);
	assert_int_equal(total, 150000 + 150000 + 20000 + 30000 + 10000);
}

static void exits_have_a_cause_in_the_guest(void **state)
{
	struct sonde_rows *f = rows("exit_cause", SMALL_BEGIN, SMALL_END);
	size_t row;

	(void)state;
	/* At 1300000 vm-a's thread is app; at the VMRUNs its vCPU thread. */
	for (row = 0; row < sonde_rows_nr(f) && cell(f, row, "thread") != APP; row++)
		;
	assert_true(row < sonde_rows_nr(f));
	assert_string_equal(cell_text(f, row, "name"), "INTR");
	assert_int_equal(cell(f, row, "total"), 150000);
	for (row = 0; row < sonde_rows_nr(f) && cell(f, row, "thread") != KVM_AN; row++)
		;
	assert_true(row < sonde_rows_nr(f));
	assert_string_equal(cell_text(f, row, "name"), "VMRUN");
	assert_int_equal(cell(f, row, "count"), 2);
	sonde_rows_free(f);
}

/* One exit of vm-a-n, and the VMRUN that it made vm-a execute. */
static void nesting_is_counted(void **state)
{
	struct sonde_rows *f = rows("nesting", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_int_equal(cell(f, 0, "vm"), VM_AN);
	assert_int_equal(cell(f, 0, "host"), VM_A);
	assert_int_equal(cell(f, 0, "exits"), 1);
	assert_int_equal(cell(f, 0, "reflected"), 1);
	assert_int_equal(cell(f, 0, "follow"), 1);
	assert_int_equal(cell(f, 0, "per_thousand"), 2000);
	assert_int_equal(cell(f, 0, "mean"), 50000);
	sonde_rows_free(f);
}

/* ---- delays -------------------------------------------------------------------------------- */

static int64_t delayed_by(const struct sonde_rows *f, int64_t thread, int64_t machine, int64_t mode)
{
	int64_t total = 0;

	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		if (cell(f, row, "thread") == thread && cell(f, row, "mode") == mode &&
		    cell(f, row, "culprit_machine") == machine)
			total += cell(f, row, "total");
	}
	return total;
}

static void delays_of_threads_name_who_had_the_cpu(void **state)
{
	struct sonde_rows *f = rows("thread_delay", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(delayed_by(f, BURN, VM_A, SONDE_MODE_TASK), 50000); /* app */
	assert_int_equal(delayed_by(f, BURN, HOST, SONDE_MODE_HYPERVISOR), 50000);
	assert_int_equal(delayed_by(f, BURN, VM_A, SONDE_MODE_HYPERVISOR), 50000);
	assert_int_equal(delayed_by(f, BURN, VM_AN, SONDE_MODE_TASK), 200000);
	assert_int_equal(delayed_by(f, BURN, HOST, SONDE_MODE_IRQ), 20000);
	/* app was running, as its kernel saw it, when burn had the CPU. */
	assert_int_equal(delayed_by(f, APP, HOST, SONDE_MODE_TASK), 100000);
	sonde_rows_free(f);
}

/* ---- verdicts ------------------------------------------------------------------------------ */

static const char *verdict_about(const struct sonde_rows *f, const char *kind, const char *column,
				 int64_t row_wanted)
{
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		if (!strcmp(cell_text(f, row, "kind"), kind) && cell(f, row, column) == row_wanted)
			return cell_text(f, row, "text");
	}
	return "none";
}

static bool is_said(const struct sonde_rows *f, const char *words)
{
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		if (strstr(cell_text(f, row, "text"), words))
			return true;
	}
	return false;
}

static void verdicts_are_sentences_with_numbers(void **state)
{
	struct sonde_rows *f = rows("why", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_string_equal(
		verdict_about(f, "vcpu", "vcpu", VM_A_0),
		"vm-a vCPU 0 had a steal time of 280.0 us of 1.000 ms, 2 times. All "
		"that time burn[300] in container burn:[4026532324] of host0 had CPU 0. The longest "
		"was 180.0 us from 0.001720000; it delayed vm-a-n vCPU 0.");
	assert_string_equal(
		verdict_about(f, "thread", "thread", APP),
		"app[60] of vm-a had a run-queue delay of 100.0 us of 1.000 ms. Its own "
		"kernel saw nothing of that. All that time burn[300] in container "
		"burn:[4026532324] of host0 had CPU 0. It was one delay, from 0.001300000.");
	assert_string_equal(
		verdict_about(f, "thread", "thread", BURN),
		"burn[300] in container burn:[4026532324] of host0 had a run-queue delay "
		"of 370.0 us of 1.000 ms, 2 times. For 300.0 us other machines had the CPU, for "
		"70.00 us others of its own machine had the CPU. For 200.0 us of the whole vm-a-n "
		"vCPU 0 (\033[31mtask<&>[7]) had CPU 0. The longest was 320.0 us from "
		"0.001400000.");
	assert_non_null(strstr(
		verdict_about(f, "hypervisor", "machine", VM_AN),
		"Each of its 1 exits that vm-a had to handle cost 2.0 exits to host0 on average."));
	assert_non_null(strstr(verdict_about(f, "unknown", "machine", VM_B), "has no trace"));
	assert_true(is_said(f, "Of what vm-a's kernel recorded of its boot at least 700 events had "
			       "been overwritten"));
	for (size_t row = 1; row < sonde_rows_nr(f); row++)
		assert_true(cell(f, row - 1, "cost") >= cell(f, row, "cost"));
	sonde_rows_free(f);
}

static void what_a_vcpu_did_may_not_be_known(void **state)
{
	struct sonde_rows *f = rows("why", SMALL_BEGIN, SMALL_END);
	const char *text = verdict_about(f, "unknown", "vcpu", VM_AN_0);

	(void)state;
	assert_non_null(strstr(text, "What vm-a-n vCPU 0 did is not known for 140.0 us of its time "
				     "(14.0%): its events, or its hosts', are missing. A trace "
				     "had not begun, had ended, or has a gap there"));
	assert_string_equal(verdict_about(f, "unknown", "vcpu", VM_A_0), "none");
	sonde_rows_free(f);
}

static void delays_one_by_one_are_the_longest(void **state)
{
	struct sonde_rows *f = rows("delay", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(cell(f, 0, "cost"), 320000);
	assert_int_equal(cell(f, 0, "thread"), BURN);
	assert_int_equal(cell(f, 0, "begin"), 1400000);
	assert_non_null(
		strstr(cell_text(f, 0, "text"),
		       "For 200.0 us of that vm-a-n vCPU 0 (\033[31mtask<&>[7]) had CPU 0."));
	assert_string_equal(
		verdict_about(f, "exit", "vcpu", VM_AN_0),
		"vm-a-n vCPU 0 left guest mode (MSR) at 0.001550000 and came back after 30.00 us, "
		"through the VMM (X86_WRMSR).");
	sonde_rows_free(f);
}

/* ---- critical paths ------------------------------------------------------------------------ */

struct step {
	int64_t begin, length;
	int thread;
	const char *kind;
	const char *what;
};

static void assert_path(int64_t thread, int64_t begin, int64_t end, const struct step *want,
			size_t nr)
{
	struct sonde_rows *f;
	int64_t at = begin;

	assert_int_equal(sonde_critical_path(&f, history, thread, begin, end, NULL), 0);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(cell(f, i, "at"), at);
		assert_int_equal(cell(f, i, "at"), want[i].begin);
		assert_int_equal(cell(f, i, "length"), want[i].length);
		assert_int_equal(cell(f, i, "thread"), want[i].thread);
		assert_string_equal(cell_text(f, i, "kind"), want[i].kind);
		assert_string_equal(cell_text(f, i, "what"), want[i].what);
		at += cell(f, i, "length");
	}
	assert_int_equal(at, end);
	assert_int_equal(sonde_rows_nr(f), nr);
	sonde_rows_free(f);
}

static void a_path_says_who_had_the_cpu(void **state)
{
	static const struct step steps[] = {
		{1000000, 250000, BURN, "waits", "for irq local_timer on CPU 0 of host0"},
		{1250000, 50000, BURN, "queued", "behind vm-a vCPU 0 (app[60])"},
		{1300000, 100000, BURN, "runs", "user"},
		{1400000, 50000, BURN, "queued", "behind host0's hypervisor, for vm-a vCPU 0"},
		{1450000, 50000, BURN, "queued", "behind vm-a's hypervisor, for vm-a-n vCPU 0"},
		{1500000, 200000, BURN, "queued", "behind vm-a-n vCPU 0 (\033[31mtask<&>[7])"},
		{1700000, 20000, BURN, "queued", "behind hardirqs of host0"},
		{1720000, 280000, BURN, "runs", "syscall openat"},
	};

	(void)state;
	assert_path(BURN, SMALL_BEGIN, SMALL_END, steps, ARRAY_SIZE(steps));
	assert_path(BURN, 1250000, 1400000, steps + 1, 2);
}

/* An interrupt in the guest, for which its vCPU was woken, by a thread of the host. */
static void a_path_leads_out_of_the_guest(void **state)
{
	static const struct step steps[] = {
		{1000000, 100000, BURN, "waits", "until something that the trace does not tell"},
		{1100000, 50000, KVM_A, "hypervisor", "host0's, HLT for vm-a vCPU 0"},
		{1150000, 150000, APP, "runs", "user"},
		{1300000, 100000, APP, "steal",
		 "vm-a vCPU 0 was runnable, CPU 0 ran burn[300] in container burn:[4026532324] of "
		 "host0"},
	};

	(void)state;
	assert_path(APP, SMALL_BEGIN, 1400000, steps, ARRAY_SIZE(steps));
}

static void no_path_of_nobody(void **state)
{
	struct sonde_error err = {0};
	struct sonde_rows *f;

	(void)state;
	assert_int_equal(sonde_critical_path(&f, history, 1000, SMALL_BEGIN, SMALL_END, &err),
			 -ENOENT);
	assert_string_equal(err.text, "there is no such thread");
	assert_null(f);
}

/* ---- histograms ---------------------------------------------------------------------------- */

static void quantiles_are_within_a_hundredth(void **state)
{
	static struct histogram h, twice;

	(void)state;
	memset(&h, 0, sizeof(h));
	assert_int_equal(histogram_quantile(&h, 500000), -1);
	for (int64_t i = 1; i <= 100000; i++)
		histogram_add(&h, i * 1000);
	assert_int_equal(h.count, 100000);
	assert_int_equal(h.total_ns, INT64_C(1000) * 100000 * 100001 / 2);
	assert_int_equal(histogram_quantile(&h, 0), 1000);
	assert_int_equal(histogram_quantile(&h, 1000000), 100000000);
	for (unsigned ppm = 10000; ppm < 1000000; ppm += 10000)
		assert_in_range(histogram_quantile(&h, ppm), (uint64_t)ppm * 99,
				(uint64_t)ppm * 101);
	memset(&twice, 0, sizeof(twice));
	for (int64_t i = 1; i <= 100000; i++) {
		histogram_count(&twice, i * 1000);
		histogram_count(&twice, i * 1000);
	}
	for (int i = 0; i < 2; i++)
		histogram_add_sums(&twice, h.count, h.total_ns, h.least_ns, h.greatest_ns);
	assert_int_equal(twice.count, 200000);
	assert_int_equal(histogram_quantile(&twice, 250000), histogram_quantile(&h, 250000));
	histogram_release(&h);
	histogram_release(&twice);
}

static void buckets_have_no_gaps(void **state)
{
	(void)state;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		assert_int_equal(histogram_bucket(histogram_bucket_begin(i)), i);
		if (i)
			assert_int_equal(histogram_bucket(histogram_bucket_begin(i) - 1), i - 1);
	}
	assert_int_equal(histogram_bucket(INT64_MAX), HISTOGRAM_BUCKETS - 1);
	assert_int_equal(histogram_bucket(-5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exits_last_until_the_entry),
		cmocka_unit_test(windows_share_no_exit),
		cmocka_unit_test(exits_have_a_cause_in_the_guest),
		cmocka_unit_test(nesting_is_counted),
		cmocka_unit_test(delays_of_threads_name_who_had_the_cpu),
		cmocka_unit_test(verdicts_are_sentences_with_numbers),
		cmocka_unit_test(what_a_vcpu_did_may_not_be_known),
		cmocka_unit_test(delays_one_by_one_are_the_longest),
		cmocka_unit_test(a_path_says_who_had_the_cpu),
		cmocka_unit_test(a_path_leads_out_of_the_guest),
		cmocka_unit_test(no_path_of_nobody),
		cmocka_unit_test(quantiles_are_within_a_hundredth),
		cmocka_unit_test(buckets_have_no_gaps),
	};

	return cmocka_run_group_tests(tests, small_history_setup, small_history_teardown);
}
