/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow way to a record: any field by its name, and all of them as text.
 */
#include "source/dat/page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ELEMS_MAX 8192 /* a record has 64 KiB at most; longer arrays are shown cut */

/* A field's bytes in a record. */
struct place {
	const uint8_t *data;
	uint32_t len_bytes;
};

struct record {
	const struct dat *d;
	const struct dat_layout *layout;
	const uint8_t *data;
	uint32_t len_bytes;
};

static bool record_open(struct record *r, const struct stream *s, const struct event *e)
{
	const struct dat_stream *ds = s->reader;

	if (e->kind == EV_LOST || !e->record)
		return false;
	r->d = ds->dat;
	r->layout = s->trace->types[e->type].reader;
	r->data = dat_record_data(e->record, r->d->file.swap, &r->len_bytes);
	return true;
}

/* False when the record is too short for the field. */
static bool field_place(const struct record *r, const struct dat_field *f, struct place *out)
{
	uint32_t from = f->offset;
	uint32_t size = f->size;

	if (from > r->len_bytes || size > r->len_bytes - from)
		return false;
	if (f->where == DAT_REST) {
		size = r->len_bytes - from;
	} else if (f->where != DAT_FIXED) {
		uint32_t loc = load32(r->data + from, r->d->file.swap);

		from = (loc & 0xffff) + (f->where == DAT_REL_LOC ? from + 4 : 0);
		size = loc >> 16;
		if (from > r->len_bytes || size > r->len_bytes - from)
			return false;
	}
	*out = (struct place){r->data + from, size};
	return true;
}

static int64_t number_at(const struct record *r, const struct dat_field *f, const uint8_t *p,
			 unsigned size)
{
	uint64_t v = load_uint(p, size, r->d->file.swap);
	unsigned unused = 64 - 8 * size;

	return f->is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

static void array_value(const struct record *r, const struct dat_field *f, struct place p,
			struct field_value *out)
{
	static _Thread_local int64_t elems[ELEMS_MAX];
	size_t nr = p.len_bytes / f->elem_size;

	if (nr > ELEMS_MAX)
		nr = ELEMS_MAX;
	for (size_t i = 0; i < nr; i++)
		elems[i] = number_at(r, f, p.data + i * f->elem_size, f->elem_size);
	out->elems = elems;
	out->len = nr;
}

static int field_value(const struct record *r, const struct dat_field *f, struct field_value *out)
{
	struct place p;

	if (!field_place(r, f, &p))
		return -ENODATA;
	*out = (struct field_value){.cls = f->cls};
	switch (f->cls) {
	case FIELD_INT:
	case FIELD_UINT:
		out->i = number_at(r, f, p.data, f->size);
		break;
	case FIELD_STRING:
		out->text = (const char *)p.data;
		out->len = strnlen(out->text, p.len_bytes);
		break;
	case FIELD_ARRAY:
		array_value(r, f, p, out);
		break;
	default:
		out->text = (const char *)p.data;
		out->len = p.len_bytes;
		break;
	}
	return 0;
}

int dat_event_field(const struct stream *s, const struct event *e, const char *name,
		    struct field_value *out)
{
	const struct dat_field *f;
	struct record r;

	if (!record_open(&r, s, e))
		return -ENOENT;
	f = dat_field_find(r.layout, name);
	return f ? field_value(&r, f, out) : -ENOENT;
}

/* Text that is counted on beyond the room there is, as snprintf does. */
struct writer {
	char *buf;
	size_t room;
	size_t len;
};

static void put(struct writer *w, const char *text, size_t len)
{
	if (w->len < w->room) {
		size_t n = w->room - w->len < len ? w->room - w->len : len;

		memcpy(w->buf + w->len, text, n);
	}
	w->len += len;
}

static __attribute__((format(printf, 2, 3))) void put_format(struct writer *w, const char *fmt, ...)
{
	char text[64];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put(w, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* In double quotes; what would break the line or the quotes, as C writes it. */
static void put_string(struct writer *w, const char *text, size_t len)
{
	put(w, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			put_format(w, "\\%c", c);
		else if (c < ' ' || c == 127)
			put_format(w, "\\x%02x", c);
		else
			put(w, (const char *)&text[i], 1);
	}
	put(w, "\"", 1);
}

static void put_array(struct writer *w, const struct field_value *v, bool is_signed)
{
	put(w, "[", 1);
	for (size_t i = 0; i < v->len; i++) {
		if (i)
			put(w, ", ", 2);
		put_format(w, is_signed ? "%lld" : "%llu", (long long)v->elems[i]);
	}
	put(w, "]", 1);
}

static void put_bytes(struct writer *w, const struct field_value *v)
{
	put(w, "[", 1);
	for (size_t i = 0; i < v->len; i++)
		put_format(w, "%s%u", i ? ", " : "", (unsigned char)v->text[i]);
	put(w, "]", 1);
}

static void put_value(struct writer *w, const struct dat_field *f, const struct field_value *v)
{
	switch (v->cls) {
	case FIELD_INT:
		put_format(w, "%lld", (long long)v->i);
		break;
	case FIELD_UINT:
		put_format(w, "%llu", (unsigned long long)v->u);
		break;
	case FIELD_STRING:
		put_string(w, v->text, v->len);
		break;
	case FIELD_ARRAY:
		put_array(w, v, f->is_signed);
		break;
	default:
		put_bytes(w, v);
		break;
	}
}

static void put_fields(struct writer *w, const struct record *r)
{
	for (unsigned i = r->layout->nr_common; i < r->layout->nr_fields; i++) {
		const struct dat_field *f = &r->layout->fields[i];
		struct field_value v;

		if (i > r->layout->nr_common)
			put(w, " ", 1);
		put(w, f->name, strlen(f->name));
		put(w, "=", 1);
		if (field_value(r, f, &v))
			put(w, "?", 1);
		else
			put_value(w, f, &v);
	}
}

size_t dat_event_print(const struct stream *s, const struct event *e, char *buf, size_t room)
{
	struct writer w = {.buf = buf, .room = room ? room - 1 : 0};
	struct record r;

	if (record_open(&r, s, e))
		put_fields(&w, &r);
	else if (e->kind == EV_LOST)
		put_format(&w, "lost=%lld", (long long)e->arg[0]);
	if (room)
		buf[w.len < w.room ? w.len : w.room] = '\0';
	return w.len;
}
