/* SPDX-License-Identifier: Apache-2.0 */
#include "history/parts/pack.h"

#include <stdlib.h>

#include "history/parts/node.h"
#include "history/parts/pack_columns.h"
#include "history/parts/snapshot.h"

#define SEEN_BITS 20 /* of the set in which places are looked up before they are sorted */

struct pack_row {
	uint32_t attr, mask, from, nr;
	enum row_mode mode;
};

struct pack {
	struct model model;
	struct pack_columns to;

	/* The part at hand, plain; all owned. */
	struct pack_row *rows;
	uint32_t *order;
	uint32_t nr_rows, row_room;
	uint64_t *places, *moments, *spare;
	uint32_t *values;
	uint8_t *shares;
	uint32_t nr, room;
	uint64_t *seen; /* bits */
};

struct pack *pack_new(void)
{
	struct pack *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->seen = malloc((1u << SEEN_BITS) / 8);
	if (pack_columns_init(&p->to) || !p->seen) {
		pack_free(p);
		return NULL;
	}
	return p;
}

static void release_entries(struct pack *p)
{
	free(p->places);
	free(p->moments);
	free(p->spare);
	free(p->values);
	free(p->shares);
	p->places = p->moments = p->spare = NULL;
	p->values = NULL;
	p->shares = NULL;
	p->room = 0;
}

static void release_rows(struct pack *p)
{
	free(p->rows);
	free(p->order);
	p->rows = NULL;
	p->order = NULL;
	p->row_room = 0;
}

void pack_free(struct pack *p)
{
	if (!p)
		return;
	pack_columns_release(&p->to);
	release_entries(p);
	release_rows(p);
	free(p->seen);
	free(p);
}

static bool room_for_entries(struct pack *p, uint32_t nr)
{
	if (nr <= p->room)
		return true;
	release_entries(p);
	p->places = malloc(nr * sizeof(*p->places));
	p->moments = malloc(nr * sizeof(*p->moments));
	p->spare = malloc(nr * sizeof(*p->spare));
	p->values = malloc(nr * sizeof(*p->values));
	p->shares = malloc(nr);
	if (!p->places || !p->moments || !p->spare || !p->values || !p->shares)
		return false;
	p->room = nr;
	return true;
}

static bool room_for_rows(struct pack *p, uint32_t nr)
{
	if (nr <= p->row_room)
		return true;
	release_rows(p);
	p->rows = malloc(nr * sizeof(*p->rows));
	p->order = malloc(nr * sizeof(*p->order));
	if (!p->rows || !p->order)
		return false;
	p->row_room = nr;
	return true;
}

/* ---- nodes: what there is -------------------------------------------------------------------- */

/* Reads row @i; false when there is no place for it, or it is not what our writer writes. */
static bool take_row(struct pack *p, const struct node *n, uint32_t i)
{
	struct pack_row *row = &p->rows[i];
	struct segment s;
	uint64_t hint = 0;
	int any = node_segment(n, i, &s);

	*row = (struct pack_row){.attr = node_attr(n, i), .mask = node_mask(n, i), .from = p->nr};
	if (any <= 0)
		return !any;
	if (s.places.nr > n->nr_entries - p->nr)
		return false;
	row->nr = s.places.nr;
	sorted_decode(&s.places, 0, row->nr, p->places + p->nr, &hint);
	segment_values(&s, 0, row->nr, p->values + p->nr);
	if (n->has_shares)
		segment_shares(&s, 0, row->nr, p->shares + p->nr);
	if (n->nr_times) {
		node_times(n, p->places + p->nr, row->nr);
		for (uint32_t k = 0; k < row->nr; k++)
			p->places[p->nr + k] -= (uint64_t)n->base;
	}
	p->nr += row->nr;
	return true;
}

static bool take_node(struct pack *p, const struct node *n)
{
	if (n->nr_entries > PACK_ENTRIES_MAX || n->nr_rows > PACK_ENTRIES_MAX ||
	    !room_for_entries(p, n->nr_entries + 1) || !room_for_rows(p, n->nr_rows + 1))
		return false;
	p->nr = 0;
	p->nr_rows = n->nr_rows;
	for (uint32_t i = 0; i < n->nr_rows; i++) {
		if (!take_row(p, n, i))
			return false;
	}
	return p->nr == n->nr_entries;
}

/* ---- nodes: which rows tell their places ----------------------------------------------------- */

static int compare_sizes(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a > b ? -1 : a < b;
}

static uint32_t seen_bit(uint64_t place)
{
	return (uint32_t)(place * 0x9e3779b97f4a7c15ull >> (64 - SEEN_BITS));
}

static bool is_seen(const struct pack *p, uint64_t place)
{
	uint32_t bit = seen_bit(place);

	return p->seen[bit / 64] >> (bit % 64) & 1;
}

