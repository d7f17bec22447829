/* SPDX-License-Identifier: Apache-2.0 */
/* Who made a hypercall: by address, by privilege level, by the exit before it, and never a guess.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "arch/exits.h"
#include "source/origin.h"

#define KERNEL 0xffffffffc0401000
#define USER 0x401000

struct said {
	const char *name;
	uint64_t value;
};

/* What the record of a call says of itself. */
static int made_field(const struct stream *s, const struct event *e, const char *name,
		      struct field_value *out)
{
	const struct said *said = (const struct said *)e->record;

	(void)s;
	for (; said && said->name; said++) {
		if (strcmp(said->name, name))
			continue;
		*out = (struct field_value){.cls = FIELD_UINT, .u = said->value};
		return 0;
	}
	return -ENOENT;
}

static const struct trace_ops ops = {.event_field = made_field};
static struct trace trace = {.ops = &ops, .format = TRACE_DAT};
static struct stream stream = {.trace = &trace};

static void follow(struct call_origins *o, enum event_kind kind, int64_t reason, int64_t rip,
		   int64_t isa, int32_t tid)
{
	struct event e = {.kind = (uint16_t)kind, .arg = {reason, 0, rip, isa}};

	call_origins_follow(o, &e, tid);
}

static void leaves(struct call_origins *o, int64_t rip, int32_t tid)
{
	follow(o, EV_KVM_EXIT, 0x81, rip, ISA_SVM, tid);
}

static enum ht_origin calls(struct call_origins *o, int32_t tid)
{
	struct event e = {.kind = EV_KVM_HYPERCALL};

	return call_origins_of(o, &stream, &e, tid);
}

