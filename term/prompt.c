/* SPDX-License-Identifier: Apache-2.0 */
#include "term/prompt.h"

#include <string.h>

#define CONTROL(letter) ((letter)&0x1f)

void prompt_begin(struct prompt *p, const char *title, const char *text)
{
	size_t len = strlen(text);

	*p = (struct prompt){.title = title};
	if (len < sizeof(p->text)) {
		memcpy(p->text, text, len);
		p->len = len;
	}
}

static void append(struct prompt *p, uint32_t c)
{
	char utf8[4];
	size_t len = 0;

	if (c < 0x80) {
		utf8[len++] = (char)c;
	} else if (c < 0x800) {
		utf8[len++] = (char)(0xc0 | c >> 6);
		utf8[len++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		utf8[len++] = (char)(0xe0 | c >> 12);
		utf8[len++] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[len++] = (char)(0x80 | (c & 0x3f));
	} else {
		utf8[len++] = (char)(0xf0 | c >> 18);
		utf8[len++] = (char)(0x80 | (c >> 12 & 0x3f));
		utf8[len++] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[len++] = (char)(0x80 | (c & 0x3f));
	}
	if (p->len + len >= sizeof(p->text))
		return;
	memcpy(p->text + p->len, utf8, len);
	p->len += len;
	p->text[p->len] = '\0';
}

/* A character, that is a byte and those behind it that go on with it. */
static void take_last(struct prompt *p)
{
	while (p->len && (p->text[--p->len] & 0xc0) == 0x80)
		;
	p->text[p->len] = '\0';
}

static void take_word(struct prompt *p)
{
	while (p->len && p->text[p->len - 1] == ' ')
		take_last(p);
	while (p->len && p->text[p->len - 1] != ' ')
		take_last(p);
}

enum prompt_end prompt_key(struct prompt *p, int key)
{
	if (key == TTY_ENTER)
		return PROMPT_ENTERED;
	if (key == TTY_ESCAPE)
		return PROMPT_LEFT;
	if (key == TTY_BACKSPACE) {
		take_last(p);
	} else if (key == CONTROL('w')) {
		take_word(p);
	} else if (key == CONTROL('u')) {
		p->len = 0;
		*p->text = '\0';
	} else if (key >= ' ' && key < TTY_KEYS) {
		append(p, (uint32_t)key);
	}
	return PROMPT_GOES_ON;
}

void prompt_draw(const struct prompt *p, struct tty *t, unsigned row)
{
	unsigned columns = tty_columns(t);
	unsigned used = tty_put(t, row, 0, columns, TTY_BAR, true, p->title);
	unsigned room = columns > used ? columns - used : 0;
	const char *text = p->text;

	/* Its end is what is being written. */
	while (room && strlen(text) + 1 > room)
		text++;
	used += tty_put(t, row, used, room, TTY_BAR, true, text);
	tty_cursor(t, row, used < columns ? used : columns - 1);
}
