/* SPDX-License-Identifier: Apache-2.0 */
/* The decoding loop: packet by packet, block by block, record by record. */
#include "source/hyper/reader.h"
#include "channel/writer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 16 /* what event.h promises of a text */
#define NAMES 256     /* in one batch */

/* prev_state of a switch, as Linux writes it. */
static const int16_t state_bits[] = {
	[HT_RUNNABLE] = 0x100, [HT_SLEEPING] = 0x1, [HT_BLOCKED] = 0x2, [HT_STOPPED] = 0x4,
	[HT_DEAD] = 0x10,      [HT_IDLE] = 0x80,    [HT_OTHER] = 0x40,
};

struct hyper_cursor {
	struct cursor *c;
	struct hyper *h;
	const struct hyper_packet *packets;
	struct ht_reader reader;
	uint64_t pos, packet_stop; /* in the file; the next block, the packet's end */
	bool in_packet, in_block;
	bool gap;	  /* something is missing before the next event */
	uint64_t dropped; /* ... so many events; 0 not known */
	uint64_t last;	  /* time of the last event */
	bool has_last, stepped_back, broken;
	bool at_end;	     /* that nothing is known from here on was handed out */
	struct ht_call call; /* the last hypercall that the block at hand takes */
	struct ht_call sent; /* ... and the one before it */
	bool has_sent;
	struct ht_item item;	/* a record that was read, and not yet used */
	const uint8_t *item_at; /* ... its first byte */
	int32_t item_tid;	/* ... the thread that ran before it */
	bool has_item;
	char names[2][NAMES][NAME_BYTES]; /* of this batch, and of the one before */
	unsigned which, nr_names;
};

/* ---- records to events ------------------------------------------------------------------------
 */

static const char *keep_name(struct hyper_cursor *k, const struct ht_text *text)
{
	char *to = k->names[k->which][k->nr_names++];

	memset(to, 0, NAME_BYTES);
	memcpy(to, text->at, text->len < NAME_BYTES ? text->len : NAME_BYTES);
	return to;
}

static void fill_switch(struct event *e, const struct ht_item *item)
{
	e->tid = (int32_t)item->args[0];
	e->arg[0] = item->args[0];
	e->arg[1] = item->args[1];
	e->arg[2] = item->state < ARRAY_SIZE(state_bits) ? state_bits[item->state] : 0x40;
}

/* @at: the record's first byte: opcode, slot, TID, flags. */
static void fill_task(struct hyper_cursor *k, struct event *e, const struct ht_item *item,
		      const uint8_t *at)
{
	e->arg[0] = item->args[0];
	e->arg[1] = item->args[1];
	e->arg[2] = -1;
	e->arg[3] = item->nr_text ? (int64_t)(uintptr_t)keep_name(k, &item->text[0]) : 0;
	for (at += 2; *at & 0x80; at++)
		;
	e->record = at + 1;
}

/* The guest's opcodes whose arguments are not in the order of events/kinds.def. */
static void fill_record(struct hyper_cursor *k, struct event *e, const struct ht_item *item)
{
	for (unsigned i = 0; i < item->nr_args; i++)
		e->arg[i] = item->args[i];
	if (item->nr_text)
		e->record = (const uint8_t *)item->text[item->nr_text - 1].at - 1;
	switch (item->opcode) {
	case HT_FORK:
		e->arg[3] = item->args[2];
		e->arg[2] = 0;
		break;
	case HT_RENAME:
		e->arg[2] = (int64_t)(uintptr_t)keep_name(k, &item->text[0]);
		break;
	case HT_HRTIMER_START:
		e->arg[3] = item->args[1];
		e->arg[1] = 0;
		break;
	default:
		break;
	}
}

