/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoding loop.  A cursor goes packet by packet, in a packet chunk by chunk (a plain packet is
 * one chunk, used where it is mapped), in a chunk page by page, in a page record by record.  Pages
 * that do not hold together (page.h), or are not where their times belong, are gaps.
 */
#include "source/dat/page.h"
#include "source/seam.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What one packet's decoding found; counted when its end is reached. */
struct tally {
	uint64_t kept;	      /* events */
	uint64_t lost;	      /* ... that the pages say were lost before them */
	uint64_t lost_places; /* pages that say so without a number */
	uint64_t broken_places;
	uint64_t bytes_skipped;
	uint64_t issue_at[DAT_NR_ISSUES]; /* place in the file + 1; 0 = not met */
};

struct dat_cursor {
	struct cursor *c;
	const struct dat *d;
	struct dat_stream *ds;
	struct unpacker unpacker;
	uint8_t *buf[2]; /* unpacked chunks, in turn: events point into them */
	unsigned which;	 /* the one in use */
	bool handed_out; /* events that point into it were returned */

	bool in_packet;
	bool sound;	     /* ... and all its pages were found to hold together */
	uint64_t next_chunk; /* places in the file */
	uint64_t packet_stop;
	uint64_t chunk_at;   /* of what is decoded now */
	const uint8_t *page; /* next page of the chunk */
	const uint8_t *pages_end;
	struct page_run run;	 /* what of the stream's data is in memory with it */
	const uint8_t *readable; /* end of the memory that the chunk is in */

	const uint8_t *pos; /* next record of the page */
	const uint8_t *end;
	uint64_t time; /* running time of the page */
	uint64_t last; /* time of the last event */
	bool has_last;
	int32_t last_tid; /* of the last event; -1 not known */
	bool probing;	  /* only the time of the last event is asked for */
	bool gap;	  /* what comes before the next page could not be decoded */
	bool told_cut;	  /* that the stream's end is missing was handed out */
	struct seam seam; /* of what is handed out, and with cursor.shows_seams of the rest */
	bool lost_waits;  /* @lost has to be handed out before the page's records */
	struct event lost;
	struct tally tally;
};

static void issue(struct dat_cursor *k, enum dat_issue what)
{
	if (!k->tally.issue_at[what])
		k->tally.issue_at[what] = k->chunk_at + 1;
}

/* Something of @len_bytes cannot be decoded: it is skipped, and the gap told of. */
static void broken(struct dat_cursor *k, enum dat_issue what, uint64_t len_bytes)
{
	issue(k, what);
	k->tally.bytes_skipped += len_bytes;
	k->tally.broken_places++;
	k->gap = true;
}

/* The same text for every packet of a stream, so that the list of problems stays short. */
static void report_issue(struct dat_cursor *k, enum dat_issue what)
{
	static const char *const texts[DAT_NR_ISSUES] = {
		[DAT_BAD_CHUNK] = "chunks that cannot be decompressed are skipped",
		[DAT_HOLE] = "pages of zeros: what was in them is lost",
		[DAT_BAD_PAGE] = "pages without a page's header are skipped",
		[DAT_BAD_RECORD] = "pages whose records do not fit together are skipped",
		[DAT_NEXT_TO_BAD] = "pages next to damaged ones are skipped",
		[DAT_CUT_PAGE] = "the data ends within a page, which is skipped",
		[DAT_UNKNOWN_ID] = "events of a number that no event format explains",
		[DAT_ASTRAY] = "pages whose times are not between their neighbours' are skipped",
		[DAT_FOREIGN] = "pages whose threads are not those in front and behind are skipped",
	};
	struct stream *s = k->c->stream;
	uint_fast64_t first = 0;

	if (!k->tally.issue_at[what])
		return;
	if (atomic_compare_exchange_strong(&k->ds->issue_at[what], &first, k->tally.issue_at[what]))
		first = k->tally.issue_at[what];
	trace_problem(s->trace, "%s, from offset %llu on: CPU %d%s%s: %s", s->trace->path,
		      (unsigned long long)first - 1, s->cpu, *s->buffer ? " of buffer " : "",
		      s->buffer, texts[what]);
}

/* For what the whole stream is held against. */
static void count_stream(struct dat_stream *ds, const struct tally *t, uint64_t last)
{
	uint_fast64_t latest = atomic_load(&ds->last_seen);

	atomic_fetch_add(&ds->kept_seen, t->kept);
	atomic_fetch_add(&ds->skipped_seen, t->bytes_skipped);
	if (t->lost_places)
		atomic_store(&ds->lost_uncounted, true);
	while (last > latest && !atomic_compare_exchange_weak(&ds->last_seen, &latest, last))
		;
}

