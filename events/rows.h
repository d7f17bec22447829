/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EVENTS_ROWS_H
#define EVENTS_ROWS_H

#include "events/event.h"

/*
 * The rows of events/kinds.def: what is known of each kind of event.  Readers, the recorder, clocks
 * and the model have no lists of their own.
 */

/* What a slot holds. */
enum event_arg_type {
	ARG_NONE,
	ARG_NUM,   /* as the tracer has it */
	ARG_TID,   /* of the machine whose trace it is; -1 not known */
	ARG_CPU,   /* one of its CPUs; -1 not known */
	ARG_ADDR,  /* in its memory, or its guest's */
	ARG_FLAG,  /* 0 or 1 */
	ARG_TICKS, /* as struct event's time */
	/* A reader puts nothing but text there, and text nowhere else, whatever a file calls its
	 * fields: others follow the pointer. */
	ARG_TEXT,
};

struct event_arg {
	const char *name;
	enum event_arg_type type;
};

/* One tracer's name for it, and the fields that fill its slots. */
#define TRACER_LTTNG 1u
#define TRACER_FTRACE 2u /* perf's samples, too */
#define TRACER_UST 4u	 /* fields are the event's context's, not its payload's */

struct event_slot {
	const char *field; /* "a|b" = the first of these names that the type has; NULL = unused */
	int64_t otherwise; /* the slot's value when the type has no such field */
};

struct event_read {
	unsigned tracers;  /* TRACER_*; 0 ends the list */
	const char *event; /* exact name, or a prefix when it ends in '*' */
	struct event_slot slots[EVENT_ARGS];
};

/* What a recording is to answer. */
enum record_purpose {
	RECORD_CPU =
		1 << 0, /* who ran where: switches, wake-ups, interrupts, KVM entries and exits */
	RECORD_WAIT = 1 << 1, /* why a vCPU or thread waited: timers, injection, block, net */
	RECORD_IO = 1 << 2,   /* the way of requests: block, virtio, vhost, eventfd, net */
	RECORD_BOOT = 1 << 3, /* boots and shutdowns: fork, exec, initcalls, exits */
	RECORD_ALL = ~0,
};

/* What next to never happens is for RECORD_ALL only: switching an event on has its cost, too (in a
 * nested guest that is emulated, tens of milliseconds each). */
#define RECORD_REST (1u << 16)

/*
 * A purpose that no user names: timers, and the deadlines that guests program.  They bound guests'
 * clocks where times are CLOCK_MONOTONIC (clock/bounds/timers.h), and are recorded there only; with
 * a cycle counter the offsets that KVM lists are exact.
 */
#define RECORD_CLOCKS (1u << 17)

enum event_need {
	EVENT_USUAL,
	EVENT_NEEDED, /* without it nothing can be analysed */
	EVENT_RARE,   /* many kernels are built without it: its absence is not worth a word */
};

/* One event that a recorder may switch on.  Floods that no analysis needs have none: kvm_pio,
 * kvm_page_fault, kvm_emulate_insn, kvm_eoi.  A user can add them. */
struct event_record {
	const char *system; /* ftrace's; NULL ends the list */
	const char *names;  /* ftrace's names; "a|b": the first that the kernel has */
	const char *lttng;  /* LTTng's name; NULL: it has none */
	unsigned purpose;   /* enum record_purpose bits, RECORD_CLOCKS */
	enum event_need need;
	const char *filter; /* which of them, by their fields, as both tracers read it; NULL: all */
};

/* What else depends on a kind. */
enum event_use {
	EVENT_OF_THREAD = 1 << 0,     /* no handler of an interrupt does that */
	EVENT_OF_NO_CPU = 1 << 1,     /* it says nothing of the CPU in whose stream it is */
	EVENT_IN_KVM = 1 << 2,	      /* between a VM's entries and exits, where a guest may run */
	EVENT_HANDLER_BEGIN = 1 << 3, /* of an interrupt */
	EVENT_HANDLER_END = 1 << 4,
	/* clock/sample/watch.h: what tells a guest's clock in its host's trace, or that host a VM. */
	EVENT_CLOCK_HOST = 1 << 5,
	EVENT_CLOCK_CALLS = 1 << 6, /* ... and of hypercalls that both have */
	EVENT_X86 = 1 << 7,	    /* other architectures' kernels do not have it */
	EVENT_ARM64 = 1 << 8,	    /* likewise */
};

struct event_row {
	const char *name;
	unsigned uses;
	struct event_arg args[EVENT_ARGS];
	const struct event_read *reads;
	const struct event_record *records;
};

extern const struct event_row event_rows[EV_NR_KINDS];

/* "other" where @kind is none. */
const char *event_kind_name(enum event_kind kind);

static inline bool event_slot_is_text(enum event_kind kind, unsigned slot)
{
	return event_rows[kind].args[slot].type == ARG_TEXT;
}

static inline bool event_has_use(uint16_t kind, enum event_use use)
{
	return event_rows[kind].uses & use;
}

/* Whether kernels of the architecture that this program is built for have it. */
bool event_is_of_this_arch(enum event_kind kind);

/* All that a recorder may switch on:  for (struct event_records r = {0}; event_records_next(&r);)
 */
struct event_records {
	enum event_kind kind;
	unsigned nr; /* of that kind's, the next one's number */
	const struct event_record *record;
};

bool event_records_next(struct event_records *r);

/* The kinds that have one of @uses. */
kinds_t event_kinds_with(unsigned uses);

#endif
