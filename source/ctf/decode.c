/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a packet: from bytes to canonical events.
 *
 * The inner loop is written once for each kind of event header (the compiler makes the copies).
 * For an event whose plan is one run it costs a header, a table look-up and the loads of the wanted
 * fields.
 *
 * Time.  A header holds the low bits of the time only; the packet's begin and the event before
 * give the rest.  What comes out never decreases within the stream, and does not depend on where a
 * cursor began: an event's time is kept between the (made monotonic) begin of its packet and that
 * of the next.  When low bits decrease, time has either wrapped or stepped back; it stepped back if
 * a wrap would put the event behind the end of its packet.  Which of the times is wrong then nobody
 * knows: such a packet is damaged.  Packets that overlap are another matter (source/ctf/index.c).
 */
#include "source/ctf/cursor.h"

#include <stdatomic.h>
#include <string.h>

#include "base/load.h"
#include "source/ctf/bits.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "loads assume a little-endian host");

/* Time */

static uint64_t clamp(uint64_t t, uint64_t low, uint64_t high)
{
	return t < low ? low : t > high ? high : t;
}

/* Once for each packet, with the same words: the list of problems counts them. */
static void tell_odd_time(struct cursor *c, struct ctf_cursor *cur, bool back, uint64_t pos)
{
	struct ctf_stream *cs = (struct ctf_stream *)cur->cs;
	_Atomic uint64_t *first = back ? &cs->first_step_back : &cs->first_late;
	uint64_t none = 0;

	if (cur->judging || !ctf_tell_once(cur, back ? CTF_TOLD_STEP_BACK : CTF_TOLD_LATE))
		return;
	atomic_compare_exchange_strong(first, &none, cur->file_bit + pos + 1);
	trace_problem(c->stream->trace,
		      back ? "%s: time steps back, first at offset %llu; such events count as the "
			     "time of the one before"
			   : "%s: events are later than their packet's end, first at offset %llu",
		      cur->cs->files[cur->file].path,
		      (unsigned long long)((atomic_load(first) - 1) / 8));
}

/* @t is before the event in front of it, or later than it should be.  Sets cur->now; returns the
 * time to give out. */
static __attribute__((noinline)) uint64_t odd_time(struct cursor *c, struct ctf_cursor *cur,
						   uint64_t t, unsigned bits, uint64_t pos)
{
	uint64_t span = bits < 64 ? UINT64_C(1) << bits : 0;
	struct clockwork *now = &cur->now;

	if (span && t > now->usual_end && t - now->last < span && t >= span &&
	    t - span >= cur->earliest)
		t -= span;
	cur->odd = true;
	if ((t < now->last || t > cur->latest) && !cur->fault) {
		cur->fault = t < now->last ? CTF_STEP_BACK : CTF_ASTRAY;
		cur->fault_pos = pos;
	}
	tell_odd_time(c, cur, t < now->prev, pos);
	now->last = t;
	now->prev = clamp(t, now->prev, cur->ceiling > now->prev ? cur->ceiling : now->prev);
	if (now->usual_end < now->prev)
		now->usual_end = now->prev;
	return now->prev;
}

/* @now: a copy of cur->now that the caller keeps in registers, or cur->now itself. */
static inline uint64_t event_time(struct cursor *c, struct ctf_cursor *cur, struct clockwork *now,
				  uint64_t recorded, unsigned bits, uint64_t pos)
{
	uint64_t t = ctf_extend_time(now->last, recorded, bits);

	/* One comparison for both: t before prev makes the left side huge. */
	if (unlikely(t - now->prev > now->usual_end - now->prev)) {
		cur->now = *now;
		t = odd_time(c, cur, t, bits, pos);
		*now = cur->now;
		return t;
	}
	now->last = t;
	now->prev = t;
	return t;
}

/* Records */

static inline int64_t do_load(const struct ctf_load *l, const uint8_t *p)
{
	uint64_t v = load_u64(p + l->offset);

	if (unlikely(l->big))
		v = __builtin_bswap64(v);
	v = v >> l->shift & l->mask;
	return (int64_t)((v ^ l->sign) - l->sign);
}

