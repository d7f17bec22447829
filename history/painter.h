/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PAINTER_H
#define HISTORY_PAINTER_H

#include "history/history.h"

/*
 * A painter turns what is known of one row, piece after piece in order of time, into runs of
 * pixels: in every pixel the value that held longest.  painter_init() once, then for each row
 * painter_row() and pieces that touch each other and fill the window.
 */
#define PAINTER_SLOTS 1024 /* power of two */
#define PAINTER_ITEMS_MAX (PAINTER_SLOTS / 2)

struct painter_item {
	uint64_t weight; /* time the value probably had, times SHARE_ALL + 1 */
	uint64_t sure;	 /* time it had at least */
	uint32_t value;
};

/* Where in the items a value is, if the slot is of this pixel. */
struct painter_slot {
	uint32_t value;
	uint32_t stamp;
	uint32_t item;
};

struct painter {
	ns_t begin, end;
	unsigned pixels;
	double per_ns;	     /* pixels */
	double share_per_ns; /* of a pixel, in 1/255 */
	ns_t *edges;	     /* owned: pixel i is [edges[i], edges[i + 1]) */

	unsigned pixel; /* being filled */
	unsigned nr_items;
	uint32_t stamp; /* another one for every pixel filled */
	bool exact;	/* all that is in the pixel comes from changes */
	struct painter_item items[PAINTER_ITEMS_MAX + 1];
	struct painter_slot slots[PAINTER_SLOTS];

	struct pixel_run *runs; /* owned: of this row; at most one per pixel */
	unsigned nr_runs;
};

int painter_init(struct painter *p, ns_t begin, ns_t end, unsigned pixels);
void painter_release(struct painter *p);
void painter_row(struct painter *p);

/* From a summary: the value had at least @share / SHARE_ALL of [begin, end). */
void painter_share(struct painter *p, ns_t begin, ns_t end, uint32_t value, unsigned share);

/* From changes: the value had all of [begin, end). */
void painter_value(struct painter *p, ns_t begin, ns_t end, uint32_t value);

/* The row has *value from *at to the first of these times, and so on; they tell where it stands
 * after the last one. */
void painter_changes(struct painter *p, ns_t *at, uint32_t *value, const uint64_t *times,
		     const uint32_t *values, uint32_t nr);

#endif
