/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/sample/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "channel/reader.h"
#include "clock/fit/sort.h"
#include "events/rows.h"
#include "arch/exits.h"
#include "arch/arm64/cpu.h"
#include "arch/x86/cpu.h"
#include "source/ticks.h"

/* When no CPU records anything for so long, the tracer was off. */
#define SILENCE_US 500000
/* A part is left after a multiple of so many events: what is read of a sparse trace must tell
 * something, too. */
#define PART_STEP 512

/* What a key is made of besides the payload, so that the two kinds of call never meet. */
enum call_class { CALL_HYPERCALL, CALL_VMSYNC_GH, CALL_VMSYNC_HG };

void watch_init(struct watch *w, struct stream *s)
{
	memset(w, 0, sizeof(*w));
	w->stream = s;
	w->silence = (uint64_t)(ticks_per_us(s->trace) * SILENCE_US);
	w->tid = -1;
	w->seam = SEAM_INIT;
	w->guest_tid = -1;
	w->synced_tid = -1;
	w->origins.is_one_stream = true;
	w->since = 0;
	w->wants_mono = s->trace->clock.kind == CLOCK_TSC || s->trace->clock.kind == CLOCK_UNKNOWN;
}

kinds_t watch_wanted(const struct watch *w)
{
	if (w->purpose == SAMPLE_CALLS)
		return event_kinds_with(EVENT_CLOCK_CALLS);
	if (w->purpose == SAMPLE_HOST)
		return event_kinds_with(EVENT_CLOCK_HOST) |
		       (w->wants_mono ? WANT(HRTIMER_EXPIRE_ENTRY) : 0);
	return (KIND_BIT(EV_NR_KINDS) - 1) & ~WANT(OTHER) & ~WANT(GUEST_CR3) &
	       ~WANT(STATEDUMP_PROCESS) & ~WANT(STATEDUMP_PID_NS);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ (h >> 32);
}

static int note_call(struct watch *w, struct call_list *l, const struct event *e,
		     enum call_class class, unsigned nr_args)
{
	struct call *c = sample_add(l);
	uint64_t key = mix(0, class);

	if (!c)
		return -ENOMEM;
	for (unsigned i = 0; i < nr_args; i++)
		key = mix(key, (uint64_t)e->arg[i]);
	*c = (struct call){key, e->time.v, w->tid, w->stream->cpu};
	return 0;
}

static int note_nesting(struct watch *w, uint64_t time, bool in)
{
	struct nesting *n;

	if (w->purpose == SAMPLE_CALLS)
		return 0;
	n = sample_add(&w->nestings);
	if (!n)
		return -ENOMEM;
	*n = (struct nesting){time, w->tid, in};
	return 0;
}

/* The host surely runs at @time: whatever stay there was has ended. */
static int host_runs(struct watch *w, uint64_t time)
{
	enum guest_mode was = w->mode;

	if (w->purpose == SAMPLE_CALLS)
		return 0;
	w->mode = MODE_OUT;
	if (was == MODE_IN)
		return stay_list_add(&w->stays, w->guest_tid, w->stream->cpu, w->since, time,
				     false);
	if (was != MODE_NOT_KNOWN)
		return 0;
	if (w->tid < 0) /* whosever it was */
		return stay_list_add(&w->lost, -1, -1, w->since, time, true);
	return stay_list_add(&w->stays, w->tid, w->stream->cpu, w->since, time, true);
}

static int on_kvm_entry(struct watch *w, uint64_t time)
{
	int ret = host_runs(w, time);

	w->last_start.time = 0;
	w->has_entries = true;
	w->mode = MODE_IN;
	w->since = time;
	w->guest_tid = w->tid;
	return ret;
}

static int on_kvm_exit(struct watch *w, const struct event *e)
{
	int64_t reason = e->arg[0], isa = e->arg[3];
	int ret = host_runs(w, e->time.v);

	w->last_start.time = 0;
	if (ret == 0 && isa && exit_starts_guest(reason, isa))
		ret = note_nesting(w, e->time.v, true);
	return ret;
}

static int on_lost(struct watch *w, const struct event *e)
{
	uint64_t begin = (uint64_t)e->arg[1], end = (uint64_t)e->arg[2];
	int ret = 0;

	if (w->mode == MODE_IN)
		ret = stay_list_add(&w->stays, w->guest_tid, w->stream->cpu, w->since, begin, true);
	if (ret == 0)
		ret = stay_list_add(&w->lost, -1, -1, begin, end, true);
	w->mode = MODE_NOT_KNOWN;
	w->since = begin;
	w->tid = -1;
	w->irq_at = 0;
	call_origins_forget(&w->origins);
	w->synced_tid = -1;
	w->last_start.time = 0;
	return ret;
}