static inline void do_loads(const struct ctf_load *l, unsigned nr, const uint8_t *p,
			    struct event *e)
{
	for (const struct ctf_load *end = l + nr; l < end; l++)
		e->arg[l->to] = l->address ? (int64_t)(uintptr_t)(p + l->offset) : do_load(l, p);
}

/* The interpreter: everything of a record behind its header, at cur->pos. */
static int walk_body(struct ctf_cursor *cur, const struct ctf_plan *plan, struct event *e)
{
	int64_t slots[CTF_NR_SLOTS];
	struct ctf_walk w = {.data = cur->data,
			     .pos = cur->pos,
			     .end = cur->end,
			     .regs = cur->regs,
			     .slots = slots};
	int ret;

	w.fuel = ctf_walk_fuel(w.end - w.pos);
	memcpy(slots, plan->defaults, sizeof(plan->defaults));
	slots[CTF_SLOT_TID] = -1;
	ctf_forget_regs(cur->regs, plan->cls->nr_regs);
	ret = ctf_walk_record(&w, cur->plan->cls->event_context, NULL);
	if (!ret)
		ret = ctf_walk_record(&w, plan->cls->context, NULL);
	if (!ret)
		ret = ctf_walk_record(&w, plan->cls->payload, NULL);
	cur->pos = w.pos;
	memcpy(e->arg, slots, sizeof(e->arg));
	e->tid = (int32_t)slots[CTF_SLOT_TID];
	return ret;
}

static int walk_step(struct ctf_cursor *cur, const struct ctf_step *s, struct event *e)
{
	int64_t slots[CTF_NR_SLOTS];
	struct ctf_walk w = {.data = cur->data,
			     .pos = cur->pos,
			     .end = cur->end,
			     .regs = cur->regs,
			     .slots = slots};
	int ret;

	w.fuel = ctf_walk_fuel(w.end - w.pos);
	memcpy(slots, e->arg, sizeof(e->arg));
	slots[CTF_SLOT_TID] = e->tid;
	ret = ctf_walk_record(&w, s->fc, NULL);
	cur->pos = ctf_align_up(w.pos, 8);
	memcpy(e->arg, slots, sizeof(e->arg));
	e->tid = (int32_t)slots[CTF_SLOT_TID];
	return ret;
}

static const uint8_t *string_step(const struct ctf_step *s, const uint8_t *p, const uint8_t *end,
				  struct event *e)
{
	const uint8_t *nul = memchr(p, 0, (size_t)(end - p));

	if (nul && s->slot >= 0)
		e->arg[s->slot] = (int64_t)(uintptr_t)p;
	return nul ? nul + 1 : NULL;
}

static const uint8_t *sequence_step(const struct ctf_cursor *cur, const struct ctf_step *s,
				    const uint8_t *p, const uint8_t *end)
{
	uint64_t nr = cur->regs[s->reg];

	/* A negative length is a huge one. */
	return nr <= (size_t)(end - p) / s->len ? p + nr * s->len : NULL;
}

/* The record behind its header at @p, step by step; returns what is behind it, NULL when it does
 * not end before @end. */
static const uint8_t *do_steps(struct ctf_cursor *cur, const struct ctf_plan *plan,
			       const uint8_t *p, const uint8_t *end, struct event *e)
{
	if (unlikely(plan->nr_unset))
		ctf_forget_regs(cur->regs, plan->nr_unset);
	for (unsigned i = 0; p && i < plan->nr_steps; i++) {
		const struct ctf_step *s = &plan->steps[i];
		const struct ctf_load *loads = plan->loads;

		switch ((enum ctf_step_kind)s->kind) {
		case CTF_STEP_RUN:
			if (s->len > (size_t)(end - p))
				return NULL;
			do_loads(loads + s->loads, s->nr_loads, p, e);
			for (unsigned k = 0; k < s->nr_reg_loads; k++) {
				const struct ctf_load *l = &loads[s->reg_loads + k];

				cur->regs[l->to] = (uint64_t)do_load(l, p);
			}
			p += s->len;
			break;
		case CTF_STEP_ALIGN:
			p = cur->data + ctf_align_up((uint64_t)(p - cur->data), s->len);
			if (p > end)
				return NULL;
			break;
		case CTF_STEP_STRING:
			p = string_step(s, p, end, e);
			break;
		case CTF_STEP_SEQUENCE:
			p = sequence_step(cur, s, p, end);
			break;
		case CTF_STEP_WALK:
			cur->pos = (uint64_t)(p - cur->data) * 8;
			p = walk_step(cur, s, e) ? NULL : cur->data + cur->pos / 8;
			break;
		}
	}
	return p;
}

