/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exits one by one, and who woke whom.
 */
#include "tests/unit/model_world.h"

#define VCPU0 "vm/cpu0/exit"
#define EXIT_IOIO 0x7b
#define USER_IO 2

/* "reason [user N] for machine/cpu", "?" for the row that says that nobody knows, "-" in guest
 * mode. */
static const char *exit_at(const char *path, ns_t t)
{
	static char text[4][96];
	static unsigned next;
	char *out = text[next++ % 4];
	uint32_t value = fake_at(path, t);
	int64_t serves, user;
	int n;

	if (value <= 1)
		return value ? "?" : "-";
	serves = fake_cell("exit", value - 1, "serves");
	user = fake_cell("exit", value - 1, "user_reason");
	n = snprintf(out, 96, "%d", (int)fake_cell("exit", value - 1, "reason"));
	if (user >= 0)
		n += snprintf(out + n, 96 - (size_t)n, " user %d", (int)user);
	if (serves)
		snprintf(out + n, 96 - (size_t)n, " for %s/%d",
			 fake_string("machine", fake_cell("cpu", serves - 1, "machine"), "name"),
			 (int)fake_cell("cpu", serves - 1, "cpu"));
	else
		snprintf(out + n, 96 - (size_t)n, " for a guest");
	return out;
}

#define assert_exit(path, t, words) assert_string_equal(exit_at(path, t), words)

static void an_exit_lasts_until_the_entry_wherever_its_thread_is(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	/* The interrupt is handled first; the exit begins with its event. */
	happens(HOST, 0, 120, VECTOR_ENTRY, 100, 236);
	happens(HOST, 0, 125, VECTOR_EXIT, 100, 236);
	exits(HOST, 0, 130, 100, EXIT_INTR);
	switches(HOST, 0, 140, 100, PREEMPTED, 5);
	switches(HOST, 1, 150, 0, 0, 100);
	enters(HOST, 1, 160, 100);
	exits(HOST, 1, 170, 100, EXIT_HLT);
	world_close(300);
	assert_exit(VCPU0, 110, "-");
	assert_exit(VCPU0, 129, "-");
	assert_exit(VCPU0, 130, "96 for vm/0");
	assert_exit(VCPU0, 159, "96 for vm/0");
	assert_exit(VCPU0, 160, "-");
	assert_exit(VCPU0, 299, "120 for vm/0");
}

/* An Intel CPU puts flags into the reason: here bit 26, of a bus lock. */
static void a_halt_with_a_flag_is_a_halt(void **state)
{
	const int64_t hlt = 12, bus_lock = INT64_C(1) << 26, isa_vmx = 1, isa_svm = 2;

	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	happens(HOST, 0, 120, KVM_EXIT, 100, hlt, 0, 0, isa_vmx);
	enters(HOST, 0, 130, 100);
	happens(HOST, 0, 140, KVM_EXIT, 100, hlt | bus_lock, 0, 0, isa_vmx);
	enters(HOST, 0, 150, 100);
	happens(HOST, 0, 160, KVM_EXIT, 100, 0x78 | bus_lock, 0, 0, isa_svm);
	world_close(200);
	assert_int_equal(fake_at("vm/cpu0/woken", 120), 0);
	assert_int_not_equal(fake_at("vm/cpu0/woken", 130), 0);
	assert_int_equal(fake_at("vm/cpu0/woken", 140), 0);
	assert_int_not_equal(fake_at("vm/cpu0/woken", 160), 0);
}

static void an_exit_may_go_on_in_user_space(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	happens(HOST, 0, 105, KVM_USERSPACE_EXIT, 100, USER_IO,
		0); /* of an exit before the trace */
	enters(HOST, 0, 110, 100);
	exits(HOST, 0, 120, 100, EXIT_IOIO);
	happens(HOST, 0, 130, KVM_USERSPACE_EXIT, 100, USER_IO, 0);
	enters(HOST, 0, 140, 100);
	world_close(300);
	assert_exit(VCPU0, 105, "-");
	assert_exit(VCPU0, 120, "123 for vm/0");
	assert_exit(VCPU0, 130, "123 user 2 for vm/0");
	assert_exit(VCPU0, 140, "-");
}

