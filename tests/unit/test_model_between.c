/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest that has a trace, in a VM that has none.  Threads 100 and 101 of the host run the VM's
 * vCPUs.
 */
#include "tests/unit/model_world.h"

#define BOUND 10
#define INNER 0x1000
#define OTHER 0x2000
#define ON_CPU_1 2 /* a number, and one */

/* Beside the world's: what the topology has for the VM of another guest, and that one. */
enum { AROUND_SECOND = NR_WORLD, SECOND, NR_ALL };

static struct machine all[NR_ALL];
static struct trace second_trace;
static struct stream second_stream;

static struct clock_piece inner_piece = {.mult = UINT64_C(1) << CLOCK_SHIFT, .bound_ns = BOUND};

static void prepare_between(void)
{
	world_prepare(3);
	world.machines[VM].trace = NULL;
	world.machines[VM].name[0] = '\0';
	world.machines[VM].nr_vcpus = world.machines[NESTED].nr_vcpus = 0;
	world.machines[VM].clock = (struct clock_model){0};
	world.machines[NESTED].clock.pieces = &inner_piece;
}

/* Both of the VM's threads, by one process, as QEMU names them. */
static void threads_begin(void)
{
	world_start();
	for (int i = 0; i < 2; i++) {
		happens(HOST, i, 98 + i, NEW_TASK, 0, 100 + i, 0x10000);
		happens(HOST, i, 98 + i, FORK, 0, 90, 100 + i, 0, 90);
	}
	happens(HOST, 0, 100, SCHED_SWITCH, 0, 0, 100, 0, STR("CPU 0/KVM"));
	happens(HOST, 1, 101, SCHED_SWITCH, 0, 0, 101, 0, STR("CPU 1/KVM"));
	enters(HOST, 0, 110, 100);
	enters(HOST, 1, 111, 101);
}

static void open_between(void)
{
	prepare_between();
	threads_begin();
}

/* In @parent of all the machines that there are then. */
static void second_is(int parent)
{
	all[SECOND] = all[NESTED];
	all[SECOND].parent = parent;
	all[SECOND].clock.pieces = &inner_piece;
	strcpy(all[SECOND].name, "second");
	second_trace = world.traces[NESTED];
	second_stream = (struct stream){.trace = &second_trace};
	all[SECOND].trace = &second_trace;
	world.topo.machines = all;
	world.topo.nr_machines = NR_ALL;
}

