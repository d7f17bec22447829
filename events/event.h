/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EVENTS_EVENT_H
#define EVENTS_EVENT_H

#include "base/types.h"

/*
 * The canonical event: what every tracer's records become before anything else sees them.
 *
 * A kind says what happened; up to five typed arguments say with what.  events/kinds.def has a row
 * for each kind, events/rows.h says what is in it.  A slot that the tracer does not give has the
 * value that its row says.  Slots of text hold a pointer to at most 16 bytes of it, not always
 * NUL-terminated, valid as long as the batch that it came with; 0 when the tracer has no such
 * field. Signed numbers are sign-extended to 64 bits.
 */
enum event_kind {
#define EVENT(kind, ...) EV_##kind,
#include "events/kinds.def"
#undef EVENT
	EV_NR_KINDS
};

/* A set of kinds: WANT(x) | WANT(y). */
__extension__ typedef unsigned __int128 kinds_t;

#define KIND_BIT(kind) ((kinds_t)1 << (kind))
#define WANT(kind) KIND_BIT(EV_##kind)
_Static_assert(EV_NR_KINDS < 8 * sizeof(kinds_t), "event kinds fit the bits of kinds_t");

#define EVENT_ARGS 5

/* One cache line.  Batches of these flow through the whole program. */
struct event {
	ticks_t time;  /* the trace's own clock; within a stream it never decreases (a reader that
			  meets a step back in the file keeps the file's order, gives the event
			  the time of the one before it, and reports a problem) */
	uint16_t kind; /* enum event_kind */
	uint16_t type; /* index into trace->types: the tracer's own event class */
	int32_t tid;   /* thread that was running, from ftrace's common_pid or an LTTng tid
			  context; -1 when the record does not say */
	const uint8_t *record; /* the raw record, for trace_event_field(); lives as long as the
				  batch */
	int64_t arg[EVENT_ARGS];
};

_Static_assert(sizeof(struct event) == 64, "an event is one cache line");

static inline const char *event_str(const struct event *e, unsigned slot)
{
	return (const char *)(uintptr_t)e->arg[slot];
}

#endif
