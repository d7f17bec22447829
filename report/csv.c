/* SPDX-License-Identifier: Apache-2.0 */
#include "report/csv.h"
#include "report/facts.h"
#include "report/safe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_MAX 1200

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
		fputs(safe, out);
	} else {
		fputc('"', out);
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

static void put_cell(FILE *out, struct sonde_run *run, enum sonde_column_type type,
		     union sonde_cell cell)
{
	char text[FIELD_MAX];

	switch (type) {
	case SONDE_COL_INT:
		if (cell.i >= 0)
			fprintf(out, "%" PRId64, cell.i);
		break;
	case SONDE_COL_SIGNED:
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
			csv_text(out, facts_cell_text(run, type, cell, text, sizeof(text)));
		break;
	}
}

void facts_csv(FILE *out, struct sonde_run *run, const struct sonde_facts *facts)
{
	const struct sonde_analysis *a = sonde_facts_analysis(facts);

	for (unsigned c = 0; c < a->nr_columns; c++)
		fprintf(out, "%s%s", c ? "," : "", a->columns[c].name);
	fputc('\n', out);
	for (size_t row = 0; row < sonde_facts_nr_rows(facts); row++) {
		for (unsigned c = 0; c < a->nr_columns; c++) {
			if (c)
				fputc(',', out);
			put_cell(out, run, a->columns[c].type, sonde_facts_cell(facts, row, c));
		}
		fputc('\n', out);
	}
}
