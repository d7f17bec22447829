/* SPDX-License-Identifier: Apache-2.0 */
/* What guests marked: points, and spans from a begin to its end. */
#include "analysis/rows.h"
#include "base/figure.h"
#include "base/grow.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KIND_BEGIN 1
#define KIND_END 2

/* A span that has begun. */
struct open_span {
	struct sonde_mark mark;
	uint32_t outer; /* one of the same key that began before and has not ended: index + 1 */
	bool ended;
	int64_t end;
};

struct spans {
	struct open_span *list; /* owned */
	uint32_t nr, room;
	struct map innermost; /* by key: index + 1 of the last that has not ended */
};

/* A begin and its end are of one machine and have one text, and one id, or, without an id, one
 * thread. */
static uint64_t key_of(const struct sonde_mark *m)
{
	uint64_t h = (uint64_t)(uint32_t)m->machine << 32 ^ m->id;

	if (!m->id)
		h ^= (uint64_t)(m->thread + 1) << 20 ^ UINT64_C(1) << 63;
	for (const char *p = m->text; *p; p++)
		h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

static int begin_span(struct spans *s, const struct sonde_mark *m)
{
	uint64_t key = key_of(m);
	const uint32_t *outer = map_get(&s->innermost, key);

	if (!room_for_one(&s->list, s->nr, &s->room))
		return -ENOMEM;
	s->list[s->nr++] = (struct open_span){.mark = *m, .outer = outer ? *outer : 0};
	return map_put(&s->innermost, key, s->nr);
}

/* False: nothing was begun that this could end. */
static bool end_span(struct spans *s, const struct sonde_mark *m)
{
	uint32_t *at = map_get(&s->innermost, key_of(m));
	struct open_span *span = at && *at ? &s->list[*at - 1] : NULL;

	if (!span)
		return false;
	span->ended = true;
	span->end = m->t;
	*at = span->outer;
	return true;
}

static void add(struct sonde_rows *out, const struct sonde_mark *m, const char *what,
		int64_t length)
{
	rows_add(out, (union sonde_cell[]){
			      cell_int(m->t),
			      cell_int(m->machine),
			      cell_int(m->cpu),
			      cell_int(m->thread),
			      cell_str(what),
			      cell_str(m->text),
			      cell_int(m->id),
			      cell_int(length),
		      });
}

/* Spans that touch the window are in it. */
static int find_marks(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		      struct error *err)
{
	/* The history's last event is at its end. */
	ns_t last = end == sonde_history_end(history) ? end : end - 1;
	struct spans s = {0};
	int ret = 0;

	for (int64_t row = 0; row < sonde_nr_marks(history) && !ret; row++) {
		struct sonde_mark m;

		sonde_mark_get(history, row, &m);
		if (m.kind == KIND_BEGIN)
			ret = begin_span(&s, &m);
		else if ((m.kind != KIND_END || !end_span(&s, &m)) && m.t >= begin && m.t <= last)
			add(out, &m, m.kind == KIND_END ? "end" : "point", -1);
	}
	for (uint32_t i = 0; i < s.nr; i++) {
		const struct open_span *span = &s.list[i];

		if (span->mark.t <= last && (!span->ended || span->end >= begin))
			add(out, &span->mark, span->ended ? "span" : "begin",
			    span->ended ? ns_since(span->end, span->mark.t) : -1);
	}
	free(s.list);
	map_release(&s.innermost);
	if (ret)
		return fail(err, ret, "out of memory");
	rows_sort_rising(out, "at");
	return 0;
}

static const struct sonde_column mark_columns[] = {
	{"at", "AT", SONDE_COL_TIME, "when; of a span, its begin"},
	{"machine", "MACHINE", SONDE_COL_MACHINE, "who marked"},
	{"cpu", "CPU", SONDE_COL_INT, "on which of its CPUs, -1 unknown"},
	{"thread", "THREAD", SONDE_COL_THREAD, "which of its threads, -1 unknown"},
	{"what", "WHAT", SONDE_COL_STRING,
	 "point, span, or a begin or end whose other half is missing"},
	{"text", "TEXT", SONDE_COL_STRING, "what was said"},
	{"id", "ID", SONDE_COL_INT, "what joins begin and end, 0 = none"},
	{"length", "LENGTH", SONDE_COL_NS, "of a span; -1 of all else"},
};

const struct table_def mark_table = {
	.public = {"mark", "Marks", "what processes of guests marked, and how long it took",
		   mark_columns, ARRAY_SIZE(mark_columns)},
	.find = find_marks,
};
