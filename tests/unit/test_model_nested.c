/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of nested vCPUs that nobody but the outermost host has recorded.  Thread 100 of the host
 * runs the only vCPU of a VM without a trace, which in turn runs nested ones.
 */
#include "tests/unit/model_world.h"

enum { VEC_TIMER = 236, VEC_DISK = 40, VEC_DEVICE = 50, MAIN = 10 };
enum { EXIT_VINTR = 0x64 };
#define INJECT 0x80000000u
#define V_IRQ 0x100
#define INNER 0x1000
#define OTHER 0x2000

static const char *const causes[NR_WAKE_CAUSES] = {"unknown", "timer", "disk", "network", "ipi",
						   "device",  "vmm",   "host", "none"};
static const char *const states[] = {"none", "unknown", "on", "ready", "waits", "gone"};

/* ---- what happens --------------------------------------------------------------------------- */

static void enters_nested(ns_t t, int64_t address, int64_t event_inj, int64_t int_ctl, int isa)
{
	exits(HOST, 0, t, 100, EXIT_VMRUN);
	happens(HOST, 0, t + 1, KVM_NESTED_VMENTER, 100, event_inj, address, int_ctl,
		0x77000 + address, isa);
	enters(HOST, 0, t + 2, 100);
}

static void nested_is_given(ns_t t, int64_t address, int vector)
{
	enters_nested(t, address, vector ? INJECT | vector : 0, 0, SVM);
}

/* The nested guest exits, and that is the VM's affair. */
static void leaves_nested(ns_t t, int reason)
{
	exits(HOST, 0, t, 100, reason);
	happens(HOST, 0, t + 1, KVM_NESTED_VMEXIT, 100, reason, 0);
	happens(HOST, 0, t + 2, KVM_NESTED_VMEXIT_INJECT, 100, reason, SVM);
	enters(HOST, 0, t + 3, 100);
}

static void outer_halts(ns_t t)
{
	exits(HOST, 0, t, 100, EXIT_HLT);
	switches(HOST, 0, t + 1, 100, ASLEEP, 0);
}

/* ... and goes on for its timer, */
static void outer_timer(ns_t t)
{
	happens_typed(
		HOST, 0, t,
		(struct event){.kind = EV_VECTOR_ENTRY, .type = TYPE_TIMER, .arg = {VEC_TIMER}});
	happens(HOST, 0, t + 1, SCHED_WAKING, 0, 100, 0);
	happens(HOST, 0, t + 2, VECTOR_EXIT, 0, VEC_TIMER);
	switches(HOST, 0, t + 3, 0, RUNNABLE, 100);
	happens(HOST, 0, t + 4, KVM_APIC_ACCEPT_IRQ, 100, 0, VEC_TIMER, 0);
	happens(HOST, 0, t + 5, KVM_INJ_VIRQ, 100, VEC_TIMER, 0);
	enters(HOST, 0, t + 6, 100);
}

/* ... or for its disk. */
static void outer_disk(ns_t t)
{
	switches(HOST, 1, t, 0, RUNNABLE, MAIN);
	happens(HOST, 1, t + 1, BLOCK_COMPLETE, MAIN, 0, 0);
	happens(HOST, 1, t + 1, KVM_APIC_ACCEPT_IRQ, MAIN, 0, VEC_DISK, 0);
	happens(HOST, 1, t + 2, SCHED_WAKING, MAIN, 100, 0);
	switches(HOST, 1, t + 3, MAIN, ASLEEP, 0);
	switches(HOST, 0, t + 4, 0, RUNNABLE, 100);
	happens(HOST, 0, t + 5, KVM_INJ_VIRQ, 100, VEC_DISK, 0);
	enters(HOST, 0, t + 6, 100);
}

static void given_more(ns_t t, int vector)
{
	exits(HOST, 0, t, 100, EXIT_INTR);
	happens(HOST, 0, t + 1, KVM_INJ_VIRQ, 100, vector, 0);
	enters(HOST, 0, t + 2, 100);
}

