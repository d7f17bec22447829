/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model on one machine: what its CPUs run, and what state its threads are in.
 */
#include "tests/unit/model_world.h"

static void a_switch_says_who_runs(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 7, ASLEEP, 8);
	switches(HOST, 0, 200, 8, ASLEEP, 0);
	world_close(300);
	assert_runs(0, 100, "host/0 8 task");
	assert_runs(0, 199, "host/0 8 task");
	assert_runs(0, 200, "host/0 0 idle");
	assert_runs(1, 200, "host/1 - unknown");
	assert_int_equal(fake_cell("thread", thread_row(HOST, 8), "first_cpu"), 0);
}

static void any_event_says_who_runs(void **state)
{
	(void)state;
	world_open(1);
	happens(HOST, 0, 100, SCHED_WAKING, 7, 9);
	happens(HOST, 0, 105, FORK, 7, 7, 10, 0, 10, 0);
	happens(HOST, 1, 110, CPU_IDLE, -1, 1);
	world_close(300);
	assert_runs(0, 100, "host/0 - unknown"); /* it may be a handler that wakes, upon thread 7 */
	assert_runs(0, 105, "host/0 7 task");
	assert_runs(1, 105, "host/1 - unknown");
	assert_runs(1, 110, "host/1 0 idle");
}

/* Whether a thread is in user space or in the kernel shows with its first system call. */
static void system_calls_have_names_and_survive_preemption(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 7);
	happens_typed(HOST, 0, 110,
		      (struct event){.kind = EV_SYSCALL_ENTRY, .type = TYPE_OPENAT, .tid = 7});
	switches(HOST, 0, 120, 7, PREEMPTED, 8);
	switches(HOST, 1, 130, 0, 0, 7);
	happens(HOST, 1, 140, SYSCALL_EXIT, 7, -1, 3);
	switches(HOST, 1, 150, 7, PREEMPTED, 9);
	switches(HOST, 1, 160, 9, ASLEEP, 7);
	world_close(300);
	assert_runs(0, 105, "host/0 7 task");
	assert_runs(0, 110, "host/0 7 syscall openat");
	assert_runs(0, 120, "host/0 8 task");
	assert_runs(1, 130, "host/1 7 syscall openat");
	assert_runs(1, 140, "host/1 7 user");
	assert_runs(1, 160, "host/1 7 user");
}

static void interrupts_stack(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 7);
	happens(HOST, 0, 110, SOFTIRQ_ENTRY, 7, 1);
	happens(HOST, 0, 120, IRQ_ENTRY, 7, 24);
	happens(HOST, 0, 130, VECTOR_ENTRY, 7, 236);
	happens(HOST, 0, 140, VECTOR_EXIT, 7, 236);
	happens(HOST, 0, 150, IRQ_EXIT, 7, 24);
	happens(HOST, 0, 160, SOFTIRQ_EXIT, 7, 1);
	/* The end of a handler that began before the trace did. */
	happens(HOST, 0, 170, IRQ_EXIT, 7, 11);
	world_close(300);
	assert_runs(0, 110, "host/0 7 softirq 1");
	assert_runs(0, 120, "host/0 7 irq 24");
	assert_runs(0, 130, "host/0 7 irq 236");
	assert_runs(0, 140, "host/0 7 irq 24");
	assert_runs(0, 150, "host/0 7 softirq 1");
	assert_runs(0, 160, "host/0 7 task");
	assert_runs(0, 170, "host/0 7 task");
}

static void a_switch_leaves_handlers_behind_but_a_preempted_softirq_goes_on(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 7);
	happens(HOST, 0, 110, IRQ_ENTRY, 7, 24);
	switches(HOST, 0, 120, 7, ASLEEP, 8); /* IRQ exit was not recorded */
	happens(HOST, 0, 130, SOFTIRQ_ENTRY, 8, 3);
	switches(HOST, 0, 140, 8, PREEMPTED, 7); /* PREEMPT_RT */
	switches(HOST, 0, 150, 7, ASLEEP, 8);
	world_close(300);
	assert_runs(0, 120, "host/0 8 task");
	assert_runs(0, 140, "host/0 7 task");
	assert_runs(0, 150, "host/0 8 softirq 3");
}

static void a_cpu_that_is_taken_down_is_idle(void **state)
{
	const int to_stop = 150, off = 0, step = 149;

	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 0, 0, 7);
	switches(HOST, 1, 100, 9, ASLEEP, 21);
	/* Its own threads take the first steps, for which it is on. */
	happens(HOST, 0, 110, CPUHP_ENTER, 7, 1, to_stop, 200);
	happens(HOST, 0, 120, CPUHP_EXIT, 7, 1);
	happens(HOST, 0, 130, CPUHP_ENTER, 7, 1, off, step);
	happens(HOST, 0, 140, CPUHP_EXIT, 7, 1);
	switches(HOST, 1, 200, 0, 0, 21);
	happens(HOST, 0, 210, CPUHP_ENTER, 7, 1, to_stop, off);
	happens(HOST, 0, 220, CPUHP_EXIT, 7, 1);
	world_close(300);
	assert_runs(1, 120, "host/1 21 task");
	assert_runs(1, 139, "host/1 21 task");
	assert_runs(1, 140, "host/1 0 idle");
	assert_runs(0, 140, "host/0 7 task");
	assert_runs(1, 200, "host/1 21 task");
	assert_runs(1, 220, "host/1 21 task");
}

