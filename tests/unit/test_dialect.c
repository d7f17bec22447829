/* SPDX-License-Identifier: Apache-2.0 */
/* source/dialect.c: tracers' names become canonical kinds. */
#include "tests/unit/unit.h"

#include "source/dialect.h"

static void every_tracers_name_finds_its_kind(void **state)
{
	static const struct {
		unsigned tracer;
		const char *event;
		int kind;
	} cases[] = {
		{DIALECT_LTTNG, "kvm_x86_exit", EV_KVM_EXIT},
		{DIALECT_LTTNG, "kvm_exit", EV_KVM_EXIT}, /* LTTng before 2.7 */
		{DIALECT_FTRACE, "kvm_exit", EV_KVM_EXIT},
		{DIALECT_LTTNG, "kvm_x86_msr", EV_KVM_MSR},
		{DIALECT_FTRACE, "kvm_msr", EV_KVM_MSR},
		{DIALECT_FTRACE, "kvm_nested_vmrun", EV_KVM_NESTED_VMENTER}, /* up to 6.1 */
		{DIALECT_FTRACE, "kvm_nested_vmenter", EV_KVM_NESTED_VMENTER},
		{DIALECT_LTTNG, "syscall_entry_openat", EV_SYSCALL_ENTRY},
		{DIALECT_LTTNG, "sys_open", EV_SYSCALL_ENTRY}, /* LTTng before 2.5 */
		{DIALECT_LTTNG, "exit_syscall", EV_SYSCALL_EXIT},
		{DIALECT_FTRACE, "sys_enter", EV_SYSCALL_ENTRY},
		{DIALECT_FTRACE, "local_timer_entry", EV_VECTOR_ENTRY},
		{DIALECT_LTTNG, "x86_irq_vectors_local_timer_entry", EV_VECTOR_ENTRY},
		{DIALECT_FTRACE, "hypersync_req", EV_SYNC_REQUEST},
		{DIALECT_FTRACE, "print", EV_STATE_LINE}, /* trace_marker */
		{DIALECT_LTTNG, "lttng_logger", EV_STATE_LINE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct dialect_row *row = dialect_find(cases[i].tracer, cases[i].event);

		assert_non_null(row);
		assert_int_equal(row->kind, cases[i].kind);
	}
}

static void names_nobody_knows_stay_unknown(void **state)
{
	(void)state;
	assert_null(dialect_find(DIALECT_FTRACE, "syscall_entry_openat"));
	assert_null(dialect_find(DIALECT_LTTNG, "ext4_sync_file_enter"));
	assert_null(dialect_find(DIALECT_FTRACE, ""));
}

static bool has_prev_pid(const char *field, void *data)
{
	(void)data;
	return !strcmp(field, "prev_pid");
}

static void a_slot_takes_the_first_name_the_event_has(void **state)
{
	const struct dialect_row *row = dialect_find(DIALECT_FTRACE, "sched_switch");
	char name[64];

	(void)state;
	assert_string_equal(dialect_pick_field(&row->slots[0], has_prev_pid, NULL, name),
			    "prev_pid");
	assert_null(dialect_pick_field(&row->slots[2], has_prev_pid, NULL, name));
}

static void system_calls_are_named_without_their_prefix(void **state)
{
	(void)state;
	assert_string_equal(dialect_syscall_name("syscall_exit_futex"), "futex");
	assert_string_equal(dialect_syscall_name("compat_syscall_entry_read"), "read");
	assert_string_equal(dialect_syscall_name("sys_open"), "open");
	assert_null(dialect_syscall_name("exit_syscall"));
}

static void every_kind_has_a_name(void **state)
{
	(void)state;
	for (int kind = 0; kind < EV_NR_KINDS; kind++)
		assert_non_null(event_kind_name(kind));
}

static void text_has_slots_of_its_own(void **state)
{
	(void)state;
	assert_true(event_slot_is_text(EV_SCHED_SWITCH, 3));
	assert_true(event_slot_is_text(EV_SCHED_SWITCH, 4));
	assert_false(event_slot_is_text(EV_SCHED_SWITCH, 0));
	assert_true(event_slot_is_text(EV_NEW_TASK, 2));
	assert_false(event_slot_is_text(EV_OTHER, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_tracers_name_finds_its_kind),
		cmocka_unit_test(names_nobody_knows_stay_unknown),
		cmocka_unit_test(a_slot_takes_the_first_name_the_event_has),
		cmocka_unit_test(system_calls_are_named_without_their_prefix),
		cmocka_unit_test(every_kind_has_a_name),
		cmocka_unit_test(text_has_slots_of_its_own),
	};

	return cmocka_run_group_tests_name("dialect", tests, NULL, NULL);
}