/* Thread 100 is of process MAIN: so what that one delivers is for its VM. */
static void open_world(void)
{
	world_open(1);
	/* Timer interrupts of the host have a name from here on. */
	happens_typed(
		HOST, 0, 1,
		(struct event){.kind = EV_VECTOR_ENTRY, .type = TYPE_TIMER, .arg = {VEC_TIMER}});
	happens(HOST, 0, 2, VECTOR_EXIT, 0, VEC_TIMER);
	happens(HOST, 1, 3, NEW_TASK, MAIN, 100, 0x10000);
	happens(HOST, 1, 3, FORK, MAIN, MAIN, 100, 0, MAIN);
	switches(HOST, 1, 4, MAIN, ASLEEP, 0);
	switches(HOST, 0, 5, 0, RUNNABLE, 100);
	happens(HOST, 0, 6, KVM_ENTRY, 100, 0);
	happens(HOST, 0, 7, KVM_EXIT, 100, EXIT_MSR, 0, 0, SVM);
	enters(HOST, 0, 8, 100);
}

/* A round of 100: the nested guest halts, its VM does, which goes on, and enters it. */
enum round { BY_TIMER, BY_DISK };

static void round_of(ns_t t, enum round by, int vector)
{
	leaves_nested(t, EXIT_HLT);
	outer_halts(t + 10);
	if (by == BY_TIMER)
		outer_timer(t + 20);
	else
		outer_disk(t + 20);
	nested_is_given(t + 30, INNER, vector);
}

static void rounds(ns_t t, unsigned nr, enum round by, int vector)
{
	for (unsigned i = 0; i < nr; i++)
		round_of(t + 100 * i, by, vector);
}

/* ---- what the result says -------------------------------------------------------------------- */

/* The row of table "cpu" of the nested vCPU at that address. */
static unsigned row_of(int64_t address)
{
	for (unsigned i = 0; i < fake_rows("cpu"); i++) {
		if (fake_cell("cpu", i, "nested_id") == address)
			return i;
	}
	FAKE_FAIL("no nested vCPU at %#llx", (long long)address);
	return 0;
}

static uint32_t nested_at(int64_t address, const char *attr, ns_t t)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", fake_string("cpu", row_of(address), "path"), attr);
	return fake_at(path, t);
}

static const char *state_at(int64_t address, ns_t t)
{
	return states[nested_at(address, "state", t)];
}

static const char *vector_of(int64_t address, int number)
{
	static char text[64];

	for (unsigned i = 0; i < fake_rows("vector"); i++) {
		if (fake_cell("vector", i, "vector") == number &&
		    fake_cell("vector", i, "cpu") == row_of(address)) {
			snprintf(text, sizeof(text), "%s %d/%d",
				 causes[fake_cell("vector", i, "cause")],
				 (int)fake_cell("vector", i, "agree"),
				 (int)fake_cell("vector", i, "times"));
			return text;
		}
	}
	return "-";
}

/* "vector, evidence" of the last wait's end; "-" while it lasts. */
static const char *woken(int64_t address, ns_t t)
{
	static char text[128];
	int64_t row = (int64_t)nested_at(address, "woken", t) - 1;

	if (row < 0)
		return "-";
	assert_int_equal(fake_cell("wake", row, "cpu"), row_of(address));
	assert_int_equal(fake_cell("wake", row, "cause"), WAKE_UNKNOWN); /* its vector's counts */
	snprintf(text, sizeof(text), "%d, %s", (int)fake_cell("wake", row, "vector"),
		 fake_string("wake", row, "evidence"));
	return text;
}

#define assert_state(t, words) assert_string_equal(state_at(INNER, t), words)
#define assert_woken(t, words) assert_string_equal(woken(INNER, t), words)
#define assert_vector(number, words) assert_string_equal(vector_of(INNER, number), words)
#define GAVE "its nested entry gave it the interrupt"

/* ---- the tests ------------------------------------------------------------------------------- */

static void it_waits_while_its_vm_does(void **state)
{
	(void)state;
	open_world();
	nested_is_given(100, INNER, 0);
	leaves_nested(200, EXIT_MSR);
	nested_is_given(210, INNER, 0);
	leaves_nested(300, EXIT_HLT);
	outer_halts(310);
	outer_timer(400); /* for something of the VM's own */
	outer_halts(420);
	outer_timer(500);
	nested_is_given(520, INNER, VEC_TIMER);
	world_close(700);
	assert_state(150, "on");
	assert_int_equal(nested_at(INNER, "on", 150), 1);
	assert_state(205, "unknown"); /* its exit is handled, or another thread of the VM runs */
	assert_state(250, "on");
	assert_state(305, "unknown"); /* its hypervisor polls, perhaps */
	assert_state(350, "waits");
	assert_int_equal(nested_at(INNER, "on", 350), 0);
	assert_state(410, "unknown");
	assert_state(450, "waits");
	assert_state(510, "unknown");
	assert_state(600, "on");
	assert_woken(450, "-");
	assert_woken(600, "236, " GAVE);
}

