/* SPDX-License-Identifier: Apache-2.0 */
/* The table of an analysis: its facts over a window. */
#include "sql/table.h"

struct facts_cursor {
	struct sql_facts *facts;
	size_t row; /* the next */
};

static int facts_start(struct sql_cursor *c, struct error *err)
{
	struct facts_cursor *own = c->own;

	return sql_facts_get(&own->facts, c->run, c->table->what, c->begin, c->end, err);
}

static void facts_stop(struct sql_cursor *c)
{
	struct facts_cursor *own = c->own;

	sql_facts_put(c->run, own->facts);
}

static int facts_next(struct sql_cursor *c, struct error *err)
{
	struct facts_cursor *own = c->own;

	(void)err;
	return own->row++ < sonde_facts_nr_rows(own->facts->facts);
}

static void facts_cell(struct sql_cursor *c, const struct sql_column *column, sqlite3_context *out)
{
	const struct facts_cursor *own = c->own;
	union sonde_cell cell = sonde_facts_cell(own->facts->facts, own->row - 1, column->from);

	sql_answer(out, c->run, column, cell.i, cell.s);
}

const struct sql_table_ops facts_ops = {
	.cursor_bytes = sizeof(struct facts_cursor),
	.start = facts_start,
	.next = facts_next,
	.cell = facts_cell,
	.stop = facts_stop,
};