static void set_mode(struct pack *p, struct pack_row *row)
{
	uint32_t nr_seen = 0;

	for (uint32_t i = row->from; i < row->from + row->nr; i++)
		nr_seen += is_seen(p, p->places[i]);
	row->mode = nr_seen > row->nr / 2 ? MODE_FOREIGN : MODE_OWN;
	for (uint32_t i = row->from; row->mode == MODE_OWN && i < row->from + row->nr; i++) {
		uint32_t bit = seen_bit(p->places[i]);

		p->seen[bit / 64] |= 1ull << (bit % 64);
	}
}

/* From the longest row on: one that mostly changes when a longer one does names the moments of
 * those.  The merge buffers are not in use yet. */
static void set_modes(struct pack *p)
{
	uint32_t nr = 0;

	memset(p->seen, 0, (1u << SEEN_BITS) / 8);
	for (uint32_t i = 0; i < p->nr_rows; i++) {
		p->rows[i].mode = MODE_OWN;
		if (p->rows[i].nr)
			p->spare[nr++] = (uint64_t)p->rows[i].nr << 32 | (UINT32_MAX - i);
	}
	qsort(p->spare, nr, sizeof(*p->spare), compare_sizes);
	for (uint32_t i = 0; i < nr; i++)
		set_mode(p, &p->rows[UINT32_MAX - (uint32_t)p->spare[i]]);
}

/* The moments of all rows that tell theirs. */
static const uint64_t *merge_moments(struct pack *p, uint32_t *nr)
{
	uint32_t nr_rows = 0, at = 0;

	for (uint32_t i = 0; i < p->nr_rows; i++) {
		const struct pack_row *row = &p->rows[i];

		if (row->mode != MODE_OWN || !row->nr)
			continue;
		memcpy(p->moments + at, p->places + row->from, row->nr * sizeof(*p->moments));
		at += row->nr;
		p->order[nr_rows++] = at;
	}
	return model_merge(p->moments, p->spare, p->order, nr_rows, nr);
}

/* ---- nodes: entries -------------------------------------------------------------------------- */

static void put_value(struct pack *p, struct model_walk *w, unsigned column, uint32_t value)
{
	uint64_t from_near = fold((int64_t)value - w->near);
	uint64_t from_last = fold((int64_t)value - w->last);
	enum rank rank;

	if (value == w->pair->next)
		rank = RANK_PAIR;
	else if (value == w->known->next)
		rank = RANK_NEXT;
	else if (value == w->known->other)
		rank = RANK_OTHER;
	else if (value == w->last + 1)
		rank = RANK_UP;
	else if (value > w->max)
		rank = RANK_NEW;
	else
		rank = from_near <= from_last ? RANK_NEAR : RANK_LAST;
	pack_symbol(&p->to, column, rank);
	if (rank == RANK_NEW)
		pack_number(&p->to, COLUMN_NEW, value - w->max);
	else if (rank > RANK_NEW)
		pack_number(&p->to, COLUMN_VALUE, rank == RANK_NEAR ? from_near : from_last);
	model_step(&p->model, w, value, rank);
}

static void put_own_row(struct pack *p, const struct pack_row *row, uint64_t *first)
{
	const uint64_t *places = p->places + row->from;
	struct model_walk w;

	model_start(&p->model, &w);
	pack_number(&p->to, COLUMN_FIRST, fold((int64_t)(places[0] - *first)));
	*first = places[0];
	put_value(p, &w, COLUMN_RANK, p->values[row->from]);
	for (uint32_t i = 1; i < row->nr; i++) {
		uint64_t gap = places[i] - places[i - 1];

		put_value(p, &w, COLUMN_RANK, p->values[row->from + i]);
		model_learn_gap(&w, pack_number(&p->to, model_gap_column(&w), gap));
	}
}

/* How many moments, of which the first @at are <= place, are. */
static uint32_t moments_upto(const uint64_t *moments, uint32_t at, uint32_t nr, uint64_t place)
{
	uint32_t step = 1;

	while (at + step <= nr && moments[at + step - 1] <= place) {
		at += step;
		step *= 2;
	}
	for (; step; step /= 2) {
		if (at + step <= nr && moments[at + step - 1] <= place)
			at += step;
	}
	return at;
}

/* A distance in moments, and whether the moment is the place.  Returns the head. */
static unsigned put_step(struct pack *p, unsigned column, uint64_t step, bool exact)
{
	unsigned head = number_head(step);

	pack_symbol(&p->to, column, head * 2 + exact);
	pack_rest(&p->to, step, head);
	return head;
}

