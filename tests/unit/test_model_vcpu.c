/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model on a stack of machines: what a physical CPU really runs, at any depth.
 */
#include "tests/unit/model_world.h"

static void entry_and_exit_move_between_host_and_guest(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 7);
	exits(HOST, 0, 130, 100, EXIT_MSR);
	enters(HOST, 0, 140, 100);
	world_close(300);
	assert_runs(0, 100, "host/0 100 task");
	assert_runs(0, 110, "vm/0 - guest");
	assert_runs(0, 120, "vm/0 7 task");
	assert_runs(0, 130, "host/0 100 hypervisor 124 for vm/0");
	assert_runs(0, 140, "vm/0 7 task");
	assert_int_equal(fake_cell("machine", 1, "violations"), 0);
}

/* The host handles a device's or a timer's interrupt before KVM records the exit. */
static void an_interrupt_ends_guest_mode_before_the_exit_event(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 7);
	happens(HOST, 0, 130, VECTOR_ENTRY, 100, 236);
	happens(HOST, 0, 140, VECTOR_EXIT, 100, 236);
	exits(HOST, 0, 150, 100, EXIT_INTR);
	world_close(300);
	assert_runs(0, 130, "host/0 100 irq 236");
	assert_runs(0, 140, "host/0 100 hypervisor -1 for vm/0");
	assert_runs(0, 150, "host/0 100 hypervisor 96 for vm/0");
}

static void a_preempted_vcpu_keeps_its_guest_state(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 7);
	exits(HOST, 0, 130, 100, EXIT_INTR);
	switches(HOST, 0, 140, 100, PREEMPTED, 5);
	switches(HOST, 1, 150, 0, 0, 100);
	enters(HOST, 1, 160, 100);
	exits(HOST, 1, 170, 100, EXIT_HLT);
	switches(HOST, 1, 180, 100, ASLEEP, 0);
	happens(HOST, 0, 190, SCHED_WAKING, 5, 100);
	world_close(300);
	assert_runs(0, 140, "host/0 5 task");
	assert_runs(1, 150, "host/1 100 hypervisor 96 for vm/0");
	assert_runs(1, 160, "vm/0 7 task");
	assert_runs(1, 180, "host/1 0 idle");
	assert_int_equal(fake_at("vm/cpu0/state", 120), VCPU_ON_CPU);
	assert_int_equal(fake_at("vm/cpu0/on", 120), 1);
	assert_int_equal(fake_at("vm/cpu0/state", 140), VCPU_PREEMPTED);
	assert_int_equal(fake_at("vm/cpu0/on", 140), 0);
	assert_int_equal(fake_at("vm/cpu0/on", 150), 2);
	assert_int_equal(fake_at("vm/cpu0/state", 180), VCPU_WAITING);
	assert_int_equal(fake_at("vm/cpu0/state", 190), VCPU_PREEMPTED);
	assert_int_equal(fake_at("vm/cpu0/task", 150), thread_row(VM, 7) + 1);
}

/* The VMM's own work in user space is the hypervisor's, too. */
static void the_vmm_works_for_its_vcpu(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	exits(HOST, 0, 130, 100, 0x7b);
	happens(HOST, 0, 140, SYSCALL_EXIT, 100, -1, 0);
	happens_typed(HOST, 0, 150,
		      (struct event){.kind = EV_SYSCALL_ENTRY, .type = TYPE_READ, .tid = 100});
	world_close(300);
	assert_runs(0, 140, "host/0 100 hypervisor 123 for vm/0");
	assert_runs(0, 150, "host/0 100 hypervisor 123 for vm/0");
}

/* Its first entry was lost: that it is a vCPU's thread, and its calls the hypervisor's, is known.
 */
static void what_only_vcpus_record_tells_of_a_vcpu(void **state)
{
	static const enum event_kind kinds[] = {EV_KVM_VCPU_WAKEUP, EV_KVM_USERSPACE_EXIT};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		world_open(2);
		switches(HOST, 1, 100, 0, 0, 101);
		enters(HOST, 1, 105, 101);
		switches(HOST, 0, 110, 0, 0, 100);
		happens_typed(HOST, 0, 120, (struct event){.kind = kinds[i], .tid = 100});
		happens(HOST, 0, 130, LOST, -1, 0, 130, 170);
		happens_typed(
			HOST, 0, 180,
			(struct event){.kind = EV_SYSCALL_ENTRY, .type = TYPE_READ, .tid = 100});
		happens(HOST, 0, 190, SYSCALL_EXIT, 100, -1, 0);
		enters(HOST, 0, 200, 100);
		exits(HOST, 0, 210, 100, EXIT_MSR);
		world_close(300);
		assert_runs(0, 180, "host/0 100 task");
		assert_runs(0, 190, "host/0 100 task");
		assert_runs(0, 210, "host/0 100 hypervisor 124 for vm/0");
	}
}

static void changes_of_halt_polling_are_kept(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	exits(HOST, 0, 120, 100, EXIT_HLT);
	happens(HOST, 0, 130, KVM_HALT_POLL, 100, 0, 20000, 10000);
	world_close(300);
	assert_int_equal(fake_rows("kept_event"), 1);
	assert_string_equal(fake_string("kept_event", 0, "event"), "halt_poll");
	assert_int_equal(fake_cell("kept_event", 0, "at"), 130);
	assert_int_equal(fake_cell("kept_event", 0, "thread"), thread_row(HOST, 100));
	assert_int_equal(fake_cell("kept_event", 0, "arg1"), 20000);
	assert_int_equal(fake_cell("kept_event", 0, "arg2"), 10000);
}

/* vm's thread 50 runs the nested VM's CPU: from "VM in guest mode" to vm's kvm_entry event. */
static void vm_is_about_to_enter_nested(void)
{
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 50);
	enters(VM, 0, 130, 50);
}

/* Nothing bounds the VM's clock: its events tell what it did, but not what it does now. */
static void a_vm_of_unknown_time(void **state)
{
	struct clock_piece piece = world_piece;

	(void)state;
	piece.bound_ns = CLOCK_NO_BOUND;
	world_prepare(3);
	world.machines[VM].clock.pieces = &piece;
	world_start();
	vm_is_about_to_enter_nested();
	exits(HOST, 0, 160, 100, EXIT_VMRUN);
	happens(HOST, 0, 170, KVM_NESTED_VMENTER, 100, 0, 0x10065000, 0, 0x101df000, SVM);
	enters(HOST, 0, 180, 100);
	switches(NESTED, 0, 190, 0, 0, 9);
	exits(HOST, 0, 200, 100, EXIT_MSR);
	world_close(300);
	assert_runs(0, 115, "vm/0 - guest");
	assert_runs(0, 125, "vm/0 - guest");
	assert_runs(0, 185, "vm/0 - guest");
	assert_runs(0, 195, "vm/0 - guest");
	assert_runs(0, 200, "host/0 100 hypervisor 124");
}

/* Linux 6.2+ (and SVM before) record nested entries. */
static void nested_entry_with_events(void **state)
{
	(void)state;
	world_open(3);
	vm_is_about_to_enter_nested();
	exits(HOST, 0, 140, 100, EXIT_STGI);
	enters(HOST, 0, 150, 100); /* still vm's hypervisor */
	exits(HOST, 0, 160, 100, EXIT_VMRUN);
	happens(HOST, 0, 170, KVM_NESTED_VMENTER, 100, 0, 0x10065000, 0, 0x101df000, SVM);
	enters(HOST, 0, 180, 100);
	switches(NESTED, 0, 190, 0, 0, 9);
	/* An exit that the host handles itself: back to the nested VM. */
	exits(HOST, 0, 200, 100, EXIT_INTR);
	happens(HOST, 0, 205, KVM_NESTED_VMEXIT, 100, EXIT_INTR);
	enters(HOST, 0, 210, 100);
	/* One that vm must handle. */
	exits(HOST, 0, 220, 100, EXIT_MSR);
	happens(HOST, 0, 225, KVM_NESTED_VMEXIT, 100, EXIT_MSR);
	happens(HOST, 0, 230, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_MSR);
	enters(HOST, 0, 240, 100);
	happens(VM, 0, 245, VECTOR_ENTRY, 50, 236);
	happens(VM, 0, 247, VECTOR_EXIT, 50, 236);
	exits(VM, 0, 250, 50, EXIT_MSR);
	world_close(300);
	assert_runs(0, 125, "vm/0 50 task");
	assert_runs(0, 130, "vm/0 - guest"); /* vm or nested: the host has not told yet */
	assert_runs(0, 140, "host/0 100 hypervisor 132 for vm/0");
	assert_runs(0, 150, "vm/0 50 hypervisor -1 for nested/0");
	assert_runs(0, 160, "host/0 100 hypervisor 128 for vm/0");
	assert_runs(0, 180, "nested/0 - guest");
	assert_runs(0, 190, "nested/0 9 task");
	assert_runs(0, 200, "host/0 100 hypervisor 96 for nested/0");
	assert_runs(0, 210, "nested/0 9 task");
	assert_runs(0, 225, "host/0 100 hypervisor 124 for nested/0");
	assert_runs(0, 240,
		    "vm/0 50 hypervisor 124 for nested/0"); /* the host has told the reason */
	assert_runs(0, 245, "vm/0 50 irq 236");
	assert_runs(0, 247, "vm/0 50 hypervisor 124 for nested/0");
	assert_runs(0, 250, "vm/0 50 hypervisor 124 for nested/0");
	assert_int_equal(fake_cell("cpu", fake_rows("cpu") - 1, "nested_id"), 0x10065000);
	assert_int_equal(fake_at("nested/cpu0/on", 190), 1);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(fake_cell("machine", i, "violations"), 0);
}