static void kernel_threads_are_known_by_proof(void **state)
{
	(void)state;
	world_open(1);
	happens(HOST, 0, 90, FORK, 2, 2, 30, 0, 30, 0);
	switches(HOST, 0, 100, 2, ASLEEP, 30); /* a child of kthreadd */
	switches(HOST, 0, 110, 30, ASLEEP, 31);
	switches(HOST, 0, 120, 31, IDLE_SLEEP, 0);
	switches(HOST, 0, 130, 0, 0, 31); /* sleeps as only kernel threads can */
	world_close(300);
	assert_runs(0, 100, "host/0 30 kernel");
	assert_runs(0, 110, "host/0 31 task");
	assert_runs(0, 130, "host/0 31 kernel");
}

static void thread_states_follow_switches_and_wakeups(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 7);
	switches(HOST, 0, 110, 7, BLOCKED, 8);
	happens(HOST, 0, 120, SCHED_WAKING, 8, 7);
	switches(HOST, 0, 130, 8, PREEMPTED, 7);
	/* Woken while it still runs: it does not sleep at all. */
	happens(HOST, 1, 140, SCHED_WAKING, 0, 7);
	switches(HOST, 0, 150, 7, ASLEEP, 8);
	happens(HOST, 0, 160, SCHED_WAKEUP, 8, 7);
	world_close(300);
	assert_int_equal(thread_state(HOST, 7, 100), THREAD_RUNNING);
	assert_int_equal(thread_state(HOST, 7, 110), THREAD_BLOCKED);
	assert_int_equal(thread_state(HOST, 7, 120), THREAD_RUNNABLE);
	assert_int_equal(thread_state(HOST, 8, 130), THREAD_RUNNABLE);
	assert_int_equal(thread_state(HOST, 7, 140), THREAD_RUNNING);
	assert_int_equal(thread_state(HOST, 7, 150), THREAD_SLEEPING);
	assert_int_equal(thread_state(HOST, 7, 160), THREAD_RUNNABLE);
}

static void a_tid_is_used_again_by_another_thread(void **state)
{
	unsigned incarnations = 0;

	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 1, ASLEEP, 7);
	happens(HOST, 0, 110, EXIT, 7, 7, 0, STR("first"));
	switches(HOST, 0, 111, 7, PREEMPTED, 1); /* not dead yet */
	switches(HOST, 0, 115, 1, ASLEEP, 7);
	switches(HOST, 0, 120, 7, 0x10, 1);
	happens(HOST, 0, 125, FREE, 1, 7);
	happens(HOST, 0, 130, FORK, 1, 1, 7, STR("second"), 7, 0);
	happens(HOST, 0, 140, SCHED_WAKEUP_NEW, 1, 7);
	switches(HOST, 0, 150, 1, ASLEEP, 7);
	world_close(300);
	for (unsigned i = 0; i < fake_rows("thread"); i++)
		incarnations += fake_cell("thread", i, "tid") == 7;
	assert_int_equal(incarnations, 2);
	assert_string_equal(fake_string("thread", thread_row(HOST, 7), "comm"), "second");
	assert_int_equal(fake_cell("thread", thread_row(HOST, 7), "begin"), 130);
	assert_int_equal(fake_cell("thread", 0, "end"), -1);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 7) - 1, "end"), 120);
}

/* Its last switch says no more than that it slept on its way out. */
static void a_thread_that_is_freed_has_ended(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 1, ASLEEP, 7);
	happens(HOST, 0, 110, EXIT, 7, 7, 0, STR("first"));
	switches(HOST, 0, 120, 7, ASLEEP, 1);
	happens(HOST, 0, 125, FREE, 1, 7);
	world_close(300);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 7), "end"), 125);
}

/* Only threads that move have an attribute for it. */
static void threads_move(void **state)
{
	char path[64];

	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 7);
	switches(HOST, 0, 110, 7, PREEMPTED, 8);
	switches(HOST, 1, 120, 0, 0, 7);
	world_close(300);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 7), "first_cpu"), 0);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 8), "first_cpu"), 0);
	snprintf(path, sizeof(path), "host/threads/%d/cpu", (int)thread_row(HOST, 7));
	assert_int_equal(fake_at(path, 110), 0);
	assert_int_equal(fake_at(path, 120), 2);
	snprintf(path, sizeof(path), "host/threads/%d/cpu", (int)thread_row(HOST, 8));
	for (unsigned i = 0; i < fake.nr_attrs; i++)
		assert_string_not_equal(fake.paths[i], path);
}

