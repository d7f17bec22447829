/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EVENTS_DIALECT_H
#define EVENTS_DIALECT_H

#include "events/rows.h"

/*
 * Which tracer's event, by name, is which canonical kind, and which of its fields, by name, fill
 * which argument slots.
 *
 * A reader asks once per event type, when it opens a trace, and keeps the answer as a decoding
 * plan.  Fields that the type does not have leave their slot at the row's value.
 */

/* The way to read this event, and its kind; NULL: no row has it, then it is EV_OTHER. */
const struct event_read *dialect_find(unsigned tracer, const char *event, uint16_t *kind);

/* Calls @has(field, data) for each of the slot's alternatives in turn; returns the index of the
 * first alternative for which it is true through @field, or NULL when there is none.  @scratch
 * holds the name. */
const char *dialect_pick_field(const struct event_slot *slot,
			       bool (*has)(const char *field, void *data), void *data,
			       char scratch[static 64]);

/* An event kvm_exit with this field is arm64's, and says nothing of a numbering: it is ISA_ARM64's.
 */
#define DIALECT_ARM64_EXIT_FIELD "esr_ec"
#define DIALECT_EXIT_ISA_SLOT 3

/* LTTng "syscall_entry_openat", "syscall_exit_openat", old "sys_openat", "compat_sys_...":
 * the syscall's own name, or NULL when the event is none. */
const char *dialect_syscall_name(const char *event);

#endif
