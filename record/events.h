/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_EVENTS_H
#define RECORD_EVENTS_H

#include "record/recorder.h"

/*
 * Which events answer which question: one table for both tracers.
 *
 * Left out on purpose, because they come in floods and no analysis asks for them: kvm_mmio,
 * kvm_pio, kvm_msr, kvm_page_fault, kvm_emulate_insn, kvm_eoi.  A user can add them.
 */
enum event_need {
	EVENT_USUAL,
	EVENT_NEEDED, /* without it nothing can be analysed */
	EVENT_RARE,   /* many kernels are built without it: its absence is not worth a word */
};

struct event_row {
	const char *system; /* ftrace's */
	const char *names;  /* ftrace's names; "a|b": the first that the kernel has */
	const char *lttng;  /* LTTng's names, in the same way; NULL: it has none */
	unsigned purpose;   /* enum record_purpose bits, RECORD_CLOCKS */
	enum event_need need;
};

/* Which of a row's events are recorded, by their fields, as both tracers read it; NULL: all. */
const char *event_filter(const struct event_row *row);

/*
 * A purpose that no user names: timers, and the deadlines that guests program.  They bound guests'
 * clocks where times are CLOCK_MONOTONIC (clock/timers.h), and are recorded there only; with a
 * cycle counter the offsets that KVM lists are exact.
 */
#define RECORD_CLOCKS (1u << 17)

/* What a recorder records for @purpose, 0 being the default, when @mono is what its clock is. */
unsigned event_purpose(unsigned purpose, bool mono);

const struct event_row *event_rows(unsigned *nr);

/* The names of purposes, as users write them: "cpu", "wait", "io", "boot", "all", or several with
 * commas.  -EINVAL when one is not known. */
int purpose_parse(const char *text, unsigned *purpose, struct error *err);

/* Events by system and name, each once: what was switched on, and whose formats belong into the
 * head of a trace.dat.  Zero-initialise, event_list_release() at the end. */
struct event_name {
	char *system; /* owned */
	char *name;   /* owned */
	const char *filter;
};

struct event_list {
	struct event_name *items; /* owned */
	unsigned nr;
};

/* Added twice, it is there once, and unfiltered if it was to be once. */
int event_list_add(struct event_list *list, const char *system, const char *name,
		   const char *filter);
void event_list_sort(struct event_list *list);
void event_list_release(struct event_list *list);

/* What select_events() found missing, for one sentence. */
struct event_gaps {
	char missing[512]; /* "kvm:a, sched:b", cut when it is long */
	unsigned nr_missing;
	bool no_kvm; /* the kernel has no KVM events at all */
};

/* Whether @text may name events: "system:name", "system:*" or "system". */
bool event_is_named(const char *text);

/*
 * Chooses, from the events that exist below @events_dir (a tracefs' "events"), those of the table
 * that serve @purpose (event_purpose()), and those the user named (@extra: "system:name",
 * "system:*" or "system").  -ENOENT with advice: a needed event, or one that the user named, is not
 * there.
 */
int select_events(int events_dir, unsigned purpose, const char *const *extra, unsigned nr_extra,
		  struct event_list *out, struct event_gaps *gaps, struct error *err);

#endif