static void put_foreign_row(struct pack *p, const struct pack_row *row, const uint64_t *moments,
			    uint32_t nr_moments, uint32_t *first)
{
	const uint64_t *places = p->places + row->from;
	uint32_t last = 0;
	struct model_walk w;

	model_start(&p->model, &w);
	for (uint32_t i = 0; i < row->nr; i++) {
		uint32_t at = moments_upto(moments, last, nr_moments, places[i]);
		uint64_t before = at ? moments[at - 1] : 0;
		bool exact = at && before == places[i];

		put_value(p, &w, COLUMN_RANK_FOREIGN, p->values[row->from + i]);
		if (i) {
			model_learn_step(&w, put_step(p, model_step_column(&w), at - last, exact));
		} else {
			put_step(p, COLUMN_FIRST_STEP, fold((int64_t)at - *first), exact);
			*first = at;
		}
		if (!exact)
			pack_number(&p->to, COLUMN_OFFSET, places[i] - before);
		last = at;
	}
}

static void put_rows(struct pack *p, const struct node *n)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < p->nr_rows; i++) {
		const struct pack_row *row = &p->rows[i];

		pack_number(&p->to, COLUMN_ATTR, row->attr - next);
		next = row->attr + 1ull;
		pack_number(&p->to, COLUMN_NR, row->nr);
		if (n->mask_bits)
			pack_number(&p->to, COLUMN_MASK, row->mask);
		if (row->nr)
			pack_symbol(&p->to, COLUMN_MODE, row->mode);
	}
}

static void put_entries(struct pack *p, const struct node *n)
{
	uint32_t nr_moments, first_step = 0;
	const uint64_t *moments = merge_moments(p, &nr_moments);
	uint64_t first = 0;

	for (uint32_t i = 0; i < p->nr_rows; i++) {
		if (p->rows[i].nr && p->rows[i].mode == MODE_OWN)
			put_own_row(p, &p->rows[i], &first);
	}
	for (uint32_t i = 0; i < p->nr_rows; i++) {
		if (p->rows[i].mode == MODE_FOREIGN)
			put_foreign_row(p, &p->rows[i], moments, nr_moments, &first_step);
	}
	for (uint32_t i = 0; n->has_shares && i < p->nr; i++)
		pack_symbol(&p->to, COLUMN_SHARE, p->shares[i]);
}

#define SNAPSHOT_BLOCK 64

static void put_snapshot(struct pack *p, const struct snapshot *s)
{
	struct snapshot_entry e[SNAPSHOT_BLOCK];
	uint64_t next = 0;
	ns_t last = s->at;

	for (uint32_t i = 0; i < s->nr; i++) {
		uint32_t k = i % SNAPSHOT_BLOCK;

		if (!k)
			snapshot_entries(
				s, i, s->nr - i < SNAPSHOT_BLOCK ? s->nr - i : SNAPSHOT_BLOCK, e);
		pack_number(&p->to, COLUMN_SNAPSHOT_ATTR, e[k].attr - next);
		next = e[k].attr + 1ull;
		pack_number(&p->to, COLUMN_SNAPSHOT_VALUE, e[k].value);
		pack_number(&p->to, COLUMN_SNAPSHOT_SINCE, fold(e[k].since - last));
		last = e[k].since;
	}
}

/* ---- is it worth it? ------------------------------------------------------------------------- */

#define SAMPLE_MAX 16384
#define SAMPLE_PART(bytes) ((bytes) / 5 * 4) /* of the plain bytes: the model learns on the way */

static uint64_t segment_bytes(const struct segment *s)
{
	uint64_t bits =
		(uint64_t)s->nr_dict * s->dict_bits + (uint64_t)s->places.nr * s->value_bits;

	return sorted_bytes(s->places.nr, s->places.low_bits, s->places.high_max) + bits / 8;
}

static uint32_t longest_row(const struct node *n, struct segment *longest)
{
	uint32_t found = NODE_NO_ROW;

	for (uint32_t i = 0; i < n->nr_rows; i++) {
		struct segment s;

		if (node_segment(n, i, &s) > 0 &&
		    (found == NODE_NO_ROW || s.places.nr > longest->places.nr)) {
			*longest = s;
			found = i;
		}
	}
	return found;
}

static uint64_t packed_bytes(struct pack *p, struct bytes *scratch)
{
	bytes_clear(scratch);
	return pack_columns_finish(&p->to, scratch) ? scratch->len_bytes : UINT64_MAX;
}

