/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

#include "history/parts/node.h"
#include "history/parts/pack.h"
#include "history/parts/pack_model.h"
#include "history/parts/snapshot.h"
#include "history/parts/totals.h"

/* No place is larger: the sum of two fits in 64 bits. */
#define PLACE_MAX ((uint64_t)INT64_MAX)

struct unpack_row {
	uint32_t attr, mask, from, nr;
	enum row_mode mode;
};

struct unpack {
	struct model model;
	ZSTD_DCtx *zstd;
	struct node_writer writer;
	uint8_t *plain; /* owned: all columns */
	size_t plain_room;
	struct cursor columns[NR_COLUMNS];
	const uint8_t *bits;
	uint64_t bit, nr_bits;
	bool bad;

	/* Of a node; all owned. */
	struct unpack_row *rows;
	uint32_t *ends;
	uint32_t row_room;
	uint64_t *places, *moments, *spare;
	uint32_t *values;
	uint8_t *shares;
	uint32_t room;
	struct snapshot_entry *snapshot;
	uint32_t snapshot_room;
	int64_t base;
	uint32_t nr_rows, nr, nr_snapshot;
	bool has_masks, has_shares;
};

struct unpack *unpack_new(void)
{
	struct unpack *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->zstd = ZSTD_createDCtx();
	if (!u->zstd) {
		unpack_free(u);
		return NULL;
	}
	return u;
}

static void release_rows(struct unpack *u)
{
	free(u->rows);
	free(u->ends);
	u->rows = NULL;
	u->ends = NULL;
	u->row_room = 0;
}

static void release_entries(struct unpack *u)
{
	free(u->places);
	free(u->moments);
	free(u->spare);
	free(u->values);
	free(u->shares);
	u->places = u->moments = u->spare = NULL;
	u->values = NULL;
	u->shares = NULL;
	u->room = 0;
}

void unpack_free(struct unpack *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	node_writer_release(&u->writer);
	free(u->plain);
	release_rows(u);
	release_entries(u);
	free(u->snapshot);
	free(u);
}

static bool room_for_rows(struct unpack *u, uint32_t nr)
{
	if (nr <= u->row_room)
		return true;
	release_rows(u);
	u->rows = malloc(nr * sizeof(*u->rows));
	u->ends = malloc(nr * sizeof(*u->ends));
	if (!u->rows || !u->ends)
		return false;
	u->row_room = nr;
	return true;
}

static bool room_for_entries(struct unpack *u, uint32_t nr)
{
	if (nr <= u->room)
		return true;
	release_entries(u);
	u->places = malloc(nr * sizeof(*u->places));
	u->moments = malloc(nr * sizeof(*u->moments));
	u->spare = malloc(nr * sizeof(*u->spare));
	u->values = malloc(nr * sizeof(*u->values));
	u->shares = malloc(nr);
	if (!u->places || !u->moments || !u->spare || !u->values || !u->shares)
		return false;
	u->room = nr;
	return true;
}

static bool room_for_snapshot(struct unpack *u, uint32_t nr)
{
	if (nr <= u->snapshot_room)
		return true;
	free(u->snapshot);
	u->snapshot = malloc(nr * sizeof(*u->snapshot));
	u->snapshot_room = u->snapshot ? nr : 0;
	return u->snapshot;
}

static bool room_for_columns(struct unpack *u, uint64_t len_bytes)
{
	if (len_bytes <= u->plain_room)
		return true;
	free(u->plain);
	u->plain = malloc(len_bytes);
	u->plain_room = u->plain ? len_bytes : 0;
	return u->plain;
}

/* ---- columns -------------------------------------------------------------------------------- */

struct stored {
	const uint8_t *from;
	uint64_t len_bytes;    /* plain */
	uint64_t packed_bytes; /* 0: plain */
};

/* Finds the columns.  Returns the sum of their plain lengths, UINT64_MAX when they make no sense.
 */
static uint64_t find_columns(struct cursor *c, struct stored *columns, uint64_t payload_bytes)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < NR_COLUMNS; i++) {
		struct stored *s = &columns[i];

		*s = (struct stored){.len_bytes = cursor_varint(c)};
		if (!s->len_bytes)
			continue;
		s->packed_bytes = cursor_varint(c);
		s->from = cursor_take(c, s->packed_bytes ? s->packed_bytes : s->len_bytes);
		if (c->bad || s->len_bytes > PACK_COLUMNS_MAX)
			return UINT64_MAX;
		sum += s->len_bytes;
	}
	if (c->bad || sum / PACK_RATIO_MAX > payload_bytes || sum > PACK_COLUMNS_MAX)
		return UINT64_MAX;
	return sum;
}

