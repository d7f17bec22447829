/* SPDX-License-Identifier: Apache-2.0 */
/* What analyses find in a window, as rows. */
#include "serve/api/api.h"
#include "base/now.h"
#include "serve/api/cache.h"
#include "sonde/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define EXACT_MAX (INT64_C(1) << 53) /* a page's numbers hold no more */
#define CACHE_FROM_NS 200000000	     /* what took less is found anew */
_Static_assert(CACHE_ROWS_MAX >= TABLE_ROWS_MAX, "what is kept answers every question");

static const char *const type_names[] = {
	[SONDE_COL_INT] = "int",       [SONDE_COL_SIGNED] = "signed",	[SONDE_COL_NS] = "ns",
	[SONDE_COL_TIME] = "time",     [SONDE_COL_PPM] = "ppm",		[SONDE_COL_BOOL] = "bool",
	[SONDE_COL_STRING] = "string", [SONDE_COL_MACHINE] = "machine", [SONDE_COL_CPU] = "cpu",
	[SONDE_COL_THREAD] = "thread", [SONDE_COL_PID_NS] = "pid_ns",	[SONDE_COL_MODE] = "mode",
};

static void write_columns(struct json *j, const struct sonde_table *a)
{
	json_begin_array(j, "columns");
	for (unsigned i = 0; i < a->nr_columns; i++) {
		const struct sonde_column *col = &a->columns[i];

		json_begin_object(j, NULL);
		json_str(j, "name", col->name);
		json_str(j, "title", col->title);
		json_str(j, "type", type_names[col->type]);
		json_str(j, "help", col->help);
		json_end(j);
	}
	json_end(j);
}

static void write_cell(struct json *j, const struct call *c, enum sonde_column_type type,
		       union sonde_cell cell)
{
	int64_t value = cell.i;
	char text[24];

	if (type == SONDE_COL_STRING) {
		json_str(j, NULL, cell.s ? cell.s : "");
		return;
	}
	if (type == SONDE_COL_SIGNED && value == SONDE_SIGNED_UNKNOWN) {
		json_str(j, NULL, "");
		return;
	}
	if (type == SONDE_COL_TIME)
		value -= c->begin;
	if (value < EXACT_MAX && value > -EXACT_MAX) {
		json_int(j, NULL, value);
		return;
	}
	snprintf(text, sizeof(text), "%" PRId64, value);
	json_str(j, NULL, text);
}

/* Rows as they were found now, or as they were kept. */
static union sonde_cell cell_of(const struct sonde_rows *f, const struct cached *kept,
				unsigned nr_columns, size_t row, unsigned column)
{
	return f ? sonde_rows_cell(f, row, column) : kept->cells[row * nr_columns + column];
}

static void write_rows(struct call *c, const struct sonde_table *a, const struct sonde_rows *f,
		       const struct cached *kept, size_t rows_max)
{
	size_t total = f ? sonde_rows_nr(f) : kept->total;
	struct json j = {.out = c->reply->out};

	json_begin_object(&j, NULL);
	json_str(&j, "name", a->name);
	json_str(&j, "title", a->title);
	json_str(&j, "help", a->help);
	write_columns(&j, a);
	json_uint(&j, "total", total);
	json_begin_array(&j, "rows");
	for (size_t row = 0; row < total && row < rows_max; row++) {
		json_begin_array(&j, NULL);
		for (unsigned i = 0; i < a->nr_columns; i++)
			write_cell(&j, c, a->columns[i].type,
				   cell_of(f, kept, a->nr_columns, row, i));
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

static void write_table(struct call *c, const struct sonde_rows *f, size_t rows_max)
{
	write_rows(c, sonde_rows_table(f), f, NULL, rows_max);
}

/* The window, of the history's clock and inside of the history, and how many rows are wanted. */
static int get_extent(const struct call *c, int64_t *begin, int64_t *end, int64_t *max,
		      struct error *err)
{
	int ret = request_window(c->request, c->length, begin, end, err);

	if (!ret)
		ret = request_int(c->request, "max", 1, TABLE_ROWS_MAX, max, err);
	if (ret)
		return ret;
	*begin = c->begin + (*begin < 0 ? 0 : *begin);
	*end = c->begin + (*end > c->length ? c->length : *end);
	return *begin < *end ? 0 : fail(err, -EINVAL, "the window lies outside of the history");
}

static const struct sonde_table *find_table(const char *name)
{
	unsigned nr;
	const struct sonde_table *const *all = sonde_tables(&nr);

	for (unsigned i = 0; i < nr; i++) {
		if (!strcmp(all[i]->name, name))
			return all[i];
	}
	return NULL;
}

/* The same as when it was asked for the last time, maybe of an earlier server. */
static bool answer_kept(struct call *c, const char *name, int64_t max)
{
	const struct sonde_table *a = find_table(name);
	struct cached kept;

	if (!a || !cache_load(&kept, c->kept->cache, c->history, a))
		return false;
	write_rows(c, a, NULL, &kept, (size_t)max);
	cached_release(&kept);
	return true;
}

int answer_table(struct call *c, struct error *err)
{
	const char *name = request_text(c->request, "name");
	struct sonde_error why = {0};
	struct sonde_rows *f;
	int64_t begin, end, max, before;
	int ret = get_extent(c, &begin, &end, &max, err);
	bool may_keep;

	if (ret)
		return ret;
	if (!name)
		return fail(err, -EINVAL, "name is missing");
	may_keep = c->kept->cache && call_is_traced(c, begin, end);
	if (may_keep && answer_kept(c, name, max))
		return 0;
	before = now_ns(CLOCK_MONOTONIC);
	ret = sonde_rows_get(&f, c->history, name, begin, end, &why);
	if (ret)
		return fail(err, ret, "%s", why.text);
	if (may_keep && now_ns(CLOCK_MONOTONIC) - before >= CACHE_FROM_NS)
		cache_save(c->kept->cache, c->history, f);
	write_table(c, f, (size_t)max);
	sonde_rows_free(f);
	return 0;
}

int answer_path(struct call *c, struct error *err)
{
	struct sonde_error why = {0};
	struct sonde_rows *f;
	int64_t begin, end, max, thread;
	int ret = get_extent(c, &begin, &end, &max, err);

	if (!ret)
		ret = request_int(c->request, "thread", 0, sonde_nr_threads(c->history) - 1,
				  &thread, err);
	if (ret)
		return ret;
	ret = sonde_critical_path(&f, c->history, thread, begin, end, &why);
	if (ret)
		return fail(err, ret, "%s", why.text);
	write_table(c, f, (size_t)max);
	sonde_rows_free(f);
	return 0;
}
