/* SPDX-License-Identifier: Apache-2.0 */
/* A canvas that is a Perfetto trace: a sequence of TracePacket messages,
 * perfetto.dev/docs/reference/ trace-packet-proto and .../synthetic-track-event.
 * tests/cmd/perfetto.proto has the fields used here under their names, and the tests decode what is
 * written with them. */
#include "base/strings.h"
#include "export/canvas.h"
#include "export/proto.h"
#include "sonde/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_PACKET = 1 };
enum packet_field {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK = 60,
	PACKET_FIRST = 87,
};
enum snapshot_field { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2 };
enum clock_field { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum clock_id { CLOCK_REALTIME_ID = 1, CLOCK_BOOTTIME_ID = 6 };
enum track_field {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PARENT = 5,
	TRACK_COUNTER_DESCRIPTOR = 8,
	TRACK_CHILD_ORDER = 11,
	TRACK_RANK = 12,
};
enum { COUNTER_UNIT_NAME = 6, CHILDREN_BY_RANK = 3 };
enum event_field {
	EVENT_CATEGORY_IID = 3,
	EVENT_NOTE = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_VALUE = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
};
enum event_type { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };
enum note_field { NOTE_INT = 4, NOTE_TEXT = 6, NOTE_NAME = 10 };
enum interned_kind { INTERNED_CATEGORY = 1, INTERNED_NAME = 2 };
enum interned_field { INTERNED_IID = 1, INTERNED_TEXT = 2 };
enum sequence_flag { STATE_CLEARED = 1, NEEDS_STATE = 2 };

#define SEQUENCE 1
#define INTERNED_MAX 65536 /* of one kind; what comes later is written out each time */

/* What the reader of the sequence knows by a number. */
struct interned {
	struct strings strings;
	uint32_t known; /* ids below this are */
};

struct perfetto {
	struct canvas canvas;
	struct bytes packet;
	struct interned names, categories;
};

static struct perfetto *perfetto_of(struct canvas *c)
{
	return (struct perfetto *)c;
}

/* ---- packets ------------------------------------------------------------------------------- */

static size_t begin_packet(struct perfetto *p)
{
	bytes_clear(&p->packet);
	return proto_begin(&p->packet, TRACE_PACKET);
}

static void end_packet(struct perfetto *p, size_t begin, unsigned flags)
{
	proto_uint(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	if (flags)
		proto_uint(&p->packet, PACKET_SEQUENCE_FLAGS, flags);
	proto_end(&p->packet, begin);
	if (!p->packet.failed)
		fwrite(p->packet.data, 1, p->packet.len_bytes, p->canvas.out);
}

/* What was found for @text: the number by which the reader knows it from this packet on, 0 when it
 * has to be written out, and whether the packet must tell the reader so. */
struct known {
	uint32_t id;
	bool is_new;
};

static struct known intern(struct interned *of, const char *text)
{
	uint32_t id;

	if (of->known >= INTERNED_MAX)
		return (struct known){0};
	id = strings_put(&of->strings, text, strlen(text));
	if (id == UINT32_MAX || !id)
		return (struct known){0};
	if (id < of->known)
		return (struct known){id, false};
	of->known = id + 1;
	return (struct known){id, true};
}

static void put_interned(struct perfetto *p, enum interned_kind kind, uint32_t id, const char *text)
{
	size_t entry = proto_begin(&p->packet, (unsigned)kind);

	proto_uint(&p->packet, INTERNED_IID, id);
	proto_text(&p->packet, INTERNED_TEXT, text);
	proto_end(&p->packet, entry);
}

/* Both in one message: of two in a packet, readers take the last alone. */
static void put_new(struct perfetto *p, const struct sign *s, struct known category,
		    struct known name)
{
	size_t data;

	if (!category.is_new && !name.is_new)
		return;
	data = proto_begin(&p->packet, PACKET_INTERNED);
	if (category.is_new)
		put_interned(p, INTERNED_CATEGORY, category.id, s->category);
	if (name.is_new)
		put_interned(p, INTERNED_NAME, name.id, s->name);
	proto_end(&p->packet, data);
}

/* ---- tracks -------------------------------------------------------------------------------- */

static void put_track(struct canvas *c, const struct track *t)
{
	struct perfetto *p = perfetto_of(c);
	size_t packet = begin_packet(p);
	size_t track = proto_begin(&p->packet, PACKET_TRACK);

	proto_uint(&p->packet, TRACK_UUID, t->id);
	proto_text(&p->packet, TRACK_NAME, t->name);
	if (t->parent)
		proto_uint(&p->packet, TRACK_PARENT, t->parent);
	if (t->type == TRACK_COUNTER) {
		size_t counter = proto_begin(&p->packet, TRACK_COUNTER_DESCRIPTOR);

		if (t->unit)
			proto_text(&p->packet, COUNTER_UNIT_NAME, t->unit);
		proto_end(&p->packet, counter);
	} else {
		proto_uint(&p->packet, TRACK_CHILD_ORDER, CHILDREN_BY_RANK);
	}
	proto_uint(&p->packet, TRACK_RANK, t->rank);
	proto_end(&p->packet, track);
	end_packet(p, packet, 0);
}

/* ---- events -------------------------------------------------------------------------------- */

static void put_notes(struct perfetto *p, const struct sign *s)
{
	for (unsigned i = 0; i < s->nr_notes; i++) {
		const struct note *n = &s->notes[i];
		size_t note = proto_begin(&p->packet, EVENT_NOTE);

		proto_text(&p->packet, NOTE_NAME, n->key);
		if (n->text)
			proto_text(&p->packet, NOTE_TEXT, n->text);
		else
			proto_int(&p->packet, NOTE_INT, n->number);
		proto_end(&p->packet, note);
	}
}

static void put_event(struct canvas *c, enum event_type type, uint64_t track, ns_t t,
		      const struct sign *s)
{
	struct perfetto *p = perfetto_of(c);
	size_t packet = begin_packet(p);
	struct known category = intern(&p->categories, s->category);
	struct known name = intern(&p->names, s->name);
	size_t event;

	put_new(p, s, category, name);
	proto_uint(&p->packet, PACKET_TIMESTAMP, (uint64_t)(t - c->origin));
	event = proto_begin(&p->packet, PACKET_TRACK_EVENT);
	proto_uint(&p->packet, EVENT_TYPE, type);
	proto_uint(&p->packet, EVENT_TRACK, track);
	if (category.id)
		proto_uint(&p->packet, EVENT_CATEGORY_IID, category.id);
	else
		proto_text(&p->packet, EVENT_CATEGORY, s->category);
	if (name.id)
		proto_uint(&p->packet, EVENT_NAME_IID, name.id);
	else
		proto_text(&p->packet, EVENT_NAME, s->name);
	put_notes(p, s);
	if (s->flow)
		proto_fixed64(&p->packet, s->flow_ends ? EVENT_FLOW_END : EVENT_FLOW, s->flow);
	proto_end(&p->packet, event);
	end_packet(p, packet, NEEDS_STATE);
}

static void put_begin(struct canvas *c, uint64_t track, ns_t t, const struct sign *s)
{
	put_event(c, SLICE_BEGIN, track, t, s);
}

static void put_moment(struct canvas *c, uint64_t track, ns_t t, const struct sign *s)
{
	put_event(c, INSTANT, track, t, s);
}

/* What needs no text: an end, or a counter's @value. */
static void put_short(struct canvas *c, enum event_type type, uint64_t track, ns_t t, double value)
{
	struct perfetto *p = perfetto_of(c);
	size_t packet = begin_packet(p);
	size_t event;

	proto_uint(&p->packet, PACKET_TIMESTAMP, (uint64_t)(t - c->origin));
	event = proto_begin(&p->packet, PACKET_TRACK_EVENT);
	proto_uint(&p->packet, EVENT_TYPE, type);
	proto_uint(&p->packet, EVENT_TRACK, track);
	if (type == COUNTER)
		proto_double(&p->packet, EVENT_VALUE, value);
	proto_end(&p->packet, event);
	end_packet(p, packet, 0);
}

static void put_end(struct canvas *c, uint64_t track, ns_t t)
{
	put_short(c, SLICE_END, track, t, 0);
}

static void put_value(struct canvas *c, uint64_t track, ns_t t, double value)
{
	put_short(c, COUNTER, track, t, value);
}

static int close_perfetto(struct canvas *c)
{
	struct perfetto *p = perfetto_of(c);
	int ret = p->packet.failed ? -ENOMEM : ferror(c->out) ? -EIO : 0;

	bytes_release(&p->packet);
	strings_release(&p->names.strings);
	strings_release(&p->categories.strings);
	free(p);
	return ret;
}

static const struct canvas_ops perfetto_ops = {
	.track = put_track,
	.begin = put_begin,
	.end = put_end,
	.moment = put_moment,
	.value = put_value,
	.close = close_perfetto,
};

/* ---- the first packet ---------------------------------------------------------------------- */

static void put_clock(struct perfetto *p, enum clock_id id, int64_t t)
{
	size_t clock = proto_begin(&p->packet, SNAPSHOT_CLOCK);

	proto_uint(&p->packet, CLOCK_ID, id);
	proto_uint(&p->packet, CLOCK_TIMESTAMP, (uint64_t)t);
	proto_end(&p->packet, clock);
}

/* Times are told as the boot clock's, which is what readers take them for anyway; when the traces
 * tell what the wall clock said, so does this. */
static void put_first(struct perfetto *p, const struct sonde_history *history)
{
	int64_t begin = sonde_history_begin(history), wall;
	size_t packet = begin_packet(p);
	size_t snapshot = proto_begin(&p->packet, PACKET_CLOCK_SNAPSHOT);

	put_clock(p, CLOCK_BOOTTIME_ID, begin - p->canvas.origin);
	if (sonde_history_wall_offset(history, &wall) && begin + wall > 0)
		put_clock(p, CLOCK_REALTIME_ID, begin + wall);
	proto_uint(&p->packet, SNAPSHOT_PRIMARY, CLOCK_BOOTTIME_ID);
	proto_end(&p->packet, snapshot);
	proto_uint(&p->packet, PACKET_FIRST, 1);
	end_packet(p, packet, STATE_CLEARED);
}

struct canvas *perfetto_open(FILE *out, const struct sonde_history *history)
{
	struct perfetto *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->canvas = (struct canvas){.ops = &perfetto_ops, .out = out};
	if (sonde_history_begin(history) < 0)
		p->canvas.origin = sonde_history_begin(history);
	p->names.known = p->categories.known = 1; /* 0 is the empty string */
	put_first(p, history);
	return &p->canvas;
}
