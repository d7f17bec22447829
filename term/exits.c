/* SPDX-License-Identifier: Apache-2.0 */
#include "term/exits.h"
#include "report/buckets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether all of it has been counted already. */
static bool is_there(const struct exits *e, const struct line *const *lines, unsigned nr,
		     int64_t begin, int64_t end, unsigned buckets)
{
	if (e->begin != begin || e->end != end || e->nr != buckets)
		return false;
	for (unsigned i = 0; i < nr; i++) {
		if (lines[i]->kind == LINE_EXITS && !map_get(&e->rows, (uint64_t)lines[i]->cpu))
			return false;
	}
	return true;
}

static int count(struct exits *e, struct sonde_history *history, struct exit_counts *x, int64_t cpu,
		 uint32_t row)
{
	uint32_t *counts = e->counts + (size_t)row * e->nr;
	int ret = exit_counts_of(x, history, cpu);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	e->about |= x->about;
	memcpy(counts, x->counts, e->nr * sizeof(*counts));
	for (unsigned b = 0; b < e->nr; b++)
		e->most = counts[b] > e->most ? counts[b] : e->most;
	return map_put(&e->rows, (uint64_t)cpu, row);
}

int exits_query(struct exits *e, struct sonde_history *history, const struct line *const *lines,
		unsigned nr, int64_t begin, int64_t end, unsigned columns)
{
	unsigned buckets = columns < BUCKETS_MAX ? columns : BUCKETS_MAX;
	struct exit_counts x;
	uint32_t row = 0;
	int ret;

	if (is_there(e, lines, nr, begin, end, buckets))
		return 0;
	exits_release(e);
	e->begin = begin;
	e->end = end;
	e->nr = buckets;
	e->most = 1;
	e->counts = calloc((size_t)nr * buckets + 1, sizeof(*e->counts));
	ret = exit_counts_init(&x, begin, end, buckets);
	if (!e->counts)
		ret = -ENOMEM;
	for (unsigned i = 0; i < nr && !ret; i++) {
		if (lines[i]->kind == LINE_EXITS && !map_get(&e->rows, (uint64_t)lines[i]->cpu))
			ret = count(e, history, &x, lines[i]->cpu, row++);
	}
	exit_counts_release(&x);
	return ret;
}

void exits_release(struct exits *e)
{
	map_release(&e->rows);
	free(e->counts);
	*e = (struct exits){0};
}

uint32_t exits_count(const struct exits *e, const struct line *line, unsigned x, unsigned columns)
{
	const uint32_t *row = map_get(&e->rows, (uint64_t)line->cpu);

	if (!row || x >= columns || !e->nr)
		return 0;
	return e->counts[(size_t)*row * e->nr + (size_t)x * e->nr / columns];
}
