/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ends the waits of vCPUs, what vectors mean, and why a vCPU's thread loses its CPU.
 *
 * Threads of the host: 100 and 101 run vm's CPUs, 10 is the VMM's main thread and 11 another of its
 * threads, 20 belongs to nobody.
 */
#include "tests/unit/model_world.h"

enum { MAIN = 10, WORKER = 11, OTHER = 20 };
enum { VEC_DISK = 40, VEC_TIMER = 236, VEC_RESCHEDULE = 253 };
enum { SOFTIRQ_NET_RX = 3, DM_NMI = 0x400, DM_REMOTE_READ = 0x300 };
#define USER_MMIO 6

static const char *const causes[NR_WAKE_CAUSES] = {"unknown", "timer", "disk", "network", "ipi",
						   "device",  "vmm",   "host", "none"};

/* "cause [vector N] [from N] [by N]" of the last wait's end; "-" while it lasts. */
static const char *woken(int vcpu, ns_t t)
{
	static char text[4][96];
	static unsigned next;
	char *out = text[next++ % 4];
	int64_t row = (int64_t)vcpu_at("vm", vcpu, "woken", t) - 1, vector, from, by;
	int n;

	if (row < 0)
		return "-";
	assert_int_equal(fake_cell("cpu", fake_cell("wake", row, "cpu"), "cpu"), vcpu);
	vector = fake_cell("wake", row, "vector");
	from = fake_cell("wake", row, "from_cpu");
	by = fake_cell("wake", row, "by");
	n = snprintf(out, 96, "%s", causes[fake_cell("wake", row, "cause")]);
	if (vector >= 0)
		n += snprintf(out + n, 96 - (size_t)n, " vector %d", (int)vector);
	if (from)
		n += snprintf(out + n, 96 - (size_t)n, " from %d",
			      (int)fake_cell("cpu", from - 1, "cpu"));
	if (by >= 0)
		snprintf(out + n, 96 - (size_t)n, " by %d", (int)fake_cell("thread", by, "tid"));
	return out;
}

#define assert_woken(vcpu, t, words) assert_string_equal(woken(vcpu, t), words)

/* "cause irq agree/times" of a vector. */
static const char *vector(int vcpu, int number)
{
	static char text[96];

	for (unsigned i = 0; i < fake_rows("vector"); i++) {
		if (fake_cell("vector", i, "vector") != number ||
		    fake_cell("cpu", fake_cell("vector", i, "cpu"), "cpu") != vcpu)
			continue;
		snprintf(text, sizeof(text), "%s '%s' %d/%d",
			 causes[fake_cell("vector", i, "cause")], fake_string("vector", i, "irq"),
			 (int)fake_cell("vector", i, "agree"),
			 (int)fake_cell("vector", i, "times"));
		return text;
	}
	return "-";
}

static const char *vector_evidence(int number)
{
	for (unsigned i = 0; i < fake_rows("vector"); i++) {
		if (fake_cell("vector", i, "vector") == number)
			return fake_string("vector", i, "evidence");
	}
	return "-";
}

/* ---- what happens --------------------------------------------------------------------------- */

static void delivers(int cpu, ns_t t, int thread, int vcpu, int vec, int mode)
{
	happens(HOST, cpu, t, KVM_APIC_ACCEPT_IRQ, thread, vcpu, vec, mode);
}

static void wakes(int cpu, ns_t t, int waker, int woken_tid)
{
	happens(HOST, cpu, t, SCHED_WAKING, waker, woken_tid, cpu);
}

static void timer_interrupt(unsigned machine, int cpu, ns_t t, int thread)
{
	happens_typed(machine, cpu, t,
		      (struct event){.kind = EV_VECTOR_ENTRY,
				     .type = TYPE_TIMER,
				     .tid = thread,
				     .arg = {VEC_TIMER}});
}

static void timer_interrupt_ends(unsigned machine, int cpu, ns_t t, int thread)
{
	happens(machine, cpu, t, VECTOR_EXIT, thread, VEC_TIMER);
}

/* vCPU 0 halts on CPU 0 at @t, and its thread has left the CPU at @t + 10. */
static void halts(ns_t t)
{
	enters(HOST, 0, t - 5, 100);
	exits(HOST, 0, t, 100, EXIT_HLT);
	switches(HOST, 0, t + 10, 100, ASLEEP, 0);
}

/* It has been woken, and goes on: at @t + 10 in its guest. */
static void goes_on(ns_t t)
{
	switches(HOST, 0, t, 0, RUNNABLE, 100);
	happens(HOST, 0, t + 5, KVM_VCPU_WAKEUP, 100, 50, 1, 1);
	enters(HOST, 0, t + 10, 100);
}

/* The VMM's two threads are of one process: their maker's. */
static void open_world(void)
{
	world_open(2);
	happens(HOST, 1, 1, FORK, 1, 1, MAIN, STR("qemu"), MAIN);
	happens(HOST, 1, 2, FORK, MAIN, MAIN, WORKER, STR("worker"), MAIN);
	happens(HOST, 1, 3, FORK, MAIN, MAIN, 100, STR("CPU 0/KVM"), MAIN);
	happens(HOST, 1, 4, FORK, MAIN, MAIN, 101, STR("CPU 1/KVM"), MAIN);
	switches(HOST, 0, 10, 0, RUNNABLE, 100);
	switches(HOST, 1, 11, 1, ASLEEP, 0);
}

/* ---- causes --------------------------------------------------------------------------------- */

