/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json.h"

#include "base/units.h"
#include "base/utf8.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define FLAT_DEFAULT 3

static void write_text(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putc('"', out);
	while (*s) {
		unsigned len = utf8_length((const char *)s);

		if (!len) {
			fputs("\\ufffd", out);
			s++;
		} else if (utf8_is_control((const char *)s) ||
			   (len == 3 && utf8_is_unseen((const char *)s))) {
			fprintf(out, "\\u%04x", (unsigned)utf8_code((const char *)s));
			s += len;
		} else if (len > 1) {
			fwrite(s, 1, len, out);
			s += len;
		} else if (*s == '"' || *s == '\\') {
			putc('\\', out);
			putc(*s++, out);
		} else {
			putc(*s++, out);
		}
	}
	putc('"', out);
}

static bool is_flat(const struct json *j)
{
	return j->depth >= (j->flat ? j->flat : FLAT_DEFAULT);
}

static void new_line(const struct json *j)
{
	putc('\n', j->out);
	for (unsigned i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

/* What stands before a value: comma, line, key. */
static void begin_value(struct json *j, const char *key)
{
	if (j->depth) {
		if (j->filled[j->depth - 1])
			putc(',', j->out);
		if (!is_flat(j))
			new_line(j);
		else if (j->filled[j->depth - 1])
			putc(' ', j->out);
		j->filled[j->depth - 1] = true;
	}
	if (key) {
		write_text(j->out, key);
		fputs(": ", j->out);
	}
}

static void open_level(struct json *j, const char *key, char opening, char closing)
{
	assert(j->depth < JSON_DEPTH_MAX);
	begin_value(j, key);
	putc(opening, j->out);
	j->closing[j->depth] = closing;
	j->filled[j->depth++] = false;
}

void json_begin_object(struct json *j, const char *key)
{
	open_level(j, key, '{', '}');
}

void json_begin_array(struct json *j, const char *key)
{
	open_level(j, key, '[', ']');
}

void json_end(struct json *j)
{
	bool on_lines = j->filled[j->depth - 1] && !is_flat(j);

	assert(j->depth > 0);
	j->depth--;
	if (on_lines)
		new_line(j);
	putc(j->closing[j->depth], j->out);
	if (!j->depth)
		putc('\n', j->out);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	begin_value(j, key);
	fprintf(j->out, "%lld", (long long)value);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	begin_value(j, key);
	fprintf(j->out, "%llu", (unsigned long long)value);
}

void json_milli(struct json *j, const char *key, int64_t value)
{
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;

	begin_value(j, key);
	fprintf(j->out, "%s%llu.%03u", value < 0 ? "-" : "", (unsigned long long)(size / 1000),
		(unsigned)(size % 1000));
}

void json_rounded(struct json *j, const char *key, double value)
{
	if (!isfinite(value)) {
		json_put_null(j, key);
		return;
	}
	begin_value(j, key);
	fprintf(j->out, "%.6g", value);
}

void json_exact(struct json *j, const char *key, double value)
{
	char text[UNIT_TEXT];

	if (isfinite(value)) {
		begin_value(j, key);
		fputs(unit_real(text, value), j->out);
	} else {
		json_put_null(j, key);
	}
}

void json_str(struct json *j, const char *key, const char *value)
{
	begin_value(j, key);
	write_text(j->out, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin_value(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_put_null(struct json *j, const char *key)
{
	begin_value(j, key);
	fputs("null", j->out);
}

void json_row(struct json *j, const char *key, int64_t value)
{
	if (value < 0)
		json_put_null(j, key);
	else
		json_int(j, key, value);
}
