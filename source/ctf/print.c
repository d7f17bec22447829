/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any field of any event, by name or all as text: the slow path, with the interpreter.
 */
#include "source/ctf/reader.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* The packet that holds this byte of this file; nr_packets when there is none. */
static uint32_t find_packet(const struct stream *s, uint32_t file, uint64_t byte)
{
	const struct ctf_stream *cs = s->reader;
	uint32_t low = cs->files[file].first_packet;
	uint32_t high = file + 1 < cs->nr_files ? cs->files[file + 1].first_packet : s->nr_packets;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->packets[mid].offset_bytes + s->packets[mid].len_bytes <= byte)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->nr_packets && cs->packets[low].file == file &&
			       s->packets[low].offset_bytes <= byte ?
		       low :
		       s->nr_packets;
}

static int walk_at(struct located *l, uint64_t *pos, const struct ctf_fc *fc,
		   struct ctf_roles *roles, const struct ctf_visitor *visitor, void *data)
{
	struct ctf_walk w = {.data = l->data, .pos = *pos, .end = l->end, .regs = l->regs,
			     .roles = roles, .visitor = visitor, .visitor_data = data};
	int ret;

	w.fuel = ctf_walk_fuel(w.end - w.pos);
	ret = ctf_walk_record(&w, fc, NULL);
	*pos = w.pos;
	return ret;
}

static int locate(struct located *l, const struct stream *s, const struct event *e)
{
	const struct ctf_stream *cs = s->reader;
	uint32_t file = ctf_place_file(e->record), packet;
	uint64_t bit = ctf_place_bit(e->record), pos;
	struct ctf_roles roles = {.seen = 0};
	struct ctf_packet_info info;
	const struct ctf_plan *plan;
	const struct ctf_file *cf;

	if (!e->record || file >= cs->nr_files)
		return -ENOENT;
	packet = find_packet(s, file, bit / 8);
	if (packet == s->nr_packets)
		return -ENOENT;
	cf = &cs->files[file];
	memset(l->regs, 0, sizeof(l->regs));
	l->cs = cs;
	l->data = cf->map.data + s->packets[packet].offset_bytes;
	l->end = cs->packets[packet].content_bits;
	if (cs->plan->bytewise)
		l->end = ctf_align_up(l->end, 8);
	if (ctf_packet_read(cs->trace, l->data,
			    cf->map.len_bytes - s->packets[packet].offset_bytes, l->regs, &info,
			    NULL))
		return -ENOENT;
	pos = bit - s->packets[packet].offset_bytes * 8;
	if (walk_at(l, &pos, cs->plan->cls->event_header, &roles, NULL, NULL))
		return -ENOENT;
	plan = ctf_plan_find(cs->plan, roles.value[CTF_ROLE_EVENT_ID]);
	if (!plan || plan->cls->broken)
		return -ENOENT;
	l->cls = plan->cls;
	l->common = pos;
	if (walk_at(l, &pos, cs->plan->cls->event_context, NULL, NULL, NULL))
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
		return fc->is_blob ? FIELD_BLOB : ctf_is_text_array(fc) ? FIELD_STRING :
									FIELD_ARRAY;
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
	char *buf;
	size_t room, len; /* len: what all of it would take */
	bool separate;    /* a blank or comma is due before the next field */
	unsigned depth;
	unsigned hidden;  /* levels whose braces are not shown */
};

static void put(struct printer *p, const char *text, size_t len)
{
	if (p->len < p->room) {
		size_t left = p->room - p->len;

		memcpy(p->buf + p->len, text, len < left ? len : left);
	}
	p->len += len;
}

