/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ORACLE_H
#define TESTS_UNIT_ORACLE_H

#include <stdlib.h>
#include <string.h>

#include "history/history.h"

/*
 * A history kept the plain way, as arrays in memory, to compare the real one with.  Header only:
 * every test is one program.
 */
struct oracle_change {
	ns_t t;
	uint32_t value;
};

struct oracle_row {
	struct oracle_change *list;
	size_t nr, room;
};

struct oracle {
	struct oracle_row *rows;
	unsigned nr_rows;
	ns_t begin, end;
	bool any;
};

static inline uint64_t oracle_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1dull >> 11;
}

static inline void oracle_init(struct oracle *o, unsigned nr_rows)
{
	memset(o, 0, sizeof(*o));
	o->rows = calloc(nr_rows, sizeof(*o->rows));
	o->nr_rows = nr_rows;
}

static inline void oracle_release(struct oracle *o)
{
	for (unsigned i = 0; i < o->nr_rows; i++)
		free(o->rows[i].list);
	free(o->rows);
}

static inline uint32_t oracle_last(const struct oracle_row *r)
{
	return r->nr ? r->list[r->nr - 1].value : 0;
}

/* Same rules as history_writer_set(). */
static inline void oracle_set(struct oracle *o, unsigned row, ns_t t, uint32_t value)
{
	struct oracle_row *r = &o->rows[row];

	if (oracle_last(r) == value)
		return;
	if (!o->any) {
		o->any = true;
		o->begin = t;
	}
	if (r->nr && r->list[r->nr - 1].t == t) {
		r->list[r->nr - 1].value = value;
		if ((r->nr > 1 ? r->list[r->nr - 2].value : 0) == value)
			r->nr--;
		return;
	}
	if (r->nr == r->room) {
		r->room = r->room ? r->room * 2 : 16;
		r->list = realloc(r->list, r->room * sizeof(*r->list));
	}
	r->list[r->nr++] = (struct oracle_change){.t = t, .value = value};
}

/* How many changes of the row are at or before @t. */
static inline size_t oracle_upto(const struct oracle *o, unsigned row, ns_t t)
{
	const struct oracle_row *r = &o->rows[row];
	size_t low = 0, high = r->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (r->list[mid].t <= t)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Interval that begins with change @i - 1 of the row (0: before the first). */
static inline struct interval oracle_interval(const struct oracle *o, unsigned row, size_t i)
{
	const struct oracle_row *r = &o->rows[row];
	struct interval v = {.begin = o->begin, .end = o->end};

	if (i) {
		v.begin = r->list[i - 1].t;
		v.value = r->list[i - 1].value;
	}
	if (i < r->nr && r->list[i].t < o->end)
		v.end = r->list[i].t;
	return v;
}

static inline struct interval oracle_at(const struct oracle *o, unsigned row, ns_t t)
{
	return oracle_interval(o, row, oracle_upto(o, row, t));
}

#endif
