/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the model makes of state lines (model/dump/state_lines.c): thread 900 of the host is the
 * recorder.
 */
#include "tests/unit/model_world.h"

#include "model/boot/milestones.h"

#define REC 900
#define BEGIN "sonde: begin version=1 cause=start hostname=h boot_id=b tsc_khz=3000000"
#define END "sonde: end cause=start"

enum { UNKNOWN = 1, RUNNING, RUNNABLE_STATE, SLEEPING, BLOCKED_STATE, STOPPED, DEAD };

static const char *thread_text(int tid, const char *column)
{
	return fake_string("thread", thread_row(HOST, tid), column);
}

static int thread_number(int tid, const char *column)
{
	return (int)fake_cell("thread", thread_row(HOST, tid), column);
}

static unsigned nr_threads(int tid)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < fake_rows("thread"); i++)
		nr += fake_cell("thread", i, "tid") == tid;
	return nr;
}

static bool has_problem(const char *part)
{
	for (unsigned i = 0; i < fake_rows("problem"); i++) {
		if (strstr(fake_string("problem", i, "text"), part))
			return true;
	}
	return false;
}

static void threads_are_known_without_any_event(void **state)
{
	(void)state;
	world_open(1);
	tells(HOST, 100, REC, BEGIN);
	tells(HOST, 101, REC, "sonde: task tid=7 pid=5 ppid=1 state=S kthread=0 comm=a%20b");
	tells(HOST, 102, REC,
	      "sonde: task tid=12 pid=12 ppid=2 state=I kthread=1 comm=kworker/0:1");
	tells(HOST, 103, REC, "sonde: task tid=13 pid=13 ppid=1 state=D comm=d");
	tells(HOST, 104, REC, END);
	switches(HOST, 0, 200, 0, 0, 12);
	world_close(300);
	assert_string_equal(thread_text(7, "comm"), "a b");
	assert_int_equal(thread_number(7, "pid"), 5);
	assert_int_equal(thread_number(7, "ppid"), 1);
	assert_int_equal(thread_state(HOST, 7, 150), SLEEPING);
	assert_int_equal(thread_state(HOST, 13, 150), BLOCKED_STATE);
	assert_int_equal(thread_state(HOST, 12, 150), SLEEPING);
	assert_runs(0, 200, "host/0 12 kernel");
	assert_int_equal(fake_rows("problem"), 0);
}

/* A thread that can run waits for a CPU, if every CPU is known to run another. */
static void a_runnable_thread_waits_only_where_no_cpu_may_run_it(void **state)
{
	(void)state;
	world_open(1);
	tells(HOST, 100, REC, BEGIN);
	tells(HOST, 101, REC, "sonde: task tid=7 state=R");
	switches(HOST, 0, 102, 0, 0, 50);
	tells(HOST, 103, REC, "sonde: task tid=8 state=R");
	tells(HOST, 104, REC, END);
	world_close(300);
	assert_int_equal(thread_state(HOST, 7, 104), UNKNOWN);
	assert_int_equal(thread_state(HOST, 8, 104), RUNNABLE_STATE);
}

static void events_since_the_block_began_are_fresher(void **state)
{
	(void)state;
	world_open(1);
	tells(HOST, 100, REC, BEGIN);
	happens(HOST, 0, 110, SCHED_WAKING, 0, 7, 0, STR("new"));
	happens(HOST, 0, 111, EXIT, 8, 8, 0, STR("gone"));
	switches(HOST, 0, 112, 8, 0x20, 0);
	happens(HOST, 0, 113, FREE, 0, 8, 0, STR("gone"));
	tells(HOST, 120, REC, "sonde: task tid=7 pid=5 ppid=1 state=S comm=old");
	tells(HOST, 121, REC, "sonde: task tid=8 pid=8 ppid=1 state=S comm=gone");
	tells(HOST, 122, REC, END);
	world_close(300);
	assert_int_equal(thread_state(HOST, 7, 130), RUNNABLE_STATE);
	assert_string_equal(thread_text(7, "comm"), "new");
	assert_int_equal(thread_number(7, "pid"), 5);
	assert_int_equal(thread_number(8, "end"), 112);
	assert_int_equal(thread_state(HOST, 8, 130), DEAD);
}

