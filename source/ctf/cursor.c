/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors: from packet to packet, and what was lost between and in them. */
#include "source/ctf/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/ctf/bits.h"

/* The counter of lost events that packet @nr has; UINT64_MAX when it cannot be read. */
static uint64_t lost_count(const struct cursor *c, const struct ctf_cursor *cur, uint32_t nr)
{
	const struct ctf_file *file = &cur->cs->files[cur->cs->packets[nr].file];
	uint64_t at = c->stream->packets[nr].offset_bytes;
	struct ctf_packet_info info;
	uint64_t regs[CTF_REGS];

	memset(regs, 0, sizeof(regs));
	if (ctf_packet_read(cur->cs->trace, file->map.data + at, file->map.len_bytes - at, regs,
			    &info, NULL))
		return UINT64_MAX;
	return info.roles.value[CTF_ROLE_DISCARDED];
}

int ctf_cursor_init(struct cursor *c, struct error *err)
{
	struct ctf_cursor *cur = calloc(1, sizeof(*cur));

	if (!cur)
		return fail(err, -ENOMEM, "out of memory for a cursor on %s", c->stream->path);
	cur->cs = c->stream->reader;
	cur->plan = cur->cs->plan;
	cur->file = UINT32_MAX;
	cur->last_tid = -1;
	cur->seam = SEAM_INIT;
	if (c->packet && c->packet < c->packet_end && cur->cs->packets[c->packet].indexed)
		cur->count_before = lost_count(c, cur, c->packet - 1);
	c->buffer = cur;
	return 0;
}

/* Pages behind us are not needed soon: give them back, a megabyte at a time.  (Who still has
 * pointers there finds the same bytes again, read anew.) */
#define FORGET_BYTES (1u << 20)

static void forget_behind(struct ctf_cursor *cur, uint64_t at)
{
	mapfile_forget(cur->map, cur->forgotten_bytes, at - cur->forgotten_bytes);
	cur->forgotten_bytes = at;
}

void ctf_cursor_release(struct cursor *c)
{
	struct ctf_cursor *cur = c->buffer;

	if (cur && cur->map && cur->cs->trace->forget)
		forget_behind(cur, cur->file_bit / 8 + cur->pos / 8);
	free(cur);
}

/* Trouble */

/* The packet's bytes from bit @pos on are not used.  @fault_pos: where it shows; @why: NULL when that
 * was said before. */
static void note_damage(struct cursor *c, struct ctf_cursor *cur, uint64_t pos, uint64_t fault_pos,
			const char *why)
{
	uint64_t at = pos < cur->end ? pos : cur->end;
	struct trace_loss loss = {.bytes_skipped = (cur->end - at) / 8};

	cur->damaged = true;
	if (!ctf_tell_once(cur, CTF_TOLD_DAMAGE))
		return;
	/* That a file ends inside a packet was counted when the trace was opened. */
	loss.unknown = !cur->packet->truncated;
	trace_loss_add(c->stream->trace, &loss);
	if (why)
		trace_problem(c->stream->trace,
			      "%s at offset %llu: %s; %llu bytes of this packet are not used, from "
			      "offset %llu on",
			      cur->cs->files[cur->file].path,
			      (unsigned long long)((cur->file_bit + fault_pos) / 8), why,
			      (unsigned long long)loss.bytes_skipped,
			      (unsigned long long)((cur->file_bit + at) / 8));
}

/* Nothing of the packet is believed, its times neither: the loss is all between its neighbours. */
static void skip_packet(struct cursor *c, struct ctf_cursor *cur, uint64_t fault_pos,
			const char *why)
{
	note_damage(c, cur, 0, fault_pos, why);
	cur->skipped = true;
	cur->phase = AT_PACKET_END;
}

