/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_SNAPSHOT_H
#define HISTORY_PARTS_SNAPSHOT_H

#include "history/parts/bits.h"
#include "history/history.h"

/*
 * A snapshot: value of every attribute that has changed before some moment (the begin of a group),
 * and since when it had it.  The extra bytes of a group's node:
 *   0  u32 number of attributes
 *   4  u8  attr_bits, u8 value_bits, u8 since_bits, u8 0
 *   8  three bit arrays, each from a byte boundary on: attributes (rising), values, and how long
 *      before the group's begin the attribute changed, ns; then slack
 */
#define SNAPSHOT_HEADER_BYTES 8

struct snapshot {
	const uint8_t *attrs, *values, *since;
	ns_t at;
	uint32_t nr;
	uint8_t attr_bits, value_bits, since_bits;
};

struct snapshot_entry {
	ns_t since;
	uint32_t attr, value;
};

/* Attributes rise; none changed after @at. */
void snapshot_put(struct bytes *out, ns_t at, const struct snapshot_entry *list, uint32_t nr);

bool snapshot_open(struct snapshot *s, ns_t at, const uint8_t *from, uint64_t len_bytes);

/* Reads entries [first, first + nr). */
void snapshot_entries(const struct snapshot *s, uint32_t first, uint32_t nr,
		      struct snapshot_entry *out);

/* Finds @attr; false when it has not changed before. */
bool snapshot_find(const struct snapshot *s, uint32_t attr, uint32_t *value, ns_t *since);

#endif
