/* SPDX-License-Identifier: Apache-2.0 */
/* Values as SQL sees them. */
#include "report/rows.h"
#include "report/moment.h"
#include "sql/table.h"

#define LABEL_MAX 512

static void answer_label(sqlite3_context *out, struct sql_history *r, enum sonde_column_type type,
			 int64_t row)
{
	char text[LABEL_MAX];
	struct sonde_machine m;
	struct sonde_cpu cpu;
	bool there = row >= 0;

	if (type == SONDE_COL_MACHINE)
		there = !sonde_machine_get(r->history, row, &m);
	else if (type == SONDE_COL_CPU)
		there = !sonde_cpu_get(r->history, row, &cpu);
	else if (type == SONDE_COL_PID_NS)
		there = is_container(r->history, row);
	if (there)
		sqlite3_result_text(out,
				    rows_cell_text(r->history, type, (union sonde_cell){.i = row},
						   text, sizeof(text)),
				    -1, SQLITE_TRANSIENT);
}

/* What is not answered is NULL. */
void sql_answer(sqlite3_context *out, struct sql_history *r, const struct sql_column *column,
		int64_t i, const char *s)
{
	if (column->flags & SQL_ROW) {
		if (i >= 0)
			sqlite3_result_int64(out, i);
		return;
	}
	switch (column->type) {
	case SONDE_COL_STRING:
		sqlite3_result_text(out, s ? s : "", -1, SQLITE_TRANSIENT);
		break;
	case SONDE_COL_MACHINE:
	case SONDE_COL_CPU:
	case SONDE_COL_THREAD:
	case SONDE_COL_PID_NS:
		answer_label(out, r, column->type, i);
		break;
	case SONDE_COL_MODE:
		sqlite3_result_text(out, sonde_mode_name((enum sonde_mode)i), -1, SQLITE_STATIC);
		break;
	case SONDE_COL_SIGNED:
		if (i != SONDE_SIGNED_UNKNOWN)
			sqlite3_result_int64(out, i);
		break;
	case SONDE_COL_PPM:
		sqlite3_result_int64(out, i);
		break;
	case SONDE_COL_BOOL:
		sqlite3_result_int(out, i > 0);
		break;
	case SONDE_COL_TIME:
		/* A moment that is not known stands outside of the history. */
		if (i >= sonde_history_begin(r->history) && i <= sonde_history_end(r->history))
			sqlite3_result_int64(out, i);
		break;
	case SONDE_COL_INT:
	case SONDE_COL_NS:
		if (i >= 0 && i < INT64_MAX)
			sqlite3_result_int64(out, i);
		break;
	}
}
