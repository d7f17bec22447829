/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/facts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/figure.h"

union sonde_cell *facts_new_row(struct sonde_facts *f)
{
	size_t pages = f->nr_rows / FACTS_PAGE;

	if (f->nr_rows % FACTS_PAGE == 0) {
		union sonde_cell *page =
			f->nr_rows < UINT32_MAX && room_for_one(&f->pages, pages, &f->pages_room)
				? malloc(FACTS_PAGE * f->analysis->nr_columns * sizeof(*page))
				: NULL;

		if (!page) {
			f->no_memory = true;
			return NULL;
		}
		f->pages[pages] = page;
	}
	f->nr_rows++;
	return f->pages[pages] + (f->nr_rows - 1) % FACTS_PAGE * f->analysis->nr_columns;
}

void facts_add(struct sonde_facts *f, const union sonde_cell *cells)
{
	union sonde_cell *row = facts_new_row(f);

	if (row)
		memcpy(row, cells, f->analysis->nr_columns * sizeof(*cells));
}

void facts_set_log(struct sonde_facts *f, struct facts_log *log, size_t nr_rows)
{
	f->no_memory |= nr_rows > UINT32_MAX; /* facts_sort() */
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
	struct facts_kept *all = (struct facts_kept *)kept;

	for (unsigned i = 0; i < FACTS_KEPT; i++)
		sonde_facts_free(all->list[i].facts);
	free(all);
}

static const struct kept_kind kind = {release};

static struct sonde_facts *find_kept(const struct sonde_run *run, const struct analysis *a,
				     ns_t begin, ns_t end)
{
	const struct facts_kept *kept = kept_find(run, &kind);

	for (unsigned i = 0; kept && i < FACTS_KEPT; i++) {
		const struct kept_facts *k = &kept->list[i];

		if (k->facts && k->facts->analysis == &a->public && k->begin == begin &&
		    k->end == end)
			return k->facts;
	}
	return NULL;
}

/* Without the memory for it, it is made again. */
static void keep(struct sonde_run *run, struct sonde_facts *f, ns_t begin, ns_t end)
{
	struct facts_kept *kept = kept_find(run, &kind);
	struct kept_facts *k;

	if (f->nr_rows * f->analysis->nr_columns > FACTS_KEPT_CELLS)
		return;
	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		if (!kept)
			return;
		kept_set(run, &kind, &kept->kept);
	}
	k = &kept->list[kept->next++ % FACTS_KEPT];
	sonde_facts_free(k->facts);
	*k = (struct kept_facts){begin, end, f};
	f->users++;
}

static int find_facts(struct sonde_facts **out, struct sonde_run *run, const struct analysis *a,
		      ns_t begin, ns_t end, struct error *err)
{
	struct sonde_facts *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return fail(err, -ENOMEM, "out of memory");
	f->analysis = &a->public;
	f->users = 1;
	ret = a->find(f, run, begin, end, err);
	if (!ret && f->no_memory)
		ret = fail(err, -ENOMEM, "out of memory in analysis %s", a->public.name);
	if (ret) {
		sonde_facts_free(f);
		return ret;
	}
	keep(run, f, begin, end);
	*out = f;
	return 0;
}

int analysis_facts(struct sonde_facts **out, struct sonde_run *run, const struct analysis *a,
		   ns_t begin, ns_t end, struct error *err)
{
	*out = NULL;
	if (end < begin)
		return fail(err, -EINVAL, "the window ends before it begins");
	/* One more than the run: what was lost at its very end is there, too. */
	ns_clip(&begin, &end, sonde_run_begin(run), ns_plus(sonde_run_end(run), 1));
	*out = find_kept(run, a, begin, end);
	if (!*out)
		return find_facts(out, run, a, begin, end, err);
	(*out)->users++;
	return 0;
}

/* Those that are not made here (a comparison, a path) have no users but their caller. */
void sonde_facts_free(struct sonde_facts *f)
{
	if (!f || (f->users && --f->users))
		return;
	arena_release(&f->arena);
	if (f->log)
		f->log->release(f->log);
	for (size_t i = 0; !f->log && i * FACTS_PAGE < f->nr_rows; i++)
		free(f->pages[i]);
	free(f->pages);
	free(f->order);
	free(f);
}

const struct sonde_analysis *sonde_facts_analysis(const struct sonde_facts *f)
{
	return f->analysis;
}

size_t sonde_facts_nr_rows(const struct sonde_facts *f)
{
	return f->nr_rows;
}

union sonde_cell sonde_facts_cell(const struct sonde_facts *f, size_t row, unsigned column)
{
	if (row >= f->nr_rows || column >= f->analysis->nr_columns)
		return cell_int(-1);
	return facts_cell(f, row, column);
}

int sonde_facts_column(const struct sonde_facts *f, const char *name)
{
	for (unsigned i = 0; i < f->analysis->nr_columns; i++) {
		if (!strcmp(f->analysis->columns[i].name, name))
			return (int)i;
	}
	return -1;
}

union sonde_cell facts_named(const struct sonde_facts *f, size_t row, const char *column)
{
	int at = sonde_facts_column(f, column);

	assert(at >= 0);
	return sonde_facts_cell(f, row, (unsigned)at);
}

int64_t facts_find_rising(const struct sonde_facts *f, const char *column, int64_t value)
{
	int at = sonde_facts_column(f, column);
	size_t low = 0, high = f->nr_rows;

	assert(at >= 0);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t cell = facts_cell(f, middle, (unsigned)at).i;

		if (cell == value)
			return (int64_t)middle;
		if (cell < value)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}