static int open_columns(struct unpack *u, struct cursor *c, uint64_t payload_bytes)
{
	struct stored columns[NR_COLUMNS];
	uint64_t sum = find_columns(c, columns, payload_bytes);
	uint8_t *to;

	if (sum == UINT64_MAX || (uint64_t)(c->end - c->p) < BITS_SLACK_BYTES)
		return -EIO;
	u->bits = c->p;
	u->nr_bits = ((uint64_t)(c->end - c->p) - BITS_SLACK_BYTES) * 8;
	u->bit = 0;
	u->bad = false;
	if (!room_for_columns(u, sum + 1))
		return -ENOMEM;
	to = u->plain;
	for (unsigned i = 0; i < NR_COLUMNS; i++) {
		const struct stored *s = &columns[i];

		u->columns[i] = (struct cursor){.p = to, .end = to + s->len_bytes};
		if (s->len_bytes && !s->packed_bytes)
			memcpy(to, s->from, s->len_bytes);
		else if (s->len_bytes && ZSTD_decompressDCtx(u->zstd, to, s->len_bytes, s->from,
							     s->packed_bytes) != s->len_bytes)
			u->bad = true;
		to += s->len_bytes;
	}
	return u->bad ? -EIO : 0;
}

static inline unsigned get_symbol(struct unpack *u, unsigned column)
{
	struct cursor *c = &u->columns[column];

	if (likely(c->p < c->end))
		return *c->p++;
	u->bad = true;
	return 0;
}

/* The number with that head. */
static inline uint64_t get_rest(struct unpack *u, unsigned head)
{
	unsigned bits = head_rest_bits(head);
	uint64_t at = u->bit;

	if (unlikely(head > HEAD_MAX || u->nr_bits - at < bits)) {
		u->bad = true;
		return 0;
	}
	u->bit = at + bits;
	if (unlikely(bits > 32))
		return head_number(head) | bits_get_wide(u->bits, at, bits);
	return head_number(head) | bits_get(u->bits, at, bits);
}

static inline uint64_t get_number(struct unpack *u, unsigned column)
{
	return get_rest(u, get_symbol(u, column));
}

/* A number that must be in [0, max]. */
static inline uint64_t get_upto(struct unpack *u, unsigned column, uint64_t max)
{
	uint64_t x = get_number(u, column);

	if (likely(x <= max))
		return x;
	u->bad = true;
	return 0;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static inline uint32_t get_value(struct unpack *u, struct model_walk *w, unsigned column)
{
	unsigned rank = get_symbol(u, column);
	uint32_t value = 0;

	switch (rank) {
	case RANK_PAIR:
		value = w->pair->next;
		break;
	case RANK_NEXT:
		value = w->known->next;
		break;
	case RANK_OTHER:
		value = w->known->other;
		break;
	case RANK_UP:
		value = w->last + 1;
		break;
	case RANK_NEW:
		value = w->max + (uint32_t)get_number(u, COLUMN_NEW);
		break;
	case RANK_NEAR:
		value = w->near + (uint32_t)unfold(get_number(u, COLUMN_VALUE));
		break;
	case RANK_LAST:
		value = w->last + (uint32_t)unfold(get_number(u, COLUMN_VALUE));
		break;
	default:
		u->bad = true;
	}
	model_step(&u->model, w, value, rank);
	return value;
}

/* The place @gap behind @last. */
static uint64_t check_place(struct unpack *u, uint64_t last, uint64_t gap)
{
	if (likely(gap && gap <= PLACE_MAX && last + gap <= PLACE_MAX))
		return last + gap;
	u->bad = true;
	return 0;
}

static void get_own_row(struct unpack *u, const struct unpack_row *row, uint64_t *first)
{
	uint64_t *places = u->places + row->from;
	struct model_walk w;

	model_start(&u->model, &w);
	places[0] = *first + (uint64_t)unfold(get_number(u, COLUMN_FIRST));
	if (places[0] > PLACE_MAX)
		u->bad = true;
	*first = places[0];
	u->values[row->from] = get_value(u, &w, COLUMN_RANK);
	for (uint32_t i = 1; i < row->nr && !u->bad; i++) {
		unsigned head;

		u->values[row->from + i] = get_value(u, &w, COLUMN_RANK);
		head = get_symbol(u, model_gap_column(&w));
		model_learn_gap(&w, head);
		places[i] = check_place(u, places[i - 1], get_rest(u, head));
	}
}

/* The place that a distance from moment @at, and maybe an offset, tell. */
static uint64_t get_place(struct unpack *u, const uint64_t *moments, uint32_t at, bool exact)
{
	uint64_t before = at ? moments[at - 1] : 0;

	if (exact && at)
		return before;
	if (exact)
		u->bad = true;
	return before + get_upto(u, COLUMN_OFFSET, PLACE_MAX - before);
}

static void get_foreign_row(struct unpack *u, const struct unpack_row *row, const uint64_t *moments,
			    uint32_t nr_moments, uint32_t *first)
{
	uint64_t *places = u->places + row->from;
	uint64_t at = 0;
	struct model_walk w;

	model_start(&u->model, &w);
	for (uint32_t i = 0; i < row->nr && !u->bad; i++) {
		uint64_t step;
		unsigned symbol;

		u->values[row->from + i] = get_value(u, &w, COLUMN_RANK_FOREIGN);
		symbol = get_symbol(u, i ? model_step_column(&w) : COLUMN_FIRST_STEP);
		step = get_rest(u, symbol / 2);
		if (i) {
			model_learn_step(&w, symbol / 2);
			at += step;
		} else {
			at = *first + (uint64_t)unfold(step);
			*first = (uint32_t)at;
		}
		if (step > UINT32_MAX || at > nr_moments) {
			u->bad = true;
			return;
		}
		places[i] = get_place(u, moments, (uint32_t)at, symbol & 1);
		if (i && places[i] <= places[i - 1])
			u->bad = true;
	}
}

static void get_rows(struct unpack *u)
{
	uint64_t next = 0;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < u->nr_rows && !u->bad; i++) {
		struct unpack_row *row = &u->rows[i];

		next += get_upto(u, COLUMN_ATTR, UINT32_MAX);
		row->attr = (uint32_t)next++;
		if (next > UINT32_MAX)
			u->bad = true;
		row->from = nr;
		row->nr = (uint32_t)get_upto(u, COLUMN_NR, u->nr - nr);
		row->mask = u->has_masks ? (uint32_t)get_upto(u, COLUMN_MASK, UINT32_MAX) : 0;
		row->mode = row->nr ? get_symbol(u, COLUMN_MODE) : MODE_OWN;
		nr += row->nr;
	}
	if (nr != u->nr)
		u->bad = true;
}

