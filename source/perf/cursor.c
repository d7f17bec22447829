/* SPDX-License-Identifier: Apache-2.0 */
/* The decoding loop: a packet's records are listed, sorted by time, and decoded one by one. */
#include "source/perf/reader.h"

#include "base/key_sort.h"
#include "source/seam.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define COPIES_LOOKED 16 /* events of one time that a record is compared with */

struct perf_cursor {
	struct cursor *c;
	struct perf_stream *ps;
	const struct perf *p;
	struct sort_item *items; /* of the packet: times and places; twice items_max */
	uint32_t nr, next;
	uint64_t base; /* places are counted from here */
	bool in_packet;
	struct seam seam; /* of what is handed out, and with cursor.shows_seams of the rest */
	bool lost_waits;  /* @lost has to be handed out before the items */
	struct event lost;
	uint64_t last;		 /* time of the last event; never goes back */
	const uint8_t *last_raw; /* the last tracepoint's own record */
};

static void issue(struct perf_cursor *k, enum perf_issue what)
{
	static const char *const texts[PERF_NR_ISSUES] = {
		[PERF_BAD_SAMPLE] = "tracepoints' samples without the event's own record",
		[PERF_UNKNOWN_ID] = "events of a number that no event format explains",
		[PERF_SHORT_RECORD] =
			"events shorter than their format; their arguments are unknown",
		[PERF_STEP_BACK] = "times that step back; such events are given the time before",
		[PERF_COPY] = "records that perf wrote twice; they count once",
	};
	struct stream *s = k->c->stream;

	if (atomic_exchange(&k->ps->told[what], 1))
		return;
	(what == PERF_COPY ? trace_note : trace_problem)(s->trace, "%s: CPU %d: %s", s->trace->path,
							 s->cpu, texts[what]);
}

static void lost_between(const struct perf_cursor *k, struct event *e, uint64_t nr, uint64_t to)
{
	uint64_t from = k->last;
	uint16_t tid_offset = k->p->events.form.tid_offset;

	*e = (struct event){
		.time = {from},
		.kind = EV_LOST,
		.tid = k->last_raw ? (int32_t)load_u32(k->last_raw + tid_offset) : -1,
		.arg = {(int64_t)(nr <= INT64_MAX ? nr : 0), (int64_t)from,
			(int64_t)(to > from ? to : from)},
	};
}

/* ---- a packet's records --------------------------------------------------------------------- */

/* True when a stream takes the record, as perf_index_make() decided. */
static bool item_time(const struct perf_cursor *k, const struct perf_block *b,
		      const struct perf_record *r, uint64_t max, uint64_t *time)
{
	const struct perf_attrs *attrs = &k->p->attrs;
	uint32_t cpu = (uint32_t)k->c->stream->cpu;
	struct perf_place place;
	uint32_t trailer;

	switch (r->type) {
	case RECORD_SAMPLE:
		if (b->tasks || perf_sample_place(attrs, r, &place) != PERF_SAMPLE_SOUND)
			return false;
		*time = place.time;
		return place.cpu == cpu;
	case RECORD_LOST:
		*time = max;
		return !b->tasks && max && r->len_bytes >= 16 &&
		       perf_record_place(attrs, r, &place, &trailer) && place.cpu == cpu;
	case RECORD_COMM:
		*time = b->min;
		if (b->tasks)
			return true;
		if (!perf_record_place(attrs, r, &place, &trailer))
			return false;
		*time = place.time;
		return place.time && place.cpu == cpu;
	default:
		return false;
	}
}

static void list_block(struct perf_cursor *k, const struct perf_block *b)
{
	uint64_t end = b->offset_bytes + b->len_bytes;
	uint64_t max = b->before;
	struct perf_record r;

	for (uint64_t at = b->offset_bytes;
	     at < end && perf_record_read(k->p->map.data, at, k->p->end, &r); at = r.next) {
		uint64_t time;

		if (!item_time(k, b, &r, max, &time) || k->nr == k->ps->items_max)
			continue;
		max = time > max ? time : max;
		k->items[k->nr++] = (struct sort_item){time, (uint32_t)(at - k->base)};
	}
}

static void sort_items(struct perf_cursor *k)
{
	for (uint32_t i = 1; i < k->nr; i++) {
		if (k->items[i].key < k->items[i - 1].key) {
			key_sort(k->items, k->nr);
			return;
		}
	}
}