static void a_timer_is_delivered_by_the_vcpu_itself(void **state)
{
	(void)state;
	open_world();
	halts(100);
	timer_interrupt(HOST, 0, 200, 0);
	wakes(0, 201, 0, 100);
	timer_interrupt_ends(HOST, 0, 202, 0);
	switches(HOST, 0, 210, 0, RUNNABLE, 100);
	happens(HOST, 0, 211, KVM_VCPU_WAKEUP, 100, 50, 1, 1);
	delivers(0, 212, 100, 0, VEC_TIMER, 0);
	happens(HOST, 0, 213, KVM_INJ_VIRQ, 100, VEC_TIMER, 0);
	enters(HOST, 0, 220, 100);
	world_close(300);
	assert_woken(0, 100, "-");
	assert_woken(0, 219, "-");
	assert_woken(0, 220, "timer vector 236");
	assert_string_equal(vector(0, VEC_TIMER), "timer '' 1/1");
}

/* Somebody on the other CPU may have delivered what ended its polling, before its timer did. */
static void who_polls_may_be_given_what_is_not_seen(void **state)
{
	(void)state;
	open_world();
	for (ns_t t = 100; t <= 300; t += 200) {
		enters(HOST, 0, t - 5, 100);
		exits(HOST, 0, t, 100, EXIT_HLT);
		happens(HOST, 1, t + 50, LOST, -1, 5, t + 30, t + 50);
		if (t > 200)
			happens(HOST, 1, t + 60, SCHED_SWITCH, 0, 0, 0, MAIN);
		happens(HOST, 0, t + 70, KVM_VCPU_WAKEUP, 100, 50, 1, 1);
		delivers(0, t + 72, 100, 0, VEC_TIMER, 0);
		happens(HOST, 0, t + 73, KVM_INJ_VIRQ, 100, VEC_TIMER, 0);
		enters(HOST, 0, t + 80, 100);
	}
	world_close(500);
	assert_woken(0, 190, "unknown");
	assert_woken(0, 390, "unknown");
}

static void a_vcpu_that_is_gone_waits_for_nothing(void **state)
{
	(void)state;
	open_world();
	halts(100);
	timer_interrupt(HOST, 0, 120, 0);
	wakes(0, 121, 0, 100);
	timer_interrupt_ends(HOST, 0, 122, 0);
	goes_on(130);
	exits(HOST, 0, 150, 100, EXIT_INTR);
	happens(HOST, 0, 160, EXIT, 100, 100, 0, STR("CPU 0/KVM"));
	switches(HOST, 0, 170, 100, 0x40, 0);
	world_close(300);
	assert_woken(0, 140, "timer");
	assert_woken(0, 180, "timer");
}

/* It sleeps, is woken to be killed, and never goes on. */
static void a_wait_ends_with_its_thread(void **state)
{
	(void)state;
	open_world();
	halts(100);
	timer_interrupt(HOST, 0, 200, 0);
	wakes(0, 201, 0, 100);
	timer_interrupt_ends(HOST, 0, 202, 0);
	switches(HOST, 0, 210, 0, RUNNABLE, 100);
	happens(HOST, 0, 220, EXIT, 100, 100, 0, STR("CPU 0/KVM"));
	switches(HOST, 0, 230, 100, 0x10, 0);
	world_close(300);
	assert_woken(0, 229, "-");
	assert_woken(0, 230, "unknown");
	assert_string_equal(
		fake_string("wake", (int64_t)vcpu_at("vm", 0, "woken", 230) - 1, "evidence"),
		"it waited until its thread exited");
	assert_int_equal(fake_cell("wake", (int64_t)vcpu_at("vm", 0, "woken", 230) - 1, "lost"), 1);
}

/* It polls, and finds its timer expired when it goes on: what for may be lost with the other CPU's
 * events. */
static void an_own_timer_may_be_late(void **state)
{
	(void)state;
	for (unsigned lost = 0; lost < 2; lost++) {
		open_world();
		enters(HOST, 0, 95, 100);
		exits(HOST, 0, 100, 100, EXIT_HLT);
		if (lost)
			happens(HOST, 1, 150, LOST, -1, 5, 130, 150);
		happens(HOST, 0, 211, KVM_VCPU_WAKEUP, 100, 50, 1, 1);
		delivers(0, 212, 100, 0, VEC_TIMER, 0);
		happens(HOST, 0, 213, KVM_INJ_VIRQ, 100, VEC_TIMER, 0);
		enters(HOST, 0, 220, 100);
		world_close(300);
		assert_woken(0, 219, "-");
		assert_woken(0, 220, lost ? "unknown" : "timer vector 236");
	}
}

/* A vCPU of which it is not known whose VM it is part of sends an interrupt to vCPU @to of it. vm's
 * vCPU 0 polls meanwhile, and then finds its timer expired. */
static const char *polls_beside_an_ipi(int64_t to, bool of_another_process)
{
	open_world();
	if (of_another_process)
		happens(HOST, 1, 13, FORK, 1, 1, 300, STR("CPU 1/KVM"), 300);
	switches(HOST, 1, 80, 0, RUNNABLE, 300);
	happens(HOST, 1, 85, KVM_ENTRY, 300, 1);
	enters(HOST, 0, 95, 100);
	exits(HOST, 0, 100, 100, EXIT_HLT);
	happens(HOST, 1, 110, KVM_EXIT, 300, EXIT_INTR, 1, 0, SVM);
	delivers(1, 112, 300, (int)to, VEC_RESCHEDULE, 0);
	happens(HOST, 1, 115, KVM_ENTRY, 300, 1);
	happens(HOST, 0, 211, KVM_VCPU_WAKEUP, 100, 50, 1, 1);
	delivers(0, 212, 100, 0, VEC_TIMER, 0);
	happens(HOST, 0, 213, KVM_INJ_VIRQ, 100, VEC_RESCHEDULE, 0);
	enters(HOST, 0, 220, 100);
	world_close(300);
	return woken(0, 220);
}

