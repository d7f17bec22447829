/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "channel/reader.h"
#include "clock/contain.h"
#include "clock/rates.h"
#include "clock/sort.h"
#include "source/exits.h"

/* When no CPU records anything for so long, the tracer was off. */
#define SILENCE_US 500000

/* What a key is made of besides the payload, so that the two kinds of call never meet. */
enum call_class { CALL_HYPERCALL, CALL_VMSYNC_GH, CALL_VMSYNC_HG };

void watch_init(struct watch *w, struct stream *s)
{
	memset(w, 0, sizeof(*w));
	w->stream = s;
	w->silence = (uint64_t)(rates_ticks_per_us(s->trace) * SILENCE_US);
	w->tid = -1;
	w->guest_tid = -1;
	w->since = 0;
	w->wants_mono = s->trace->clock.kind == CLOCK_TSC || s->trace->clock.kind == CLOCK_UNKNOWN;
}

uint64_t watch_wanted(const struct watch *w)
{
	uint64_t calls = WANT(KVM_HYPERCALL) | WANT(KVM_NESTED_HYPERCALL) | WANT(VMSYNC_GH_HOST) |
			 WANT(VMSYNC_HG_HOST) | WANT(SYNC_REQUEST) | WANT(SYNC_ACK) |
			 WANT(VMSYNC_GH_GUEST) | WANT(VMSYNC_HG_GUEST) | WANT(SCHED_SWITCH);
	uint64_t host = WANT(KVM_ENTRY) | WANT(KVM_EXIT) | WANT(KVM_HYPERCALL) |
			WANT(KVM_NESTED_HYPERCALL) | WANT(KVM_NESTED_VMENTER) |
			WANT(KVM_NESTED_VMEXIT_INJECT) | WANT(KVM_WRITE_TSC_OFFSET) |
			WANT(SCHED_SWITCH) | WANT(VECTOR_ENTRY) | WANT(IRQ_ENTRY) |
			WANT(VMSYNC_GH_HOST) | WANT(VMSYNC_HG_HOST);

	if (w->purpose == SAMPLE_CALLS)
		return calls;
	if (w->purpose == SAMPLE_HOST)
		return host | (w->wants_mono ? WANT(HRTIMER_EXPIRE_ENTRY) : 0);
	return (UINT64_MAX >> (64 - EV_NR_KINDS)) & ~WANT(OTHER) & ~WANT(GUEST_CR3) &
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

static int note_stay(struct stay_list *l, int32_t tid, int32_t cpu, uint64_t begin, uint64_t end,
		     bool unsure)
{
	struct stay *s = sample_add(l);

	if (!s)
		return -ENOMEM;
	*s = (struct stay){begin, end, tid, cpu, NESTED_UNKNOWN, unsure};
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
		return note_stay(&w->stays, w->guest_tid, w->stream->cpu, w->since, time, false);
	if (was != MODE_NOT_KNOWN)
		return 0;
	if (w->tid < 0) /* whosever it was */
		return note_stay(&w->lost, -1, -1, w->since, time, true);
	return note_stay(&w->stays, w->tid, w->stream->cpu, w->since, time, true);
}

static int on_kvm_entry(struct watch *w, uint64_t time)
{
	int ret = host_runs(w, time);

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

	if (ret == 0 && (isa == ISA_SVM || isa == ISA_VMX) && exit_starts_guest(reason, isa))
		ret = note_nesting(w, e->time.v, true);
	return ret;
}

static int on_lost(struct watch *w, const struct event *e)
{
	uint64_t begin = (uint64_t)e->arg[1], end = (uint64_t)e->arg[2];
	int ret = 0;

	if (w->mode == MODE_IN)
		ret = note_stay(&w->stays, w->guest_tid, w->stream->cpu, w->since, begin, true);
	if (ret == 0)
		ret = note_stay(&w->lost, -1, -1, begin, end, true);
	w->mode = MODE_NOT_KNOWN;
	w->since = begin;
	w->tid = -1;
	w->irq_at = 0;
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

/* Of a block that a guest sends in many, the last matters: the guest's side of it is known
 * (source/hyper/hyper.h). */
static int on_hypercall(struct watch *w, const struct event *e)
{
	uint64_t nr = (uint64_t)e->arg[0];

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
		w->carries_blocks |= ht_is_call((uint64_t)e->arg[0]);
		return 0;
	case EV_KVM_NESTED_VMENTER:
		return note_nesting(w, t, true);
	case EV_KVM_NESTED_VMEXIT_INJECT:
		return note_nesting(w, t, false);
	case EV_KVM_WRITE_TSC_OFFSET:
		return on_tsc_write(w, e);
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
		return note_call(w, &w->calls, e, CALL_VMSYNC_GH, 2);
	case EV_VMSYNC_HG_HOST:
		return note_call(w, &w->calls, e, CALL_VMSYNC_HG, 2);
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
	return note_stay(&w->silent, -1, -1, w->last, time, true);
}

static int watch_event(struct watch *w, const struct event *e)
{
	uint64_t *t;
	int ret = 0;

	if (e->time.v < w->from) {
		w->tid = e->tid;
		return 0;
	}
	if (e->kind == EV_LOST)
		return on_lost(w, e);
	if (w->fresh || (w->nr_events && e->time.v - w->last > w->silence))
		ret = note_break(w, e->time.v);
	if (ret)
		return ret;
	if (e->tid >= 0)
		w->tid = e->tid;
	w->nr_events++;
	w->last = e->time.v;
	if (w->purpose == SAMPLE_ALL) {
		t = sample_add(&w->events);
		if (!t)
			return -ENOMEM;
		*t = e->time.v;
	}
	return on_event(w, e);
}

int watch_events(struct watch *w, const struct event *events, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		int ret = watch_event(w, &events[i]);

		if (ret)
			return ret;
	}
	return 0;
}

void watch_part(struct watch *w, uint64_t from)
{
	w->fresh = true;
	w->from = from;
}

bool watch_full(const struct watch *w)
{
	return w->nr_events >= w->notes_max;
}

static uint32_t tid_of(const char *element, size_t tid_offset)
{
	int32_t tid;

	memcpy(&tid, element + tid_offset, sizeof(tid));
	return (uint32_t)tid;
}

static int tids_up(const void *a, const void *b)
{
	int32_t p = (int32_t)*(const uint64_t *)a, q = (int32_t)*(const uint64_t *)b;

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
		ret = note_stay(&w->stays, w->guest_tid, w->stream->cpu, w->since, w->last, true);
	if (ret == 0)
		ret = group_by_thread((void **)&w->stays.list, w->stays.nr, sizeof(*w->stays.list),
				      offsetof(struct stay, tid));
	if (ret == 0)
		ret = group_by_thread((void **)&w->nestings.list, w->nestings.nr,
				      sizeof(*w->nestings.list), offsetof(struct nesting, tid));
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
	free(w->tsc_writes.list);
	free(w->monos.list);
	free(w->lost.list);
	free(w->silent.list);
	memset(w, 0, sizeof(*w));
}

/* Moves what is in one list behind another. */
#define append(to, from)                                                                           \
	append_list((void **)&(to)->list, &(to)->nr, &(to)->room, (void **)&(from)->list,          \
		    &(from)->nr, sizeof(*(to)->list))

static int append_list(void **to, size_t *nr, size_t *room, void **from, size_t *nr_from,
		       size_t size)
{
	size_t more = *nr_from;
	void *n;

	if (!more)
		return 0;
	if (!*nr) {
		free(*to);
		*to = *from;
		*from = NULL;
		*nr_from = 0;
		*nr = *room = more;
		return 0;
	}
	n = realloc(*to, (*nr + more) * size);
	if (!n)
		return -ENOMEM;
	memcpy((char *)n + *nr * size, *from, more * size);
	*to = n;
	*nr_from = 0;
	*nr += more;
	*room = *nr;
	return 0;
}

static int gather_one(struct sample *s, struct watch *w)
{
	unsigned cpu = w->stream->cpu < 0 ? 0 : (unsigned)w->stream->cpu;
	int ret = append(&s->calls, &w->calls);

	if (ret == 0)
		ret = append(&s->requests, &w->requests);
	if (ret == 0)
		ret = append(&s->acks, &w->acks);
	if (ret == 0)
		ret = append(&s->stays, &w->stays);
	if (ret == 0)
		ret = append(&s->tsc_writes, &w->tsc_writes);
	if (ret == 0)
		ret = append(&s->monos, &w->monos);
	if (ret == 0 && cpu < s->nr_cpus)
		ret = append(&s->events[cpu], &w->events);
	return ret;
}

/* A page of ftrace's does not say when it ends: where nothing was read, its last event tells. */
static uint64_t end_of_packet(struct stream *s, uint32_t packet)
{
	uint64_t last = s->packets[packet].end ? s->packets[packet].end : s->packets[packet].begin;
	struct event events[64];
	struct cursor c;
	unsigned n;

	if (s->packets[packet].end || cursor_init(&c, s, packet, 1, 0, NULL))
		return last;
	while ((n = cursor_next(&c, events, ARRAY_SIZE(events))))
		last = events[n - 1].time.v;
	cursor_release(&c);
	return last;
}

/* The trace's own first and last tick.  The first packet's begin is no witness: LTTng's begin when
 * the buffers are made, before anything is recorded. */
static void gather_limits(struct sample *s, const struct watch *w, unsigned nr)
{
	s->first = UINT64_MAX;
	s->last = 0;
	s->active = 0;
	s->known_until = UINT64_MAX;
	for (unsigned i = 0; i < nr; i++) {
		struct stream *st = w[i].stream;
		bool from_start = w[i].nr_parts && !w[i].parts[0].first && w[i].nr_events;
		uint64_t first, last;

		if (!st->nr_packets)
			continue;
		first = from_start ? w[i].first : st->packets[0].begin;
		last = w[i].last;
		if (!last || st->packets[st->nr_packets - 1].end > last)
			last = end_of_packet(st, st->nr_packets - 1);
		last = last > first ? last : first;
		s->first = first < s->first ? first : s->first;
		s->last = last > s->last ? last : s->last;
		s->active = w[i].last > s->active ? w[i].last : s->active;
		if (w[i].cut && w[i].last < s->known_until)
			s->known_until = w[i].last;
	}
	if (s->first > s->last)
		s->first = s->last;
}

/* What is known of all CPUs.  One where no vCPU was ever seen does not count: it may rest for
 * long. */
static void gather_span(struct sample *s, const struct watch *w, unsigned nr)
{
	s->begin = 0;
	s->end = UINT64_MAX;
	for (unsigned i = 0; i < nr; i++) {
		if (!w[i].has_entries)
			continue;
		s->begin = w[i].first > s->begin ? w[i].first : s->begin;
		s->end = w[i].last < s->end ? w[i].last : s->end;
	}
	if (s->begin > s->end)
		s->end = s->begin;
}

/* Threads that are only suspected of running a guest run none. */
static int keep_vcpu_threads(struct stay_list *l, struct tick_list *tids)
{
	size_t out = 0, at = 0;

	for (size_t i = 0; i < l->nr; i = at) {
		bool sure = false;

		for (at = i; at < l->nr && l->list[at].tid == l->list[i].tid; at++)
			sure |= !l->list[at].unsure;
		if (!sure)
			continue;
		uint64_t *tid = sample_add(tids);

		if (!tid)
			return -ENOMEM;
		*tid = (uint32_t)l->list[i].tid;
		memmove(&l->list[out], &l->list[i], (at - i) * sizeof(*l->list));
		out += at - i;
	}
	l->nr = out;
	return 0;
}

/* Adds the times of @l as stays that cannot be ruled out, to all threads. */
static int add_unsure(struct sample *s, uint64_t begin, uint64_t end, const struct tick_list *tids)
{
	int ret = 0;

	for (size_t i = 0; i < tids->nr && ret == 0; i++)
		ret = note_stay(&s->stays, (int32_t)tids->list[i], -1, begin, end, true);
	return ret;
}

/* While events were lost, any vCPU may have run. */
static int add_losses(struct sample *s, const struct watch *w, unsigned nr,
		      const struct tick_list *tids)
{
	int ret = 0;

	for (unsigned i = 0; i < nr; i++) {
		for (size_t k = 0; k < w[i].lost.nr && ret == 0; k++)
			ret = add_unsure(s, w[i].lost.list[k].begin, w[i].lost.list[k].end, tids);
	}
	return ret;
}

static int silent_ranges(struct ranges *out, const struct watch *w)
{
	*out = (struct ranges){.to = UINT64_MAX};
	for (size_t i = 0; i < w->silent.nr; i++) {
		struct range *r = sample_add(out);

		if (!r)
			return -ENOMEM;
		*r = (struct range){w->silent.list[i].begin, w->silent.list[i].end};
	}
	return 0;
}

/* While all CPUs were silent, nothing was recorded: any vCPU may have run. */
static int add_silences(struct sample *s, const struct watch *w, unsigned nr,
			const struct tick_list *tids)
{
	struct ranges all = {0};
	bool first = true;
	int ret = 0;

	for (unsigned i = 0; i < nr && ret == 0; i++) {
		struct ranges one;

		if (!w[i].has_entries)
			continue;
		ret = silent_ranges(&one, &w[i]);
		if (ret == 0 && !first)
			ret = ranges_intersect(&one, &all);
		ranges_release(&all);
		all = one;
		first = false;
	}
	for (size_t i = 0; i < all.nr && ret == 0; i++)
		ret = add_unsure(s, all.list[i].begin, all.list[i].end, tids);
	ranges_release(&all);
	return ret;
}

static int ticks_up(const void *a, const void *b)
{
	uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

	return (p > q) - (p < q);
}

static int nestings_by_thread(const void *a, const void *b)
{
	const struct nesting *p = a, *q = b;

	if (p->tid != q->tid)
		return (p->tid > q->tid) - (p->tid < q->tid);
	return (p->time > q->time) - (p->time < q->time);
}

static int gather_nestings(struct nesting_list *all, struct tick_list *forgotten,
			   struct watch *w, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		if (append(all, &w[i].nestings))
			return -ENOMEM;
		for (size_t k = 0; k < w[i].lost.nr; k++) {
			uint64_t *t = sample_add(forgotten);

			if (!t)
				return -ENOMEM;
			*t = w[i].lost.list[k].end;
		}
		for (size_t k = 0; k < w[i].silent.nr; k++) {
			uint64_t *t = sample_add(forgotten);

			if (!t)
				return -ENOMEM;
			*t = w[i].silent.list[k].end;
		}
	}
	sort_runs(all->list, all->nr, sizeof(*all->list), nestings_by_thread);
	sort_runs(forgotten->list, forgotten->nr, sizeof(*forgotten->list), ticks_up);
	return 0;
}

