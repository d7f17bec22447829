/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of VMs without a trace, by the page tables that their vCPUs exit with.
 */
#include "tests/unit/model_world.h"

#define USER_RIP 0x401000
#define KERNEL_RIP ((int64_t)0xffffffff81000000)

/* Thread 100 is a vCPU's; what it runs is a guest without a trace, or with. */
static void begin(unsigned nr_traced)
{
	world_open(nr_traced);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
}

static void is_in(ns_t t, int64_t cr3, int64_t rip)
{
	happens(HOST, 0, t, GUEST_CR3, -1, cr3, 100, 90, 0, rip);
}

static const char *task_at(ns_t t)
{
	for (unsigned i = 0; i < fake_rows("cpu"); i++) {
		const char *path = fake_string("cpu", i, "path");
		char task[160];
		uint32_t row;

		if (fake_cell("cpu", i, "host_tid") != 100)
			continue;
		snprintf(task, sizeof(task), "%s/task", path);
		row = fake_at(task, t);
		return row ? fake_string("thread", row - 1, "comm") : "none";
	}
	return "no vCPU";
}

static void a_vcpu_runs_what_it_exited_with(void **state)
{
	(void)state;
	begin(1);
	exits(HOST, 0, 200, 100, EXIT_MSR);
	is_in(201, 0x5000, KERNEL_RIP);
	enters(HOST, 0, 210, 100);
	is_in(299, 0x8000, USER_RIP); /* its clock is not that exact */
	exits(HOST, 0, 300, 100, EXIT_INTR);
	enters(HOST, 0, 320, 100);
	exits(HOST, 0, 400, 100, EXIT_INTR);
	is_in(400, 0x5000, USER_RIP);
	enters(HOST, 0, 410, 100);
	exits(HOST, 0, 480, 100, EXIT_INTR);
	enters(HOST, 0, 481, 100);
	exits(HOST, 0, 490, 100, EXIT_INTR);
	world_close(500);
	assert_runs(0, 150, "vm-90/0 - guest");
	assert_runs(0, 250, "vm-90/0 -2 guest");
	assert_runs(0, 330, "vm-90/0 -3 guest");
	assert_runs(0, 450, "vm-90/0 -2 guest");
	assert_string_equal(task_at(205), "process 1");
	assert_string_equal(task_at(310), "process 2");
	assert_string_equal(task_at(410), "process 1");
	assert_int_equal(fake_rows("address_space"), 2);
	assert_int_equal(fake_cell("address_space", 0, "cr3"), 0x5000);
	assert_int_equal(fake_cell("address_space", 0, "times"), 1);
	assert_int_equal(fake_cell("address_space", 0, "doubt"), 70);
	assert_int_equal(fake_cell("address_space", 1, "times"), 1);
	assert_int_equal(fake_cell("address_space", 1, "doubt"), 80);
	assert_int_equal(fake_cell("machine", 1, "vm_pid"), 90);
}

/* PCID, NOFLUSH and the C bit of nothing are no address. */
static void flags_of_cr3_are_no_address(void **state)
{
	(void)state;
	begin(1);
	exits(HOST, 0, 200, 100, EXIT_MSR);
	is_in(201, 0x5000, KERNEL_RIP);
	is_in(300, 0x5006, KERNEL_RIP);
	is_in(400, INT64_MIN | 0x5801, KERNEL_RIP);
	is_in(500, 0x18, KERNEL_RIP); /* no page at all */
	world_close(600);
	assert_int_equal(fake_rows("address_space"), 1);
	assert_string_equal(task_at(450), "process 1");
	assert_string_equal(task_at(550), "none");
}

/* With KPTI, user space has the page behind the kernel's. */
static void both_halves_are_one_process(void **state)
{
	(void)state;
	begin(1);
	exits(HOST, 0, 200, 100, EXIT_MSR);
	for (int i = 0; i < 100; i++) {
		is_in(201 + 2 * i, i & 1 ? 0x6000 : 0xa000, KERNEL_RIP);
		is_in(202 + 2 * i, i & 1 ? 0x7000 : 0xb000, USER_RIP);
	}
	world_close(600);
	assert_int_equal(fake_rows("address_space"), 2);
	assert_int_equal(fake_cell("address_space", 0, "times"), 49);
}

