/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/plan.h"
#include "sonde/time.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How a query can ask: as a plan tells it, and what a column must be able to do. */
static const struct ask {
	unsigned char sqlite;
	const char *text;
	unsigned needs;
	double left; /* share of the rows, as a guess */
} asks[] = {
	{SQLITE_INDEX_CONSTRAINT_EQ, "=", SQL_EQ, 0.02},
	{SQLITE_INDEX_CONSTRAINT_GE, ">=", SQL_RANGE, 0.3},
	{SQLITE_INDEX_CONSTRAINT_LE, "<=", SQL_RANGE, 0.3},
	{SQLITE_INDEX_CONSTRAINT_GT, ">", SQL_RANGE, 0.3},
	{SQLITE_INDEX_CONSTRAINT_LT, "<", SQL_RANGE, 0.3},
	{SQLITE_INDEX_CONSTRAINT_GLOB, "~", SQL_GLOB, 0.2},
};

static const struct ask *ask_find(unsigned char op)
{
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		if (asks[i].sqlite == op)
			return &asks[i];
	}
	return NULL;
}

struct plan {
	sqlite3_str *text;
	int nr;
	double rows;
	bool is_sorted; /* the column that this depends on has one value */
	bool unique;
};

static bool compares_bytes(sqlite3_index_info *info, int i)
{
	const char *collation = sqlite3_vtab_collation(info, i);

	return !collation || !sqlite3_stricmp(collation, "BINARY");
}

/* False: no plan can be made without this constraint. */
static bool plan_constraint(struct plan *p, const struct sql_table *table, sqlite3_index_info *info,
			    int i)
{
	const struct sqlite3_index_constraint *k = &info->aConstraint[i];
	const struct ask *ask = ask_find(k->op);
	const struct sql_column *c;
	bool argument;

	if (!ask || k->iColumn < 0 || (unsigned)k->iColumn >= table->nr_columns)
		return true;
	c = &table->columns[k->iColumn];
	argument = c->flags & SQL_ARGUMENT && ask->needs == SQL_EQ;
	if (!argument && !(c->flags & ask->needs))
		return true;
	if (!k->usable)
		return !argument;
	if (!argument && sql_type_is_text(c) && !compares_bytes(info, i))
		return true;
	sqlite3_str_appendf(p->text, "%s%s%s", p->nr ? " " : "", c->name, ask->text);
	info->aConstraintUsage[i].argvIndex = ++p->nr;
	info->aConstraintUsage[i].omit = argument;
	if (argument)
		return true;
	p->rows *= ask->left;
	if (ask->needs == SQL_EQ && table->sorted_when && !strcmp(c->name, table->sorted_when))
		p->is_sorted = true;
	p->unique |= ask->needs == SQL_EQ && c->flags & SQL_UNIQUE;
	return true;
}

static bool plan_is_sorted(const struct plan *p, const struct sql_table *table,
			   const sqlite3_index_info *info)
{
	int by;

	if (!table->sorted_by || info->nOrderBy != 1 || info->aOrderBy[0].desc)
		return false;
	by = info->aOrderBy[0].iColumn;
	return by >= 0 && !strcmp(table->columns[by].name, table->sorted_by) &&
	       (!table->sorted_when || p->is_sorted);
}

int sql_plan_make(const struct sql_table *table, sqlite3_index_info *info)
{
	struct plan p = {.text = sqlite3_str_new(NULL), .rows = table->rows};
	bool possible = true;

	for (int i = 0; i < info->nConstraint && possible; i++)
		possible = plan_constraint(&p, table, info, i);
	if (!possible) {
		sqlite3_free(sqlite3_str_finish(p.text));
		return SQLITE_CONSTRAINT;
	}
	if (p.unique || p.rows < 1)
		p.rows = 1;
	info->idxNum = p.nr;
	info->idxStr = sqlite3_str_finish(p.text); /* NULL when nothing is asked */
	info->needToFreeIdxStr = 1;
	info->estimatedRows = (sqlite3_int64)p.rows;
	info->estimatedCost = p.rows + table->startup;
	info->idxFlags = p.unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
	info->orderByConsumed = plan_is_sorted(&p, table, info);
	return p.nr && !info->idxStr ? SQLITE_NOMEM : SQLITE_OK;
}

/* ---- a query's values ---------------------------------------------------------------------- */

/* Integers that are @op @x, as far as @w allows; false: there are none. */
static bool narrow(struct sql_want *w, unsigned char op, double x)
{
	double low = op == SQLITE_INDEX_CONSTRAINT_GT ? floor(x) + 1 : ceil(x);
	double high = op == SQLITE_INDEX_CONSTRAINT_LT ? ceil(x) - 1 : floor(x);
	bool is_low = op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE;
	bool is_high = op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE;

	/* Beyond 2^53 the next double is some integers away: such a bound is left to SQLite. */
	if (fabs(x) > 9007199254740992.0)
		return true;
	if (is_low && w->low < (int64_t)low)
		w->low = (int64_t)low;
	if (is_high && w->high > (int64_t)high)
		w->high = (int64_t)high;
	return w->low <= w->high;
}