/* arm64's hypervisors return from exceptions to more than their guests. */
static void nested_entry_of_arm64(void **state)
{
	const int64_t tge = INT64_C(1) << 27, el0 = 0, el1h = 5, el2h = 9;

	(void)state;
	world_open(3);
	vm_is_about_to_enter_nested();
	exits(HOST, 0, 140, 100, 0x1a);
	happens(HOST, 0, 142, KVM_NESTED_ERET, 100, tge, el0); /* to a process of its own */
	enters(HOST, 0, 150, 100);
	exits(HOST, 0, 160, 100, 0x1a);
	happens(HOST, 0, 162, KVM_NESTED_ERET, 100, 0, el2h); /* to itself */
	enters(HOST, 0, 165, 100);
	exits(HOST, 0, 170, 100, 0x1a);
	happens(HOST, 0, 175, KVM_NESTED_ERET, 100, 0, el1h);
	enters(HOST, 0, 180, 100);
	switches(NESTED, 0, 190, 0, 0, 9);
	/* An exit that the host handles itself: back to the nested VM. */
	exits(HOST, 0, 200, 100, 0);
	enters(HOST, 0, 210, 100);
	/* One that vm must handle. */
	exits(HOST, 0, 220, 100, 0x18);
	happens(HOST, 0, 230, KVM_NESTED_EXCEPTION, 100, INT64_C(0x18) << 26);
	enters(HOST, 0, 240, 100);
	exits(VM, 0, 250, 50, 0x18);
	world_close(300);
	assert_runs(0, 150, "vm/0 50 hypervisor -1 for nested/0");
	assert_runs(0, 165, "vm/0 50 hypervisor -1 for nested/0");
	assert_runs(0, 180, "nested/0 - guest");
	assert_runs(0, 190, "nested/0 9 task");
	assert_runs(0, 200, "host/0 100 hypervisor 0 for nested/0");
	assert_runs(0, 210, "nested/0 9 task");
	assert_runs(0, 220, "host/0 100 hypervisor 24 for nested/0");
	assert_runs(0, 240, "vm/0 50 hypervisor 24 for nested/0");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(fake_cell("machine", i, "violations"), 0);
}

/* Nothing says which guest of the VM it is. */
static void nested_entry_of_arm64_alone(void **state)
{
	(void)state;
	world_open(1);
	enters(HOST, 0, 100, 100);
	exits(HOST, 0, 170, 100, 0x1a);
	happens(HOST, 0, 175, KVM_NESTED_ERET, 100, 0, 5);
	enters(HOST, 0, 180, 100);
	exits(HOST, 0, 220, 100, 0x18);
	happens(HOST, 0, 230, KVM_NESTED_EXCEPTION, 100, INT64_C(0x18) << 26);
	enters(HOST, 0, 240, 100);
	world_close(300);
	assert_runs(0, 185, "vm-tid100.nested1/-1 - guest");
	assert_runs(0, 245, "vm-tid100/0 - guest");
}

/* LTTng's probe for nested entries is stale on current kernels: the exit reason must do. */
static void nested_entry_without_events(void **state)
{
	(void)state;
	world_open(3);
	vm_is_about_to_enter_nested();
	exits(HOST, 0, 160, 100, EXIT_VMRUN);
	enters(HOST, 0, 180, 100);
	switches(NESTED, 0, 190, 0, 0, 9);
	exits(HOST, 0, 200, 100, EXIT_INTR);
	happens(HOST, 0, 230, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_INTR);
	enters(HOST, 0, 240, 100);
	exits(HOST, 0, 250, 100, EXIT_VMRUN);
	/* An interrupt for vm is pending: the nested VM does not start at all. */
	happens(HOST, 0, 255, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_INTR);
	enters(HOST, 0, 260, 100);
	world_close(300);
	assert_runs(0, 180, "nested/0 - guest");
	assert_runs(0, 190, "nested/0 9 task");
	assert_runs(0, 200, "host/0 100 hypervisor 96 for nested/0");
	assert_runs(0, 240, "vm/0 50 hypervisor 96 for nested/0");
	assert_runs(0, 260, "vm/0 50 hypervisor 96 for nested/0");
}

/* A trace with nested entry events and an exit for VMRUN without one: the entry failed. */
static void a_failed_nested_entry_stays_in_the_vm(void **state)
{
	(void)state;
	world_open(3);
	vm_is_about_to_enter_nested();
	exits(HOST, 0, 140, 100, EXIT_VMRUN);
	happens(HOST, 0, 141, KVM_NESTED_VMENTER, 100, 0, 0x1000, 0, 0, SVM);
	happens(HOST, 0, 142, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_INTR);
	enters(HOST, 0, 150, 100);
	exits(HOST, 0, 160, 100, EXIT_VMRUN);
	enters(HOST, 0, 180, 100);
	world_close(300);
	assert_runs(0, 150, "vm/0 50 hypervisor 96 for nested/0");
	assert_runs(0, 180, "vm/0 50 hypervisor 96 for nested/0");
}

/* Intel numbers the same things differently: 24 is VMRESUME there, and a CR access on AMD. */
static void vmx_exit_reasons_mean_something_else(void **state)
{
	(void)state;
	world_open(3);
	vm_is_about_to_enter_nested();
	happens(HOST, 0, 140, KVM_EXIT, 100, 24, -1, 0, SVM);
	enters(HOST, 0, 150, 100);
	happens(HOST, 0, 160, KVM_EXIT, 100, 24, -1, 0, 1);
	enters(HOST, 0, 170, 100);
	world_close(300);
	assert_runs(0, 151, "vm/0 - guest"); /* vm or its guest: nothing has told yet */
	assert_runs(0, 170, "nested/0 - guest");
}

/* Where exits carry no reason, the paper's rule is left. */
static void a_page_table_for_the_nested_vm_announces_it(void **state)
{
	(void)state;
	world_open(3);
	vm_is_about_to_enter_nested();
	exits(HOST, 0, 140, 100, -1);
	happens(HOST, 0, 145, KVM_NESTED_VMEXIT_INJECT, 100, -1);
	enters(HOST, 0, 150, 100);
	exits(HOST, 0, 160, 100, -1);
	happens(HOST, 0, 165, KVM_MMU_GET_PAGE, 100, 1);
	enters(HOST, 0, 170, 100);
	world_close(300);
	assert_runs(0, 150, "vm/0 50 hypervisor -1 for nested/0");
	assert_runs(0, 170, "nested/0 - guest");
}

/* A trace that begins while the nested VM runs. */
static void a_nested_exit_shows_what_was_running(void **state)
{
	(void)state;
	world_open(3);
	switches(VM, 0, 90, 0, 0, 50);
	enters(VM, 0, 95, 50);
	switches(NESTED, 0, 98, 0, 0, 9);
	happens(HOST, 0, 100, VECTOR_ENTRY, 100, 236);
	happens(HOST, 0, 105, VECTOR_EXIT, 100, 236);
	exits(HOST, 0, 110, 100, EXIT_INTR);
	happens(HOST, 0, 111, KVM_NESTED_VMEXIT, 100, EXIT_INTR);
	enters(HOST, 0, 120, 100);
	world_close(300);
	assert_runs(0, 98, "host/0 - unknown");
	assert_runs(0, 100, "host/0 100 irq 236");
	assert_runs(0, 105, "host/0 - unknown"); /* it may have come in a soft interrupt */
	assert_runs(0, 112, "host/0 100 hypervisor 96 for nested/0");
	assert_runs(0, 120, "nested/0 9 task");
}

/* vm in nested goes through vm's own KVM events like the host's: three levels. */
static void nesting_has_no_depth_limit(void **state)
{
	(void)state;
	world_open(3);
	vm_is_about_to_enter_nested();
	/* The host knows one level only: for it, "nested" is whatever runs inside vm. */
	exits(HOST, 0, 140, 100, EXIT_VMRUN);
	enters(HOST, 0, 141, 100);
	switches(NESTED, 0, 150, 0, 0, 60);
	/* nested executes VMRUN: the host gives the exit to vm, whose KVM starts a level-3 VM. */
	happens(NESTED, 0, 155, KVM_ENTRY, 60, 0);
	exits(HOST, 0, 160, 100, EXIT_VMRUN);
	happens(HOST, 0, 161, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_VMRUN);
	enters(HOST, 0, 162, 100);
	exits(VM, 0, 170, 50, EXIT_VMRUN);
	happens(VM, 0, 171, KVM_NESTED_VMENTER, 50, 0, 0x5000, 0, 0, SVM);
	enters(VM, 0, 180, 50);
	exits(HOST, 0, 190, 100, EXIT_VMRUN);
	enters(HOST, 0, 200, 100);
	world_close(300);
	assert_runs(0, 156, "nested/0 - guest"); /* its first entry: vm has not said "nested" yet */
	assert_runs(0, 165, "vm/0 50 hypervisor 128 for nested/0");
	assert_runs(0, 170, "vm/0 50 hypervisor 128 for nested/0");
	assert_runs(0, 185, "vm/0 50 hypervisor 128 for nested/0");
	assert_runs(0, 200, "nested.vm-tid60/0 - guest");
}