static int on_tsc_write(struct watch *w, const struct event *e)
{
	struct tsc_write *t = sample_add(&w->tsc_writes);

	if (!t)
		return -ENOMEM;
	*t = (struct tsc_write){e->time.v, w->tid, (int32_t)e->arg[0], e->arg[1], e->arg[2]};
	return 0;
}

/* The first timer of a run shows the time the kernel read just before; the others repeat it. */
static int on_hrtimer(struct watch *w, const struct event *e)
{
	uint64_t now = (uint64_t)e->arg[1];
	struct mono_point *m;

	if (!w->wants_mono || now == w->now)
		return 0;
	w->now = now;
	m = sample_add(&w->monos);
	if (!m)
		return -ENOMEM;
	*m = (struct mono_point){w->irq_at, e->time.v, now};
	w->irq_at = 0; /* it stands before the first reading only */
	return 0;
}

static bool by_kernel(struct watch *w, const struct event *e)
{
	return call_origins_of(&w->origins, w->stream, e, w->tid) == HT_ORIGIN_KERNEL;
}

/* A guest's timer, or one that KVM starts for a guest. */
static int on_timer_start(struct watch *w, const struct event *e)
{
	struct armed *a;

	if (w->mode == MODE_OUT)
		w->last_start = (struct deadline){e->time.v, (uint64_t)e->arg[1],
						  (uint64_t)e->arg[0], w->tid};
	if (w->purpose != SAMPLE_ALL) {
		w->passing++;
		return 0;
	}
	a = sample_add(&w->armed);
	if (!a)
		return -ENOMEM;
	*a = (struct armed){e->time.v, (uint64_t)e->arg[1]};
	return 0;
}

/* KVM records the write of a deadline after it has started the timer for it, in one exit. */
static int on_msr(struct watch *w, const struct event *e)
{
	struct deadline start = w->last_start, *d;

	w->passing++;
	if (!e->arg[0] || !x86_msr_is_timer(e->arg[1]) || !start.time || start.tid != w->tid ||
	    start.tid < 0)
		return 0;
	w->last_start.time = 0;
	d = sample_add(&w->deadlines);
	if (!d)
		return -ENOMEM;
	*d = start;
	return 0;
}

/* Of a block that a guest sends in many, the last matters: the guest's side of it is known
 * (source/hyper/hyper.h).  A process of a guest has no say about clocks. */
static int on_hypercall(struct watch *w, const struct event *e)
{
	uint64_t nr = (uint64_t)e->arg[0];

	if (!by_kernel(w, e))
		return 0;
	if (unlikely(ht_is_call(nr))) {
		w->carries_blocks = true;
		if (!ht_call_is_last(nr))
			return 0;
	}
	return note_call(w, &w->calls, e, CALL_HYPERCALL, 5);
}

