/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/tsdl_lex.h"

#include <string.h>

/* What a character can be part of. */
enum { BLANK = 1, WORD = 2, DIGIT = 4 };

static const uint8_t classes[256] = {
	['\0'] = BLANK,	      ['\t'] = BLANK,
	['\n'] = BLANK,	      ['\v'] = BLANK,
	['\f'] = BLANK,	      ['\r'] = BLANK,
	[' '] = BLANK,	      ['$'] = WORD,
	['_'] = WORD,	      ['0' ... '9'] = WORD | DIGIT,
	['A' ... 'Z'] = WORD, ['a' ... 'z'] = WORD,
};

static bool is(char c, unsigned class)
{
	return classes[(unsigned char)c] & class;
}

static bool two(const struct tsdl_lexer *lx, char first, char second)
{
	return lx->end - lx->at >= 2 && lx->at[0] == first && lx->at[1] == second;
}

static void skip_block_comment(struct tsdl_lexer *lx)
{
	lx->at += 2;
	while (lx->at < lx->end && !two(lx, '*', '/')) {
		lx->line += *lx->at == '\n';
		lx->at++;
	}
	lx->at = lx->at < lx->end ? lx->at + 2 : lx->end;
}

static void skip_blanks(struct tsdl_lexer *lx)
{
	while (lx->at < lx->end) {
		if (is(*lx->at, BLANK)) {
			lx->line += *lx->at == '\n';
			lx->at++;
		} else if (two(lx, '/', '*')) {
			skip_block_comment(lx);
		} else if (two(lx, '/', '/')) {
			while (lx->at < lx->end && *lx->at != '\n')
				lx->at++;
		} else {
			break;
		}
	}
}

static int digit_value(char c)
{
	if (is(c, DIGIT))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static struct tsdl_token integer(struct tsdl_lexer *lx, struct tsdl_token t)
{
	int base = 10;

	t.kind = TSDL_INT;
	if (*lx->at == '0' && lx->at + 1 < lx->end) {
		char second = lx->at[1] | 0x20;

		base = second == 'x' ? 16 : second == 'b' ? 2 : 8;
		lx->at += base == 8 ? 1 : 2;
	}
	for (; lx->at < lx->end && digit_value(*lx->at) < base; lx->at++) {
		uint64_t digit = (uint64_t)digit_value(*lx->at);

		if (t.value > (UINT64_MAX - digit) / (uint64_t)base)
			t.kind = TSDL_BAD;
		t.value = t.value * (uint64_t)base + digit;
	}
	while (lx->at < lx->end && strchr("uUlL", *lx->at) && *lx->at)
		lx->at++;
	if (lx->at < lx->end && is(*lx->at, WORD))
		t.kind = TSDL_BAD;
	t.len = (size_t)(lx->at - t.text);
	return t;
}

/* "text" or 'text': a character constant is text of one character, or of more. */
static struct tsdl_token string(struct tsdl_lexer *lx, struct tsdl_token t)
{
	char quote = *lx->at;

	t.quote = quote;
	t.text = ++lx->at;
	while (lx->at < lx->end && *lx->at != quote) {
		lx->line += *lx->at == '\n';
		lx->at += *lx->at == '\\' && lx->at + 1 < lx->end ? 2 : 1;
	}
	t.len = (size_t)(lx->at - t.text);
	t.kind = lx->at < lx->end ? TSDL_STRING : TSDL_BAD;
	if (lx->at < lx->end)
		lx->at++;
	return t;
}

static struct tsdl_token punctuation(struct tsdl_lexer *lx, struct tsdl_token t)
{
	t.kind = TSDL_PUNCT;
	t.punct = (unsigned char)*lx->at;
	t.len = 1;
	if (two(lx, ':', '=')) {
		t.punct = TSDL_ASSIGN_TYPE;
		t.len = 2;
	} else if (two(lx, '-', '>')) {
		t.punct = TSDL_ARROW;
		t.len = 2;
	} else if (two(lx, '.', '.') && lx->end - lx->at >= 3 && lx->at[2] == '.') {
		t.punct = TSDL_ELLIPSIS;
		t.len = 3;
	}
	lx->at += t.len;
	return t;
}

struct tsdl_token tsdl_next(struct tsdl_lexer *lx)
{
	struct tsdl_token t = {.kind = TSDL_END};

	skip_blanks(lx);
	t.text = lx->at;
	t.line = lx->line;
	if (lx->at >= lx->end)
		return t;
	if (is(*lx->at, DIGIT))
		return integer(lx, t);
	if (*lx->at == '"' || *lx->at == '\'')
		return string(lx, t);
	if (!is(*lx->at, WORD))
		return punctuation(lx, t);
	t.kind = TSDL_WORD;
	while (lx->at < lx->end && is(*lx->at, WORD))
		lx->at++;
	t.len = (size_t)(lx->at - t.text);
	return t;
}

static char simple_escape(char c)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	const char *hit = memchr(from, c, sizeof(from) - 1);

	return hit ? to[hit - from] : c;
}

size_t tsdl_unescape(char *out, const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned value = 0, digits = 0;

		if (text[i] != '\\' || i + 1 == len) {
			out[n++] = text[i];
			continue;
		}
		i++;
		if (text[i] == 'x') {
			while (digits < 2 && i + 1 < len && digit_value(text[i + 1]) < 16) {
				value = value * 16 + (unsigned)digit_value(text[++i]);
				digits++;
			}
			out[n++] = (char)value;
		} else if (digit_value(text[i]) < 8) {
			for (; digits < 3 && i < len && digit_value(text[i]) < 8; i++, digits++)
				value = value * 8 + (unsigned)digit_value(text[i]);
			i--;
			out[n++] = (char)value;
		} else {
			out[n++] = simple_escape(text[i]);
		}
	}
	return n;
}
