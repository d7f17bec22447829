/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memrchr, strchrnul */
#include "source/dat/printk.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/dat/bytes.h"

#define WIDTH_MAX 80

/* ---- the formats --------------------------------------------------------------------------------
 */

static char escaped(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

/* What is between the first quote and the last, without the line's own end. */
static const char *unquote(struct arena *arena, const char *line, size_t len)
{
	const char *open = memchr(line, '"', len), *close = memrchr(line, '"', len);
	char *text = arena_alloc(arena, (size_t)(close - open) + 1);
	size_t nr = 0;

	for (const char *p = open + 1; text && p < close; p++) {
		bool escape = *p == '\\' && p + 1 < close;

		p += escape;
		text[nr++] = escape ? escaped(*p) : *p;
	}
	if (text) {
		nr -= nr && text[nr - 1] == '\n';
		text[nr] = '\0';
	}
	return text;
}

static int add_line(struct dat_printk *p, struct arena *arena, const char *line, size_t len)
{
	uint64_t address = 0;
	size_t at = 2;

	if (len < 4 || line[0] != '0' || line[1] != 'x' || !memchr(line, '"', len))
		return 0;
	for (; at < len && isxdigit((unsigned char)line[at]); at++)
		address = address << 4 |
			  (uint64_t)(isdigit((unsigned char)line[at]) ? line[at] - '0'
								      : (line[at] | 32) - 'a' + 10);
	p->texts[p->nr] = unquote(arena, line, len);
	if (!p->texts[p->nr])
		return -ENOMEM;
	p->nr++;
	return map_put(&p->by_address, address, p->nr);
}

int dat_printk_read(struct dat_printk *p, struct arena *arena, const char *lines, size_t len_bytes)
{
	const char *end = lines + len_bytes;
	size_t nr = 1;
	int ret = 0;

	for (const char *c = lines; c < end; c++)
		nr += *c == '\n';
	p->texts = arena_alloc(arena, nr * sizeof(*p->texts));
	if (!p->texts)
		return -ENOMEM;
	while (lines < end && !ret) {
		const char *stop = memchr(lines, '\n', (size_t)(end - lines));
		size_t len = (size_t)((stop ? stop : end) - lines);
		const char *begin = memmem(lines, len, "0x", 2); /* behind the block's length */

		if (begin)
			ret = add_line(p, arena, begin, len - (size_t)(begin - lines));
		lines += len + 1;
	}
	return ret;
}

void dat_printk_release(struct dat_printk *p)
{
	map_release(&p->by_address);
}

const char *dat_printk_find(const struct dat_printk *p, uint64_t address)
{
	const uint32_t *nr = map_get(&p->by_address, address);

	return nr ? p->texts[*nr - 1] : NULL;
}

/* ---- the arguments ------------------------------------------------------------------------------
 */

struct reader {
	const struct dat_printk_args *args;
	uint32_t at;
	bool bad;
};

static uint64_t take_number(struct reader *r, unsigned size)
{
	unsigned align = size > 4 ? 4 : size;
	uint64_t v;

	r->at = (r->at + align - 1) / align * align;
	if (r->bad || r->at > r->args->len_bytes || size > r->args->len_bytes - r->at) {
		r->bad = true;
		return 0;
	}
	v = load_uint(r->args->data + r->at, size, r->args->swap);
	r->at += size;
	return v;
}

static const char *take_string(struct reader *r)
{
	const char *text = (const char *)r->args->data + r->at;
	size_t room = r->args->len_bytes - r->at;

	if (r->bad || !memchr(text, '\0', room)) {
		r->bad = true;
		return "";
	}
	r->at += (uint32_t)strlen(text) + 1;
	return text;
}

/* One conversion: "%-5.3ld" */
struct conversion {
	char flags[8];
	int width, precision; /* -1: none */
	unsigned size;	      /* of a number */
	char type;
};

static const char *parse_flags(struct conversion *c, const char *f)
{
	size_t nr = 0;

	for (; *f && strchr("-+ #0", *f); f++) {
		if (nr < sizeof(c->flags) - 1)
			c->flags[nr++] = *f;
	}
	return f;
}

static const char *parse_count(struct reader *r, const char *f, int *out)
{
	int64_t v = 0;

	if (*f == '*') {
		v = (int32_t)take_number(r, 4);
		f++;
	}
	for (; isdigit((unsigned char)*f); f++)
		v = v > WIDTH_MAX ? v : v * 10 + (*f - '0');
	*out = v < 0 ? 0 : v > WIDTH_MAX ? WIDTH_MAX : (int)v;
	return f;
}

static const char *parse_size(struct conversion *c, const char *f, unsigned long_size)
{
	static const struct {
		const char *text;
		unsigned size; /* 0: a long's */
	} sizes[] = {{"hh", 1}, {"h", 2}, {"ll", 8}, {"l", 0}, {"L", 8},
		     {"q", 8},	{"z", 0}, {"Z", 0},  {"t", 0}};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (!strncmp(f, sizes[i].text, strlen(sizes[i].text))) {
			c->size = sizes[i].size ? sizes[i].size : long_size;
			return f + strlen(sizes[i].text);
		}
	}
	return f;
}

