/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "source/dat/format.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define FIELDS_MAX 256
#define ID_MAX 65535 /* common_type has 16 bits */

/* A piece of the text; not NUL-terminated. */
struct span {
	const char *p;
	size_t len;
};

static bool span_starts(struct span s, const char *with)
{
	size_t len = strlen(with);

	return s.len >= len && !memcmp(s.p, with, len);
}

static bool span_has(struct span s, const char *what)
{
	return memmem(s.p, s.len, what, strlen(what)) != NULL;
}

static struct span span_trim(struct span s)
{
	while (s.len && isspace((unsigned char)*s.p)) {
		s.p++;
		s.len--;
	}
	while (s.len && isspace((unsigned char)s.p[s.len - 1]))
		s.len--;
	return s;
}

/* Cuts the part up to @stop off @s and returns it. */
static struct span span_cut(struct span *s, char stop)
{
	const char *end = s->len ? memchr(s->p, stop, s->len) : NULL;
	struct span part = {s->p, end ? (size_t)(end - s->p) : s->len};
	size_t gone = part.len + (end != NULL);

	s->p += gone;
	s->len -= gone;
	return part;
}

/* Digits only; -1 when there are none, or too many. */
static int64_t span_number(struct span s)
{
	int64_t v = 0;

	s = span_trim(s);
	if (!s.len || s.len > 10)
		return -1;
	for (size_t i = 0; i < s.len; i++) {
		if (!isdigit((unsigned char)s.p[i]))
			return -1;
		v = v * 10 + (s.p[i] - '0');
	}
	return v;
}

/* The value of "key:N" in what is left of the line; -1 when it is not there. */
static int64_t attribute(struct span line, const char *key)
{
	while (line.len) {
		struct span part = span_trim(span_cut(&line, ';'));

		if (span_starts(part, key)) {
			part.p += strlen(key);
			part.len -= strlen(key);
			return span_number(part);
		}
	}
	return -1;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "unsigned int", "char *", "struct x": how many bytes one is; 0 when only a compiler knows. */
static unsigned type_size(struct span type, unsigned long_size)
{
	static const struct {
		const char *word;
		unsigned size;
	} sizes[] = {
		{"char", 1},	{"u8", 1},	 {"s8", 1},	  {"uint8_t", 1},   {"int8_t", 1},
		{"bool", 1},	{"short", 2},	 {"u16", 2},	  {"s16", 2},	    {"uint16_t", 2},
		{"int16_t", 2}, {"be16", 2},	 {"le16", 2},	  {"long long", 8}, {"u64", 8},
		{"s64", 8},	{"uint64_t", 8}, {"int64_t", 8},  {"be64", 8},	    {"le64", 8},
		{"u32", 4},	{"s32", 4},	 {"uint32_t", 4}, {"int32_t", 4},   {"be32", 4},
		{"le32", 4},	{"pid_t", 4},
	};

	if (span_has(type, "*"))
		return long_size;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (span_has(type, sizes[i].word))
			return sizes[i].size;
	}
	if (span_has(type, "long"))
		return long_size;
	return span_has(type, "int") || span_has(type, "unsigned") ? 4 : 0;
}

/* What a declaration says: "unsigned char addr[6]", "__data_loc char[] name". */
struct declaration {
	struct span type;
	struct span name;
	bool array;
	int64_t count; /* -1: the brackets are empty, or hold a name */
	enum dat_where where;
};

static bool parse_declaration(struct span s, struct declaration *d)
{
	const char *open;

	*d = (struct declaration){.count = -1};
	s = span_trim(s);
	if (span_starts(s, "__data_loc ") || span_starts(s, "__rel_loc ")) {
		d->where = span_starts(s, "__rel_loc ") ? DAT_REL_LOC : DAT_DATA_LOC;
		span_cut(&s, ' ');
	}
	open = s.len ? memchr(s.p, '[', s.len) : NULL;
	if (open) {
		struct span inside = {open + 1, s.len - (size_t)(open - s.p) - 1};
		struct span after;

		d->array = true;
		after = inside;
		d->count = span_number(span_cut(&after, ']'));
		after = span_trim(after);
		s.len = (size_t)(open - s.p);
		if (after.len) { /* the brackets stand before the name */
			d->type = span_trim(s);
			d->name = after;
			return is_word(after.p[0]);
		}
	}
	s = span_trim(s);
	d->name = (struct span){s.p + s.len, 0};
	while (d->name.p > s.p && is_word(d->name.p[-1])) {
		d->name.p--;
		d->name.len++;
	}
	d->type = span_trim((struct span){s.p, (size_t)(d->name.p - s.p)});
	return d->name.len > 0;
}