static void test_addresses(void **state)
{
	static const struct {
		uint64_t rip;
		enum ht_origin origin;
	} all[] = {
		{0, HT_ORIGIN_UNKNOWN},
		{1, HT_ORIGIN_USER},
		{0x401000, HT_ORIGIN_USER},
		{0xc0100000, HT_ORIGIN_USER}, /* a 32-bit kernel, or a 32-bit process */
		{0xffffffff, HT_ORIGIN_USER},
		{0x7fffffffefff, HT_ORIGIN_USER},	/* four levels of page tables: the last */
		{0x00fffffffffff000, HT_ORIGIN_USER},	/* five */
		{0xff00000000000000, HT_ORIGIN_KERNEL}, /* five: the first */
		{0xffff800000000000, HT_ORIGIN_KERNEL}, /* four */
		{0xffffffff81000000, HT_ORIGIN_KERNEL},
		{0xffffffffc0401000, HT_ORIGIN_KERNEL}, /* a module */
		{0xffffffffff5fffff, HT_ORIGIN_KERNEL},
		{0xffffffffff600000, HT_ORIGIN_USER}, /* the page of vsyscalls */
		{0xffffffffff600fff, HT_ORIGIN_USER},
		{0xffffffffff601000, HT_ORIGIN_KERNEL},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(ht_origin_of_rip(all[i].rip), all[i].origin);
	assert_int_equal(ht_origin_of_cpl(0), HT_ORIGIN_KERNEL);
	for (unsigned cpl = 1; cpl <= 3; cpl++)
		assert_int_equal(ht_origin_of_cpl(cpl), HT_ORIGIN_USER);
}

/* An exit is of one call of its thread, and of none behind an entry, another exit or a loss. */
static void test_exits(void **state)
{
	struct call_origins o = {0};

	(void)state;
	assert_int_equal(calls(&o, 7), HT_ORIGIN_UNKNOWN);
	leaves(&o, (int64_t)KERNEL, 7);
	leaves(&o, USER, 8); /* another vCPU between */
	assert_int_equal(calls(&o, 7), HT_ORIGIN_KERNEL);
	assert_int_equal(calls(&o, 8), HT_ORIGIN_USER);
	assert_int_equal(calls(&o, 7), HT_ORIGIN_UNKNOWN);
	leaves(&o, (int64_t)KERNEL, 7);
	follow(&o, EV_KVM_ENTRY, 0, 0, 0, 7);
	assert_int_equal(calls(&o, 7), HT_ORIGIN_UNKNOWN);
	leaves(&o, (int64_t)KERNEL, 7);
	follow(&o, EV_KVM_EXIT, 0x78, (int64_t)KERNEL, ISA_SVM, 7);
	assert_int_equal(calls(&o, 7), HT_ORIGIN_UNKNOWN);
	leaves(&o, (int64_t)KERNEL, 7);
	follow(&o, EV_LOST, 0, 0, 0, -1);
	assert_int_equal(calls(&o, 7), HT_ORIGIN_UNKNOWN);
	follow(&o, EV_KVM_EXIT, 18, (int64_t)KERNEL, ISA_VMX, 7);
	assert_int_equal(calls(&o, 7), HT_ORIGIN_KERNEL);
	follow(&o, EV_KVM_EXIT, 18, (int64_t)KERNEL, ISA_SVM, 7);
	assert_int_equal(calls(&o, 7), HT_ORIGIN_UNKNOWN);
	assert_int_equal(calls(&o, -1), HT_ORIGIN_UNKNOWN);
}

static void switch_out(struct call_origins *o, uint64_t time, int32_t tid)
{
	struct event e = {.kind = EV_SCHED_SWITCH, .arg = {tid, 1}};

	e.time.v = time;
	call_origins_follow(o, &e, tid);
}

static void leaves_at(struct call_origins *o, uint64_t time, int32_t tid)
{
	struct event e = {.kind = EV_KVM_EXIT, .arg = {0x81, 0, (int64_t)KERNEL, ISA_SVM}};

	e.time.v = time;
	call_origins_follow(o, &e, tid);
}

/* A thread that is preempted before its call goes on elsewhere, and what it did there is known of
 * all CPUs only: of one stream alone it is not, nor where another CPU lost events meanwhile. */
static void test_preempted(void **state)
{
	struct event gap = {.kind = EV_LOST, .arg = {0, 100, 200}};
	struct call_origins all = {0}, one = {.is_one_stream = true};

	(void)state;
	leaves_at(&all, 50, 7);
	leaves_at(&one, 50, 7);
	switch_out(&all, 60, 7);
	switch_out(&one, 60, 7);
	assert_int_equal(calls(&all, 7), HT_ORIGIN_KERNEL);
	assert_int_equal(calls(&one, 7), HT_ORIGIN_UNKNOWN);
	gap.time.v = 100;
	call_origins_follow(&all, &gap, -1);
	leaves_at(&all, 150, 7); /* of a CPU that lost nothing */
	leaves_at(&all, 151, 8);
	switch_out(&all, 160, 7);
	assert_int_equal(calls(&all, 7), HT_ORIGIN_UNKNOWN);
	assert_int_equal(calls(&all, 8), HT_ORIGIN_KERNEL);
	gap.arg[2] = 120; /* of a third CPU, which ends before the first one's does */
	call_origins_follow(&all, &gap, -1);
	leaves_at(&all, 170, 7);
	switch_out(&all, 180, 7);
	assert_int_equal(calls(&all, 7), HT_ORIGIN_UNKNOWN);
	leaves_at(&all, 250, 7);
	switch_out(&all, 260, 7);
	assert_int_equal(calls(&all, 7), HT_ORIGIN_KERNEL);
}

/* Threads that share places: those that make calls without end do not drive out one that waits for
 * its own, and none gets another's.  More that wait than there are places drive out the oldest. */
static void test_one_place(void **state)
{
	struct call_origins o = {0};
	int32_t other = 7 + CALL_ORIGIN_SETS;

	(void)state;
	leaves(&o, (int64_t)KERNEL, 7);
	for (unsigned i = 0; i < 3 * CALL_ORIGIN_WAYS; i++) {
		leaves(&o, USER, other);
		assert_int_equal(calls(&o, other), HT_ORIGIN_USER);
		assert_int_equal(calls(&o, other), HT_ORIGIN_UNKNOWN);
		follow(&o, EV_KVM_ENTRY, 0, 0, 0, other);
	}
	assert_int_equal(calls(&o, 7), HT_ORIGIN_KERNEL);
	leaves_at(&o, 1, 7);
	for (int32_t i = 1; i <= CALL_ORIGIN_WAYS; i++)
		leaves_at(&o, 1 + (uint64_t)i, 7 + i * CALL_ORIGIN_SETS);
	assert_int_equal(calls(&o, 7), HT_ORIGIN_UNKNOWN);
	for (int32_t i = 1; i <= CALL_ORIGIN_WAYS; i++)
		assert_int_equal(calls(&o, 7 + i * CALL_ORIGIN_SETS), HT_ORIGIN_KERNEL);
}

/* The add-on's event and KVM's are of the same exit, each once. */
static void test_vmsync(void **state)
{
	struct event sync = {.kind = EV_VMSYNC_GH_HOST};
	struct call_origins o = {0};

	(void)state;
	leaves(&o, (int64_t)KERNEL, 7);
	assert_int_equal(calls(&o, 7), HT_ORIGIN_KERNEL);
	assert_int_equal(call_origins_of(&o, &stream, &sync, 7), HT_ORIGIN_KERNEL);
	assert_int_equal(call_origins_of(&o, &stream, &sync, 7), HT_ORIGIN_UNKNOWN);
}

/* Nested and folded calls say it themselves; the exit of the thread is another's word. */
static void test_own_word(void **state)
{
	static const struct said user[] = {{"rip", USER}, {NULL, 0}};
	static const struct said kernel[] = {{"rip", KERNEL}, {NULL, 0}};
	static const struct said level[] = {{"rip", KERNEL}, {"cpl", 3}, {NULL, 0}};
	struct event e = {.kind = EV_KVM_NESTED_HYPERCALL};
	struct call_origins o = {0};

	(void)state;
	leaves(&o, (int64_t)KERNEL, 7);
	assert_int_equal(call_origins_of(&o, &stream, &e, 7), HT_ORIGIN_UNKNOWN);
	e.record = (const uint8_t *)user;
	assert_int_equal(call_origins_of(&o, &stream, &e, 7), HT_ORIGIN_USER);
	e.record = (const uint8_t *)kernel;
	assert_int_equal(call_origins_of(&o, &stream, &e, 7), HT_ORIGIN_KERNEL);
	e.record = (const uint8_t *)level;
	assert_int_equal(call_origins_of(&o, &stream, &e, 7), HT_ORIGIN_USER);
	e.kind = EV_KVM_HYPERCALL;
	trace.format = TRACE_FOLDED;
	assert_int_equal(call_origins_of(&o, &stream, &e, 7), HT_ORIGIN_USER);
	trace.format = TRACE_DAT;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_exits),
		cmocka_unit_test(test_one_place), cmocka_unit_test(test_vmsync),
		cmocka_unit_test(test_own_word),  cmocka_unit_test(test_preempted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
