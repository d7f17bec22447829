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
	if (c->packet && c->packet < c->packet_end && cur->cs->packets[c->packet].indexed)
		cur->count_before = lost_count(c, cur, c->packet - 1);
	c->buffer = cur;
	return 0;
}

/* Pages behind us are not needed soon: give them back, a megabyte at a time.  (Who still has pointers
 * there finds the same bytes again, read anew.) */
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

void ctf_cursor_give_up(struct cursor *c, struct ctf_cursor *cur, uint64_t pos, const char *why)
{
	uint64_t at = pos < cur->end ? pos : cur->end;
	struct trace_loss loss = {.bytes_skipped = (cur->end - at) / 8};

	cur->damaged = true;
	cur->phase = AT_PACKET_END;
	if (!ctf_tell_once(cur, CTF_TOLD_DAMAGE))
		return;
	/* That a file ends inside a packet was said and counted when the trace was opened. */
	loss.unknown = !cur->packet->truncated;
	trace_loss_add(c->stream->trace, &loss);
	if (!cur->packet->truncated)
		trace_problem(c->stream->trace,
			      "%s at offset %llu: %s; the other %llu bytes of this packet are not "
			      "used",
			      cur->cs->files[cur->file].path,
			      (unsigned long long)((cur->file_bit + at) / 8), why,
			      (unsigned long long)loss.bytes_skipped);
}

/* Packets */

static void make_lost(struct cursor *c, struct event *e, uint64_t nr, uint64_t begin, uint64_t end)
{
	memset(e, 0, sizeof(*e));
	e->time.v = begin;
	e->kind = EV_LOST;
	e->type = (uint16_t)(c->stream->trace->nr_types - 1);
	e->tid = -1;
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
	cur->phase = IN_PACKET;
}

/* The list of packets came from the index; where the packet says something else, it is right. */
static void prefer_packet(struct cursor *c, struct ctf_cursor *cur, const struct ctf_roles *r)
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
		return;
	cur->discarded = lost;
	if (begin != cur->packet->begin_raw || end != cur->packet->end_raw) {
		cur->now.last = cur->now.prev = begin;
		cur->packet_end = end;
		cur->now.usual_end = end > begin ? end : begin;
	}
	if (!ctf_tell_once(cur, CTF_TOLD_INDEX))
		return;
	trace_loss_add(c->stream->trace, &more);
	trace_problem(c->stream->trace,
		      "the index of %s is wrong about the packet at offset %llu; what the packet "
		      "says is used",
		      cur->cs->files[cur->file].path, (unsigned long long)p->offset_bytes);
}

static unsigned begin_packet(struct cursor *c, struct ctf_cursor *cur, struct event *e)
{
	const struct packet *p = &c->stream->packets[c->packet];
	struct ctf_packet_info info;
	struct error why = {0};
	unsigned n = 0;

	enter_packet(c, cur);
	if (cur->packet->gap) {
		make_lost(c, e, 0, cur->packet->gap_from, p->begin);
		n = 1;
	}
	if (ctf_packet_read(cur->cs->trace, cur->data, cur->map->len_bytes - p->offset_bytes,
			    cur->regs, &info, &why)) {
		cur->count_before = UINT64_MAX;
		ctf_cursor_give_up(c, cur, 0, why.text);
	} else if (info.content_bits != cur->packet->content_bits) {
		cur->count_before = UINT64_MAX;
		ctf_cursor_give_up(c, cur, 0, "the packet is not what the index says");
	} else {
		if (cur->packet->indexed)
			prefer_packet(c, cur, &info.roles);
		cur->count_before = info.roles.value[CTF_ROLE_DISCARDED];
		cur->pos = info.body_bits;
		if (cur->pos >= cur->end)
			cur->phase = AT_PACKET_END;
	}
	return n;
}

static unsigned end_packet(struct cursor *c, struct ctf_cursor *cur, struct event *e)
{
	uint64_t told = cur->packet_end;
	uint64_t end = told ? told : cur->ceiling == UINT64_MAX ? cur->now.prev : cur->ceiling;
	uint64_t lost = cur->damaged ? 0 : cur->discarded;

	cur->phase = BETWEEN_PACKETS;
	c->packet++;
	if (cur->damaged || cur->discarded)
		make_lost(c, e, lost, cur->now.prev, end);
	else if (c->stream->cut && c->packet == c->stream->nr_packets)
		make_lost(c, e, 0, end > cur->now.prev ? end : cur->now.prev, end);
	else
		return 0;
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
	struct event events[16];
	struct cursor c;
	uint64_t last;

	if (cursor_init(&c, s, packet, 1, WANT(LOST), NULL))
		return s->packets[packet].end;
	while (cursor_next(&c, events, ARRAY_SIZE(events)) > 0)
		;
	last = ((struct ctf_cursor *)c.buffer)->now.prev;
	cursor_release(&c);
	return last;
}