/* @sample: both are samples.  Names of threads are written twice in every file: perf lists its
 * own. */
static bool same_record(const struct perf_cursor *k, const struct sort_item *a,
			const struct sort_item *b, bool *sample)
{
	const uint8_t *file = k->p->map.data + k->base;
	struct perf_record x, y;

	if (!perf_record_read(k->p->map.data, k->base + a->at, k->p->end, &x) ||
	    !perf_record_read(k->p->map.data, k->base + b->at, k->p->end, &y))
		return false;
	*sample = x.type == RECORD_SAMPLE;
	return x.len_bytes == y.len_bytes &&
	       !memcmp(file + a->at, file + b->at, RECORD_HEAD_BYTES + x.len_bytes);
}

/* perf may copy a part of a buffer twice.  What has the same time, to the bit, and the same bytes
 * is one event. */
static void drop_copies(struct perf_cursor *k)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < k->nr; i++) {
		bool copy = false, sample = false;

		for (uint32_t j = nr; j-- > 0 && nr - j <= COPIES_LOOKED && !copy;) {
			if (k->items[j].key != k->items[i].key)
				break;
			copy = same_record(k, &k->items[j], &k->items[i], &sample);
		}
		if (!copy)
			k->items[nr++] = k->items[i];
		else if (sample)
			issue(k, PERF_COPY);
	}
	k->nr = nr;
}

static void packet_enter(struct perf_cursor *k)
{
	const struct perf_packet *packet = &k->ps->packets[k->c->packet];
	const struct perf_block *first = &k->ps->blocks[packet->first];

	k->in_packet = true;
	k->base = first->offset_bytes;
	k->nr = 0;
	k->next = 0;
	for (uint32_t i = 0; i < packet->nr; i++)
		list_block(k, first + i);
	sort_items(k);
	drop_copies(k);
	if (k->last < first->before)
		k->last = first->before;
	if (first->gap && k->nr && k->last) { /* else nobody knows since when */
		lost_between(k, &k->lost, UINT64_MAX, k->items[0].key);
		k->lost_waits = true;
	}
}

static void packet_leave(struct perf_cursor *k)
{
	const struct perf_packet *packet = &k->ps->packets[k->c->packet];
	const struct perf_block *b = &k->ps->blocks[packet->first];

	for (uint32_t i = 0; i < packet->nr; i++)
		mapfile_forget(&k->p->map, b[i].offset_bytes, b[i].len_bytes);
	k->in_packet = false;
	k->c->packet++;
	if (packet->until) {
		lost_between(k, &k->lost, UINT64_MAX, packet->until);
		k->lost.arg[4] = 1;
		k->lost_waits = true;
	}
}

/* Goes on to the next packet with something in it; false at the end. */
static bool advance(struct perf_cursor *k)
{
	while (k->next == k->nr && !k->lost_waits) {
		if (k->in_packet)
			packet_leave(k);
		else if (k->c->packet < k->c->packet_end)
			packet_enter(k);
		else
			return false;
	}
	return true;
}

/* ---- records -------------------------------------------------------------------------------- */

static bool fill_sample(struct perf_cursor *k, struct event *e, const struct perf_record *r)
{
	const struct perf_attr *a = perf_sample_attr(&k->p->attrs, r);
	const struct dat_events *events = &k->p->events;
	const bool *wants = k->c->wants;
	const struct dat_plan *plan;
	const uint8_t *raw;
	uint32_t len;

	if (a->type != PERF_TYPE_TRACEPOINT) {
		e->kind = EV_OTHER;
		e->type = k->p->sample_type;
		e->tid = a->tid == PERF_NOWHERE ? -1 : (int32_t)load_u32(r->data + a->tid + 4);
		memset(e->arg, 0, sizeof(e->arg));
		return wants[EV_OTHER];
	}
	if (!perf_sample_raw(a, r, &raw, &len) || len < events->form.common_len) {
		issue(k, PERF_BAD_SAMPLE);
		return false;
	}
	k->last_raw = raw;
	plan = dat_plan_of(events, raw, false);
	if (unlikely(!plan->type))
		issue(k, PERF_UNKNOWN_ID);
	if (!wants[plan->kind]) {
		int32_t tid = (int32_t)load_u32(raw + events->form.tid_offset);

		if (likely(!k->c->shows_seams || !seam_breaks_by(&k->seam, tid)))
			return false;
		*e = (struct event){.kind = EV_OTHER, .type = plan->type, .tid = tid};
		return true;
	}
	e->kind = plan->kind;
	e->type = plan->type;
	e->tid = (int32_t)load_u32(raw + events->form.tid_offset);
	if (unlikely(len < plan->min_len)) {
		issue(k, PERF_SHORT_RECORD);
		e->kind = EV_OTHER;
		memset(e->arg, 0, sizeof(e->arg));
		return wants[EV_OTHER];
	}
	if (likely(plan->reach <= k->p->map.len_bytes - (uint64_t)(raw - k->p->map.data)))
		dat_event_args(e, plan, raw, len, false);
	else
		dat_event_args_edge(e, plan, raw, len, false);
	return true;
}