/* Text, or a number of bytes: char is the one, u8 and unsigned char are the other. */
static bool is_text(struct span type)
{
	return span_has(type, "char") && !span_has(type, "unsigned") && !span_has(type, "uchar");
}

static void classify(struct dat_field *f, const struct declaration *d, unsigned long_size)
{
	unsigned elem;

	if (d->array && is_text(d->type)) {
		f->cls = FIELD_STRING;
		f->elem_size = 1;
		return;
	}
	if (d->array || f->where != DAT_FIXED) {
		f->cls = FIELD_ARRAY;
		elem = type_size(d->type, long_size);
		if (d->count > 0 && f->where == DAT_FIXED && f->size % d->count == 0)
			elem = (unsigned)(f->size / d->count);
		if (elem != 1 && elem != 2 && elem != 4 && elem != 8)
			elem = 1;
		f->elem_size = (uint16_t)elem;
		return;
	}
	f->elem_size = f->size;
	if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		f->cls = FIELD_BLOB;
	else
		f->cls = f->is_signed ? FIELD_INT : FIELD_UINT;
}

int dat_field_parse(struct arena *arena, const char *line, size_t len_bytes, unsigned long_size,
		    struct dat_field *out)
{
	struct span s = span_trim((struct span){line, len_bytes});
	struct declaration d;
	int64_t offset, size;

	if (!span_starts(s, "field:") && !span_starts(s, "field special:"))
		return -EINVAL;
	span_cut(&s, ':');
	if (!parse_declaration(span_cut(&s, ';'), &d))
		return -EINVAL;
	offset = attribute(s, "offset:");
	size = attribute(s, "size:");
	if (offset < 0 || size < 0 || offset > UINT16_MAX || size > UINT16_MAX)
		return -EINVAL;
	if (d.where != DAT_FIXED && size != 4)
		return -EINVAL;
	/* Before Linux 5.5 the text of "print" was "char buf", not "char buf[]". */
	d.array |= !size;
	*out = (struct dat_field){
		.name = arena_strndup(arena, d.name.p, d.name.len),
		.offset = (uint16_t)offset,
		.size = (uint16_t)size,
		.is_signed = attribute(s, "signed:") > 0,
		.where = size || d.where != DAT_FIXED ? d.where : DAT_REST,
	};
	classify(out, &d, long_size);
	return out->name ? 0 : -ENOMEM;
}

static int keep_fields(struct arena *arena, const struct dat_field *fields, unsigned nr,
		       struct dat_format *out)
{
	struct dat_layout *l = arena_alloc(arena, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->fields = arena_alloc(arena, nr * sizeof(*fields));
	if (!l->fields)
		return -ENOMEM;
	memcpy(l->fields, fields, nr * sizeof(*fields));
	l->nr_fields = nr;
	while (l->nr_common < nr && !strncmp(fields[l->nr_common].name, "common_", 7))
		l->nr_common++;
	out->layout = l;
	return 0;
}

int dat_format_parse(struct arena *arena, const char *text, size_t len_bytes, unsigned long_size,
		     struct dat_format *out)
{
	struct dat_field fields[FIELDS_MAX];
	struct span all = {text, len_bytes};
	struct span name = {NULL, 0};
	int64_t id = -1;
	unsigned nr = 0;
	int ret;

	while (all.len) {
		struct span line = span_trim(span_cut(&all, '\n'));

		if (span_starts(line, "name:") && !name.len) {
			span_cut(&line, ':');
			name = span_trim(line);
		} else if (span_starts(line, "ID:") && id < 0) {
			span_cut(&line, ':');
			id = span_number(line);
		} else if (span_starts(line, "print fmt:")) {
			break;
		} else if (nr < FIELDS_MAX) {
			ret = dat_field_parse(arena, line.p, line.len, long_size, &fields[nr]);
			if (ret == -ENOMEM)
				return ret;
			nr += !ret;
		}
	}
	if (!name.len || id < 0 || id > ID_MAX)
		return -EINVAL;
	out->name = arena_strndup(arena, name.p, name.len);
	out->id = (uint32_t)id;
	if (!out->name)
		return -ENOMEM;
	return keep_fields(arena, fields, nr, out);
}

const struct dat_field *dat_field_find(const struct dat_layout *l, const char *name)
{
	for (unsigned i = 0; i < l->nr_fields; i++) {
		if (!strcmp(l->fields[i].name, name))
			return &l->fields[i];
	}
	return NULL;
}
