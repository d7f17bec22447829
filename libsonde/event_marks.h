/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_EVENT_MARKS_H
#define LIBSONDE_EVENT_MARKS_H

#include "channel/reader.h"
#include "libsonde/inputs/inputs.h"

/*
 * Marks that guests' processes made by hypercall are events of their host's trace: here they become
 * what they mean, events of the guest's thread.
 */
struct event_marks {
	const struct inputs *in;
	int32_t *running; /* owned; by stream: the thread that runs, -1 unknown */
};

/* -ENOMEM. */
int event_marks_init(struct event_marks *m, const struct inputs *in);
void event_marks_release(struct event_marks *m);

static inline bool event_is_mark(const struct event *e)
{
	return (e->kind == EV_KVM_HYPERCALL || e->kind == EV_KVM_NESTED_HYPERCALL) &&
	       ht_is_mark((uint64_t)e->arg[0]);
}

/* Every event, in order. */
void event_marks_follow(struct event_marks *m, unsigned input, const struct event *e);

/* Whose mark this is; false when it follows no rules.  Of a guest that is not among the machines:
 * its host, and the vCPU's thread there. */
struct event_mark {
	struct ht_mark_call call;
	unsigned machine;
	int cpu;
	int32_t tid;
};

/* The thread of an event of user space's trace: the one that runs on its CPU by the kernel's, when
 * that one's number is the event's; -1 unknown. */
int32_t event_marks_user(const struct event_marks *m, unsigned input, const struct event *e);

bool event_mark_read(const struct event_marks *m, unsigned input, const struct event *e,
		     struct event_mark *out);

/* True when some trace has hypercalls, and so may have marks. */
bool event_marks_possible(const struct inputs *in);

#endif