static void check_vcpu(struct cursor *c, struct ctf_cursor *cur, struct event *e)
{
	if ((uint64_t)e->arg[0] <= CTF_MAX_VCPU_ID || e->arg[0] == -1 || cur->judging)
		return;
	e->arg[0] = -1;
	if (!atomic_exchange(&cur->cs->trace->vcpu_id_seen_unsound, true) && cur->cs->trace->open)
		trace_note(c->stream->trace,
			   "%s: some vcpu_id of %s is no vCPU number but part of a pointer; such "
			   "values count as unknown",
			   c->stream->path, c->stream->trace->types[e->type].name);
}

/* Loads read eight bytes at a time: so close to the end of the file they must not. */
#define LOAD_SLACK 8

/* One event, its header being read: @p is behind the header.  Fills *e; returns what is behind
 * the record, NULL when it cannot be read. */
static inline const uint8_t *decode_record(struct ctf_cursor *cur, const struct ctf_plan *plan,
					   const uint8_t *p, const uint8_t *end,
					   const uint8_t *safe_end, struct event *e)
{
	memcpy(e->arg, plan->defaults, sizeof(e->arg));
	e->kind = plan->kind;
	e->type = plan->type;
	e->tid = -1;
	if (likely(plan->fixed)) {
		if (likely(plan->fixed_bytes <= (size_t)(end - p) &&
			   p + plan->fixed_bytes < safe_end)) {
			if (plan->has_tid)
				e->tid = (int32_t)do_load(&plan->tid, p);
			do_loads(plan->loads, plan->steps->nr_loads, p, e);
			return p + plan->fixed_bytes;
		}
	} else if (!plan->walked && end < safe_end) {
		if (plan->has_tid && plan->steps[0].len <= (size_t)(end - p))
			e->tid = (int32_t)do_load(&plan->tid, p);
		return do_steps(cur, plan, p, end, e);
	}
	if (plan->cls->broken)
		return NULL;
	cur->pos = (uint64_t)(p - cur->data) * 8;
	if (walk_body(cur, plan, e))
		return NULL;
	cur->pos = ctf_align_up(cur->pos, 8);
	return cur->data + cur->pos / 8;
}

struct header {
	uint64_t id, time;
	unsigned time_bits;
};

static inline size_t short_header(bool compact)
{
	return compact ? 4 : 6;
}

/* LTTng's headers; returns what is behind, NULL when it does not fit. */
static inline const uint8_t *read_lttng_header(const uint8_t *p, const uint8_t *end, bool compact,
					       struct header *h)
{
	unsigned id_bytes = compact ? 1 : 2;

	if (unlikely((size_t)(end - p) < short_header(compact)))
		return NULL;
	h->id = compact ? p[0] & 31 : load_u16(p);
	if (likely(h->id != (compact ? 31 : 65535))) {
		h->time = compact ? load_u32(p) >> 5 : load_u32(p + 2);
		h->time_bits = compact ? 27 : 32;
		return p + short_header(compact);
	}
	if (unlikely((size_t)(end - p) < id_bytes + 12u))
		return NULL;
	h->id = load_u32(p + id_bytes);
	h->time = load_u64(p + id_bytes + 4);
	h->time_bits = 64;
	return p + id_bytes + 12;
}

static inline uint64_t slot_value(const struct ctf_slot *s, const uint8_t *p)
{
	return ((load_u64(p + s->offset) >> s->shift & s->mask) ^ s->flip) - s->less;
}

static inline void decode_quick(const struct ctf_plan *plan, const uint8_t *p, struct event *e)
{
	const struct ctf_quick *q = &plan->quick;

	e->kind = plan->kind;
	e->type = plan->type;
	e->tid = (int32_t)slot_value(&q->tid, p);
#pragma GCC unroll 5
	for (unsigned i = 0; i < EVENT_ARGS; i++)
		e->arg[i] = (int64_t)slot_value(&q->slots[i], p);
	for (unsigned i = 0; unlikely(i < plan->nr_texts); i++)
		e->arg[q->texts[i].slot] = (int64_t)(uintptr_t)(p + q->texts[i].offset);
}