/* ---- VMs without a trace -----------------------------------------------------------------------
 */

static void untraced_vms_are_grouped_by_process(void **state)
{
	(void)state;
	world_prepare(1);
	world_start();
	happens(HOST, 0, 90, STATEDUMP_PROCESS, 5, 100, 99, 1, STR("CPU 0/KVM"), 5);
	happens(HOST, 0, 91, STATEDUMP_PROCESS, 5, 101, 99, 1, STR("CPU 1/KVM"), 5);
	happens(HOST, 0, 92, STATEDUMP_PROCESS, 5, 201, 200, 1, STR("CPU 0/KVM"), 5);
	switches(HOST, 0, 100, 5, ASLEEP, 100);
	happens(HOST, 0, 110, KVM_ENTRY, 100, 0);
	switches(HOST, 1, 120, 0, 0, 101);
	happens(HOST, 1, 130, KVM_ENTRY, 101, 1);
	exits(HOST, 0, 140, 100, EXIT_HLT);
	switches(HOST, 0, 150, 100, ASLEEP, 201);
	happens(HOST, 0, 160, KVM_ENTRY, 201, 0);
	world_close(300);
	assert_int_equal(fake_rows("machine"), 3);
	assert_runs(0, 110, "vm-99/0 - guest");
	assert_runs(1, 130, "vm-99/1 - guest");
	assert_runs(0, 140, "host/0 100 hypervisor 120 for vm-99/0");
	assert_runs(0, 160, "vm-200/0 - guest");
	assert_int_equal(fake_cell("machine", 1, "vm_pid"), 99);
	assert_int_equal(vcpu_at("vm-99", 1, "state", 130), VCPU_ON_CPU);
	assert_int_equal(vcpu_at("vm-99", 1, "on", 130), 2);
	assert_int_equal(vcpu_at("vm-99", 0, "state", 150), VCPU_WAITING);
}

static void untraced_vms_are_grouped_by_who_made_their_threads(void **state)
{
	(void)state;
	world_open(1);
	happens(HOST, 0, 90, FORK, 99, 99, 100, 0, -1, 0); /* ftrace: no process in it */
	happens(HOST, 0, 91, FORK, 99, 99, 101, 0, -1, 0);
	switches(HOST, 0, 100, 99, ASLEEP, 100);
	happens(HOST, 0, 110, KVM_ENTRY, 100, 0);
	switches(HOST, 1, 120, 0, 0, 101);
	happens(HOST, 1, 130, KVM_ENTRY, 101, 1);
	world_close(300);
	assert_runs(0, 110, "vm-99/0 - guest");
	assert_runs(1, 130, "vm-99/1 - guest");
	assert_int_equal(fake_cell("machine", 1, "pid_known"), 0);
}

/* What the state dump tells may come after the first events of the vCPUs. */
static void processes_may_be_known_late(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 100);
	happens(HOST, 0, 110, KVM_ENTRY, 100, 0);
	switches(HOST, 1, 120, 0, 0, 101);
	happens(HOST, 1, 130, KVM_ENTRY, 101, 1);
	happens(HOST, 0, 140, KVM_EXIT, 100, EXIT_VMRUN, 0, 0, SVM);
	happens(HOST, 0, 150, STATEDUMP_PROCESS, -1, 100, 99, 1, STR("CPU 0/KVM"), 5);
	happens(HOST, 0, 160, STATEDUMP_PROCESS, -1, 101, 99, 1, STR("CPU 1/KVM"), 5);
	happens(HOST, 0, 180, KVM_ENTRY, 100, 0);
	happens(HOST, 1, 190, KVM_EXIT, 101, EXIT_VMRUN, 1, 0, SVM);
	happens(HOST, 1, 200, KVM_ENTRY, 101, 1);
	world_close(300);
	assert_runs(0, 110, "vm-99/0 - guest");
	assert_runs(1, 130, "vm-99/1 - guest");
	assert_runs(0, 140, "host/0 100 hypervisor 128 for vm-99/0");
	assert_runs(0, 180, "vm-99.nested1/-1 - guest");
	assert_runs(1, 200, "vm-99.nested1/-1 - guest");
	assert_int_equal(fake_rows("machine"), 3);
	assert_int_equal(fake_rows("cpu"), 5);
	assert_int_equal(vcpu_at("vm-99", 1, "state", 165), VCPU_ON_CPU);
}

/* Of the VM with a trace, which CPU thread 100 runs. */
static void world_with_one_vcpu_known(void)
{
	world_prepare(2);
	world.machines[VM].nr_vcpus = 1;
	world_start();
}

/* vm's thread 100 runs its vCPU 0; thread 101 runs @number of a VM of whose process nothing is
 * known yet, and a nested guest in it. */
static void another_vcpu_runs(int number)
{
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(HOST, 1, 120, 0, 0, 101);
	happens(HOST, 1, 130, KVM_ENTRY, 101, number);
	happens(HOST, 1, 190, KVM_EXIT, 101, EXIT_VMRUN, number, 0, SVM);
	happens(HOST, 1, 200, KVM_ENTRY, 101, number);
	happens(HOST, 1, 210, KVM_EXIT, 101, EXIT_MSR, number, 0, SVM);
	happens(HOST, 1, 220, KVM_ENTRY, 101, number);
}

static void are_of_processes(int32_t of_100, int32_t of_101)
{
	happens(HOST, 0, 250, STATEDUMP_PROCESS, -1, 100, of_100, 1, STR("CPU 0/KVM"), 5);
	happens(HOST, 0, 260, STATEDUMP_PROCESS, -1, 101, of_101, 1, STR("CPU 1/KVM"), 5);
}

/* The VM's trace lacks the stream of a CPU: what the host saw of that one is still the same VM's,
 * and a guest that it ran is one of that VM's, not known which. */
static void a_vcpu_of_the_same_process_is_the_traced_vms(void **state)
{
	(void)state;
	world_with_one_vcpu_known();
	another_vcpu_runs(1);
	are_of_processes(99, 99);
	world_close(300);
	assert_int_equal(fake_rows("machine"), 2);
	assert_runs(1, 130, "vm/1 - guest");
	assert_runs(1, 190, "host/1 101 hypervisor 128 for vm/1");
	assert_runs(1, 200, "vm/1 - guest");
	assert_runs(1, 210, "host/1 101 hypervisor 124");
}

/* Each runs guests that nothing names; until the end these are one machine. */
static void two_vcpus_are_the_traced_vms(void **state)
{
	(void)state;
	world_with_one_vcpu_known();
	another_vcpu_runs(1);
	switches(HOST, 0, 230, 100, ASLEEP, 102);
	happens(HOST, 0, 235, KVM_ENTRY, 102, 2);
	happens(HOST, 0, 240, KVM_EXIT, 102, EXIT_VMRUN, 2, 0, SVM);
	happens(HOST, 0, 245, KVM_ENTRY, 102, 2);
	are_of_processes(99, 99);
	happens(HOST, 0, 270, STATEDUMP_PROCESS, -1, 102, 99, 1, STR("CPU 2/KVM"), 5);
	world_close(300);
	assert_int_equal(fake_rows("machine"), 2);
	assert_runs(1, 200, "vm/1 - guest");
	assert_runs(0, 245, "vm/2 - guest");
}

/* Its own trace tells of that CPU, but not of its thread. */
static void a_vcpu_of_the_same_number_is_the_traced_one(void **state)
{
	(void)state;
	world_with_one_vcpu_known();
	switches(VM, 1, 95, 0, 0, 7);
	another_vcpu_runs(1);
	are_of_processes(99, 99);
	world_close(300);
	assert_int_equal(fake_rows("machine"), 2);
	assert_int_equal(fake_rows("cpu"), 4);
	for (unsigned i = 0; i < 4; i++) {
		if (fake_cell("cpu", i, "machine") == 1 && fake_cell("cpu", i, "cpu") == 1)
			assert_int_equal(fake_cell("cpu", i, "host_tid"), 101);
	}
	assert_int_equal(vcpu_at("vm", 1, "state", 130), VCPU_ON_CPU);
	assert_runs(1, 130, "vm/1 - guest");
}

static void a_vcpu_of_another_process_is_another_vms(void **state)
{
	(void)state;
	world_with_one_vcpu_known();
	another_vcpu_runs(1);
	are_of_processes(99, 98);
	world_close(300);
	assert_runs(1, 130, "vm-98/1 - guest");

	/* Or of the same number: no VM has two of these. */
	world_with_one_vcpu_known();
	another_vcpu_runs(0);
	are_of_processes(99, 99);
	world_close(300);
	assert_runs(1, 130, "vm-99/0 - guest");
}

