/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_SQL_OUTPUT_H
#define CMD_ANSWERS_SQL_OUTPUT_H

#include "cmd/common/command.h"
#include "sql/session.h"

/*
 * The answer of a query as a table, JSON or CSV, written as it comes.  Only the table keeps rows,
 * to know how wide columns are: some thousands; more rows make another table below, with the same
 * head.
 */
struct sql_output {
	const struct invocation *inv;
	struct json json;
	char **names; /* owned, each owned: of columns, no two the same */
	unsigned nr;
	uint64_t nr_rows;
	char **cells;  /* owned, each owned: of the rows that wait, row by row; NULL unknown */
	bool *is_text; /* owned, per column: something in these rows is no number */
	size_t nr_waiting, bytes_waiting;
};

struct sql_sink sql_output_sink(struct sql_output *o, const struct invocation *inv);

/* Writes what waits, if the query went well, and releases. */
int sql_output_end(struct sql_output *o, bool went_well);

#endif
