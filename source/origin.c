/* SPDX-License-Identifier: Apache-2.0 */
#include "source/origin.h"
#include "arch/exits.h"

#include <string.h>

/* What a call shows as: the add-on's event stands beside KVM's. */
#define AS_HYPERCALL 1
#define AS_VMSYNC 2

static struct call_exit *set_of(struct call_origins *o, int32_t tid)
{
	return o->exits[(uint32_t)tid % CALL_ORIGIN_SETS];
}

/* The thread's exit, as long as it may be of an event; else NULL. */
static struct call_exit *exit_of(struct call_origins *o, int32_t tid)
{
	struct call_exit *set = set_of(o, tid);

	for (unsigned i = 0; tid >= 0 && i < CALL_ORIGIN_WAYS; i++) {
		if (set[i].kinds && set[i].tid == tid)
			return &set[i];
	}
	return NULL;
}

/* A place that nobody needs, or who has waited for its call the longest. */
static struct call_exit *place_for(struct call_origins *o, int32_t tid)
{
	struct call_exit *set = set_of(o, tid), *oldest = set;

	for (unsigned i = 0; i < CALL_ORIGIN_WAYS; i++) {
		if (!set[i].kinds)
			return &set[i];
		if (set[i].time < oldest->time)
			oldest = &set[i];
	}
	return oldest;
}

static void on_exit(struct call_origins *o, const struct event *e, int32_t tid)
{
	struct call_exit *x = exit_of(o, tid);

	if (x)
		x->kinds = 0;
	if (tid < 0 || !exit_by_hypercall(e->arg[0], e->arg[3]))
		return;
	*place_for(o, tid) = (struct call_exit){.rip = (uint64_t)e->arg[2],
						.time = e->time.v,
						.tid = tid,
						.vcpu = (int32_t)e->arg[1],
						.kinds = AS_HYPERCALL | AS_VMSYNC};
}

int32_t call_origins_vcpu(const struct call_origins *o, int32_t tid)
{
	const struct call_exit *x = exit_of((struct call_origins *)o, tid);

	return x ? x->vcpu : -1;
}

void call_origins_forget(struct call_origins *o)
{
	memset(o->exits, 0, sizeof(o->exits));
}

static void on_lost(struct call_origins *o, const struct event *e)
{
	call_origins_forget(o);
	if ((uint64_t)e->arg[2] > o->lost_to)
		o->lost_to = (uint64_t)e->arg[2];
}

void call_origins_follow(struct call_origins *o, const struct event *e, int32_t tid)
{
	struct call_exit *x;

	switch (e->kind) {
	case EV_KVM_EXIT:
		on_exit(o, e, tid);
		break;
	case EV_KVM_ENTRY:
		x = exit_of(o, tid);
		if (x)
			x->kinds = 0;
		break;
	case EV_SCHED_SWITCH:
		x = exit_of(o, (int32_t)e->arg[0]);
		if (x)
			x->has_left = true;
		break;
	case EV_LOST:
		on_lost(o, e);
		break;
	default:
		break;
	}
}

/* What the record says: KVM's word on the privilege level, or where the instruction was. */
static enum ht_origin by_record(const struct stream *s, const struct event *e)
{
	struct field_value v;

	if (!trace_event_field(s, e, "cpl", &v) && v.cls == FIELD_UINT)
		return ht_origin_of_cpl(v.u);
	if (!trace_event_field(s, e, "rip", &v) && v.cls == FIELD_UINT)
		return ht_origin_of_rip(v.u);
	return HT_ORIGIN_UNKNOWN;
}

enum ht_origin call_origins_of(struct call_origins *o, const struct stream *s,
			       const struct event *e, int32_t tid)
{
	uint8_t as = e->kind == EV_VMSYNC_GH_HOST ? AS_VMSYNC : AS_HYPERCALL;
	struct call_exit *x = exit_of(o, tid);

	if (e->kind == EV_KVM_NESTED_HYPERCALL || s->trace->format == TRACE_FOLDED)
		return by_record(s, e);
	if (!x || !(x->kinds & as) || (x->has_left && (o->is_one_stream || x->time < o->lost_to)))
		return HT_ORIGIN_UNKNOWN;
	x->kinds &= (uint8_t)~as;
	return ht_origin_of_rip(x->rip);
}
