/* SPDX-License-Identifier: Apache-2.0 */
/* The table of an analysis: its rows over a window. */
#include "sql/table.h"

struct rows_cursor {
	struct sql_rows *rows;
	size_t row; /* the next */
};

static int rows_start(struct sql_cursor *c, struct error *err)
{
	struct rows_cursor *own = c->own;

	return sql_rows_get(&own->rows, c->history, c->table->what, c->begin, c->end, err);
}

static void rows_stop(struct sql_cursor *c)
{
	struct rows_cursor *own = c->own;

	sql_rows_put(c->history, own->rows);
}

static int rows_next(struct sql_cursor *c, struct error *err)
{
	struct rows_cursor *own = c->own;

	(void)err;
	return own->row++ < sonde_rows_nr(own->rows->rows);
}

static void rows_cell(struct sql_cursor *c, const struct sql_column *column, sqlite3_context *out)
{
	const struct rows_cursor *own = c->own;
	union sonde_cell cell = sonde_rows_cell(own->rows->rows, own->row - 1, column->from);

	sql_answer(out, c->history, column, cell.i, cell.s);
}

const struct sql_table_ops table_rows_ops = {
	.cursor_bytes = sizeof(struct rows_cursor),
	.start = rows_start,
	.next = rows_next,
	.cell = rows_cell,
	.stop = rows_stop,
};
