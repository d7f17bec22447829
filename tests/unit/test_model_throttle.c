/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas of cgroups that the kernel tells of.
 *
 * Threads of the host: 100 runs vm's CPU 0, 20 belongs to nobody.  Cgroup 1 is "/", 7 is "/limited"
 * and 8 "/limited/vcpu0"; 9 is "/limited-not".
 */
#include "model/sched/throttle.h"
#include "tests/unit/model_world.h"

enum { OTHER = 20 };

static int why_off(ns_t t)
{
	return (int)vcpu_at("vm", 0, "why_off", t);
}

/* Thread @running has CPU 0 meanwhile. */
static void throttles(ns_t t, int running, int cgroup, int cpu)
{
	happens(HOST, 0, t, CPU_THROTTLE, running, cgroup, cpu);
}

static void unthrottles(ns_t t, int cgroup, int cpu)
{
	happens(HOST, 1, t, CPU_UNTHROTTLE, 1, cgroup, cpu);
}

static void wakes(ns_t t, int cpu)
{
	happens(HOST, 1, t, SCHED_WAKING, 1, 100, cpu);
}

/* The vCPU's thread is in a cgroup, and in its guest. */
static void open_world(int cgroup, const char *path)
{
	world_open(2);
	happens(HOST, 1, 1, CGROUP_MKDIR, 1, 1, 0, STR("/"));
	happens(HOST, 1, 2, CGROUP_MKDIR, 1, 7, 0, STR("/limited"));
	happens(HOST, 1, 3, CGROUP_ATTACH, 1, cgroup, 100, STR(path));
	switches(HOST, 0, 10, 0, RUNNABLE, 100);
	enters(HOST, 0, 20, 100);
}

static void exits_for(ns_t t, int next)
{
	exits(HOST, 0, t, 100, EXIT_INTR);
	throttles(t + 2, 100, 7, 0);
	switches(HOST, 0, t + 4, 100, RUNNABLE, next);
}

static void it_is_told_though_others_have_the_cpu(void **state)
{
	(void)state;
	open_world(7, "/limited");
	exits_for(100, OTHER);
	unthrottles(500, 7, 0);
	switches(HOST, 0, 600, OTHER, RUNNABLE, 100);
	exits(HOST, 0, 700, 100, EXIT_INTR);
	switches(HOST, 0, 704, 100, RUNNABLE, OTHER);
	world_close(900);
	assert_int_equal(why_off(300), OFF_THROTTLED);
	assert_int_equal(why_off(550), OFF_READY);
	assert_int_not_equal(why_off(800), OFF_THROTTLED);
}

static void it_holds_what_is_in_the_cgroup(void **state)
{
	(void)state;
	open_world(8, "/limited/vcpu0");
	exits_for(100, OTHER);
	world_close(300);
	assert_int_equal(why_off(200), OFF_THROTTLED);
}

/* Its number was heard of before its path was. */
static void it_may_be_named_late(void **state)
{
	(void)state;
	world_open(2);
	happens(HOST, 1, 1, CGROUP_ATTACH, 1, 8, 100, STR("/limited/vcpu0"));
	switches(HOST, 0, 10, 0, RUNNABLE, 100);
	enters(HOST, 0, 20, 100);
	exits_for(100, OTHER);
	switches(HOST, 0, 200, OTHER, RUNNABLE, 100);
	happens(HOST, 1, 300, CGROUP_MKDIR, 1, 7, 0, STR("/limited"));
	enters(HOST, 0, 310, 100);
	exits(HOST, 0, 400, 100, EXIT_INTR);
	switches(HOST, 0, 404, 100, RUNNABLE, OTHER);
	world_close(500);
	assert_int_not_equal(why_off(150), OFF_THROTTLED);
	assert_int_equal(why_off(450), OFF_THROTTLED);
}

static void it_holds_nobody_else(void **state)
{
	(void)state;
	open_world(9, "/limited-not");
	exits_for(100, OTHER);
	world_close(300);
	assert_int_not_equal(why_off(200), OFF_THROTTLED);
}

static void it_holds_on_one_cpu(void **state)
{
	(void)state;
	open_world(7, "/limited");
	exits(HOST, 0, 100, 100, EXIT_INTR);
	throttles(102, 100, 7, 1);
	switches(HOST, 0, 104, 100, RUNNABLE, OTHER);
	happens(HOST, 1, 200, SCHED_MIGRATE, 1, 100, 0, 1);
	happens(HOST, 1, 300, SCHED_MIGRATE, 1, 100, 1, 0);
	world_close(400);
	assert_int_not_equal(why_off(150), OFF_THROTTLED);
	assert_int_equal(why_off(250), OFF_THROTTLED);
	assert_int_equal(why_off(350), OFF_READY);
}