/* @name: what its recorder calls the VM of the second. */
static void open_two(const char *name)
{
	prepare_between();
	memcpy(all, world.machines, sizeof(world.machines));
	all[AROUND_SECOND] = all[VM];
	snprintf(all[AROUND_SECOND].name, sizeof(all[AROUND_SECOND].name), "%s", name);
	second_is(AROUND_SECOND);
	threads_begin();
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

static void second_calls(ns_t t)
{
	struct merge_input in = {&second_stream, SECOND, &all[SECOND].clock, 0};
	struct event e = {.kind = EV_SYSCALL_ENTRY, .tid = 9, .time = {(uint64_t)t}};

	model_feed(world.model, &in, &e, &t, 1);
}

/* The name of the machine that a machine is in. */
static const char *parent_of(const char *name)
{
	for (unsigned i = 0; i < fake_rows("machine"); i++) {
		if (!strcmp(fake_string("machine", i, "name"), name))
			return fake_string("machine", fake_cell("machine", i, "parent"), "name");
	}
	FAKE_FAIL("no machine %s", name);
	return "";
}

static const char *evidence_of(const char *name)
{
	for (unsigned i = 0; i < fake_rows("machine"); i++) {
		if (!strcmp(fake_string("machine", i, "name"), name))
			return fake_string("machine", i, "evidence");
	}
	FAKE_FAIL("no machine %s", name);
	return "";
}

static uint32_t inner_at(const char *attr, ns_t t)
{
	return vcpu_at("nested", 0, attr, t);
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

/* Only while it is known to run; on which of the VM's vCPUs, too. */
static void its_state_is_what_is_known_of_when_it_runs(void **state)
{
	(void)state;
	open_between();
	stay_begins(1, 200, 0);
	calls(230);
	exits(HOST, 1, 290, 101, EXIT_INTR);
	enters(HOST, 1, 300, 101);
	stay_ends(1, 400);
	stay_begins(1, 500, 0);
	stay_ends(1, 600);
	world_close(700);
	assert_int_equal(inner_at("state", 220), VCPU_NONE);
	assert_int_equal(inner_at("state", 235), VCPU_UNKNOWN);
	assert_int_equal(inner_at("state", 250), VCPU_ON_CPU);
	assert_int_equal(inner_at("on", 250), ON_CPU_1);
	assert_int_equal(inner_at("state", 295), VCPU_ON_CPU);
	assert_int_equal(inner_at("state", 405), VCPU_UNKNOWN);
	assert_int_equal(inner_at("on", 405), 0);
	assert_int_equal(inner_at("state", 550), VCPU_UNKNOWN);
}

static void an_address_tells_its_state(void **state)
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
	world_close(7000);
	assert_int_equal(inner_at("state", 1050), VCPU_NONE);
	assert_int_equal(inner_at("state", 2200), VCPU_ON_CPU);
	assert_int_equal(inner_at("state", 4200), VCPU_UNKNOWN);
	assert_int_equal(inner_at("state", 5100), VCPU_ON_CPU);
	assert_int_equal(inner_at("on", 5100), ON_CPU_1);
	assert_int_equal(inner_at("state", 5600), VCPU_UNKNOWN);
}

static void two_guests_of_one_vm_are_in_it(void **state)
{
	(void)state;
	open_two("");
	stay_begins(0, 200, 0);
	calls(230);
	stay_ends(0, 300);
	stay_begins(1, 400, 0);
	second_calls(430);
	stay_ends(1, 500);
	world_close(700);
	assert_string_equal(parent_of("nested"), "vm-90");
	assert_string_equal(parent_of("second"), "vm-90");
	assert_string_equal(parent_of("vm-90"), "host");
	assert_string_equal(parent_of("vm-90.nested"), "vm-90"); /* whose entries name nobody */
	assert_non_null(strstr(evidence_of("vm-90.nested"), ": one that has a trace ran"));
	assert_int_equal(fake_rows("machine"), 5);
}

static void entries_that_name_nobody_may_be_of_the_one_with_a_trace(void **state)
{
	(void)state;
	open_between();
	stay_begins(0, 200, 0);
	calls(230);
	stay_ends(0, 300);
	world_close(700);
	assert_non_null(strstr(evidence_of("vm-90.nested"), ": nested ran, or another"));
}

/* Nothing tells when it ran, but no other VM of the host runs guests. */
static void one_that_was_not_seen_is_in_the_only_vm_that_runs_guests(void **state)
{
	(void)state;
	open_two("");
	stay_begins(0, 200, 0);
	calls(230);
	stay_ends(0, 300);
	second_calls(430);
	world_close(700);
	assert_string_equal(parent_of("nested"), "vm-90");
	assert_string_equal(parent_of("second"), "vm-90");
}

static void several_vms_run_guests(const char *name)
{
	open_two(name);
	stay_begins(0, 200, 0);
	calls(230);
	stay_ends(0, 300);
	happens(HOST, 1, 310, NEW_TASK, 0, 105, 0x10000);
	happens(HOST, 1, 310, FORK, 0, 95, 105, 0, 95);
	exits(HOST, 1, 320, 101, EXIT_INTR);
	switches(HOST, 1, 321, 101, RUNNABLE, 105);
	enters(HOST, 1, 330, 105);
	exits(HOST, 1, 340, 105, EXIT_VMRUN);
	enters(HOST, 1, 342, 105);
	exits(HOST, 1, 350, 105, EXIT_MSR);
	happens(HOST, 1, 351, KVM_NESTED_VMEXIT_INJECT, 105, EXIT_MSR, SVM);
	second_calls(530); /* in nobody's stay */
	world_close(700);
	assert_string_equal(parent_of("nested"), "vm-90");
	assert_string_equal(parent_of("second"), *name ? name : "vm-unknown");
	assert_string_equal(parent_of(*name ? name : "vm-unknown"), "host");
}

static void where_several_vms_run_guests_its_place_is_not_known(void **state)
{
	(void)state;
	several_vms_run_guests("");
	several_vms_run_guests("told");
}

/* The VM with a trace lacks CPU 1: the thread of that vCPU turns out to be its, and the guest that
 * nothing placed there is in it. */
static void the_vm_around_it_may_have_a_trace_after_all(void **state)
{
	(void)state;
	world_prepare(3);
	memcpy(all, world.machines, sizeof(world.machines));
	all[VM].nr_vcpus = 1;
	all[NESTED].nr_vcpus = 0;
	all[AROUND_SECOND] = (struct machine){.parent = HOST, .level = 1, .name = "around"};
	second_is(AROUND_SECOND);
	world_start();
	switches(HOST, 0, 100, 0, 0, 100);
	happens(HOST, 0, 110, KVM_ENTRY, 100, 0);
	switches(HOST, 1, 120, 0, 0, 101);
	happens(HOST, 1, 130, KVM_ENTRY, 101, 1);
	happens(HOST, 1, 190, KVM_EXIT, 101, EXIT_VMRUN, 1, 0, SVM);
	happens(HOST, 1, 200, KVM_ENTRY, 101, 1);
	second_calls(230);
	happens(HOST, 1, 290, KVM_EXIT, 101, EXIT_MSR, 1, 0, SVM);
	happens(HOST, 0, 350, STATEDUMP_PROCESS, -1, 100, 99, 1, STR("CPU 0/KVM"), 5);
	happens(HOST, 0, 360, STATEDUMP_PROCESS, -1, 101, 99, 1, STR("CPU 1/KVM"), 5);
	world_close(400);
	assert_runs(1, 130, "vm/1 - guest");
	assert_runs(1, 242, "second/0 9 syscall ");
	assert_string_equal(parent_of("second"), "vm");
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
		cmocka_unit_test(its_state_is_what_is_known_of_when_it_runs),
		cmocka_unit_test(an_address_tells_its_state),
		cmocka_unit_test(two_guests_of_one_vm_are_in_it),
		cmocka_unit_test(entries_that_name_nobody_may_be_of_the_one_with_a_trace),
		cmocka_unit_test(one_that_was_not_seen_is_in_the_only_vm_that_runs_guests),
		cmocka_unit_test(where_several_vms_run_guests_its_place_is_not_known),
		cmocka_unit_test(the_vm_around_it_may_have_a_trace_after_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
