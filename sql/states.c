/* SPDX-License-Identifier: Apache-2.0 */
/* The tables "states", every interval of every attribute, and "attributes", what these are. */
#include "sql/attrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Intervals are read some at a time: few at first, for who wants few. */
#define BATCH_MIN 32
#define BATCH_MAX 2048

enum state_column {
	STATE_BEGIN = ATTR_NR_COLUMNS,
	STATE_END,
	STATE_LENGTH,
	STATE_VALUE,
	STATE_TEXT,
};

struct states_cursor {
	struct attr_walk walk;
	struct attr_info attr;	      /* the one at hand */
	bool inside;		      /* of it: it has more than what was read */
	int64_t from, to;	      /* intervals that touch this are wanted */
	int64_t resume;		      /* where the next batch begins */
	struct sonde_interval *batch; /* owned: room for BATCH_MAX */
	unsigned nr, at, size;
};

/* ---- reading ------------------------------------------------------------------------------- */

/* The part of the window that an interval touches which fits what is wanted of begin and end. */
static void choose_time(struct states_cursor *own, const struct sql_cursor *c)
{
	const struct sql_want *begin = sql_wanted(c, "begin"), *end = sql_wanted(c, "end");

	own->from = c->begin;
	own->to = c->end;
	if (begin->low > own->from)
		own->from = begin->low;
	if (begin->high < own->to)
		own->to = begin->high + 1;
	if (end->low > own->from)
		own->from = end->low - 1;
	if (end->high < own->to)
		own->to = end->high;
}

static int states_start(struct sql_cursor *c, struct error *err)
{
	struct states_cursor *own = c->own;

	own->batch = malloc(BATCH_MAX * sizeof(*own->batch));
	if (!own->batch)
		return fail(err, -ENOMEM, "out of memory");
	own->size = BATCH_MIN;
	choose_time(own, c);
	attr_walk_start(&own->walk, c);
	return 0;
}

static void states_stop(struct sql_cursor *c)
{
	struct states_cursor *own = c->own;

	free(own->batch);
	own->batch = NULL;
}

static bool take(const struct sonde_interval *i, void *data)
{
	struct states_cursor *own = data;

	own->batch[own->nr++] = *i;
	return own->nr < own->size;
}

static int read_batch(struct states_cursor *own, struct sql_history *r, struct error *err)
{
	char path[ATTR_PATH_MAX];
	int ret;

	own->nr = 0;
	own->at = 0;
	ret = sonde_interval_walk(r->history, own->attr.attr, own->resume, own->to, take, own);
	if (ret) {
		attr_path(r, own->attr.attr, path);
		return fail(err, ret, "cannot read %s of %s: %s", path, r->path, error_reason(ret));
	}
	r->cost[COST_INTERVALS] += own->nr;
	own->inside = own->nr == own->size && own->batch[own->nr - 1].end < own->to;
	if (own->inside)
		own->resume = own->batch[own->nr - 1].end;
	if (own->inside && own->size < BATCH_MAX)
		own->size *= 2;
	return 0;
}

static int states_next(struct sql_cursor *c, struct error *err)
{
	struct states_cursor *own = c->own;
	int ret = 0;

	own->at++;
	while (own->at >= own->nr && !ret) {
		if (!own->inside) {
			if (own->from >= own->to || !sql_history_goes_on(c->history) ||
			    !attr_walk_next(&own->walk, c->history, &own->attr))
				return sql_history_goes_on(c->history) ? 0 : -EINTR;
			c->history->cost[COST_ATTRIBUTES]++;
			own->resume = own->from;
		}
		ret = read_batch(own, c->history, err);
	}
	return ret ? ret : 1;
}

/* ---- telling ------------------------------------------------------------------------------- */

