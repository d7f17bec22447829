/* SPDX-License-Identifier: Apache-2.0 */
/* Between SQLite and the tables: what a query asks becomes what is wanted of each column. */
#include "sql/catalog.h"
#include "sql/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sql_vtab {
	sqlite3_vtab base; /* first */
	struct sql_catalog *catalog;
	struct sql_history *history;
	const struct sql_table *table;
};

static int tell(sqlite3_vtab *v, int ret, const struct error *err)
{
	if (ret == -EINTR)
		return SQLITE_INTERRUPT;
	if (ret == -ENOMEM && !err->code)
		return SQLITE_NOMEM;
	sqlite3_free(v->zErrMsg);
	v->zErrMsg = sqlite3_mprintf("%s", err->code ? err->text : error_reason(ret));
	/* SQLITE_ERROR is what SQLite says of a query that is wrong. */
	return ret == -EINVAL ? SQLITE_ERROR : SQLITE_IOERR;
}

/* ---- connecting ---------------------------------------------------------------------------- */

bool sql_type_is_text(const struct sql_column *column)
{
	switch (column->type) {
	case SONDE_COL_STRING:
	case SONDE_COL_MODE:
		return true;
	case SONDE_COL_MACHINE:
	case SONDE_COL_CPU:
	case SONDE_COL_THREAD:
	case SONDE_COL_PID_NS:
		return !(column->flags & SQL_ROW);
	default:
		return false;
	}
}

const char *sql_type_name(const struct sql_column *column)
{
	switch (column->type) {
	case SONDE_COL_NS:
		return "ns";
	case SONDE_COL_TIME:
		return "time";
	case SONDE_COL_PPM:
		return "ppm";
	case SONDE_COL_BOOL:
		return "bool";
	default:
		return sql_type_is_text(column) ? "text" : "int";
	}
}

const struct sql_want *sql_wanted(const struct sql_cursor *c, const char *column)
{
	unsigned i = 0;

	while (i + 1 < c->table->nr_columns && strcmp(c->table->columns[i].name, column))
		i++;
	assert(!strcmp(c->table->columns[i].name, column));
	return &c->wants[i];
}

bool sql_is_window_end(const struct sql_column *column)
{
	return column->flags & SQL_ARGUMENT && !strcmp(column->name, "window_end");
}

char *sql_declare(const struct sql_table *table)
{
	sqlite3_str *s = sqlite3_str_new(NULL);

	sqlite3_str_appendf(s, "CREATE TABLE \"%w\"(", table->name);
	for (unsigned i = 0; i < table->nr_columns; i++) {
		const struct sql_column *c = &table->columns[i];

		sqlite3_str_appendf(s, "%s\"%w\" %s%s", i ? ", " : "", c->name,
				    sql_type_is_text(c) ? "TEXT" : "INTEGER",
				    c->flags & SQL_HIDDEN ? " HIDDEN" : "");
	}
	sqlite3_str_appendall(s, ")");
	return sqlite3_str_finish(s);
}

/* An argument of CREATE VIRTUAL TABLE, without its quotes; made by sqlite3_malloc(). */
static char *unquoted(const char *arg)
{
	char quote = *arg;
	sqlite3_str *s;

	if (quote != '\'' && quote != '"')
		return sqlite3_mprintf("%s", arg);
	s = sqlite3_str_new(NULL);
	for (const char *p = arg + 1; *p && !(*p == quote && p[1] != quote); p++) {
		p += *p == quote;
		sqlite3_str_appendchar(s, 1, *p);
	}
	return sqlite3_str_finish(s);
}

static int make_vtab(struct sql_vtab **out, struct sql_catalog *catalog, const char *path,
		     const char *name, struct error *err)
{
	const struct sql_table *table = name ? sql_catalog_table(catalog, name) : NULL;
	struct sql_vtab *v = sqlite3_malloc(sizeof(*v));
	int ret;

	if (!v || !path || !name) {
		sqlite3_free(v);
		return fail(err, -ENOMEM, "out of memory");
	}
	memset(v, 0, sizeof(*v));
	ret = table ? sql_catalog_history(&v->history, catalog, path, err)
		    : fail(err, -EINVAL, "a history has no table \"%s\"", name);
	if (ret) {
		sqlite3_free(v);
		return ret;
	}
	v->catalog = catalog;
	v->table = table;
	*out = v;
	return 0;
}

static int vtab_disconnect(sqlite3_vtab *base)
{
	struct sql_vtab *v = (struct sql_vtab *)base;

	sql_catalog_leave(v->catalog, v->history);
	sqlite3_free(v);
	return SQLITE_OK;
}