static void a_nested_exit_names_whose_it_is_at_each_level(void **state)
{
	(void)state;
	world_open(3);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 50);
	enters(VM, 0, 130, 50);
	exits(HOST, 0, 160, 100, EXIT_VMRUN);
	happens(HOST, 0, 170, KVM_NESTED_VMENTER, 100, 0, 0x10065000, 0, 0x101df000, SVM);
	enters(HOST, 0, 180, 100);
	switches(NESTED, 0, 190, 0, 0, 9);
	exits(HOST, 0, 220, 100, EXIT_MSR);
	happens(HOST, 0, 225, KVM_NESTED_VMEXIT, 100, EXIT_MSR);
	happens(HOST, 0, 230, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_MSR);
	enters(HOST, 0, 240, 100);
	exits(VM, 0, 250, 50, EXIT_MSR);
	enters(VM, 0, 260, 50);
	world_close(300);
	assert_exit(VCPU0, 160, "128 for vm/0");
	assert_exit(VCPU0, 220, "124 for nested/0");
	assert_exit(VCPU0, 240, "-");
	assert_exit("nested/cpu0/exit", 245, "-");
	assert_exit("nested/cpu0/exit", 250, "124 for nested/0");
	assert_exit("nested/cpu0/exit", 260, "-");
}

/* The VM in between has a trace, but in that nobody enters a guest. */
static void a_nested_exit_of_a_guest_that_nothing_tells_is_not_its_vms(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 50);
	exits(HOST, 0, 160, 100, EXIT_VMRUN);
	happens(HOST, 0, 170, KVM_NESTED_VMENTER, 100, 0, 0x10065000, 0, 0x101df000, SVM);
	enters(HOST, 0, 180, 100);
	exits(HOST, 0, 220, 100, EXIT_MSR);
	happens(HOST, 0, 225, KVM_NESTED_VMEXIT, 100, EXIT_MSR);
	happens(HOST, 0, 230, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_MSR);
	enters(HOST, 0, 240, 100);
	exits(HOST, 0, 250, 100, EXIT_MSR);
	world_close(300);
	assert_exit(VCPU0, 160, "128 for vm/0");
	assert_exit(VCPU0, 220, "124 for a guest");
	assert_exit(VCPU0, 250, "124 for vm/0");
	assert_int_equal(fake_cell("context", fake_at("host/cpu0/runs", 222) - 1, "serves"), 0);
	assert_true(fake_cell("context", fake_at("host/cpu0/runs", 252) - 1, "serves") > 0);
}

/* Only the host's own event tells that it was a nested guest's: nobody saw how that was entered. */
static void an_exit_turns_out_to_be_a_nested_guests(void **state)
{
	(void)state;
	world_open(3);
	switches(HOST, 0, 100, 0, 0, 100);
	switches(VM, 0, 105, 0, 0, 50);
	enters(VM, 0, 106, 50);
	enters(HOST, 0, 110, 100);
	exits(HOST, 0, 120, 100, EXIT_MSR);
	happens(HOST, 0, 125, KVM_NESTED_VMEXIT, 100, EXIT_MSR);
	enters(HOST, 0, 130, 100);
	world_close(300);
	assert_exit(VCPU0, 120, "124 for vm/0");
	assert_exit(VCPU0, 125, "124 for nested/0");
}

static void an_exit_within_lost_events_has_no_known_end(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	exits(HOST, 0, 120, 100, EXIT_MSR);
	happens(HOST, 0, 130, LOST, -1, 0, 125, 130);
	enters(HOST, 0, 140, 100);
	exits(HOST, 0, 150, 100, EXIT_MSR);
	world_close(300);
	assert_exit(VCPU0, 120, "124 for vm/0");
	assert_exit(VCPU0, 130, "?");
	assert_exit(VCPU0, 140, "-");
	assert_exit(VCPU0, 150, "124 for vm/0");
}

