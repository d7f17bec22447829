/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_ORIGIN_H
#define SOURCE_ORIGIN_H

#include "base/types.h"
#include "channel/origin.h"
#include "source/trace.h"

/*
 * Who in a guest made a hypercall (channel/origin.h), of the hypercalls in one host's trace: by what
 * the event says itself, else by the kvm_exit before it in the same thread.
 *
 *	call_origins_follow(&o, e, tid);                every event of CALL_ORIGIN_KINDS, and EV_LOST
 *	if (call_origins_of(&o, stream, e, tid) == HT_ORIGIN_KERNEL) ...
 *
 * Events in order of time: of one stream, or of all that are merged.  Of one stream alone the origin
 * is unknown where the thread moved between exit and call.  An exit is of one call, and of none
 * behind its entry.  After lost events no exit is known, on no CPU: its thread may have been there.
 *
 * Zero it first.  It does not grow: a thread can drive another's exit out, whose call is then of
 * unknown origin.
 */
#define CALL_ORIGIN_SLOTS 256
#define CALL_ORIGIN_KINDS (WANT(KVM_EXIT) | WANT(KVM_ENTRY))

struct call_origins {
	struct call_exit {
		uint64_t rip;
		int32_t tid;
		uint32_t kinds; /* of events that it may still be of */
	} exits[CALL_ORIGIN_SLOTS];
};

/* @tid: the host's thread that the event is of; -1 unknown. */
void call_origins_follow(struct call_origins *o, const struct event *e, int32_t tid);

/* @e: EV_KVM_HYPERCALL, EV_KVM_NESTED_HYPERCALL or EV_VMSYNC_GH_HOST; each once. */
enum ht_origin call_origins_of(struct call_origins *o, const struct stream *s,
			       const struct event *e, int32_t tid);

#endif
