/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SQL_PLAN_H
#define SQL_PLAN_H

#include "sql/table.h"

/*
 * How a table is going to be asked, found out once per query, and the values that come with each
 * time it is asked.  Between the two stands a text that EXPLAIN QUERY PLAN shows: "path= begin<".
 */
int sql_plan_make(const struct sql_table *table, sqlite3_index_info *info);

/* Fills in the wants and the window of a cursor.  *none: no row can be wanted. */
int sql_plan_read(struct sql_cursor *c, const char *plan, int argc, sqlite3_value **argv,
		  bool *none, struct error *err);

#endif