static void its_vectors_are_learned_from_what_its_vm_was_woken_for(void **state)
{
	(void)state;
	open_world();
	nested_is_given(100, INNER, 0);
	rounds(200, 3, BY_TIMER, VEC_TIMER);
	rounds(500, 3, BY_DISK, VEC_DEVICE);
	rounds(800, 2, BY_DISK, VEC_DEVICE + 1);
	world_close(1100);
	assert_vector(VEC_TIMER, "timer 3/3");
	assert_vector(VEC_DEVICE, "disk 3/3");
	assert_vector(VEC_DEVICE + 1, "unknown 2/2"); /* too seldom */
}

/* A program of the VM that sleeps for a while and then sends something looks just so. */
static void a_devices_vector_is_no_timers(void **state)
{
	(void)state;
	open_world();
	nested_is_given(100, INNER, 0);
	rounds(200, 5, BY_TIMER, VEC_DEVICE);
	rounds(700, 5, BY_DISK, VEC_TIMER);
	world_close(1300);
	assert_vector(VEC_DEVICE, "unknown 5/5");
	assert_vector(VEC_TIMER, "unknown 5/5");
}

static void what_disagrees_is_not_known(void **state)
{
	(void)state;
	open_world();
	nested_is_given(100, INNER, 0);
	rounds(200, 3, BY_DISK, VEC_DEVICE);
	rounds(500, 3, BY_TIMER, VEC_DEVICE);
	world_close(900);
	assert_vector(VEC_DEVICE, "unknown 3/6");
}

/* Only what can have been for the nested guest alone is learned from. */
static void what_may_be_for_another_teaches_nothing(void **state)
{
	(void)state;
	open_world();
	nested_is_given(100, INNER, 0);
	/* The VM was given a second interrupt. */
	leaves_nested(200, EXIT_HLT);
	outer_halts(210);
	outer_timer(220);
	given_more(230, VEC_DISK);
	nested_is_given(240, INNER, VEC_TIMER);
	/* It did not rest at all. */
	leaves_nested(300, EXIT_HLT);
	given_more(320, VEC_TIMER);
	nested_is_given(340, INNER, VEC_TIMER);
	/* It entered another nested guest first. */
	leaves_nested(400, EXIT_HLT);
	outer_halts(410);
	outer_timer(420);
	nested_is_given(430, OTHER, 0);
	leaves_nested(440, EXIT_MSR);
	nested_is_given(450, INNER, VEC_TIMER);
	world_close(600);
	assert_vector(VEC_TIMER, "-");
	assert_woken(260, "236, " GAVE);
	assert_woken(360, "236, " GAVE);
	assert_woken(470, "236, " GAVE);
}

static void enters_on_the_other(ns_t t, int64_t address, int64_t event_inj)
{
	exits(HOST, 1, t, 101, EXIT_VMRUN);
	happens(HOST, 1, t + 1, KVM_NESTED_VMENTER, 101, event_inj, address, 0, 0x77000 + address,
		SVM);
	enters(HOST, 1, t + 2, 101);
}

/* The VM's other vCPU had gone on before the nested guest halted: not for that one. */
static void what_came_before_its_halt_teaches_nothing(void **state)
{
	(void)state;
	open_world();
	happens(HOST, 1, 50, NEW_TASK, MAIN, 101, 0x10000);
	happens(HOST, 1, 51, FORK, MAIN, MAIN, 101, 0, MAIN);
	switches(HOST, 1, 52, MAIN, ASLEEP, 101);
	happens(HOST, 1, 53, KVM_ENTRY, 101, 1);
	happens(HOST, 1, 54, KVM_EXIT, 101, EXIT_MSR, 1, 0, SVM);
	enters(HOST, 1, 55, 101);
	nested_is_given(100, INNER, 0);
	enters_on_the_other(110, OTHER, 0);
	exits(HOST, 1, 120, 101, EXIT_MSR);
	happens(HOST, 1, 121, KVM_NESTED_VMEXIT_INJECT, 101, EXIT_MSR, SVM);
	enters(HOST, 1, 122, 101);
	exits(HOST, 1, 130, 101, EXIT_HLT);
	happens(HOST, 1, 140, KVM_APIC_ACCEPT_IRQ, 101, 1, VEC_TIMER, 0);
	happens(HOST, 1, 141, KVM_VCPU_WAKEUP, 101, 6, 0, 1);
	happens(HOST, 1, 142, KVM_INJ_VIRQ, 101, VEC_TIMER, 0);
	enters(HOST, 1, 143, 101);
	leaves_nested(200, EXIT_HLT);
	enters_on_the_other(250, INNER, INJECT | VEC_TIMER);
	world_close(400);
	assert_woken(300, "236, " GAVE);
	assert_state(300, "on");
	assert_int_equal(nested_at(INNER, "on", 300), 2);
	assert_vector(VEC_TIMER, "-");
}