static void names_change(void **state)
{
	char path[64];
	int64_t row;

	(void)state;
	world_open(1);
	happens(HOST, 0, 100, SCHED_SWITCH, 0, 0, 7, 0, STR("sh"), STR("swapper/0"));
	happens(HOST, 0, 110, SCHED_SWITCH, 7, 7, 0, ASLEEP, STR("swapper/0"), STR("sh"));
	happens(HOST, 0, 120, RENAME, 7, 7, 0, STR("spin"));
	world_close(300);
	row = thread_row(HOST, 7);
	assert_string_equal(fake_string("thread", row, "comm"), "spin");
	assert_string_equal(fake_string("thread", row, "first_comm"), "sh");
	snprintf(path, sizeof(path), "host/threads/%d/comm", (int)row);
	assert_string_equal(fake.strings[fake_at(path, 130)], "spin");
	assert_int_equal(fake_at(path, 110), 0);
}

static void exec_gives_the_thread_its_process_number(void **state)
{
	(void)state;
	world_open(1);
	happens(HOST, 0, 100, FORK, 1, 1, 7, 0, 7, 0);
	happens(HOST, 0, 110, FORK, 7, 7, 8, 0, 7, 0); /* a second thread of process 7 */
	switches(HOST, 0, 120, 7, ASLEEP, 8);
	world.old_tid = 8;
	world.filename = "/usr/bin/a-name-of-20-letters";
	happens(HOST, 0, 130, EXEC, 7, 7); /* thread 8 executes: it is 7 from now on */
	world_close(300);
	assert_runs(0, 130, "host/0 7 task");
	assert_int_equal(fake_cell("thread", thread_row(HOST, 8), "end"), 130);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 7), "pid"), 7);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 8), "pid"), 7);
	assert_string_equal(fake_string("thread", thread_row(HOST, 7), "comm"), "a-name-of-20-le");
}

/* One CPU's switch was not recorded, and its thread shows up on another. */
static void a_thread_is_in_one_place(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 7);
	switches(HOST, 1, 120, 0, 0, 7);
	world_close(300);
	assert_runs(0, 119, "host/0 7 task");
	assert_runs(0, 120, "host/0 - unknown");
	assert_runs(1, 120, "host/1 7 task");
}

static void a_child_starts_inside_the_call_that_made_it(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 0, 0, 7);
	happens_typed(HOST, 0, 100,
		      (struct event){.kind = EV_SYSCALL_ENTRY, .type = TYPE_READ, .tid = 7});
	happens(HOST, 0, 110, FORK, 7, 7, 9, 0, 9, 0);
	switches(HOST, 0, 120, 7, ASLEEP, 9);
	happens(HOST, 0, 130, SYSCALL_EXIT, 9, -1, 0);
	world_close(300);
	assert_runs(0, 120, "host/0 9 syscall read");
	assert_runs(0, 130, "host/0 9 user");
	assert_int_equal(fake_cell("thread", thread_row(HOST, 9), "ppid"), -1);
}

/* ftrace's fork event does not say whether a thread or a process is made; task_newtask does. */
static void new_tasks_are_threads_or_processes(void **state)
{
	(void)state;
	world_open(1);
	happens(HOST, 0, 100, EXEC, 7, 7);
	happens(HOST, 0, 110, NEW_TASK, 7, 8, 0x3d0f00);
	happens(HOST, 0, 111, FORK, 7, 7, 8, 0, -1, 0);
	happens(HOST, 0, 120, NEW_TASK, 7, 9, 0x1200000);
	happens(HOST, 0, 121, FORK, 7, 7, 9, 0, -1, 0);
	happens(HOST, 0, 130, FORK, 7, 7, 10, 0, -1, 0);
	world_close(300);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 8), "pid"), 7);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 9), "pid"), 9);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 9), "ppid"), 7);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 10), "pid"), -1);
}

static void after_a_loss_nothing_is_known_until_an_event_tells(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 0, 0, 7);
	switches(HOST, 1, 91, 0, 0, 8);
	happens(HOST, 0, 95, SYSCALL_EXIT, 7, -1, 0);
	happens(HOST, 1, 96, SYSCALL_EXIT, 8, -1, 0);
	happens(HOST, 0, 100, LOST, -1, 12, 100, 200);
	happens(HOST, 0, 210, IRQ_ENTRY, 9, 24);
	happens(HOST, 0, 220, IRQ_EXIT, 9, 24);
	switches(HOST, 0, 230, 9, ASLEEP, 7);
	switches(HOST, 1, 240, 8, PREEMPTED, 10);
	switches(HOST, 1, 250, 10, ASLEEP, 8);
	world_close(300);
	assert_runs(0, 99, "host/0 7 user");
	assert_runs(0, 100, "host/0 - unknown");
	assert_runs(0, 209, "host/0 - unknown");
	assert_runs(0, 210, "host/0 9 irq 24");
	/* Thread 7 may have been anywhere meanwhile; thread 8 ran on CPU 1 all the time. */
	assert_runs(0, 230, "host/0 7 task");
	assert_runs(1, 250, "host/1 8 user");
	assert_int_equal(thread_state(HOST, 7, 150), THREAD_UNKNOWN);
	assert_int_equal(fake_rows("loss"), 1);
	assert_int_equal(fake_cell("loss", 0, "begin"), 100);
	assert_int_equal(fake_cell("loss", 0, "end"), 200);
	assert_int_equal(fake_cell("loss", 0, "events"), 12);
}