static void who_polls_may_be_sent_what_seems_to_be_for_another_vm(void **state)
{
	(void)state;
	assert_string_equal(polls_beside_an_ipi(0, false), "unknown");
	assert_string_equal(polls_beside_an_ipi(2, false), "timer vector 236");
	assert_string_equal(polls_beside_an_ipi(0, true), "timer vector 236");
}

/* How it ended was lost; what comes later did not end it. */
static void a_wait_is_over_where_events_were_lost(void **state)
{
	(void)state;
	open_world();
	halts(100);
	happens(HOST, 0, 150, LOST, -1, 5, 130, 150);
	switches(HOST, 0, 160, 0, RUNNABLE, 100);
	exits(HOST, 0, 170, 100, EXIT_INTR);
	happens(HOST, 0, 175, KVM_INJ_VIRQ, 100, VEC_DISK, 0);
	enters(HOST, 0, 180, 100);
	halts(200);
	timer_interrupt(HOST, 0, 220, 0);
	wakes(0, 221, 0, 100);
	timer_interrupt_ends(HOST, 0, 222, 0);
	goes_on(230);
	world_close(300);
	assert_woken(0, 149, "-");
	assert_woken(0, 150, "unknown");
	assert_string_equal(
		fake_string("wake", (int64_t)vcpu_at("vm", 0, "woken", 150) - 1, "evidence"),
		WAKE_LOST_TEXT);
	assert_int_equal(fake_cell("wake", (int64_t)vcpu_at("vm", 0, "woken", 150) - 1, "lost"), 1);
	assert_woken(0, 199, "unknown");
	assert_woken(0, 200, "-");
	assert_woken(0, 240, "timer");
	assert_int_equal(fake_cell("wake", (int64_t)vcpu_at("vm", 0, "woken", 240) - 1, "lost"), 0);
}

/* It may have run on the other CPU, and have halted again there. */
static void a_loss_elsewhere_ends_a_wait(void **state)
{
	(void)state;
	open_world();
	halts(100);
	happens(HOST, 1, 150, LOST, -1, 5, 130, 150);
	switches(HOST, 0, 210, 0, RUNNABLE, 100);
	enters(HOST, 0, 220, 100);
	world_close(300);
	assert_woken(0, 149, "-");
	assert_woken(0, 150, "unknown");
	assert_woken(0, 299, "unknown");
}

static void who_woke_it_after_a_loss_did(void **state)
{
	(void)state;
	open_world();
	halts(100);
	happens(HOST, 1, 150, LOST, -1, 5, 130, 150);
	timer_interrupt(HOST, 0, 200, 0);
	wakes(0, 201, 0, 100);
	timer_interrupt_ends(HOST, 0, 202, 0);
	goes_on(210);
	/* And here only its entry is lost. */
	halts(300);
	timer_interrupt(HOST, 0, 320, 0);
	wakes(0, 321, 0, 100);
	timer_interrupt_ends(HOST, 0, 322, 0);
	happens(HOST, 0, 350, LOST, -1, 5, 330, 350);
	world_close(400);
	assert_woken(0, 150, "unknown");
	assert_woken(0, 219, "-");
	assert_woken(0, 220, "timer");
	assert_woken(0, 349, "-");
	assert_woken(0, 350, "timer");
}

/* When its rest began was lost, but who ended it was not: what that one delivers, it delivers just
 * before. */
static void who_ends_a_rest_that_began_unseen_is_seen(void **state)
{
	(void)state;
	open_world();
	halts(100);
	happens(HOST, 1, 150, LOST, -1, 5, 130, 150);
	switches(HOST, 1, 160, 0, RUNNABLE, MAIN);
	delivers(1, 200, MAIN, 0, VEC_DISK, 0);
	wakes(1, 201, MAIN, 100);
	goes_on(210);
	world_close(300);
	assert_woken(0, 200, "unknown");
	assert_woken(0, 201, "-");
	assert_woken(0, 220, "device vector 40 by 10");
}

/* KVM puts a vCPU back to sleep within one halt: what woke it first came before it was seen to fall
 * asleep, unless KVM says that the halt began later than what was lost. */
static void who_falls_asleep_again_may_have_been_woken_before(void **state)
{
	static const struct {
		int64_t ns;
		bool in_cycles; /* times: how long it halted in these is not known */
		const char *woken;
	} cases[] = {{111, false, "unknown"},
		     {51, false, "device vector 40 by 10"},
		     {51, true, "unknown"}};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		open_world();
		world.topo.ticks_are_ns = !cases[i].in_cycles;
		switches(HOST, 1, 50, 0, RUNNABLE, MAIN);
		enters(HOST, 0, 95, 100);
		exits(HOST, 0, 100, 100, EXIT_HLT);
		happens(HOST, 0, 150, LOST, -1, 5, 130, 150);
		switches(HOST, 0, 160, 100, ASLEEP, 0);
		delivers(1, 200, MAIN, 0, VEC_DISK, 0);
		wakes(1, 201, MAIN, 100);
		switches(HOST, 0, 210, 0, RUNNABLE, 100);
		happens(HOST, 0, 211, KVM_VCPU_WAKEUP, 100, cases[i].ns, 1, 1);
		enters(HOST, 0, 220, 100);
		world_close(300);
		assert_woken(0, 219, "-");
		assert_woken(0, 220, cases[i].woken);
	}
}

/* It is woken without an interrupt.  Whether it had halted was lost: it may have been its host's
 * own affair. */
