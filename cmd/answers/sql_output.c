/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/sql_output.h"
#include "base/units.h"
#include "report/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 4096
#define BYTES_MAX (4 << 20)
#define WRAPS_FROM 32 /* text longer than that goes on in the next line of a narrow screen */

/* ---- values -------------------------------------------------------------------------------- */

static char *hex(const struct sql_value *v)
{
	char *text = malloc(2 * v->len + 1);

	if (!text)
		return NULL;
	for (size_t i = 0; i < v->len; i++)
		sprintf(text + 2 * i, "%02x", (unsigned char)v->bytes[i]);
	text[2 * v->len] = '\0';
	return text;
}

/* A value as text, owned by the caller. */
static char *value_text(const struct sql_value *v)
{
	char text[UNIT_TEXT];

	switch (v->kind) {
	case SQL_INTEGER:
		snprintf(text, sizeof(text), "%" PRId64, v->i);
		return strdup(text);
	case SQL_REAL:
		return strdup(unit_real(text, v->real));
	case SQL_TEXT:
		return strdup(v->bytes);
	case SQL_BLOB:
		return hex(v);
	default:
		return strdup("");
	}
}

static int json_value(struct json *j, const char *key, const struct sql_value *v)
{
	char *text;

	switch (v->kind) {
	case SQL_INTEGER:
		json_int(j, key, v->i);
		return 0;
	case SQL_REAL:
		json_exact(j, key, v->real);
		return 0;
	case SQL_NULL:
		json_put_null(j, key);
		return 0;
	default:
		text = value_text(v);
		if (!text)
			return -ENOMEM;
		json_str(j, key, text);
		free(text);
		return 0;
	}
}

static int csv_value(FILE *out, const struct sql_value *v)
{
	char *text = value_text(v);

	if (!text)
		return -ENOMEM;
	if (v->kind == SQL_TEXT)
		csv_text(out, text);
	else
		fputs(text, out);
	free(text);
	return 0;
}

/* ---- a table ------------------------------------------------------------------------------- */

static int flush_table(struct sql_output *o)
{
	struct table *t = table_new(&o->inv->screen);
	bool again = o->nr_rows > o->nr_waiting;

	if (again)
		fputc('\n', o->inv->screen.out);
	for (unsigned c = 0; c < o->nr; c++) {
		size_t longest = 0;

		for (size_t row = 0; row < o->nr_waiting; row++) {
			size_t len = strlen(o->cells[row * o->nr + c]);

			longest = len > longest ? len : longest;
		}
		table_column(t, o->names[c],
			     !o->is_text[c]	    ? TABLE_RIGHT
			     : longest > WRAPS_FROM ? TABLE_WRAP
						    : 0);
	}
	for (size_t row = 0; row < o->nr_waiting; row++) {
		int line = table_line(t, TABLE_NO_PARENT);

		for (unsigned c = 0; c < o->nr; c++) {
			table_cell(t, line, c, o->cells[row * o->nr + c]);
			free(o->cells[row * o->nr + c]);
		}
	}
	o->nr_waiting = 0;
	o->bytes_waiting = 0;
	memset(o->is_text, 0, o->nr * sizeof(*o->is_text));
	return table_print(t);
}

static int table_row(struct sql_output *o, const struct sql_value *values)
{
	char **cells = o->cells + o->nr_waiting * o->nr;

	for (unsigned c = 0; c < o->nr; c++) {
		cells[c] = value_text(&values[c]);
		if (!cells[c]) {
			while (c)
				free(cells[--c]);
			return -ENOMEM;
		}
		o->bytes_waiting += strlen(cells[c]);
		o->is_text[c] |= values[c].kind == SQL_TEXT || values[c].kind == SQL_BLOB;
	}
	o->nr_waiting++;
	return o->nr_waiting == ROWS_MAX || o->bytes_waiting > BYTES_MAX ? flush_table(o) : 0;
}

/* ---- the sink ------------------------------------------------------------------------------ */