/* The last of the sorted ticks that is not after @t; 0 when there is none. */
static uint64_t last_before(const struct tick_list *l, uint64_t t)
{
	size_t lo = 0, hi = l->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->list[mid] <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? l->list[lo - 1] : 0;
}

/* Tells each stay whose guest ran in it: by the thread's last change of nesting before, unless
 * events were lost since. */
static int mark_nested(struct sample *s, struct watch *w, unsigned nr)
{
	struct nesting_list all = {0};
	struct tick_list forgotten = {0};
	size_t at = 0;
	int ret = gather_nestings(&all, &forgotten, w, nr);

	for (size_t i = 0; i < s->stays.nr && ret == 0; i++) {
		struct stay *stay = &s->stays.list[i];
		const struct nesting *last;

		while (at < all.nr && (all.list[at].tid < stay->tid ||
				       (all.list[at].tid == stay->tid &&
					all.list[at].time <= stay->begin)))
			at++;
		last = at && all.list[at - 1].tid == stay->tid ? &all.list[at - 1] : NULL;
		if (last && last->time >= last_before(&forgotten, stay->begin))
			stay->nested = last->in ? NESTED_YES : NESTED_NO;
		else if (!last && !forgotten.nr &&
			 (at == all.nr || all.list[at].tid != stay->tid))
			stay->nested = NESTED_NO; /* it never changes */
	}
	free(all.list);
	free(forgotten.list);
	return ret;
}