static void why_it_rested_may_be_lost(void **state)
{
	(void)state;
	open_world();
	delivers(1, 50, MAIN, 1, VEC_DISK, 0);
	halts(100);
	happens(HOST, 1, 150, LOST, -1, 5, 130, 150);
	switches(HOST, 1, 160, 0, RUNNABLE, OTHER);
	wakes(1, 201, OTHER, 100);
	switches(HOST, 0, 210, 0, RUNNABLE, 100);
	enters(HOST, 0, 220, 100);
	halts(300);
	switches(HOST, 1, 350, OTHER, RUNNABLE, MAIN);
	wakes(1, 351, MAIN, 100);
	goes_on(360);
	world_close(400);
	assert_woken(0, 220, "unknown by 20");
	assert_woken(0, 370, "vmm by 10");
}

/* On CPU 1 a thread begins to deliver an interrupt, and has not woken the vCPU yet when CPU 0's
 * timer does. */
static void who_is_late_has_not_woken_it(void **state)
{
	(void)state;
	open_world();
	switches(HOST, 1, 50, 0, RUNNABLE, WORKER);
	halts(100);
	delivers(1, 190, WORKER, 0, VEC_DISK, 0);
	timer_interrupt(HOST, 0, 200, 0);
	wakes(0, 201, 0, 100);
	timer_interrupt_ends(HOST, 0, 202, 0);
	switches(HOST, 0, 210, 0, RUNNABLE, 100);
	happens(HOST, 0, 211, KVM_VCPU_WAKEUP, 100, 50, 1, 1);
	delivers(0, 212, 100, 0, VEC_TIMER, 0);
	happens(HOST, 0, 213, KVM_INJ_VIRQ, 100, VEC_TIMER, 0);
	enters(HOST, 0, 220, 100);
	world_close(300);
	assert_woken(0, 220, "timer vector 236");
}

/* No rest begins where a vCPU's thread ends. */
static void who_is_gone_waits_for_nothing(void **state)
{
	(void)state;
	open_world();
	halts(100);
	timer_interrupt(HOST, 0, 200, 0);
	wakes(0, 201, 0, 100);
	timer_interrupt_ends(HOST, 0, 202, 0);
	switches(HOST, 0, 210, 0, RUNNABLE, 100);
	delivers(0, 212, 100, 0, VEC_TIMER, 0);
	happens(HOST, 0, 213, KVM_INJ_VIRQ, 100, VEC_TIMER, 0);
	enters(HOST, 0, 220, 100);
	switches(HOST, 0, 230, 100, 0x10, 0);
	world_close(300);
	assert_woken(0, 220, "timer vector 236");
	assert_woken(0, 250, "timer vector 236");
}

/* What comes after the wake-up has not ended the wait. */
static void the_first_cause_counts(void **state)
{
	(void)state;
	open_world();
	halts(100);
	timer_interrupt(HOST, 0, 200, 0);
	wakes(0, 201, 0, 100);
	timer_interrupt_ends(HOST, 0, 202, 0);
	switches(HOST, 1, 203, 0, RUNNABLE, MAIN);
	happens(HOST, 1, 204, KVM_MSI_SET_IRQ, MAIN);
	delivers(1, 205, MAIN, 0, VEC_DISK, 0);
	goes_on(210);
	world_close(300);
	assert_woken(0, 220, "timer");
}

static void an_ipi_names_its_sender(void **state)
{
	(void)state;
	open_world();
	halts(100);
	switches(HOST, 1, 110, 0, RUNNABLE, 101);
	enters(HOST, 1, 111, 101);
	exits(HOST, 1, 120, 101, EXIT_MSR);
	happens(HOST, 1, 121, KVM_APIC_IPI, 101, VEC_RESCHEDULE, 0);
	delivers(1, 122, 101, 0, VEC_RESCHEDULE, 0);
	wakes(1, 123, 101, 100);
	goes_on(130);
	halts(200);
	exits(HOST, 1, 210, 101, EXIT_VMMCALL);
	delivers(1, 211, 101, 0, 0, DM_REMOTE_READ);
	wakes(1, 212, 101, 100);
	goes_on(220);
	world_close(300);
	assert_woken(0, 140, "ipi vector 253 from 1 by 101");
	assert_woken(0, 230, "ipi from 1 by 101");
}

/* A vCPU's thread in the VMM's user space plays a device, whatever its own guest sent before. */
static void a_vcpu_that_plays_a_device_sends_no_ipi(void **state)
{
	(void)state;
	open_world();
	halts(100);
	switches(HOST, 1, 110, 0, RUNNABLE, 101);
	enters(HOST, 1, 111, 101);
	exits(HOST, 1, 120, 101, 0x400);
	happens(HOST, 1, 121, KVM_USERSPACE_EXIT, 101, USER_MMIO, 0);
	happens(HOST, 1, 122, KVM_SET_IRQ, 101);
	delivers(1, 123, 101, 0, 37, 0);
	wakes(1, 124, 101, 100);
	goes_on(130);
	world_close(300);
	assert_woken(0, 140, "device vector 37 by 101");
}

/* A vCPU's thread passes on what a device sends, and later what its guest does. */
static void an_interrupt_that_is_routed_is_no_ipi(void **state)
{
	(void)state;
	open_world();
	halts(100);
	switches(HOST, 1, 110, 0, RUNNABLE, 101);
	enters(HOST, 1, 111, 101);
	exits(HOST, 1, 120, 101, EXIT_MSR);
	happens(HOST, 1, 121, KVM_MSI_SET_IRQ, 101);
	delivers(1, 122, 101, 0, 37, 0);
	wakes(1, 123, 101, 100);
	goes_on(130);
	halts(200);
	happens(HOST, 1, 210, KVM_APIC_IPI, 101, VEC_RESCHEDULE, 0);
	delivers(1, 211, 101, 0, VEC_RESCHEDULE, 0);
	wakes(1, 212, 101, 100);
	goes_on(220);
	world_close(300);
	assert_woken(0, 140, "device vector 37 by 101");
	assert_woken(0, 230, "ipi vector 253 from 1 by 101");
}

