/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_TABLES_H
#define MODEL_TABLES_H

#include "model/state.h"

/* What the parts of model/tables*.c share.  What tables are, and when their rows are written, is
 * told in tables.c. */
struct table_schema {
	const char *name;
	const struct column *columns;
	unsigned nr_columns;
};
extern const struct table_schema table_schemas[NR_TABLES];

void tables_open(struct model *m);
void tables_close(struct model *m, ns_t end);

/* Adds the row, or changes those of its cells that are not as they were. */
void table_put_row(struct model *m, enum table table, uint32_t row, const int64_t *cells);
void table_add_row(struct model *m, enum table table, const int64_t *cells);

/* Cells: a text (NULL: none), the row of a machine (NULL: -1). */
int64_t table_string(struct model *m, const char *text);
int64_t table_row_of(struct machine_state *mc);

/* Those from row @from on; the last piece of a clock holds until @end. */
void tables_put_clocks(struct model *m, ns_t end);
void tables_put_losses(struct model *m, uint32_t from, ns_t end);

/* Once, at the end. */
void tables_write_problems(struct model *m);
void tables_write_meta(struct model *m, ns_t end);

#endif