/* Another of its streams goes on meanwhile: that tells of moments. */
static void a_loss_is_an_interval(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 0, 0, 7);
	happens(HOST, 0, 100, LOST, -1, 0, 100, 200);
	happens(HOST, 0, 120, SYSCALL_EXIT, 8, -1, 0);
	happens(HOST, 0, 130, LOST, -1, 0, 130, 140); /* within it */
	happens(HOST, 0, 150, SYSCALL_EXIT, 9, -1, 0);
	happens(HOST, 0, 200, SYSCALL_EXIT, 9, -1, 0);
	/* Thread 10 left its system call where nobody saw it, or did not. */
	happens(HOST, 1, 205, SYSCALL_EXIT, 10, -1, 0);
	happens(HOST, 0, 210, LOST, -1, 0, 210, 260);
	switches(HOST, 1, 220, 10, PREEMPTED, 11);
	switches(HOST, 1, 250, 11, PREEMPTED, 10);
	happens(HOST, 0, 280, LOST, -1, 0, 280, 280);
	world_close(300);
	assert_runs(0, 99, "host/0 7 task");
	assert_runs(0, 100, "host/0 - unknown");
	assert_runs(0, 121, "host/0 - unknown");
	assert_runs(0, 151, "host/0 - unknown");
	assert_runs(0, 199, "host/0 - unknown");
	assert_runs(0, 200, "host/0 9 user");
	assert_runs(1, 205, "host/1 10 user");
	assert_runs(1, 250, "host/1 10 task");
	assert_int_equal(fake_rows("loss"), 3);
}

/* A reader tells of each damaged page; what follows nothing that is known is the same gap. */
static void a_gap_is_one_row(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 0, 0, 7);
	for (unsigned i = 0; i < 3; i++)
		happens(HOST, 0, 100, LOST, -1, 0, 100, 200);
	happens(HOST, 0, 200, LOST, -1, 0, 200, 230);
	happens(HOST, 0, 230, LOST, -1, 3, 230, 230);
	happens(HOST, 0, 230, LOST, -1, 4, 230, 230);
	switches(HOST, 0, 240, 8, ASLEEP, 7);
	happens(HOST, 0, 250, LOST, -1, 0, 250, 250);
	world_close(300);
	assert_int_equal(fake_rows("loss"), 3);
	assert_int_equal(fake_cell("loss", 0, "begin"), 100);
	assert_int_equal(fake_cell("loss", 0, "end"), 230);
	assert_int_equal(fake_cell("loss", 0, "events"), -1);
	assert_int_equal(fake_cell("loss", 1, "begin"), 230);
	assert_int_equal(fake_cell("loss", 1, "events"), 7);
	assert_int_equal(fake_cell("loss", 2, "begin"), 250);
}

/* What a trace is known to lack from the beginning is one row, also where damage reaches into it. */
static void a_gap_that_was_foreseen_is_one_row(void **state)
{
	static struct packet packets[] = {{.begin = 50, .end = 199},
					  {.begin = 50, .end = NS_PER_SEC}};

	(void)state;
	for (ns_t second = 180; second <= 200; second += 20) {
		world_prepare(1);
		world.traces[HOST].streams = world.streams[HOST];
		world.traces[HOST].nr_streams = 2;
		for (unsigned i = 0; i < 2; i++) {
			world.streams[HOST][i].packets = &packets[i];
			world.streams[HOST][i].nr_packets = 1;
		}
		world_start();
		switches(HOST, 0, 90, 0, 0, 7);
		happens(HOST, 0, 150, LOST, -1, 0, 150, 200);
		happens(HOST, 0, second, LOST, -1, 0, second, 400);
		world_close(NS_PER_SEC);
		assert_int_equal(fake_rows("loss"), 2);
		assert_int_equal(fake_cell("loss", 0, "begin"), 200);
		assert_int_equal(fake_cell("loss", 0, "end"), NS_PER_SEC);
		assert_int_equal(fake_cell("loss", 1, "begin"), 150);
		assert_int_equal(fake_cell("loss", 1, "end"), 200);
	}
}

/* The next gap may begin where the last one ended: an event stands between them. */
static void an_event_ends_a_gap(void **state)
{
	(void)state;
	world_open(1);
	happens(HOST, 0, 100, LOST, -1, 0, 100, 200);
	switches(HOST, 0, 200, 8, ASLEEP, 7);
	happens(HOST, 0, 200, LOST, -1, 0, 200, 230);
	world_close(300);
	assert_int_equal(fake_rows("loss"), 2);
	assert_int_equal(fake_cell("loss", 0, "end"), 200);
	assert_int_equal(fake_cell("loss", 1, "begin"), 200);
}

/* What is lost behind the last event has no length but what is known of it. */
static void a_gap_at_the_end_is_not_longer_than_known(void **state)
{
	(void)state;
	for (ns_t end = 251; end <= 252; end++) {
		world_open(1);
		switches(HOST, 0, 90, 0, 0, 7);
		happens(HOST, 0, 250, LOST, -1, 0, 250, 250);
		world_close(end);
		assert_int_equal(fake_rows("loss"), 1);
		assert_int_equal(fake_cell("loss", 0, "begin"), 250);
		assert_int_equal(fake_cell("loss", 0, "end"), end == 251 ? 250 : 252);
	}
}

