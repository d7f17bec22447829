/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/sample/sample.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "clock/sample/gather.h"
#include "clock/fit/sort.h"
#include "clock/sample/watch.h"

#define BATCH 512
#define BATCHES_PER_STOP 16
#define GROWS_SLOWER 32768

/* One trace: its streams' watches, and how many are not done. */
struct gathering {
	struct sample *sample;
	struct watch *watches; /* in struct reading */
	unsigned nr;
	atomic_uint left;
};

/* All streams of all traces, taken by whichever thread is free.  Who ends the last one of a trace
 * gathers it. */
struct reading {
	struct watch *watches;	  /* owned, one per stream */
	struct gathering **of;	  /* owned, the trace of each stream */
	struct gathering *traces; /* owned */
	unsigned nr;
	struct stop *stop;
	atomic_int failed;
};

void *sample_grow(void **list, size_t *nr, size_t *room, size_t size)
{
	if (*nr == *room) {
		/* In big steps while it is small: what is not used costs no memory, copies do. */
		size_t more = *room < 64 ? 64 : *room < GROWS_SLOWER ? *room * 8 : *room * 2;
		void *n = realloc(*list, more * size);

		if (!n)
			return NULL;
		*list = n;
		*room = more;
	}
	return (char *)*list + (*nr)++ * size;
}

static int read_part(struct watch *w, const struct part *p, struct event *events, struct stop *stop)
{
	unsigned n, batches = 0;
	struct cursor c;
	int ret = cursor_init(&c, p->stream, p->first, p->nr, watch_wanted(w), NULL);

	if (ret)
		return ret == -ENOMEM ? ret : 0; /* the reader reported what is broken */
	c.from = p->from;
	c.records_left = p->records_max;
	watch_part(w, p->from, p->until);
	while (ret == 0 && !watch_done(w) && (n = cursor_next(&c, events, BATCH)) > 0) {
		ret = watch_events(w, events, n);
		if (ret == 0 && ++batches % BATCHES_PER_STOP == 0 && stop_asked(stop))
			ret = -EINTR;
	}
	w->cut = (!c.records_left || watch_full(w)) && p->first + p->nr == p->stream->nr_packets;
	cursor_release(&c);
	return ret;
}

static int read_stream(struct watch *w, struct stop *stop)
{
	struct event *events = malloc(BATCH * sizeof(*events));
	int ret = events ? 0 : -ENOMEM;

	for (size_t i = 0; i < w->nr_parts && ret == 0 && !watch_full(w); i++)
		ret = read_part(w, &w->parts[i], events, stop);
	free(events);
	return ret ? ret : watch_end(w);
}

static void read_and_gather(void *data, unsigned i)
{
	struct reading *r = data;
	struct gathering *g = r->of[i];
	int ret = read_stream(&r->watches[i], r->stop);

	if (ret)
		atomic_store(&r->failed, ret);
	if (atomic_fetch_sub(&g->left, 1) != 1 || atomic_load(&r->failed))
		return;
	ret = sample_gather(g->sample, g->watches, g->nr);
	if (ret)
		atomic_store(&r->failed, ret);
}

static void start_trace(struct reading *r, unsigned at, struct gathering *g,
			const struct plan *plan, unsigned streams)
{
	struct trace *t = g->sample->trace;
	size_t part = 0;

	g->watches = &r->watches[at];
	g->nr = t->nr_streams;
	g->left = t->nr_streams;
	for (unsigned k = 0; k < t->nr_streams; k++) {
		struct watch *w = &r->watches[at + k];

		watch_init(w, &t->streams[k]);
		w->purpose = g->sample->purpose;
		w->notes_max = SAMPLE_EVENTS_MAX / streams + 1;
		w->parts = &plan->list[part];
		while (part < plan->nr && plan->list[part].stream == w->stream) {
			w->nr_parts++;
			part++;
		}
		r->of[at + k] = g;
	}
}

static int start_watches(struct reading *r, struct sample *samples, const struct plan *plans,
			 unsigned nr)
{
	unsigned streams = 0, at = 0;

	for (unsigned i = 0; i < nr; i++)
		streams += samples[i].trace->nr_streams;
	r->watches = calloc(streams + 1, sizeof(*r->watches));
	r->of = calloc(streams + 1, sizeof(*r->of));
	r->traces = calloc(nr, sizeof(*r->traces));
	if (!r->watches || !r->of || !r->traces)
		return -ENOMEM;
	r->nr = streams;
	for (unsigned i = 0; i < nr; i++) {
		r->traces[i].sample = &samples[i];
		start_trace(r, at, &r->traces[i], &plans[i], streams);
		at += samples[i].trace->nr_streams;
	}
	return 0;
}

int sample_read(struct sample *samples, const struct plan *plans, unsigned nr, unsigned threads,
		struct stop *stop, struct error *err)
{
	struct reading r = {.stop = stop};
	int ret = start_watches(&r, samples, plans, nr);