/* Without it, user space is soon seen with an even page, and from then on odd ones are others. */
static void neighbours_are_two_processes(void **state)
{
	(void)state;
	begin(1);
	exits(HOST, 0, 200, 100, EXIT_MSR);
	for (int i = 0; i < 20; i++) {
		is_in(201 + 2 * i, 0x7000, USER_RIP);
		is_in(202 + 2 * i, 0x6000, USER_RIP);
	}
	world_close(600);
	assert_int_equal(fake_rows("address_space"), 2);
	assert_int_equal(fake_cell("address_space", 0, "cr3"), 0x7000);
	assert_int_equal(fake_cell("address_space", 1, "cr3"), 0x6000);
	assert_string_equal(task_at(201 + 38), "process 1");
	assert_string_equal(task_at(202 + 38), "process 2");
}

static void a_guest_with_a_trace_knows_better(void **state)
{
	(void)state;
	begin(2);
	switches(VM, 0, 120, 0, 0, 7);
	exits(HOST, 0, 200, 100, EXIT_MSR);
	is_in(201, 0x5000, KERNEL_RIP);
	enters(HOST, 0, 210, 100);
	world_close(300);
	assert_runs(0, 220, "vm/0 7 task");
	assert_int_equal(fake_rows("address_space"), 0);
}

/* A guest of the guest, told by the address of its vmcb12, is a machine of its own. */
static void nested_guests_have_their_own(void **state)
{
	(void)state;
	begin(1);
	exits(HOST, 0, 200, 100, EXIT_VMRUN);
	is_in(201, 0x5000, KERNEL_RIP);
	happens(HOST, 0, 205, KVM_NESTED_VMENTER, 100, 0, 0x77000, 0, 0, SVM);
	enters(HOST, 0, 210, 100);
	exits(HOST, 0, 300, 100, EXIT_INTR);
	happens(HOST, 0, 305, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_INTR);
	/* Late: the VM itself is what runs next. */
	happens(HOST, 0, 306, GUEST_CR3, -1, 0x5000, 100, 90, 0x77000, USER_RIP);
	enters(HOST, 0, 310, 100);
	exits(HOST, 0, 400, 100, EXIT_VMRUN);
	happens(HOST, 0, 405, KVM_NESTED_VMENTER, 100, 0, 0x77000, 0, 0, SVM);
	enters(HOST, 0, 410, 100);
	/* Nobody has seen that one enter. */
	happens(HOST, 0, 420, GUEST_CR3, -1, 0x9000, 100, 90, 0x99000, USER_RIP);
	world_close(500);
	assert_int_equal(fake_rows("address_space"), 3);
	assert_runs(0, 350, "vm-90/0 -2 guest");
	assert_runs(0, 415, "vm-90.nested1/0 -2 guest");
	assert_runs(0, 450, "vm-90.nested1/0 -3 guest");
}

/* Whatever a file says: bounded, and nobody else's threads. */
static void hostile_numbers_do_no_harm(void **state)
{
	(void)state;
	begin(1);
	exits(HOST, 0, 200, 100, EXIT_MSR);
	happens(HOST, 0, 201, GUEST_CR3, -1, 0x5000, 0, 0, 0, 0);
	happens(HOST, 0, 201, GUEST_CR3, -1, 0x5000, -2, -5, 0, 0);
	happens(HOST, 0, 201, GUEST_CR3, -1, 0x5000, INT64_MIN, INT64_MAX, INT64_MIN, -1);
	happens(HOST, 0, 201, GUEST_CR3, -1, -1, 100, INT64_MIN, 0, -1);
	happens(HOST, 0, 202, GUEST_CR3, -1, 0x5000, 100, 90, 0x123, -1);
	for (int64_t i = 1; i < 5000; i++)
		is_in(300, i << 13, USER_RIP);
	is_in(400, INT64_C(1) << 13, USER_RIP);
	world_close(500);
	assert_int_equal(fake_rows("address_space"), 4096);
	assert_string_equal(task_at(250), "process 1");
	assert_string_equal(task_at(350), "none");
	assert_string_equal(task_at(450), "process 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vcpu_runs_what_it_exited_with),
		cmocka_unit_test(flags_of_cr3_are_no_address),
		cmocka_unit_test(both_halves_are_one_process),
		cmocka_unit_test(neighbours_are_two_processes),
		cmocka_unit_test(a_guest_with_a_trace_knows_better),
		cmocka_unit_test(nested_guests_have_their_own),
		cmocka_unit_test(hostile_numbers_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
