/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/tsdl_lex.h"

#include <ctype.h>
#include <string.h>

static bool starts_with(const struct tsdl_lexer *lx, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(lx->end - lx->at) >= len && !memcmp(lx->at, text, len);
}

static void skip_block_comment(struct tsdl_lexer *lx)
{
	lx->at += 2;
	while (lx->at < lx->end && !starts_with(lx, "*/")) {
		lx->line += *lx->at == '\n';
		lx->at++;
	}
	lx->at = lx->at < lx->end ? lx->at + 2 : lx->end;
}

static void skip_blanks(struct tsdl_lexer *lx)
{
	while (lx->at < lx->end) {
		if (isspace((unsigned char)*lx->at) || *lx->at == '\0') {
			lx->line += *lx->at == '\n';
			lx->at++;
		} else if (starts_with(lx, "/*")) {
			skip_block_comment(lx);
		} else if (starts_with(lx, "//")) {
			while (lx->at < lx->end && *lx->at != '\n')
				lx->at++;
		} else {
			break;
		}
	}
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static int digit_value(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	if (isxdigit((unsigned char)c))
		return tolower((unsigned char)c) - 'a' + 10;
	return 99;
}

static struct tsdl_token integer(struct tsdl_lexer *lx, struct tsdl_token t)
{
	int base = 10;

	t.kind = TSDL_INT;
	if (*lx->at == '0' && lx->at + 1 < lx->end) {
		char second = (char)tolower((unsigned char)lx->at[1]);

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
	if (lx->at < lx->end && is_word_char(*lx->at))
		t.kind = TSDL_BAD;
	t.len = (size_t)(lx->at - t.text);
	return t;
}

static struct tsdl_token string(struct tsdl_lexer *lx, struct tsdl_token t)
{
	t.text = ++lx->at;
	while (lx->at < lx->end && *lx->at != '"') {
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
	static const struct {
		const char *text;
		int punct;
	} longer[] = {{":=", TSDL_ASSIGN_TYPE}, {"...", TSDL_ELLIPSIS}, {"->", TSDL_ARROW}};

	t.kind = TSDL_PUNCT;
	for (size_t i = 0; i < ARRAY_SIZE(longer); i++) {
		if (starts_with(lx, longer[i].text)) {
			t.punct = longer[i].punct;
			t.len = strlen(longer[i].text);
			lx->at += t.len;
			return t;
		}
	}
	t.punct = (unsigned char)*lx->at++;
	t.len = 1;
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
	if (isdigit((unsigned char)*lx->at))
		return integer(lx, t);
	if (*lx->at == '"')
		return string(lx, t);
	if (!is_word_char(*lx->at))
		return punctuation(lx, t);
	t.kind = TSDL_WORD;
	while (lx->at < lx->end && is_word_char(*lx->at))
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