	if (ret == 0) {
		parallel(threads, r.nr, stop, read_and_gather, &r);
		ret = stop_asked(stop) ? -EINTR : atomic_load(&r.failed);
	}
	for (unsigned i = 0; i < r.nr; i++)
		watch_release(&r.watches[i]);
	free(r.watches);
	free(r.of);
	free(r.traces);
	if (ret == 0)
		return 0;
	for (unsigned i = 0; i < nr; i++)
		sample_release(&samples[i]);
	return fail(err, ret, "out of memory sampling the traces");
}

static int calls_by_time(const void *a, const void *b)
{
	const struct call *p = a, *q = b;

	return (p->time > q->time) - (p->time < q->time);
}

static int stays_by_thread(const void *a, const void *b)
{
	const struct stay *p = a, *q = b;

	if (p->tid != q->tid)
		return (p->tid > q->tid) - (p->tid < q->tid);
	return (p->begin > q->begin) - (p->begin < q->begin);
}

static int ticks_up(const void *a, const void *b)
{
	uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

	return (p > q) - (p < q);
}

static int writes_by_time(const void *a, const void *b)
{
	const struct tsc_write *p = a, *q = b;

	return (p->time > q->time) - (p->time < q->time);
}

static int armed_by_time(const void *a, const void *b)
{
	const struct armed *p = a, *q = b;

	return (p->time > q->time) - (p->time < q->time);
}

static int deadlines_by_thread(const void *a, const void *b)
{
	const struct deadline *p = a, *q = b;

	if (p->tid != q->tid)
		return (p->tid > q->tid) - (p->tid < q->tid);
	return (p->time > q->time) - (p->time < q->time);
}

static int monos_by_time(const void *a, const void *b)
{
	const struct mono_point *p = a, *q = b;

	return (p->after > q->after) - (p->after < q->after);
}

#define sort_list(l, order) sort_runs((l)->list, (l)->nr, sizeof(*(l)->list), order)

int stay_list_add(struct stay_list *l, int32_t tid, int32_t cpu, uint64_t begin, uint64_t end,
		  bool unsure)
{
	struct stay *s = sample_add(l);

	if (!s)
		return -ENOMEM;
	*s = (struct stay){begin, end, tid, cpu, NESTED_UNKNOWN, unsure};
	return 0;
}

static void fold_stays(struct stay_list *l)
{
	size_t out = 0;

	for (size_t i = 0; i < l->nr; i++) {
		struct stay *last = out ? &l->list[out - 1] : NULL, *s = &l->list[i];

		if (!last || last->tid != s->tid || s->begin > last->end) {
			l->list[out++] = *s;
			continue;
		}
		if (s->end > last->end)
			last->end = s->end;
		last->unsure |= s->unsure;
		if (last->cpu != s->cpu)
			last->cpu = -1;
		if (last->nested != s->nested)
			last->nested = NESTED_UNKNOWN;
	}
	l->nr = out;
}

void stay_list_settle(struct stay_list *l)
{
	sort_list(l, stays_by_thread);
	fold_stays(l);
}

void sample_settle(struct sample *s)
{
	sort_list(&s->calls, calls_by_time);
	sort_list(&s->requests, calls_by_time);
	sort_list(&s->acks, calls_by_time);
	sort_list(&s->tsc_writes, writes_by_time);
	sort_list(&s->monos, monos_by_time);
	sort_list(&s->deadlines, deadlines_by_thread);
	for (unsigned i = 0; i < s->nr_cpus; i++) {
		sort_list(&s->events[i], ticks_up);
		if (s->armed)
			sort_list(&s->armed[i], armed_by_time);
	}
	stay_list_settle(&s->stays);
}

const struct stay *sample_stays(const struct sample *s, int32_t tid, size_t *nr)
{
	const struct stay *list = s->stays.list;
	size_t lo = 0, hi = s->stays.nr, end;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (list[mid].tid < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo, hi = s->stays.nr; end < hi;) {
		size_t mid = end + (hi - end) / 2;

		if (list[mid].tid <= tid)
			end = mid + 1;
		else
			hi = mid;
	}
	*nr = end - lo;
	return *nr ? &list[lo] : NULL;
}

bool stays_show_nested(const struct stay *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (s[i].nested == NESTED_YES)
			return true;
	}
	return false;
}

void sample_release(struct sample *s)
{
	struct trace *t = s->trace;

	for (unsigned i = 0; s->events && i < s->nr_cpus; i++)
		free(s->events[i].list);
	for (unsigned i = 0; s->armed && i < s->nr_cpus; i++)
		free(s->armed[i].list);
	free(s->events);
	free(s->armed);
	free(s->deadlines.list);
	free(s->calls.list);
	free(s->requests.list);
	free(s->acks.list);
	free(s->stays.list);
	free(s->tsc_writes.list);
	free(s->monos.list);
	memset(s, 0, sizeof(*s));
	s->trace = t;
}