/* It slept for a lock of the VMM's, and then sent the interrupt of a device that it plays: that is
 * no timer of its own. */
static void an_interrupt_that_a_vcpu_sends_itself_is_no_timer(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 20, 100);
	exits(HOST, 0, 90, 100, 0x400);
	happens(HOST, 0, 95, KVM_USERSPACE_EXIT, 100, USER_MMIO, 0);
	switches(HOST, 0, 100, 100, ASLEEP, 0);
	wakes(1, 150, 0, 100);
	switches(HOST, 0, 160, 0, RUNNABLE, 100);
	happens(HOST, 0, 170, KVM_SET_IRQ, 100);
	delivers(0, 171, 100, 0, 37, 0);
	enters(HOST, 0, 180, 100);
	world_close(300);
	assert_woken(0, 190, "host");
	assert_string_equal(vector(0, 37), "-");
}

/* A block device of the host ends a request: its handler wakes the worker, the worker the main
 * thread, and that one sends the interrupt. */
static void disk(ns_t t)
{
	happens(HOST, 1, t, IRQ_ENTRY, 0, 33);
	happens(HOST, 1, t + 1, BLOCK_COMPLETE, 0);
	wakes(1, t + 2, 0, WORKER);
	happens(HOST, 1, t + 3, IRQ_EXIT, 0, 33);
	switches(HOST, 1, t + 4, 0, RUNNABLE, WORKER);
	wakes(1, t + 5, WORKER, MAIN);
	switches(HOST, 1, t + 6, WORKER, ASLEEP, MAIN);
	happens(HOST, 1, t + 7, KVM_MSI_SET_IRQ, MAIN);
	delivers(1, t + 8, MAIN, 0, VEC_DISK, 0);
}

static void a_disk_is_known_by_what_led_to_its_interrupt(void **state)
{
	(void)state;
	open_world();
	halts(100);
	disk(110);
	wakes(1, 120, MAIN, 100);
	goes_on(130);
	world_close(300);
	assert_woken(0, 140, "disk vector 40 by 10");
	assert_string_equal(vector(0, VEC_DISK), "disk '' 1/1");
	assert_string_equal(vector_evidence(VEC_DISK),
			    "what came before the interrupts in its host");
}

/* Served from memory, no request ends; but who works for the main thread works on disks. */
static void a_pool_of_threads_is_weaker_evidence_for_a_disk(void **state)
{
	(void)state;
	open_world();
	halts(100);
	switches(HOST, 1, 110, 0, RUNNABLE, WORKER);
	wakes(1, 111, WORKER, MAIN);
	switches(HOST, 1, 112, WORKER, ASLEEP, MAIN);
	delivers(1, 113, MAIN, 0, VEC_DISK, 0);
	wakes(1, 114, MAIN, 100);
	goes_on(130);
	world_close(300);
	assert_woken(0, 140, "disk vector 40 by 10");
	assert_string_equal(vector_evidence(VEC_DISK),
			    "what a thread of the VMM's pool did before the interrupts");
}

static void the_network_is_known_by_packets(void **state)
{
	(void)state;
	open_world();
	halts(100);
	happens(HOST, 1, 110, SOFTIRQ_ENTRY, 0, SOFTIRQ_NET_RX);
	wakes(1, 111, 0, MAIN);
	happens(HOST, 1, 112, SOFTIRQ_EXIT, 0, SOFTIRQ_NET_RX);
	switches(HOST, 1, 113, 0, RUNNABLE, MAIN);
	delivers(1, 114, MAIN, 0, 42, 0);
	wakes(1, 115, MAIN, 100);
	goes_on(130);
	/* Sent from a process of the host, without a soft interrupt. */
	halts(200);
	switches(HOST, 1, 211, MAIN, ASLEEP, OTHER);
	happens(HOST, 1, 212, NET_XMIT, OTHER);
	wakes(1, 213, OTHER, MAIN);
	switches(HOST, 1, 214, OTHER, ASLEEP, MAIN);
	delivers(1, 215, MAIN, 0, 42, 0);
	wakes(1, 216, MAIN, 100);
	goes_on(220);
	world_close(300);
	assert_woken(0, 140, "network vector 42 by 10");
	assert_woken(0, 230, "network vector 42 by 10");
	assert_string_equal(vector(0, 42), "network '' 2/2");
}

/* Before Linux 6.4 a vhost worker is a kernel thread, which only its name ties to the VMM.  The
 * vCPU polls: nobody wakes it. */
static void a_vhost_worker_is_its_vmms(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 90, 100);
	exits(HOST, 0, 100, 100, EXIT_HLT);
	happens(HOST, 1, 110, NET_XMIT, 0);
	happens(HOST, 1, 111, SCHED_WAKING, 0, 30, 1, STR("vhost-10"));
	switches(HOST, 1, 112, 0, RUNNABLE, 30);
	delivers(1, 113, 30, 0, 42, 0);
	happens(HOST, 0, 120, KVM_VCPU_WAKEUP, 100, 20, 0, 1);
	enters(HOST, 0, 125, 100);
	world_close(300);
	assert_woken(0, 125, "network vector 42 by 30");
}

