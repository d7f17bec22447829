/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include "report/json.h"
#include "report/table.h"
#include "sonde/tables.h"

/* Rows as text and as JSON: one way for all analyses, driven by the types of their columns. */

struct rows_view {
	size_t rows_max;	    /* 0 = all; the others are told as a number */
	const char *const *hide;    /* names of columns left out; NULL-terminated, or NULL */
	const char *const *explain; /* of those shown, which are explained below; the same */
	bool keep_empty; /* else columns that are zero or unknown all over are left out */
};

/* Prints a table; nothing at all, title included, when there are no rows. */
int rows_print(const struct screen *screen, struct sonde_history *history,
	       const struct sonde_rows *rows, const struct rows_view *view);

/* An array of objects under @key; each column is a member.  docs/formats/json.md has the forms of
 * references to machines, CPUs, threads and namespaces. */
void rows_json(struct json *j, const char *key, struct sonde_history *history,
	       const struct sonde_rows *rows);

/* One row of them: an object. */
void rows_json_row(struct json *j, struct sonde_history *history, const struct sonde_rows *rows,
		   size_t row);

/* One cell as text. */
char *rows_cell_text(struct sonde_history *history, enum sonde_column_type type,
		     union sonde_cell cell, char *buf, size_t room);

/* References, also for other users: {"row": 3, "machine": "vm-a", "cpu": 1} and the like. */
void json_machine(struct json *j, const char *key, const struct sonde_history *history,
		  int64_t row);
/* What a machine is, into an object that has begun; who is around it is the caller's to tell. */
void json_machine_members(struct json *j, const struct sonde_history *history, int64_t row);
/* The traces left out, the first @most of them, as the array "left_out". */
void json_left_out(struct json *j, const struct sonde_history *history, int64_t most);
void json_cpu(struct json *j, const char *key, const struct sonde_history *history, int64_t row);
void json_thread(struct json *j, const char *key, const struct sonde_history *history, int64_t row);
void json_pid_ns(struct json *j, const char *key, const struct sonde_history *history, int64_t row);

#endif