/* False when it is no event, or nobody wants it. */
static bool fill(struct hyper_cursor *k, struct event *e, const struct ht_item *item,
		 const uint8_t *at, int32_t tid)
{
	uint8_t opcode = item->opcode < 0x80 ? HYPER_OP_SWITCH : item->opcode;
	int type = k->h->type_of[opcode];

	if (type < 0 || !k->c->wants[k->h->plans[type].kind])
		return false;
	memset(e, 0, sizeof(*e));
	e->kind = k->h->plans[type].kind;
	e->type = (uint16_t)type;
	e->tid = tid;
	if (opcode == HYPER_OP_SWITCH)
		fill_switch(e, item);
	else if (opcode == HT_TASK)
		fill_task(k, e, item, at);
	else
		fill_record(k, e, item);
	return true;
}

/* The time of what happened at @tsc, as far as order allows. */
static uint64_t in_order(struct hyper_cursor *k, uint64_t tsc)
{
	if (k->has_last && tsc < k->last) {
		k->stepped_back = true;
		return k->last;
	}
	k->last = tsc;
	k->has_last = true;
	return tsc;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void tell(struct hyper_cursor *k)
{
	struct hyper_packet *p = (struct hyper_packet *)&k->packets[k->c->packet];
	struct trace *t = k->h->trace;

	if ((k->broken || k->stepped_back) && !__atomic_exchange_n(&p->told, 1, __ATOMIC_RELAXED)) {
		struct trace_loss loss = {.unknown = k->broken};

		trace_loss_add(t, &loss);
		if (k->broken)
			trace_problem(t, "%s: CPU %d: blocks that cannot be read to their end",
				      t->path, p->cpu);
		if (k->stepped_back)
			trace_problem(t,
				      "%s: CPU %d: times that step back; such events are given the "
				      "time before",
				      t->path, p->cpu);
	}
	k->broken = k->stepped_back = false;
}

static bool next_packet(struct hyper_cursor *k)
{
	const struct hyper_packet *p;

	if (k->in_packet) {
		tell(k);
		k->c->packet++;
	}
	k->in_packet = k->c->packet < k->c->packet_end;
	if (!k->in_packet)
		return false;
	p = &k->packets[k->c->packet];
	k->pos = p->offset_bytes;
	k->packet_stop = p->offset_bytes + p->len_bytes;
	k->gap |= p->gap;
	return true;
}

static bool next_block(struct hyper_cursor *k)
{
	const uint8_t *block;
	uint32_t len;

	do {
		while (!k->in_packet || k->pos == k->packet_stop) {
			if (!next_packet(k))
				return false;
		}
		block = k->h->file.data + k->pos;
		len = ht_block_length(block, (uint32_t)(k->packet_stop - k->pos));
		if (!len || len > k->packet_stop - k->pos) { /* not as the index found it */
			k->broken = k->gap = true;
			k->pos = k->packet_stop;
			len = 0;
		}
	} while (!len);
	k->pos += len;
	k->sent = k->call;
	k->has_sent = k->reader.seq_known;
	ht_block_open(&k->reader, block, len);
	ht_call_fragment(&k->call, block, len, hyper_seq(block), ht_call_fragments(len) - 1, true);
	k->has_sent &= !k->reader.gap_before;
	k->in_block = true;
	k->gap |= k->reader.gap_before;
	if (k->reader.lost_before && !k->gap && k->reader.lost_before != HT_LOST_MANY)
		k->dropped = k->reader.lost_before;
	k->gap |= k->reader.lost_before != 0;
	return true;
}

static void fill_lost(struct hyper_cursor *k, struct event *e, uint64_t end)
{
	uint64_t begin = k->has_last ? k->last : end;

	*e = (struct event){
		.time.v = in_order(k, begin),
		.kind = EV_LOST,
		.tid = -1,
		.arg = {(int64_t)k->dropped, (int64_t)begin, (int64_t)(end > begin ? end : begin)}};
	k->gap = false;
	k->dropped = 0;
}

/* Behind the last block.  True when there is something missing, which @e is then. */
static bool ends_in_gap(struct hyper_cursor *k, struct event *e)
{
	const struct stream *s = k->c->stream;
	bool is_cut = s->cut && k->c->packet_end == s->nr_packets;

	if (k->at_end || !k->has_last || !(k->gap || is_cut))
		return false;
	k->at_end = true;
	fill_lost(k, e, k->last);
	e->arg[4] = 1;
	return true;
}

/* What host and guest both have of a hypercall. */
static bool fill_call(struct hyper_cursor *k, struct event *e, uint8_t opcode,
		      const struct ht_call *call, uint64_t tsc, int32_t tid)
{
	int type = k->h->type_of[opcode];
	uint16_t kind = k->h->plans[type].kind;

	if (!k->c->wants[kind])
		return false;
	*e = (struct event){
		.time.v = in_order(k, tsc),
		.kind = kind,
		.type = (uint16_t)type,
		.tid = tid,
		.arg = {(int64_t)call->nr, (int64_t)call->a0, (int64_t)call->a1, (int64_t)call->a2,
			(int64_t)call->a3},
	};
	return e->time.v >= k->c->from;
}

/* The block is at its end; it is sent after its last event. */
static bool end_block(struct hyper_cursor *k, struct event *e)
{
	k->in_block = false;
	return fill_call(k, e, HYPER_OP_SEND, &k->call,
			 k->reader.begin + (k->reader.units << k->reader.shift), k->reader.current);
}

/* What is recorded after a block's first moment is recorded after the one before it was sent. */
static bool shows_sent(const struct hyper_cursor *k)
{
	const struct ht_item *item = &k->item;

	return k->has_sent && (item->opcode < 0x80 || item->opcode > HT_TABLE_LAST) &&
	       item->tsc > k->reader.begin;
}

/* The record that was read; true when it is an event to hand out. */
static bool use_record(struct hyper_cursor *k, struct event *e)
{
	uint64_t time;

	k->has_item = false;
	if (!fill(k, e, &k->item, k->item_at, k->item_tid)) {
		if (k->item.opcode < 0x80 || k->item.opcode > HT_TABLE_LAST)
			in_order(k, k->item.tsc);
		return false;
	}
	time = in_order(k, k->item.tsc);
	e->time.v = time;
	return time >= k->c->from;
}

/* One record of the open block; true when there is an event to hand out. */
static bool next_record(struct hyper_cursor *k, struct event *e)
{
	uint64_t broken = k->reader.stats.blocks_broken;

	k->item_at = k->reader.block + k->reader.at;
	k->item_tid = k->reader.current;
	if (!ht_block_next(&k->reader, &k->item)) {
		if (k->reader.stats.blocks_broken != broken)
			k->broken = k->gap = true;
		return end_block(k, e);
	}
	k->c->records_left--;
	k->has_item = true;
	if (!shows_sent(k))
		return use_record(k, e);
	k->has_sent = false;
	return fill_call(k, e, HYPER_OP_SENT, &k->sent, k->item.tsc, k->item_tid);
}

/* ---- the cursor -------------------------------------------------------------------------------
 */

int hyper_cursor_init(struct cursor *c, struct error *err)
{
	struct hyper_cursor *k = calloc(1, sizeof(*k));

	if (!k)
		return fail(err, -ENOMEM, "out of memory");
	k->c = c;
	k->h = c->stream->trace->reader;
	k->packets = c->stream->reader;
	k->reader = k->h->template;
	c->buffer = k;
	return 0;
}

unsigned hyper_cursor_next(struct cursor *c, struct event *events, unsigned room)
{
	struct hyper_cursor *k = c->buffer;
	unsigned n = 0;

	k->c = c; /* it may have been moved */
	k->which ^= 1;
	k->nr_names = 0;
	while (n < room && k->nr_names < NAMES && c->records_left) {
		if (!k->in_block && !next_block(k)) {
			n += ends_in_gap(k, &events[n]);
			break;
		}
		if (k->gap && k->reader.at == HT_HEADER_BYTES) {
			fill_lost(k, &events[n++], k->reader.begin);
		} else if (k->has_item) {
			n += use_record(k, &events[n]);
		} else {
			n += next_record(k, &events[n]);
		}
	}
	return n;
}

void hyper_cursor_release(struct cursor *c)
{
	struct hyper_cursor *k = c->buffer;

	if (k && k->in_packet)
		tell(k);
	free(k);
}
