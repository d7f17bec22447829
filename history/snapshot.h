/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_SNAPSHOT_H
#define HISTORY_SNAPSHOT_H

#include "history/bits.h"
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

/* @last_time: NS_MIN for attributes that have never changed. */
void snapshot_put(struct bytes *out, ns_t at, const uint32_t *last_value, const ns_t *last_time,
		  uint32_t nr_attrs);

bool snapshot_open(struct snapshot *s, ns_t at, const uint8_t *from, uint64_t len_bytes);

static inline uint32_t snapshot_attr(const struct snapshot *s, uint32_t i)
{
	return (uint32_t)bits_get(s->attrs, (uint64_t)i * s->attr_bits, s->attr_bits);
}

static inline uint32_t snapshot_value(const struct snapshot *s, uint32_t i)
{
	return (uint32_t)bits_get(s->values, (uint64_t)i * s->value_bits, s->value_bits);
}

static inline ns_t snapshot_since(const struct snapshot *s, uint32_t i)
{
	uint64_t before = bits_get_wide(s->since, (uint64_t)i * s->since_bits, s->since_bits);

	return (ns_t)((uint64_t)s->at - before);
}

/* Finds @attr; false when it has not changed before. */
bool snapshot_find(const struct snapshot *s, uint32_t attr, uint32_t *value, ns_t *since);

#endif