/* The wake-up may have been lost. */
static void a_loss_since_the_block_began_leaves_states_unknown(void **state)
{
	(void)state;
	world_open(1);
	tells(HOST, 100, REC, BEGIN);
	happens(HOST, 0, 110, LOST, -1, 5, 105, 110);
	tells(HOST, 120, REC, "sonde: task tid=7 pid=5 ppid=1 state=S comm=a");
	tells(HOST, 122, REC, END);
	world_close(300);
	assert_int_equal(thread_state(HOST, 7, 130), UNKNOWN);
	assert_int_equal(thread_number(7, "pid"), 5);
	/* It may have been made, and orphaned, while nobody looked. */
	assert_int_equal(thread_number(7, "ppid"), -1);
}

/* A zombie is the thread that was seen to exit, or one that nobody will ever see run. */
static void what_has_exited_is_no_new_thread(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 50, 0, 0, 7);
	happens(HOST, 0, 60, EXIT, 7, 7, 0, STR("a"));
	switches(HOST, 0, 70, 7, 0, 0);
	tells(HOST, 100, REC, BEGIN);
	tells(HOST, 101, REC, "sonde: task tid=7 pid=7 ppid=1 state=Z comm=a");
	tells(HOST, 102, REC, "sonde: task tid=8 pid=8 ppid=1 state=Z comm=b");
	tells(HOST, 103, REC, "sonde: task tid=9 pid=9 ppid=1 state=S comm=c");
	tells(HOST, 104, REC, END);
	world_close(300);
	assert_int_equal(nr_threads(9), 1);
	assert_int_equal(nr_threads(8), 0);
	assert_int_equal(nr_threads(7), 1);
}

static void lines_outside_a_block_are_not_used(void **state)
{
	(void)state;
	world_open(1);
	tells(HOST, 100, REC, "sonde: task tid=7 pid=5");
	tells(HOST, 101, REC, BEGIN);
	tells(HOST, 102, 666, "sonde: task tid=8 pid=5");
	tells(HOST, 103, REC, "sonde: task tid=9 pid=5");
	world_close(300);
	assert_int_equal(thread_number(9, "pid"), 5);
	for (unsigned i = 0; i < fake_rows("thread"); i++)
		assert_true(fake_cell("thread", i, "tid") != 7 &&
			    fake_cell("thread", i, "tid") != 8);
	assert_true(has_problem("2 lines of statedumps are not used"));
	assert_true(has_problem("not complete"));
}

static void lost_lines_are_told(void **state)
{
	(void)state;
	world_open(1);
	tells(HOST, 101, REC, BEGIN);
	tells(HOST, 103, REC, "sonde: task tid=9 pid=5");
	tells(HOST, 104, REC, "sonde: end cause=start tasks=10");
	world_close(300);
	assert_true(has_problem("of 10 threads that were there, only 1"));
}

/* ---- namespaces and cgroups -------------------------------------------------------------------
 */

static int64_t ns_row(int inum)
{
	for (unsigned i = 0; i < fake_rows("pid_ns"); i++) {
		if (fake_cell("pid_ns", i, "inum") == inum)
			return i;
	}
	return -1;
}

static void a_thread_is_known_at_every_level(void **state)
{
	(void)state;
	world_open(1);
	tells(HOST, 100, REC, BEGIN);
	tells(HOST, 101, REC, "sonde: pidns inum=1000 parent=0 level=0");
	tells(HOST, 102, REC, "sonde: pidns inum=2000 parent=1000 level=1");
	tells(HOST, 103, REC, "sonde: pidns inum=3000 parent=2000 level=2");
	tells(HOST, 104, REC, "sonde: task tid=70 pid=70 pidns=3000 nstids=70,8,1");
	tells(HOST, 105, REC, END);
	world_close(300);
	assert_int_equal(fake_cell("pid_ns", ns_row(3000), "parent"), ns_row(2000));
	assert_int_equal(fake_cell("pid_ns", ns_row(2000), "parent"), ns_row(1000));
	assert_int_equal(fake_cell("pid_ns", ns_row(1000), "parent"), -1);
	assert_int_equal(thread_number(70, "pid_ns"), ns_row(3000));
	assert_int_equal(fake_rows("vtid"), 3);
	for (unsigned i = 0; i < 3; i++) {
		static const int inums[] = {1000, 2000, 3000}, vtids[] = {70, 8, 1};
		int level = (int)fake_cell("vtid", i, "level");

		assert_int_equal(fake_cell("vtid", i, "vtid"), vtids[level]);
		assert_int_equal(fake_cell("vtid", i, "pid_ns"), ns_row(inums[level]));
	}
}

