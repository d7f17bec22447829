/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorder reads and writes as text: command lines of VMMs, events, state lines, names. */
#define _GNU_SOURCE /* pipe2() */
#include "tests/unit/unit.h"

#include "record/host/clocks.h"
#include "record/host/comms.h"
#include "record/tracers/events.h"
#include "record/host/state_line.h"
#include "record/host/vmm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- command lines of VMMs ---- */

/* @words with "|" for the NULs between them. */
static struct vm_info vm_of(const char *words)
{
	struct vm_info vm = {0};
	size_t len = strlen(words);
	char *copy = strdup(words);

	for (char *c = copy; *c; c++)
		*c = *c == '|' ? '\0' : *c;
	vmm_read_command(&vm, copy, len + 1);
	free(copy);
	return vm;
}

static void vmm_commands(void **state)
{
	static const struct {
		const char *words, *name, *uuid, *manager;
	} cases[] = {
		{"/usr/bin/qemu-system-x86_64|-name|guest=web,debug-threads=on|-uuid|"
		 "01234567-89ab-cdef-0123-456789abcdef",
		 "web", "01234567-89ab-cdef-0123-456789abcdef", "qemu"},
		{"qemu-system-x86_64|-name|plain|-m|512", "plain", "", "qemu"},
		{"qemu-system-x86_64|-name|plain,process=p", "plain", "", "qemu"},
		{"qemu-system-x86_64|-name|process=p,guest=a,,b", "a,b", "", "qemu"},
		{"kvm|-smbios|type=1,manufacturer=M,uuid=u-1", "", "u-1", "qemu"},
		{"kvm|-uuid|first|-smbios|type=1,uuid=second", "", "first", "qemu"},
		{"/opt/firecracker|--id|f1|--api-sock|/run/f", "f1", "", "firecracker"},
		{"./firecracker-v1.5|--id=f2", "f2", "", "firecracker"},
		{"cloud-hypervisor|--kernel|vmlinux", "", "", "cloud-hypervisor"},
		/* No VMM that we know, and options without a value. */
		{"python3|vm.py|-name|guest=x", "x", "", ""},
		{"qemu-system-x86_64|-name", "", "", "qemu"},
		{"qemu-system-x86_64|-name|", "", "", "qemu"},
		{"qemu-system-x86_64|-name|,", "", "", "qemu"},
		{"", "", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct vm_info vm = vm_of(cases[i].words);

		assert_string_equal(vm.name, cases[i].name);
		assert_string_equal(vm.uuid, cases[i].uuid);
		assert_string_equal(vm.manager, cases[i].manager);
	}
}

/* A copy of a VM has its UUID: neither is proven.  Two VMs of one process are that process. */
static void a_uuid_proves_one_vm(void **state)
{
	struct vm_info list[] = {
		{.pid = 10, .uuid = "ad8dc0f8-1"}, {.pid = 11, .uuid = "ad8dc0f8-2"},
		{.pid = 12, .uuid = "AD8DC0F8-2"}, {.pid = 13, .uuid = "ad8dc0f8-3"},
		{.pid = 13, .uuid = "ad8dc0f8-3"}, {.pid = 14}};
	const struct vms vms = {.list = list, .nr = ARRAY_SIZE(list)};

	(void)state;
	assert_int_equal(vms_with_uuid(&vms, "AD8DC0F8-1"), 10);
	assert_int_equal(vms_with_uuid(&vms, "ad8dc0f8-2"), -1);
	assert_int_equal(vms_with_uuid(&vms, "ad8dc0f8-3"), 13);
	assert_int_equal(vms_with_uuid(&vms, "ad8dc0f8-4"), 0);
	assert_int_equal(vms_with_uuid(&vms, ""), 0);
}

static void vmm_long_values_are_cut(void **state)
{
	char words[1000] = "qemu|-name|guest=";
	struct vm_info vm;

	(void)state;
	memset(words + strlen(words), 'x', 600);
	vm = vm_of(words);
	assert_int_equal(strlen(vm.name), sizeof(vm.name) - 1);
}

static void vmm_threads(void **state)
{
	(void)state;
	assert_int_equal(vmm_vcpu_of_thread("CPU 0/KVM"), 0);
	assert_int_equal(vmm_vcpu_of_thread("CPU 12/KVM"), 12);
	assert_int_equal(vmm_vcpu_of_thread("CPU 12/TCG"), -1);
	assert_int_equal(vmm_vcpu_of_thread("fc_vcpu 3"), 3);
	assert_int_equal(vmm_vcpu_of_thread("vcpu7"), 7);
	assert_int_equal(vmm_vcpu_of_thread("vcpu7x"), -1);
	assert_int_equal(vmm_vcpu_of_thread("vcpu"), -1);
	assert_int_equal(vmm_vcpu_of_thread("qemu-system-x86"), -1);
}

/* ---- events ---- */

static void make_event(const char *dir, const char *event)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, event);
	for (char *slash = strchr(path + strlen(dir) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	mkdir(path, 0755);
	strcat(path, "/enable");
	close(open(path, O_WRONLY | O_CREAT, 0644));
}

static int select_from(const char *dir, unsigned purpose, const char *extra,
		       struct event_list *list, struct event_gaps *gaps, struct error *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	int ret = select_events(fd, event_purpose(purpose, false), &extra, extra ? 1 : 0, list,
				gaps, err);

	close(fd);
	return ret;
}

static bool has(const struct event_list *list, const char *name)
{
	for (unsigned i = 0; i < list->nr; i++) {
		if (!strcmp(list->items[i].name, name))
			return true;
	}
	return false;
}

static void events_that_exist(void **state)
{
	char dir[] = "/tmp/sonde-test-events-XXXXXX", command[64];
	struct event_list list = {0};
	struct event_gaps gaps;
	struct error err = {0};

	(void)state;
	assert_non_null(mkdtemp(dir));
	make_event(dir, "sched/sched_waking");
	assert_int_equal(select_from(dir, RECORD_CPU, NULL, &list, &gaps, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no event sched:sched_switch"));
	event_list_release(&list);

	make_event(dir, "sched/sched_switch");
	make_event(dir, "sched/sched_wakeup");
	make_event(dir, "sched/sched_odd");
	assert_int_equal(select_from(dir, RECORD_CPU, NULL, &list, &gaps, NULL), 0);
	assert_int_equal(list.nr, 2);
	assert_true(gaps.no_kvm);
	assert_null(strstr(gaps.missing, "kvm"));
	assert_non_null(strstr(gaps.missing, "sched:sched_wakeup_new"));
	assert_null(strstr(gaps.missing, "thermal_apic"));
	event_list_release(&list);

	/* The older kernels' name stands in; the newer is taken where there are both. */
	make_event(dir, "kvm/kvm_exit");
	make_event(dir, "kvm/kvm_nested_vmrun");
	assert_int_equal(select_from(dir, RECORD_WAIT, "sched", &list, &gaps, NULL), 0);
	assert_false(gaps.no_kvm);
	assert_true(has(&list, "kvm_nested_vmrun"));
	assert_true(has(&list, "sched_wakeup")); /* of WAIT, and of all of sched */
	assert_true(has(&list, "sched_odd"));
	assert_int_equal(list.nr, 6);
	event_list_release(&list);
	make_event(dir, "kvm/kvm_nested_vmenter");
	assert_int_equal(select_from(dir, 0, "kvm:kvm_nested_vmenter", &list, &gaps, NULL), 0);
	assert_false(has(&list, "kvm_nested_vmrun"));
	assert_true(has(&list, "kvm_nested_vmenter"));
	for (unsigned i = 1; i < list.nr; i++)
		assert_true(strcmp(list.items[i - 1].system, list.items[i].system) <= 0);
	event_list_release(&list);

	assert_int_equal(select_from(dir, 0, "kvm:nothing", &list, &gaps, &err), -ENOENT);
	event_list_release(&list);
	assert_int_equal(select_from(dir, 0, "../kvm:kvm_exit", &list, &gaps, &err), -EINVAL);
	event_list_release(&list);
	make_event(dir, "."); /* events/enable: all there are */
	assert_int_equal(select_from(dir, 0, "kvm:..", &list, &gaps, &err), -EINVAL);
	event_list_release(&list);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

static const struct event_name *find(const struct event_list *list, const char *name)
{
	for (unsigned i = 0; i < list->nr; i++) {
		if (!strcmp(list->items[i].name, name))
			return &list->items[i];
	}
	return NULL;
}

/* Timers are for a clock that is theirs; of MSRs the deadlines, unless a user wants them all. */
static void events_for_clocks(void **state)
{
	char dir[] = "/tmp/sonde-test-events-XXXXXX", command[64];
	const char *msr = "kvm:kvm_msr";
	struct event_list list = {0};
	struct event_gaps gaps;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	make_event(dir, "sched/sched_switch");
	make_event(dir, "timer/hrtimer_start");
	make_event(dir, "kvm/kvm_exit");
	make_event(dir, "kvm/kvm_msr");
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(select_events(fd, event_purpose(0, true), NULL, 0, &list, &gaps, NULL), 0);
	assert_non_null(find(&list, "hrtimer_start"));
	assert_null(find(&list, "hrtimer_start")->filter);
	assert_string_equal(find(&list, "kvm_msr")->filter, "write == 1 && ecx == 1760");
	event_list_release(&list);

	assert_int_equal(select_events(fd, event_purpose(0, true), &msr, 1, &list, &gaps, NULL), 0);
	assert_null(find(&list, "kvm_msr")->filter);
	event_list_release(&list);

	assert_int_equal(select_events(fd, event_purpose(0, false), NULL, 0, &list, &gaps, NULL),
			 0);
	assert_int_equal(list.nr, 2);
	event_list_release(&list);
	assert_int_equal(select_events(fd, event_purpose((unsigned)RECORD_ALL, false), NULL, 0,
				       &list, &gaps, NULL),
			 0);
	assert_non_null(find(&list, "hrtimer_start"));
	assert_null(find(&list, "kvm_msr"));
	event_list_release(&list);
	close(fd);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

static void purposes(void **state)
{
	unsigned p;

	(void)state;
	assert_int_equal(purpose_parse("cpu", &p, NULL), 0);
	assert_int_equal(p, RECORD_CPU);
	assert_int_equal(purpose_parse("wait,boot", &p, NULL), 0);
	assert_int_equal(p, RECORD_WAIT | RECORD_BOOT);
	assert_int_equal(purpose_parse("all", &p, NULL), 0);
	assert_int_equal(p & RECORD_IO, RECORD_IO);
	assert_int_equal(purpose_parse("cpus", &p, NULL), -EINVAL);
	assert_int_equal(purpose_parse("cpu,,io", &p, NULL), -EINVAL);
}

/* ---- lines and names ---- */

static void state_lines(void **state)
{
	char got[2 * LINE_BYTES], large[2 * LINE_BYTES];
	struct line l = {0};
	int fds[2];
	ssize_t n;

	(void)state;
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	l.fd = fds[1];
	line_begin(&l, "task");
	line_signed(&l, "tid", -3);
	line_number(&l, "big", UINT64_MAX);
	line_text(&l, "comm", "a b=c%\n\x7f\xc3\xa9");
	line_text(&l, "none", "");
	line_end(&l);
	n = read(fds[0], got, sizeof(got));
	got[n] = '\0';
	assert_string_equal(got, "sonde: task tid=-3 big=18446744073709551615 "
				 "comm=a%20b%3dc%25%0a%7f\xc3\xa9");

	/* What does not fit is left out whole, and what comes behind it may still fit. */
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	line_begin(&l, "cgroup");
	line_text(&l, "path", large);
	line_number(&l, "id", 7);
	line_end(&l);
	n = read(fds[0], got, sizeof(got));
	got[n] = '\0';
	assert_string_equal(got, "sonde: cgroup id=7");
	large[LINE_BYTES - strlen("sonde: cgroup path=")] = '\0';
	line_begin(&l, "cgroup");
	line_text(&l, "path", large);
	line_number(&l, "id", 7);
	line_end(&l);
	n = read(fds[0], got, sizeof(got));
	assert_int_equal(n, LINE_BYTES);

	close(fds[0]);
	assert_int_equal(l.error, 0);
	close(fds[1]);
	line_end(&l);
	assert_int_equal(l.error, -EBADF);
}

static void names_of_threads(void **state)
{
	struct buffer text = {0};
	struct comms c = {0};

	(void)state;
	assert_int_equal(comms_put(&c, 1, "init"), 0);
	assert_int_equal(comms_put(&c, 7, "a name that is too long"), 0);
	for (int tid = 100; tid < 3000; tid++)
		assert_int_equal(comms_put(&c, tid, "x"), 0);
	assert_int_equal(comms_put(&c, 1, "systemd"), 0);
	comms_print(&c, &text);
	buffer_bytes(&text, "", 1);
	assert_int_equal(text.error, 0);
	assert_memory_equal(text.data, "1 systemd\n7 a name that is \n100 x\n", 34);
	assert_non_null(strstr(text.data, "\n2999 x\n"));
	buffer_release(&text);
	comms_release(&c);
}

/* ---- clocks ---- */

static void clocks(void **state)
{
	struct clock_choice choice;
	struct clock_reading a, b;
	struct error err = {0};

	(void)state;
	assert_int_equal(clock_choose("local [mono] x86-tsc\n", "mono", &choice, NULL), 0);
	assert_string_equal(choice.name, "mono");
	assert_int_equal(clock_choose("local [mono_raw]\n", "mono", &choice, &err), -EINVAL);
	assert_int_equal(clock_choose("local mono\n", NULL, &choice, NULL), 0);
	assert_string_equal(choice.name, "mono");
	assert_string_equal(choice.reason, "this kernel has no trace clock x86-tsc");
	assert_int_equal(clock_choose("mono x86-tsc\n", NULL, &choice, NULL), 0);
	assert_int_equal(!strcmp(choice.name, "x86-tsc"), !*choice.reason);

	clock_read(&a);
	clock_read(&b);
	assert_true(b.mono > a.mono && b.boot > a.boot && a.boot >= a.mono);
	assert_true(!a.tsc || (b.tsc > a.tsc && b.tsc - a.tsc >= a.width / 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vmm_commands),
		cmocka_unit_test(vmm_long_values_are_cut),
		cmocka_unit_test(a_uuid_proves_one_vm),
		cmocka_unit_test(vmm_threads),
		cmocka_unit_test(events_that_exist),
		cmocka_unit_test(events_for_clocks),
		cmocka_unit_test(purposes),
		cmocka_unit_test(state_lines),
		cmocka_unit_test(names_of_threads),
		cmocka_unit_test(clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
