/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/catalog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sql_table *const own_tables[] = {
	&run_table,	 &machines_table,   &cpus_table,       &threads_table,	&namespaces_table,
	&cgroups_table,	 &states_table,	    &attributes_table, &contexts_table, &wakes_table,
	&vectors_table,	 &events_table,	    &marks_table,      &clocks_table,	&gaps_table,
	&problems_table, &identities_table, &cpu_times_table,  &meta_table,	&cost_table,
};

/* ---- tables of rows ----------------------------------------------------------------------- */

static bool names_a_row(enum sonde_column_type type)
{
	return type == SONDE_COL_MACHINE || type == SONDE_COL_CPU || type == SONDE_COL_THREAD ||
	       type == SONDE_COL_PID_NS;
}

static const char *row_name(const char *name)
{
	size_t room = strlen(name) + sizeof("_row");
	char *text = malloc(room);

	if (text)
		snprintf(text, room, "%s_row", name);
	return text;
}

/* The columns of an analysis, those of the window, and the rows of what its columns name. */
static int facts_table(struct sql_table *t, const struct sonde_table *a, struct error *err)
{
	static const struct sql_column window[] = {SQL_WINDOW};
	struct sql_column *columns =
		calloc(2 * (size_t)a->nr_columns + ARRAY_SIZE(window), sizeof(*columns));
	unsigned n = 0;

	*t = (struct sql_table){
		.name = a->name,
		.help = a->help,
		.columns = columns,
		.ops = &table_rows_ops,
		.what = a,
		.rows = 100,
		.startup = 1e5,
		.window = true,
	};
	if (!columns)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < a->nr_columns; i++)
		columns[n++] = (struct sql_column){.name = a->columns[i].name,
						   .type = a->columns[i].type,
						   .help = a->columns[i].help,
						   .from = i};
	for (unsigned i = 0; i < ARRAY_SIZE(window); i++)
		columns[n++] = window[i];
	for (unsigned i = 0; i < a->nr_columns; i++) {
		if (!names_a_row(a->columns[i].type))
			continue;
		columns[n] = (struct sql_column){.name = row_name(a->columns[i].name),
						 .type = a->columns[i].type,
						 .flags = SQL_HIDDEN | SQL_ROW,
						 .help = "its row",
						 .from = i};
		t->nr_columns = n + 1; /* what there is to release */
		if (!columns[n++].name)
			return fail(err, -ENOMEM, "out of memory");
	}
	t->nr_columns = n;
	return 0;
}

static void rows_table_release(struct sql_table *t)
{
	for (unsigned i = 0; i < t->nr_columns; i++) {
		if (t->columns[i].flags & SQL_ROW)
			free((char *)t->columns[i].name);
	}
	free((struct sql_column *)t->columns);
}

/* ---- the catalog --------------------------------------------------------------------------- */

int sql_catalog_new(struct sql_catalog **out, struct error *err)
{
	unsigned nr_tables;
	const struct sonde_table *const *tables = sonde_tables(&nr_tables);
	struct sql_catalog *c = calloc(1, sizeof(*c));
	int ret = 0;

	*out = NULL;
	if (!c)
		return fail(err, -ENOMEM, "out of memory");
	c->users = 1;
	c->tables = calloc(ARRAY_SIZE(own_tables) + nr_tables, sizeof(*c->tables));
	if (!c->tables)
		ret = fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < ARRAY_SIZE(own_tables) && !ret; i++)
		c->tables[c->nr_tables++] = *own_tables[i];
	for (unsigned i = 0; i < nr_tables && !ret; i++)
		ret = facts_table(&c->tables[c->nr_tables++], tables[i], err);
	if (ret)
		sql_catalog_put(c);
	else
		*out = c;
	return ret;
}

void sql_catalog_put(struct sql_catalog *c)
{
	if (!c || --c->users)
		return;
	for (unsigned i = ARRAY_SIZE(own_tables); i < c->nr_tables; i++)
		rows_table_release(&c->tables[i]);
	free(c->tables);
	free(c);
}

const struct sql_table *sql_catalog_table(const struct sql_catalog *c, const char *name)
{
	for (unsigned i = 0; i < c->nr_tables; i++) {
		if (!sqlite3_stricmp(c->tables[i].name, name))
			return &c->tables[i];
	}
	return NULL;
}

void sql_catalog_add(struct sql_catalog *c, struct sql_history *history)
{
	history->next = c->histories;
	c->histories = history;
}

int sql_catalog_history(struct sql_history **out, struct sql_catalog *c, const char *path,
			struct error *err)
{
	int ret;

	for (struct sql_history *r = c->histories; r; r = r->next) {
		if (!strcmp(r->path, path)) {
			r->users++;
			*out = r;
			return 0;
		}
	}
	ret = sql_history_open(out, path, err);
	if (!ret)
		sql_catalog_add(c, *out);
	return ret;
}

void sql_catalog_leave(struct sql_catalog *c, struct sql_history *history)
{
	struct sql_history **at = &c->histories;

	if (history->users == 1) {
		while (*at && *at != history)
			at = &(*at)->next;
		if (*at)
			*at = history->next;
	}
	sql_history_put(history);
}

int sql_make_tables(sqlite3 *db, const struct sql_catalog *c, const char *path, const char *prefix,
		    struct error *err)
{
	for (unsigned i = 0; i < c->nr_tables; i++) {
		char *text =
			sqlite3_mprintf("CREATE VIRTUAL TABLE temp.\"%w%w\" USING sonde(%Q, %Q)",
					prefix, c->tables[i].name, path, c->tables[i].name);
		int ret = text ? sqlite3_exec(db, text, NULL, NULL, NULL) : SQLITE_NOMEM;

		sqlite3_free(text);
		if (ret)
			return fail(err, ret == SQLITE_NOMEM ? -ENOMEM : -EIO, "%s",
				    sqlite3_errmsg(db));
	}
	return (int)c->nr_tables;
}
