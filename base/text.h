/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/types.h"

#include <string.h>

/*
 * Text put together in a caller's buffer: what printf() would do, for lines of which millions are
 * written.
 *
 *	struct text t = text_in(buf, sizeof(buf));
 *	text_str(&t, "tid=");
 *	text_i64(&t, tid);
 *	len = text_end(&t);
 *
 * What does not fit is counted but not written, as snprintf() does it; text_end() always leaves a NUL
 * at the end of what was, when there is any room.
 */
struct text {
	char *buf;   /* not owned */
	size_t room; /* without the NUL */
	size_t len;  /* what all of it would take */
};

static inline struct text text_in(char *buf, size_t room)
{
	return (struct text){.buf = buf, .room = room ? room - 1 : 0};
}

/* Returns the whole text's length.  @room as in text_in(). */
static inline size_t text_end(struct text *t, size_t room)
{
	if (room)
		t->buf[t->len < t->room ? t->len : t->room] = '\0';
	return t->len;
}

/* The part of @len bytes that fits. */
void text_put_cut(struct text *t, const char *text, size_t len);

static inline void text_put(struct text *t, const char *text, size_t len)
{
	if (likely(t->len <= t->room && len <= t->room - t->len)) {
		memcpy(t->buf + t->len, text, len);
		t->len += len;
	} else {
		text_put_cut(t, text, len);
	}
}

static inline void text_char(struct text *t, char c)
{
	if (likely(t->len < t->room))
		t->buf[t->len] = c;
	t->len++;
}

static inline void text_str(struct text *t, const char *text)
{
	text_put(t, text, strlen(text));
}

/* Decimal; the second with zeros in front up to @width, at most 20. */
void text_u64(struct text *t, uint64_t value);
void text_u64_zeros(struct text *t, uint64_t value, unsigned width);
void text_i64(struct text *t, int64_t value);

/* @value with blanks in front up to @width, at most 20. */
void text_i64_right(struct text *t, int64_t value, unsigned width);

/* Two hexadecimal digits. */
void text_hex_byte(struct text *t, uint8_t value);

/*
 * The inside of a string in double quotes: quotes and backslashes get a backslash in front, control
 * bytes and DEL are written \xNN, a line's end too unless @newline says to write \n.  Other bytes
 * stay as they are, whether they are valid UTF-8 or not.
 */
void text_quotable(struct text *t, const uint8_t *text, size_t len, bool newline);

#endif
