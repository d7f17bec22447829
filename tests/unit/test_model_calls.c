/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hypercalls of a VM: marks, up to a rate; and what only its kernel may send, refused and counted.
 *
 * The host's threads 100 and 101 are the VM's vCPUs, on CPUs 0 and 1; 7 is a process in it.
 */
#define FAKE_ROWS 16384
#include "channel/hypertrace.h"
#include "channel/stolen.h"
#include "model/kvm/hypercalls.h"
#include "tests/unit/model_world.h"

#define KERNEL ((int64_t)0xffffffffc0401000)
#define USER 0x401000
#define VMMCALL 0x81
#define NUMBER(magic) ((int64_t)((uint64_t)(magic) << 48))

static void calls_at(ns_t t, int64_t rip, int64_t nr)
{
	happens(HOST, 0, t, KVM_EXIT, 100, VMMCALL, -1, rip, SVM);
	happens(HOST, 0, t + 1, KVM_HYPERCALL, 100, nr);
	happens(HOST, 0, t + 2, KVM_ENTRY, 100, -1);
}

static void open_world(void)
{
	world_open(2);
	switches(HOST, 0, 100, 0, RUNNABLE, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, RUNNABLE, 7);
}

static void assert_refused(unsigned row, enum refused_what what, enum ht_origin origin,
			   int64_t count)
{
	assert_int_equal(fake_cell("refused", row, "machine"), VM);
	assert_int_equal(fake_cell("refused", row, "what"), what);
	assert_int_equal(fake_cell("refused", row, "origin"), origin);
	assert_int_equal(fake_cell("refused", row, "count"), count);
}

static void test_refused(void **state)
{
	(void)state;
	open_world();
	for (unsigned i = 0; i < 5; i++) {
		ns_t t = 1000 + 100 * i;

		calls_at(t, USER, NUMBER(HT_CALL_MAGIC));
		calls_at(t + 10, KERNEL, NUMBER(HT_CALL_MAGIC));
		calls_at(t + 20, USER, NUMBER(HT_ANNOUNCE_MAGIC));
		calls_at(t + 30, KERNEL, NUMBER(HT_ANNOUNCE_MAGIC));
		calls_at(t + 40, USER, NUMBER(ST_ANNOUNCE_MAGIC));
		calls_at(t + 50, USER, 1000); /* none of ours */
		calls_at(t + 60, 0, NUMBER(HT_CALL_MAGIC));
	}
	world_close(9000);
	assert_int_equal(fake_rows("refused"), 4);
	assert_refused(0, REFUSED_EVENTS, HT_ORIGIN_USER, 5);
	assert_int_equal(fake_cell("refused", 0, "thread"), thread_row(VM, 7));
	assert_int_equal(fake_cell("refused", 0, "first"), 1001);
	assert_int_equal(fake_cell("refused", 0, "last"), 1401);
	assert_refused(1, REFUSED_RINGS, HT_ORIGIN_USER, 5);
	assert_refused(2, REFUSED_BOARD, HT_ORIGIN_USER, 5);
	assert_refused(3, REFUSED_EVENTS, HT_ORIGIN_UNKNOWN, 5);
}

/* Two vCPUs exit, one in its kernel, one not, and the calls come the other way round; events that
 * were lost between are the end of what was known. */
static void test_in_turn(void **state)
{
	(void)state;
	open_world();
	switches(HOST, 1, 200, 0, RUNNABLE, 101);
	enters(HOST, 1, 210, 101);
	happens(HOST, 0, 1000, KVM_EXIT, 100, VMMCALL, -1, KERNEL, SVM);
	happens(HOST, 1, 1001, KVM_EXIT, 101, VMMCALL, -1, USER, SVM);
	happens(HOST, 1, 1002, KVM_HYPERCALL, 101, NUMBER(HT_ANNOUNCE_MAGIC));
	happens(HOST, 0, 1003, KVM_HYPERCALL, 100, NUMBER(HT_ANNOUNCE_MAGIC));
	happens(HOST, 0, 2000, KVM_EXIT, 100, VMMCALL, -1, KERNEL, SVM);
	happens(HOST, 1, 2001, LOST, -1, 3, 1500, 2001);
	happens(HOST, 0, 2002, KVM_HYPERCALL, 100, NUMBER(HT_ANNOUNCE_MAGIC));
	world_close(9000);
	assert_int_equal(fake_rows("refused"), 2);
	assert_refused(0, REFUSED_RINGS, HT_ORIGIN_USER, 1);
	assert_refused(1, REFUSED_RINGS, HT_ORIGIN_UNKNOWN, 1);
}

