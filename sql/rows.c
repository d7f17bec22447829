/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/rows.h"

#include <string.h>

struct rows_cursor {
	int64_t next, last; /* rows */
	_Alignas(16) char row[ROW_BYTES_MAX];
};

/* Column 0 is the number of the row. */
static int rows_start(struct sql_cursor *c, struct error *err)
{
	const struct rows *rows = c->table->what;
	struct rows_cursor *own = c->own;
	const struct sql_want *row = &c->wants[0];
	bool numbered = c->table->columns[0].flags & SQL_UNIQUE;

	(void)err;
	own->last = rows->nr(c->history->history) - 1;
	if (numbered && row->low > 0)
		own->next = row->low;
	if (numbered && row->high < own->last)
		own->last = row->high;
	return 0;
}

static int rows_next(struct sql_cursor *c, struct error *err)
{
	const struct rows *rows = c->table->what;
	struct rows_cursor *own = c->own;

	(void)err;
	if (own->next > own->last)
		return 0;
	memset(own->row, 0, sizeof(own->row));
	rows->load(c->history, own->next++, own->row);
	return 1;
}

static int64_t read_int(const char *at, const struct sql_column *column)
{
	switch (column->bytes) {
	case 1:
		return *(const bool *)at;
	case 4:
		return column->is_signed ? (int64_t) * (const int32_t *)at : *(const uint32_t *)at;
	default:
		return *(const int64_t *)at;
	}
}

static void rows_cell(struct sql_cursor *c, const struct sql_column *column, sqlite3_context *out)
{
	const struct rows_cursor *own = c->own;
	const char *at = own->row + column->from;

	if (column == &c->table->columns[0] && column->flags & SQL_UNIQUE)
		sqlite3_result_int64(out, own->next - 1);
	else if (column->type == SONDE_COL_STRING)
		sql_answer(out, c->history, column, 0, *(const char *const *)at);
	else
		sql_answer(out, c->history, column, read_int(at, column), NULL);
}

const struct sql_table_ops rows_ops = {
	.cursor_bytes = sizeof(struct rows_cursor),
	.start = rows_start,
	.next = rows_next,
	.cell = rows_cell,
};
