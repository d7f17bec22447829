/* SPDX-License-Identifier: Apache-2.0 */
/* The history, its stacks and every analysis, on the history of small_history.h, by hand. */
#include "tests/unit/unit.h"

#include "analysis/by_machine.h"
#include "analysis/rows.h"
#include "analysis/sched/vcpu_states.h"
#include "sonde/sonde.h"
#include "tests/unit/small_history_test.h"

#include <errno.h>

/* ---- rows ---------------------------------------------------------------------------------- */

static void rows_are_read_by_name(void **state)
{
	struct sonde_machine m;
	struct sonde_thread t;
	struct sonde_context c;

	(void)state;
	assert_int_equal(sonde_nr_machines(history), SMALL_MACHINES);
	assert_int_equal(sonde_machine_get(history, VM_AN, &m), 0);
	assert_string_equal(m.name, "vm-a-n");
	assert_int_equal(m.parent, VM_A);
	assert_int_equal(m.level, 2);
	assert_int_equal(sonde_thread_get(history, KVM_AN, &t), 0);
	assert_int_equal(t.vcpu, VM_AN_0);
	assert_int_equal(sonde_context_get(history, C_HLT, &c), 0);
	assert_string_equal(c.detail_text, "HLT");
	assert_int_equal(c.serves, VM_A_0);
	assert_int_equal(sonde_context_get(history, C_BURN_SYSCALL, &c), 0);
	assert_string_equal(c.detail_text, "openat");
}

static void a_row_that_is_not_there(void **state)
{
	struct sonde_machine m;
	struct sonde_thread t;

	(void)state;
	assert_int_equal(sonde_machine_get(history, SMALL_MACHINES, &m), -ENOENT);
	assert_int_equal(sonde_machine_get(history, -1, &m), -ENOENT);
	assert_null(m.name);
	assert_int_equal(sonde_thread_get(history, INT64_MAX, &t), -ENOENT);
}

static void finding_rows(void **state)
{
	(void)state;
	assert_int_equal(sonde_find_machine(history, "vm-b"), VM_B);
	assert_int_equal(sonde_find_machine(history, "vm-c"), -1);
	assert_int_equal(sonde_find_cpu(history, VM_AN, 0), VM_AN_0);
	assert_int_equal(sonde_find_cpu(history, VM_AN, 1), -1);
	assert_int_equal(sonde_find_thread(history, HOST, 300, 1500000), BURN);
	/* First seen at 1000000, asked for before: it is still the only one of that number. */
	assert_int_equal(sonde_find_thread(history, HOST, 300, 10), BURN);
	assert_int_equal(sonde_find_thread(history, VM_A, 300, 1500000), -1);
}

/* What a file says may be any number. */
static void names_of_exit_reasons(void **state)
{
	static const int64_t unnamed[] = {INT64_MIN, -1, 0x50000, 0x404, INT64_MAX};

	(void)state;
	assert_string_equal(exit_reason_name(ISA_SVM, 0), "CR0_READ");
	assert_string_equal(exit_reason_name(ISA_SVM, 0x3f), "DR15_WRITE");
	assert_string_equal(exit_reason_name(ISA_SVM, 0x4e), "EXCEPTION_PF");
	assert_string_equal(exit_reason_name(ISA_SVM, 0x78), "HLT");
	assert_string_equal(exit_reason_name(ISA_SVM, 0x9f), "CR15_WRITE_TRAP");
	assert_string_equal(exit_reason_name(ISA_SVM, 0xa4), "TLBSYNC");
	assert_string_equal(exit_reason_name(ISA_SVM, 0x403), "VMGEXIT");
	assert_string_equal(exit_reason_name(ISA_ARM64, 1), "WFx");
	assert_string_equal(exit_reason_name(ISA_ARM64, 0x16), "HVC64");
	assert_null(exit_reason_name(ISA_ARM64, 0x78));
	assert_null(exit_reason_name(ISA_UNKNOWN, 0x78));
	assert_string_equal(exit_reason_name(ISA_VMX, 12), "HLT");
	assert_string_equal(exit_reason_name(ISA_VMX, 66), "SPP_EVENT");
	assert_string_equal(exit_reason_name(ISA_VMX, 77), "TDCALL");
	assert_string_equal(exit_reason_name(ISA_VMX, 85), "MSR_WRITE_IMM");
	/* With a bus lock, and of an entry that failed. */
	assert_string_equal(exit_reason_name(ISA_VMX, INT64_C(0x04000030)), "EPT_VIOLATION");
	assert_string_equal(exit_reason_name(ISA_VMX, INT64_C(0x80000021)), "INVALID_GUEST_STATE");
	for (unsigned i = 0; i < ARRAY_SIZE(unnamed); i++) {
		assert_null(exit_reason_name(ISA_SVM, unnamed[i]));
		assert_null(exit_reason_name(ISA_VMX, unnamed[i]));
	}
}