/* Where events do not fit together, nothing is known of the time between; what a mute thread leaves
 * unseen is known to be unknown already. */
static void a_seam_is_a_loss(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 100, 0, 0, 7);
	happens(HOST, 0, 100, LOST, -1, 0, 100, 150, 1);
	switches(HOST, 0, 150, 8, ASLEEP, 0);
	happens(HOST, 1, 160, LOST, -1, 0, 150, 160, 1);
	world_close(300);
	assert_runs(0, 100, "host/0 - unknown");
	assert_runs(0, 149, "host/0 - unknown");
	assert_runs(0, 150, "host/0 0 idle");
	assert_int_equal(fake_rows("loss"), 1);
	assert_int_equal(fake_cell("loss", 0, "begin"), 100);
	assert_int_equal(fake_cell("loss", 0, "end"), 150);
	assert_int_equal(fake_rows("problem"), 1);
}

/* The first switch says who had the CPU before, since tracing began. */
static void who_ran_before_the_first_switch(void **state)
{
	static struct packet packets[2] = {{.begin = 50, .end = 400}, {.begin = 60, .end = 400}};

	(void)state;
	world_prepare(1);
	for (int cpu = 0; cpu < 2; cpu++) {
		world.streams[HOST][cpu].packets = &packets[cpu];
		world.streams[HOST][cpu].nr_packets = 1;
	}
	world.traces[HOST].streams = world.streams[HOST];
	world.traces[HOST].nr_streams = 2;
	world.traces[HOST].format = TRACE_DAT;
	world.first =
		(struct event){.time.v = 100, .kind = EV_SCHED_SWITCH, .tid = 7, .arg = {7, 8}};
	world.has_first = true;
	world_start();
	happens(HOST, 1, 70, SCHED_WAKING, 5, 9);
	switches(HOST, 0, 100, 7, ASLEEP, 8);
	world_close(300);
	assert_runs(0, 70, "host/0 7 task");
	assert_runs(0, 99, "host/0 7 task");
	assert_runs(0, 100, "host/0 8 task");
	assert_int_equal(thread_state(HOST, 7, 80), THREAD_RUNNING);
}

/* It may run on the CPU of which nothing is seen, and come back. */
static void who_is_ready_during_a_loss_may_have_run(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 0, 0, 7);
	switches(HOST, 1, 91, 0, 0, 6);
	switches(HOST, 1, 92, 6, ASLEEP, 8);
	switches(HOST, 1, 95, 8, PREEMPTED, 9);
	happens(HOST, 0, 100, LOST, -1, 12, 100, 200);
	happens(HOST, 1, 120, SCHED_WAKING, 9, 11, 1);
	switches(HOST, 1, 130, 9, PREEMPTED, 12);
	switches(HOST, 0, 210, 7, ASLEEP, 0);
	happens(HOST, 1, 220, SCHED_WAKING, 12, 13, 1);
	switches(HOST, 1, 230, 12, PREEMPTED, 8);
	world_close(300);
	assert_int_equal(thread_state(HOST, 8, 99), THREAD_RUNNABLE);
	assert_int_equal(thread_state(HOST, 8, 100), THREAD_UNKNOWN);
	assert_int_equal(thread_state(HOST, 8, 229), THREAD_UNKNOWN);
	assert_int_equal(thread_state(HOST, 8, 230), THREAD_RUNNING);
	assert_int_equal(thread_state(HOST, 11, 299), THREAD_UNKNOWN);
	assert_int_equal(thread_state(HOST, 9, 130), THREAD_UNKNOWN);
	/* What CPU 0 did may have woken who slept; and then all is known of both. */
	assert_int_equal(thread_state(HOST, 6, 99), THREAD_SLEEPING);
	assert_int_equal(thread_state(HOST, 6, 100), THREAD_UNKNOWN);
	assert_int_equal(thread_state(HOST, 7, 210), THREAD_SLEEPING);
	assert_int_equal(thread_state(HOST, 13, 220), THREAD_RUNNABLE);
	assert_int_equal(thread_state(HOST, 12, 230), THREAD_RUNNABLE);
}

/* A gap of one CPU that is over before another's leaves that one as it is. */
static void who_sleeps_during_any_loss_may_be_woken(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 0, 0, 7);
	happens(HOST, 1, 100, LOST, -1, 12, 100, 200);
	happens(HOST, 0, 110, LOST, -1, 12, 110, 120);
	switches(HOST, 0, 130, 7, ASLEEP, 8);
	switches(HOST, 1, 210, 0, 0, 6);
	switches(HOST, 0, 220, 8, ASLEEP, 0);
	world_close(300);
	assert_int_equal(thread_state(HOST, 7, 130), THREAD_UNKNOWN);
	assert_int_equal(thread_state(HOST, 8, 220), THREAD_SLEEPING);
}

