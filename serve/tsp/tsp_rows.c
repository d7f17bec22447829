/* SPDX-License-Identifier: Apache-2.0 */
/* What analyses find, as tables, and as trees by machine. */
#include "serve/tsp/tsp_session.h"
#include "serve/tsp/tsp_table.h"
#include "report/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUN_COLUMN 1000
#define TIME_COLUMN 1001

/* ---- rows that are kept ------------------------------------------------------------------- */

void tsp_rows_release(struct tsp *tsp)
{
	for (unsigned i = 0; i < TSP_CACHED_ROWS; i++)
		sonde_rows_free(tsp->rows[i].rows);
}

/* With .facts_lock held, until the rows are not used any more. */
static int get_rows(struct tsp *tsp, const struct tsp_part *p, const struct sonde_table *a,
		    const struct sonde_rows **out, struct error *err)
{
	struct tsp_cached_rows *place = &tsp->rows[0];
	struct sonde_error why = {0};
	int64_t begin, end;
	int ret;

	for (unsigned i = 0; i < TSP_CACHED_ROWS; i++) {
		struct tsp_cached_rows *f = &tsp->rows[i];

		if (f->rows && f->history == p->history && f->table == a) {
			f->used = ++tsp->now;
			*out = f->rows;
			return 0;
		}
		if (f->used < place->used)
			place = f;
	}
	sonde_rows_free(place->rows);
	*place = (struct tsp_cached_rows){.history = p->history, .table = a};
	sonde_history_traced(p->history, &begin, &end);
	ret = sonde_rows_get(&place->rows, p->history, a->name, begin, end, &why);
	if (ret) {
		*place = (struct tsp_cached_rows){0};
		return fail(err, ret, "%s", why.text);
	}
	place->used = ++tsp->now;
	*out = place->rows;
	return 0;
}

/* ---- tables -------------------------------------------------------------------------------- */

struct table {
	const struct tsp_view *view;
	const struct sonde_table *table;
	const struct sonde_rows *rows[TSP_HISTORIES_MAX];
	int time_column; /* of the analysis, -1 none */
	bool with_run;
	/* The current line. */
	unsigned part;
	size_t row;
};

static int first_time_column(const struct sonde_table *a)
{
	for (unsigned i = 0; i < a->nr_columns; i++) {
		if (a->columns[i].type == SONDE_COL_TIME)
			return (int)i;
	}
	return -1;
}

/* Counts are written with commas between thousands, lengths with units: texts. */
static void add_columns(struct tsp_rows *rows, const struct table *t)
{
	if (t->with_run)
		tsp_add_column(rows, RUN_COLUMN, "History", "The history it was found in",
			       "STRING");
	for (unsigned i = 0; i < t->table->nr_columns; i++)
		tsp_add_column(rows, i, t->table->columns[i].title, t->table->columns[i].help,
			       "STRING");
	if (t->time_column >= 0)
		tsp_add_column(rows, TIME_COLUMN, TSP_TIME_COLUMN, "When, for programs",
			       "TIMESTAMP");
}

static int go_to(void *data, int64_t index)
{
	struct table *t = data;

	for (t->part = 0; t->part < t->view->nr; t->part++) {
		int64_t nr = (int64_t)sonde_rows_nr(t->rows[t->part]);

		if (index < nr) {
			t->row = (size_t)index;
			return 0;
		}
		index -= nr;
	}
	return -ENOENT;
}

static int64_t time_of_row(const struct table *t)
{
	return tsp_time(&t->view->parts[t->part],
			sonde_rows_cell(t->rows[t->part], t->row, (unsigned)t->time_column).i);
}

static void cell_text(void *data, unsigned column, char buf[static TSP_CELL_MAX])
{
	const struct table *t = data;
	const struct tsp_part *p = &t->view->parts[t->part];
	const char *slash = strrchr(p->path, '/');

	if (t->with_run && !column--) {
		snprintf(buf, TSP_CELL_MAX, "%s", slash ? slash + 1 : p->path);
		return;
	}
	if (column == t->table->nr_columns) {
		snprintf(buf, TSP_CELL_MAX, "%" PRId64, time_of_row(t));
		return;
	}
	rows_cell_text(p->history, t->table->columns[column].type,
		       sonde_rows_cell(t->rows[t->part], t->row, column), buf, TSP_CELL_MAX);
}