static void labels(void **state)
{
	char text[64];

	(void)state;
	sonde_thread_label(history, KVM_A, text, sizeof(text));
	assert_string_equal(text, "CPU 0/KVM[100]=vm-a/0");
	sonde_thread_label(history, IDLE_1, text, sizeof(text));
	assert_string_equal(text, "idle");
	sonde_pid_ns_label(history, NS_CONTAINER, text, sizeof(text));
	assert_string_equal(text, "burn:[4026532324]");
	sonde_context_label(history, C_VMRUN, text, sizeof(text));
	assert_string_equal(text, "vm-a CPU 0/KVM[50]=vm-a-n/0 hypervisor VMRUN");
	sonde_context_label(history, -1, text, sizeof(text));
	assert_string_equal(text, "unknown");
}

/* A program built with another version of the library has structs of another length. */
static void structs_may_be_shorter_or_longer(void **state)
{
	struct {
		struct sonde_thread known;
		char more[16];
	} longer;
	struct sonde_thread thread, shorter;

	(void)state;
	memset(&shorter, 0x55, sizeof(shorter));
	memset(&longer, 0x55, sizeof(longer));
	assert_int_equal(sonde_thread_get(history, KVM_A, &thread), 0);
	assert_int_equal(sonde_thread_get_sized(history, KVM_A, &shorter,
						offsetof(struct sonde_thread, comm)),
			 0);
	assert_int_equal(shorter.tid, thread.tid);
	assert_int_equal(((unsigned char *)&shorter.comm)[0], 0x55);
	assert_int_equal(sonde_thread_get_sized(history, KVM_A, &longer.known, sizeof(longer)), 0);
	assert_memory_equal(&longer.known, &thread, sizeof(thread));
	for (unsigned i = 0; i < sizeof(longer.more); i++)
		assert_int_equal(longer.more[i], 0);
	assert_int_equal(sonde_thread_get_sized(history, -1, &longer.known, sizeof(longer)),
			 -ENOENT);
	assert_int_equal(longer.known.tid, 0);
}

/* ---- stacks -------------------------------------------------------------------------------- */

static void a_stack_of_three_layers(void **state)
{
	struct sonde_stack s;

	(void)state;
	assert_int_equal(sonde_stack_at(history, 0, 1600000, &s), 0);
	assert_int_equal(s.begin, 1500000);
	assert_int_equal(s.end, 1700000);
	assert_int_equal(s.mode, SONDE_MODE_USER);
	assert_int_equal(s.nr, 3);
	assert_int_equal(s.frames[0].machine, HOST);
	assert_int_equal(s.frames[0].thread, KVM_A);
	assert_int_equal(s.frames[1].machine, VM_A);
	assert_int_equal(s.frames[1].cpu, 0);
	assert_int_equal(s.frames[1].thread, KVM_AN);
	assert_int_equal(s.frames[2].machine, VM_AN);
	assert_int_equal(s.frames[2].thread, TASK);
}