/* The number is used again: none of the first one's threads was left when the second one began. */
static void a_process_of_a_later_time_is_another_vm(void **state)
{
	(void)state;
	world_with_one_vcpu_known();
	happens(HOST, 0, 50, STATEDUMP_PROCESS, -1, 100, 99, 1, STR("CPU 0/KVM"), 5);
	switches(HOST, 0, 60, 0, 0, 100);
	enters(HOST, 0, 70, 100);
	exits(HOST, 0, 80, 100, EXIT_HLT);
	happens(HOST, 0, 85, EXIT, 100, 100, 0, STR("CPU 0/KVM"));
	switches(HOST, 0, 90, 100, 0x40, 0);
	switches(HOST, 1, 120, 0, 0, 101);
	happens(HOST, 1, 130, KVM_ENTRY, 101, 1);
	happens(HOST, 1, 140, STATEDUMP_PROCESS, -1, 101, 99, 1, STR("CPU 1/KVM"), 5);
	world_close(300);
	assert_runs(1, 130, "vm-99/1 - guest");
}

/* vCPUs 0 and 1 of one VM, and vCPU 0 of another; ftrace does not tell their processes. */
static void three_vcpus_run(void)
{
	switches(HOST, 0, 100, 0, 0, 100);
	happens(HOST, 0, 110, KVM_ENTRY, 100, 0);
	happens(HOST, 0, 120, KVM_EXIT, 100, EXIT_MSR, 0, 0, SVM);
	switches(HOST, 1, 130, 0, 0, 201);
	happens(HOST, 1, 140, KVM_ENTRY, 201, 0);
	happens(HOST, 1, 150, KVM_EXIT, 201, EXIT_HLT, 0, 0, SVM);
	switches(HOST, 1, 160, 201, ASLEEP, 101);
	happens(HOST, 1, 170, KVM_ENTRY, 101, 1);
	happens(HOST, 1, 180, KVM_EXIT, 101, EXIT_HLT, 1, 0, SVM);
	switches(HOST, 1, 190, 101, ASLEEP, 0);
}

static void vcpus_that_wake_each_other_are_one_vm(void **state)
{
	(void)state;
	world_open(1);
	three_vcpus_run();
	for (int t = 200; t < 230; t += 10)
		happens(HOST, 0, t, SCHED_WAKING, 100, 101);
	for (int t = 230; t < 300; t += 10) {
		/* A timer of vCPU 201's, handled where thread 100 happens to run, proves nothing.
		 */
		happens(HOST, 0, t, VECTOR_ENTRY, 100, 236);
		happens(HOST, 0, t + 1, SCHED_WAKING, 100, 201);
		happens(HOST, 0, t + 2, VECTOR_EXIT, 100, 236);
	}
	world_close(400);
	assert_int_equal(fake_rows("machine"), 1 + 3); /* no interrupts seen before the wake-ups */

	world_open(1);
	happens(HOST, 1, 50, VECTOR_ENTRY, 0, 236);
	happens(HOST, 1, 51, VECTOR_EXIT, 0, 236);
	three_vcpus_run();
	for (int t = 200; t < 230; t += 10)
		happens(HOST, 0, t, SCHED_WAKING, 100, 101);
	for (int t = 230; t < 300; t += 10) {
		happens(HOST, 0, t, VECTOR_ENTRY, 100, 236);
		happens(HOST, 0, t + 1, SCHED_WAKING, 100, 201);
		happens(HOST, 0, t + 2, VECTOR_EXIT, 100, 236);
	}
	world_close(400);
	assert_int_equal(fake_rows("machine"), 1 + 2);
	assert_runs(1, 170, "vm-tid100/1 - guest");
	assert_runs(1, 140, "vm-tid201/0 - guest");
}

/* What wakes both of two that cannot be one joins it with neither, whichever was first. */
static void a_vcpu_that_two_vms_wake_is_neither_ones(void **state)
{
	(void)state;
	world_open(1);
	happens(HOST, 1, 50, VECTOR_ENTRY, 0, 236);
	happens(HOST, 1, 51, VECTOR_EXIT, 0, 236);
	three_vcpus_run();
	for (int t = 200; t < 230; t += 10)
		happens(HOST, 0, t, SCHED_WAKING, 100, 101);
	switches(HOST, 0, 240, 100, ASLEEP, 201);
	happens(HOST, 0, 250, KVM_ENTRY, 201, 0);
	happens(HOST, 0, 260, KVM_EXIT, 201, EXIT_MSR, 0, 0, SVM);
	for (int t = 270; t < 300; t += 10)
		happens(HOST, 0, t, SCHED_WAKING, 201, 101);
	world_close(400);
	assert_int_equal(fake_rows("machine"), 1 + 3);
	assert_runs(1, 170, "vm-tid101/1 - guest");
}

/* vm's thread 100 wakes thread 101, on a VM exit and as often as that proves something. */
static void the_traced_vms_vcpu_wakes(int tid)
{
	happens(HOST, 0, 250, KVM_EXIT, 100, EXIT_MSR, 0, 0, SVM);
	for (int t = 260; t < 290; t += 10)
		happens(HOST, 0, t, SCHED_WAKING, 100, tid);
}

/* Its own trace knows of CPU 1, and lacks its stream: see another_vcpu_runs(). */
static void a_vcpu_that_the_traced_vm_wakes_is_its(void **state)
{
	(void)state;
	world_with_one_vcpu_known();
	happens(HOST, 1, 50, VECTOR_ENTRY, 0, 236);
	happens(HOST, 1, 51, VECTOR_EXIT, 0, 236);
	another_vcpu_runs(1);
	the_traced_vms_vcpu_wakes(101);
	world_close(400);
	assert_int_equal(fake_rows("machine"), 2);
	assert_runs(1, 130, "vm/1 - guest");
	assert_runs(1, 200, "vm/1 - guest");

	/* Of a CPU of that number it has events: which is that thread's, nothing says. */
	world_with_one_vcpu_known();
	happens(HOST, 1, 50, VECTOR_ENTRY, 0, 236);
	happens(HOST, 1, 51, VECTOR_EXIT, 0, 236);
	switches(VM, 1, 95, 0, 0, 7);
	another_vcpu_runs(1);
	the_traced_vms_vcpu_wakes(101);
	world_close(400);
	assert_runs(1, 130, "vm-tid101/1 - guest");

	/* It has no CPU of that number. */
	world_with_one_vcpu_known();
	happens(HOST, 1, 50, VECTOR_ENTRY, 0, 236);
	happens(HOST, 1, 51, VECTOR_EXIT, 0, 236);
	another_vcpu_runs(40);
	the_traced_vms_vcpu_wakes(101);
	world_close(400);
	assert_runs(1, 130, "vm-tid101/40 - guest");
}

/* Two of one number are woken: one of them is another VM's, and which one nothing says. */
static void of_two_that_the_traced_vm_wakes_neither_is_its(void **state)
{
	(void)state;
	world_with_one_vcpu_known();
	happens(HOST, 1, 50, VECTOR_ENTRY, 0, 236);
	happens(HOST, 1, 51, VECTOR_EXIT, 0, 236);
	another_vcpu_runs(1);
	happens(HOST, 1, 230, KVM_EXIT, 101, EXIT_HLT, 1, 0, SVM);
	switches(HOST, 1, 235, 101, ASLEEP, 102);
	happens(HOST, 1, 240, KVM_ENTRY, 102, 1);
	the_traced_vms_vcpu_wakes(101);
	for (int t = 290; t < 320; t += 10)
		happens(HOST, 0, t, SCHED_WAKING, 100, 102);
	world_close(400);
	assert_runs(1, 130, "vm-tid101/1 - guest");
	assert_runs(1, 245, "vm-tid102/1 - guest");
}

static void nested_vcpu_moves(void)
{
	three_vcpus_run();
	happens(HOST, 0, 200, KVM_NESTED_VMENTER, 100, 0, 0xa000, 0, 0x77000, SVM);
	happens(HOST, 0, 210, KVM_ENTRY, 100, 0);
	happens(HOST, 0, 220, KVM_EXIT, 100, EXIT_INTR, 0, 0, SVM);
	switches(HOST, 1, 230, 0, 0, 101);
	happens(HOST, 1, 240, KVM_NESTED_VMENTER, 101, 0, 0xa000, 0, 0x77000, SVM);
	happens(HOST, 1, 250, KVM_ENTRY, 101, 1);
	happens(HOST, 1, 260, KVM_EXIT, 101, EXIT_INTR, 1, 0, SVM);
}

static void vcpus_that_enter_the_same_nested_vcpu_are_one_vm(void **state)
{
	(void)state;
	world_open(1);
	nested_vcpu_moves();
	world_close(400);
	assert_runs(0, 110, "vm-tid100/0 - guest");
	assert_runs(1, 170, "vm-tid100/1 - guest");
	assert_runs(0, 210, "vm-tid100.nested1/0 - guest");
	assert_runs(1, 250, "vm-tid100.nested1/0 - guest");
	assert_runs(1, 140, "vm-tid201/0 - guest");
	assert_int_equal(fake_rows("machine"), 1 + 3);
}