static void states_cell(struct sql_cursor *c, const struct sql_column *column, sqlite3_context *out)
{
	const struct states_cursor *own = c->own;
	const struct sonde_interval *i = &own->batch[own->at];
	int64_t begin = i->begin < c->begin ? c->begin : i->begin;
	int64_t end = i->end > c->end ? c->end : i->end;

	switch (column->from) {
	case STATE_BEGIN:
		sqlite3_result_int64(out, i->begin);
		break;
	case STATE_END:
		sqlite3_result_int64(out, i->end);
		break;
	case STATE_LENGTH:
		sqlite3_result_int64(out, end - begin);
		break;
	case STATE_VALUE:
		attr_value(c->history, &own->attr, i->value, out);
		break;
	case STATE_TEXT:
		attr_text(c->history, &own->attr, i->value, out);
		break;
	default:
		attr_cell(c->history, &own->attr, column, out);
		break;
	}
}

static const struct sql_column states_columns[] = {
	ATTR_COLUMNS,
	{.name = "begin",
	 .type = SONDE_COL_TIME,
	 .flags = SQL_EQ | SQL_RANGE,
	 .from = STATE_BEGIN,
	 .help = "when it began"},
	{.name = "end",
	 .type = SONDE_COL_TIME,
	 .flags = SQL_EQ | SQL_RANGE,
	 .from = STATE_END,
	 .help = "when it ended"},
	{.name = "length",
	 .type = SONDE_COL_NS,
	 .from = STATE_LENGTH,
	 .help = "how long, within the window: sums are exact"},
	{.name = "value",
	 .type = SONDE_COL_INT,
	 .from = STATE_VALUE,
	 .help = "a number, a CPU's number, or a row of contexts (runs, waker), threads (task), "
		 "wakes "
		 "(woken); NULL: none"},
	{.name = "text",
	 .type = SONDE_COL_STRING,
	 .from = STATE_TEXT,
	 .help = "the value in words"},
	SQL_WINDOW,
	ATTR_HIDDEN_COLUMNS,
};

static const struct sql_table_ops states_ops = {
	.cursor_bytes = sizeof(struct states_cursor),
	.start = states_start,
	.next = states_next,
	.cell = states_cell,
	.stop = states_stop,
};

const struct sql_table states_table = {
	.name = "states",
	.help = "what value each attribute had from when to when: every row touches the window",
	.columns = states_columns,
	.nr_columns = ARRAY_SIZE(states_columns),
	.ops = &states_ops,
	.rows = 5e6,
	.startup = 20,
	.sorted_by = "begin",
	.sorted_when = "path",
	.window = true,
};

/* ---- attributes ---------------------------------------------------------------------------- */

struct attributes_cursor {
	struct attr_walk walk;
	struct attr_info attr;
};

static int attributes_start(struct sql_cursor *c, struct error *err)
{
	struct attributes_cursor *own = c->own;

	(void)err;
	attr_walk_start(&own->walk, c);
	return 0;
}

static int attributes_next(struct sql_cursor *c, struct error *err)
{
	struct attributes_cursor *own = c->own;

	(void)err;
	return attr_walk_next(&own->walk, c->history, &own->attr);
}

static void attributes_cell(struct sql_cursor *c, const struct sql_column *column,
			    sqlite3_context *out)
{
	const struct attributes_cursor *own = c->own;

	attr_cell(c->history, &own->attr, column, out);
}

static const struct sql_column attributes_columns[] = {ATTR_COLUMNS, ATTR_HIDDEN_COLUMNS};

static const struct sql_table_ops attributes_ops = {
	.cursor_bytes = sizeof(struct attributes_cursor),
	.start = attributes_start,
	.next = attributes_next,
	.cell = attributes_cell,
};

const struct sql_table attributes_table = {
	.name = "attributes",
	.help = "what there are states of",
	.columns = attributes_columns,
	.nr_columns = ARRAY_SIZE(attributes_columns),
	.ops = &attributes_ops,
	.rows = 5000,
	.startup = 5,
};
