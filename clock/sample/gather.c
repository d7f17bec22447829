/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/sample/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock/sample/ranges.h"
#include "clock/fit/sort.h"

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
	if (ret == 0)
		ret = append(&s->deadlines, &w->deadlines);
	if (ret == 0 && cpu < s->nr_cpus)
		ret = append(&s->events[cpu], &w->events);
	if (ret == 0 && cpu < s->nr_cpus)
		ret = append(&s->armed[cpu], &w->armed);
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

static int add_unseen(struct stay_list *l, uint64_t begin, uint64_t end)
{
	return begin < end ? stay_list_add(l, -1, -1, begin, end, true) : 0;
}

static bool has_stream(const struct watch *w, unsigned nr, unsigned cpu)
{
	for (unsigned i = 0; i < nr; i++) {
		const struct stream *s = w[i].stream;

		if (s->trace->format != TRACE_FOLDED && (s->cpu < 0 || (unsigned)s->cpu == cpu))
			return true;
	}
	return false;
}

/* When what a CPU did is not there: its stream is missing, was cut off, or begins late. */
static int find_unseen(struct stay_list *out, const struct sample *s, const struct watch *w,
		       unsigned nr)
{
	unsigned cpu = 0;
	int ret = 0;

	while (cpu < s->nr_cpus && !s->trace->user_space && has_stream(w, nr, cpu))
		cpu++;
	if (cpu < s->nr_cpus && !s->trace->user_space)
		ret = add_unseen(out, 0, UINT64_MAX);
	for (unsigned i = 0; i < nr && ret == 0; i++) {
		const struct stream *st = w[i].stream;

		if (st->cut)
			ret = add_unseen(out, st->nr_packets ? w[i].last : 0, UINT64_MAX);
		/* One without events that is whole slept. */
		if (ret == 0 && st->start == START_MISSING && w[i].nr_events)
			ret = add_unseen(out, 0, w[i].first);
	}
	return ret;
}

/* What is known of all CPUs.  One where no vCPU was ever seen does not count: it may rest for
 * long. */
static void gather_span(struct sample *s, const struct watch *w, unsigned nr,
			const struct stay_list *unseen)
{
	s->begin = 0;
	s->end = UINT64_MAX;
	for (unsigned i = 0; i < nr; i++) {
		if (!w[i].has_entries)
			continue;
		s->begin = w[i].first > s->begin ? w[i].first : s->begin;
		s->end = w[i].last < s->end ? w[i].last : s->end;
	}
	for (size_t i = 0; i < unseen->nr; i++) {
		const struct stay *u = &unseen->list[i];

		if (!u->begin)
			s->begin = u->end > s->begin ? u->end : s->begin;
		else
			s->end = u->begin < s->end ? u->begin : s->end;
	}
	if (s->begin > s->end)
		s->end = s->begin;
}

static int stay_list_copy(struct stay_list *to, const struct stay_list *from)
{
	int ret = 0;

	for (size_t i = 0; i < from->nr && ret == 0; i++)
		ret = stay_list_add(to, -1, -1, from->list[i].begin, from->list[i].end, true);
	return ret;
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
static int find_silences(struct stay_list *out, const struct watch *w, unsigned nr)
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
		ret = stay_list_add(out, -1, -1, all.list[i].begin, all.list[i].end, true);
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

static int gather_nestings(struct nesting_list *all, struct tick_list *forgotten, struct watch *w,
			   unsigned nr)
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

		while (at < all.nr &&
		       (all.list[at].tid < stay->tid ||
			(all.list[at].tid == stay->tid && all.list[at].time <= stay->begin)))
			at++;
		last = at && all.list[at - 1].tid == stay->tid ? &all.list[at - 1] : NULL;
		if (last && last->time >= last_before(&forgotten, stay->begin))
			stay->nested = last->in ? NESTED_YES : NESTED_NO;
		else if (!last && !forgotten.nr && (at == all.nr || all.list[at].tid != stay->tid))
			stay->nested = NESTED_NO; /* it never changes */
	}
	free(all.list);
	free(forgotten.list);
	return ret;
}