static const uint64_t *merge_moments(struct unpack *u, uint32_t *nr)
{
	uint32_t nr_rows = 0, at = 0;

	for (uint32_t i = 0; i < u->nr_rows; i++) {
		const struct unpack_row *row = &u->rows[i];

		if (row->mode != MODE_OWN || !row->nr)
			continue;
		memcpy(u->moments + at, u->places + row->from, row->nr * sizeof(*u->moments));
		at += row->nr;
		u->ends[nr_rows++] = at;
	}
	return model_merge(u->moments, u->spare, u->ends, nr_rows, nr);
}

static void get_entries(struct unpack *u)
{
	uint32_t nr_moments, first_step = 0;
	const uint64_t *moments;
	uint64_t first = 0;

	for (uint32_t i = 0; i < u->nr_rows && !u->bad; i++) {
		if (u->rows[i].nr && u->rows[i].mode == MODE_OWN)
			get_own_row(u, &u->rows[i], &first);
	}
	if (u->bad)
		return;
	moments = merge_moments(u, &nr_moments);
	for (uint32_t i = 0; i < u->nr_rows && !u->bad; i++) {
		if (u->rows[i].mode != MODE_OWN)
			get_foreign_row(u, &u->rows[i], moments, nr_moments, &first_step);
	}
	for (uint32_t i = 0; i < u->nr && u->has_shares; i++)
		u->shares[i] = get_symbol(u, COLUMN_SHARE) & SHARE_ALL;
}

static void get_snapshot(struct unpack *u)
{
	uint64_t next = 0;
	ns_t last = u->base;

	for (uint32_t i = 0; i < u->nr_snapshot && !u->bad; i++) {
		struct snapshot_entry *e = &u->snapshot[i];

		next += get_upto(u, COLUMN_SNAPSHOT_ATTR, UINT32_MAX);
		e->attr = (uint32_t)next++;
		if (next > UINT32_MAX)
			u->bad = true;
		e->value = (uint32_t)get_upto(u, COLUMN_SNAPSHOT_VALUE, UINT32_MAX);
		e->since = (ns_t)((uint64_t)last +
				  (uint64_t)unfold(get_number(u, COLUMN_SNAPSHOT_SINCE)));
		last = e->since;
	}
}