/* The record at @p of the event at @begin: what is behind it, NULL after ctf_cursor_give_up(). */
static __attribute__((noinline)) const uint8_t *
decode_slowly(struct cursor *c, struct ctf_cursor *cur, const struct ctf_plan *plan,
	      const uint8_t *begin, const uint8_t *p, struct event *e)
{
	const uint8_t *end = cur->data + cur->end / 8;
	const uint8_t *safe_end = cur->map->data + cur->map->len_bytes - LOAD_SLACK;

	p = decode_record(cur, plan, p, end, safe_end, e);
	if (!p)
		ctf_cursor_give_up(c, cur, (uint64_t)(begin - cur->data) * 8,
				   plan->cls->broken ? CTF_BADLY_DESCRIBED : CTF_CUT_EVENT);
	return p;
}

/*
 * Bytes that a disk or a file system lost read as zeros, and zeros are events: many of the first
 * kind, all at one time.  No event that a kernel recorded is followed by so many; nor are there any
 * up to where the file ends in the middle of a packet, at a time of zero.
 */
#define ZEROS_MAX 512

static __attribute__((noinline)) bool is_hole(const struct ctf_cursor *cur, const uint8_t *begin,
					      const uint8_t *end)
{
	size_t room = (size_t)(end - begin), i = 0;

	while (i < room && i < ZEROS_MAX && !begin[i])
		i++;
	return i == ZEROS_MAX || (i == room && cur->packet->truncated);
}

/*
 * Zeros from the event at @begin on.  The last bytes in front may be of the hole, too: then the
 * event at @before, which ends with them, is not believed.  @before: NULL when there is none.
 */
static __attribute__((noinline)) void meet_hole(struct cursor *c, struct ctf_cursor *cur,
						const uint8_t *before, const uint8_t *begin,
						const uint8_t *end)
{
	const uint8_t *first = begin, *behind = begin;

	while (first > cur->data && !first[-1])
		first--;
	while (behind < end && !*behind)
		behind++;
	if (before && behind < end)
		cur->sound_end = (uint64_t)((first < begin ? before : begin) - cur->data) * 8;
	ctf_cursor_give_up(c, cur, (uint64_t)(first - cur->data) * 8, CTF_ZEROS);
}

/* Any event with one of LTTng's headers, but for e->record: what is behind it, NULL after
 * ctf_cursor_give_up(). */
static __attribute__((noinline)) const uint8_t *decode_any(struct cursor *c, struct ctf_cursor *cur,
							   struct clockwork *now,
							   const uint8_t *begin, bool compact,
							   struct event *e)
{
	uint64_t pos = (uint64_t)(begin - cur->data) * 8;
	struct header h;
	const uint8_t *p = read_lttng_header(begin, cur->data + cur->end / 8, compact, &h);
	const struct ctf_plan *plan = p ? ctf_plan_find(cur->plan, h.id) : NULL;

	if (!plan) {
		ctf_cursor_give_up(c, cur, pos, p ? CTF_UNKNOWN_EVENT : CTF_CUT_HEADER);
		return NULL;
	}
	e->time.v = event_time(c, cur, now, h.time, h.time_bits, pos);
	p = decode_slowly(c, cur, plan, begin, p, e);
	if (p && plan->check_vcpu)
		check_vcpu(c, cur, e);
	return p;
}

/* The usual event: a short header, and a record of known size.  Reads both if it is that. */
static inline bool is_usual(const struct ctf_stream_plan *sp, const uint8_t *begin,
			    const uint8_t *end, bool compact, struct ctf_id *id)
{
	size_t room = (size_t)(end - begin), header = short_header(compact);
	uint32_t nr;

	if (unlikely(room < header))
		return false;
	nr = compact ? begin[0] & 31 : load_u16(begin);
	if (unlikely(nr == (compact ? 31 : 65535) || nr >= sp->nr_ids))
		return false;
	*id = sp->by_id[nr];
	return id->state == CTF_ID_FIXED && id->fixed_bytes <= room - header;
}

