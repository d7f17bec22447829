/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_MAX_BYTES (INT64_C(512) << 20)
#define VALUE_MAX_BYTES (16 << 20)
#define QUERY_MAX_BYTES (1 << 20)
#define STEPS_PER_QUESTION 1000

struct sql_session {
	sqlite3 *db;
	struct sql_catalog *catalog;
	struct sql_history *history;
	char refused[160];   /* what was, since the query began */
	bool asks_of_schema; /* so does the query */
};

/* ---- what is allowed ----------------------------------------------------------------------- */

static const struct {
	int action;
	const char *what;
} refusals[] = {
	{SQLITE_ATTACH, "ATTACH"},
	{SQLITE_DETACH, "DETACH"},
	{SQLITE_INSERT, "INSERT"},
	{SQLITE_UPDATE, "UPDATE"},
	{SQLITE_DELETE, "DELETE"},
	{SQLITE_PRAGMA, "PRAGMA"},
	{SQLITE_TRANSACTION, "a transaction"},
	{SQLITE_SAVEPOINT, "a savepoint"},
	{SQLITE_FUNCTION, "the function"},
	{SQLITE_CREATE_VTABLE, "CREATE"},
	{SQLITE_DROP_VTABLE, "DROP"},
};

static const char *refusal(int action)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		if (refusals[i].action == action)
			return refusals[i].what;
	}
	return action >= SQLITE_DROP_INDEX && action <= SQLITE_DROP_VIEW ? "DROP"
	       : action <= SQLITE_CREATE_VIEW				 ? "CREATE"
									 : "this statement";
}

static bool is_one_of(const char *text, const char *const *list)
{
	for (; text && *list; list++) {
		if (!sqlite3_stricmp(text, *list))
			return true;
	}
	return false;
}

/* Pragmas that only tell, and functions that do more than that. */
static const char *const pragmas[] = {"table_info",	"table_xinfo", "table_list",
				      "function_list",	"module_list", "compile_options",
				      "collation_list", NULL};
static const char *const functions[] = {
	"load_extension", "sonde_open", "fts3_tokenizer", "writefile", "readfile", "edit", NULL};

static const char *const masters[] = {"sqlite_master", "sqlite_temp_master", NULL};

static int authorize(void *data, int action, const char *a, const char *b, const char *db,
		     const char *trigger)
{
	struct sql_session *s = data;
	const char *which = action == SQLITE_FUNCTION ? b : action == SQLITE_PRAGMA ? a : NULL;

	(void)db;
	(void)trigger;
	s->asks_of_schema |= action == SQLITE_READ && is_one_of(a, masters);
	if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
		return SQLITE_OK;
	if (action == SQLITE_FUNCTION && !is_one_of(b, functions))
		return SQLITE_OK;
	if (action == SQLITE_PRAGMA && is_one_of(a, pragmas))
		return SQLITE_OK;
	/* So SQLite asks when it makes its own table functions known (json_each()); a query that
	 * says so is refused elsewhere. */
	if (action == SQLITE_UPDATE && is_one_of(a, masters))
		return SQLITE_OK;
	/* What is made is noted in a table first. */
	if (action == SQLITE_INSERT && a && !sqlite3_strnicmp(a, "sqlite_", 7))
		action = SQLITE_CREATE_TABLE;
	snprintf(s->refused, sizeof(s->refused), "%s%s%s is refused: a history is only read",
		 refusal(action), which ? " " : "", which ? which : "");
	return SQLITE_DENY;
}

static int ask_to_go_on(void *data)
{
	const struct sql_session *s = data;

	return !sql_history_goes_on(s->history);
}

/* ---- opening ------------------------------------------------------------------------------- */

static int set_bounds(struct sql_session *s, struct error *err)
{
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
	sqlite3_limit(s->db, SQLITE_LIMIT_SQL_LENGTH, QUERY_MAX_BYTES);
	sqlite3_limit(s->db, SQLITE_LIMIT_WORKER_THREADS, 0);
	sqlite3_hard_heap_limit64(HEAP_MAX_BYTES);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_progress_handler(s->db, STEPS_PER_QUESTION, ask_to_go_on, s);
	if (sqlite3_set_authorizer(s->db, authorize, s))
		return fail(err, -ENOMEM, "out of memory");
	return 0;
}

static int open_database(struct sql_session *s, struct error *err)
{
	int ret = sql_catalog_new(&s->catalog, err);

	if (ret)
		return ret;
	sql_catalog_add(s->catalog, s->history);
	if (sqlite3_open_v2(":memory:", &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
			    NULL) ||
	    sql_register(s->db, s->catalog))
		return fail(err, -ENOMEM, "SQLite: %s",
			    s->db ? sqlite3_errmsg(s->db) : "out of memory");
	ret = sql_make_tables(s->db, s->catalog, s->history->path, "", err);
	return ret < 0 ? ret : set_bounds(s, err);
}

int sql_session_open(struct sql_session **out, struct sonde_history *history, int64_t begin,
		     int64_t end, bool (*go_on)(void *data), void *data, struct error *err)
{
	struct sql_session *s = calloc(1, sizeof(*s));
	int ret;

	*out = NULL;
	if (!s) {
		sonde_history_close(history);
		return fail(err, -ENOMEM, "out of memory");
	}
	ret = sql_history_new(&s->history, history, err);
	if (!ret) {
		if (begin < end) {
			s->history->begin = s->history->all_begin = begin;
			s->history->end = s->history->all_end = end;
		}
		s->history->go_on = go_on;
		s->history->data = data;
		ret = open_database(s, err);
	}
	if (ret)
		sql_session_close(s);
	else
		*out = s;
	return ret;
}