static void a_guest_without_a_trace(void **state)
{
	struct sonde_stack s;

	(void)state;
	assert_int_equal(sonde_stack_at(history, 1, 1200000, &s), 0);
	assert_int_equal(s.nr, 2);
	assert_int_equal(s.frames[0].thread, KVM_B);
	assert_int_equal(s.frames[0].cpu, 1);
	assert_int_equal(s.frames[1].machine, VM_B);
	assert_int_equal(s.frames[1].thread, -1);
}

static void nothing_known(void **state)
{
	struct sonde_stack s;

	(void)state;
	assert_int_equal(sonde_stack_at(history, 1, 1900000, &s), 0);
	assert_int_equal(s.context, -1);
	assert_int_equal(s.mode, SONDE_MODE_UNKNOWN);
	assert_int_equal(s.nr, 1);
	assert_int_equal(sonde_stack_at(history, 7, 1900000, &s), -ENOENT);
}

/* ---- analyses ------------------------------------------------------------------------------ */

static struct sonde_rows *rows_of(const char *name, int64_t begin, int64_t end)
{
	struct sonde_error err = {0};
	struct sonde_rows *f;

	assert_int_equal(sonde_rows_get(&f, history, name, begin, end, &err), 0);
	return f;
}

/* The value of column @name in the first row whose column @key is @value; INT64_MIN: no row. */
static int64_t look_up(const struct sonde_rows *f, const char *key, int64_t value, const char *name)
{
	int by = sonde_rows_column(f, key);
	int column = sonde_rows_column(f, name);

	assert_true(by >= 0 && column >= 0);
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		if (sonde_rows_cell(f, row, (unsigned)by).i == value)
			return sonde_rows_cell(f, row, (unsigned)column).i;
	}
	return INT64_MIN;
}

static int64_t sum_of(const struct sonde_rows *f, const char *name)
{
	int column = sonde_rows_column(f, name);
	int64_t sum = 0;

	for (size_t row = 0; row < sonde_rows_nr(f); row++)
		sum += sonde_rows_cell(f, row, (unsigned)column).i;
	return sum;
}

static void time_adds_up_in_every_table(void **state)
{
	static const char *const names[] = {"machine_time", "level_time", "cpu_time",
					    "process_time", "thread_time"};
	static const int64_t windows[][2] = {
		{1000000, 2000000}, {1000000, 1000001}, {1234567, 1765432}, {1499999, 1500001}};

	(void)state;
	for (size_t w = 0; w < ARRAY_SIZE(windows); w++) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			struct sonde_rows *f = rows_of(names[i], windows[w][0], windows[w][1]);
			int64_t modes = 0;

			assert_int_equal(sum_of(f, "total"), 2 * (windows[w][1] - windows[w][0]));
			for (int c = sonde_rows_column(f, "share") + 1;
			     c < (int)sonde_rows_table(f)->nr_columns; c++)
				modes += sum_of(f, sonde_rows_table(f)->columns[c].name);
			assert_int_equal(modes, sum_of(f, "total"));
			sonde_rows_free(f);
		}
	}
}