static const char *fault_text(enum ctf_fault fault)
{
	static const char *const texts[] = {
		[CTF_CUT_HEADER] = "an event's header is cut off",
		[CTF_CUT_EVENT] = "an event does not fit into its packet",
		[CTF_UNKNOWN_EVENT] = "an event of an unknown kind",
		[CTF_BADLY_DESCRIBED] = "an event that the metadata describes badly",
		[CTF_EMPTY_EVENT] = "an event of no size",
		[CTF_ZEROS] = "zeros where events should be",
		[CTF_ASTRAY] = "events that are not of the packet's time",
		[CTF_STEP_BACK] = "time steps back inside a packet",
		[CTF_TORN] = "the damage behind this packet may begin in it",
		[CTF_MISPLACED] = "this packet is earlier than one in front of it",
	};

	return texts[fault];
}

void ctf_cursor_give_up(struct cursor *c, struct ctf_cursor *cur, uint64_t pos,
			enum ctf_fault fault)
{
	cur->phase = AT_PACKET_END;
	if (!cur->judging) {
		note_damage(c, cur, pos, pos, cur->packet->truncated ? NULL : fault_text(fault));
		return;
	}
	if (!cur->fault) { /* the first one tells */
		cur->fault = fault;
		cur->fault_pos = pos;
	}
}

/* Packets */

#define CUT_HEADER_MAX 256 /* header and context of a packet, generously */

static void make_lost(struct cursor *c, struct event *e, uint64_t nr, uint64_t begin, uint64_t end)
{
	struct ctf_cursor *cur = c->buffer;

	cur->seam.running = -1;
	memset(e, 0, sizeof(*e));
	e->time.v = begin;
	e->kind = EV_LOST;
	e->type = (uint16_t)(c->stream->trace->nr_types - 1);
	e->tid = cur->last_tid;
	e->arg[0] = (int64_t)nr;
	e->arg[1] = (int64_t)begin;
	e->arg[2] = (int64_t)(end > begin ? end : begin);
}

/* Sets the cursor to the packet's first bit. */
static void enter_packet(struct cursor *c, struct ctf_cursor *cur)
{
	const struct packet *p = &c->stream->packets[c->packet];
	bool is_last = c->packet + 1 == c->stream->nr_packets;

	cur->packet = &cur->cs->packets[c->packet];
	if (cur->packet->file != cur->file) {
		cur->file = cur->packet->file;
		cur->map = &cur->cs->files[cur->file].map;
		cur->forgotten_bytes = p->offset_bytes;
	}
	if (cur->cs->trace->forget && p->offset_bytes - cur->forgotten_bytes >= FORGET_BYTES)
		forget_behind(cur, p->offset_bytes);
	cur->data = cur->map->data + p->offset_bytes;
	cur->file_bit = p->offset_bytes * 8;
	cur->now.last = cur->packet->begin_raw;
	cur->now.prev = p->begin;
	cur->ceiling = is_last ? UINT64_MAX : p[1].begin;
	if (!is_last && cur->packet[1].gap)
		cur->ceiling = cur->packet[1].gap_from;
	cur->now.usual_end = p->end ? p->end : cur->ceiling;
	cur->packet_end = p->end;
	cur->discarded = cur->packet->discarded;
	cur->pos = 0;
	cur->end = cur->packet->content_bits;
	if (cur->plan->bytewise) /* what is left of the last byte is padding */
		cur->end = ctf_align_up(cur->end, 8);
	cur->damaged = cur->packet->truncated || cur->packet->lost_unknown;
	cur->fault_pos = cur->sound_end = 0;
	cur->skipped = false;
	cur->phase = IN_PACKET;
}

/* Whether packet @p, which says other times than the index, can have them: between its neighbours'. */
static bool is_in_order(const struct cursor *c, const struct ctf_cursor *cur,
			const struct packet *p, uint64_t begin, uint64_t end)
{
	return (!end || begin <= end) && begin <= cur->ceiling &&
	       (!c->packet ||
		(begin >= p[-1].begin && !ctf_is_far_back(cur->plan, begin, p[-1].end)));
}

/* The list of packets came from the index; where the packet says something else, it is right; if it
 * can be: false otherwise. */
