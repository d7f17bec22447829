/* SPDX-License-Identifier: Apache-2.0 */
/* A boot that a kernel recorded: from ftrace's text to state lines. */
#define _GNU_SOURCE /* pipe2() */
#include "tests/unit/unit.h"

#include "record/host/boot_trace.h"

#include <fcntl.h>
#include <unistd.h>

static void lines_of_ftrace(void **state)
{
	static const struct {
		const char *line;
		enum booted_kind kind;
		uint64_t time;
		int tid;
		const char *name;
		int64_t result;
	} cases[] = {
		{"       swapper/0-1       [000] .....  1234567890: initcall_level: level=early\n",
		 BOOTED_LEVEL, 1234567890, 1, "early", 0},
		{"          <idle>-0       [000] .....  77: initcall_level: level=console\n",
		 BOOTED_LEVEL, 77, 0, "console", 0},
		{"       swapper/0-1       [001] .....  5: initcall_start: "
		 "func=kvm_init+0x0/0x28\n",
		 BOOTED_START, 5, 1, "kvm_init", 0},
		{"   modprobe-117     [001] .....  9: initcall_start: func=a_init+0x0/0x8 [a]\n",
		 BOOTED_START, 9, 117, "a_init", 0},
		{"       swapper/0-1  [001] .....  6: initcall_finish: func=kvm_init+0x0/0x28 "
		 "ret=-19\n",
		 BOOTED_FINISH, 6, 1, "kvm_init", -19},
		{"  init-1  [001] .....  8: sched_process_exec: filename=/sbin/init pid=1 "
		 "old_pid=1\n",
		 BOOTED_INIT, 8, 1, "init", 0},
		{"  modprobe-117 [001] .....  9: module_load: virtio_blk \n", BOOTED_MODULE, 9, 117,
		 "virtio_blk", 0},
		/* Not the first process; no time; a comm that lies; a name that does. */
		{"  sh-7  [001] .....  8: sched_process_exec: filename=/bin/sh pid=7 old_pid=7\n",
		 BOOTED_NOTHING, 0, 0, "", 0},
		{": initcall_level: level=early\n", BOOTED_NOTHING, 0, 0, "", 0},
		{"x: initcall_level: level=early\n", BOOTED_NOTHING, 0, 0, "", 0},
		{" a] [9-1  [001] .....  4: initcall_start: func=b\n", BOOTED_START, 4, 1, "b", 0},
		{"  i-1  [001] .....  8: sched_process_exec: filename=/a/9:: initcall_level: "
		 "level=x\n",
		 BOOTED_INIT, 8, 1, "9::", 0},
		{"  i-1  [0] . 99999999999999999999999: initcall_level: level=early\n",
		 BOOTED_NOTHING, 0, 0, "", 0},
		{"  i-1  [0] . 5: initcall_start: func=+0x0/0x28\n", BOOTED_NOTHING, 0, 0, "", 0},
		{"# tracer: nop\n", BOOTED_NOTHING, 0, 0, "", 0},
		{"", BOOTED_NOTHING, 0, 0, "", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct booted_event e;
		bool is = cases[i].kind != BOOTED_NOTHING;

		assert_int_equal(booted_parse(&e, cases[i].line), is);
		if (!is)
			continue;
		assert_int_equal(e.kind, cases[i].kind);
		assert_int_equal(e.time, cases[i].time);
		assert_int_equal(e.tid, cases[i].tid);
		assert_string_equal(e.name, cases[i].name);
		assert_int_equal(e.result, cases[i].result);
	}
}

static void a_boot_becomes_state_lines(void **state)
{
	static char text[] =
		"# tracer: nop\n"
		"  swapper/0-1 [000] ..... 10: initcall_level: level=core\n"
		"  swapper/0-1 [000] ..... 11: initcall_start: func=one+0x0/0x8\n"
		"  swapper/0-1 [000] ..... 15: initcall_finish: func=one+0x0/0x8 ret=-19\n"
		"  swapper/0-1 [000] ..... 16: initcall_finish: func=unseen+0x0/0x8 ret=0\n"
		"  modprobe-8 [000] ..... 16: initcall_start: func=of_another+0x8/0x8\n"
		"  modprobe-9 [000] ..... 16: module_load: two OE\n"
		"  modprobe-9 [000] ..... 17: initcall_start: func=of_another+0x0/0x8\n"
		"  modprobe-8 [000] ..... 17: initcall_finish: func=else+0x8/0x8 ret=0\n"
		"  swapper/0-1 [000] ..... 18: sched_process_exec: filename=/init pid=1 "
		"old_pid=1\n"
		"  systemd-1 [000] ..... 19: module_load: autofs4 \n"
		"  systemd-1 [000] ..... 20: initcall_start: func=of_a_module+0x0/0x8\n"
		"  systemd-1 [000] ..... 21: initcall_finish: func=of_a_module+0x0/0x8 ret=0\n";
	static const char expected[] =
		"sonde: booted time=10 what=level name=core|"
		"sonde: booted time=11 what=initcall name=one tid=1 end=15 result=-19|"
		"sonde: booted time=16 what=initcall name=[?] tid=8 end=17 result=0|"
		"sonde: booted time=18 what=init name=init|"
		"sonde: booted time=20 what=initcall name=[autofs4] tid=1 end=21 result=0|"
		"sonde: booted time=17 what=initcall name=[two] tid=9|";
	FILE *trace = fmemopen(text, sizeof(text) - 1, "r");
	char got[1024] = "", line[512];
	struct line l = {0};
	int ends[2];
	ssize_t n;

	(void)state;
	/* Each write is one event of the tracer: packets keep them apart. */
	assert_int_equal(pipe2(ends, O_DIRECT | O_NONBLOCK), 0);
	l.fd = ends[1];
	assert_int_equal(booted_tell(&l, trace), 4);
	assert_int_equal(l.error, 0);
	while ((n = read(ends[0], line, sizeof(line) - 1)) > 0) {
		line[n] = '\0';
		strcat(strcat(got, line), "|");
	}
	assert_string_equal(got, expected);
	fclose(trace);
	close(ends[0]);
	close(ends[1]);
}

/* A boot that is partly overwritten is not told as whole. */
static void what_is_missing_is_told(void **state)
{
	static char text[] = "# tracer: nop\n"
			     "#\n"
			     "# entries-in-buffer/entries-written: 300/1000   #P:2\n"
			     "CPU:1 [LOST 40 EVENTS]\n"
			     "  swapper/0-1 [000] ..... 10: initcall_level: level=core\n"
			     "CPU:0 [LOST 2 EVENTS]\n";
	FILE *trace = fmemopen(text, sizeof(text) - 1, "r");
	struct booted_losses losses = {0};
	char got[512] = "", line[512];
	struct line l = {0};
	int ends[2];
	ssize_t n;

	(void)state;
	assert_int_equal(pipe2(ends, O_DIRECT | O_NONBLOCK), 0);
	l.fd = ends[1];
	assert_int_equal(booted_tell(&l, trace), 0);
	while ((n = read(ends[0], line, sizeof(line) - 1)) > 0) {
		line[n] = '\0';
		strcat(strcat(got, line), "|");
	}
	assert_string_equal(got, "sonde: booted time=10 what=level name=core|"
				 "sonde: booted what=lost lost=700|");
	fclose(trace);
	/* A file that cannot be read to its end. */
	trace = fopen("/", "r");
	assert_non_null(trace);
	booted_tell(&l, trace);
	n = read(ends[0], line, sizeof(line) - 1);
	assert_true(n > 0);
	line[n] = '\0';
	assert_string_equal(line, "sonde: booted what=lost lost=0 cut=1");
	fclose(trace);
	close(ends[0]);
	close(ends[1]);

	assert_true(booted_parse_loss(&losses, "CPU:12 [LOST 18446744073709551615 EVENTS]\n"));
	assert_true(booted_parse_loss(&losses, "CPU:12 [LOST 5 EVENTS]\n"));
	assert_int_equal(losses.lines, UINT64_MAX);
	assert_true(booted_parse_loss(&losses, "# entries-in-buffer/entries-written: 9/8\n"));
	assert_int_equal(losses.header, 0);
	assert_false(booted_parse_loss(&losses, "# entries-in-buffer/entries-written: x\n"));
	assert_false(booted_parse_loss(&losses, "  a-1 [0] . 5: x: CPU:0 [LOST 5 EVENTS]\n"));
}

/* More under way than it keeps: none is lost. */
static void many_under_way_are_all_told(void **state)
{
	FILE *trace = tmpfile();
	struct line l = {.fd = open("/dev/null", O_WRONLY)};

	(void)state;
	for (int i = 0; i < 200; i++)
		fprintf(trace, "  m-%d [0] . %d: initcall_start: func=f%d\n", i + 2, i + 10, i);
	rewind(trace);
	assert_int_equal(booted_tell(&l, trace), 200);
	fclose(trace);
	close(l.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_ftrace),
		cmocka_unit_test(a_boot_becomes_state_lines),
		cmocka_unit_test(many_under_way_are_all_told),
		cmocka_unit_test(what_is_missing_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