/* Another VM uses the same addresses, as equal images do: then they prove nothing. */
static void equal_images_are_not_one_vm(void **state)
{
	(void)state;
	world_open(1);
	nested_vcpu_moves();
	switches(HOST, 1, 270, 101, ASLEEP, 201);
	happens(HOST, 1, 280, KVM_NESTED_VMENTER, 201, 0, 0xa000, 0, 0x77000, SVM);
	happens(HOST, 1, 290, KVM_ENTRY, 201, 0);
	world_close(400);
	assert_runs(1, 170, "vm-tid101/1 - guest");
	assert_runs(1, 290, "vm-tid201.nested1/0 - guest");
	assert_int_equal(fake_rows("machine"), 1 + 6);
}

/* By another address it could be that one's as well: it is neither's. */
static void a_vm_that_shares_with_two_is_neither(void **state)
{
	(void)state;
	world_open(1);
	nested_vcpu_moves();
	happens(HOST, 1, 265, KVM_NESTED_VMENTER, 101, 0, 0xb000, 0, 0x88000, SVM);
	happens(HOST, 1, 266, KVM_ENTRY, 101, 1);
	happens(HOST, 1, 267, KVM_EXIT, 101, EXIT_INTR, 1, 0, SVM);
	switches(HOST, 1, 270, 101, ASLEEP, 201);
	happens(HOST, 1, 280, KVM_NESTED_VMENTER, 201, 0, 0xb000, 0, 0x88000, SVM);
	happens(HOST, 1, 290, KVM_ENTRY, 201, 0);
	world_close(400);
	assert_runs(0, 110, "vm-tid100/0 - guest");
	assert_runs(1, 170, "vm-tid101/1 - guest");
	assert_runs(1, 140, "vm-tid201/0 - guest");
}

/* lttng-modules 2.13 on Linux 6.1 records a pointer as the entry's vcpu_id. */
static void an_unsound_vcpu_id_is_not_used(void **state)
{
	(void)state;
	world_prepare(1);
	world.traces[HOST].vcpu_id_unsound = true;
	world_start();
	switches(HOST, 0, 100, 0, 0, 100);
	happens(HOST, 0, 110, KVM_ENTRY, 100, 51780688);
	happens(HOST, 0, 120, KVM_EXIT, 100, EXIT_MSR, 1, 0, SVM);
	happens(HOST, 0, 130, KVM_ENTRY, 100, 51780688);
	world_close(300);
	assert_runs(0, 110, "vm-tid100/1 - guest");
	assert_runs(0, 130, "vm-tid100/1 - guest");
}

static void nested_vms_show_in_the_host_alone(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 100);
	happens(HOST, 0, 110, KVM_EXIT, 100, EXIT_VMRUN, 0, 0, SVM);
	happens(HOST, 0, 111, KVM_NESTED_VMENTER, 100, 0, 0xa000, 0, 0x77000, SVM);
	happens(HOST, 0, 120, KVM_ENTRY, 100, 0);
	exits(HOST, 0, 130, 100, EXIT_MSR);
	happens(HOST, 0, 131, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_MSR);
	happens(HOST, 0, 132, KVM_ENTRY, 100, 0);
	exits(HOST, 0, 140, 100, EXIT_VMRUN);
	/* Another vCPU of the same nested VM: the same page table. */
	happens(HOST, 0, 141, KVM_NESTED_VMENTER, 100, 0, 0xb000, 0, 0x77000, SVM);
	happens(HOST, 0, 150, KVM_ENTRY, 100, 0);
	exits(HOST, 0, 160, 100, EXIT_MSR);
	happens(HOST, 0, 161, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_MSR);
	/* Another nested VM. */
	happens(HOST, 0, 162, KVM_NESTED_VMENTER, 100, 0, 0xc000, 0, 0x99000, SVM);
	happens(HOST, 0, 170, KVM_ENTRY, 100, 0);
	exits(HOST, 0, 180, 100, EXIT_INTR);
	world_close(300);
	assert_runs(0, 120, "vm-tid100.nested1/0 - guest");
	assert_runs(0, 130, "host/0 100 hypervisor 124 for vm-tid100.nested1/0");
	assert_runs(0, 132, "vm-tid100/0 - guest");
	assert_runs(0, 150, "vm-tid100.nested1/1 - guest");
	assert_runs(0, 170, "vm-tid100.nested2/0 - guest");
	assert_runs(0, 180, "host/0 100 hypervisor 96 for vm-tid100.nested2/0");
	assert_int_equal(fake_cell("machine", 2, "level"), 2);
}

/* Without nested entry events nothing tells one nested vCPU from another. */
static void nested_vms_without_identity_are_one(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 100);
	happens(HOST, 0, 110, KVM_EXIT, 100, EXIT_VMRUN, 0, 0, SVM);
	happens(HOST, 0, 120, KVM_ENTRY, 100, 0);
	exits(HOST, 0, 130, 100, EXIT_MSR);
	world_close(300);
	assert_runs(0, 120, "vm-tid100.nested1/-1 - guest");
	assert_runs(0, 130, "host/0 100 hypervisor 124 for vm-tid100.nested1/-1");
}

/* ---- states of nested vCPUs ------------------------------------------------------------------ */

/* What vm's kernel says of its nested vCPU counts only while it is known that vm itself runs. */
static void a_nested_vcpu_is_unknown_where_what_it_is_on_is(void **state)
{
	(void)state;
	world_open(3);
	/* The host's trace has not begun. */
	switches(VM, 0, 100, 0, 0, 50);
	enters(VM, 0, 105, 50);
	switches(VM, 0, 110, 50, PREEMPTED, 7);
	switches(VM, 0, 115, 7, ASLEEP, 50);
	switches(HOST, 0, 120, 0, 0, 100);
	enters(HOST, 0, 125, 100);
	switches(VM, 0, 130, 50, PREEMPTED, 7);
	switches(HOST, 0, 135, 100, PREEMPTED, 5);
	happens(HOST, 0, 140, LOST, -1, 5, 140, 150);
	switches(HOST, 0, 160, 5, ASLEEP, 100);
	enters(HOST, 0, 165, 100);
	switches(VM, 0, 170, 7, ASLEEP, 50);
	switches(VM, 0, 175, 50, ASLEEP, 0);
	happens(HOST, 0, 180, LOST, -1, 5, 180, 190);
	happens(VM, 0, 185, SCHED_WAKING, 0, 50);
	world_close(300);
	assert_int_equal(fake_at("nested/cpu0/state", 106), VCPU_UNKNOWN);
	assert_int_equal(fake_at("nested/cpu0/state", 112), VCPU_UNKNOWN);
	assert_int_equal(fake_at("vm/cpu0/state", 125), VCPU_ON_CPU);
	assert_int_equal(fake_at("nested/cpu0/state", 125), VCPU_ON_CPU);
	assert_int_equal(fake_at("nested/cpu0/state", 130), VCPU_PREEMPTED);
	assert_int_equal(fake_at("vm/cpu0/state", 135), VCPU_PREEMPTED);
	assert_int_equal(fake_at("nested/cpu0/state", 135), VCPU_PREEMPTED);
	assert_int_equal(fake_at("vm/cpu0/state", 140), VCPU_UNKNOWN);
	assert_int_equal(fake_at("nested/cpu0/state", 140), VCPU_UNKNOWN);
	assert_int_equal(fake_at("nested/cpu0/state", 165), VCPU_PREEMPTED);
	assert_int_equal(fake_at("nested/cpu0/state", 170), VCPU_ON_CPU);
	/* That it waits is its own kernel's business. */
	assert_int_equal(fake_at("nested/cpu0/state", 180), VCPU_WAITING);
	assert_int_equal(fake_at("nested/cpu0/state", 185), VCPU_UNKNOWN);
	/* What vm itself thinks stays as it is. */
	assert_int_equal(thread_state(VM, 50, 112), THREAD_RUNNABLE);
}

/* ---- when traces disagree or end ------------------------------------------------------------- */

/* A guest's event while its vCPU is not in guest mode: its clock is wrong by a little. */
static void violations_are_counted_and_change_nothing_below(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 7);
	exits(HOST, 0, 130, 100, EXIT_INTR);
	switches(VM, 0, 131, 7, PREEMPTED, 8);
	switches(HOST, 0, 140, 100, PREEMPTED, 5);
	switches(VM, 0, 141, 8, PREEMPTED, 9);
	switches(HOST, 0, 150, 5, ASLEEP, 100);
	enters(HOST, 0, 160, 100);
	world_close(300);
	assert_runs(0, 131, "host/0 100 hypervisor 96 for vm/0");
	assert_runs(0, 141, "host/0 5 task");
	assert_runs(0, 160, "vm/0 9 task");
	assert_int_equal(fake_cell("machine", 1, "violations"), 2);
}