static void intel_has_a_number_of_its_own_for_a_halt(void **state)
{
	enum { ISA_INTEL = 1, VMX_HLT = 12, VMX_MSR_WRITE = 32 };

	(void)state;
	open_world();
	enters(HOST, 0, 90, 100);
	happens(HOST, 0, 95, KVM_EXIT, 100, VMX_MSR_WRITE, 0, 0, ISA_INTEL);
	enters(HOST, 0, 97, 100);
	happens(HOST, 0, 100, KVM_EXIT, 100, VMX_HLT, 0, 0, ISA_INTEL);
	switches(HOST, 0, 110, 100, ASLEEP, 0);
	disk(120);
	wakes(1, 129, MAIN, 100);
	switches(HOST, 0, 130, 0, RUNNABLE, 100);
	enters(HOST, 0, 140, 100);
	world_close(300);
	assert_int_equal(vcpu_at("vm", 0, "woken", 99), 0);
	assert_woken(0, 140, "disk vector 40 by 10");
}

/* What a thread was woken for is forgotten when it sleeps. */
static void old_reasons_do_not_count(void **state)
{
	(void)state;
	open_world();
	halts(100);
	disk(110);
	wakes(1, 119, MAIN, 100);
	goes_on(120);
	halts(200);
	switches(HOST, 1, 211, MAIN, ASLEEP, OTHER);
	wakes(1, 212, OTHER, MAIN);
	switches(HOST, 1, 213, OTHER, ASLEEP, MAIN);
	delivers(1, 214, MAIN, 0, 37, 0);
	wakes(1, 215, MAIN, 100);
	goes_on(220);
	world_close(300);
	assert_woken(0, 230, "device vector 37 by 10");
}

static void a_wakeup_without_an_interrupt_is_the_vmms(void **state)
{
	(void)state;
	open_world();
	halts(50);
	disk(60);
	wakes(1, 69, MAIN, 100);
	goes_on(70);
	halts(100);
	wakes(1, 110, MAIN, 100);
	switches(HOST, 0, 120, 0, RUNNABLE, 100);
	happens(HOST, 0, 121, KVM_VCPU_WAKEUP, 100, 50, 1, 1);
	happens(HOST, 0, 122, KVM_USERSPACE_EXIT, 100, 0, -4);
	world_close(300);
	assert_woken(0, 121, "-");
	assert_woken(0, 122, "vmm by 10");
}

static void in_a_trace_without_interrupts_the_waker_tells_what_it_can(void **state)
{
	(void)state;
	open_world();
	halts(100);
	wakes(1, 110, 0, 100);
	goes_on(120);
	halts(200);
	switches(HOST, 1, 211, 0, RUNNABLE, MAIN);
	wakes(1, 212, MAIN, 100);
	goes_on(220);
	world_close(300);
	assert_woken(0, 130, "unknown");
	assert_woken(0, 230, "unknown by 10");
}

static void who_has_not_halted_waits_in_the_host(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 90, 100);
	exits(HOST, 0, 100, 100, 0x400);
	switches(HOST, 0, 110, 100, BLOCKED, 0);
	wakes(1, 120, 0, 100);
	switches(HOST, 0, 130, 0, RUNNABLE, 100);
	enters(HOST, 0, 140, 100);
	world_close(300);
	assert_woken(0, 110, "-");
	assert_woken(0, 140, "host");
}

/* Why its vCPU exited was not told: nobody knows whether the guest had halted. */
static void how_a_rest_began_may_be_unknown(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 90, 100);
	exits(HOST, 0, 100, 100, -1);
	switches(HOST, 0, 110, 100, BLOCKED, 0);
	wakes(1, 120, 0, 100);
	switches(HOST, 0, 130, 0, RUNNABLE, 100);
	enters(HOST, 0, 140, 100);
	world_close(300);
	assert_woken(0, 140, "unknown");
}

/* The interrupt was there before the guest halted: KVM goes on at once, and says nothing of a wait.
 */
static void a_halt_that_ends_at_once_is_no_wait(void **state)
{
	(void)state;
	open_world();
	halts(50);
	disk(60);
	wakes(1, 69, MAIN, 100);
	goes_on(70);
	exits(HOST, 0, 100, 100, EXIT_HLT);
	enters(HOST, 0, 110, 100);
	/* Polled: KVM says so. */
	exits(HOST, 0, 200, 100, EXIT_HLT);
	delivers(1, 205, MAIN, 0, VEC_DISK, 0);
	happens(HOST, 0, 206, KVM_VCPU_WAKEUP, 100, 6, 0, 1);
	enters(HOST, 0, 210, 100);
	world_close(300);
	assert_woken(0, 110, "none");
	assert_woken(0, 210, "disk vector 40 by 10");
}

/* It is woken while it is still on its way off the CPU. */
static void a_wakeup_may_come_early(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 90, 100);
	exits(HOST, 0, 100, 100, EXIT_HLT);
	switches(HOST, 1, 101, 0, RUNNABLE, MAIN);
	delivers(1, 102, MAIN, 0, 37, 0);
	wakes(1, 103, MAIN, 100);
	switches(HOST, 0, 110, 100, ASLEEP, 0);
	happens(HOST, 0, 115, SCHED_WAKEUP, 0, 100, 0);
	goes_on(120);
	world_close(300);
	assert_woken(0, 130, "device vector 37 by 10");
}

static void a_nested_guests_halt_is_not_its_hosts(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 90, 100);
	exits(HOST, 0, 91, 100, EXIT_VMRUN);
	happens(HOST, 0, 92, KVM_NESTED_VMENTER, 100, 0, 0x1000);
	enters(HOST, 0, 93, 100);
	exits(HOST, 0, 100, 100, EXIT_HLT);
	happens(HOST, 0, 101, KVM_NESTED_VMEXIT, 100, EXIT_HLT, 0);
	happens(HOST, 0, 102, KVM_NESTED_VMEXIT_INJECT, 100, EXIT_HLT);
	enters(HOST, 0, 110, 100);
	world_close(300);
	assert_int_equal(vcpu_at("vm", 0, "woken", 299), 0);
}