static void time_by_machine(void **state)
{
	struct sonde_rows *f = rows_of("machine_time", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(look_up(f, "machine", VM_A, "user"), 150000);
	assert_int_equal(look_up(f, "machine", VM_A, "hypervisor"), 50000);
	assert_int_equal(look_up(f, "machine", VM_A, "total"), 200000);
	assert_int_equal(look_up(f, "machine", VM_A, "share"), 100000);
	assert_int_equal(look_up(f, "machine", VM_AN, "total"), 200000);
	assert_int_equal(look_up(f, "machine", VM_B, "guest"), 500000);
	assert_int_equal(look_up(f, "machine", HOST, "hypervisor"), 100000);
	assert_int_equal(look_up(f, "machine", HOST, "unknown"), 500000);
	assert_int_equal(look_up(f, "machine", HOST, "idle"), 100000);
	sonde_rows_free(f);
}

static void time_by_container(void **state)
{
	struct sonde_rows *f = rows_of("container_time", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 1);
	assert_int_equal(look_up(f, "container", NS_CONTAINER, "total"), 380000);
	assert_int_equal(look_up(f, "container", NS_CONTAINER, "syscall"), 280000);
	sonde_rows_free(f);
}

static void time_by_process(void **state)
{
	struct sonde_rows *f = rows_of("process_time", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(look_up(f, "pid", 99, "hypervisor"), 100000);
	assert_int_equal(look_up(f, "pid", 99, "irq"), 20000);
	assert_int_equal(look_up(f, "pid", 300, "total"), 380000);
	sonde_rows_free(f);
}

static void exits_by_reason(void **state)
{
	struct sonde_rows *f = rows_of("exit_reason", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 3);
	assert_int_equal(look_up(f, "reason", 0x78, "vm"), VM_A);
	assert_int_equal(look_up(f, "reason", 0x78, "by"), HOST);
	assert_int_equal(look_up(f, "reason", 0x78, "count"), 1);
	assert_int_equal(look_up(f, "reason", 0x78, "total"), 50000);
	assert_int_equal(look_up(f, "reason", 0x80, "vm"), VM_AN);
	assert_int_equal(look_up(f, "reason", 0x80, "by"), VM_A);
	sonde_rows_free(f);
}

static void hypervisor_by_vm(void **state)
{
	struct sonde_rows *f = rows_of("hypervisor", SMALL_BEGIN, SMALL_END);

	(void)state;
	/* vm-a's own code and that of the VM inside it. */
	assert_int_equal(look_up(f, "vm", VM_A, "guest"), 400000);
	assert_int_equal(look_up(f, "vm", VM_A, "hypervisor"), 100000);
	assert_int_equal(look_up(f, "vm", VM_A, "share"), 200000);
	assert_int_equal(look_up(f, "vm", VM_A, "exits"), 4);
	assert_int_equal(look_up(f, "vm", VM_AN, "guest"), 200000);
	assert_int_equal(look_up(f, "vm", VM_AN, "hypervisor"), 50000);
	assert_int_equal(look_up(f, "vm", VM_B, "hypervisor"), 0);
	sonde_rows_free(f);
}

/* Each hypervisor around a nested VM sees its exits: they are one all the same. */
static void exits_are_the_same_in_each_row(void **state)
{
	struct sonde_rows *f = rows_of("hypervisor", SMALL_BEGIN, SMALL_END);
	struct sonde_rows *exits = rows_of("exits", SMALL_BEGIN, SMALL_END);
	unsigned from = (unsigned)sonde_rows_column(exits, "from");
	unsigned by = (unsigned)sonde_rows_column(exits, "by");
	unsigned count = (unsigned)sonde_rows_column(exits, "count");
	int64_t sums[SMALL_MACHINES][SMALL_MACHINES] = {0};

	(void)state;
	for (size_t row = 0; row < sonde_rows_nr(exits); row++)
		sums[sonde_rows_cell(exits, row, from).i][sonde_rows_cell(exits, row, by).i] +=
			sonde_rows_cell(exits, row, count).i;
	for (int64_t vm = VM_A; vm <= VM_AN; vm += VM_AN - VM_A) {
		int64_t most = sums[vm][HOST] > sums[vm][VM_A] ? sums[vm][HOST] : sums[vm][VM_A];

		assert_true(most > 0);
		assert_int_equal(look_up(f, "vm", vm, "exits"), most);
	}
	sonde_rows_free(exits);
	sonde_rows_free(f);
}

static void who_preempted_whom(void **state)
{
	struct sonde_rows *f = rows_of("preemption", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 4);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "culprit"), BURN);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "culprit_machine"), HOST);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "total"), 280000);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "count"), 2);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "longest"), 180000);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "longest_at"), 1720000);
	/* A nested vCPU waits for its parent's vCPU: what that ran is to blame. */
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "culprit"), APP);
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "culprit_machine"), VM_A);
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "total"), 150000);
	/* While that vCPU is off the CPU itself, what the physical CPU runs is: burn, 100000 ns
	 * long, and then the host's KVM. */
	assert_int_equal(look_up(f, "total", 100000, "vcpu"), VM_AN_0);
	assert_int_equal(look_up(f, "total", 100000, "culprit"), BURN);
	assert_int_equal(look_up(f, "total", 50000, "culprit"), KVM_A);
	assert_int_equal(look_up(f, "total", 50000, "mode"), SONDE_MODE_HYPERVISOR);
	sonde_rows_free(f);
}

