/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DIALECT_H
#define SOURCE_DIALECT_H

#include "source/event.h"

/*
 * The dialect table: which tracer's event, by name, is which canonical kind, and which of its
 * fields, by name, fill which argument slots.
 *
 * A reader asks once per event type, when it opens a trace, and keeps the answer as a decoding
 * plan.  Fields that the type does not have leave their slot at the row's default.
 */
#define DIALECT_LTTNG 1u
#define DIALECT_FTRACE 2u
#define DIALECT_UST 4u /* of the event's context, not of its payload, are its fields */

struct dialect_slot {
	const char *field;    /* "a|b" = the first of these names that the type has; NULL = unused */
	int64_t otherwise;    /* the slot's value when the type has no such field */
};

struct dialect_row {
	unsigned tracers;     /* DIALECT_* */
	const char *event;    /* exact name, or a prefix when it ends in '*' */
	uint16_t kind;
	struct dialect_slot slots[EVENT_ARGS];
};

/* The row for this event, or NULL: then it is EV_OTHER. */
const struct dialect_row *dialect_find(unsigned tracer, const char *event);

/* Calls @has(field, data) for each of the slot's alternatives in turn; returns the index of the
 * first alternative for which it is true through @field, or NULL when there is none.  @scratch
 * holds the name. */
const char *dialect_pick_field(const struct dialect_slot *slot,
			       bool (*has)(const char *field, void *data), void *data,
			       char scratch[static 64]);

/* LTTng "syscall_entry_openat", "syscall_exit_openat", old "sys_openat", "compat_sys_...":
 * the syscall's own name, or NULL when the event is none. */
const char *dialect_syscall_name(const char *event);

#endif