/* Linux 6.13 on: the entry itself says what is injected; a trace without the other events. */
static void an_entry_may_say_what_is_injected(void **state)
{
	(void)state;
	open_world();
	halts(100);
	wakes(1, 110, 0, 100);
	switches(HOST, 0, 120, 0, RUNNABLE, 100);
	happens(HOST, 0, 130, KVM_ENTRY, 100, 0, 0, 0x80000000 | 37);
	halts(200);
	wakes(1, 220, 0, 100);
	switches(HOST, 0, 230, 0, RUNNABLE, 100);
	/* An exception, not an interrupt. */
	happens(HOST, 0, 240, KVM_ENTRY, 100, 0, 0, 0x80000300 | 14);
	world_close(300);
	assert_woken(0, 130, "unknown vector 37");
	assert_woken(0, 240, "unknown");
}

/* ---- vectors -------------------------------------------------------------------------------- */

static void injects(ns_t t, int vec)
{
	exits(HOST, 0, t, 100, EXIT_INTR);
	happens(HOST, 0, t + 1, KVM_INJ_VIRQ, 100, vec, 0);
	enters(HOST, 0, t + 2, 100);
}

/* The guest's own names count for more than what its host saw. */
static void the_guest_names_its_vectors(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 20, 100);
	for (ns_t t = 100; t < 400; t += 100) {
		injects(t, VEC_DISK);
		world.irq_name = "virtio3-input.0";
		happens(VM, 0, t + 10, IRQ_ENTRY, 0, 27);
		happens(VM, 0, t + 20, IRQ_EXIT, 0, 27);
	}
	switches(HOST, 1, 410, 0, RUNNABLE, MAIN);
	delivers(1, 411, MAIN, 0, VEC_DISK, 0);
	happens_typed(VM, 0, 500,
		      (struct event){.kind = EV_VECTOR_ENTRY,
				     .type = TYPE_RESCHEDULE,
				     .tid = 0,
				     .arg = {VEC_RESCHEDULE}});
	world_close(600);
	assert_string_equal(vector(0, VEC_DISK), "network 'virtio3-input.0' 3/3");
	assert_string_equal(vector(0, VEC_RESCHEDULE), "ipi 'reschedule' 0/0");
	assert_int_equal(fake_rows("irq"), 1);
	assert_string_equal(fake_string("irq", 0, "name"), "virtio3-input.0");
}

/* A driver's name begins a word: "ens" is not in "sensorhub", nor "eth" in "something". */
static void a_name_is_no_part_of_a_word(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 20, 100);
	injects(100, VEC_DISK);
	world.irq_name = "sensorhub";
	happens(VM, 0, 110, IRQ_ENTRY, 0, 27);
	happens(VM, 0, 120, IRQ_EXIT, 0, 27);
	injects(200, VEC_TIMER);
	world.irq_name = "pci-ens3-rx-0";
	happens(VM, 0, 210, IRQ_ENTRY, 0, 28);
	happens(VM, 0, 220, IRQ_EXIT, 0, 28);
	world_close(600);
	assert_string_equal(vector(0, VEC_DISK), "device 'sensorhub' 1/1");
	assert_string_equal(vector(0, VEC_TIMER), "network 'pci-ens3-rx-0' 1/1");
}

/* What contradicts itself means nothing. */
static void a_vector_needs_agreement(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 20, 100);
	for (ns_t t = 100; t < 900; t += 100) {
		injects(t, VEC_DISK);
		world.irq_name = "virtio0-req.0";
		happens(VM, 0, t + 10, IRQ_ENTRY, 0, t % 200 ? 27 : 28);
		happens(VM, 0, t + 20, IRQ_EXIT, 0, t % 200 ? 27 : 28);
	}
	world_close(1000);
	assert_string_equal(vector(0, VEC_DISK), "device '' 0/0");
}

/* ---- why a vCPU loses its CPU --------------------------------------------------------------- */

static uint32_t why_off(ns_t t)
{
	return vcpu_at("vm", 0, "why_off", t);
}

static void who_is_woken_may_run_first(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 20, 100);
	timer_interrupt(HOST, 0, 100, 100);
	wakes(0, 101, 100, OTHER);
	timer_interrupt_ends(HOST, 0, 102, 100);
	exits(HOST, 0, 103, 100, EXIT_INTR);
	switches(HOST, 0, 104, 100, PREEMPTED, OTHER);
	world_close(300);
	assert_int_equal(why_off(104), OFF_WAKEUP);
}

static void a_time_slice_ends_in_the_timers_interrupt(void **state)
{
	(void)state;
	open_world();
	wakes(0, 15, 100, OTHER);
	enters(HOST, 0, 20, 100);
	timer_interrupt(HOST, 0, 100, 100);
	timer_interrupt_ends(HOST, 0, 102, 100);
	exits(HOST, 0, 103, 100, EXIT_INTR);
	switches(HOST, 0, 104, 100, RUNNABLE, OTHER);
	world_close(300);
	assert_int_equal(why_off(104), OFF_SLICE);
}

static void a_real_time_thread_comes_first(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 20, 100);
	exits(HOST, 0, 50, 100, EXIT_INTR);
	world.prev_prio = 120;
	world.next_prio = 49;
	switches(HOST, 0, 104, 100, RUNNABLE, OTHER);
	world_close(300);
	assert_int_equal(why_off(104), OFF_CLASS);
}