/* Records come from the page cache, where the processor's own look-ahead ends with each page. */
#define PREFETCH_BYTES 1024

/* Of an event that is not wanted, but for its thread: whether it shows that others are missing.
 * Then it is handed out, without arguments. */
static inline bool shows_seam(struct ctf_cursor *cur, struct event *e)
{
	if (likely(!seam_breaks_by(&cur->seam, e->tid)))
		return false;
	e->kind = EV_OTHER;
	memset(e->arg, 0, sizeof(e->arg));
	return true;
}

static inline bool shows_seam_quick(struct ctf_cursor *cur, const struct ctf_plan *plan,
				    const uint8_t *p, struct event *e)
{
	if (!plan->is_quick)
		return false;
	e->type = plan->type;
	e->tid = (int32_t)slot_value(&plan->quick.tid, p - plan->fixed_bytes);
	return shows_seam(cur, e);
}

/* The record, of a fixed size, that ends at @p, of the event at @begin: what is behind it. */
static inline const uint8_t *decode_usual(struct cursor *c, struct ctf_cursor *cur,
					  const struct ctf_plan *plan, const uint8_t *begin,
					  const uint8_t *p, const uint8_t *safe_end,
					  struct event *e)
{
	const uint8_t *body = p - plan->fixed_bytes;

	if (likely(plan->is_quick && p < safe_end))
		decode_quick(plan, body, e);
	else
		p = decode_slowly(c, cur, plan, begin, body, e);
	if (unlikely(plan->check_vcpu) && p)
		check_vcpu(c, cur, e);
	return p;
}

static inline __attribute__((always_inline)) unsigned decode_lttng(struct cursor *c,
								   struct ctf_cursor *cur,
								   struct event *events,
								   unsigned room, bool compact)
{
	const struct ctf_stream_plan *sp = cur->plan;
	const uint8_t *data = cur->data, *end = data + cur->end / 8;
	const uint8_t *safe_end = cur->map->data + cur->map->len_bytes - LOAD_SLACK;
	const uintptr_t place = (uintptr_t)ctf_place(cur->file, cur->file_bit);
	const bool *wants = c->wants, seams = c->shows_seams;
	const uint8_t *p = data + cur->pos / 8, *last = cur->last, *before = last;
	struct clockwork now = cur->now;
	uint64_t from = c->from, left = c->records_left;
	unsigned n = 0;

	for (; n < room && p < end && left; left--) {
		struct event *e = &events[n];
		const uint8_t *begin = p;
		struct ctf_id id;

		before = last;
		last = begin;
		__builtin_prefetch(begin + PREFETCH_BYTES);
		if (unlikely(end - p >= 4 && !load_u32(p)) && is_hole(cur, p, end)) {
			meet_hole(c, cur, before, begin, end);
			p = NULL;
		} else if (likely(is_usual(sp, begin, end, compact, &id))) {
			const struct ctf_plan *plan = &sp->plans[id.plan];
			uint32_t time = compact ? load_u32(begin) >> 5 : load_u32(begin + 2);
			uint64_t t = event_time(c, cur, &now, time, compact ? 27 : 32,
						(uint64_t)(begin - data) * 8);

			p = begin + short_header(compact) + id.fixed_bytes;
			if (!wants[id.kind] || t < from) {
				if (!seams || t < from || p >= safe_end ||
				    !shows_seam_quick(cur, plan, p, e))
					continue;
			} else {
				p = decode_usual(c, cur, plan, begin, p, safe_end, e);
			}
			e->time.v = t;
		} else {
			p = decode_any(c, cur, &now, begin, compact, e);
			if (p && (!wants[e->kind] || e->time.v < from) &&
			    (!seams || e->time.v < from || !shows_seam(cur, e)))
				continue;
		}
		if (unlikely(!p))
			break;
		if (seams)
			seam_follow(&cur->seam, e);
		e->record = (const uint8_t *)(place + (uint64_t)(begin - data) * 8);
		n++;
	}
	cur->now = now;
	cur->last = p ? last : before;
	c->records_left = left;
	if (!p)
		return n;
	cur->pos = (uint64_t)(p - data) * 8;
	if (p >= end)
		cur->phase = AT_PACKET_END;
	return n;
}