/* All of CPU 1's events are there again, but not yet one that tells who has it. */
static void who_gets_ready_after_a_loss_may_have_the_cpu(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 0, 0, 7);
	switches(HOST, 1, 91, 0, 0, 6);
	happens(HOST, 1, 100, LOST, -1, 12, 100, 200);
	switches(HOST, 0, 210, 7, PREEMPTED, 8);
	switches(HOST, 0, 220, 8, ASLEEP, 9);
	switches(HOST, 1, 230, 7, ASLEEP, 0);
	switches(HOST, 0, 240, 9, PREEMPTED, 0);
	world_close(300);
	assert_int_equal(thread_state(HOST, 7, 210), THREAD_UNKNOWN);
	assert_int_equal(thread_state(HOST, 8, 220), THREAD_SLEEPING);
	assert_int_equal(thread_state(HOST, 7, 230), THREAD_SLEEPING);
	assert_int_equal(thread_state(HOST, 9, 240), THREAD_RUNNABLE);
}

/* Thread @tid is woken by an interrupt upon the idle task, runs unseen, and goes. */
static void runs_unseen(ns_t t, int tid)
{
	happens(HOST, 0, t, IRQ_ENTRY, 0, 24);
	happens(HOST, 0, t + 1, SCHED_WAKING, 0, tid, 0);
	happens(HOST, 0, t + 2, IRQ_EXIT, 0, 24);
	switches(HOST, 0, t + 8, tid, ASLEEP, 0);
}

/* Some kernels record no switch away from some threads: here, the idle task. */
static void whom_a_mute_thread_leaves_waiting_is_unknown(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 7, ASLEEP, 0);
	for (ns_t t = 100; t < 500; t += 100)
		runs_unseen(t, 7);
	/* A CPU of which all is known. */
	switches(HOST, 1, 500, 0, 0, 8);
	happens(HOST, 0, 510, SCHED_WAKING, -1, 9, 1);
	switches(HOST, 1, 520, 8, PREEMPTED, 9);
	/* Moved to the other: it may run there at once. */
	happens(HOST, 1, 530, SCHED_MIGRATE, 9, 8, 1, 0);
	world_close(600);
	/* Once may be an accident. */
	assert_runs(0, 105, "host/0 0 idle");
	assert_int_equal(thread_state(HOST, 7, 105), THREAD_RUNNABLE);
	assert_runs(0, 350, "host/0 0 idle");
	assert_runs(0, 401, "host/0 0 irq 24");
	assert_runs(0, 405, "host/0 - unknown");
	assert_int_equal(thread_state(HOST, 7, 405), THREAD_UNKNOWN);
	assert_int_equal(thread_state(HOST, 7, 408), THREAD_SLEEPING);
	assert_runs(0, 450, "host/0 0 idle");
	assert_int_equal(thread_state(HOST, 9, 515), THREAD_RUNNABLE);
	assert_int_equal(thread_state(HOST, 8, 525), THREAD_RUNNABLE);
	assert_int_equal(thread_state(HOST, 8, 535), THREAD_UNKNOWN);
	assert_runs(0, 535, "host/0 - unknown");
}

/* It shows that it is there, by interrupts, and that it has gone, by those that come after. */
static void how_long_a_mute_thread_stays_is_unknown(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 90, 0, 0, 7);
	for (ns_t t = 100; t < 400; t += 100) {
		switches(HOST, 0, t, 7, PREEMPTED, 66);
		happens(HOST, 0, t + 10, IRQ_ENTRY, 66, 24);
		happens(HOST, 0, t + 20, IRQ_EXIT, 66, 24);
		happens(HOST, 0, t + 50, SCHED_WAKING, 7, 8, 1);
	}
	/* One that it did leave with a word. */
	switches(HOST, 0, 400, 7, PREEMPTED, 66);
	switches(HOST, 0, 410, 66, ASLEEP, 7);
	switches(HOST, 0, 420, 7, PREEMPTED, 66);
	world_close(500);
	assert_runs(0, 125, "host/0 66 task");
	assert_runs(0, 305, "host/0 - unknown");
	assert_int_equal(thread_state(HOST, 7, 305), THREAD_UNKNOWN);
	assert_runs(0, 315, "host/0 66 irq 24");
	assert_runs(0, 325, "host/0 - unknown");
	assert_runs(0, 355, "host/0 - unknown"); /* 7, or a handler upon it */
	assert_runs(0, 405, "host/0 - unknown");
	assert_runs(0, 425, "host/0 66 task");
	assert_int_equal(thread_state(HOST, 7, 425), THREAD_RUNNABLE);
}

/* The switch to it is missing, too, from one that is seen to go: events were lost. */
static void who_was_met_in_a_hole_is_not_mute(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 80, 0, 0, 7);
	switches(HOST, 0, 90, 7, PREEMPTED, 9);
	switches(HOST, 0, 95, 9, ASLEEP, 7);
	for (ns_t t = 100; t < 200; t += 20) {
		happens(HOST, 0, t, SCHED_WAKING, 9, 5, 1);
		happens(HOST, 0, t + 10, SCHED_WAKING, 7, 5, 1);
	}
	switches(HOST, 0, 200, 7, PREEMPTED, 9);
	switches(HOST, 0, 250, 9, PREEMPTED, 7);
	world_close(300);
	assert_runs(0, 225, "host/0 9 task");
	assert_int_equal(thread_state(HOST, 7, 225), THREAD_RUNNABLE);
	assert_runs(0, 275, "host/0 7 task");
	assert_int_equal(thread_state(HOST, 9, 275), THREAD_RUNNABLE);
}

