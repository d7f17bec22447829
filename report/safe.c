/* SPDX-License-Identifier: Apache-2.0 */
#include "report/safe.h"
#include "base/utf8.h"

#include <string.h>

static const char *entity(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static char *copy(char *buf, size_t room, const char *text, bool xml)
{
	size_t used = 0;

	while (*text) {
		unsigned len = utf8_length(text);
		const char *from =
			!len || utf8_is_control(text) || utf8_is_unseen(text) ? "?" : text;
		size_t out_len = from == text ? len : 1;

		if (xml && from == text && entity(*text)) {
			from = entity(*text);
			out_len = strlen(from);
		}
		if (used + out_len >= room)
			break;
		memcpy(buf + used, from, out_len);
		used += out_len;
		text += len ? len : 1;
	}
	if (room)
		buf[used] = '\0';
	return buf;
}

char *safe_text(char *buf, size_t room, const char *text)
{
	return copy(buf, room, text, false);
}

char *safe_xml(char *buf, size_t room, const char *text)
{
	return copy(buf, room, text, true);
}