static int write_node(struct unpack *u, bool group, struct bytes *out)
{
	struct node_writer *w = &u->writer;
	struct bytes extra = {0};
	int ret;

	node_start(w, u->has_shares);
	for (uint32_t i = 0; i < u->nr_rows; i++) {
		const struct unpack_row *row = &u->rows[i];
		const struct segment_entries e = {
			.places = u->places + row->from,
			.values = u->values + row->from,
			.shares = u->has_shares ? u->shares + row->from : NULL,
			.nr = row->nr,
		};

		node_add(w, row->attr, row->mask, &e);
	}
	if (group)
		snapshot_put(&extra, u->base, u->snapshot, u->nr_snapshot);
	node_finish(w, u->base, NULL, 0, &extra, out);
	ret = extra.failed || out->failed ? -ENOMEM : 0;
	bytes_release(&extra);
	return ret;
}

static int unpack_node(struct unpack *u, struct cursor *c, bool group, struct bytes *out)
{
	uint64_t payload_bytes = (uint64_t)(c->end - c->p);
	int64_t base = cursor_signed(c);
	uint64_t nr_rows = cursor_varint(c);
	uint64_t nr = cursor_varint(c);
	uint64_t nr_snapshot = cursor_varint(c);
	const uint8_t *flags = cursor_take(c, 1);
	int ret;

	if (c->bad || nr_rows > PACK_ENTRIES_MAX || nr > PACK_ENTRIES_MAX ||
	    nr_snapshot > PACK_LIST_MAX || (nr_snapshot && !group))
		return -EIO;
	u->base = base;
	u->nr_rows = (uint32_t)nr_rows;
	u->nr = (uint32_t)nr;
	u->nr_snapshot = (uint32_t)nr_snapshot;
	u->has_masks = *flags & 1;
	u->has_shares = *flags & 2;
	ret = open_columns(u, c, payload_bytes);
	if (!ret &&
	    (nr_rows > (uint64_t)(u->columns[COLUMN_ATTR].end - u->columns[COLUMN_ATTR].p) ||
	     nr / PACK_RATIO_MAX > payload_bytes || nr_snapshot / PACK_RATIO_MAX > payload_bytes))
		ret = -EIO;
	if (ret)
		return ret;
	if (!room_for_rows(u, u->nr_rows + 1) || !room_for_entries(u, u->nr + 1) ||
	    !room_for_snapshot(u, u->nr_snapshot + 1))
		return -ENOMEM;
	memset(&u->model, 0, sizeof(u->model));
	get_rows(u);
	get_entries(u);
	get_snapshot(u);
	return u->bad ? -EIO : write_node(u, group, out);
}

/* ---- totals --------------------------------------------------------------------------------- */

static uint32_t get_list(struct unpack *u, uint32_t attr, struct total *list, uint32_t room)
{
	uint32_t nr = (uint32_t)get_upto(u, COLUMN_NR, room);
	uint64_t next = 0;

	for (uint32_t i = 0; i < nr && !u->bad; i++) {
		next += get_upto(u, COLUMN_VALUE, UINT32_MAX);
		if (next > UINT32_MAX)
			u->bad = true;
		list[i].attr = attr;
		list[i].value = (uint32_t)next++;
		list[i].time_ns = (ns_t)get_upto(u, COLUMN_TIME, PLACE_MAX);
	}
	return nr;
}

static int unpack_totals(struct unpack *u, struct cursor *c, struct bytes *out)
{
	uint64_t payload_bytes = (uint64_t)(c->end - c->p);
	uint64_t nr_attrs = cursor_varint(c);
	uint64_t nr = cursor_varint(c);
	struct total *list;
	uint64_t next = 0;
	uint32_t at = 0;
	int ret;

	if (c->bad || nr > PACK_LIST_MAX || nr_attrs > nr || nr / PACK_RATIO_MAX > payload_bytes)
		return -EIO;
	ret = open_columns(u, c, payload_bytes);
	if (ret)
		return ret;
	list = calloc(nr + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint64_t i = 0; i < nr_attrs && !u->bad; i++) {
		next += get_upto(u, COLUMN_ATTR, UINT32_MAX);
		if (next >= UINT32_MAX)
			u->bad = true;
		at += get_list(u, (uint32_t)next++, list + at, (uint32_t)nr - at);
	}
	if (!u->bad && at == nr)
		totals_put(list, at, out);
	else
		ret = -EIO;
	free(list);
	return ret ? ret : out->failed ? -ENOMEM : 0;
}

int unpack_part(struct unpack *u, enum part_kind kind, const uint8_t *from, uint64_t len_bytes,
		struct bytes *plain)
{
	struct cursor c = {.p = from, .end = from + len_bytes};

	if (kind == PART_SLICE || kind == PART_GROUP || kind == PART_SUMMARY)
		return unpack_node(u, &c, kind == PART_GROUP, plain);
	return kind == PART_TOTALS ? unpack_totals(u, &c, plain) : -EIO;
}