static void namespaces_come_from_the_state_dump_and_from_forks(void **state)
{
	unsigned vtids = 0;
	int64_t outer, inner, child;

	(void)state;
	world_open(1);
	happens(HOST, 0, 100, STATEDUMP_PROCESS, 7, 40, 40, 1, STR("init"), 5);
	happens(HOST, 0, 101, STATEDUMP_PID_NS, 7, 40, 40, 40, 0, 1000);
	happens(HOST, 0, 102, STATEDUMP_PID_NS, 7, 40, 1, 1, 1, 2000);
	memcpy(world.vtids, (int64_t[]){41, 2}, 16);
	world.nr_vtids = 2;
	happens(HOST, 0, 110, FORK, 40, 40, 41, 0, 41, 2000);
	/* unshare -p: the child is the first in a namespace of its own. */
	memcpy(world.vtids, (int64_t[]){42, 3, 1}, 24);
	world.nr_vtids = 3;
	happens(HOST, 0, 120, FORK, 41, 41, 42, 0, 42, 3000);
	world_close(300);
	assert_int_equal(fake_rows("pid_ns"), 3);
	outer = fake_cell("thread", thread_row(HOST, 40), "pid_ns");
	inner = fake_cell("thread", thread_row(HOST, 42), "pid_ns");
	assert_int_equal(fake_cell("pid_ns", outer, "inum"), 2000);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 41), "pid_ns"), outer);
	assert_int_equal(fake_cell("pid_ns", inner, "inum"), 3000);
	assert_int_equal(fake_cell("pid_ns", inner, "parent"), outer);
	assert_int_equal(fake_cell("pid_ns", inner, "level"), 2);
	child = thread_row(HOST, 42);
	for (unsigned i = 0; i < fake_rows("vtid"); i++) {
		if (fake_cell("vtid", i, "thread") != child)
			continue;
		vtids++;
		assert_int_equal(fake_cell("vtid", i, "vtid"),
				 world.vtids[fake_cell("vtid", i, "level")]);
	}
	assert_int_equal(vtids, 3);
	assert_int_equal(thread_state(HOST, 40, 105), THREAD_SLEEPING);
}

#define FIRST_NS 4026531836

static int64_t ns_cell_of(int64_t thread, const char *column)
{
	return fake_cell("pid_ns", fake_cell("thread", thread, "pid_ns"), column);
}

/* The context of an event tells of who runs, and not how deep that is. */
static void namespaces_come_from_contexts(void **state)
{
	(void)state;
	world_open(1);
	world.context_ns = 2000;
	world.context_vtid = 1;
	happens(HOST, 0, 100, SCHED_WAKING, 40, 7);
	world.context_ns = 3000;
	happens(HOST, 0, 110, SCHED_SWITCH, 43, 43, 44); /* 43's */
	world.context_ns = FIRST_NS;
	world.context_vtid = 41; /* it is not 50 who runs */
	happens(HOST, 0, 120, SCHED_WAKING, 50, 7);
	world.context_vtid = 51;
	happens(HOST, 0, 130, SCHED_WAKING, 51, 7);
	world.context_ns = 0;
	/* A fork tells: 40 is two levels deep. */
	memcpy(world.vtids, (int64_t[]){41, 5, 2}, 24);
	world.nr_vtids = 3;
	world.maker_ns = 2000;
	happens(HOST, 0, 140, FORK, 40, 40, 41, 0, 41, 2000);
	world_close(300);
	assert_int_equal(ns_cell_of(thread_row(HOST, 40), "inum"), 2000);
	assert_int_equal(ns_cell_of(thread_row(HOST, 40), "level"), 2);
	assert_int_equal(ns_cell_of(thread_row(HOST, 40), "parent"), -1);
	assert_int_equal(ns_cell_of(thread_row(HOST, 41), "inum"), 2000);
	assert_int_equal(ns_cell_of(thread_row(HOST, 43), "inum"), 3000);
	assert_int_equal(ns_cell_of(thread_row(HOST, 43), "level"), 1);
	assert_int_equal(ns_cell_of(thread_row(HOST, 43), "parent"), -1);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 44), "pid_ns"), -1);
	assert_int_equal(fake_cell("thread", thread_row(HOST, 50), "pid_ns"), -1);
	assert_int_equal(ns_cell_of(thread_row(HOST, 51), "inum"), FIRST_NS);
	for (unsigned i = 0; i < fake_rows("vtid"); i++) {
		if (fake_cell("vtid", i, "thread") == thread_row(HOST, 40))
			assert_int_equal(fake_cell("vtid", i, "vtid"),
					 fake_cell("vtid", i, "level") ? 1 : 40);
	}
}