static bool narrow_int(struct sql_want *w, unsigned char op, int64_t x)
{
	int64_t low = INT64_MIN, high = INT64_MAX;

	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_GT:
		if (x == INT64_MAX)
			return false;
		low = x + 1;
		break;
	case SQLITE_INDEX_CONSTRAINT_LT:
		if (x == INT64_MIN)
			return false;
		high = x - 1;
		break;
	case SQLITE_INDEX_CONSTRAINT_GE:
		low = x;
		break;
	case SQLITE_INDEX_CONSTRAINT_LE:
		high = x;
		break;
	default:
		low = high = x;
	}
	w->low = w->low < low ? low : w->low;
	w->high = w->high > high ? high : w->high;
	return w->low <= w->high;
}

static int keep_text(char **out, sqlite3_value *value)
{
	const unsigned char *text = sqlite3_value_text(value);

	if (*out)
		return 0; /* of two values the first is looked for */
	*out = text ? strdup((const char *)text) : NULL;
	return *out ? 0 : -ENOMEM;
}

/* Text and blobs come after all numbers; only these can be of a column of text. */
static int want_value(struct sql_want *w, const struct sql_column *column, const struct ask *ask,
		      sqlite3_value *value, bool *none)
{
	int type = sqlite3_value_type(value);

	if (type == SQLITE_NULL) {
		*none = true;
		return 0;
	}
	if (sql_type_is_text(column)) {
		if (type == SQLITE_BLOB)
			*none = ask->needs == SQL_EQ;
		else
			return keep_text(ask->needs == SQL_GLOB ? &w->glob : &w->text, value);
		return 0;
	}
	if (type == SQLITE_TEXT)
		type = sqlite3_value_numeric_type(value);
	if (type == SQLITE_INTEGER)
		*none |= !narrow_int(w, ask->sqlite, sqlite3_value_int64(value));
	else if (type == SQLITE_FLOAT)
		*none |= !narrow(w, ask->sqlite, sqlite3_value_double(value));
	else
		*none |= ask->sqlite != SQLITE_INDEX_CONSTRAINT_LT &&
			 ask->sqlite != SQLITE_INDEX_CONSTRAINT_LE;
	return 0;
}

/* A bound of the window: a number, or a time as text.  NULL: as if it were not given. */
static int window_value(struct sql_cursor *c, const struct sql_column *column, sqlite3_value *value,
			struct error *err)
{
	struct sonde_error why = {0};
	int64_t t;

	if (sqlite3_value_type(value) == SQLITE_NULL)
		return 0;
	if (sqlite3_value_numeric_type(value) == SQLITE_TEXT) {
		int ret = sonde_history_time(c->history->history,
					     (const char *)sqlite3_value_text(value), &t, &why);

		if (ret)
			return fail(err, ret, "%s", why.text);
	} else {
		t = sqlite3_value_int64(value);
	}
	if (sql_is_window_end(column))
		c->end = t;
	else
		c->begin = t;
	return 0;
}

/* The column and the operator of the next of a plan's words, see plan_constraint(). */
static const struct sql_column *read_word(const struct sql_table *table, const char **plan,
					  const struct ask **ask)
{
	size_t len = strcspn(*plan, "=<>~");
	const char *op = *plan + len;
	size_t op_len = strcspn(op, " ");
	const struct sql_column *found = NULL;

	*ask = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		if (strlen(asks[i].text) == op_len && !strncmp(asks[i].text, op, op_len))
			*ask = &asks[i];
	}
	for (unsigned i = 0; i < table->nr_columns && *ask; i++) {
		const char *name = table->columns[i].name;

		if (strlen(name) == len && !strncmp(name, *plan, len))
			found = &table->columns[i];
	}
	*plan = op + op_len + (op[op_len] == ' ');
	return found;
}

int sql_plan_read(struct sql_cursor *c, const char *plan, int argc, sqlite3_value **argv,
		  bool *none, struct error *err)
{
	int ret = 0;

	for (int i = 0; i < argc && !ret; i++) {
		const struct ask *ask;
		const struct sql_column *column = read_word(c->table, &plan, &ask);

		if (!column)
			return fail(err, -EINVAL, "this plan is not one of Sonde's");
		if (column->flags & SQL_ARGUMENT)
			ret = window_value(c, column, argv[i], err);
		else
			ret = want_value(&c->wants[column - c->table->columns], column, ask,
					 argv[i], none);
	}
	return ret;
}