/* u32 pid, u32 tid, text, the rest of its eight bytes being NULs */
static bool fill_comm(struct perf_cursor *k, struct event *e, const struct perf_record *r)
{
	struct perf_place place;
	uint32_t trailer;

	perf_record_place(&k->p->attrs, r, &place, &trailer);
	if (k->p->other_namespace || r->len_bytes < 8 + trailer ||
	    !memchr(r->data + 8, '\0', r->len_bytes - trailer - 8))
		return false;
	*e = (struct event){
		.kind = EV_STATEDUMP_PROCESS,
		.type = k->p->comm_type,
		.tid = -1,
		.arg = {(int32_t)load_u32(r->data + 4), (int32_t)load_u32(r->data), -1,
			(int64_t)(uintptr_t)(r->data + 8), 0},
	};
	return k->c->wants[EV_STATEDUMP_PROCESS];
}

/* The next item is the first that is not lost. */
static bool fill_lost(struct perf_cursor *k, struct event *e, const struct perf_record *r)
{
	struct perf_place place;
	uint32_t trailer;
	uint64_t to;

	perf_record_place(&k->p->attrs, r, &place, &trailer);
	to = place.time;
	if (k->next < k->nr && k->items[k->next].key < to)
		to = k->items[k->next].key;
	lost_between(k, e, load_u64(r->data + 8), to);
	return true;
}

static bool fill(struct perf_cursor *k, struct event *e, const struct sort_item *item)
{
	const uint8_t *file = k->p->map.data;
	uint64_t at = k->base + item->at;
	struct perf_record r;
	uint64_t time = item->key;
	bool wanted;

	if (!perf_record_read(file, at, k->p->end, &r))
		return false;
	if (time < k->last) {
		issue(k, PERF_STEP_BACK);
		time = k->last;
	}
	k->last = time;
	if (r.type == RECORD_LOST)
		return fill_lost(k, e, &r);
	if (time < k->c->from)
		return false;
	wanted = r.type == RECORD_COMM ? fill_comm(k, e, &r) : fill_sample(k, e, &r);
	e->time.v = time;
	e->record = file + at;
	if (wanted && k->c->shows_seams)
		seam_follow(&k->seam, e);
	return wanted;
}

unsigned perf_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	struct perf_cursor *k = c->buffer;
	unsigned n = 0;

	k->c = c; /* its owner may have moved it */
	while (n < room && c->records_left && advance(k)) {
		if (unlikely(k->lost_waits)) {
			events[n++] = k->lost;
			k->lost_waits = false;
			k->seam.running = -1;
			continue;
		}
		for (; n < room && k->next < k->nr && c->records_left; c->records_left--) {
			const struct sort_item *item = &k->items[k->next++];

			n += fill(k, &events[n], item);
		}
	}
	return n;
}

int perf_cursor_init(struct cursor *c, struct error *err)
{
	struct perf_stream *ps = (struct perf_stream *)c->stream->reader;
	struct perf_cursor *k = calloc(1, sizeof(*k));

	if (!k)
		return fail(err, -ENOMEM, "out of memory reading %s", c->stream->path);
	c->buffer = k;
	k->ps = ps;
	k->p = ps->perf;
	k->seam = SEAM_INIT;
	k->items = calloc((size_t)ps->items_max * 2 + 1, sizeof(*k->items));
	if (!k->items) {
		perf_cursor_release(c);
		return fail(err, -ENOMEM, "out of memory reading %s", c->stream->path);
	}
	return 0;
}

void perf_cursor_release(struct cursor *c)
{
	struct perf_cursor *k = c->buffer;

	c->buffer = NULL;
	if (!k)
		return;
	free(k->items);
	free(k);
}