/* AMD: it is entered only to be left when it can take the interrupt. */
static void an_interrupt_window_is_no_end(void **state)
{
	(void)state;
	open_world();
	nested_is_given(100, INNER, 0);
	leaves_nested(200, EXIT_HLT);
	outer_halts(210);
	outer_timer(220);
	enters_nested(240, INNER, 0, V_IRQ, SVM);
	/* An interrupt of the host's, in between. */
	exits(HOST, 0, 250, 100, EXIT_INTR);
	enters(HOST, 0, 251, 100);
	leaves_nested(260, EXIT_VINTR);
	nested_is_given(270, INNER, VEC_DEVICE);
	/* Here it runs after all. */
	leaves_nested(300, EXIT_HLT);
	outer_halts(310);
	outer_timer(320);
	enters_nested(340, INNER, 0, V_IRQ, SVM);
	exits(HOST, 0, 350, 100, EXIT_MSR);
	enters(HOST, 0, 351, 100);
	world_close(400);
	assert_woken(265, "-");
	assert_woken(280, "50, " GAVE);
	assert_woken(345, "-");
	assert_woken(360, "-1, its nested entry gave it no interrupt");
	assert_state(360, "on");
}

/* Intel: virtual interrupt delivery needs no injection.  Linux 6.13 on: the entry tells, too. */
static void other_ways_to_give_an_interrupt(void **state)
{
	(void)state;
	open_world();
	enters_nested(100, INNER, 0, 0, SVM);
	leaves_nested(200, EXIT_HLT);
	enters_nested(220, INNER, 0, VEC_TIMER, 1);
	leaves_nested(300, EXIT_HLT);
	exits(HOST, 0, 320, 100, EXIT_VMRUN);
	happens(HOST, 0, 321, KVM_NESTED_VMENTER, 100, 0, INNER, 0, 0, SVM);
	happens(HOST, 0, 322, KVM_ENTRY, 100, 0, 0, INJECT | VEC_DEVICE);
	leaves_nested(400, EXIT_HLT);
	/* An exception is no interrupt. */
	enters_nested(420, INNER, INJECT | 0x300 | 14, 0, SVM);
	world_close(500);
	assert_woken(240, "236, " GAVE);
	assert_woken(340, "50, " GAVE);
	assert_woken(440, "-1, its nested entry gave it no interrupt");
}

/* Older kernels' traces do not say what a VM is given: then what woke it must do. */
static void a_trace_without_injections(void **state)
{
	(void)state;
	open_world();
	nested_is_given(100, INNER, 0);
	for (ns_t t = 200; t < 500; t += 100) {
		leaves_nested(t, EXIT_HLT);
		outer_halts(t + 10);
		happens_typed(HOST, 0, t + 20,
			      (struct event){.kind = EV_VECTOR_ENTRY,
					     .type = TYPE_TIMER,
					     .arg = {VEC_TIMER}});
		happens(HOST, 0, t + 21, SCHED_WAKING, 0, 100, 0);
		happens(HOST, 0, t + 22, VECTOR_EXIT, 0, VEC_TIMER);
		switches(HOST, 0, t + 23, 0, RUNNABLE, 100);
		enters(HOST, 0, t + 24, 100);
		nested_is_given(t + 30, INNER, VEC_TIMER);
	}
	world_close(600);
	assert_vector(VEC_TIMER, "timer 3/3");
}

static void what_was_lost_is_not_known(void **state)
{
	(void)state;
	open_world();
	nested_is_given(100, INNER, 0);
	leaves_nested(200, EXIT_HLT);
	outer_halts(210);
	happens(HOST, 0, 250, LOST, -1, 5, 215, 250);
	happens(HOST, 1, 251, LOST, -1, 5, 215, 251);
	switches(HOST, 0, 260, 0, RUNNABLE, 100);
	enters(HOST, 0, 270, 100);
	nested_is_given(300, INNER, VEC_TIMER);
	world_close(500);
	assert_state(230, "waits");
	assert_state(280, "unknown");
	assert_state(320, "on");
	assert_woken(249, "-");
	assert_woken(260, "-1, " WAKE_LOST_TEXT);
	assert_vector(VEC_TIMER, "-");
}

