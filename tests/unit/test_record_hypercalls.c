/* SPDX-License-Identifier: Apache-2.0 */
/* Which places of hypertrace calls get into tracefs' filters. */
#include "record/tracers/hypercalls_sites.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KERNEL 0xffffffffc0123456ull

static unsigned calls(struct call_sites *s, uint64_t rip, unsigned nr, uint64_t now_ns,
		      uint64_t *left)
{
	unsigned changes = 0;

	for (unsigned i = 0; i < nr; i++)
		changes += call_sites_take(s, rip, now_ns, left);
	return changes;
}

static void a_busy_place_is_listed_once(void **state)
{
	struct call_sites s = {0};
	char text[CALL_SITES_FILTER_BYTES];
	uint64_t left;

	(void)state;
	call_sites_exit_filter(&s, false, text);
	assert_string_equal(text, "0");
	assert_int_equal(calls(&s, KERNEL, CALL_SITES_ENOUGH - 1, 1, &left), 0);
	assert_true(call_sites_take(&s, KERNEL, 1, &left));
	assert_int_equal(left, 0);
	assert_int_equal(calls(&s, KERNEL, 1000, 1, &left), 0);
	call_sites_exit_filter(&s, false, text);
	assert_string_equal(text, "!(exit_reason == 129 && (guest_rip == 0xffffffffc0123456))");
	call_sites_entry_filter(&s, text);
	assert_string_equal(text, "!((rip == 0xffffffffc0123459))");
	calls(&s, 0x401000, CALL_SITES_ENOUGH, 1, &left);
	call_sites_exit_filter(&s, true, text);
	assert_string_equal(text, "!(exit_reason == 18 && (guest_rip == 0xffffffffc0123456 || "
				  "guest_rip == 0x401000))");
}

/* Who hears announcements hears these exits: VMMCALL on AMD's CPUs, VMCALL on Intel's. */
static void exits_of_all_hypercalls_are_heard(void **state)
{
	char text[CALL_SITES_FILTER_BYTES];

	(void)state;
	hypercall_exits_filter(text);
	assert_string_equal(text, "(isa == 2 && exit_reason == 129) || "
				  "(isa == 1 && exit_reason == 18)");
}

static void the_longest_filter_fits(void **state)
{
	struct call_sites s = {0};
	char text[CALL_SITES_FILTER_BYTES];
	uint64_t left;
	size_t len;

	(void)state;
	for (unsigned i = 0; i < CALL_SITES_MAX; i++)
		calls(&s, UINT64_MAX - 8 * i, CALL_SITES_ENOUGH, 1, &left);
	assert_int_equal(s.nr, CALL_SITES_MAX);
	call_sites_exit_filter(&s, true, text);
	len = strlen(text);
	assert_true(len < sizeof(text) - 1);
	assert_string_equal(text + len - 2, "))");
}

static void an_idle_place_makes_room(void **state)
{
	struct call_sites s = {0};
	uint64_t left, now = 1;

	(void)state;
	for (unsigned i = 0; i < CALL_SITES_MAX; i++)
		calls(&s, KERNEL + i, CALL_SITES_ENOUGH, now++, &left);
	/* All are in use: the next has to wait. */
	assert_int_equal(calls(&s, 0x401000, 100, now, &left), 0);
	now += CALL_SITES_IDLE_NS;
	for (unsigned i = 0; i < CALL_SITES_MAX; i++) {
		if (i != 5)
			call_sites_take(&s, KERNEL + i, now, &left);
	}
	assert_true(call_sites_take(&s, 0x401000, now, &left));
	assert_int_equal(left, KERNEL + 5);
	assert_int_equal(s.nr, CALL_SITES_MAX);
}

/* A guest that calls from everywhere keeps nobody else out. */
static void a_flood_of_places_hides_no_busy_one(void **state)
{
	struct call_sites s = {0};
	uint64_t left;
	bool listed = false;

	(void)state;
	srand(1);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t rip = (uint64_t)rand() << 20 ^ (uint64_t)rand();

		call_sites_take(&s, rip, 1, &left);
		if (i % 4 == 0)
			listed |= call_sites_take(&s, KERNEL, 1, &left);
	}
	assert_true(listed);
	assert_int_equal(s.nr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_place_is_listed_once),
		cmocka_unit_test(exits_of_all_hypercalls_are_heard),
		cmocka_unit_test(the_longest_filter_fits),
		cmocka_unit_test(an_idle_place_makes_room),
		cmocka_unit_test(a_flood_of_places_hides_no_busy_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