static void which_guest_thread_suffered(void **state)
{
	struct sonde_rows *f = rows_of("preemption_victim", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 5);
	assert_int_equal(look_up(f, "victim", APP, "total"), 100000);
	assert_int_equal(look_up(f, "victim", KVM_AN, "total"), 180000);
	sonde_rows_free(f);
}

static void a_window_cuts_preemptions(void **state)
{
	struct sonde_rows *f = rows_of("preemption_list", 1350000, 1800000);

	(void)state;
	assert_int_equal(sonde_rows_nr(f), 4);
	assert_int_equal(sum_of(f, "length"), 50000 + 80000 + 50000 + 50000);
	assert_int_equal(look_up(f, "at", 1350000, "preemption_length"), 100000);
	assert_int_equal(look_up(f, "at", 1350000, "on"), HOST_0);
	sonde_rows_free(f);
}

/* One by one they are made otherwise than summed up. */
static void preemptions_one_by_one_add_up(void **state)
{
	struct sonde_rows *list = rows_of("preemption_list", SMALL_BEGIN, SMALL_END);
	struct sonde_rows *sums = rows_of("preemption_victim", SMALL_BEGIN, SMALL_END);
	struct sonde_rows *of_vm;

	(void)state;
	assert_int_equal(sum_of(list, "length"), sum_of(sums, "total"));
	assert_int_equal(look_up(list, "preemption_begin", 1720000, "vcpu"), VM_A_0);
	assert_int_equal(rows_of_machine(&of_vm, history, list, VM_AN), 0);
	assert_true(sonde_rows_nr(of_vm) > 0);
	assert_true(sonde_rows_nr(of_vm) < sonde_rows_nr(list));
	for (size_t row = 0; row < sonde_rows_nr(of_vm); row++)
		assert_int_equal(sonde_rows_cell(of_vm, row, 2).i, VM_AN_0);
	rows_sort(list, "length");
	for (size_t row = 1; row < sonde_rows_nr(list); row++)
		assert_true(sonde_rows_cell(list, row, 1).i <= sonde_rows_cell(list, row - 1, 1).i);
	assert_int_equal(sum_of(list, "length"), sum_of(sums, "total"));
	sonde_rows_free(of_vm);
	sonde_rows_free(list);
	sonde_rows_free(sums);
}

static void time_of_a_vcpu(void **state)
{
	struct sonde_rows *f = rows_of("vcpu_time", SMALL_BEGIN, SMALL_END);

	(void)state;
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "steal"), 280000);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "waiting"), 200000);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "on_cpu"), 520000);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "parent"), HOST);
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "parent"), VM_A);
	assert_int_equal(look_up(f, "vcpu", VM_A_0, "steal_share"), 280000);
	assert_int_equal(look_up(f, "vcpu", VM_B_0, "unknown"), 500000);
	/* Shares are of all time, known or not; vm-a-n/0 inherits that vm-a/0 did not run from
	 * 1720000 on, but not what that lost while it was not on it. */
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "unknown"), 140000);
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "steal"), 300000);
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "steal_share"), 300000);
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "inherited_steal"), 280000);
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "total_steal"), 580000);
	assert_int_equal(look_up(f, "vcpu", VM_AN_0, "total_steal_share"), 580000);
	sonde_rows_free(f);
}

