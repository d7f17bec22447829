/* SPDX-License-Identifier: Apache-2.0 */
#include "events/rows.h"

#define LTTNG TRACER_LTTNG
#define FTRACE TRACER_FTRACE
#define UST TRACER_UST
#define BOTH (LTTNG | FTRACE)

#define CPU RECORD_CPU
#define WAIT RECORD_WAIT
#define IO RECORD_IO
#define BOOT RECORD_BOOT
#define REST RECORD_REST
#define CLOCKS RECORD_CLOCKS
/* Every question needs to know who ran where. */
#define ANY (CPU | WAIT | IO | BOOT)

#define OF_THREAD EVENT_OF_THREAD
#define OF_NO_CPU EVENT_OF_NO_CPU
#define IN_KVM EVENT_IN_KVM
#define HANDLER_BEGIN EVENT_HANDLER_BEGIN
#define HANDLER_END EVENT_HANDLER_END
#define CLOCK_HOST EVENT_CLOCK_HOST
#define CLOCK_CALLS EVENT_CLOCK_CALLS
#define X86 EVENT_X86
#define ARM64 EVENT_ARM64

/* clang-format off: as kinds.def reads */
#define ARGS(...)                                                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define NUM(name)                                                                                  \
	{                                                                                          \
#name, ARG_NUM                                                                     \
	}
#define TID(name)                                                                                  \
	{                                                                                          \
#name, ARG_TID                                                                     \
	}
#define ON_CPU(name)                                                                               \
	{                                                                                          \
#name, ARG_CPU                                                                     \
	}
#define ADDR(name)                                                                                 \
	{                                                                                          \
#name, ARG_ADDR                                                                    \
	}
#define FLAG(name)                                                                                 \
	{                                                                                          \
#name, ARG_FLAG                                                                    \
	}
#define TICKS(name)                                                                                \
	{                                                                                          \
#name, ARG_TICKS                                                                   \
	}
#define TEXT(name)                                                                                 \
	{                                                                                          \
#name, ARG_TEXT                                                                    \
	}
#define NO_ARG                                                                                     \
	{                                                                                          \
		0                                                                                  \
	}

#define READS(...)                                                                                 \
	(const struct event_read[])                                                                \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}
#define READ(tracers, event, ...)                                                                  \
	{                                                                                          \
		tracers, event,                                                                    \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define NO_READ                                                                                    \
	{                                                                                          \
		0                                                                                  \
	}
/* Before LTTng 2.7 the kvm names had no x86_. */
#define KVM_READ(name, ...)                                                                        \
	READ(LTTNG, "kvm_x86_" name, __VA_ARGS__), READ(BOTH, "kvm_" name, __VA_ARGS__)
#define VECTOR_READ(name)                                                                          \
	READ(FTRACE, name, {"vector", -1}), READ(LTTNG, "x86_irq_vectors_" name, {"vector", -1})

#define RECORDS(...)                                                                               \
	(const struct event_record[])                                                              \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}
#define RECORD_IF(system, names, lttng, purpose, need, filter)                                     \
	{                                                                                          \
		system, names, lttng, purpose, need, filter                                        \
	}
#define RECORD(system, names, lttng, purpose, need)                                                \
	RECORD_IF(system, names, lttng, purpose, need, NULL)
#define NEEDED EVENT_NEEDED
#define USUAL EVENT_USUAL
#define RARE EVENT_RARE
#define NO_RECORD                                                                                  \
	{                                                                                          \
		0                                                                                  \
	}
#define VECTOR_RECORD(name, purpose)                                                               \
	RECORD("irq_vectors", name, "x86_irq_vectors_" name, purpose, RARE)

const struct event_row event_rows[EV_NR_KINDS] = {
#define EVENT(kind, name, handler, uses, args, ...) [EV_##kind] = {name, uses, args, __VA_ARGS__},
#include "events/kinds.def"
#undef EVENT
};
/* clang-format on */

const char *event_kind_name(enum event_kind kind)
{
	return event_rows[kind < EV_NR_KINDS ? kind : EV_OTHER].name;
}

kinds_t event_kinds_with(unsigned uses)
{
	kinds_t kinds = 0;

	for (unsigned kind = 0; kind < EV_NR_KINDS; kind++) {
		if (event_rows[kind].uses & uses)
			kinds |= KIND_BIT(kind);
	}
	return kinds;
}

bool event_is_of_this_arch(enum event_kind kind)
{
#ifdef __x86_64__
	return !(event_rows[kind].uses & EVENT_ARM64);
#else
	return !(event_rows[kind].uses & EVENT_X86);
#endif
}

bool event_records_next(struct event_records *r)
{
	for (; r->kind < EV_NR_KINDS; r->kind++, r->nr = 0) {
		r->record = &event_rows[r->kind].records[r->nr++];
		if (r->record->system)
			return true;
	}
	return false;
}