/* What the context says that woke the thread last, or "-". */
static const char *waker_at(unsigned machine, int tid, ns_t t)
{
	static char text[64];
	char path[64], waker[16] = "-";
	uint32_t row;
	int64_t th;

	snprintf(path, sizeof(path), "%s/threads/%d/waker", world_names[machine],
		 (int)thread_row(machine, tid));
	row = fake_at(path, t);
	if (!row)
		return "-";
	th = fake_cell("context", row - 1, "thread");
	if (th >= 0)
		snprintf(waker, sizeof(waker), "%d", (int)fake_cell("thread", th, "tid"));
	snprintf(text, sizeof(text), "cpu %d %s %s", (int)fake_cell("context", row - 1, "cpu"),
		 waker, world_modes[fake_cell("context", row - 1, "mode")]);
	return text;
}

static void a_wake_up_names_who_did_it(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 5);
	switches(HOST, 1, 101, 6, ASLEEP, 0);
	happens(HOST, 0, 110, SCHED_WAKING, 5, 6);
	happens(HOST, 1, 115, SCHED_WAKEUP, 0, 6); /* where it will run: not who */
	switches(HOST, 1, 120, 0, 0, 6);
	switches(HOST, 1, 130, 6, ASLEEP, 0);
	happens(HOST, 0, 140, IRQ_ENTRY, 5, 30);
	happens(HOST, 0, 145, SCHED_WAKING, 5, 6);
	happens(HOST, 0, 150, IRQ_EXIT, 5, 30);
	world_close(300);
	assert_string_equal(waker_at(HOST, 6, 109), "-");
	assert_string_equal(waker_at(HOST, 6, 110), "cpu 0 5 task");
	assert_string_equal(waker_at(HOST, 6, 139), "cpu 0 5 task");
	assert_string_equal(waker_at(HOST, 6, 145), "cpu 0 5 irq");
}

/* The event that says who was lost. */
static void who_woke_it_before_has_not_woken_it_again(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 5);
	switches(HOST, 1, 101, 6, ASLEEP, 0);
	happens(HOST, 0, 110, SCHED_WAKING, 5, 6);
	switches(HOST, 1, 120, 0, 0, 6);
	switches(HOST, 1, 130, 6, ASLEEP, 0);
	switches(HOST, 1, 140, 0, 0, 6);
	/* It is woken before it is gone. */
	happens(HOST, 0, 150, SCHED_WAKING, 5, 6);
	switches(HOST, 1, 151, 6, ASLEEP, 0);
	switches(HOST, 1, 160, 0, 0, 6);
	switches(HOST, 1, 170, 6, ASLEEP, 0);
	happens(HOST, 1, 180, SCHED_WAKEUP, 0, 6);
	world_close(300);
	assert_string_equal(waker_at(HOST, 6, 139), "cpu 0 5 task");
	assert_string_equal(waker_at(HOST, 6, 140), "-");
	assert_string_equal(waker_at(HOST, 6, 160), "cpu 0 5 task");
	assert_string_equal(waker_at(HOST, 6, 180), "-");
}

static void without_sched_waking_the_wakeup_tells(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 5);
	happens(HOST, 0, 110, SCHED_WAKEUP, 5, 6, 1);
	/* Another CPU may have queued them for this one. */
	happens(HOST, 0, 120, SCHED_WAKEUP, 5, 7, 0);
	world_close(300);
	assert_string_equal(waker_at(HOST, 6, 110), "cpu 0 5 task");
	assert_string_equal(waker_at(HOST, 7, 120), "-");
}

/* A guest's wake-up is its own kernel's, whatever runs on the physical CPU. */
static void a_guests_waker_is_its_own(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	switches(VM, 0, 120, 0, 0, 7);
	happens(VM, 0, 130, SCHED_WAKING, 7, 8);
	world_close(300);
	assert_string_equal(waker_at(VM, 8, 130), "cpu 0 7 task");
}

