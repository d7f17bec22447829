/* SPDX-License-Identifier: Apache-2.0 */
#include "source/symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "ffffffff81000000 T _stext": no number is longer. */
#define DIGITS_MAX 16u

/* The number at the begin of a line; how many digits it has, 0 none. */
static size_t read_address(const char *line, size_t len, uint64_t *out)
{
	size_t n = 0;

	*out = 0;
	while (n < len && n < DIGITS_MAX && isxdigit((unsigned char)line[n])) {
		unsigned char c = (unsigned char)line[n++];

		*out = *out << 4 | (uint64_t)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return n;
}

static size_t line_length(const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len);

	return end ? (size_t)(end - text) : len;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static uint32_t count_lines(const char *text, size_t len)
{
	uint32_t nr = 1;

	for (size_t i = 0; i < len; i++)
		nr += text[i] == '\n';
	return nr;
}

int symbols_open(struct symbols *s, struct trace *t)
{
	size_t len = 0;

	*s = (struct symbols){.text = t->ops->symbols ? t->ops->symbols(t, &len) : NULL};
	if (!s->text || len >= UINT32_MAX)
		return 0;
	s->len_bytes = len;
	s->list = calloc(count_lines(s->text, len), sizeof(*s->list));
	if (!s->list)
		return -ENOMEM;
	for (size_t at = 0; at < len;) {
		size_t line = line_length(s->text + at, len - at);
		uint64_t address;

		/* " T name" follows. */
		if (read_address(s->text + at, line, &address) + 4 <= line && address)
			s->list[s->nr++] = (struct symbol){address, (uint32_t)at};
		at += line + 1;
	}
	qsort(s->list, s->nr, sizeof(*s->list), by_address);
	return 0;
}

void symbols_release(struct symbols *s)
{
	free(s->list);
	*s = (struct symbols){0};
}

const char *symbols_find(const struct symbols *s, uint64_t address, size_t *len_bytes)
{
	uint32_t low = 0, high = s->nr;
	size_t at, end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->list[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->nr || s->list[low].address != address)
		return NULL;
	at = s->list[low].at;
	at += read_address(s->text + at, s->len_bytes - at, &address);
	at += 3; /* symbols_open() has seen that the line goes on */
	for (end = at; end < s->len_bytes && !strchr("\n\t ", s->text[end]);)
		end++;
	*len_bytes = end - at;
	return s->text + at;
}
