/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SQL_CATALOG_H
#define SQL_CATALOG_H

#include "sql/table.h"

/*
 * All tables there are: those of the history itself, and one per analysis, made from its columns. A
 * database connection has one catalog, and in it the runs that are open.
 */
struct sql_catalog {
	struct sql_table *tables; /* owned */
	unsigned nr_tables;
	struct sql_history *histories; /* each used by the tables made of it */
	unsigned users;
};

/* Its one user is the caller. */
int sql_catalog_new(struct sql_catalog **out, struct error *err);
void sql_catalog_put(struct sql_catalog *c);

const struct sql_table *sql_catalog_table(const struct sql_catalog *c, const char *name);

/* The history opened as @path, opened if it is not; the caller becomes a user of it. */
int sql_catalog_history(struct sql_history **out, struct sql_catalog *c, const char *path,
			struct error *err);
/* Puts a history that was opened elsewhere in, without becoming a user. */
void sql_catalog_add(struct sql_catalog *c, struct sql_history *history);
/* The end of one use. */
void sql_catalog_leave(struct sql_catalog *c, struct sql_history *history);

/*
 * Makes the module "sonde" and the functions known to a connection:
 *
 *	CREATE VIRTUAL TABLE temp.NAME USING sonde(FILE, TABLE)
 *	sonde_open(FILE[, PREFIX])  all tables of a history, as temporary tables PREFIXname
 *	sonde_time(TEXT)            a time as people write them, of the history opened last
 *	sonde_field(FIELDS, NAME)   one field of an event's text
 */
int sql_register(sqlite3 *db, struct sql_catalog *c);

/* sonde_open(): returns the number of tables. */
int sql_make_tables(sqlite3 *db, const struct sql_catalog *c, const char *path, const char *prefix,
		    struct error *err);

#endif
