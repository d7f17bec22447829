/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SQL_SQLITE_H
#define SQL_SQLITE_H

/*
 * SQLite, as this folder's files call it.  They are compiled twice: into the program, which is
 * linked with libsqlite3 (SQLITE_CORE), and into an extension that SQLite loads, whose calls go
 * through a table that the loading SQLite hands over in extension.c.
 */
#include <sqlite3ext.h>

#ifndef SQLITE_CORE
extern const sqlite3_api_routines *sqlite3_api;
#endif

#endif
