/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any field of any event, by name or all as text: the slow path, with the interpreter.
 */
#include "source/ctf/reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "source/ctf/bits.h"

/* Where the parts of one event are. */
struct located {
	const struct ctf_stream *cs;
	const struct ctf_event_class *cls;
	const uint8_t *data;
	uint64_t end;
	uint64_t common, specific, payload; /* bit positions */
	uint64_t regs[CTF_REGS];
};

/* The packet at a place in the order of files and offsets. */
static uint32_t packet_at(const struct ctf_stream *cs, uint32_t place)
{
	return cs->by_place ? cs->by_place[place] : place;
}

/* The packet that holds this byte of this file; nr_packets when there is none. */
static uint32_t find_packet(const struct stream *s, uint32_t file, uint64_t byte)
{
	const struct ctf_stream *cs = s->reader;
	uint32_t low = cs->files[file].first_packet;
	uint32_t end = low + cs->files[file].nr_packets, high = end;
	const struct packet *p;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		p = &s->packets[packet_at(cs, mid)];
		if (p->offset_bytes + p->len_bytes <= byte)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == end)
		return s->nr_packets;
	p = &s->packets[packet_at(cs, low)];
	return p->offset_bytes <= byte ? packet_at(cs, low) : s->nr_packets;
}

static int walk_at(struct located *l, uint64_t *pos, const struct ctf_fc *fc,
		   struct ctf_roles *roles, const struct ctf_visitor *visitor, void *data)
{
	struct ctf_walk w = {.data = l->data,
			     .pos = *pos,
			     .end = l->end,
			     .regs = l->regs,
			     .roles = roles,
			     .visitor = visitor,
			     .visitor_data = data};
	int ret;

	w.fuel = ctf_walk_fuel(w.end - w.pos);
	ret = ctf_walk_record(&w, fc, NULL);
	*pos = w.pos;
	return ret;
}

/* Reads header and context of the event's packet, and its own header at *pos. */
static const struct ctf_plan *read_headers(struct located *l, const struct ctf_file *cf,
					   uint64_t *pos)
{
	struct ctf_roles roles = {.seen = 0};
	struct ctf_packet_info info;
	uint64_t room = cf->map.len_bytes - (uint64_t)(l->data - cf->map.data);

	memset(l->regs, 0, sizeof(l->regs));
	if (ctf_packet_read(l->cs->trace, l->data, room, l->regs, &info, NULL) ||
	    walk_at(l, pos, l->cs->plan->cls->event_header, &roles, NULL, NULL))
		return NULL;
	return ctf_plan_find(l->cs->plan, roles.value[CTF_ROLE_EVENT_ID]);
}

/* The same where the event's own header is all it takes: what a cursor has read is known to fit. */
static const struct ctf_plan *read_own_header(struct located *l, const struct event *e,
					      uint64_t *pos)
{
	const struct ctf_stream_plan *sp = l->cs->plan;
	const uint8_t *p = l->data + *pos / 8;
	unsigned first = sp->nr_plans ? sp->plans[0].type : 0;
	const struct ctf_plan *plan;
	bool is_long;

	if (e->type < first || e->type - first >= sp->nr_plans || *pos / 8 + 2 > l->end / 8)
		return NULL;
	plan = &sp->plans[e->type - first];
	if (sp->header == CTF_HEADER_COMPACT) {
		is_long = (p[0] & 31) == 31;
		*pos += is_long ? 13 * 8 : 4 * 8;
	} else {
		is_long = p[0] == 0xff && p[1] == 0xff;
		*pos += is_long ? 14 * 8 : 6 * 8;
	}
	return plan;
}