/* Events of hypervisor and clock; the rest only shows that the CPU ran. */
static int on_event(struct watch *w, const struct event *e)
{
	uint64_t t = e->time.v;
	int ret;

	switch (e->kind) {
	case EV_KVM_ENTRY:
		return on_kvm_entry(w, t);
	case EV_KVM_EXIT:
		return on_kvm_exit(w, e);
	case EV_KVM_HYPERCALL:
		return on_hypercall(w, e);
	case EV_KVM_NESTED_HYPERCALL: /* a moment of its host's and its guest's guest */
		w->carries_blocks |= ht_is_call((uint64_t)e->arg[0]) && by_kernel(w, e);
		return 0;
	case EV_KVM_NESTED_VMENTER:
		return note_nesting(w, t, true);
	case EV_KVM_NESTED_VMEXIT_INJECT:
	case EV_KVM_NESTED_EXCEPTION:
		return note_nesting(w, t, false);
	case EV_KVM_NESTED_ERET:
		return note_nesting(w, t,
				    arm64_eret_to_guest((uint64_t)e->arg[0], (uint64_t)e->arg[1]));
	case EV_KVM_WRITE_TSC_OFFSET:
		return on_tsc_write(w, e);
	case EV_HRTIMER_START:
		return on_timer_start(w, e);
	case EV_KVM_MSR:
		return on_msr(w, e);
	case EV_SCHED_SWITCH:
		ret = host_runs(w, t);
		w->tid = (int32_t)e->arg[1];
		return ret;
	case EV_VECTOR_ENTRY:
		w->irq_at = t;
		return host_runs(w, t);
	case EV_IRQ_ENTRY:
	case EV_SOFTIRQ_ENTRY:
	case EV_SYSCALL_ENTRY:
	case EV_SYSCALL_EXIT:
		return host_runs(w, t);
	case EV_HRTIMER_EXPIRE_ENTRY:
		ret = host_runs(w, t);
		return ret ? ret : on_hrtimer(w, e);
	case EV_SYNC_REQUEST:
		return note_call(w, &w->requests, e, CALL_HYPERCALL, 5);
	case EV_SYNC_ACK:
		return note_call(w, &w->acks, e, CALL_HYPERCALL, 5);
	case EV_VMSYNC_GH_GUEST:
		return note_call(w, &w->requests, e, CALL_VMSYNC_GH, 2);
	case EV_VMSYNC_GH_HOST:
		w->synced_tid = by_kernel(w, e) ? w->tid : -1;
		return w->synced_tid < 0 ? 0 : note_call(w, &w->calls, e, CALL_VMSYNC_GH, 2);
	case EV_VMSYNC_HG_HOST: /* the answer to that */
		return w->synced_tid < 0 || w->synced_tid != w->tid
			       ? 0
			       : note_call(w, &w->calls, e, CALL_VMSYNC_HG, 2);
	case EV_VMSYNC_HG_GUEST:
		return note_call(w, &w->acks, e, CALL_VMSYNC_HG, 2);
	default:
		return 0;
	}
}

/* The first event after something was not read, or a long silence. */
static int note_break(struct watch *w, uint64_t time)
{
	struct event lost = {.arg = {0, (int64_t)w->last, (int64_t)time}};
	bool fresh = w->fresh;

	w->fresh = false;
	if (!w->nr_events) {
		w->first = time;
		return 0;
	}
	if (fresh)
		return on_lost(w, &lost);
	if (w->mode == MODE_OUT) {
		w->mode = MODE_NOT_KNOWN;
		w->since = w->last;
	}
	return stay_list_add(&w->silent, -1, -1, w->last, time, true);
}

/* A loss has the time of its begin, and may reach into what is read. */
static bool is_lost_at(const struct event *e, uint64_t time)
{
	return e->kind == EV_LOST && (uint64_t)e->arg[2] > time;
}

static int watch_event(struct watch *w, const struct event *e)
{
	ticks_t from;
	bool breaks = seam_breaks(&w->seam, e, &from);
	uint64_t *t;
	int ret = 0;

	if (e->time.v < w->from && !is_lost_at(e, w->from)) {
		w->tid = e->kind == EV_LOST ? -1 : e->tid;
		return 0;
	}
	if (e->kind == EV_LOST) {
		struct event lost = *e;

		if (breaks)
			seam_widen(&lost, from);
		return on_lost(w, &lost);
	}
	if (breaks && !w->fresh) {
		const struct event lost = seam_lost(from, e->time);

		call_origins_follow(&w->origins, &lost, -1);
		w->synced_tid = -1;
		ret = on_lost(w, &lost);
	} else if (w->fresh || (w->nr_events && e->time.v - w->last > w->silence)) {
		ret = note_break(w, e->time.v);
	}
	if (ret)
		return ret;
	if (e->tid >= 0)
		w->tid = e->tid;
	call_origins_follow(&w->origins, e, w->tid);
	w->nr_events++;
	w->last = e->time.v;
	if (w->purpose == SAMPLE_ALL && e->kind != EV_KVM_MSR) { /* its exit shows as much */
		t = sample_add(&w->events);
		if (!t)
			return -ENOMEM;
		*t = e->time.v;
	}
	return on_event(w, e);
}

bool watch_full(const struct watch *w)
{
	return w->nr_events - w->passing >= w->notes_max;
}

bool watch_done(const struct watch *w)
{
	return (w->last > w->until && w->in_part % PART_STEP == 0) || watch_full(w);
}

int watch_events(struct watch *w, const struct event *events, unsigned nr)
{
	/* No more of a batch than of a part: how many come at once is up to the reader. */
	for (unsigned i = 0; i < nr && !watch_done(w); i++) {
		int ret = watch_event(w, &events[i]);

		w->in_part++;
		if (ret)
			return ret;
	}
	return 0;
}

