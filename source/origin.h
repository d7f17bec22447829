/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_ORIGIN_H
#define SOURCE_ORIGIN_H

#include "base/types.h"
#include "channel/origin.h"
#include "source/trace.h"

/*
 * Who in a guest made a hypercall (channel/origin.h), of the hypercalls in one host's trace: by
 * what the event says itself, else by the kvm_exit before it in the same thread.
 *
 *	call_origins_follow(&o, e, tid);                every event of CALL_ORIGIN_KINDS, and EV_LOST
 *	if (call_origins_of(&o, stream, e, tid) == HT_ORIGIN_KERNEL) ...
 *
 * Events in order of time: of one stream, or of all that are merged.  An exit is of one call, and
 * of none behind its entry.  Where it may be another's, it is nobody's:
 * - after lost events, on whatever CPU: the thread may have been there;
 * - where the thread left its CPU between exit and call, and of another CPU nothing is known:
 *   because this is one stream alone, or because events were lost there meanwhile.
 *
 * Zero it first.  It does not grow.  Threads whose numbers differ by a multiple of CALL_ORIGIN_SETS
 * share CALL_ORIGIN_WAYS places: only so many exits of others, all still without their calls, drive
 * one out, whose call is then of unknown origin.
 */
#define CALL_ORIGIN_SETS 64
#define CALL_ORIGIN_WAYS 4
#define CALL_ORIGIN_KINDS (WANT(KVM_EXIT) | WANT(KVM_ENTRY) | WANT(SCHED_SWITCH))

struct call_origins {
	bool is_one_stream;
	uint64_t lost_to; /* ticks: a gap that has begun ends there */
	struct call_exit {
		uint64_t rip, time;
		int32_t tid, vcpu; /* vcpu: its number in its VM; -1 unknown */
		uint8_t kinds;	   /* of events that it may still be of */
		bool has_left;	   /* its thread was switched out since */
	} exits[CALL_ORIGIN_SETS][CALL_ORIGIN_WAYS];
};

/* Nothing is known any more of what has been. */
void call_origins_forget(struct call_origins *o);

/* @tid: the host's thread that the event is of; -1 unknown. */
void call_origins_follow(struct call_origins *o, const struct event *e, int32_t tid);

/* Which vCPU of its VM the thread runs, as the exit says that its call is of; -1 unknown. */
int32_t call_origins_vcpu(const struct call_origins *o, int32_t tid);

/* @e: EV_KVM_HYPERCALL, EV_KVM_NESTED_HYPERCALL or EV_VMSYNC_GH_HOST; each once. */
enum ht_origin call_origins_of(struct call_origins *o, const struct stream *s,
			       const struct event *e, int32_t tid);

#endif
