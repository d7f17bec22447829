/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest that has a trace, in a VM that has none.  Threads 100 and 101 of the host run the VM's
 * vCPUs.
 */
#include "tests/unit/model_world.h"

#define BOUND 10
#define INNER 0x1000
#define OTHER 0x2000

static struct clock_piece inner_piece = {.mult = UINT64_C(1) << CLOCK_SHIFT, .bound_ns = BOUND};

static void open_between(void)
{
	world_prepare(3);
	world.machines[VM].trace = NULL;
	world.machines[VM].nr_vcpus = world.machines[NESTED].nr_vcpus = 0;
	world.machines[VM].clock = (struct clock_model){0};
	world.machines[NESTED].clock.pieces = &inner_piece;
	world_start();
	switches(HOST, 0, 100, 0, 0, 100);
	switches(HOST, 1, 101, 0, 0, 101);
	enters(HOST, 0, 110, 100);
	enters(HOST, 1, 111, 101);
}

/* The VM enters a guest; @address 0: the host's trace does not name it. */
static void stay_begins(int cpu, ns_t t, int64_t address)
{
	exits(HOST, cpu, t, 100 + cpu, EXIT_VMRUN);
	if (address)
		happens(HOST, cpu, t + 1, KVM_NESTED_VMENTER, 100 + cpu, 0, address, 0,
			0x77000 + address, SVM);
	enters(HOST, cpu, t + 2, 100 + cpu);
}

static void stay_ends(int cpu, ns_t t)
{
	exits(HOST, cpu, t, 100 + cpu, EXIT_MSR);
	happens(HOST, cpu, t + 1, KVM_NESTED_VMEXIT, 100 + cpu, EXIT_MSR, 0);
	happens(HOST, cpu, t + 2, KVM_NESTED_VMEXIT_INJECT, 100 + cpu, EXIT_MSR, SVM);
	enters(HOST, cpu, t + 3, 100 + cpu);
}

static void calls(ns_t t)
{
	happens(NESTED, 0, t, SYSCALL_ENTRY, 9);
}

/* All that is known of it is that it is one of the VM's, not which. */
static bool is_nobody(int cpu, ns_t t)
{
	const char *words = runs(cpu, t);

	return strstr(words, "- guest") && !strstr(words, "nested/0");
}

static void its_events_tell_in_which_stay_it_runs(void **state)
{
	(void)state;
	open_between();
	stay_begins(0, 200, 0);
	calls(230);
	exits(HOST, 0, 290, 100, EXIT_INTR);
	enters(HOST, 0, 300, 100);
	stay_ends(0, 400);
	stay_begins(0, 500, 0);
	stay_ends(0, 600);
	world_close(700);
	assert_true(is_nobody(0, 230)); /* it may be in another stay yet */
	assert_runs(0, 242, "nested/0 9 syscall ");
	assert_runs(0, 290, "host/0 100 hypervisor 96 for nested/0");
	assert_runs(0, 300, "nested/0 9 syscall "); /* it is the same stay */
	assert_true(is_nobody(0, 410));
	assert_true(is_nobody(0, 550)); /* another guest's, perhaps */
}

static void an_event_within_the_clocks_bound_of_the_entry_tells_nothing(void **state)
{
	(void)state;
	open_between();
	stay_begins(0, 200, 0);
	calls(202 + BOUND - 1);
	stay_ends(0, 400);
	stay_begins(0, 500, 0);
	calls(590);
	stay_ends(0, 595);
	world_close(700);
	assert_true(is_nobody(0, 390));
	assert_true(is_nobody(0, 594));
	assert_null(strstr(runs(0, 595), "nested/0"));
}

static void which_of_two_stays_at_a_time_is_not_known(void **state)
{
	(void)state;
	open_between();
	stay_begins(0, 200, 0);
	stay_begins(1, 210, 0);
	calls(230);
	calls(280);
	stay_ends(1, 300);
	calls(305); /* may have been before 300 */
	stay_ends(0, 308);
	world_close(700);
	assert_true(is_nobody(0, 290) && is_nobody(1, 290));
	assert_true(is_nobody(0, 307));
}

static void one_that_begins_before_that_is_certain_leaves_it_open(void **state)
{
	(void)state;
	open_between();
	stay_begins(0, 200, 0);
	calls(230);
	stay_begins(1, 234, 0);
	stay_ends(0, 300);
	stay_ends(1, 310);
	world_close(700);
	assert_true(is_nobody(0, 290) && is_nobody(1, 290));
}

static void what_runs_on_a_cpu_that_is_lost_may_be_it(void **state)
{
	(void)state;
	open_between();
	stay_begins(0, 200, 0);
	happens(HOST, 1, 220, LOST, -1, 5, 210);
	calls(230);
	stay_ends(0, 300);
	world_close(700);
	assert_true(is_nobody(0, 290));
}

/* From the third stay on that agrees all of that address are its own. */
static void an_address_is_learned(void **state)
{
	(void)state;
	open_between();
	for (int i = 0; i < 3; i++) {
		stay_begins(0, 1000 * (i + 1), INNER);
		calls(1000 * (i + 1) + 100);
		stay_ends(0, 1000 * (i + 1) + 500);
	}
	stay_begins(0, 4000, OTHER);
	stay_ends(0, 4500);
	stay_begins(1, 5000, INNER);
	stay_ends(1, 5500);
	stay_begins(0, 6000, INNER);
	stay_ends(0, 6500);
	world_close(7000);
	assert_runs(0, 1300, "nested/0 9 syscall ");
	assert_true(is_nobody(0, 4300));
	assert_runs(0, 6100, "nested/0 9 syscall ");
	assert_runs(0, 6500, "host/0 100 hypervisor 124 for nested/0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_events_tell_in_which_stay_it_runs),
		cmocka_unit_test(an_event_within_the_clocks_bound_of_the_entry_tells_nothing),
		cmocka_unit_test(which_of_two_stays_at_a_time_is_not_known),
		cmocka_unit_test(one_that_begins_before_that_is_certain_leaves_it_open),
		cmocka_unit_test(what_runs_on_a_cpu_that_is_lost_may_be_it),
		cmocka_unit_test(an_address_is_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