#define ID64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The name a container has whose first process is in cgroup @path. */
static const char *container(const char *path)
{
	char line[300];

	world_open(1);
	tells(HOST, 100, REC, BEGIN);
	snprintf(line, sizeof(line), "sonde: cgroup id=77 path=%s", path);
	tells(HOST, 101, REC, line);
	tells(HOST, 102, REC, "sonde: pidns inum=2000 parent=1000 level=1");
	tells(HOST, 103, REC, "sonde: task tid=71 pid=71 pidns=2000 nstids=71,2 cgroup=78");
	tells(HOST, 104, REC, "sonde: task tid=70 pid=70 pidns=2000 nstids=70,1 cgroup=77");
	tells(HOST, 105, REC, "sonde: cgroup id=78 path=/docker/ffffffffffffffff");
	tells(HOST, 106, REC, END);
	happens(HOST, 0, 110, FORK, 70, 70, 80, 0, 80, 2000);
	world_close(300);
	assert_int_equal(thread_number(80, "cgroup"), thread_number(70, "cgroup"));
	assert_string_equal(fake_string("cgroup", thread_number(70, "cgroup"), "path"), path);
	return fake_string("pid_ns", ns_row(2000), "name");
}

static void containers_are_named_after_their_cgroup(void **state)
{
	(void)state;
	assert_string_equal(container("/d/docker-0123456789abcdef.scope"), "docker-0123456789ab");
	assert_string_equal(container("/docker/0123456789abcdef"), "docker-0123456789ab");
	assert_string_equal(container("/m/libpod-0123456789abcdef.scope/c"), "podman-0123456789ab");
	assert_string_equal(container("/kubepods/burstable/podab-12/0123456789abcdef"),
			    "kubepods-0123456789ab");
	assert_string_equal(container("/k/cri-containerd-0123456789abcdef.scope"),
			    "kubepods-0123456789ab");
	assert_string_equal(container("/lxc/web/init.scope"), "lxc-web");
	assert_string_equal(container("/lxc.payload.web/system.slice"), "lxc-web");
	assert_string_equal(container("/m.slice/machine-deb.scope"), "nspawn-deb");
	/* None of these says so: a service, an id that is none, a VM of libvirt's, the root. */
	assert_string_equal(container("/system.slice/docker.service"), "");
	assert_string_equal(container("/docker/xyz"), "");
	assert_string_equal(container("/m.slice/machine-qemu-1-vm.scope"), "");
	assert_string_equal(container("/"), "");
}

/* ---- VMs --------------------------------------------------------------------------------------
 */

static int64_t machine_row(const char *name)
{
	for (unsigned i = 0; i < fake_rows("machine"); i++) {
		if (!strcmp(fake_string("machine", i, "name"), name))
			return i;
	}
	return -1;
}

static const char *identity(int64_t machine, const char *key)
{
	for (unsigned i = 0; i < fake_rows("identity"); i++) {
		if (fake_cell("identity", i, "machine") == machine &&
		    !strcmp(fake_string("identity", i, "key"), key))
			return fake_string("identity", i, "value");
	}
	return "";
}

static void list_vms(void)
{
	tells(HOST, 100, REC, BEGIN);
	tells(HOST, 101, REC,
	      "sonde: vm vm=0 pid=200 name=web uuid=01234567-89ab-cdef-0123-456789abcdef "
	      "manager=qemu");
	tells(HOST, 102, REC, "sonde: vcpu vm=0 vcpu=0 tid=210 tsc_offset=-5");
	tells(HOST, 103, REC, "sonde: vcpu vm=0 vcpu=1 tid=211 tsc_offset=-5");
	tells(HOST, 104, REC, "sonde: vm vm=1 pid=300 name=silent manager=qemu");
	tells(HOST, 105, REC, "sonde: vcpu vm=7 vcpu=1 tid=400");
	tells(HOST, 106, REC, END);
}