/* Where there are no contexts, either. */
static void a_fork_names_the_namespace_of_its_maker(void **state)
{
	(void)state;
	world_open(1);
	memcpy(world.vtids, (int64_t[]){41, 5}, 16);
	world.nr_vtids = 2;
	world.maker_ns = 2000;
	happens(HOST, 0, 100, FORK, 40, 40, 41, 0, 41, 2000);
	/* nsenter: from the first one into one inside of that. */
	memcpy(world.vtids, (int64_t[]){61, 6, 1}, 24);
	world.nr_vtids = 3;
	world.maker_ns = FIRST_NS;
	happens(HOST, 0, 110, FORK, 60, 60, 61, 0, 61, 3000);
	world_close(300);
	assert_int_equal(ns_cell_of(thread_row(HOST, 40), "inum"), 2000);
	assert_int_equal(ns_cell_of(thread_row(HOST, 40), "level"), 1);
	assert_int_equal(ns_cell_of(thread_row(HOST, 60), "inum"), FIRST_NS);
	assert_int_equal(ns_cell_of(thread_row(HOST, 60), "level"), 0);
	assert_int_equal(ns_cell_of(thread_row(HOST, 61), "level"), 2);
}

/* A dump that names only the innermost namespace of each thread. */
static void the_namespace_around_is_found_where_it_can_be_only_one(void **state)
{
	int64_t inner, outer, first;

	(void)state;
	world_open(2);
	happens(HOST, 0, 100, STATEDUMP_PID_NS, 7, 1, 1, 1, 0, 1000);
	happens(HOST, 0, 101, STATEDUMP_PID_NS, 7, 40, 1, 1, 1, 2000);
	happens(HOST, 0, 102, STATEDUMP_PID_NS, 7, 41, 1, 1, 2, 3000);
	happens(HOST, 0, 103, STATEDUMP_PID_NS, 7, 42, 1, 1, 1, 2001);
	/* Here not even the first one is named. */
	happens(VM, 0, 104, STATEDUMP_PID_NS, 7, 50, 1, 1, 1, 2000);
	world_close(300);
	first = fake_cell("thread", thread_row(HOST, 1), "pid_ns");
	outer = fake_cell("thread", thread_row(HOST, 40), "pid_ns");
	inner = fake_cell("thread", thread_row(HOST, 41), "pid_ns");
	assert_int_equal(fake_cell("pid_ns", first, "parent"), -1);
	assert_int_equal(fake_cell("pid_ns", outer, "parent"), first);
	/* 2000 or 2001: nobody says. */
	assert_int_equal(fake_cell("pid_ns", inner, "parent"), -1);
	outer = fake_cell("thread", thread_row(VM, 50), "pid_ns");
	first = fake_cell("pid_ns", outer, "parent");
	assert_true(first >= 0);
	assert_int_equal(fake_cell("pid_ns", first, "level"), 0);
	assert_int_equal(fake_cell("pid_ns", first, "machine"), 1);
	assert_int_equal(fake_cell("pid_ns", first, "parent"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_says_who_runs),
		cmocka_unit_test(any_event_says_who_runs),
		cmocka_unit_test(system_calls_have_names_and_survive_preemption),
		cmocka_unit_test(interrupts_stack),
		cmocka_unit_test(a_switch_leaves_handlers_behind_but_a_preempted_softirq_goes_on),
		cmocka_unit_test(a_cpu_that_is_taken_down_is_idle),
		cmocka_unit_test(kernel_threads_are_known_by_proof),
		cmocka_unit_test(thread_states_follow_switches_and_wakeups),
		cmocka_unit_test(a_tid_is_used_again_by_another_thread),
		cmocka_unit_test(a_thread_that_is_freed_has_ended),
		cmocka_unit_test(threads_move),
		cmocka_unit_test(names_change),
		cmocka_unit_test(exec_gives_the_thread_its_process_number),
		cmocka_unit_test(a_thread_is_in_one_place),
		cmocka_unit_test(a_child_starts_inside_the_call_that_made_it),
		cmocka_unit_test(new_tasks_are_threads_or_processes),
		cmocka_unit_test(after_a_loss_nothing_is_known_until_an_event_tells),
		cmocka_unit_test(a_loss_is_an_interval),
		cmocka_unit_test(a_gap_is_one_row),
		cmocka_unit_test(a_gap_that_was_foreseen_is_one_row),
		cmocka_unit_test(an_event_ends_a_gap),
		cmocka_unit_test(who_ran_before_the_first_switch),
		cmocka_unit_test(a_gap_at_the_end_is_not_longer_than_known),
		cmocka_unit_test(a_seam_is_a_loss),
		cmocka_unit_test(who_is_ready_during_a_loss_may_have_run),
		cmocka_unit_test(who_sleeps_during_any_loss_may_be_woken),
		cmocka_unit_test(who_gets_ready_after_a_loss_may_have_the_cpu),
		cmocka_unit_test(whom_a_mute_thread_leaves_waiting_is_unknown),
		cmocka_unit_test(how_long_a_mute_thread_stays_is_unknown),
		cmocka_unit_test(who_was_met_in_a_hole_is_not_mute),
		cmocka_unit_test(namespaces_come_from_the_state_dump_and_from_forks),
		cmocka_unit_test(namespaces_come_from_contexts),
		cmocka_unit_test(a_fork_names_the_namespace_of_its_maker),
		cmocka_unit_test(the_namespace_around_is_found_where_it_can_be_only_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