/* Whether a column other than @c has the name: one before it, or, as the query calls it, any. */
static bool is_taken(const struct sql_output *o, const char *const *names, unsigned c,
		     const char *name)
{
	for (unsigned i = 0; i < o->nr; i++) {
		if (i != c && !strcmp(i < c ? o->names[i] : names[i], name))
			return true;
	}
	return false;
}

/* How many columns before @c the query calls the same. */
static unsigned same_before(const char *const *names, unsigned c)
{
	unsigned same = 0;

	for (unsigned before = 0; before < c; before++)
		same += !strcmp(names[before], names[c]);
	return same;
}

/* Members of a JSON object have names of their own: the second "x" is "x_2", or, where that is
 * another column, "x_3". */
static int name_columns(struct sql_output *o, const char *const *names)
{
	for (unsigned c = 0; c < o->nr; c++) {
		size_t room = strlen(names[c]) + sizeof("_4294967295");
		unsigned same = same_before(names, c);

		o->names[c] = malloc(room);
		if (!o->names[c])
			return -ENOMEM;
		snprintf(o->names[c], room, "%s", names[c]);
		for (unsigned n = same + 1; same && is_taken(o, names, c, o->names[c]); n++)
			snprintf(o->names[c], room, "%s_%u", names[c], n);
	}
	return 0;
}

static int output_begin(const char *const *names, unsigned nr, void *data)
{
	struct sql_output *o = data;
	int ret;

	o->nr = nr;
	o->names = calloc(nr + 1, sizeof(*o->names));
	o->is_text = calloc(nr + 1, sizeof(*o->is_text));
	o->cells = calloc((size_t)ROWS_MAX * nr + 1, sizeof(*o->cells));
	ret = o->names && o->is_text && o->cells ? name_columns(o, names) : -ENOMEM;
	if (ret)
		return ret;
	if (is_json(o->inv))
		json_begin_array(&o->json, NULL);
	for (unsigned c = 0; c < nr && is_csv(o->inv); c++) {
		fputs(c ? "," : "", o->inv->screen.out);
		csv_text(o->inv->screen.out, o->names[c]);
	}
	if (is_csv(o->inv))
		fputc('\n', o->inv->screen.out);
	return 0;
}

static int output_row(const struct sql_value *values, unsigned nr, void *data)
{
	struct sql_output *o = data;
	FILE *out = o->inv->screen.out;
	int ret = 0;

	o->nr_rows++;
	if (is_json(o->inv)) {
		json_begin_object(&o->json, NULL);
		for (unsigned c = 0; c < nr && !ret; c++)
			ret = json_value(&o->json, o->names[c], &values[c]);
		json_end(&o->json);
	} else if (is_csv(o->inv)) {
		for (unsigned c = 0; c < nr && !ret; c++) {
			fputs(c ? "," : "", out);
			ret = csv_value(out, &values[c]);
		}
		fputc('\n', out);
	} else {
		ret = table_row(o, values);
	}
	return ferror(out) ? -EIO : ret;
}

struct sql_sink sql_output_sink(struct sql_output *o, const struct invocation *inv)
{
	*o = (struct sql_output){.inv = inv, .json = {.out = inv->screen.out, .flat = 2}};
	return (struct sql_sink){output_begin, output_row, o};
}

int sql_output_end(struct sql_output *o, bool went_well)
{
	int ret = 0;

	/* An array that breaks off is no JSON: nobody takes it for the whole, should it be shown. */
	if (went_well && is_json(o->inv))
		json_end(&o->json);
	else if (went_well && !is_csv(o->inv) && !o->nr_rows)
		fputs("no rows\n", o->inv->screen.out);
	else if (went_well && !is_csv(o->inv) && o->nr_waiting)
		ret = flush_table(o);
	for (size_t i = 0; i < o->nr_waiting * o->nr; i++)
		free(o->cells[i]);
	for (unsigned c = 0; o->names && c < o->nr; c++)
		free(o->names[c]);
	free(o->names);
	free(o->is_text);
	free(o->cells);
	return ret;
}