static void vms_are_there_from_the_start(void **state)
{
	int64_t web;

	(void)state;
	world_open(1);
	list_vms();
	switches(HOST, 0, 200, 0, 0, 210);
	world_close(300);
	web = machine_row("web");
	assert_true(web > 0 && machine_row("silent") > 0);
	assert_int_equal(fake_rows("machine"), 3);
	assert_int_equal(fake_cell("machine", web, "vm_pid"), 200);
	assert_int_equal(fake_cell("machine", web, "pid_known"), 1);
	assert_string_equal(identity(web, "vm_uuid"), "01234567-89ab-cdef-0123-456789abcdef");
	assert_string_equal(identity(web, "vm_manager"), "qemu");
	assert_string_equal(identity(HOST, "tsc_khz"), "3000000");
	assert_string_equal(identity(HOST, "hostname"), "h");
	assert_int_equal(fake_rows("cpu"), 2 + 2);
	assert_int_equal(thread_number(210, "pid"), 200);
	assert_int_equal(vcpu_at("web", 0, "state", 250), 2);
	/* No KVM event came: the trace does not say when it is in the guest. */
	assert_runs(0, 200, "host/0 210 task");
}

static void listed_vcpus_are_those_of_later_events(void **state)
{
	(void)state;
	world_open(1);
	list_vms();
	switches(HOST, 0, 200, 0, 0, 210);
	enters(HOST, 0, 210, 210);
	exits(HOST, 0, 220, 210, EXIT_HLT);
	world_close(300);
	assert_int_equal(fake_rows("cpu"), 2 + 2);
	assert_runs(0, 210, "web/0 - guest");
	assert_runs(0, 220, "host/0 210 hypervisor 120 for web/0");
}

/* The trace began before the list was made. */
static void earlier_events_vcpus_are_those_of_the_list(void **state)
{
	(void)state;
	world_open(1);
	switches(HOST, 0, 50, 0, 0, 210);
	enters(HOST, 0, 60, 210);
	list_vms();
	world_close(300);
	assert_int_equal(fake_rows("machine"), 3);
	assert_int_equal(fake_rows("cpu"), 2 + 2);
	assert_runs(0, 70, "web/0 - guest");
}

static void a_listed_vm_with_a_trace_is_that_machine(void **state)
{
	(void)state;
	world_open(2);
	tells(HOST, 100, REC, BEGIN);
	tells(HOST, 101, REC, "sonde: vm vm=0 pid=99 name=web");
	tells(HOST, 102, REC, "sonde: vcpu vm=0 vcpu=0 tid=100");
	tells(HOST, 103, REC, END);
	world_close(300);
	assert_int_equal(fake_rows("machine"), 2);
	assert_int_equal(fake_cell("machine", VM, "vm_pid"), 99);
	assert_string_equal(identity(VM, "vm_name"), "web");
	assert_int_equal(fake_cell("cpu", 2, "host_tid"), 100);
}

static void each_block_lists_all_again(void **state)
{
	(void)state;
	world_open(1);
	list_vms();
	tells(HOST, 200, REC, "sonde: begin version=1 cause=vm");
	tells(HOST, 201, REC, "sonde: vm vm=0 pid=300 name=silent");
	tells(HOST, 202, REC, "sonde: vcpu vm=0 vcpu=0 tid=310");
	tells(HOST, 203, REC, "sonde: vm vm=3 pid=200 name=web");
	tells(HOST, 204, REC, "sonde: vcpu vm=3 vcpu=0 tid=210");
	tells(HOST, 205, REC, "sonde: end");
	world_close(300);
	assert_int_equal(fake_rows("machine"), 3);
	assert_int_equal(fake_rows("cpu"), 2 + 3);
	assert_int_equal(fake_cell("machine", machine_row("silent"), "vm_pid"), 300);
}

