/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow way to a record: any field by its name, and all of them as text.
 */
#include "base/text.h"
#include "source/dat/page.h"

#include <errno.h>
#include <string.h>

#define ELEMS_MAX 8192 /* a record has 64 KiB at most; longer arrays are shown cut */

/* A field's bytes in a record. */
struct place {
	const uint8_t *data;
	uint32_t len_bytes;
};

/* False when the record is too short for the field. */
static bool field_place(const struct dat_record *r, const struct dat_field *f, struct place *out)
{
	uint32_t from = f->offset;
	uint32_t size = f->size;

	if (from > r->len_bytes || size > r->len_bytes - from)
		return false;
	if (f->where == DAT_REST) {
		size = r->len_bytes - from;
	} else if (f->where != DAT_FIXED) {
		uint32_t loc = load32(r->data + from, r->swap);

		from = (loc & 0xffff) + (f->where == DAT_REL_LOC ? from + 4 : 0);
		size = loc >> 16;
		if (from > r->len_bytes || size > r->len_bytes - from)
			return false;
	}
	*out = (struct place){r->data + from, size};
	return true;
}

static int64_t number_at(const struct dat_record *r, const struct dat_field *f, const uint8_t *p,
			 unsigned size)
{
	uint64_t v = load_uint(p, size, r->swap);
	unsigned unused = 64 - 8 * size;

	return f->is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

static void array_value(const struct dat_record *r, const struct dat_field *f, struct place p,
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

static int field_value(const struct dat_record *r, const struct dat_field *f,
		       struct field_value *out)
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

int dat_record_field(const struct dat_record *r, const char *name, struct field_value *out)
{
	const struct dat_field *f = dat_field_find(r->layout, name);

	return f ? field_value(r, f, out) : -ENOENT;
}

static void put_array(struct text *t, const struct field_value *v, bool is_signed)
{
	text_char(t, '[');
	for (size_t i = 0; i < v->len; i++) {
		if (i)
			text_put(t, ", ", 2);
		if (is_signed)
			text_i64(t, v->elems[i]);
		else
			text_u64(t, (uint64_t)v->elems[i]);
	}
	text_char(t, ']');
}

static void put_bytes(struct text *t, const struct field_value *v)
{
	text_char(t, '[');
	for (size_t i = 0; i < v->len; i++) {
		if (i)
			text_put(t, ", ", 2);
		text_u64(t, (unsigned char)v->text[i]);
	}
	text_char(t, ']');
}

static void put_value(struct text *t, const struct dat_field *f, const struct field_value *v)
{
	switch (v->cls) {
	case FIELD_INT:
		text_i64(t, v->i);
		break;
	case FIELD_UINT:
		text_u64(t, v->u);
		break;
	case FIELD_STRING:
		text_char(t, '"');
		text_quotable(t, (const uint8_t *)v->text, v->len, false);
		text_char(t, '"');
		break;
	case FIELD_ARRAY:
		put_array(t, v, f->is_signed);
		break;
	default:
		put_bytes(t, v);
		break;
	}
}

void dat_record_print(const struct dat_record *r, struct text *t)
{
	for (unsigned i = r->layout->nr_common; i < r->layout->nr_fields; i++) {
		const struct dat_field *f = &r->layout->fields[i];
		struct field_value v;

		if (i > r->layout->nr_common)
			text_char(t, ' ');
		text_str(t, f->name);
		text_char(t, '=');
		if (field_value(r, f, &v))
			text_char(t, '?');
		else
			put_value(t, f, &v);
	}
}

static bool record_open(struct dat_record *r, const struct stream *s, const struct event *e)
{
	const struct dat_stream *ds = s->reader;

	if (e->kind == EV_LOST || !e->record)
		return false;
	r->swap = ds->dat->file.swap;
	r->layout = s->trace->types[e->type].reader;
	r->data = dat_record_data(e->record, r->swap, &r->len_bytes);
	return true;
}

/* The text of trace_printk(), which is in no field.  False when there is none, or its format is not
 * in the file. */
static bool printk_text(const struct dat *d, const struct dat_record *r, struct text *t)
{
	const struct dat_field *at = dat_field_find(r->layout, "fmt");
	const struct dat_field *buf = at ? dat_field_find(r->layout, "buf") : NULL;
	struct field_value address;
	const char *format;
	struct place args;

	at = at ? at : dat_field_find(r->layout, "str");
	if (!at || field_value(r, at, &address) || address.cls != FIELD_UINT)
		return false;
	format = dat_printk_find(&d->printk, address.u);
	if (!format || (buf && !field_place(r, buf, &args)))
		return false;
	if (buf)
		dat_printk_put(t, format,
			       &(struct dat_printk_args){args.data, args.len_bytes,
							 d->file.long_size, r->swap});
	else
		text_str(t, format);
	return true;
}

#define PRINTK_MAX 1024

static bool printk_value(const struct stream *s, const struct dat_record *r,
			 struct field_value *out)
{
	static _Thread_local char buf[PRINTK_MAX];
	struct text t = text_in(buf, sizeof(buf));

	if (!printk_text(((const struct dat_stream *)s->reader)->dat, r, &t))
		return false;
	text_end(&t, sizeof(buf));
	*out = (struct field_value){.cls = FIELD_STRING, .text = buf, .len = strlen(buf)};
	return true;
}

static bool is_printk(const struct trace *t, const struct event *e)
{
	const char *name = t->types[e->type].name;

	return e->kind == EV_STATE_LINE && (!strcmp(name, "bprint") || !strcmp(name, "bputs"));
}

int dat_event_field(const struct stream *s, const struct event *e, const char *name,
		    struct field_value *out)
{
	struct dat_record r;
	int ret;

	if (!record_open(&r, s, e))
		return -ENOENT;
	ret = dat_record_field(&r, name, out);
	if (ret == -ENOENT && !strcmp(name, "text") && is_printk(s->trace, e) &&
	    printk_value(s, &r, out))
		return 0;
	return ret;
}

size_t dat_event_print(const struct stream *s, const struct event *e, char *buf, size_t room)
{
	struct text text = text_in(buf, room);
	struct field_value v;
	struct dat_record r;

	if (record_open(&r, s, e)) {
		dat_record_print(&r, &text);
		if (is_printk(s->trace, e) && printk_value(s, &r, &v)) {
			text_str(&text, " text=\"");
			text_quotable(&text, (const uint8_t *)v.text, v.len, false);
			text_char(&text, '"');
		}
	} else if (e->kind == EV_LOST) {
		text_str(&text, "lost=");
		text_i64(&text, e->arg[0]);
	}
	return text_end(&text, room);
}