/* Behind the '%'; returns what is behind it all. */
static const char *parse(struct conversion *c, struct reader *r, const char *f)
{
	*c = (struct conversion){.width = -1, .precision = -1, .size = 4};
	f = parse_flags(c, f);
	if (*f == '*' || isdigit((unsigned char)*f))
		f = parse_count(r, f, &c->width);
	if (*f == '.')
		f = parse_count(r, f + 1, &c->precision);
	f = parse_size(c, f, r->args->long_size);
	c->type = *f;
	return *f ? f + 1 : f;
}

/* The C library's own conversion of the same kind, made of checked parts. */
static void put_number(struct text *t, const struct conversion *c, uint64_t v)
{
	char format[48], buf[2 * WIDTH_MAX + 32];
	int at = snprintf(format, sizeof(format), "%%%s", c->flags);

	if (c->width >= 0)
		at += snprintf(format + at, sizeof(format) - (size_t)at, "%d", c->width);
	if (c->precision >= 0)
		at += snprintf(format + at, sizeof(format) - (size_t)at, ".%d", c->precision);
	snprintf(format + at, sizeof(format) - (size_t)at, "ll%c", c->type);
	if (c->type == 'd' || c->type == 'i')
		v = (uint64_t)((int64_t)(v << (64 - 8 * c->size)) >> (64 - 8 * c->size));
	snprintf(buf, sizeof(buf), format, v);
	text_str(t, buf);
}

static void put_string(struct text *t, const struct conversion *c, const char *s)
{
	size_t len = c->precision >= 0 ? strnlen(s, (size_t)c->precision) : strlen(s);
	size_t pad = c->width > 0 && (size_t)c->width > len ? (size_t)c->width - len : 0;
	bool left = strchr(c->flags, '-') != NULL;

	for (size_t i = 0; i < pad && !left; i++)
		text_char(t, ' ');
	text_put(t, s, len);
	for (size_t i = 0; i < pad && left; i++)
		text_char(t, ' ');
}

/* Pointers to something else than a name were followed when the event happened. */
static const char *put_pointer(struct text *t, struct reader *r, const struct conversion *c,
			       const char *f)
{
	char number[24];

	if (isalnum((unsigned char)*f) && !strchr("SsxKe", *f)) {
		put_string(t, c, take_string(r));
	} else {
		snprintf(number, sizeof(number), "0x%llx",
			 (unsigned long long)take_number(r, r->args->long_size));
		put_string(t, c, r->bad ? "" : number);
	}
	while (isalnum((unsigned char)*f))
		f++;
	return f;
}

static const char *put_conversion(struct text *t, struct reader *r, const char *f)
{
	char one[2] = "";
	struct conversion c;

	f = parse(&c, r, f);
	switch (c.type) {
	case 'c':
		one[0] = (char)take_number(r, 1);
		put_string(t, &c, one);
		break;
	case 's':
		put_string(t, &c, take_string(r));
		break;
	case 'p':
		f = put_pointer(t, r, &c, f);
		break;
	case '%':
		text_char(t, '%');
		break;
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		put_number(t, &c, take_number(r, c.size));
		break;
	default:
		r->bad = true;
		break;
	}
	return f;
}

void dat_printk_put(struct text *t, const char *format, const struct dat_printk_args *args)
{
	struct reader r = {.args = args};

	while (*format) {
		const char *stop = strchrnul(format, '%');
		size_t before;

		text_put(t, format, (size_t)(stop - format));
		if (!*stop)
			return;
		before = t->len;
		format = put_conversion(t, &r, stop + 1);
		if (r.bad) {
			t->len = before;
			text_str(t, stop);
			return;
		}
	}
}