/* It falls asleep before its cgroup is throttled by others, and is woken meanwhile. */
static void who_is_woken_may_not_run_either(void **state)
{
	(void)state;
	open_world(7, "/limited");
	exits(HOST, 0, 100, 100, EXIT_HLT);
	switches(HOST, 0, 110, 100, ASLEEP, OTHER);
	throttles(120, OTHER, 7, 0);
	wakes(200, 0);
	unthrottles(300, 7, 0);
	switches(HOST, 0, 400, OTHER, RUNNABLE, 100);
	enters(HOST, 0, 410, 100);
	exits(HOST, 0, 500, 100, EXIT_HLT);
	switches(HOST, 0, 510, 100, ASLEEP, OTHER);
	wakes(600, 0);
	world_close(700);
	assert_int_equal(why_off(250), OFF_THROTTLED);
	assert_int_equal(why_off(350), OFF_READY);
	assert_int_equal(why_off(650), OFF_READY);
}

/* Once the cgroup itself, once the one that it is in. */
static void twice_is_told_twice(void **state)
{
	(void)state;
	open_world(7, "/limited");
	exits_for(100, OTHER);
	throttles(200, OTHER, 7, 0);
	unthrottles(300, 7, 0);
	unthrottles(400, 7, 0);
	world_close(500);
	assert_int_equal(why_off(350), OFF_THROTTLED);
	assert_int_equal(why_off(450), OFF_READY);
}

/* Where the kernel tells, a CPU that idles tells nothing. */
static void an_idle_cpu_is_no_quota(void **state)
{
	(void)state;
	open_world(9, "/limited-not");
	exits_for(100, OTHER);
	switches(HOST, 0, 200, OTHER, ASLEEP, 0);
	world_close(300);
	assert_int_not_equal(why_off(250), OFF_QUOTA);
}

/* No quota need be used up for that. */
static void a_recorder_may_tell(void **state)
{
	struct event_type types[] = {{.kind = EV_SCHED_SWITCH}, {.kind = EV_CPU_THROTTLE}};
	struct trace trace = {.types = types, .nr_types = 1};

	(void)state;
	assert_false(throttle_is_told(NULL));
	assert_false(throttle_is_told(&trace));
	trace.nr_types = 2;
	assert_true(throttle_is_told(&trace));
}

/* Both that a quota is there again, and that it is used up: what was lost may have been either. */
static void what_was_lost_is_not_known(void **state)
{
	(void)state;
	open_world(7, "/limited");
	exits_for(100, OTHER);
	happens(HOST, 1, 200, LOST, -1, 5, 150, 200);
	happens(HOST, 1, 290, IRQ_ENTRY, 1, 24); /* who is ready is ready again from here on */
	happens(HOST, 1, 291, IRQ_EXIT, 1, 24);
	switches(HOST, 0, 300, OTHER, RUNNABLE, 100);
	enters(HOST, 0, 310, 100);
	exits(HOST, 0, 400, 100, EXIT_INTR);
	switches(HOST, 0, 404, 100, RUNNABLE, OTHER);
	throttles(500, OTHER, 7, 0);
	world_close(600);
	assert_int_equal(why_off(150), OFF_THROTTLED);
	assert_int_equal(why_off(250), OFF_UNKNOWN);
	assert_int_not_equal(why_off(450), OFF_THROTTLED);
	assert_int_equal(why_off(550), OFF_THROTTLED);
}

static void nonsense_changes_nothing(void **state)
{
	(void)state;
	open_world(7, "/limited");
	unthrottles(30, 7, 0);
	throttles(31, 100, 0, 0);
	throttles(32, 100, 7, -1);
	throttles(33, 100, 7, 1 << 20);
	happens(HOST, 1, 34, CPU_THROTTLE, 1, -1, 0);
	happens(HOST, 1, 35, CGROUP_ATTACH, 1, 0, 100, STR("/x"));
	happens(HOST, 1, 36, CGROUP_ATTACH, 1, 7, -5, STR("/limited"));
	exits(HOST, 0, 100, 100, EXIT_INTR);
	switches(HOST, 0, 104, 100, RUNNABLE, OTHER);
	world_close(300);
	assert_int_not_equal(why_off(200), OFF_THROTTLED);
}

/* For tests/cmd/costs.py: so many losses, and a cgroup is throttled on far more CPUs. */
static void is_lost_often(int nr)
{
	open_world(7, "/limited");
	for (int i = 0; i < 16 * nr; i++)
		throttles(100, 100, 7, 1 + i);
	for (int i = 0; i < nr; i++) {
		throttles(200 + 10 * i, 100, 7, 0);
		happens(HOST, 1, 205 + 10 * i, LOST, -1, 5, 203 + 10 * i, 205 + 10 * i);
	}
	world_close(300 + 10 * nr);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_told_though_others_have_the_cpu),
		cmocka_unit_test(it_holds_what_is_in_the_cgroup),
		cmocka_unit_test(it_may_be_named_late),
		cmocka_unit_test(it_holds_nobody_else),
		cmocka_unit_test(it_holds_on_one_cpu),
		cmocka_unit_test(who_is_woken_may_not_run_either),
		cmocka_unit_test(twice_is_told_twice),
		cmocka_unit_test(an_idle_cpu_is_no_quota),
		cmocka_unit_test(a_recorder_may_tell),
		cmocka_unit_test(what_was_lost_is_not_known),
		cmocka_unit_test(nonsense_changes_nothing),
	};

	if (argc == 2) {
		is_lost_often(atoi(argv[1]));
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
