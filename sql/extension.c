/* SPDX-License-Identifier: Apache-2.0 */
/* Histories for any program that uses SQLite: .load build/sonde_sqlite */
#include "sql/catalog.h"

SQLITE_EXTENSION_INIT1

__attribute__((visibility("default"))) int
sqlite3_sondesqlite_init(sqlite3 *db, char **problem, const sqlite3_api_routines *api);

/* The name follows from the file's, sonde_sqlite.so. */
int sqlite3_sondesqlite_init(sqlite3 *db, char **problem, const sqlite3_api_routines *api)
{
	struct sql_catalog *c;
	struct error err = {0};
	int ret;

	SQLITE_EXTENSION_INIT2(api);
	if (sql_catalog_new(&c, &err)) {
		*problem = sqlite3_mprintf("%s", err.text);
		return SQLITE_ERROR;
	}
	ret = sql_register(db, c);
	sql_catalog_put(c);
	return ret;
}