/*
 * A packet's end: its tally goes to the trace, if no other pass over it did that before.  When
 * trace-cmd stored the kernel's own count of lost events, that is counted already, at open, and
 * covers what the pages tell; only what they tell beyond it is added.
 */
static void packet_count(struct dat_cursor *k)
{
	struct dat *d = k->c->stream->trace->reader;
	struct dat_stream *ds = k->ds;
	struct trace_loss loss = {.bytes_skipped = k->tally.bytes_skipped};
	unsigned char found = !k->tally.broken_places ? DAT_SOUND
			      : k->tally.kept	      ? DAT_COUNTED
						      : DAT_EMPTY;
	uint64_t before, after;

	if (atomic_exchange(&ds->counted[k->c->packet], found))
		return;
	for (unsigned i = 0; i < DAT_NR_ISSUES; i++)
		report_issue(k, i);
	before = atomic_fetch_add(&ds->lost_seen, k->tally.lost);
	after = before + k->tally.lost;
	if (after > ds->stat_lost)
		loss.events = after - (before > ds->stat_lost ? before : ds->stat_lost);
	loss.unknown = k->tally.broken_places + (ds->stat_lost ? 0 : k->tally.lost_places);
	if (loss.events || loss.unknown || loss.bytes_skipped)
		trace_loss_add(k->c->stream->trace, &loss);
	count_stream(ds, &k->tally, k->has_last ? k->last : 0);
	if (atomic_fetch_add(&d->nr_counted, 1) + 1 == d->nr_packets)
		dat_counts_compare(d);
}

/* Time of the last event before packet @p; false when there is none. */
static bool time_before(const struct dat_cursor *k, uint32_t p, uint64_t *time)
{
	struct event events[16];
	bool found = false;

	while (p-- > 0 && !found) {
		struct cursor c;
		struct dat_cursor *back;

		/* Read before, by whomever: else each of many such packets costs as much as all. */
		if (atomic_load(&k->ds->counted[p]) == DAT_EMPTY)
			continue;
		if (cursor_init(&c, k->c->stream, p, 1, WANT(LOST), NULL))
			return false;
		back = c.buffer;
		back->probing = true;
		while (dat_cursor_next(&c, events, ARRAY_SIZE(events)))
			;
		found = back->has_last;
		*time = back->last;
		cursor_release(&c);
	}
	return found;
}

/* Events were lost before the page that begins at @time; 0: before the end, whenever that is. */
static void lost_before(struct dat_cursor *k, uint64_t nr, uint64_t time)
{
	uint64_t begin = time;

	if (k->probing)
		return;
	if (!k->has_last)
		k->has_last = time_before(k, k->c->packet, &k->last);
	if (k->has_last)
		begin = k->last;
	if (!begin) /* nobody knows when */
		return;
	k->last = begin; /* what follows is not before this */
	k->has_last = true;
	k->lost = (struct event){
		.time = {begin},
		.kind = EV_LOST,
		.tid = k->last_tid,
		.arg = {nr == UINT64_MAX ? 0 : (int64_t)nr, (int64_t)begin,
			(int64_t)(time > begin ? time : begin), 0, !time},
	};
	k->lost_waits = true;
}

/* Of a packet that was found sound before, no page is walked again. */
static bool page_holds(struct dat_cursor *k, const uint8_t *page, struct page_look *look)
{
	static const uint8_t issues[] = {
		[PAGE_HOLDS] = DAT_ASTRAY,
		[PAGE_CUT] = DAT_CUT_PAGE,
		[PAGE_HOLE] = DAT_HOLE,
		[PAGE_BAD_HEAD] = DAT_BAD_PAGE,
		[PAGE_BAD_RECORDS] = DAT_BAD_RECORD,
		[PAGE_NEXT_TO_BAD] = DAT_NEXT_TO_BAD,
	};
	enum page_place place = PAGE_ASTRAY;
	enum page_state state;
	bool is_foreign;

	if (k->sound)
		return page_take(&k->run, page, look);
	state = page_judge(&k->run, page, look);
	if (state == PAGE_HOLDS)
		place = page_place(&k->run, page, look, k->has_last ? k->last : 0);
	if (place == PAGE_IN_DOUBT) {
		k->tally.broken_places++;
		k->gap = true;
	}
	is_foreign = place == PAGE_IN_PLACE && page_is_foreign(&k->run, page);
	if (place != PAGE_ASTRAY && !is_foreign)
		return true;
	broken(k, is_foreign ? DAT_FOREIGN : issues[state], (uint64_t)(k->page - page));
	return false;
}

