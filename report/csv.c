/* SPDX-License-Identifier: Apache-2.0 */
#include "report/csv.h"
#include "report/rows.h"
#include "report/safe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_MAX 1200

static size_t skip_digits(const char **text)
{
	size_t nr = strspn(*text, "0123456789");

	*text += nr;
	return nr;
}

static const char *after_sign(const char *text)
{
	return text + (*text == '+' || *text == '-');
}

/* "-12", "+0.5", "-1e-3": no spreadsheet makes more of it. */
static bool is_number(const char *text)
{
	size_t digits;

	text = after_sign(text);
	digits = skip_digits(&text);
	if (*text == '.') {
		text++;
		digits += skip_digits(&text);
	}
	if (digits && (*text == 'e' || *text == 'E')) {
		text = after_sign(text + 1);
		digits = skip_digits(&text);
	}
	return digits && !*text;
}

/* A spreadsheet would compute it, and a guest may have chosen it.  A sign alone is text. */
static bool is_formula(const char *text)
{
	return *text && strchr("=+-@", *text) && text[1] && !is_number(text);
}

void csv_text(FILE *out, const char *text)
{
	size_t room = strlen(text) + 1;
	char field[FIELD_MAX];
	char *safe = room > sizeof(field) ? malloc(room) : field;

	if (!safe) { /* the begin of it is better than none */
		safe = field;
		room = sizeof(field);
	}
	safe_text(safe, room, text);
	if (!strpbrk(safe, ",\"")) {
		fputs(is_formula(safe) ? "'" : "", out);
		fputs(safe, out);
	} else {
		fputs(is_formula(safe) ? "\"'" : "\"", out);
		for (const char *c = safe; *c; c++) {
			if (*c == '"')
				fputc('"', out);
			fputc(*c, out);
		}
		fputc('"', out);
	}
	if (safe != field)
		free(safe);
}

static void put_cell(FILE *out, struct sonde_history *history, enum sonde_column_type type,
		     union sonde_cell cell)
{
	char text[FIELD_MAX];

	switch (type) {
	case SONDE_COL_INT:
		if (cell.i >= 0)
			fprintf(out, "%" PRId64, cell.i);
		break;
	case SONDE_COL_SIGNED:
		if (cell.i != SONDE_SIGNED_UNKNOWN)
			fprintf(out, "%" PRId64, cell.i);
		break;
	case SONDE_COL_NS:
	case SONDE_COL_TIME:
	case SONDE_COL_PPM:
	case SONDE_COL_BOOL:
		fprintf(out, "%" PRId64, cell.i);
		break;
	case SONDE_COL_STRING:
		csv_text(out, cell.s);
		break;
	default:
		if (cell.i >= 0)
			csv_text(out, rows_cell_text(history, type, cell, text, sizeof(text)));
		break;
	}
}

void rows_csv(FILE *out, struct sonde_history *history, const struct sonde_rows *rows)
{
	const struct sonde_table *a = sonde_rows_table(rows);

	for (unsigned c = 0; c < a->nr_columns; c++)
		fprintf(out, "%s%s", c ? "," : "", a->columns[c].name);
	fputc('\n', out);
	for (size_t row = 0; row < sonde_rows_nr(rows); row++) {
		for (unsigned c = 0; c < a->nr_columns; c++) {
			if (c)
				fputc(',', out);
			put_cell(out, history, a->columns[c].type, sonde_rows_cell(rows, row, c));
		}
		fputc('\n', out);
	}
}