static bool prefer_packet(struct cursor *c, struct ctf_cursor *cur, const struct ctf_roles *r)
{
	const struct packet *p = &c->stream->packets[c->packet];
	uint64_t count = r->value[CTF_ROLE_DISCARDED], before = cur->count_before;
	bool counts = ctf_has_role(r, CTF_ROLE_DISCARDED);
	bool known = counts && count >= before && !cur->packet->lost_unknown;
	uint64_t lost = known ? count - before : cur->packet->discarded;
	struct trace_loss more = {.events = lost - cur->packet->discarded};
	uint64_t begin = r->value[CTF_ROLE_BEGIN], end = r->value[CTF_ROLE_END];

	if (begin == cur->packet->begin_raw && end == cur->packet->end_raw &&
	    lost == cur->packet->discarded)
		return true;
	if (!is_in_order(c, cur, p, begin, end))
		return false;
	cur->discarded = lost;
	if (begin != cur->packet->begin_raw || end != cur->packet->end_raw) {
		cur->now.last = cur->now.prev = begin;
		cur->packet_end = end;
		cur->now.usual_end = end > begin ? end : begin;
	}
	if (!ctf_tell_once(cur, CTF_TOLD_INDEX))
		return true;
	trace_loss_add(c->stream->trace, &more);
	trace_problem(c->stream->trace,
		      "the index of %s is wrong about the packet at offset %llu; what the packet "
		      "says is used",
		      cur->cs->files[cur->file].path, (unsigned long long)p->offset_bytes);
	return true;
}

/* What an event of this packet can be at the latest.  Old LTTng wrote ends too early: not by as much
 * as a begin that lies moves events. */
static uint64_t latest_time(const struct ctf_cursor *cur, uint64_t begin)
{
	uint64_t end = cur->packet_end, slack = end > begin ? end - begin : 0, latest;

	/* What was cut off came last: what is there is not later than that. */
	if (cur->packet->truncated && end && cur->ceiling == UINT64_MAX)
		return end;
	latest = end && end < UINT64_MAX - slack ? end + slack : UINT64_MAX;
	if (latest > cur->ceiling)
		latest = end > cur->ceiling ? end : cur->ceiling;
	return latest;
}

/* Reads all events of the packet that the cursor has entered, for what is wrong with it; sets where
 * that is, and how far its events are believed nevertheless. */
static enum ctf_fault judge(const struct cursor *c, struct ctf_cursor *cur)
{
	struct ctf_cursor all = *cur;
	struct cursor none = *c;
	struct event room[1];

	memset(none.wants, 0, sizeof(none.wants));
	none.from = 0;
	none.records_left = UINT64_MAX;
	none.buffer = &all;
	all.judging = true;
	all.odd = false;
	all.fault = CTF_SOUND;
	while (all.phase == IN_PACKET && !all.fault)
		ctf_decode_events(&none, &all, room, 1);
	if ((cur->packet->truncated || cur->packet->open_ended) &&
	    (all.fault == CTF_CUT_EVENT || all.fault == CTF_CUT_HEADER))
		return CTF_SOUND; /* so far */
	cur->fault_pos = all.fault_pos;
	cur->sound_end = all.fault == CTF_ZEROS && !all.odd ? all.sound_end : 0;
	return all.fault;
}

/* False when what stands behind the packet is no packet: then the damage may begin in this one. */
static bool ends_well(const struct ctf_cursor *cur, uint64_t len_bytes)
{
	const uint8_t *next = cur->data + len_bytes, *end = cur->map->data + cur->map->len_bytes;
	size_t left = next < end ? (size_t)(end - next) : 0, len;
	struct ctf_packet_info info;
	uint64_t regs[CTF_REGS] = {0};
	uint8_t key[CTF_KEY_BYTES];
	bool begins;

	if (!left)
		return true;
	len = ctf_packet_key(cur->cs->trace, &cur->cs->files[cur->file], key);
	begins = !memcmp(next, key, left < len ? left : len);
	/* One that begins here and is wrong, or not closed yet, is another's damage. */
	if ((begins && len == CTF_KEY_BYTES) ||
	    !ctf_packet_read(cur->cs->trace, next, left, regs, &info, NULL))
		return true;
	/* The file ends within the next one's header. */
	return begins && left < CUT_HEADER_MAX;
}

