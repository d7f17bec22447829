/* SPDX-License-Identifier: Apache-2.0 */
/* events/dialect.c: tracers' names become canonical kinds. */
#include "tests/unit/unit.h"

#include "events/dialect.h"
#include "model/model.h"

#include <stdio.h>

static void every_tracers_name_finds_its_kind(void **state)
{
	static const struct {
		unsigned tracer;
		const char *event;
		int kind;
	} cases[] = {
		{TRACER_LTTNG, "kvm_x86_exit", EV_KVM_EXIT},
		{TRACER_LTTNG, "kvm_exit", EV_KVM_EXIT}, /* LTTng before 2.7 */
		{TRACER_FTRACE, "kvm_exit", EV_KVM_EXIT},
		{TRACER_LTTNG, "kvm_x86_msr", EV_KVM_MSR},
		{TRACER_FTRACE, "kvm_msr", EV_KVM_MSR},
		{TRACER_LTTNG, "kvm_x86_pio", EV_KVM_PIO},
		{TRACER_FTRACE, "kvm_pio", EV_KVM_PIO},
		{TRACER_FTRACE, "kvm_nested_vmrun", EV_KVM_NESTED_VMENTER}, /* up to 6.1 */
		{TRACER_FTRACE, "kvm_nested_vmenter", EV_KVM_NESTED_VMENTER},
		{TRACER_FTRACE, "kvm_nested_eret", EV_KVM_NESTED_ERET},
		{TRACER_FTRACE, "kvm_inject_nested_exception", EV_KVM_NESTED_EXCEPTION},
		{TRACER_LTTNG, "syscall_entry_openat", EV_SYSCALL_ENTRY},
		{TRACER_LTTNG, "sys_open", EV_SYSCALL_ENTRY}, /* LTTng before 2.5 */
		{TRACER_LTTNG, "exit_syscall", EV_SYSCALL_EXIT},
		{TRACER_FTRACE, "sys_enter", EV_SYSCALL_ENTRY},
		{TRACER_FTRACE, "local_timer_entry", EV_VECTOR_ENTRY},
		{TRACER_LTTNG, "x86_irq_vectors_local_timer_entry", EV_VECTOR_ENTRY},
		{TRACER_FTRACE, "hypersync_req", EV_SYNC_REQUEST},
		{TRACER_FTRACE, "print", EV_STATE_LINE}, /* trace_marker */
		{TRACER_LTTNG, "lttng_logger", EV_STATE_LINE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint16_t kind;

		assert_non_null(dialect_find(cases[i].tracer, cases[i].event, &kind));
		assert_int_equal(kind, cases[i].kind);
	}
}

static void names_nobody_knows_stay_unknown(void **state)
{
	uint16_t kind;

	(void)state;
	assert_null(dialect_find(TRACER_FTRACE, "syscall_entry_openat", &kind));
	assert_null(dialect_find(TRACER_LTTNG, "ext4_sync_file_enter", &kind));
	assert_null(dialect_find(TRACER_FTRACE, "", &kind));
}

static bool has_prev_pid(const char *field, void *data)
{
	(void)data;
	return !strcmp(field, "prev_pid");
}

static void a_slot_takes_the_first_name_the_event_has(void **state)
{
	uint16_t kind;
	const struct event_read *row = dialect_find(TRACER_FTRACE, "sched_switch", &kind);
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

/* A row that is recorded, and read as another kind or not at all, would be recorded in vain. */
static void what_is_recorded_is_read_as_its_kind(void **state)
{
	unsigned nr = 0;

	(void)state;
	for (struct event_records r = {0}; event_records_next(&r); nr++) {
		char name[64];
		uint16_t kind = EV_OTHER;

		for (const char *from = r.record->names; *from;) {
			size_t len = strcspn(from, "|");

			snprintf(name, sizeof(name), "%.*s", (int)len, from);
			dialect_find(TRACER_FTRACE, name, &kind);
			assert_int_equal(kind, r.kind);
			from += len + (from[len] == '|');
		}
		if (r.record->lttng && r.kind != EV_OTHER) {
			assert_non_null(dialect_find(TRACER_LTTNG, r.record->lttng, &kind));
			assert_int_equal(kind, r.kind);
		}
	}
	assert_true(nr > 80);
}

/* Else the model would never see it, whatever the recorder does. */
static void what_the_model_wants_some_tracer_has(void **state)
{
	kinds_t want = model_want();
	unsigned nr = 0;

	(void)state;
	for (unsigned kind = 0; kind < EV_NR_KINDS; kind++) {
		if (!(want >> kind & 1) || kind == EV_GUEST_CR3)
			continue;
		assert_int_not_equal(event_rows[kind].reads[0].tracers, 0);
		nr++;
	}
	assert_true(nr >= 50);
}

static void slots_read_have_an_argument(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < EV_NR_KINDS; kind++) {
		for (const struct event_read *r = event_rows[kind].reads; r->tracers; r++) {
			for (unsigned i = 0; i < EVENT_ARGS; i++) {
				if (r->slots[i].field)
					assert_int_not_equal(event_rows[kind].args[i].type,
							     ARG_NONE);
			}
		}
	}
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
		cmocka_unit_test(what_is_recorded_is_read_as_its_kind),
		cmocka_unit_test(what_the_model_wants_some_tracer_has),
		cmocka_unit_test(slots_read_have_an_argument),
		cmocka_unit_test(every_kind_has_a_name),
		cmocka_unit_test(text_has_slots_of_its_own),
	};

	return cmocka_run_group_tests_name("dialect", tests, NULL, NULL);
}