/* ---- milestones ---------------------------------------------------------------------------- */

static void exits_at(ns_t t, int thread, uint64_t address)
{
	happens(HOST, 0, t, KVM_EXIT, thread, EXIT_INTR, 0, (int64_t)address, SVM);
}

static void assert_milestone(unsigned row, const char *machine, const char *kind, ns_t since,
			     ns_t at)
{
	assert_string_equal(fake_string("machine", fake_cell("milestone", row, "machine"), "name"),
			    machine);
	assert_string_equal(fake_string("milestone", row, "kind"), kind);
	assert_int_equal(fake_cell("milestone", row, "since"), since);
	assert_int_equal(fake_cell("milestone", row, "at"), at);
}

/* A VM that starts: its code's addresses tell firmware, kernel and user space apart. */
static void a_start_has_milestones(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 90, 0, 0, 9);
	happens(HOST, 0, 95, FORK, 9, 9, 100, STR("CPU 0/KVM"), 9, 0);
	switches(HOST, 0, 100, 9, ASLEEP, 100);
	enters(HOST, 0, 110, 100);
	exits_at(120, 100, 0xfff0);
	enters(HOST, 0, 130, 100);
	exits_at(140, 100, 0x1001a4c); /* the kernel, where it was loaded */
	enters(HOST, 0, 150, 100);
	exits_at(160, 100, 0xffffffff81000010);
	enters(HOST, 0, 170, 100);
	exits_at(180, 100, 0x1001a5c);
	enters(HOST, 0, 190, 100);
	exits_at(200, 100, 0x7f0000001000);
	enters(HOST, 0, 210, 100);
	exits_at(220, 100, 0x401000);
	world_close(300);
	assert_int_equal(fake_rows("milestone"), 3);
	assert_milestone(0, "vm", "entry", 110, 110);
	assert_milestone(1, "vm", "kernel", 140, 160);
	assert_milestone(2, "vm", "user", 180, 200);
}

/* One that ran before the recording has had its milestones unseen. */
static void no_start_no_milestones(void **state)
{
	(void)state;
	world_open(2);
	switches(HOST, 0, 100, 0, 0, 100);
	enters(HOST, 0, 110, 100);
	exits_at(120, 100, 0xffffffff81000010);
	enters(HOST, 0, 130, 100);
	exits_at(140, 100, 0x7f0000001000);
	world_close(300);
	assert_int_equal(fake_rows("milestone"), 0);
}

static void init_executes(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 1);
	world.filename = "/sbin/init";
	happens(HOST, 0, 120, EXEC, 1, 1);
	happens(HOST, 0, 130, SCHED_SWITCH, 1, 1, 7, 0);
	happens(HOST, 0, 140, EXEC, 7, 7);
	world.filename = NULL;
	world_close(300);
	assert_int_equal(fake_rows("milestone"), 1);
	assert_milestone(0, "host", "init", 120, 120);
	assert_string_equal(fake_string("milestone", 0, "text"), "init");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_lasts_until_the_entry_wherever_its_thread_is),
		cmocka_unit_test(a_halt_with_a_flag_is_a_halt),
		cmocka_unit_test(an_exit_may_go_on_in_user_space),
		cmocka_unit_test(a_nested_exit_names_whose_it_is_at_each_level),
		cmocka_unit_test(a_nested_exit_of_a_guest_that_nothing_tells_is_not_its_vms),
		cmocka_unit_test(an_exit_turns_out_to_be_a_nested_guests),
		cmocka_unit_test(an_exit_within_lost_events_has_no_known_end),
		cmocka_unit_test(a_wake_up_names_who_did_it),
		cmocka_unit_test(who_woke_it_before_has_not_woken_it_again),
		cmocka_unit_test(without_sched_waking_the_wakeup_tells),
		cmocka_unit_test(a_guests_waker_is_its_own),
		cmocka_unit_test(a_start_has_milestones),
		cmocka_unit_test(no_start_no_milestones),
		cmocka_unit_test(init_executes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