/* Leaves a packet again that does not hold together; judged once, however many cursors come by, but
 * for one of which a part is believed. */
static void believe_or_skip(struct cursor *c, struct ctf_cursor *cur)
{
	uint8_t told = atomic_load(&cur->packet->told);
	enum ctf_fault fault = cur->packet->misplaced ? CTF_MISPLACED : CTF_TORN;

	if (told & CTF_JUDGED_SOUND)
		return;
	if (!(told & CTF_JUDGED_BAD) && !cur->packet->torn && !cur->packet->misplaced &&
	    ends_well(cur, c->stream->packets[c->packet].len_bytes))
		fault = judge(c, cur);
	if (fault && cur->sound_end > cur->pos) {
		note_damage(c, cur, cur->sound_end, cur->fault_pos, fault_text(fault));
		cur->end = cur->sound_end;
		return;
	}
	if (fault)
		skip_packet(c, cur, cur->fault_pos, fault_text(fault));
	atomic_fetch_or(&cur->packet->told, fault ? CTF_JUDGED_BAD : CTF_JUDGED_SOUND);
}

static unsigned begin_packet(struct cursor *c, struct ctf_cursor *cur, struct event *e)
{
	const struct packet *p = &c->stream->packets[c->packet];
	struct ctf_packet_info info;
	const char *fault = NULL;
	struct error why = {0};

	enter_packet(c, cur);
	if (ctf_packet_read(cur->cs->trace, cur->data, cur->map->len_bytes - p->offset_bytes,
			    cur->regs, &info, &why))
		fault = why.text;
	else if (!cur->packet->torn && info.content_bits != cur->packet->content_bits)
		fault = "the packet is not what the index says";
	else if (!ctf_is_of_stream(cur->cs, c->stream->cpu, &info.roles))
		fault = "the packet is of another stream";
	else if (cur->packet->indexed && !prefer_packet(c, cur, &info.roles))
		fault = "the packet says other times than the index, and cannot have them";
	cur->count_before = fault ? UINT64_MAX : info.roles.value[CTF_ROLE_DISCARDED];
	if (fault) {
		skip_packet(c, cur, 0, fault);
	} else {
		cur->pos = info.body_bits;
		cur->earliest = cur->now.last;
		cur->latest = latest_time(cur, cur->now.last);
		if (cur->pos >= cur->end)
			cur->phase = AT_PACKET_END;
		else
			believe_or_skip(c, cur);
	}
	if (!cur->packet->gap || cur->skipped)
		return 0;
	make_lost(c, e, 0, cur->packet->gap_from, p->begin);
	return 1;
}

/* When the stream's first event that can be read was recorded; UINT64_MAX without any. */
static uint64_t first_event_of(struct stream *s)
{
	uint64_t first = UINT64_MAX;
	struct event event;
	struct cursor c;

	if (cursor_init(&c, s, 0, s->nr_packets, 0, NULL))
		return UINT64_MAX;
	((struct ctf_cursor *)c.buffer)->looking = true;
	while (first == UINT64_MAX && cursor_next(&c, &event, 1))
		first = event.kind == EV_LOST ? UINT64_MAX : event.time.v;
	cursor_release(&c);
	return first;
}

/*
 * Where a loss up to @end begins when nothing before it could be read.  What a stream's first packet
 * says is the time when its buffer was made, and tracing may have begun long after; or is damaged.
 * It begins on all CPUs at once, so nothing is missing from before the first event of all.
 */