int32_t ctf_last_tid(const struct ctf_cursor *cur)
{
	const uint8_t *end = cur->data + cur->end / 8;
	const uint8_t *safe_end = cur->map->data + cur->map->len_bytes - LOAD_SLACK;
	bool compact = cur->plan->header == CTF_HEADER_COMPACT;
	struct ctf_cursor again = *cur; /* what reading it once more changes is not kept */
	struct header h;
	const uint8_t *p = read_lttng_header(cur->last, end, compact, &h);
	const struct ctf_plan *plan = p ? ctf_plan_find(cur->plan, h.id) : NULL;
	struct event e;

	return plan && decode_record(&again, plan, p, end, safe_end, &e) ? e.tid : -1;
}

/* Any header.  Returns false after ctf_cursor_give_up(). */
static bool walk_event(struct cursor *c, struct ctf_cursor *cur, struct event *e)
{
	const struct ctf_stream_plan *sp = cur->plan;
	const struct ctf_fc *header = sp->cls->event_header;
	const uint8_t *end = cur->data + cur->end / 8, *p;
	const uint8_t *safe_end = cur->map->data + cur->map->len_bytes - LOAD_SLACK;
	struct ctf_roles roles = {.seen = 0};
	struct ctf_walk w = {
		.data = cur->data, .end = cur->end, .regs = cur->regs, .roles = &roles};
	const struct ctf_plan *plan;
	uint64_t begin;

	if (header)
		cur->pos = ctf_align_up(cur->pos, header->align);
	begin = w.pos = cur->pos;
	if (begin >= cur->end) { /* only padding was left */
		cur->phase = AT_PACKET_END;
		return false;
	}
	w.fuel = ctf_walk_fuel(w.end - w.pos);
	if (ctf_walk_record(&w, header, NULL)) {
		ctf_cursor_give_up(c, cur, begin, CTF_CUT_HEADER);
		return false;
	}
	plan = ctf_plan_find(sp, roles.value[CTF_ROLE_EVENT_ID]);
	if (!plan || plan->cls->broken) {
		ctf_cursor_give_up(c, cur, begin, plan ? CTF_BADLY_DESCRIBED : CTF_UNKNOWN_EVENT);
		return false;
	}
	cur->pos = w.pos;
	e->time.v = cur->now.prev;
	if (ctf_has_role(&roles, CTF_ROLE_TIME))
		e->time.v = event_time(c, cur, &cur->now, roles.value[CTF_ROLE_TIME],
				       roles.bits[CTF_ROLE_TIME], begin);
	if (plan->walked || cur->pos % 8) {
		e->kind = plan->kind;
		e->type = plan->type;
		p = walk_body(cur, plan, e) ? NULL : end;
	} else {
		p = decode_record(cur, plan, cur->data + cur->pos / 8, end, safe_end, e);
		if (p)
			cur->pos = (uint64_t)(p - cur->data) * 8;
	}
	if (!p || cur->pos == begin) {
		ctf_cursor_give_up(c, cur, begin, p ? CTF_EMPTY_EVENT : CTF_CUT_EVENT);
		return false;
	}
	e->record = ctf_place(cur->file, cur->file_bit + begin);
	cur->last_tid = e->tid;
	if (plan->check_vcpu)
		check_vcpu(c, cur, e);
	return true;
}

static unsigned decode_walking(struct cursor *c, struct ctf_cursor *cur, struct event *events,
			       unsigned room)
{
	unsigned n = 0;

	while (n < room && c->records_left && walk_event(c, cur, &events[n])) {
		c->records_left--;
		n += c->wants[events[n].kind] && events[n].time.v >= c->from;
		if (cur->pos >= cur->end) {
			cur->phase = AT_PACKET_END;
			break;
		}
	}
	return n;
}

unsigned ctf_decode_events(struct cursor *c, struct ctf_cursor *cur, struct event *events,
			   unsigned room)
{
	switch (cur->plan->header) {
	case CTF_HEADER_COMPACT:
		return decode_lttng(c, cur, events, room, true);
	case CTF_HEADER_LARGE:
		return decode_lttng(c, cur, events, room, false);
	default:
		return decode_walking(c, cur, events, room);
	}
}