static void an_analysis_that_is_not_there(void **state)
{
	struct sonde_error err = {0};
	struct sonde_rows *f;

	(void)state;
	assert_int_equal(sonde_rows_get(&f, history, "nonsense", 0, 1, &err), -ENOENT);
	assert_null(f);
	assert_string_equal(err.text, "there is no table \"nonsense\"");
}

static void every_analysis_runs(void **state)
{
	const struct sonde_table *const *list;
	unsigned nr;

	(void)state;
	list = sonde_tables(&nr);
	assert_true(nr >= 10);
	for (unsigned i = 0; i < nr; i++) {
		struct sonde_rows *f = rows_of(list[i]->name, SMALL_BEGIN, SMALL_END);

		assert_ptr_equal(sonde_rows_table(f), list[i]);
		sonde_rows_free(f);
	}
}

/* ---- times and checks ---------------------------------------------------------------------- */

static void a_raw_time_stamp_finds_its_place(void **state)
{
	struct sonde_error err = {0};
	int64_t t;

	(void)state;
	assert_int_equal(sonde_history_time(history, "tsc:105000", &t, &err), 0);
	assert_int_equal(t, SMALL_BEGIN + 200000);
	assert_int_equal(sonde_history_time(history, "tsc:x", &t, &err), -EINVAL);
}

static void count_finding(enum sonde_finding kind, const char *text, void *data)
{
	(void)text;
	*(unsigned *)data += kind == SONDE_FAULT;
}

static void the_history_is_sound(void **state)
{
	struct sonde_check_result result;
	struct sonde_error err = {0};
	unsigned findings = 0;

	(void)state;
	assert_int_equal(sonde_check(path, count_finding, &findings, NULL, &result, &err), 0);
	assert_int_equal(findings, 0);
	assert_true(result.items > 20);
}

static void no_history(void **state)
{
	struct sonde_error err = {0};
	struct sonde_history *other;

	(void)state;
	assert_true(sonde_history_open(&other, "/nonexistent.sonde", &err) < 0);
	assert_null(other);
	assert_non_null(strstr(err.text, "/nonexistent.sonde"));
}

