/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/state_line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void line_begin(struct line *l, const char *kind)
{
	l->len_bytes = (size_t)snprintf(l->text, sizeof(l->text), "sonde: %.32s", kind);
}

/* Adds " key=value", or nothing when that does not fit. */
static void add(struct line *l, const char *key, const char *value)
{
	size_t room = LINE_BYTES - l->len_bytes;
	int n = snprintf(l->text + l->len_bytes, room + 1, " %s=%s", key, value);

	if (n > 0 && (size_t)n <= room)
		l->len_bytes += (size_t)n;
	l->text[l->len_bytes] = '\0';
}

void line_number(struct line *l, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	add(l, key, text);
}

void line_signed(struct line *l, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	add(l, key, text);
}

void line_text(struct line *l, const char *key, const char *value)
{
	static const char digits[] = "0123456789abcdef";
	char text[LINE_BYTES + 1];
	size_t n = 0;

	if (!*value)
		return;
	for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
		bool plain = *c > 0x20 && *c != 0x7f && *c != '%' && *c != '=';

		if (n + 4 > sizeof(text))
			return;
		if (plain) {
			text[n++] = (char)*c;
			continue;
		}
		text[n++] = '%';
		text[n++] = digits[*c >> 4];
		text[n++] = digits[*c & 15];
	}
	text[n] = '\0';
	add(l, key, text);
}

void line_end(struct line *l)
{
	ssize_t n;

	do {
		n = write(l->fd, l->text, l->len_bytes);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && !l->error)
		l->error = -errno;
}
