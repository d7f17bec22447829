/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_TABLES_TABLES_H
#define MODEL_TABLES_TABLES_H

#include "model/state/state.h"

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

#endif