static __attribute__((format(printf, 2, 3))) void putf(struct printer *p, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put(p, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

static void put_char(struct printer *p, uint32_t c)
{
	if (c == '"' || c == '\\')
		putf(p, "\\%c", (int)c);
	else if (c == '\n')
		put(p, "\\n", 2);
	else if (c < 0x20 || c == 0x7f)
		putf(p, "\\x%02x", c);
	else if (c < 0x80)
		putf(p, "%c", (int)c);
	else if (c < 0x800)
		putf(p, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
	else if (c < 0x10000)
		putf(p, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
	else
		putf(p, "%c%c%c%c", 0xf0 | (c >> 18 & 7), 0x80 | (c >> 12 & 0x3f),
		     0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
}

/* Bytes of UTF-8 go through unchanged: what is no valid text stays visible as it was. */
static void put_bytes(struct printer *p, const uint8_t *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] < 0x80)
			put_char(p, text[i]);
		else
			put(p, (const char *)&text[i], 1);
	}
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
	put(p, "\"", 1);
	if (v->fc->text > CTF_TEXT_UTF8)
		put_wide(p, v->text, v->len, v->fc->text);
	else
		put_bytes(p, v->text, v->len);
	put(p, "\"", 1);
}

static bool is_word(const char *label)
{
	for (const char *c = label; *c; c++) {
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	}
	return *label != '\0';
}

static void put_flags(struct printer *p, const struct ctf_value *v)
{
	bool first = true;

	put(p, "(", 1);
	for (unsigned i = 0; i < v->fc->nr_labels; i++) {
		const struct ctf_range *r = &v->fc->labels[i];

		if (r->low > 63 || !(v->u >> r->low & (UINT64_MAX >> (63 - (r->high - r->low)))))
			continue;
		putf(p, "%s%s", first ? "" : "|", r->label);
		first = false;
	}
	put(p, ")", 1);
}

static void put_integer(struct printer *p, const struct ctf_value *v)
{
	const char *label = v->fc->nr_labels ? ctf_label(v->fc, v->u) : NULL;

	if (v->fc->is_bool) {
		putf(p, "%s", v->u ? "true" : "false");
		return;
	}
	if (label)
		putf(p, is_word(label) ? "%s(" : "\"%s\"(", label);
	putf(p, v->fc->is_signed ? "%" PRId64 : "%" PRIu64, v->u);
	if (label)
		put(p, ")", 1);
	if (v->fc->is_bit_map)
		put_flags(p, v);
}

static void put_name(struct printer *p, const struct ctf_value *v)
{
	if (p->separate)
		put(p, v->name ? " " : ", ", v->name ? 1 : 2);
	if (v->name)
		putf(p, "%s=", v->name);
	p->separate = true;
}

static bool print_open(void *data, const struct ctf_value *v)
{
	struct printer *p = data;

	if (p->depth++ < p->hidden)
		return true;
	put_name(p, v);
	put(p, v->fc->kind == CTF_ARRAY ? "[" : "{", 1);
	p->separate = false;
	return true;
}

static void print_close(void *data, const struct ctf_value *v)
{
	struct printer *p = data;

	if (--p->depth < p->hidden)
		return;
	put(p, v->fc->kind == CTF_ARRAY ? "]" : "}", 1);
	p->separate = true;
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
		putf(p, "%.17g", v->f);
		break;
	case CTF_ARRAY:
		if (v->fc->is_blob) {
			for (size_t i = 0; i < v->len; i++)
				putf(p, i ? " %02x" : "<%02x", v->text[i]);
			putf(p, v->len ? ">" : "<>");
			break;
		}
		/* fall through */
	case CTF_STRING:
		put_text(p, v);
		break;
	default: /* an optional that is absent */
		put(p, "none", 4);
	}
	return true;
}

size_t ctf_event_print(const struct stream *s, const struct event *e, char *buf, size_t room)
{
	static const struct ctf_visitor visitor = {print_open, print_close, print_leaf};
	struct printer p = {.buf = buf, .room = room ? room - 1 : 0, .hidden = 1};
	struct located l;

	if (!locate(&l, s, e)) {
		const struct ctf_fc *common = l.cs->plan->cls->event_context;

		walk_at(&l, &l.payload, l.cls->payload, NULL, &visitor, &p);
		if (common && common->nr_members) {
			putf(&p, p.separate ? " context={" : "context={");
			p.separate = false;
			walk_at(&l, &l.common, common, NULL, &visitor, &p);
			put(&p, "}", 1);
		}
		if (l.cls->context && l.cls->context->nr_members) {
			putf(&p, p.separate ? " event_context={" : "event_context={");
			p.separate = false;
			walk_at(&l, &l.specific, l.cls->context, NULL, &visitor, &p);
			put(&p, "}", 1);
		}
	}
	if (room)
		buf[p.len < room - 1 ? p.len : room - 1] = '\0';
	return p.len;
}