/* The host's CPU 0 has no stream.  What was last seen to leave CPU 1 may run there. */
static void a_cpu_without_a_stream_is_unknown_and_contradicts_nobody(void **state)
{
	static struct packet packet = {.begin = 90, .end = 400};

	(void)state;
	world_prepare(2);
	world.streams[HOST][1].packets = &packet;
	world.streams[HOST][1].nr_packets = 1;
	world.traces[HOST].streams = &world.streams[HOST][1];
	world.traces[HOST].nr_streams = 1;
	world.traces[HOST].format = TRACE_DAT;
	world_start();
	switches(HOST, 1, 100, 0, 0, 100);
	enters(HOST, 1, 110, 100);
	exits(HOST, 1, 120, 100, EXIT_INTR);
	switches(HOST, 1, 130, 100, PREEMPTED, 5);
	switches(VM, 0, 140, 0, 0, 7);
	switches(HOST, 1, 150, 5, ASLEEP, 100);
	world_close(300);
	assert_runs(0, 140, "host/0 - unknown");
	assert_int_equal(fake_at("vm/cpu0/state", 120), VCPU_ON_CPU);
	assert_int_equal(fake_at("vm/cpu0/state", 140), VCPU_UNKNOWN);
	assert_int_equal(fake_at("vm/cpu0/state", 150), VCPU_ON_CPU);
	assert_int_equal(fake_cell("machine", 1, "violations"), 0);
	assert_int_equal(fake_rows("loss"), 1);
	assert_int_equal(fake_cell("loss", 0, "cpu"), 0);
	assert_int_equal(fake_cell("loss", 0, "begin"), 100);
	assert_int_equal(fake_cell("loss", 0, "end"), 300);
	assert_int_equal(fake_cell("loss", 0, "events"), -1);
}

#define MS 1000000

/* The stream of CPU 0 begins later and ends earlier than that of CPU 1. */
static void a_cpu_is_unknown_before_and_after_its_stream(void **state)
{
	static struct packet packets[] = {{.begin = 100 * MS, .end = 200 * MS},
					  {.begin = 50 * MS, .end = 400 * MS}};

	(void)state;
	world_prepare(2);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		world.streams[HOST][cpu].packets = &packets[cpu];
		world.streams[HOST][cpu].nr_packets = 1;
	}
	world.traces[HOST].streams = world.streams[HOST];
	world.traces[HOST].nr_streams = 2;
	world.traces[HOST].format = TRACE_DAT;
	world_start();
	switches(HOST, 1, 60 * MS, 0, 0, 100);
	enters(HOST, 1, 70 * MS, 100);
	switches(HOST, 1, 80 * MS, 100, PREEMPTED, 5);
	switches(VM, 0, 90 * MS, 0, 0, 7);
	switches(HOST, 0, 110 * MS, 0, 0, 6);
	switches(VM, 0, 120 * MS, 7, ASLEEP, 8);
	switches(VM, 0, 210 * MS, 8, ASLEEP, 7);
	switches(HOST, 1, 300 * MS, 5, ASLEEP, 0);
	world_close(400 * MS);
	assert_int_equal(fake_at("vm/cpu0/state", 90 * MS), VCPU_UNKNOWN);
	assert_int_equal(fake_at("vm/cpu0/state", 110 * MS),
			 VCPU_UNKNOWN); /* it may have run there */
	assert_int_equal(fake_at("vm/cpu0/state", 210 * MS), VCPU_UNKNOWN);
	assert_runs(0, 200 * MS, "host/0 6 task");
	assert_runs(0, 210 * MS, "host/0 - unknown");
	assert_runs(1, 210 * MS, "host/1 5 task");
	assert_int_equal(fake_cell("machine", 1, "violations"), 0);
	assert_int_equal(fake_rows("loss"), 1);
	assert_int_equal(fake_cell("loss", 0, "begin"), 200 * MS + 1);
	assert_int_equal(fake_cell("loss", 0, "end"), 400 * MS);
	assert_int_equal(fake_rows("problem"), 1);
}

/* Two streams of one chunk of a rotated session end one soon after the other.  What the first CPU
 * ran lasts no longer than its stream, and another may have run what was its thread. */
static void a_stream_that_ends_a_little_early_is_known_to_its_end(void **state)
{
	static struct packet packets[] = {{.begin = 50 * MS, .end = 200 * MS},
					  {.begin = 50 * MS, .end = 250 * MS}};

	(void)state;
	world_prepare(2);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		world.streams[HOST][cpu].packets = &packets[cpu];
		world.streams[HOST][cpu].nr_packets = 1;
	}
	world.traces[HOST].streams = world.streams[HOST];
	world.traces[HOST].nr_streams = 2;
	world.traces[HOST].format = TRACE_DAT;
	world_start();
	switches(HOST, 1, 60 * MS, 0, 0, 100);
	enters(HOST, 1, 70 * MS, 100);
	switches(HOST, 1, 80 * MS, 100, PREEMPTED, 5);
	switches(HOST, 0, 110 * MS, 0, 0, 6);
	switches(VM, 0, 220 * MS, 7, ASLEEP, 8);
	switches(HOST, 1, 240 * MS, 5, ASLEEP, 0);
	world_close(250 * MS);
	assert_runs(0, 200 * MS, "host/0 6 task");
	assert_runs(0, 220 * MS, "host/0 - unknown");
	assert_runs(1, 220 * MS, "host/1 5 task");
	assert_int_equal(fake_at("vm/cpu0/state", 220 * MS), VCPU_UNKNOWN);
	assert_int_equal(fake_cell("machine", 1, "violations"), 0);
	assert_int_equal(fake_rows("loss"), 0);
	assert_int_equal(fake_rows("problem"), 0);
}

/* The reader of a stream that is cut off tells of its end when it gets there; that was known. */
static void the_end_of_a_stream_is_missing_once(void **state)
{
	static struct packet packets[] = {{.begin = 50 * MS, .end = 200 * MS},
					  {.begin = 50 * MS, .end = 400 * MS}};

	(void)state;
	world_prepare(1);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		world.streams[HOST][cpu].packets = &packets[cpu];
		world.streams[HOST][cpu].nr_packets = 1;
	}
	world.traces[HOST].streams = world.streams[HOST];
	world.traces[HOST].nr_streams = 2;
	world.traces[HOST].format = TRACE_DAT;
	world_start();
	switches(HOST, 1, 60 * MS, 0, 0, 100);
	switches(HOST, 0, 110 * MS, 0, 0, 6);
	happens(HOST, 0, 120 * MS, LOST, -1, 3, 120 * MS, 130 * MS);
	switches(HOST, 0, 140 * MS, 0, 0, 6);
	happens(HOST, 0, 150 * MS, LOST, -1, 0, 150 * MS, 160 * MS);
	switches(HOST, 0, 170 * MS, 0, 0, 6);
	happens(HOST, 0, 200 * MS, LOST, -1, 0, 200 * MS, 400 * MS);
	switches(HOST, 1, 400 * MS, 5, ASLEEP, 0);
	world_close(400 * MS);
	assert_runs(0, 210 * MS, "host/0 - unknown");
	assert_int_equal(fake_rows("loss"), 3);
	assert_int_equal(fake_cell("loss", 0, "begin"), 200 * MS);
	assert_int_equal(fake_cell("loss", 0, "end"), 400 * MS);
	assert_int_equal(fake_cell("loss", 0, "events"), -1);
	assert_int_equal(fake_cell("loss", 1, "events"), 3);
	assert_int_equal(fake_cell("loss", 2, "begin"), 150 * MS);
	assert_int_equal(fake_cell("loss", 2, "end"), 160 * MS);
}

/* ... and so is its begin; what is lost later is another gap. */
static void the_begin_of_a_stream_is_missing_once(void **state)
{
	static struct packet packets[] = {{.begin = 200 * MS, .end = 400 * MS},
					  {.begin = 50 * MS, .end = 400 * MS}};

	(void)state;
	world_prepare(1);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		world.streams[HOST][cpu].packets = &packets[cpu];
		world.streams[HOST][cpu].nr_packets = 1;
	}
	world.streams[HOST][0].start = START_MISSING;
	world.traces[HOST].streams = world.streams[HOST];
	world.traces[HOST].nr_streams = 2;
	world.traces[HOST].format = TRACE_DAT;
	world_start();
	switches(HOST, 1, 60 * MS, 0, 0, 100);
	happens(HOST, 0, 200 * MS, LOST, -1, 0, 100 * MS, 200 * MS);
	switches(HOST, 0, 210 * MS, 0, 0, 6);
	happens(HOST, 0, 250 * MS, LOST, -1, 0, 250 * MS, 260 * MS);
	switches(HOST, 0, 270 * MS, 0, 0, 6);
	world_close(400 * MS);
	assert_int_equal(fake_rows("loss"), 2);
	assert_int_equal(fake_cell("loss", 0, "begin"), 60 * MS);
	assert_int_equal(fake_cell("loss", 0, "end"), 200 * MS);
	assert_int_equal(fake_cell("loss", 1, "begin"), 250 * MS);
	assert_int_equal(fake_cell("loss", 1, "end"), 260 * MS);
}