/* The first exit comes while another CPU's gap lasts: its thread may have been there since. */
static void test_gap_before_the_first(void **state)
{
	(void)state;
	open_world();
	happens(HOST, 1, 900, LOST, -1, 3, 900, 5000);
	happens(HOST, 0, 1000, KVM_EXIT, 100, VMMCALL, -1, KERNEL, SVM);
	switches(HOST, 0, 1010, 100, RUNNABLE, 0);
	switches(HOST, 0, 1020, 0, RUNNABLE, 100);
	happens(HOST, 0, 1030, KVM_HYPERCALL, 100, NUMBER(HT_ANNOUNCE_MAGIC));
	world_close(9000);
	assert_int_equal(fake_rows("refused"), 1);
	assert_refused(0, REFUSED_RINGS, HT_ORIGIN_UNKNOWN, 1);
}

/* What one VM marks beyond the rate is refused, and its next second begins anew. */
static void test_rate(void **state)
{
	const unsigned many = CALLS_MARKS_PER_S + 500;

	(void)state;
	open_world();
	for (unsigned i = 0; i < many; i++)
		calls_at((i < many - 250 ? 1000 : NS_PER_SEC / 2) + 10 * (ns_t)i, USER,
			 NUMBER(HT_MARK_MAGIC) | i);
	calls_at(NS_PER_SEC + 2000, USER, NUMBER(HT_MARK_MAGIC));
	world_close(2 * NS_PER_SEC);
	assert_int_equal(fake_rows("mark"), CALLS_MARKS_PER_S + 1);
	assert_int_equal(fake_rows("refused"), 1);
	assert_refused(0, REFUSED_MARKS, HT_ORIGIN_USER, 500);
}

/* A second before L0's clock shows 0 is as long as others. */
static void test_rate_before_zero(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, -9 * NS_PER_SEC, 0, RUNNABLE, 100);
	enters(HOST, 0, -9 * NS_PER_SEC + 10, 100);
	switches(VM, 0, -9 * NS_PER_SEC + 20, 0, RUNNABLE, 7);
	for (unsigned i = 0; i < CALLS_MARKS_PER_S + 500; i++)
		calls_at((i < CALLS_MARKS_PER_S / 2 ? -5 : -3) * NS_PER_SEC + 10 * (ns_t)i, USER,
			 NUMBER(HT_MARK_MAGIC) | i);
	world_close(NS_PER_SEC);
	assert_int_equal(fake_rows("mark"), CALLS_MARKS_PER_S + 500);
	assert_int_equal(fake_rows("refused"), 0);
}

static uint64_t skipped; /* as the recorder's record of a call has it */

static int folded_field(const struct stream *s, const struct event *e, const char *name,
			struct field_value *out)
{
	bool cpl = !strcmp(name, "cpl");

	(void)s;
	(void)e;
	if (!cpl && strcmp(name, "skipped"))
		return -2;
	*out = (struct field_value){.cls = FIELD_UINT, .u = cpl ? 3 : skipped};
	return 0;
}

/* What the recorder counted and did not write: its counters go up, and two vCPUs' records
 * may come the other way round. */
static void test_skipped(void **state)
{
	const uint32_t counts[] = {10, 30, 20, 30, 31};
	struct trace_ops ops = world_ops;

	(void)state;
	open_world();
	ops.event_field = folded_field;
	world.traces[HOST].ops = &ops;
	world.traces[HOST].format = TRACE_FOLDED;
	for (unsigned i = 0; i < ARRAY_SIZE(counts); i++) {
		skipped = UINT64_C(7) << 32 | counts[i];
		happens(HOST, 0, 1000 + i, KVM_HYPERCALL, 100, NUMBER(HT_CALL_MAGIC));
	}
	world_close(9000);
	assert_int_equal(fake_rows("refused"), 2);
	assert_refused(0, REFUSED_EVENTS, HT_ORIGIN_USER, 31 + (int64_t)ARRAY_SIZE(counts));
	assert_refused(1, REFUSED_MARKS, HT_ORIGIN_USER, 7);
}

/* L0 takes a call of a guest's guest, which is that one's mark. */
static void test_nested_call_is_of_the_innermost(void **state)
{
	(void)state;
	world_open(3);
	switches(HOST, 0, 100, 0, RUNNABLE, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, RUNNABLE, 50);
	enters(VM, 0, 130, 50);
	happens(HOST, 0, 140, KVM_EXIT, 100, VMMCALL, -1, KERNEL, SVM);
	happens(HOST, 0, 141, KVM_NESTED_HYPERCALL, 100, NUMBER(HT_MARK_MAGIC));
	happens(HOST, 0, 142, KVM_ENTRY, 100, -1);
	world_close(300);
	assert_int_equal(fake_rows("mark"), 1);
	assert_int_equal(fake_cell("mark", 0, "machine"), NESTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_gap_before_the_first),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_rate_before_zero),
		cmocka_unit_test(test_skipped),
		cmocka_unit_test(test_nested_call_is_of_the_innermost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