/* ---- when any vCPU may have run ----------------------------------------------------------------
 */

/* Such times count for each thread.  All together no more than this: where there are more, those
 * that are nearest to each other become one, which rules out less, and nothing that was so. */
#define UNSURE_MAX (1u << 20)

static int join_nearest(struct stay_list *l, size_t keep)
{
	uint64_t *apart = calloc(l->nr, sizeof(*apart)), most;
	size_t out = 0;

	if (!apart)
		return -ENOMEM;
	for (size_t i = 1; i < l->nr; i++)
		apart[i - 1] = l->list[i].begin - l->list[i - 1].end;
	qsort(apart, l->nr - 1, sizeof(*apart), ticks_up);
	most = apart[l->nr - 1 - keep];
	for (size_t i = 1; i < l->nr; i++) {
		if (l->list[i].begin - l->list[out].end <= most)
			l->list[out].end = l->list[i].end;
		else
			l->list[++out] = l->list[i];
	}
	l->nr = out + 1;
	free(apart);
	return 0;
}

/* While events were lost, and while nothing was recorded. */
static int find_unsure(struct stay_list *out, const struct watch *w, unsigned nr,
		       const struct stay_list *unseen, size_t nr_threads)
{
	size_t keep = UNSURE_MAX / nr_threads + 1;
	int ret = 0;

	for (unsigned i = 0; i < nr && ret == 0; i++)
		ret = stay_list_copy(out, &w[i].lost);
	if (ret == 0)
		ret = stay_list_copy(out, unseen);
	if (ret == 0)
		ret = find_silences(out, w, nr);
	stay_list_settle(out);
	return ret == 0 && out->nr > keep ? join_nearest(out, keep) : ret;
}

/* These times are stays that cannot be ruled out, of all threads. */
static int add_unsure(struct sample *s, const struct watch *w, unsigned nr,
		      const struct stay_list *unseen, const struct tick_list *tids)
{
	struct stay_list any = {0};
	int ret = tids->nr ? find_unsure(&any, w, nr, unseen, tids->nr) : 0;

	for (size_t t = 0; t < tids->nr && ret == 0; t++) {
		for (size_t i = 0; i < any.nr && ret == 0; i++)
			ret = stay_list_add(&s->stays, (int32_t)tids->list[t], -1,
					    any.list[i].begin, any.list[i].end, true);
	}
	if (ret == 0 && any.nr)
		stay_list_settle(&s->stays);
	free(any.list);
	return ret;
}

static int gather_all(struct sample *s, struct watch *w, unsigned nr,
		      const struct stay_list *unseen)
{
	struct tick_list tids = {0};
	int ret = 0;

	gather_limits(s, w, nr);
	gather_span(s, w, nr, unseen);
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
	if (ret == 0)
		ret = add_unsure(s, w, nr, unseen, &tids);
	free(tids.list);
	return ret;
}

int sample_gather(struct sample *s, struct watch *w, unsigned nr)
{
	struct stay_list unseen = {0};
	int ret;

	s->nr_cpus = s->trace->nr_cpus < TRACE_CPUS_MAX ? s->trace->nr_cpus : TRACE_CPUS_MAX;
	for (unsigned i = 0; i < nr; i++) {
		if (w[i].stream->cpu >= 0 && (unsigned)w[i].stream->cpu >= s->nr_cpus &&
		    w[i].stream->cpu < TRACE_CPUS_MAX)
			s->nr_cpus = (unsigned)w[i].stream->cpu + 1;
	}
	s->events = calloc(s->nr_cpus ? s->nr_cpus : 1, sizeof(*s->events));
	s->armed = calloc(s->nr_cpus ? s->nr_cpus : 1, sizeof(*s->armed));
	if (!s->events || !s->armed)
		return -ENOMEM;
	ret = find_unseen(&unseen, s, w, nr);
	if (ret == 0)
		ret = gather_all(s, w, nr, &unseen);
	free(unseen.list);
	return ret;
}
