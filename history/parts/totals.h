/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PARTS_TOTALS_H
#define HISTORY_PARTS_TOTALS_H

#include "base/map.h"
#include "history/history.h"
#include "history/parts/outfile.h"

/*
 * Totals: exact time per value of the summed attributes.  One part per group (level 0), and one of
 * each higher level per TOTALS_FANOUT parts of the level below, so that any long window is a few
 * parts and two edges.  A part's [begin, end) is what it sums over.
 *
 * Payload: u32 number of attributes; for each (rising) u32 attribute, u32 offset of its list from
 * the start of the payload; then the lists: varint number of values, and for each value (rising)
 * varint value, varint time in ns.
 */
#define TOTALS_FANOUT 8
#define TOTALS_LEVELS 12

struct total {
	uint32_t attr, value;
	ns_t time_ns;
};

struct totals_level {
	struct map places;  /* attr << 32 | value -> place in list */
	struct total *list; /* owned */
	uint32_t nr, room;
	unsigned nr_children;
	ns_t begin;
};

struct totals {
	struct totals_level levels[TOTALS_LEVELS];
	bool failed;
};

void totals_release(struct totals *t);
void totals_add(struct totals *t, uint32_t attr, uint32_t value, ns_t time_ns);
/* The group that began with the first totals_add() since the last call ends. */
void totals_group(struct totals *t, ns_t begin, ns_t end, struct outfile *file);

/* Appends the payload that holds @list, which is in order of attribute and value. */
void totals_put(const struct total *list, uint32_t nr, struct bytes *out);

#endif