/* The line whose time is the next one; lines may be in any order. */
static int64_t find_time(void *data, int64_t time)
{
	struct table *t = data;
	int64_t index = 0, best = -1, best_time = INT64_MAX;

	if (t->time_column < 0)
		return 0;
	for (t->part = 0; t->part < t->view->nr; t->part++) {
		for (t->row = 0; t->row < sonde_rows_nr(t->rows[t->part]); t->row++) {
			int64_t at = time_of_row(t);

			if (at >= time && (best < 0 || at < best_time)) {
				best = index;
				best_time = at;
			}
			index++;
		}
	}
	return best < 0 ? index : best;
}

static void table_init(struct table *t, struct tsp_rows *rows, const struct tsp_call *c)
{
	*t = (struct table){
		.view = &c->view,
		.table = c->output.table,
		.time_column = first_time_column(c->output.table),
		.with_run = c->view.nr > 1,
	};
	*rows = (struct tsp_rows){.data = t, .go = go_to, .text = cell_text, .at_time = find_time};
	add_columns(rows, t);
}

int tsp_columns(struct tsp_call *c, struct error *err)
{
	struct tsp_rows rows;
	struct table t;

	if (c->output.kind == TSP_EVENTS)
		return tsp_event_columns(c, err);
	if (c->output.kind != TSP_ROWS)
		return fail(err, -EINVAL, "%s is no table", c->output.id);
	table_init(&t, &rows, c);
	tsp_put_columns(c, &rows);
	return 0;
}

int tsp_lines(struct tsp_call *c, struct error *err)
{
	struct tsp_rows rows;
	struct table t;
	int ret = 0;

	if (c->output.kind == TSP_EVENTS)
		return tsp_event_lines(c, err);
	if (c->output.kind != TSP_ROWS)
		return fail(err, -EINVAL, "%s is no table", c->output.id);
	table_init(&t, &rows, c);
	pthread_mutex_lock(&c->tsp->rows_lock);
	for (unsigned i = 0; i < c->view.nr && !ret; i++) {
		ret = get_rows(c->tsp, &c->view.parts[i], t.table, &t.rows[i], err);
		if (!ret)
			rows.size += (int64_t)sonde_rows_nr(t.rows[i]);
	}
	if (!ret)
		ret = tsp_put_lines(c, &rows, err);
	pthread_mutex_unlock(&c->tsp->rows_lock);
	return ret;
}

/* ---- trees --------------------------------------------------------------------------------- */

/* The column that names what a row is about: the innermost such; what is left are numbers. */
static int key_column(const struct sonde_table *a)
{
	static const enum sonde_column_type keys[] = {SONDE_COL_PID_NS, SONDE_COL_THREAD,
						      SONDE_COL_CPU, SONDE_COL_STRING,
						      SONDE_COL_MACHINE};

	for (unsigned k = 0; k < ARRAY_SIZE(keys); k++) {
		if (keys[k] == SONDE_COL_PID_NS && a->columns[0].type != SONDE_COL_PID_NS)
			continue; /* a process' container says where it is, not what it is */
		for (unsigned i = 0; i < a->nr_columns; i++) {
			if (a->columns[i].type == keys[k])
				return (int)i;
		}
	}
	return 0;
}

/* The machine a row belongs to, 0 when it does not tell. */
static int64_t machine_of_row(struct sonde_history *history, const struct sonde_rows *f, size_t row)
{
	const struct sonde_table *a = sonde_rows_table(f);
	int64_t machine = -1;

	for (unsigned i = 0; i < a->nr_columns && machine < 0; i++) {
		union sonde_cell cell = sonde_rows_cell(f, row, i);
		struct sonde_cpu cpu;

		if (a->columns[i].type == SONDE_COL_MACHINE)
			machine = cell.i;
		else if (a->columns[i].type == SONDE_COL_CPU &&
			 !sonde_cpu_get(history, cell.i, &cpu))
			machine = (int64_t)cpu.machine;
	}
	return machine < 0 ? 0 : machine;
}

static void put_labels(struct tsp_call *c, const struct tsp_part *p, const struct sonde_rows *f,
		       size_t row, int key)
{
	const struct sonde_table *a = sonde_rows_table(f);
	char text[TSP_CELL_MAX];

	rows_cell_text(p->history, a->columns[key].type, sonde_rows_cell(f, row, (unsigned)key),
		       text, sizeof(text));
	json_str(&c->json, NULL, text);
	for (unsigned i = 0; i < a->nr_columns; i++) {
		if ((int)i == key)
			continue;
		rows_cell_text(p->history, a->columns[i].type, sonde_rows_cell(f, row, i), text,
			       sizeof(text));
		json_str(&c->json, NULL, text);
	}
}