static void while_another_vcpu_of_its_vm_goes_on_it_may_run_there(void **state)
{
	(void)state;
	open_world();
	happens(HOST, 1, 50, NEW_TASK, MAIN, 101, 0x10000);
	happens(HOST, 1, 50, FORK, MAIN, MAIN, 101, 0, MAIN);
	switches(HOST, 1, 51, MAIN, ASLEEP, 101);
	enters(HOST, 1, 60, 101);
	nested_is_given(100, INNER, 0);
	leaves_nested(200, EXIT_HLT);
	outer_halts(210);
	exits(HOST, 1, 300, 101, EXIT_HLT);
	enters(HOST, 1, 400, 101);
	world_close(500);
	assert_state(250, "unknown");
	assert_state(350, "waits");
	assert_state(450, "unknown");
}

/* The outer vCPU polls on a CPU that is seen. */
static void while_another_vcpu_of_its_vm_is_lost_it_may_run_there(void **state)
{
	(void)state;
	open_world();
	happens(HOST, 1, 50, NEW_TASK, MAIN, 101, 0x10000);
	happens(HOST, 1, 50, FORK, MAIN, MAIN, 101, 0, MAIN);
	switches(HOST, 1, 51, MAIN, ASLEEP, 101);
	enters(HOST, 1, 60, 101);
	nested_is_given(100, INNER, 0);
	leaves_nested(200, EXIT_HLT);
	exits(HOST, 0, 210, 100, EXIT_HLT);
	exits(HOST, 1, 300, 101, EXIT_HLT);
	happens(HOST, 1, 400, LOST, -1, 5, 350, 400);
	world_close(500);
	assert_state(250, "unknown");
	assert_state(340, "waits");
	assert_state(450, "unknown");
}

/* Its process is not known. */
static void a_vcpu_that_may_be_its_vms_counts_as_one(void **state)
{
	(void)state;
	open_world();
	nested_is_given(100, INNER, 0);
	leaves_nested(200, EXIT_HLT);
	outer_halts(210);
	switches(HOST, 1, 300, 0, RUNNABLE, 301);
	happens(HOST, 1, 310, KVM_ENTRY, 301, 1);
	world_close(500);
	assert_state(250, "waits");
	assert_state(350, "unknown");
}

/* More than are followed: nothing breaks, and each is still told of by its own entries. */
static void many_nested_vcpus(void **state)
{
	(void)state;
	open_world();
	for (ns_t i = 0; i < 40; i++) {
		nested_is_given(100 + 20 * i, INNER * (1 + i), 0);
		leaves_nested(110 + 20 * i, EXIT_HLT);
	}
	outer_halts(1000);
	outer_timer(1010);
	for (ns_t i = 0; i < 40; i++) {
		nested_is_given(1100 + 20 * i, INNER * (1 + i), VEC_TIMER);
		leaves_nested(1110 + 20 * i, EXIT_MSR);
	}
	world_close(2000);
	for (int64_t i = 0; i < 40; i++) {
		/* So many are followed. */
		assert_string_equal(state_at(INNER * (1 + i), 1001), i < 16 ? "waits" : "unknown");
		assert_string_equal(woken(INNER * (1 + i), 1950), "236, " GAVE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_while_its_vm_does),
		cmocka_unit_test(its_vectors_are_learned_from_what_its_vm_was_woken_for),
		cmocka_unit_test(a_devices_vector_is_no_timers),
		cmocka_unit_test(what_disagrees_is_not_known),
		cmocka_unit_test(what_may_be_for_another_teaches_nothing),
		cmocka_unit_test(what_came_before_its_halt_teaches_nothing),
		cmocka_unit_test(an_interrupt_window_is_no_end),
		cmocka_unit_test(other_ways_to_give_an_interrupt),
		cmocka_unit_test(a_trace_without_injections),
		cmocka_unit_test(what_was_lost_is_not_known),
		cmocka_unit_test(many_nested_vcpus),
		cmocka_unit_test(while_another_vcpu_of_its_vm_goes_on_it_may_run_there),
		cmocka_unit_test(while_another_vcpu_of_its_vm_is_lost_it_may_run_there),
		cmocka_unit_test(a_vcpu_that_may_be_its_vms_counts_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
