/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/figure.h"

union sonde_cell *rows_new(struct sonde_rows *f)
{
	size_t pages = f->nr_rows / ROWS_PAGE;

	if (f->nr_rows % ROWS_PAGE == 0) {
		union sonde_cell *page =
			f->nr_rows < UINT32_MAX && room_for_one(&f->pages, pages, &f->pages_room)
				? malloc(ROWS_PAGE * f->table->nr_columns * sizeof(*page))
				: NULL;

		if (!page) {
			f->no_memory = true;
			return NULL;
		}
		f->pages[pages] = page;
	}
	f->nr_rows++;
	return f->pages[pages] + (f->nr_rows - 1) % ROWS_PAGE * f->table->nr_columns;
}

void rows_add(struct sonde_rows *f, const union sonde_cell *cells)
{
	union sonde_cell *row = rows_new(f);

	if (row)
		memcpy(row, cells, f->table->nr_columns * sizeof(*cells));
}

void rows_set_log(struct sonde_rows *f, struct rows_log *log, size_t nr_rows)
{
	f->no_memory |= nr_rows > UINT32_MAX; /* rows_sort() */
	f->log = log;
	f->nr_rows = nr_rows;
}

int64_t share_ppm(ns_t part, ns_t whole)
{
	__int128 ppm = whole > 0 ? ((__int128)part * 1000000 + whole / 2) / whole : 0;

	return ppm > INT64_MAX ? INT64_MAX : (int64_t)ppm;
}

static void release(struct kept *kept)
{
	struct rows_kept *all = (struct rows_kept *)kept;

	for (unsigned i = 0; i < ROWS_KEPT; i++)
		sonde_rows_free(all->list[i].rows);
	free(all);
}

static const struct kept_kind kind = {release};

static struct sonde_rows *find_kept(const struct sonde_history *history, const struct table_def *a,
				    ns_t begin, ns_t end)
{
	const struct rows_kept *kept = kept_find(history, &kind);

	for (unsigned i = 0; kept && i < ROWS_KEPT; i++) {
		const struct kept_rows *k = &kept->list[i];

		if (k->rows && k->rows->table == &a->public && k->begin == begin && k->end == end)
			return k->rows;
	}
	return NULL;
}

/* Without the memory for it, it is made again. */
static void keep(struct sonde_history *history, struct sonde_rows *f, ns_t begin, ns_t end)
{
	struct rows_kept *kept = kept_find(history, &kind);
	struct kept_rows *k;

	if (f->nr_rows * f->table->nr_columns > ROWS_KEPT_CELLS)
		return;
	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		if (!kept)
			return;
		kept_set(history, &kind, &kept->kept);
	}
	k = &kept->list[kept->next++ % ROWS_KEPT];
	sonde_rows_free(k->rows);
	*k = (struct kept_rows){begin, end, f};
	f->users++;
}

static int find_rows(struct sonde_rows **out, struct sonde_history *history,
		     const struct table_def *a, ns_t begin, ns_t end, struct error *err)
{
	struct sonde_rows *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return fail(err, -ENOMEM, "out of memory");
	f->table = &a->public;
	f->users = 1;
	ret = a->find(f, history, begin, end, err);
	if (!ret && f->no_memory)
		ret = fail(err, -ENOMEM, "out of memory in analysis %s", a->public.name);
	if (ret) {
		sonde_rows_free(f);
		return ret;
	}
	keep(history, f, begin, end);
	*out = f;
	return 0;
}

int table_rows(struct sonde_rows **out, struct sonde_history *history, const struct table_def *a,
	       ns_t begin, ns_t end, struct error *err)
{
	*out = NULL;
	if (end < begin)
		return fail(err, -EINVAL, "the window ends before it begins");
	/* One more than the history: what was lost at its very end is there, too. */
	ns_clip(&begin, &end, sonde_history_begin(history), ns_plus(sonde_history_end(history), 1));
	*out = find_kept(history, a, begin, end);
	if (!*out)
		return find_rows(out, history, a, begin, end, err);
	(*out)->users++;
	return 0;
}

/* Those that are not made here (a comparison, a path) have no users but their caller. */
void sonde_rows_free(struct sonde_rows *f)
{
	if (!f || (f->users && --f->users))
		return;
	arena_release(&f->arena);
	if (f->log)
		f->log->release(f->log);
	for (size_t i = 0; !f->log && i * ROWS_PAGE < f->nr_rows; i++)
		free(f->pages[i]);
	free(f->pages);
	free(f->order);
	free(f);
}

const struct sonde_table *sonde_rows_table(const struct sonde_rows *f)
{
	return f->table;
}

size_t sonde_rows_nr(const struct sonde_rows *f)
{
	return f->nr_rows;
}

union sonde_cell sonde_rows_cell(const struct sonde_rows *f, size_t row, unsigned column)
{
	if (row >= f->nr_rows || column >= f->table->nr_columns)
		return cell_int(-1);
	return rows_cell(f, row, column);
}

int sonde_rows_column(const struct sonde_rows *f, const char *name)
{
	for (unsigned i = 0; i < f->table->nr_columns; i++) {
		if (!strcmp(f->table->columns[i].name, name))
			return (int)i;
	}
	return -1;
}

union sonde_cell rows_named(const struct sonde_rows *f, size_t row, const char *column)
{
	int at = sonde_rows_column(f, column);

	assert(at >= 0);
	return sonde_rows_cell(f, row, (unsigned)at);
}

int64_t rows_find_rising(const struct sonde_rows *f, const char *column, int64_t value)
{
	int at = sonde_rows_column(f, column);
	size_t low = 0, high = f->nr_rows;

	assert(at >= 0);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t cell = rows_cell(f, middle, (unsigned)at).i;

		if (cell == value)
			return (int64_t)middle;
		if (cell < value)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}
