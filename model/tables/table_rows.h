/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_TABLES_TABLE_ROWS_H
#define MODEL_TABLES_TABLE_ROWS_H

#include "model/state/state.h"

/* Rows of the history's tables, and what several of them have as cells. */

/* Adds the row, or changes those of its cells that are not as they were. */
void table_put_row(struct model *m, enum table table, uint32_t row, const int64_t *cells);
void table_add_row(struct model *m, enum table table, const int64_t *cells);

/* Cells: a text (NULL: none), the row of a machine (NULL: -1). */
int64_t table_string(struct model *m, const char *text);
int64_t table_row_of(struct machine_state *mc);
/* A row of table "meta". */
void table_put_meta(struct model *m, const char *key, const char *value);

#endif