static void begin_entry(struct json *j, int64_t id, int64_t parent)
{
	json_begin_object(j, NULL);
	json_int(j, "id", id);
	json_int(j, "parentId", parent);
	json_begin_array(j, "labels");
}

static void end_entry(struct json *j)
{
	json_end(j);
	json_bool(j, "hasData", true);
	json_end(j);
}

/* A machine; where rows are about machines, with its row's numbers. */
static void put_machine(struct tsp_call *c, const struct tsp_part *p, const struct sonde_rows *f,
			int64_t machine, int key)
{
	const struct sonde_table *a = sonde_rows_table(f);
	struct sonde_machine m;
	bool filled = false;

	sonde_machine_get(p->history, machine, &m);
	begin_entry(&c->json, tsp_entry_id(p, TSP_MACHINE, machine),
		    m.parent < 0 ? -1 : tsp_entry_id(p, TSP_MACHINE, m.parent));
	for (size_t row = 0; row < sonde_rows_nr(f) && !filled; row++) {
		if (a->columns[key].type != SONDE_COL_MACHINE ||
		    sonde_rows_cell(f, row, (unsigned)key).i != machine)
			continue;
		put_labels(c, p, f, row, key);
		filled = true;
	}
	if (!filled)
		json_str(&c->json, NULL, m.name);
	for (unsigned i = 1; i < a->nr_columns && !filled; i++)
		json_str(&c->json, NULL, "");
	end_entry(&c->json);
}

/* Rows have numbers behind all entries: they are of this answer only. */
static void put_part(struct tsp_call *c, const struct tsp_part *p, const struct sonde_rows *f,
		     int64_t first_id, int key)
{
	for (int64_t m = 0; m < sonde_nr_machines(p->history); m++)
		put_machine(c, p, f, m, key);
	if (sonde_rows_table(f)->columns[key].type == SONDE_COL_MACHINE)
		return;
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		int64_t machine = machine_of_row(p->history, f, row);

		begin_entry(&c->json, first_id + (int64_t)row,
			    tsp_entry_id(p, TSP_MACHINE, machine));
		put_labels(c, p, f, row, key);
		end_entry(&c->json);
	}
}

static void put_headers(struct tsp_call *c, int key)
{
	const struct sonde_table *a = c->output.table;
	struct json *j = &c->json;

	json_begin_array(j, "headers");
	tsp_put_header(j, a->columns[key].title, a->columns[key].help, "STRING");
	for (unsigned i = 0; i < a->nr_columns; i++) {
		if ((int)i != key)
			tsp_put_header(j, a->columns[i].title, a->columns[i].help, "STRING");
	}
	json_end(j);
}

/* The range that is asked for, else where each history's physical machine was traced. */
int tsp_data_tree(struct tsp_call *c, struct error *err)
{
	const struct tsp_view *v = &c->view;
	struct tsp_range range = {.start = v->begin, .end = v->end};
	int key = c->output.table ? key_column(c->output.table) : 0;
	const struct tsp_part *last = &v->parts[v->nr - 1];
	int64_t first_id = last->first_id + tsp_nr_entries(last->history);
	int ret = tsp_query_range(c->query, &range, err);
	bool all = ret == -ENODATA;

	if (c->output.kind != TSP_STATISTICS)
		return fail(err, -EINVAL, "%s is no tree of data", c->output.id);
	if (ret && !all)
		return ret;
	ret = 0;
	json_begin_object(&c->json, "model");
	put_headers(c, key);
	json_begin_array(&c->json, "entries");
	for (unsigned i = 0; i < v->nr && !ret; i++) {
		struct sonde_error why = {0};
		struct sonde_rows *f;
		int64_t begin, end;

		if (!tsp_clip(&v->parts[i], range.start, range.end, &begin, &end))
			continue;
		if (all)
			sonde_history_traced(v->parts[i].history, &begin, &end);
		ret = sonde_rows_get(&f, v->parts[i].history, c->output.table->name, begin, end,
				     &why);
		if (ret)
			return fail(err, ret, "%s", why.text);
		put_part(c, &v->parts[i], f, first_id, key);
		first_id += (int64_t)sonde_rows_nr(f);
		sonde_rows_free(f);
	}
	json_end(&c->json);
	json_int(&c->json, "autoExpandLevel", -1);
	json_end(&c->json);
	return 0;
}
