/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_EVENTS_H
#define RECORD_TRACERS_EVENTS_H

#include "record/tracers/recorder.h"

/*
 * Which events answer which question, of those that this kernel has (events/kinds.def).
 */

/* What a recorder records for @purpose, 0 being the default, when @mono is what its clock is. */
unsigned event_purpose(unsigned purpose, bool mono);

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