static void cpu_times_are_kept(void **state)
{
	(void)state;
	world_open(2);
	tells(VM, 100, 5, "sonde: begin version=1 cause=end");
	tells(VM, 101, 5,
	      "sonde: stat cpu=1 user=1 nice=2 system=3 idle=4 iowait=5 irq=6 softirq=7 steal=8 "
	      "guest=9 hz=100");
	tells(VM, 102, 5, "sonde: end cause=end");
	world_close(300);
	assert_int_equal(fake_rows("stat"), 1);
	assert_int_equal(fake_cell("stat", 0, "machine"), VM);
	assert_int_equal(fake_cell("stat", 0, "at"), 101);
	assert_string_equal(fake_string("stat", 0, "cause"), "end");
	assert_int_equal(fake_cell("stat", 0, "cpu"), 1);
	assert_int_equal(fake_cell("stat", 0, "hz"), 100);
	assert_int_equal(fake_cell("stat", 0, "user"), 1);
	assert_int_equal(fake_cell("stat", 0, "steal"), 8);
	assert_int_equal(fake_cell("stat", 0, "guest_nice"), -1);
}

static void other_text_is_a_mark(void **state)
{
	(void)state;
	world_open(2);
	switches(VM, 1, 90, 0, RUNNABLE, 5);
	tells(VM, 100, 5, "request 7 begins\n");
	tells(VM, 101, 5, "sonde: begin version=1 cause=end");
	tells(HOST, 102, 900, "of the host");
	world_close(300);
	assert_int_equal(fake_rows("mark"), 2);
	assert_string_equal(fake_string("mark", 0, "text"), "request 7 begins");
	assert_int_equal(fake_cell("mark", 0, "at"), 100);
	assert_int_equal(fake_cell("mark", 0, "machine"), VM);
	assert_int_equal(fake_cell("mark", 0, "cpu"), 1);
	assert_int_equal(fake_cell("mark", 0, "thread"), thread_row(VM, 5));
	assert_int_equal(fake_cell("mark", 0, "kind"), 0);
	assert_int_equal(fake_cell("mark", 1, "machine"), HOST);
}

/* A boot that the kernel recorded before: times of the trace's clock, before its first event. */
static void a_boot_that_was_recorded_is_told(void **state)
{
	(void)state;
	world_open(2);
	world.traces[VM].clock.kind = CLOCK_TSC;
	tells(VM, 1000, 5, "sonde: begin version=1 cause=boot");
	tells(VM, 1000, 5, "sonde: booted time=90 what=initcall name=none tid=1 end=95 result=0");
	tells(VM, 1001, 5, "sonde: booted time=100 what=level name=early");
	tells(VM, 1002, 5,
	      "sonde: booted time=110 what=initcall name=one tid=1 end=150 result=-19");
	tells(VM, 1003, 5, "sonde: booted time=160 what=initcall name=two tid=9");
	tells(VM, 1004, 5, "sonde: booted time=200 what=init name=init");
	tells(VM, 1004, 5,
	      "sonde: booted time=210 what=initcall name=[four] tid=1 end=220 result=0");
	/* What cannot be: in the future, an end before its begin, no time, no name. */
	tells(VM, 1005, 5, "sonde: booted time=2000 what=level name=early");
	tells(VM, 1006, 5, "sonde: booted time=120 what=initcall name=three end=119");
	tells(VM, 1007, 5, "sonde: booted time=120 what=initcall name=three end=1008");
	tells(VM, 1008, 5, "sonde: booted what=init name=init");
	tells(VM, 1009, 5, "sonde: booted time=1 what=init");
	tells(VM, 1010, 5, "sonde: booted time=1 what=other name=a");
	tells(VM, 1011, 5, "sonde: end cause=boot");
	world_close(1100);
	assert_int_equal(fake_rows("milestone"), 2);
	assert_string_equal(fake_string("milestone", 0, "kind"), "level");
	assert_string_equal(fake_string("milestone", 0, "text"), "early");
	assert_int_equal(fake_cell("milestone", 0, "at"), 100);
	assert_string_equal(fake_string("milestone", 1, "kind"), "init");
	assert_int_equal(fake_cell("milestone", 1, "at"), 200);
	assert_int_equal(fake_rows("initcall"), 4);
	assert_string_equal(fake_string("initcall", 0, "level"), "unknown"); /* none had begun */
	assert_int_equal(fake_cell("initcall", 1, "machine"), VM);
	assert_string_equal(fake_string("initcall", 1, "name"), "one");
	assert_string_equal(fake_string("initcall", 1, "level"), "early");
	assert_int_equal(fake_cell("initcall", 1, "begin"), 110);
	assert_int_equal(fake_cell("initcall", 1, "end"), 150);
	assert_int_equal(fake_cell("initcall", 1, "result"), -19);
	assert_int_equal(fake_cell("initcall", 2, "end"), -1);
	/* The first program loads modules, too. */
	assert_int_equal(fake_cell("initcall", 3, "level"), 0);
	assert_int_equal(fake_rows("problem"), 0);
}