static int locate(struct located *l, const struct stream *s, const struct event *e)
{
	const struct ctf_stream *cs = s->reader;
	uint32_t file = ctf_place_file(e->record), packet;
	uint64_t bit = ctf_place_bit(e->record), pos;
	const struct ctf_plan *plan;
	const struct ctf_file *cf;

	if (!e->record || file >= cs->nr_files)
		return -ENOENT;
	packet = find_packet(s, file, bit / 8);
	if (packet == s->nr_packets)
		return -ENOENT;
	cf = &cs->files[file];
	l->cs = cs;
	l->data = cf->map.data + s->packets[packet].offset_bytes;
	l->end = cs->packets[packet].content_bits;
	if (cs->plan->bytewise)
		l->end = ctf_align_up(l->end, 8);
	pos = bit - s->packets[packet].offset_bytes * 8;
	plan = cs->plan->self_contained ? read_own_header(l, e, &pos) : read_headers(l, cf, &pos);
	if (!plan || plan->cls->broken)
		return -ENOENT;
	ctf_forget_regs(l->regs, plan->cls->nr_regs);
	l->cls = plan->cls;
	l->common = pos;
	if (cs->plan->context_is_packed && pos % 8 == 0)
		pos += cs->plan->context_bits;
	else if (walk_at(l, &pos, cs->plan->cls->event_context, NULL, NULL, NULL))
		return -ENOENT;
	l->specific = pos;
	if (walk_at(l, &pos, l->cls->context, NULL, NULL, NULL))
		return -ENOENT;
	l->payload = pos;
	return 0;
}

enum field_class ctf_field_class(const struct ctf_fc *fc)
{
	switch ((enum ctf_kind)fc->kind) {
	case CTF_INT:
	case CTF_VARINT:
		return fc->is_enum ? FIELD_ENUM : fc->is_signed ? FIELD_INT : FIELD_UINT;
	case CTF_FLOAT:
		return FIELD_FLOAT;
	case CTF_STRING:
		return FIELD_STRING;
	case CTF_ARRAY:
		return fc->is_blob	       ? FIELD_BLOB
		       : ctf_is_text_array(fc) ? FIELD_STRING
					       : FIELD_ARRAY;
	case CTF_STRUCT:
		return FIELD_STRUCT;
	default:
		return FIELD_VARIANT;
	}
}

/* One field by name */

#define MAX_ELEMS 1024

static _Thread_local int64_t elems[MAX_ELEMS];

struct search {
	const char *name;
	struct field_value *out;
	unsigned depth;
	bool found;
	size_t nr_elems;
};

static void take(struct search *s, const struct ctf_value *v)
{
	s->found = true;
	s->out->cls = ctf_field_class(v->fc);
	s->out->u = v->u;
	s->out->text = (const char *)v->text;
	s->out->len = v->len;
	if (s->out->cls == FIELD_FLOAT)
		s->out->f = v->f;
	if (s->out->cls == FIELD_ENUM) {
		s->out->text = ctf_label(v->fc, v->u);
		s->out->len = s->out->text ? strlen(s->out->text) : 0;
	}
}

static bool search_open(void *data, const struct ctf_value *v)
{
	struct search *s = data;

	if (s->depth++ == 1 && v->name && !strcmp(v->name, s->name)) {
		take(s, v);
		if (s->out->cls == FIELD_ARRAY)
			s->out->elems = elems;
	}
	return true;
}

static void search_close(void *data, const struct ctf_value *v)
{
	struct search *s = data;

	(void)v;
	s->depth--;
}

static bool search_leaf(void *data, const struct ctf_value *v)
{
	struct search *s = data;

	if (s->depth == 1 && v->name && !strcmp(v->name, s->name)) {
		take(s, v);
		return false;
	}
	if (s->depth == 2 && s->found && s->out->cls == FIELD_ARRAY && s->nr_elems < MAX_ELEMS)
		elems[s->nr_elems++] = (int64_t)v->u;
	return s->depth > 1 || !s->found;
}