static void page_enter(struct dat_cursor *k)
{
	const uint8_t *page = k->page;
	uint64_t left = (uint64_t)(k->pages_end - page);
	struct page_look look;
	uint64_t lost;

	k->page = left > k->ds->page_size ? page + k->ds->page_size : k->pages_end;
	if (!page_holds(k, page, &look))
		return;
	k->pos = look.begin;
	k->end = look.end;
	k->time = look.head.time;
	lost = look.head.lost;
	if (lost == UINT64_MAX)
		k->tally.lost_places++;
	else
		k->tally.lost += lost;
	if (unlikely(lost || k->gap || k->ds->lacks_at_seams))
		lost_before(k, lost ? lost : UINT64_MAX, k->time);
	k->gap = false;
}

static void packet_enter(struct dat_cursor *k)
{
	const struct packet *p = &k->c->stream->packets[k->c->packet];

	k->in_packet = true;
	k->sound = atomic_load_explicit(&k->ds->counted[k->c->packet], memory_order_relaxed) ==
		   DAT_SOUND;
	k->next_chunk = p->offset_bytes;
	k->packet_stop = p->offset_bytes + p->len_bytes;
	memset(&k->tally, 0, sizeof(k->tally));
}

static void packet_leave(struct dat_cursor *k)
{
	const struct packet *p = &k->c->stream->packets[k->c->packet];

	packet_count(k);
	mapfile_forget(&k->d->file.map, p->offset_bytes, p->len_bytes);
	k->in_packet = false;
	k->c->packet++;
}

static void chunk_unpack(struct dat_cursor *k)
{
	struct dat_chunk chunk;
	uint8_t *buf;

	k->chunk_at = k->next_chunk;
	if (!dat_chunk_next(k->ds, &k->next_chunk, k->packet_stop, &chunk)) {
		broken(k, DAT_BAD_CHUNK, k->packet_stop - k->chunk_at);
		return;
	}
	if (k->handed_out)
		k->which ^= 1;
	k->handed_out = false;
	buf = k->buf[k->which];
	if (unpack(&k->unpacker, k->d->file.packing, chunk.packed, chunk.packed_len, buf,
		   chunk.len_bytes)) {
		broken(k, DAT_BAD_CHUNK, k->next_chunk - k->chunk_at);
		return;
	}
	k->page = buf;
	k->pages_end = buf + chunk.len_bytes;
	k->run = (struct page_run){
		.d = k->d, .begin = buf, .end = k->pages_end, .page_size = k->ds->page_size};
	k->readable = k->pages_end + DAT_LOAD_BYTES;
}

static void chunk_enter(struct dat_cursor *k)
{
	const struct dat_stream *ds = k->ds;

	if (ds->packed) {
		chunk_unpack(k);
		return;
	}
	k->chunk_at = k->next_chunk;
	k->run = dat_stream_run(ds);
	k->page = k->d->file.map.data + k->next_chunk;
	k->pages_end = k->d->file.map.data + k->packet_stop;
	k->readable = k->d->file.map.data + k->d->file.map.len_bytes;
	k->next_chunk = k->packet_stop;
	if (!k->has_last)
		k->has_last = page_last_before(&k->run, k->page, &k->last);
}

/* The packet at hand has been read, but for what is missing at its end. */
static bool ends_in_gap(struct dat_cursor *k)
{
	const struct stream *s = k->c->stream;
	const struct packet *p = &s->packets[k->c->packet];
	bool is_last = k->c->packet + 1 == s->nr_packets;
	uint64_t end = is_last ? 0 : p[1].begin;

	if (!k->gap && !(is_last && s->cut && !k->told_cut))
		return false;
	k->gap = false;
	k->told_cut = is_last;
	lost_before(k, UINT64_MAX, end);
	return k->lost_waits;
}

/* Goes on to the next page with records in it.  False at the end, and, when @any events are in
 * hand, where unpacking would have to begin. */
static bool advance(struct dat_cursor *k, bool any)
{
	struct cursor *c = k->c;

	while (k->pos >= k->end && !k->lost_waits) {
		if (k->page < k->pages_end) {
			page_enter(k);
		} else if (k->in_packet && k->next_chunk < k->packet_stop) {
			if (any && k->ds->packed)
				return false;
			chunk_enter(k);
		} else if (!k->in_packet || !ends_in_gap(k)) {
			if (k->in_packet)
				packet_leave(k);
			if (c->packet >= c->packet_end)
				return false;
			packet_enter(k);
		}
	}
	return true;
}