static uint64_t first_loss_begin(struct cursor *c, struct ctf_cursor *cur, uint64_t end)
{
	struct trace *t = c->stream->trace;
	uint64_t first = atomic_load(&cur->cs->trace->first_event);

	if (!first) {
		first = UINT64_MAX;
		for (unsigned i = 0; i < t->nr_streams; i++) {
			uint64_t event = first_event_of(&t->streams[i]);

			first = event < first ? event : first;
		}
		atomic_store(&cur->cs->trace->first_event, first);
	}
	return first < end ? first : end;
}

/* Reads packet @nr, for what the cursor then knows; false: no memory. */
static bool read_one(struct stream *s, uint32_t nr, struct ctf_cursor *behind)
{
	struct event events[16];
	struct cursor c;

	if (cursor_init(&c, s, nr, 1, WANT(LOST), NULL))
		return false;
	((struct ctf_cursor *)c.buffer)->looking = true;
	while (cursor_next(&c, events, ARRAY_SIZE(events)) > 0)
		;
	*behind = *(struct ctf_cursor *)c.buffer;
	cursor_release(&c);
	return true;
}

/* What .known_until is behind the packet in front of @c's first one. */
static uint64_t known_before(const struct cursor *c)
{
	uint32_t before = c->packet - 1;
	struct ctf_cursor behind;

	return read_one(c->stream, before, &behind) ? behind.known_until
						    : c->stream->packets[before].begin;
}

/* Where the loss up to @end begins that the packet at whose end the cursor is had. */
static uint64_t loss_begin(struct cursor *c, struct ctf_cursor *cur, uint64_t end)
{
	if (!cur->damaged || cur->looking)
		return cur->now.prev;
	if (!c->packet && !cur->last && cur->cs->trace->open) {
		uint64_t first = first_loss_begin(c, cur, end);

		return cur->skipped || first > cur->now.prev ? first : cur->now.prev;
	}
	if (!cur->skipped || !c->packet)
		return cur->now.prev;
	return cur->known_until ? cur->known_until : known_before(c);
}

/* The packet at whose end the cursor is lost something up to then. */
static uint64_t loss_end(const struct ctf_cursor *cur)
{
	bool is_last = cur->ceiling == UINT64_MAX;

	if (cur->packet_end && (!cur->skipped || is_last))
		return cur->packet_end;
	return is_last ? cur->now.prev : cur->ceiling;
}

static unsigned end_packet(struct cursor *c, struct ctf_cursor *cur, struct event *e)
{
	uint64_t lost = cur->damaged ? 0 : cur->discarded;
	uint64_t end = loss_end(cur), begin = loss_begin(c, cur, end);
	bool is_cut_off;

	if (cur->last)
		cur->last_tid = ctf_last_tid(cur);
	cur->last = NULL;
	cur->known_until = cur->skipped || end > cur->now.prev ? end : cur->now.prev;
	if (cur->known_until > cur->ceiling)
		cur->known_until = cur->ceiling;
	cur->phase = BETWEEN_PACKETS;
	c->packet++;
	is_cut_off = c->stream->cut && c->packet == c->stream->nr_packets;
	if (cur->damaged || cur->discarded)
		make_lost(c, e, lost, begin, end);
	else if (is_cut_off)
		make_lost(c, e, 0, end > begin ? end : begin, end);
	else
		return 0;
	e->arg[4] = is_cut_off;
	return 1;
}

unsigned ctf_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	struct ctf_cursor *cur = c->buffer;
	unsigned n = 0;

	while (n < room && c->records_left) {
		if (cur->phase == IN_PACKET)
			n += ctf_decode_events(c, cur, events + n, room - n);
		else if (cur->phase == AT_PACKET_END)
			n += end_packet(c, cur, events + n);
		else if (c->packet < c->packet_end)
			n += begin_packet(c, cur, events + n);
		else
			break;
	}
	return n;
}

uint64_t ctf_last_event_time(struct stream *s, uint32_t packet)
{
	struct ctf_cursor behind;

	return read_one(s, packet, &behind) ? behind.now.prev : s->packets[packet].end;
}