int ctf_event_field(const struct stream *s, const struct event *e, const char *name,
		    struct field_value *out)
{
	static const struct ctf_visitor visitor = {search_open, search_close, search_leaf};
	struct search search = {.name = name, .out = out};
	struct located l;
	int ret = locate(&l, s, e);

	if (ret)
		return ret;
	memset(out, 0, sizeof(*out));
	walk_at(&l, &l.payload, l.cls->payload, NULL, &visitor, &search);
	search.depth = 0;
	if (!search.found)
		walk_at(&l, &l.specific, l.cls->context, NULL, &visitor, &search);
	search.depth = 0;
	if (!search.found)
		walk_at(&l, &l.common, l.cs->plan->cls->event_context, NULL, &visitor, &search);
	if (search.found && out->cls == FIELD_ARRAY && out->len > search.nr_elems)
		out->len = search.nr_elems;
	return search.found ? 0 : -ENOENT;
}

/* All as text */

struct printer {
	struct text text;
	bool separate; /* a blank or comma is due before the next field */
	unsigned depth;
	unsigned hidden; /* levels whose braces are not shown */
};

static void put_char(struct printer *p, uint32_t c)
{
	uint8_t bytes[4];
	unsigned len = 0;

	if (c < 0x80) {
		bytes[len++] = (uint8_t)c;
	} else if (c < 0x800) {
		bytes[len++] = (uint8_t)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		bytes[len++] = (uint8_t)(0xe0 | c >> 12);
		bytes[len++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	} else {
		bytes[len++] = (uint8_t)(0xf0 | (c >> 18 & 7));
		bytes[len++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		bytes[len++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		bytes[len++] = (uint8_t)(0x80 | (c & 0x3f));
	text_quotable(&p->text, bytes, len, true);
}

static uint32_t code_unit(const uint8_t *p, unsigned width, bool big)
{
	uint32_t c = 0;

	for (unsigned i = 0; i < width; i++)
		c |= (uint32_t)p[i] << 8 * (big ? width - 1 - i : i);
	return c;
}

static void put_wide(struct printer *p, const uint8_t *text, size_t len, enum ctf_text enc)
{
	unsigned width = enc == CTF_TEXT_UTF16LE || enc == CTF_TEXT_UTF16BE ? 2 : 4;
	bool big = enc == CTF_TEXT_UTF16BE || enc == CTF_TEXT_UTF32BE;

	for (size_t i = 0; i + width <= len; i += width) {
		uint32_t c = code_unit(text + i, width, big);

		if (width == 2 && c >= 0xd800 && c < 0xdc00 && i + 4 <= len) {
			uint32_t low = code_unit(text + i + 2, 2, big);

			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				i += 2;
			}
		}
		put_char(p, c);
	}
}

static void put_text(struct printer *p, const struct ctf_value *v)
{
	text_char(&p->text, '"');
	if (v->fc->text > CTF_TEXT_UTF8)
		put_wide(p, v->text, v->len, v->fc->text);
	else /* what is no valid text stays visible as it was */
		text_quotable(&p->text, v->text, v->len, true);
	text_char(&p->text, '"');
}

static bool is_word(const char *label)
{
	for (const char *c = label; *c; c++) {
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	}
	return *label != '\0';
}

/* Metadata may have bits that no integer has, or the last before the first. */
static bool has_flag(const struct ctf_range *r, uint64_t value)
{
	uint64_t high = r->high < 63 ? r->high : 63;

	return r->low <= high && (value >> r->low & UINT64_MAX >> (63 - (high - r->low)));
}

static void put_flags(struct printer *p, const struct ctf_value *v)
{
	bool first = true;

	text_char(&p->text, '(');
	for (unsigned i = 0; i < v->fc->nr_labels; i++) {
		const struct ctf_range *r = &v->fc->labels[i];

		if (!has_flag(r, v->u))
			continue;
		if (!first)
			text_char(&p->text, '|');
		text_str(&p->text, r->label);
		first = false;
	}
	text_char(&p->text, ')');
}

static void put_integer(struct printer *p, const struct ctf_value *v)
{
	const char *label = v->fc->nr_labels ? ctf_label(v->fc, v->u) : NULL;
	bool quoted = label && !is_word(label);

	if (v->fc->is_bool) {
		text_str(&p->text, v->u ? "true" : "false");
		return;
	}
	if (label) {
		text_str(&p->text, quoted ? "\"" : "");
		text_str(&p->text, label);
		text_str(&p->text, quoted ? "\"(" : "(");
	}
	if (v->fc->is_signed)
		text_i64(&p->text, (int64_t)v->u);
	else
		text_u64(&p->text, v->u);
	if (label)
		text_char(&p->text, ')');
	if (v->fc->is_bit_map)
		put_flags(p, v);
}

static void put_name(struct printer *p, const struct ctf_value *v)
{
	if (p->separate && !v->name)
		text_char(&p->text, ',');
	if (p->separate)
		text_char(&p->text, ' ');
	if (v->name) {
		text_str(&p->text, v->name);
		text_char(&p->text, '=');
	}
	p->separate = true;
}

static bool print_open(void *data, const struct ctf_value *v)
{
	struct printer *p = data;

	if (p->depth++ < p->hidden)
		return true;
	put_name(p, v);
	text_char(&p->text, v->fc->kind == CTF_ARRAY ? '[' : '{');
	p->separate = false;
	return true;
}

static void print_close(void *data, const struct ctf_value *v)
{
	struct printer *p = data;

	if (--p->depth < p->hidden)
		return;
	text_char(&p->text, v->fc->kind == CTF_ARRAY ? ']' : '}');
	p->separate = true;
}

/* 17 digits tell one double from the next. */
static void put_float(struct printer *p, double value)
{
	char text[40];
	int len = snprintf(text, sizeof(text), "%.17g", value);

	text_put(&p->text, text, (size_t)len);
}

static void put_blob(struct printer *p, const struct ctf_value *v)
{
	text_char(&p->text, '<');
	for (size_t i = 0; i < v->len; i++) {
		if (i)
			text_char(&p->text, ' ');
		text_hex_byte(&p->text, v->text[i]);
	}
	text_char(&p->text, '>');
}

static bool print_leaf(void *data, const struct ctf_value *v)
{
	struct printer *p = data;

	put_name(p, v);
	switch ((enum ctf_kind)v->fc->kind) {
	case CTF_INT:
	case CTF_VARINT:
		put_integer(p, v);
		break;
	case CTF_FLOAT:
		put_float(p, v->f);
		break;
	case CTF_ARRAY:
		if (v->fc->is_blob) {
			put_blob(p, v);
			break;
		}
		/* fall through */
	case CTF_STRING:
		put_text(p, v);
		break;
	default: /* an optional that is absent */
		text_str(&p->text, "none");
	}
	return true;
}

static const struct ctf_visitor printing = {print_open, print_close, print_leaf};

static void print_context(struct printer *p, struct located *l, const char *name, uint64_t pos,
			  const struct ctf_fc *context)
{
	if (!context || !context->nr_members)
		return;
	if (p->separate)
		text_char(&p->text, ' ');
	text_str(&p->text, name);
	text_str(&p->text, "={");
	p->separate = false;
	walk_at(l, &pos, context, NULL, &printing, p);
	text_char(&p->text, '}');
}

size_t ctf_event_print(const struct stream *s, const struct event *e, char *buf, size_t room)
{
	struct printer p = {.text = text_in(buf, room), .hidden = 1};
	struct located l;

	if (!locate(&l, s, e)) {
		walk_at(&l, &l.payload, l.cls->payload, NULL, &printing, &p);
		print_context(&p, &l, "context", l.common, l.cs->plan->cls->event_context);
		print_context(&p, &l, "event_context", l.specific, l.cls->context);
	}
	return text_end(&p.text, room);
}