static void the_migration_thread_moves_it(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 20, 100);
	happens(HOST, 0, 50, SCHED_WAKING, 100, 30, 0, STR("migration/0"));
	exits(HOST, 0, 60, 100, EXIT_INTR);
	switches(HOST, 0, 104, 100, RUNNABLE, 30);
	world_close(300);
	assert_int_equal(why_off(104), OFF_MOVED);
}

/* Where a CPU idles while a thread that it has run is ready, that thread may not run. */
static void a_quota_shows_in_a_cpu_that_idles(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 20, 100);
	exits(HOST, 0, 50, 100, EXIT_INTR);
	switches(HOST, 0, 100, 100, RUNNABLE, 0);
	switches(HOST, 0, 200, 0, RUNNABLE, 100);
	wakes(0, 250, 100, OTHER);
	switches(HOST, 0, 300, 100, RUNNABLE, OTHER);
	switches(HOST, 0, 400, OTHER, ASLEEP, 0);
	switches(HOST, 0, 500, 0, RUNNABLE, 100);
	/* It is for another CPU to run it. */
	switches(HOST, 0, 600, 100, RUNNABLE, OTHER);
	happens(HOST, 1, 650, SCHED_MIGRATE, 0, 100, 0, 1);
	switches(HOST, 0, 700, OTHER, ASLEEP, 0);
	world_close(800);
	assert_int_equal(why_off(150), OFF_QUOTA);
	assert_int_not_equal(why_off(350), OFF_QUOTA);
	assert_int_equal(why_off(450), OFF_QUOTA);
	assert_int_not_equal(why_off(750), OFF_QUOTA);
}

/* ---- the VMM's user space ------------------------------------------------------------------- */

static void the_vmms_work_is_told_apart(void **state)
{
	(void)state;
	open_world();
	enters(HOST, 0, 20, 100);
	exits(HOST, 0, 100, 100, 0x400);
	happens(HOST, 0, 110, KVM_USERSPACE_EXIT, 100, USER_MMIO, 0);
	enters(HOST, 0, 120, 100);
	exits(HOST, 0, 130, 100, 0x400);
	world_close(300);
	assert_int_equal(fake_cell("context", fake_at("host/cpu0/runs", 105) - 1, "vmm"), -1);
	assert_int_equal(fake_cell("context", fake_at("host/cpu0/runs", 115) - 1, "vmm"),
			 USER_MMIO);
	assert_int_equal(fake_cell("context", fake_at("host/cpu0/runs", 135) - 1, "vmm"), -1);
	assert_runs(0, 115, "host/0 100 hypervisor 1024 for vm/0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_is_delivered_by_the_vcpu_itself),
		cmocka_unit_test(who_polls_may_be_given_what_is_not_seen),
		cmocka_unit_test(a_vcpu_that_is_gone_waits_for_nothing),
		cmocka_unit_test(a_wait_ends_with_its_thread),
		cmocka_unit_test(an_own_timer_may_be_late),
		cmocka_unit_test(who_polls_may_be_sent_what_seems_to_be_for_another_vm),
		cmocka_unit_test(a_wait_is_over_where_events_were_lost),
		cmocka_unit_test(who_ends_a_rest_that_began_unseen_is_seen),
		cmocka_unit_test(who_falls_asleep_again_may_have_been_woken_before),
		cmocka_unit_test(why_it_rested_may_be_lost),
		cmocka_unit_test(a_loss_elsewhere_ends_a_wait),
		cmocka_unit_test(who_woke_it_after_a_loss_did),
		cmocka_unit_test(who_is_late_has_not_woken_it),
		cmocka_unit_test(who_is_gone_waits_for_nothing),
		cmocka_unit_test(the_first_cause_counts),
		cmocka_unit_test(an_ipi_names_its_sender),
		cmocka_unit_test(an_interrupt_that_is_routed_is_no_ipi),
		cmocka_unit_test(a_vcpu_that_plays_a_device_sends_no_ipi),
		cmocka_unit_test(an_interrupt_that_a_vcpu_sends_itself_is_no_timer),
		cmocka_unit_test(a_disk_is_known_by_what_led_to_its_interrupt),
		cmocka_unit_test(a_pool_of_threads_is_weaker_evidence_for_a_disk),
		cmocka_unit_test(the_network_is_known_by_packets),
		cmocka_unit_test(a_vhost_worker_is_its_vmms),
		cmocka_unit_test(intel_has_a_number_of_its_own_for_a_halt),
		cmocka_unit_test(old_reasons_do_not_count),
		cmocka_unit_test(a_wakeup_without_an_interrupt_is_the_vmms),
		cmocka_unit_test(in_a_trace_without_interrupts_the_waker_tells_what_it_can),
		cmocka_unit_test(who_has_not_halted_waits_in_the_host),
		cmocka_unit_test(how_a_rest_began_may_be_unknown),
		cmocka_unit_test(a_halt_that_ends_at_once_is_no_wait),
		cmocka_unit_test(a_wakeup_may_come_early),
		cmocka_unit_test(a_nested_guests_halt_is_not_its_hosts),
		cmocka_unit_test(an_entry_may_say_what_is_injected),
		cmocka_unit_test(the_guest_names_its_vectors),
		cmocka_unit_test(a_name_is_no_part_of_a_word),
		cmocka_unit_test(a_vector_needs_agreement),
		cmocka_unit_test(who_is_woken_may_run_first),
		cmocka_unit_test(a_time_slice_ends_in_the_timers_interrupt),
		cmocka_unit_test(a_real_time_thread_comes_first),
		cmocka_unit_test(the_migration_thread_moves_it),
		cmocka_unit_test(a_quota_shows_in_a_cpu_that_idles),
		cmocka_unit_test(the_vmms_work_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