static int vtab_connect(sqlite3 *db, void *data, int argc, const char *const *argv,
			sqlite3_vtab **out, char **problem)
{
	struct sql_vtab *v = NULL;
	struct error err = {0};
	char *path, *name, *schema;
	int ret;

	if (argc != 5) {
		*problem = sqlite3_mprintf("sonde(FILE, TABLE) is expected");
		return SQLITE_ERROR;
	}
	path = unquoted(argv[3]);
	name = unquoted(argv[4]);
	ret = make_vtab(&v, data, path, name, &err);
	sqlite3_free(path);
	sqlite3_free(name);
	if (ret) {
		*problem = sqlite3_mprintf("%s", err.text);
		return SQLITE_ERROR;
	}
	schema = sql_declare(v->table);
	ret = schema ? sqlite3_declare_vtab(db, schema) : SQLITE_NOMEM;
	sqlite3_free(schema);
	/* It opens files: not for triggers and views that somebody put into a database. */
	sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
	if (ret)
		vtab_disconnect(&v->base);
	else
		*out = &v->base;
	return ret;
}

static int vtab_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	return sql_plan_make(((struct sql_vtab *)base)->table, info);
}

/* ---- cursors ------------------------------------------------------------------------------- */

static void cursor_clear(struct sql_cursor *c)
{
	if (c->own && c->table->ops->stop)
		c->table->ops->stop(c);
	if (c->own)
		memset(c->own, 0, c->table->ops->cursor_bytes);
	for (unsigned i = 0; c->wants && i < c->table->nr_columns; i++) {
		free(c->wants[i].text);
		free(c->wants[i].glob);
		c->wants[i] = (struct sql_want){.low = INT64_MIN, .high = INT64_MAX};
	}
	c->begin = c->table->all ? c->history->all_begin : c->history->begin;
	c->end = c->table->all ? c->history->all_end : c->history->end;
	c->row = 0;
	c->at_end = true;
}

static int vtab_close(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *c = (struct sql_cursor *)base;

	cursor_clear(c);
	free(c->wants);
	free(c->own);
	free(c);
	return SQLITE_OK;
}

static int vtab_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct sql_vtab *v = (struct sql_vtab *)base;
	struct sql_cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	c->table = v->table;
	c->history = v->history;
	c->wants = calloc(v->table->nr_columns, sizeof(*c->wants));
	c->own = calloc(1, v->table->ops->cursor_bytes + 1);
	if (!c->wants || !c->own) {
		vtab_close(&c->base);
		return SQLITE_NOMEM;
	}
	*out = &c->base;
	return SQLITE_OK;
}

static int vtab_next(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *c = (struct sql_cursor *)base;
	struct error err = {0};
	int ret = sql_history_goes_on(c->history) ? c->table->ops->next(c, &err) : -EINTR;

	c->at_end = ret <= 0;
	c->row++;
	return ret < 0 ? tell(base->pVtab, ret, &err) : SQLITE_OK;
}

static int vtab_filter(sqlite3_vtab_cursor *base, int nr, const char *plan, int argc,
		       sqlite3_value **argv)
{
	struct sql_cursor *c = (struct sql_cursor *)base;
	int64_t begin = sonde_history_begin(c->history->history),
		end = sonde_history_end(c->history->history);
	struct error err = {0};
	bool none = false;
	int ret;

	(void)nr;
	cursor_clear(c);
	ret = sql_plan_read(c, plan ? plan : "", argc, argv, &none, &err);
	if (ret)
		return tell(base->pVtab, ret, &err);
	c->begin = c->begin < begin ? begin : c->begin;
	c->end = c->end > end ? end : c->end;
	if (none || (c->begin >= c->end && c->table->window))
		return SQLITE_OK;
	ret = c->table->ops->start(c, &err);
	return ret ? tell(base->pVtab, ret, &err) : vtab_next(base);
}

static int vtab_eof(sqlite3_vtab_cursor *base)
{
	return ((struct sql_cursor *)base)->at_end;
}

static int vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	struct sql_cursor *c = (struct sql_cursor *)base;
	const struct sql_column *column = &c->table->columns[i];

	if (column->flags & SQL_ARGUMENT)
		sqlite3_result_int64(out, sql_is_window_end(column) ? c->end : c->begin);
	else
		c->table->ops->cell(c, column, out);
	return SQLITE_OK;
}

static int vtab_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct sql_cursor *)base)->row;
	return SQLITE_OK;
}

const sqlite3_module sql_module = {
	.iVersion = 1,
	.xCreate = vtab_connect,
	.xConnect = vtab_connect,
	.xBestIndex = vtab_best_index,
	.xDisconnect = vtab_disconnect,
	.xDestroy = vtab_disconnect,
	.xOpen = vtab_open,
	.xClose = vtab_close,
	.xFilter = vtab_filter,
	.xNext = vtab_next,
	.xEof = vtab_eof,
	.xColumn = vtab_column,
	.xRowid = vtab_rowid,
};