void watch_part(struct watch *w, uint64_t from, uint64_t until)
{
	w->fresh = true;
	w->seam = SEAM_INIT;
	w->from = from;
	w->synced_tid = -1;
	call_origins_forget(&w->origins);
	w->until = until;
	w->in_part = 0;
}

static uint32_t tid_of(const char *element, size_t tid_offset)
{
	int32_t tid;

	memcpy(&tid, element + tid_offset, sizeof(tid));
	return (uint32_t)tid;
}

static int tids_up(const void *a, const void *b)
{
	int32_t p = (int32_t) * (const uint64_t *)a, q = (int32_t) * (const uint64_t *)b;

	return (p > q) - (p < q);
}

/* The different tids of a list, ascending. */
static int list_tids(struct tick_list *out, const char *list, size_t nr, size_t size,
		     size_t tid_offset)
{
	struct map seen = {0};
	uint32_t last = 0;
	int ret = 0;

	for (size_t i = 0; i < nr && ret == 0; i++) {
		uint32_t tid = tid_of(list + i * size, tid_offset);
		uint64_t *t;

		if ((i && tid == last) || map_get(&seen, tid))
			continue;
		last = tid;
		ret = map_put(&seen, tid, 0);
		t = ret ? NULL : sample_add(out);
		if (t)
			*t = tid;
		else
			ret = -ENOMEM;
	}
	map_release(&seen);
	sort_runs(out->list, out->nr, sizeof(*out->list), tids_up);
	return ret;
}

/*
 * Distributes elements with a tid (at @tid_offset) to their threads, in ascending order of tid,
 * keeping their order otherwise: a stream's list becomes one ascending run.  The list is replaced.
 */
static int group_by_thread(void **list, size_t nr, size_t size, size_t tid_offset)
{
	struct tick_list tids = {0};
	struct map index = {0};
	size_t *at = NULL;
	char *out = NULL, *in = *list;
	int ret = nr ? list_tids(&tids, in, nr, size, tid_offset) : 0;

	for (size_t i = 0; i < tids.nr && ret == 0; i++)
		ret = map_put(&index, tids.list[i], (uint32_t)i);
	if (ret == 0 && tids.nr > 1) {
		at = calloc(tids.nr + 1, sizeof(*at));
		out = malloc(nr * size);
		ret = at && out ? 0 : -ENOMEM;
	}
	for (size_t i = 0; at && out && i < nr; i++)
		at[*map_get(&index, tid_of(in + i * size, tid_offset)) + 1]++;
	for (size_t i = 1; at && out && i < tids.nr; i++)
		at[i] += at[i - 1];
	for (size_t i = 0; at && out && i < nr; i++)
		memcpy(out + at[*map_get(&index, tid_of(in + i * size, tid_offset))]++ * size,
		       in + i * size, size);
	if (at && out) {
		*list = out;
		out = in;
	}
	free(at);
	free(out);
	free(tids.list);
	map_release(&index);
	return ret;
}

int watch_end(struct watch *w)
{
	int ret = 0;

	if (w->purpose == SAMPLE_CALLS)
		return 0;
	if (w->mode == MODE_IN)
		ret = stay_list_add(&w->stays, w->guest_tid, w->stream->cpu, w->since, w->last,
				    true);
	if (ret == 0)
		ret = group_by_thread((void **)&w->stays.list, w->stays.nr, sizeof(*w->stays.list),
				      offsetof(struct stay, tid));
	if (ret == 0)
		ret = group_by_thread((void **)&w->nestings.list, w->nestings.nr,
				      sizeof(*w->nestings.list), offsetof(struct nesting, tid));
	if (ret == 0)
		ret = group_by_thread((void **)&w->deadlines.list, w->deadlines.nr,
				      sizeof(*w->deadlines.list), offsetof(struct deadline, tid));
	return ret;
}

void watch_release(struct watch *w)
{
	free(w->calls.list);
	free(w->requests.list);
	free(w->acks.list);
	free(w->stays.list);
	free(w->nestings.list);
	free(w->events.list);
	free(w->armed.list);
	free(w->deadlines.list);
	free(w->tsc_writes.list);
	free(w->monos.list);
	free(w->lost.list);
	free(w->silent.list);
	memset(w, 0, sizeof(*w));
}
