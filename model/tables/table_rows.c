/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tables/table_rows.h"

#include <assert.h>
#include <string.h>

#include "model/identity/machine.h"

void table_put_row(struct model *m, enum table table, uint32_t row, const int64_t *cells)
{
	assert(row <= m->nr_written[table]);
	if (row == m->nr_written[table]) {
		history_writer_row(m->w, m->tables[table], cells);
		m->nr_written[table]++;
		return;
	}
	history_writer_change_row(m->w, m->tables[table], row, cells);
}

void table_add_row(struct model *m, enum table table, const int64_t *cells)
{
	table_put_row(m, table, m->nr_written[table], cells);
}

int64_t table_string(struct model *m, const char *text)
{
	return text ? history_writer_string(m->w, text, strlen(text)) : 0;
}

int64_t table_row_of(struct machine_state *mc)
{
	return mc ? (int64_t)machine_root(mc)->row : -1;
}

void table_put_meta(struct model *m, const char *key, const char *value)
{
	int64_t cells[] = {table_string(m, key), table_string(m, value)};

	table_add_row(m, TABLE_META, cells);
}