/* Whoever has a history may go first, and nobody else's file gets in between. */
static void a_run_once_more(void **state)
{
	struct sonde_error err = {0};
	struct sonde_history *first, *again;
	struct sonde_machine machine;
	struct sonde_stack a, b;
	int64_t middle;
	char file[64];

	(void)state;
	assert_int_equal(small_history_write(file), 0);
	assert_int_equal(sonde_history_open(&first, file, &err), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(sonde_history_again(&again, first, &err), 0);
	middle = (sonde_history_begin(first) + sonde_history_end(first)) / 2;
	assert_int_equal(sonde_stack_at(first, 0, middle, &a), 0);
	sonde_history_close(first);
	assert_int_equal(sonde_stack_at(again, 0, middle, &b), 0);
	assert_int_equal(a.context, b.context);
	assert_int_equal(a.begin, b.begin);
	assert_int_equal(a.end, b.end);
	assert_string_equal(sonde_history_path(again), file);
	assert_int_equal(sonde_machine_get(again, 0, &machine), 0);
	assert_string_not_equal(machine.name, "");
	sonde_history_close(again);
}

/* A history of two machines and two PID namespaces that are inside each other as told. */
static int write_tree(const char *file, const int64_t machines[2][2], const int64_t spaces[2][2],
		      ns_t end)
{
	static const struct column machine_columns[] = {{"parent", COL_INT}, {"level", COL_INT}};
	static const struct column ns_columns[] = {
		{"machine", COL_INT}, {"parent", COL_INT}, {"level", COL_INT}};
	struct history_writer_options opt = {.ticks_are_ns = true};
	struct history_writer *w;
	int machine, ns;

	if (history_writer_open(&w, file, &opt, NULL))
		return -1;
	machine = history_writer_table(w, "machine", machine_columns, 2);
	ns = history_writer_table(w, "pid_ns", ns_columns, 3);
	for (unsigned i = 0; i < 2; i++) {
		const int64_t space[] = {0, spaces[i][0], spaces[i][1]};

		history_writer_row(w, machine, machines[i]);
		history_writer_row(w, ns, space);
	}
	history_writer_set(w, history_writer_attr(w, ATTR_ROOT, "a", ATTR_NUMBER, 0), 0, 1);
	return history_writer_close(w, end, NULL);
}

static const int64_t good_tree[2][2] = {{-1, 0}, {0, 1}};

static void machines_must_be_a_tree(void **state)
{
	static const int64_t bad[][2][2] = {
		{{0, 0}, {0, 1}},  /* inside itself */
		{{1, 2}, {0, 1}},  /* inside each other */
		{{-1, 0}, {0, 2}}, /* a level is left out */
		{{-1, 0}, {9, 1}}, /* nowhere */
		{{-1, 0}, {-2, 1}},
	};
	struct sonde_error err = {0};
	struct sonde_history *other;
	char file[80];

	(void)state;
	snprintf(file, sizeof(file), "%s.tree", path);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(write_tree(file, bad[i], good_tree, 1000), 0);
		assert_int_equal(sonde_history_open(&other, file, &err), -EINVAL);
		assert_non_null(strstr(err.text, "machines are not inside each other"));
	}
	assert_int_equal(write_tree(file, good_tree, good_tree, INT64_MAX), 0);
	assert_int_equal(sonde_history_open(&other, file, &err), 0);
	assert_true(sonde_history_end(other) < INT64_MAX); /* so that one more is still a time */
	sonde_history_close(other);
	unlink(file);
}

static void namespaces_that_are_no_tree_stand_alone(void **state)
{
	static const int64_t bad[2][2] = {{1, 1}, {0, 1}};
	struct sonde_check_result result;
	struct sonde_error err = {0};
	struct sonde_history *other;
	struct sonde_pid_ns ns;
	unsigned findings = 0;
	char file[80];

	(void)state;
	snprintf(file, sizeof(file), "%s.tree", path);
	assert_int_equal(write_tree(file, good_tree, bad, 1000), 0);
	assert_int_equal(sonde_history_open(&other, file, &err), 0);
	assert_int_equal(sonde_pid_ns_get(other, 0, &ns), 0);
	assert_int_equal(ns.parent, -1);
	sonde_history_close(other);
	assert_int_equal(sonde_check(file, count_finding, &findings, NULL, &result, &err), 0);
	assert_int_equal(findings, 2);
	unlink(file);
}

/* ---- machine by machine --------------------------------------------------------------------- */

static void rows_of_each_machine(void **state)
{
	static const uint32_t cpus[SMALL_CPUS] = {HOST_0, HOST_1, VM_A_0, VM_B_0, VM_AN_0};
	static const uint32_t nr_cpus[SMALL_MACHINES] = {2, 1, 1, 1};
	struct by_machine b = {0};
	const uint32_t *rows;
	unsigned at = 0;
	uint32_t nr;

	(void)state;
	assert_int_equal(by_machine_init(&b, history, QUERY_CPU), 0);
	for (unsigned m = 0; m < SMALL_MACHINES; m++) {
		rows = by_machine_rows(&b, m, &nr);
		assert_int_equal(nr, nr_cpus[m]);
		assert_memory_equal(rows, &cpus[at], nr * sizeof(*rows));
		at += nr;
	}
	by_machine_release(&b);
}