void sql_session_close(struct sql_session *s)
{
	if (!s)
		return;
	sqlite3_close_v2(s->db);
	if (s->catalog)
		sql_catalog_leave(s->catalog, s->history);
	else
		sql_history_put(s->history);
	sql_catalog_put(s->catalog);
	free(s);
}

const struct sql_catalog *sql_session_catalog(const struct sql_session *s)
{
	return s->catalog;
}

const struct sql_history *sql_session_history(const struct sql_session *s)
{
	return s->history;
}

bool sql_session_asked_of_schema(const struct sql_session *s)
{
	return s->asks_of_schema;
}

/* ---- asking -------------------------------------------------------------------------------- */

static int explain(struct sql_session *s, int code, int *at, struct error *err)
{
	const char *text = sqlite3_errmsg(s->db);
	const char *hint = "";

	if (code == SQLITE_INTERRUPT)
		return fail(err, -EINTR, "interrupted");
	if (*s->refused)
		return fail(err, -EACCES, "%s", s->refused);
	if (code == SQLITE_NOMEM)
		return fail(
			err, -ENOMEM,
			"the query needs more memory than it may have (%d MB), or there is: ask "
			"for less at a time",
			(int)(HEAP_MAX_BYTES >> 20));
	if ((code & 0xff) == SQLITE_IOERR) /* tables: sql/vtab.c */
		return fail(err, -EIO, "%s", text);
	*at = sqlite3_error_offset(s->db);
	if (!strncmp(text, "no such table", 13) || !strncmp(text, "no such column", 14))
		hint = "; sonde sql --schema lists what there is";
	return fail(err, -EINVAL, "%s%s", text, hint);
}

static void read_value(sqlite3_stmt *stmt, int i, struct sql_value *out)
{
	*out = (struct sql_value){0};
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		out->kind = SQL_INTEGER;
		out->i = sqlite3_column_int64(stmt, i);
		break;
	case SQLITE_FLOAT:
		out->kind = SQL_REAL;
		out->real = sqlite3_column_double(stmt, i);
		break;
	case SQLITE_TEXT:
		out->kind = SQL_TEXT;
		out->bytes = (const char *)sqlite3_column_text(stmt, i);
		out->len = (size_t)sqlite3_column_bytes(stmt, i);
		break;
	case SQLITE_BLOB:
		out->kind = SQL_BLOB;
		out->bytes = sqlite3_column_blob(stmt, i);
		out->len = (size_t)sqlite3_column_bytes(stmt, i);
		break;
	default:
		break;
	}
	if (out->kind == SQL_TEXT && !out->bytes)
		out->kind = SQL_NULL; /* no memory: the next step tells */
}

static int run_statement(struct sql_session *s, sqlite3_stmt *stmt, const struct sql_sink *sink,
			 int *at, struct error *err)
{
	unsigned nr = (unsigned)sqlite3_column_count(stmt);
	const char **names = calloc(nr + 1, sizeof(*names));
	struct sql_value *values = calloc(nr + 1, sizeof(*values));
	int ret = names && values ? 0 : fail(err, -ENOMEM, "out of memory");
	int step = SQLITE_DONE;

	for (unsigned i = 0; i < nr && !ret; i++) {
		names[i] = sqlite3_column_name(stmt, (int)i);
		if (!names[i])
			ret = fail(err, -ENOMEM, "out of memory");
	}
	if (!ret)
		ret = sink->begin(names, nr, sink->data);
	while (!ret && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		for (unsigned i = 0; i < nr; i++)
			read_value(stmt, (int)i, &values[i]);
		ret = sink->row(values, nr, sink->data);
	}
	if (!ret && step != SQLITE_DONE)
		ret = explain(s, step, at, err);
	free(names);
	free(values);
	return ret;
}

int sql_session_query(struct sql_session *s, const char *text, const struct sql_sink *sink, int *at,
		      struct error *err)
{
	sqlite3_stmt *stmt = NULL, *more = NULL;
	const char *rest;
	int ret, code;

	*at = -1;
	*s->refused = '\0';
	s->asks_of_schema = false;
	code = sqlite3_prepare_v2(s->db, text, -1, &stmt, &rest);
	if (code)
		return explain(s, code, at, err);
	if (!stmt)
		return fail(err, -EINVAL, "there is no statement in this query");
	/* What has no columns is no question: VACUUM asks only while it runs. */
	if (!sqlite3_column_count(stmt))
		ret = fail(err, -EACCES, "this is refused: a history is only read, with SELECT");
	/* Only what is one more statement counts as more. */
	else if (*rest && (sqlite3_prepare_v2(s->db, rest, -1, &more, NULL) || more)) {
		*at = (int)(rest - text);
		ret = fail(err, -EINVAL, "one statement at a time: there is more behind the first");
	} else {
		*s->refused = '\0';
		ret = run_statement(s, stmt, sink, at, err);
	}
	sqlite3_finalize(more);
	sqlite3_finalize(stmt);
	return ret;
}