bool pack_promises(struct pack *p, const struct bytes *slice)
{
	struct pack_row row = {.nr = SAMPLE_MAX};
	struct bytes scratch = {0};
	uint64_t hint = 0, first = 0, plain, packed;
	struct segment s;
	struct node n;

	if (slice->failed || !node_open(&n, slice->data, slice->len_bytes) ||
	    longest_row(&n, &s) == NODE_NO_ROW)
		return false;
	if (row.nr > s.places.nr)
		row.nr = s.places.nr;
	if (!room_for_entries(p, row.nr) ||
	    !pack_columns_start(&p->to, &(struct pack_size){.rows = 1, .entries = row.nr}))
		return false;
	sorted_decode(&s.places, 0, row.nr, p->places, &hint);
	node_times(&n, p->places, row.nr);
	segment_values(&s, 0, row.nr, p->values);
	memset(&p->model, 0, sizeof(p->model));
	put_own_row(p, &row, &first);
	packed = packed_bytes(p, &scratch);
	bytes_release(&scratch);
	plain = segment_bytes(&s) * row.nr / s.places.nr;
	return packed <= SAMPLE_PART(plain);
}

/* ---- totals --------------------------------------------------------------------------------- */

/* List @i of totals, from its length on; empty when there is none. */
static struct cursor totals_list(const struct bytes *plain, uint32_t i)
{
	uint32_t at = get_u32(plain->data + 4 + i * 8ull + 4);

	if (at > plain->len_bytes)
		at = (uint32_t)plain->len_bytes;
	return (struct cursor){.p = plain->data + at, .end = plain->data + plain->len_bytes};
}

static uint64_t count_totals(const struct bytes *plain, uint32_t nr_attrs)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr_attrs; i++) {
		struct cursor c = totals_list(plain, i);
		uint64_t nr = cursor_varint(&c);

		if (c.bad || nr > PACK_LIST_MAX)
			return UINT64_MAX;
		sum += nr;
	}
	return sum;
}

/* Puts one list; false when its values do not rise. */
static bool put_list(struct pack *p, struct cursor c)
{
	uint64_t nr = cursor_varint(&c);
	uint64_t next = 0;

	pack_number(&p->to, COLUMN_NR, nr);
	for (uint64_t i = 0; i < nr && !c.bad; i++) {
		uint64_t value = cursor_varint(&c);

		if (value < next || value > UINT32_MAX)
			return false;
		pack_number(&p->to, COLUMN_VALUE, value - next);
		next = value + 1;
		pack_number(&p->to, COLUMN_TIME, cursor_varint(&c));
	}
	return !c.bad;
}

static bool pack_totals(struct pack *p, const struct bytes *plain, struct bytes *out)
{
	uint32_t nr_attrs = plain->len_bytes >= 4 ? get_u32(plain->data) : 0;
	uint64_t next = 0, nr;

	if (nr_attrs > plain->len_bytes / 8 || nr_attrs > PACK_ENTRIES_MAX)
		return false;
	nr = count_totals(plain, nr_attrs);
	if (nr > PACK_LIST_MAX ||
	    !pack_columns_start(&p->to, &(struct pack_size){.rows = nr_attrs, .entries = nr}))
		return false;
	for (uint32_t i = 0; i < nr_attrs; i++) {
		uint32_t attr = get_u32(plain->data + 4 + i * 8ull);

		if (attr < next)
			return false;
		pack_number(&p->to, COLUMN_ATTR, attr - next);
		next = attr + 1ull;
		if (!put_list(p, totals_list(plain, i)))
			return false;
	}
	bytes_put_varint(out, nr_attrs);
	bytes_put_varint(out, nr);
	return pack_columns_finish(&p->to, out);
}

/* ---- parts ---------------------------------------------------------------------------------- */

static bool pack_node(struct pack *p, const struct bytes *plain, bool group, struct bytes *out)
{
	struct snapshot snap = {.nr = 0};
	struct node n;

	if (!node_open(&n, plain->data, plain->len_bytes) || !take_node(p, &n) ||
	    (group && !snapshot_open(&snap, n.base, n.extra, n.extra_bytes)) ||
	    snap.nr > PACK_LIST_MAX ||
	    !pack_columns_start(
		    &p->to,
		    &(struct pack_size){.rows = p->nr_rows, .entries = p->nr, .snapshot = snap.nr}))
		return false;
	bytes_put_signed(out, n.base);
	bytes_put_varint(out, n.nr_rows);
	bytes_put_varint(out, n.nr_entries);
	bytes_put_varint(out, snap.nr);
	bytes_put_u8(out, (uint8_t)((n.mask_bits ? 1 : 0) | (n.has_shares ? 2 : 0)));
	memset(&p->model, 0, sizeof(p->model));
	set_modes(p);
	put_rows(p, &n);
	put_entries(p, &n);
	put_snapshot(p, &snap);
	return pack_columns_finish(&p->to, out);
}

bool pack_part(struct pack *p, enum part_kind kind, const struct bytes *plain, struct bytes *out)
{
	bytes_clear(out);
	if (plain->failed)
		return false;
	if (kind == PART_SLICE || kind == PART_GROUP || kind == PART_SUMMARY)
		return pack_node(p, plain, kind == PART_GROUP, out);
	return kind == PART_TOTALS && pack_totals(p, plain, out);
}