/* A boot of which something is missing is not told as whole. */
static void a_boot_that_is_not_whole_is_told(void **state)
{
	(void)state;
	world_open(2);
	world.traces[VM].clock.kind = CLOCK_TSC;
	tells(VM, 1000, 5, "sonde: begin version=1 cause=boot");
	tells(VM, 1001, 5, "sonde: booted what=lost lost=700 cut=1");
	tells(VM, 1002, 5, "sonde: end cause=boot");
	world_close(1100);
	assert_int_equal(fake_rows("problem"), 2);
	assert_non_null(strstr(fake_string("problem", 0, "text"), "at least 700 events"));
	assert_non_null(strstr(fake_string("problem", 1, "text"), "not read to its e"));
	assert_int_equal(fake_rows("milestone"), 2);
	assert_string_equal(fake_string("milestone", 0, "kind"), "lost");
	assert_string_equal(fake_string("milestone", 0, "text"), "at least 700 events");
	assert_string_equal(fake_string("milestone", 1, "text"), "its end");
}

/* A guest may tell any number of them. */
static void milestones_have_an_end(void **state)
{
	static const struct milestone milestone = {.kind = "level"};
	static struct model m;

	(void)state;
	for (unsigned i = 0; i < 70000; i++)
		milestone_add(&m, &milestone);
	assert_int_equal(m.nr_milestones, 65536);
	free(m.milestones);
}

/* Another clock than the one that the lines speak of. */
static void a_boot_in_another_clock_is_left_out(void **state)
{
	(void)state;
	world_open(2);
	world.traces[VM].clock.kind = CLOCK_MONO;
	tells(VM, 1000, 5, "sonde: begin version=1 cause=boot");
	tells(VM, 1001, 5, "sonde: booted time=100 what=level name=early");
	tells(VM, 1002, 5, "sonde: end cause=boot");
	world_close(1100);
	assert_int_equal(fake_rows("milestone"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_known_without_any_event),
		cmocka_unit_test(milestones_have_an_end),
		cmocka_unit_test(a_boot_that_is_not_whole_is_told),
		cmocka_unit_test(a_runnable_thread_waits_only_where_no_cpu_may_run_it),
		cmocka_unit_test(events_since_the_block_began_are_fresher),
		cmocka_unit_test(a_loss_since_the_block_began_leaves_states_unknown),
		cmocka_unit_test(what_has_exited_is_no_new_thread),
		cmocka_unit_test(lines_outside_a_block_are_not_used),
		cmocka_unit_test(lost_lines_are_told),
		cmocka_unit_test(a_thread_is_known_at_every_level),
		cmocka_unit_test(containers_are_named_after_their_cgroup),
		cmocka_unit_test(vms_are_there_from_the_start),
		cmocka_unit_test(listed_vcpus_are_those_of_later_events),
		cmocka_unit_test(earlier_events_vcpus_are_those_of_the_list),
		cmocka_unit_test(a_listed_vm_with_a_trace_is_that_machine),
		cmocka_unit_test(each_block_lists_all_again),
		cmocka_unit_test(cpu_times_are_kept),
		cmocka_unit_test(other_text_is_a_mark),
		cmocka_unit_test(a_boot_that_was_recorded_is_told),
		cmocka_unit_test(a_boot_in_another_clock_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
