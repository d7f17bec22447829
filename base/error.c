/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *error_reason(int code)
{
	return code == -EIO ? "the data is damaged there" : strerror(-code);
}

int fail(struct error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int fail_prefix(struct error *err, int code, const char *fmt, ...)
{
	char front[sizeof(err->text)];
	char back[sizeof(err->text)];
	va_list ap;
	size_t used;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(front, sizeof(front), fmt, ap);
	va_end(ap);
	memcpy(back, err->text, sizeof(back));
	snprintf(err->text, sizeof(err->text), "%s", front);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", back);
	return code;
}

static void add(struct problems *p, bool note, const char *text)
{
	for (unsigned i = 0; i < p->nr; i++) {
		if (!strcmp(p->list[i].text, text)) {
			p->list[i].count++;
			return;
		}
	}
	if (!p->list)
		p->list = calloc(PROBLEMS_MAX, sizeof(*p->list));
	if (!p->list || p->nr == PROBLEMS_MAX) {
		p->dropped++;
		return;
	}
	snprintf(p->list[p->nr].text, sizeof(p->list[p->nr].text), "%s", text);
	p->list[p->nr].note = note;
	p->list[p->nr++].count = 1;
}

void problems_add(struct problems *p, const char *fmt, ...)
{
	char text[sizeof(p->list[0].text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(p, false, text);
}

void problems_note(struct problems *p, const char *fmt, ...)
{
	char text[sizeof(p->list[0].text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(p, true, text);
}

void problems_release(struct problems *p)
{
	free(p->list);
	memset(p, 0, sizeof(*p));
}
