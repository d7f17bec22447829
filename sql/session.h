/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SQL_SESSION_H
#define SQL_SESSION_H

#include "sql/catalog.h"

/*
 * A database of its own in memory, with the tables of one history and nothing else, for one who
 * asks `sonde sql`: SELECT is all it does.  What would write, attach, load or change settings is
 * refused before it runs; what a query may use of memory is bounded, and larger sorts go through
 * temporary files that have no name.
 */
struct sql_session;

/* Takes @history, in case of an error, too.  [begin, end): the window.  @go_on is asked now and
 * then while a query runs; false ends it with -EINTR.  May be NULL. */
int sql_session_open(struct sql_session **out, struct sonde_history *history, int64_t begin,
		     int64_t end, bool (*go_on)(void *data), void *data, struct error *err);
void sql_session_close(struct sql_session *s);

const struct sql_catalog *sql_session_catalog(const struct sql_session *s);
const struct sql_history *sql_session_history(const struct sql_session *s);

/* Whether the last query read SQLite's own list of tables, which is empty: ours are not made but
 * there. */
bool sql_session_asked_of_schema(const struct sql_session *s);

/* A value; text and blobs belong to SQLite until the next row. */
struct sql_value {
	enum { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB } kind;
	int64_t i;
	double real;
	const char *bytes; /* text ends in a NUL, too */
	size_t len;
};

/* Where an answer goes.  begin() comes before the first row, if there is any or none. */
struct sql_sink {
	int (*begin)(const char *const *names, unsigned nr, void *data);
	int (*row)(const struct sql_value *values, unsigned nr, void *data);
	void *data;
};

/*
 * Runs one statement.  *at: when not negative, the error is at this byte of @text.  -EINVAL: the
 * query is wrong; -EACCES: it does what is refused; -EINTR; what the sink returned; other -errno.
 */
int sql_session_query(struct sql_session *s, const char *text, const struct sql_sink *sink, int *at,
		      struct error *err);

#endif
