/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_NODE_H
#define HISTORY_PARTS_NODE_H

#include "history/parts/segment.h"

/*
 * A node: changes of many attributes in one stretch of time, kept by attribute.  Slices, groups
 * and summary chunks are all nodes (format.h says what each is for).
 *
 * Where several attributes change at the same moments, which is usual when one event moves a CPU
 * and two threads, the node keeps every distinct time once and its segments name times by number.
 * Where they do not, segments hold times themselves, as distances from the node's base.
 *
 * Payload of a node part, offsets in bytes from its start:
 *   0  i64 base            time that places count from
 *   8  u32 nr_rows         attributes in the directory
 *  12  u32 nr_entries      changes in all segments
 *  16  u32 nr_times        distinct times; 0: places are distances from base
 *  20  u32 rows_at         the directory
 *  24  u32 segments_at     the segments
 *  28  u32 extra_at        what the kind of node adds (a group: its snapshot); slack stands before
 *  32  u64 times_high_max
 *  40  u8  times_low_bits
 *  41  u8  attr_bits, u8 offset_bits, u8 mask_bits
 *  44  u8  has_shares, then 3 bytes 0
 *  48  samples of the time list, a u32 per 256 entries: the bit of its row that stands for the
 *      entry; then the time list; then the directory: three bit arrays, each from a byte boundary
 *      on: attributes (rising), offsets of their segments from segments_at, masks
 * An attribute whose segment begins where the next one's does (the last: where extra_at minus
 * slack is) has no changes here, only a mask.
 */
#define NODE_HEADER_BYTES 48
#define NODE_SAMPLE 256

struct node {
	const uint8_t *attrs, *offsets, *masks, *samples, *segments;
	const uint8_t *extra;
	struct sorted times;
	int64_t base;
	int64_t end;	      /* of the part; set by the reader */
	uint64_t loaded;      /* set by the reader: another number each time the bytes move */
	uint32_t first_slice; /* of a group; set by the reader */
	uint64_t segments_bytes, extra_bytes;
	uint32_t nr_rows, nr_entries, nr_times;
	uint8_t attr_bits, offset_bits, mask_bits;
	bool has_shares;
};

/* ---- writing: node_start(), node_add() in rising order of attributes, node_finish() ---------- */

struct node_row {
	uint32_t attr, mask;
	uint32_t offset;
};

struct node_writer {
	struct bytes segments;
	struct node_row *rows;
	uint32_t nr_rows, room;
	uint32_t nr_entries;
	bool has_shares, failed;
	struct segment_work *work;
};

/* Without init, of zeros, it writes no dictionaries. */
int node_writer_init(struct node_writer *w);
void node_writer_release(struct node_writer *w);
void node_start(struct node_writer *w, bool has_shares);
/* @e may have no entries. */
void node_add(struct node_writer *w, uint32_t attr, uint32_t mask, const struct segment_entries *e);
/* Appends the payload to @out.  @times: what segments name by number, NULL when they do not. */
void node_finish(struct node_writer *w, int64_t base, const uint64_t *times, uint32_t nr_times,
		 const struct bytes *extra, struct bytes *out);

/* ---- reading -------------------------------------------------------------------------------- */

/* False when the bytes make no sense. */
bool node_open(struct node *n, const uint8_t *from, uint64_t len_bytes);

#define NODE_NO_ROW UINT32_MAX

static inline uint32_t node_attr(const struct node *n, uint32_t row)
{
	return (uint32_t)bits_get(n->attrs, (uint64_t)row * n->attr_bits, n->attr_bits);
}

static inline uint32_t node_mask(const struct node *n, uint32_t row)
{
	return (uint32_t)bits_get(n->masks, (uint64_t)row * n->mask_bits, n->mask_bits);
}

/* Row of @attr, or NODE_NO_ROW. */
uint32_t node_find(const struct node *n, uint32_t attr);

/* 1, 0 when the row has no changes here, -EIO when its bytes make no sense. */
int node_segment(const struct node *n, uint32_t row, struct segment *s);

/* Has the begin of a row's segment fetched; @row may be NODE_NO_ROW. */
void node_prefetch(const struct node *n, uint32_t row);

/* Walks all rows from the first on, some at a time, and has what comes next in memory fetched
 * meanwhile. */
#define NODE_WALK_ROWS 8

struct node_walk {
	const struct node *n;
	const uint8_t *fetched;
	uint32_t row; /* the first one of the next call */
};

/* A segment with so many changes may be longer than what is fetched of it. */
#define NODE_LONG_SEGMENT 512

void node_walk_init(struct node_walk *w, const struct node *n);
/* Opens the segments of the next NODE_WALK_ROWS rows, fewer at the end: @any tells which have one.
 * Returns how many rows, 0 behind the last, -EIO. */
int node_walk_next(struct node_walk *w, struct segment *s, bool *any);

/* Places below this one are at times <= t. */
uint64_t node_places_upto(const struct node *n, int64_t t);

int64_t node_time_slow(const struct node *n, uint64_t place);

/* The time of a place. */
static inline int64_t node_time(const struct node *n, uint64_t place)
{
	if (!n->nr_times)
		return (int64_t)((uint64_t)n->base + place);
	return node_time_slow(n, place);
}

/* Turns @nr rising places into times, in place. */
void node_times(const struct node *n, uint64_t *places, uint32_t nr);

#endif