static void rows_of_rows_that_name_no_machine(void **state)
{
	struct sonde_rows *f;
	struct by_machine b = {0};
	unsigned found = 0;
	uint32_t nr;

	(void)state;
	assert_int_equal(sonde_rows_get(&f, history, "preemption", SMALL_BEGIN, SMALL_END, NULL),
			 0);
	assert_int_equal(by_machine_init_rows(&b, history, f, "culprit_machine"), 0);
	for (unsigned m = 0; m < SMALL_MACHINES; m++) {
		const uint32_t *rows = by_machine_rows(&b, m, &nr);

		for (uint32_t i = 0; i < nr; i++, found++)
			assert_int_equal(rows_named(f, rows[i], "culprit_machine").i, m);
	}
	for (size_t row = 0; row < sonde_rows_nr(f); row++)
		found += rows_named(f, row, "culprit_machine").i < 0;
	assert_int_equal(found, sonde_rows_nr(f));
	by_machine_release(&b);
	sonde_rows_free(f);
}

static void states_of_some_vcpus(void **state)
{
	static const uint32_t some[] = {VM_B_0, VM_A_0};
	struct sonde_rows *all, *f;
	struct error err;

	(void)state;
	assert_int_equal(sonde_rows_get(&all, history, "vcpu_state", SMALL_BEGIN, SMALL_END, NULL),
			 0);
	assert_int_equal(vcpu_states_of(&f, history, some, 2, SMALL_BEGIN, SMALL_END, &err), 0);
	assert_int_equal(sonde_rows_nr(f), 2);
	for (unsigned i = 0; i < 2; i++) {
		int64_t row = rows_find_rising(all, "vcpu", some[i]);

		assert_true(row >= 0);
		for (unsigned c = 0; c < all->table->nr_columns; c++) {
			if (all->table->columns[c].type == SONDE_COL_STRING)
				assert_string_equal(rows_cell(f, i, c).s,
						    rows_cell(all, (size_t)row, c).s);
			else
				assert_int_equal(rows_cell(f, i, c).i,
						 rows_cell(all, (size_t)row, c).i);
		}
	}
	assert_int_equal(rows_find_rising(all, "vcpu", HOST_1), -1);
	assert_int_equal(rows_find_rising(all, "vcpu", SMALL_CPUS), -1);
	sonde_rows_free(f);
	sonde_rows_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read_by_name),
		cmocka_unit_test(a_row_that_is_not_there),
		cmocka_unit_test(finding_rows),
		cmocka_unit_test(names_of_exit_reasons),
		cmocka_unit_test(labels),
		cmocka_unit_test(structs_may_be_shorter_or_longer),
		cmocka_unit_test(a_stack_of_three_layers),
		cmocka_unit_test(a_guest_without_a_trace),
		cmocka_unit_test(nothing_known),
		cmocka_unit_test(time_adds_up_in_every_table),
		cmocka_unit_test(time_by_machine),
		cmocka_unit_test(time_by_container),
		cmocka_unit_test(time_by_process),
		cmocka_unit_test(exits_by_reason),
		cmocka_unit_test(hypervisor_by_vm),
		cmocka_unit_test(exits_are_the_same_in_each_row),
		cmocka_unit_test(who_preempted_whom),
		cmocka_unit_test(which_guest_thread_suffered),
		cmocka_unit_test(a_window_cuts_preemptions),
		cmocka_unit_test(preemptions_one_by_one_add_up),
		cmocka_unit_test(time_of_a_vcpu),
		cmocka_unit_test(an_analysis_that_is_not_there),
		cmocka_unit_test(every_analysis_runs),
		cmocka_unit_test(a_raw_time_stamp_finds_its_place),
		cmocka_unit_test(the_history_is_sound),
		cmocka_unit_test(no_history),
		cmocka_unit_test(a_run_once_more),
		cmocka_unit_test(machines_must_be_a_tree),
		cmocka_unit_test(namespaces_that_are_no_tree_stand_alone),
		cmocka_unit_test(rows_of_each_machine),
		cmocka_unit_test(rows_of_rows_that_name_no_machine),
		cmocka_unit_test(states_of_some_vcpus),
	};

	return cmocka_run_group_tests(tests, small_history_setup, small_history_teardown);
}