static void a_loss_in_the_guest_leaves_the_guest(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 7);
	happens(VM, 0, 130, LOST, -1, 0, 130, 170);
	happens(VM, 0, 180, SCHED_WAKING, 8, 7);
	happens(VM, 0, 190, SOFTIRQ_EXIT, 8, 1);
	world_close(300);
	assert_runs(0, 130, "vm/0 - guest");
	assert_runs(0, 180, "vm/0 - guest");
	assert_runs(0, 190, "vm/0 8 task");
	assert_int_equal(fake_cell("loss", 0, "events"), -1);
}

static void a_loss_in_the_host_hides_the_guest(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 7);
	happens(HOST, 0, 130, LOST, -1, 5, 130, 170);
	switches(VM, 0, 140, 7, ASLEEP, 8);
	exits(HOST, 0, 180, 100, EXIT_MSR);
	enters(HOST, 0, 190, 100);
	world_close(300);
	assert_runs(0, 130, "host/0 - unknown");
	assert_runs(0, 145, "host/0 - unknown");
	assert_runs(0, 180, "host/0 100 hypervisor 124 for vm/0");
	assert_runs(0, 190, "vm/0 8 task");
	assert_int_equal(fake_at("vm/cpu0/state", 150), VCPU_UNKNOWN);
	assert_int_equal(fake_cell("machine", 1, "violations"), 0);
}

/* After a guest's trace has ended, its host shows that it goes on, but not with what. */
static void after_a_trace_nothing_is_known_of_its_machine(void **state)
{
	static struct packet packet = {.begin = 100, .end = 150};

	(void)state;
	world_prepare(2);
	world.streams[VM][0].packets = &packet;
	world.streams[VM][0].nr_packets = 1;
	world.traces[VM].streams = world.streams[VM];
	world.traces[VM].nr_streams = 1;
	world_start();
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 7);
	switches(HOST, 1, 180, 0, 0, 6);
	world_close(300);
	assert_runs(0, 150, "vm/0 7 task");
	assert_runs(0, 151, "vm/0 - guest");
	assert_int_equal(thread_state(VM, 7, 151), THREAD_UNKNOWN);
}

/* By chance the same thread stands on both sides of a hole in the host's trace: its guest goes on
 * meanwhile, for longer than the clocks' bounds allow. */
static void happens_in_a_hole(void)
{
	static struct clock_piece loose = {.mult = UINT64_C(1) << CLOCK_SHIFT, .bound_ns = 10};

	world.machines[VM].clock.pieces = &loose;
	world_start();
	switches(HOST, 1, 90, 0, 0, 6);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 115, 0, 0, 7);
	exits(HOST, 0, 120, 100, EXIT_INTR);
	/* In time: its clock may be that wrong. */
	switches(VM, 0, 130, 7, PREEMPTED, 8);
	switches(VM, 0, 150, 8, PREEMPTED, 7);
	enters(HOST, 0, 160, 100);
	switches(VM, 0, 170, 7, PREEMPTED, 8);
	exits(HOST, 0, 180, 100, EXIT_INTR);
	/* Too long. */
	switches(VM, 0, 190, 8, PREEMPTED, 7);
	switches(VM, 0, 211, 7, PREEMPTED, 8);
	enters(HOST, 0, 250, 100);
	world_close(300);
}

static void a_guest_shows_a_hole_of_its_host(void **state)
{
	(void)state;
	world_prepare(2);
	happens_in_a_hole();
	assert_runs(0, 150, "host/0 100 hypervisor 96 for vm/0");
	assert_runs(0, 210, "host/0 100 hypervisor 96 for vm/0");
	assert_runs(0, 211, "host/0 - unknown");
	assert_runs(0, 249, "host/0 - unknown");
	assert_runs(1, 249, "host/1 6 task");
	assert_runs(0, 250, "vm/0 8 task");
	assert_int_equal(fake_rows("loss"), 1);
	assert_int_equal(fake_cell("loss", 0, "cpu"), 0);
	assert_int_equal(fake_cell("loss", 0, "begin"), 180);
}

/* Who reads it again knows of the hole from its begin on. */
static void a_hole_that_is_known_is_one_from_its_begin(void **state)
{
	struct model_gaps gaps = {0};

	(void)state;
	world_prepare(2);
	world.gaps = &gaps;
	happens_in_a_hole();
	assert_int_equal(gaps.nr, 1);
	world_prepare(2);
	world.gaps = &gaps;
	happens_in_a_hole();
	assert_int_equal(gaps.nr, 1);
	assert_runs(0, 179, "vm/0 8 task");
	assert_runs(0, 180, "host/0 100 hypervisor 96 for vm/0");
	assert_runs(0, 181, "host/0 - unknown");
	assert_runs(0, 249, "host/0 - unknown");
	assert_runs(1, 249, "host/1 6 task");
	assert_runs(0, 250, "vm/0 8 task");
	assert_int_equal(fake_rows("loss"), 1);
	assert_int_equal(fake_cell("loss", 0, "begin"), 180);
	free(gaps.list);
}

/* ... or the host's CPU goes on, and it was in the hole that the guest left its own guest. */
static void a_guest_shows_that_its_own_guest_is_gone(void **state)
{
	(void)state;
	world_open(3);
	vm_is_about_to_enter_nested();
	exits(HOST, 0, 160, 100, EXIT_VMRUN);
	happens(HOST, 0, 170, KVM_NESTED_VMENTER, 100, 0, 0x10065000, 0, 0x101df000, SVM);
	enters(HOST, 0, 180, 100);
	switches(NESTED, 0, 190, 0, 0, 9);
	happens(VM, 0, 200, VECTOR_ENTRY, 50, 236);
	exits(HOST, 0, 205, 100, EXIT_INTR);
	enters(HOST, 0, 210, 100);
	happens(VM, 0, 220, VECTOR_EXIT, 50, 236);
	switches(VM, 0, 230, 50, PREEMPTED, 51);
	exits(HOST, 0, 240, 100, EXIT_INTR);
	enters(HOST, 0, 250, 100);
	world_close(300);
	assert_runs(0, 200, "nested/0 9 task");
	assert_runs(0, 219, "nested/0 9 task");
	assert_runs(0, 230, "vm/0 51 task");
	assert_runs(0, 250, "vm/0 51 task");
	assert_int_equal(fake_rows("loss"), 0);
}

/* Its thread is on no CPU that is known, but on one that is silent: which nobody knows. */
static void a_guest_whose_thread_sleeps_runs_on_a_silent_cpu(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 1, 90, 0, 0, 6);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 115, 0, 0, 7);
	exits(HOST, 0, 120, 100, EXIT_HLT);
	switches(HOST, 0, 130, 100, ASLEEP, 0);
	switches(VM, 0, 150, 7, PREEMPTED, 8);
	switches(HOST, 0, 160, 0, 0, 5);
	switches(VM, 0, 170, 8, PREEMPTED, 7);
	world_close(300);
	assert_runs(0, 170, "host/0 5 task");
	assert_runs(1, 169, "host/1 6 task");
	assert_runs(1, 170, "host/1 - unknown");
	assert_int_equal(fake_rows("loss"), 1);
	assert_int_equal(fake_cell("loss", 0, "cpu"), 1);
}

/* It handled its timer's interrupt before, and is given four more without a sign. */
static void a_guest_that_shows_no_interrupt_has_a_hole(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 112, 0, 0, 7);
	happens_typed(VM, 0, 115,
		      (struct event){
			      .kind = EV_VECTOR_ENTRY, .type = TYPE_TIMER, .tid = 7, .arg = {236}});
	happens_typed(
		VM, 0, 116,
		(struct event){.kind = EV_VECTOR_EXIT, .type = TYPE_TIMER, .tid = 7, .arg = {236}});
	for (int i = 0; i < 5; i++) {
		exits(HOST, 0, 120 + 10 * i, 100, EXIT_INTR);
		happens(HOST, 0, 121 + 10 * i, KVM_INJ_VIRQ, 100, 236);
		enters(HOST, 0, 122 + 10 * i, 100);
	}
	world_close(300);
	assert_runs(0, 149, "vm/0 7 task");
	assert_runs(0, 153, "vm/0 - guest");
	assert_int_equal(fake_rows("loss"), 1);
	assert_int_equal(fake_cell("loss", 0, "begin"), 116);
	assert_int_equal(fake_cell("loss", 0, "end"), 300);
}

/* Threads wait for it, and it does not stir: its stream has ended, or has a hole. */
static void a_cpu_that_lets_threads_wait_has_a_hole(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 1, 50 * MS, 0, 0, 7);
	switches(HOST, 0, 60 * MS, 0, 0, 5);
	happens(HOST, 0, 100 * MS, SCHED_WAKING, 5, 9, 1);
	happens(HOST, 0, 110 * MS, SCHED_WAKEUP, 5, 9, 1);
	happens(HOST, 0, 190 * MS, SCHED_WAKEUP, 5, 10, 1);
	happens(HOST, 0, 205 * MS, SCHED_WAKING, 5, 11, 1);
	happens(HOST, 0, 220 * MS, SCHED_WAKEUP, 5, 11, 1);
	switches(HOST, 0, 300 * MS, 5, ASLEEP, 0);
	world_close(400 * MS);
	assert_runs(1, 219 * MS, "host/1 7 task");
	assert_runs(1, 220 * MS, "host/1 - unknown");
	assert_runs(0, 220 * MS, "host/0 5 task");
	assert_int_equal(fake_rows("loss"), 1);
	assert_int_equal(fake_cell("loss", 0, "begin"), 50 * MS);
}

