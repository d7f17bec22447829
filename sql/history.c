/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/history.h"
#include "query/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const cost_names[COST_NR] = {
	[COST_ATTRIBUTES] = "attributes", [COST_INTERVALS] = "intervals",  [COST_EVENTS] = "events",
	[COST_TABLES] = "analyses",	  [COST_ANALYSED] = "analysed_ns",
};

const char *sql_cost_name(enum sql_cost cost)
{
	return cost_names[cost];
}

bool sql_history_goes_on(const struct sql_history *r)
{
	return !r->go_on || r->go_on(r->data);
}

/* ---- opening ------------------------------------------------------------------------------- */

static bool index_machines(struct sql_history *r)
{
	for (int64_t row = 0; row < sonde_nr_machines(r->history); row++) {
		struct sonde_machine m;
		attr_t dir;

		sonde_machine_get(r->history, row, &m);
		dir = history_child(r->history->file, ATTR_ROOT, m.name);
		if (dir != ATTR_NONE && map_put(&r->machine_dirs, dir, (uint32_t)row))
			return false;
	}
	return true;
}

/* A CPU's attributes stand in one directory, wherever that is. */
static bool index_cpus(struct sql_history *r)
{
	for (int64_t row = 0; row < sonde_nr_cpus(r->history); row++) {
		const attr_t *attrs = r->history->cpu_attrs[row];

		for (unsigned i = 0; i < CPU_NR_ATTRS; i++) {
			if (attrs[i] == ATTR_NONE)
				continue;
			if (map_put(&r->cpu_dirs, history_parent(r->history->file, attrs[i]),
				    (uint32_t)row))
				return false;
			break;
		}
	}
	return true;
}

int sql_history_new(struct sql_history **out, struct sonde_history *history, struct error *err)
{
	struct sql_history *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (!r) {
		sonde_history_close(history);
		return fail(err, -ENOMEM, "out of memory");
	}
	r->history = history;
	r->users = 1;
	sonde_history_traced(history, &r->begin, &r->end);
	r->all_begin = sonde_history_begin(history);
	r->all_end = sonde_history_end(history);
	r->path = strdup(sonde_history_path(history));
	if (!r->path || !index_machines(r) || !index_cpus(r)) {
		sql_history_put(r);
		return fail(err, -ENOMEM, "out of memory");
	}
	*out = r;
	return 0;
}

int sql_history_open(struct sql_history **out, const char *path, struct error *err)
{
	struct sonde_error why = {0};
	struct sonde_history *history;
	int ret = sonde_history_open(&history, path, &why);

	*out = NULL;
	return ret ? fail(err, ret, "%s", why.text) : sql_history_new(out, history, err);
}

static void rows_free(struct sql_rows *f)
{
	sonde_rows_free(f->rows);
	free(f);
}

void sql_history_put(struct sql_history *r)
{
	if (!r || --r->users)
		return;
	for (unsigned i = 0; i < ROWS_KEPT && r->kept[i]; i++)
		rows_free(r->kept[i]);
	map_release(&r->cpu_dirs);
	map_release(&r->machine_dirs);
	sonde_history_close(r->history);
	free(r->path);
	free(r);
}

/* ---- rows --------------------------------------------------------------------------------- */

static bool is_kept(const struct sql_history *r, const struct sql_rows *f)
{
	for (unsigned i = 0; i < ROWS_KEPT; i++) {
		if (r->kept[i] == f)
			return true;
	}
	return false;
}

/* Puts @f first; what falls off the end goes when nobody reads it any more. */
static void keep_first(struct sql_history *r, struct sql_rows *f)
{
	struct sql_rows *last = f;

	for (unsigned i = 0; i < ROWS_KEPT; i++) {
		struct sql_rows *here = r->kept[i];

		r->kept[i] = last;
		last = here;
		if (!here || here == f)
			return;
	}
	if (!last->users)
		rows_free(last);
}

static struct sql_rows *find_kept(const struct sql_history *r, const struct sonde_table *table,
				  int64_t begin, int64_t end)
{
	for (unsigned i = 0; i < ROWS_KEPT && r->kept[i]; i++) {
		struct sql_rows *f = r->kept[i];

		if (sonde_rows_table(f->rows) == table && f->begin == begin && f->end == end)
			return f;
	}
	return NULL;
}

static int compute(struct sql_rows **out, struct sql_history *r, const struct sonde_table *table,
		   int64_t begin, int64_t end, struct error *err)
{
	struct sql_rows *f = calloc(1, sizeof(*f));
	struct sonde_error why = {0};
	int ret;

	if (!f)
		return fail(err, -ENOMEM, "out of memory");
	f->begin = begin;
	f->end = end;
	ret = sonde_rows_get(&f->rows, r->history, table->name, begin, end, &why);
	if (ret) {
		free(f);
		return fail(err, ret, "%s", why.text);
	}
	r->cost[COST_TABLES]++;
	r->cost[COST_ANALYSED] += (uint64_t)(end - begin);
	*out = f;
	return 0;
}

int sql_rows_get(struct sql_rows **out, struct sql_history *r, const struct sonde_table *table,
		 int64_t begin, int64_t end, struct error *err)
{
	struct sql_rows *f = find_kept(r, table, begin, end);
	int ret = f ? 0 : compute(&f, r, table, begin, end, err);

	if (ret)
		return ret;
	f->users++;
	keep_first(r, f);
	*out = f;
	return 0;
}

void sql_rows_put(struct sql_history *r, struct sql_rows *f)
{
	if (f && !--f->users && !is_kept(r, f))
		rows_free(f);
}