int watch_gather(struct sample *s, struct watch *w, unsigned nr)
{
	struct tick_list tids = {0};
	size_t settled = 0;
	int ret = 0;

	s->nr_cpus = s->trace->nr_cpus < TRACE_CPUS_MAX ? s->trace->nr_cpus : TRACE_CPUS_MAX;
	for (unsigned i = 0; i < nr; i++) {
		if (w[i].stream->cpu >= 0 && (unsigned)w[i].stream->cpu >= s->nr_cpus &&
		    w[i].stream->cpu < TRACE_CPUS_MAX)
			s->nr_cpus = (unsigned)w[i].stream->cpu + 1;
	}
	s->events = calloc(s->nr_cpus ? s->nr_cpus : 1, sizeof(*s->events));
	if (!s->events)
		return -ENOMEM;
	gather_limits(s, w, nr);
	gather_span(s, w, nr);
	for (unsigned i = 0; i < nr && ret == 0; i++) {
		s->carries_blocks |= w[i].carries_blocks;
		ret = gather_one(s, &w[i]);
	}
	if (ret == 0) {
		sample_settle(s);
		ret = mark_nested(s, w, nr);
	}
	if (ret == 0)
		ret = keep_vcpu_threads(&s->stays, &tids);
	settled = s->stays.nr;
	if (ret == 0 && tids.nr)
		ret = add_losses(s, w, nr, &tids);
	if (ret == 0 && tids.nr)
		ret = add_silences(s, w, nr, &tids);
	free(tids.list);
	if (ret == 0 && s->stays.nr != settled)
		sample_settle_stays(s);
	return ret;
}