static void clock_bounds_are_attributes(void **state)
{
	static struct clock_piece pieces[] = {{.mult = UINT64_C(1) << CLOCK_SHIFT, .bound_ns = 40},
					      {.from = 200,
					       .at_ns = 200,
					       .mult = UINT64_C(1) << CLOCK_SHIFT,
					       .bound_ns = CLOCK_NO_BOUND}};

	(void)state;
	world_prepare(2);
	world.machines[VM].clock.pieces = pieces;
	world.machines[VM].clock.nr_pieces = 2;
	world_start();
	switches(HOST, 0, 100, 0, 0, 100);
	switches(HOST, 0, 250, 100, 0, 0);
	world_close(300);
	assert_int_equal(fake_at("vm/clock_bound", 100), 40);
	assert_int_equal(fake_at("vm/clock_bound", 200), UINT32_MAX);
	assert_int_equal(fake_rows("clock"), 3);
	assert_int_equal(fake_cell("clock", 1, "to"), 200);
	assert_int_equal(fake_cell("clock", 2, "bound"), -1);
}

/* Process 100 ran a VM and is gone; the next process of that number runs another one. */
static void a_reused_pid_is_another_vm(void **state)
{
	(void)state;
	world_open(1);
	happens(HOST, 0, 90, FORK, 99, 99, 100, 0, 100, 0);
	switches(HOST, 0, 100, 0, 0, 100);
	happens(HOST, 0, 110, KVM_ENTRY, 100, 0);
	exits(HOST, 0, 120, 100, EXIT_MSR);
	switches(HOST, 0, 130, 100, 0x10, 0);
	happens(HOST, 0, 140, FORK, 99, 99, 100, 0, 100, 0);
	switches(HOST, 0, 150, 0, 0, 100);
	happens(HOST, 0, 160, KVM_ENTRY, 100, 0);
	exits(HOST, 0, 170, 100, EXIT_MSR);
	world_close(300);
	assert_int_equal(fake_rows("machine"), 3);
	assert_runs(0, 110, "vm-100/0 - guest");
	assert_runs(0, 160, "vm-100-2/0 - guest");
}

/* What its VM's own trace tells was of thread 100 before: the next thread of that number is
 * another VM's. */
static void a_reused_tid_is_not_the_traced_vms(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 112, 0, 0, 7);
	exits(HOST, 0, 120, 100, EXIT_MSR);
	switches(HOST, 0, 130, 100, 0x10, 0);
	happens(HOST, 0, 140, FORK, 98, 98, 100, 0, 100, 0);
	switches(HOST, 0, 150, 0, 0, 100);
	happens(HOST, 0, 160, KVM_ENTRY, 100, 0);
	exits(HOST, 0, 170, 100, EXIT_MSR);
	world_close(300);
	assert_runs(0, 115, "vm/0 7 task");
	assert_runs(0, 160, "vm-100/0 - guest");

	/* The VM's trace begins after the first one's end: it is the second one's. */
	world_open(2);
	happens(HOST, 0, 140, FORK, 98, 98, 100, 0, 100, 0);
	switches(HOST, 0, 150, 0, 0, 100);
	enters(HOST, 0, 160, 100);
	switches(VM, 0, 162, 0, 0, 7);
	exits(HOST, 0, 170, 100, EXIT_MSR);
	world_close(300);
	assert_runs(0, 165, "vm/0 7 task");
}

/* That thread 100 ended was not seen.  A process has a number only when nobody else has. */
static void a_reused_pid_is_not_the_traced_vms(void **state)
{
	(void)state;
	for (int before = 0; before < 2; before++) {
		world_with_one_vcpu_known();
		if (before)
			happens(HOST, 0, 50, STATEDUMP_PROCESS, -1, 100, 99, 1, STR("CPU 0/KVM"),
				5);
		switches(HOST, 0, 60, 0, 0, 100);
		enters(HOST, 0, 70, 100);
		exits(HOST, 0, 80, 100, EXIT_HLT);
		switches(HOST, 0, 90, 100, ASLEEP, 0);
		if (!before)
			happens(HOST, 0, 95, STATEDUMP_PROCESS, -1, 100, 99, 1, STR("CPU 0/KVM"),
				5);
		happens(HOST, 1, 100, FORK, 1, 1, 99, 0, 99, 0);
		happens(HOST, 1, 110, FORK, 99, 99, 101, 0, 99, 0);
		switches(HOST, 1, 120, 0, 0, 101);
		happens(HOST, 1, 130, KVM_ENTRY, 101, 1);
		world_close(300);
		assert_runs(0, 70, "vm/0 - guest");
		assert_runs(1, 130, "vm-99/1 - guest");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reused_pid_is_another_vm),
		cmocka_unit_test(a_reused_tid_is_not_the_traced_vms),
		cmocka_unit_test(a_reused_pid_is_not_the_traced_vms),
		cmocka_unit_test(entry_and_exit_move_between_host_and_guest),
		cmocka_unit_test(an_interrupt_ends_guest_mode_before_the_exit_event),
		cmocka_unit_test(a_preempted_vcpu_keeps_its_guest_state),
		cmocka_unit_test(the_vmm_works_for_its_vcpu),
		cmocka_unit_test(what_only_vcpus_record_tells_of_a_vcpu),
		cmocka_unit_test(changes_of_halt_polling_are_kept),
		cmocka_unit_test(a_vm_of_unknown_time),
		cmocka_unit_test(nested_entry_with_events),
		cmocka_unit_test(nested_entry_of_arm64),
		cmocka_unit_test(nested_entry_of_arm64_alone),
		cmocka_unit_test(nested_entry_without_events),
		cmocka_unit_test(a_failed_nested_entry_stays_in_the_vm),
		cmocka_unit_test(vmx_exit_reasons_mean_something_else),
		cmocka_unit_test(a_page_table_for_the_nested_vm_announces_it),
		cmocka_unit_test(a_nested_exit_shows_what_was_running),
		cmocka_unit_test(nesting_has_no_depth_limit),
		cmocka_unit_test(untraced_vms_are_grouped_by_process),
		cmocka_unit_test(untraced_vms_are_grouped_by_who_made_their_threads),
		cmocka_unit_test(processes_may_be_known_late),
		cmocka_unit_test(a_vcpu_of_the_same_process_is_the_traced_vms),
		cmocka_unit_test(two_vcpus_are_the_traced_vms),
		cmocka_unit_test(a_vcpu_of_the_same_number_is_the_traced_one),
		cmocka_unit_test(a_vcpu_of_another_process_is_another_vms),
		cmocka_unit_test(a_process_of_a_later_time_is_another_vm),
		cmocka_unit_test(vcpus_that_wake_each_other_are_one_vm),
		cmocka_unit_test(a_vcpu_that_the_traced_vm_wakes_is_its),
		cmocka_unit_test(of_two_that_the_traced_vm_wakes_neither_is_its),
		cmocka_unit_test(vcpus_that_enter_the_same_nested_vcpu_are_one_vm),
		cmocka_unit_test(equal_images_are_not_one_vm),
		cmocka_unit_test(a_vcpu_that_two_vms_wake_is_neither_ones),
		cmocka_unit_test(a_vm_that_shares_with_two_is_neither),
		cmocka_unit_test(an_unsound_vcpu_id_is_not_used),
		cmocka_unit_test(nested_vms_show_in_the_host_alone),
		cmocka_unit_test(nested_vms_without_identity_are_one),
		cmocka_unit_test(a_nested_vcpu_is_unknown_where_what_it_is_on_is),
		cmocka_unit_test(violations_are_counted_and_change_nothing_below),
		cmocka_unit_test(a_cpu_without_a_stream_is_unknown_and_contradicts_nobody),
		cmocka_unit_test(a_cpu_is_unknown_before_and_after_its_stream),
		cmocka_unit_test(a_stream_that_ends_a_little_early_is_known_to_its_end),
		cmocka_unit_test(the_end_of_a_stream_is_missing_once),
		cmocka_unit_test(the_begin_of_a_stream_is_missing_once),
		cmocka_unit_test(a_loss_in_the_guest_leaves_the_guest),
		cmocka_unit_test(a_loss_in_the_host_hides_the_guest),
		cmocka_unit_test(after_a_trace_nothing_is_known_of_its_machine),
		cmocka_unit_test(a_guest_shows_a_hole_of_its_host),
		cmocka_unit_test(a_hole_that_is_known_is_one_from_its_begin),
		cmocka_unit_test(a_guest_shows_that_its_own_guest_is_gone),
		cmocka_unit_test(a_guest_whose_thread_sleeps_runs_on_a_silent_cpu),
		cmocka_unit_test(a_guest_that_shows_no_interrupt_has_a_hole),
		cmocka_unit_test(a_cpu_that_lets_threads_wait_has_a_hole),
		cmocka_unit_test(clock_bounds_are_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