/* Fills @e from a record; false when its kind is not wanted. */
static inline __attribute__((always_inline)) bool event_fill(struct dat_cursor *k, struct event *e,
							     const uint8_t *record,
							     const uint8_t *data, uint32_t len,
							     const bool *wants, const bool swap)
{
	const struct dat_events *events = &k->d->events;
	const struct dat_plan *p = dat_plan_of(events, data, swap);
	const bool shows_seams = k->c->shows_seams;

	if (unlikely(!p->type))
		issue(k, DAT_UNKNOWN_ID);
	if (!wants[p->kind]) {
		int32_t tid = (int32_t)load32(data + events->form.tid_offset, swap);

		if (likely(!shows_seams || !seam_breaks_by(&k->seam, tid)))
			return false;
		*e = (struct event){
			.kind = EV_OTHER, .type = p->type, .tid = tid, .record = record};
		return true;
	}
	e->kind = p->kind;
	e->type = p->type;
	e->tid = (int32_t)load32(data + events->form.tid_offset, swap);
	e->record = record;
	if (likely(data + p->reach <= k->readable))
		dat_event_args(e, p, data, len, swap);
	else
		dat_event_args_edge(e, p, data, len, swap);
	if (shows_seams)
		seam_follow(&k->seam, e);
	return true;
}

/* Of a page that holds together.  Ends at its end or when @room is used up. */
static inline __attribute__((always_inline)) unsigned page_decode(struct dat_cursor *k,
								  struct event *events,
								  unsigned room, const bool *wants,
								  const bool swap)
{
	const uint8_t *pos = k->pos;
	const uint8_t *record = pos, *last = NULL;
	const uint8_t *const end = k->end;
	uint64_t time = k->time;
	uint64_t from = k->c->from, left = k->c->records_left;
	uint64_t kept = 0;
	unsigned n = 0;

	for (; n < room && end - pos >= 8 && left; record = pos, left--) {
		struct record_head h = record_head_read(pos, swap);
		uint32_t len;

		pos += 4;
		if (likely(h.type_len - 1 < RECORD_PADDING - 1)) {
			len = h.type_len * 4;
		} else if (h.type_len) {
			int64_t skip = record_mark_read(pos, end, h, &time, swap);

			pos = skip > 0 ? pos + skip : end;
			continue;
		} else {
			len = load32(pos, swap) - 4; /* its own length field counts */
			pos += 4;
		}
		if (unlikely(len > end - pos)) { /* who writes into the file now? */
			pos = end;
			break;
		}
		time += h.delta;
		last = pos;
		kept++;
		if (time >= from && event_fill(k, &events[n], record, pos, len, wants, swap))
			events[n++].time.v = time;
		pos += (len + 3) & ~3u;
	}
	k->pos = end - pos >= 8 ? pos : end;
	k->time = time;
	k->last = time;
	k->has_last = true;
	if (last)
		k->last_tid = (int32_t)load32(last + k->d->events.form.tid_offset, swap);
	k->tally.kept += kept;
	k->c->records_left = left;
	return n;
}

static unsigned decode(struct dat_cursor *k, struct event *events, unsigned room)
{
	if (unlikely(k->lost_waits)) {
		events[0] = k->lost;
		k->lost_waits = false;
		k->seam.running = -1;
		return 1;
	}
	return k->d->file.swap ? page_decode(k, events, room, k->c->wants, true)
			       : page_decode(k, events, room, k->c->wants, false);
}

unsigned dat_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	struct dat_cursor *k = c->buffer;
	unsigned n = 0;

	k->c = c; /* its owner may have moved it */
	while (n < room && c->records_left && advance(k, n > 0))
		n += decode(k, events + n, room - n);
	if (n)
		k->handed_out = true;
	return n;
}

int dat_cursor_init(struct cursor *c, struct error *err)
{
	struct dat_stream *ds = (struct dat_stream *)c->stream->reader;
	struct dat_cursor *k = calloc(1, sizeof(*k));

	if (!k)
		goto nomem;
	c->buffer = k;
	k->ds = ds;
	k->d = ds->dat;
	k->last_tid = -1;
	k->seam = SEAM_INIT;
	for (unsigned i = 0; ds->packed && i < ARRAY_SIZE(k->buf); i++) {
		k->buf[i] = calloc(1, (size_t)ds->chunk_max + DAT_LOAD_BYTES);
		if (!k->buf[i])
			goto nomem;
	}
	return 0;
nomem:
	dat_cursor_release(c);
	return fail(err, -ENOMEM, "out of memory reading %s", c->stream->path);
}

void dat_cursor_release(struct cursor *c)
{
	struct dat_cursor *k = c->buffer;

	c->buffer = NULL;
	if (!k)
		return;
	unpacker_release(&k->unpacker);
	free(k->buf[0]);
	free(k->buf[1]);
	free(k);
}
