/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#define DIGITS_MAX 20

static const char pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536"
	"37383940414243444546474849505152535455565758596061626364656667686970717273"
	"7475767778798081828384858687888990919293949596979899";
static const char hex[] = "0123456789abcdef";

void text_put_cut(struct text *t, const char *text, size_t len)
{
	if (t->len < t->room) {
		size_t left = t->room - t->len;

		memcpy(t->buf + t->len, text, len < left ? len : left);
	}
	t->len += len;
}

/* Writes the digits so that they end before @end; returns where they begin. */
static char *digits(char *end, uint64_t value)
{
	while (value >= 100) {
		end -= 2;
		memcpy(end, &pairs[2 * (value % 100)], 2);
		value /= 100;
	}
	if (value < 10) {
		*--end = (char)('0' + value);
	} else {
		end -= 2;
		memcpy(end, &pairs[2 * value], 2);
	}
	return end;
}

/* A number being made, from its end to its begin. */
#define NUMBER_MAX 24

struct number {
	char text[2 *
		  NUMBER_MAX]; /* digits end in the middle: what is behind may be copied along */
	char *begin;
};

static inline char *number_end(struct number *n)
{
	return n->text + NUMBER_MAX;
}

static inline void put_number(struct text *t, const struct number *n)
{
	size_t len = (size_t)(n->text + NUMBER_MAX - n->begin);

	if (likely(t->len + NUMBER_MAX <= t->room)) {
		memcpy(t->buf + t->len, n->begin, NUMBER_MAX); /* of constant size: no call */
		t->len += len;
	} else {
		text_put(t, n->begin, len);
	}
}

static inline void put_padded(struct text *t, uint64_t value, bool minus, char pad, unsigned width)
{
	struct number n;

	n.begin = digits(number_end(&n), value);
	if (minus)
		*--n.begin = '-';
	while (number_end(&n) - n.begin < (ptrdiff_t)(width < DIGITS_MAX ? width : DIGITS_MAX))
		*--n.begin = pad;
	put_number(t, &n);
}

void text_u64(struct text *t, uint64_t value)
{
	put_padded(t, value, false, ' ', 0);
}

void text_u64_zeros(struct text *t, uint64_t value, unsigned width)
{
	put_padded(t, value, false, '0', width);
}

void text_i64(struct text *t, int64_t value)
{
	put_padded(t, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, ' ', 0);
}

void text_i64_right(struct text *t, int64_t value, unsigned width)
{
	put_padded(t, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, ' ', width);
}

void text_hex_byte(struct text *t, uint8_t value)
{
	const char text[2] = {hex[value >> 4], hex[value & 15]};

	text_put(t, text, sizeof(text));
}

static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static void escape(struct text *t, uint8_t c, bool newline)
{
	text_char(t, '\\');
	if (c == '"' || c == '\\') {
		text_char(t, (char)c);
	} else if (c == '\n' && newline) {
		text_char(t, 'n');
	} else {
		text_char(t, 'x');
		text_hex_byte(t, c);
	}
}

void text_quotable(struct text *t, const uint8_t *text, size_t len, bool newline)
{
	size_t from = 0;

	for (size_t i = 0; i < len; i++) {
		if (likely(is_plain(text[i])))
			continue;
		text_put(t, (const char *)text + from, i - from);
		escape(t, text[i], newline);
		from = i + 1;
	}
	text_put(t, (const char *)text + from, len - from);
}
