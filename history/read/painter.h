/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_READ_PAINTER_H
#define HISTORY_READ_PAINTER_H

#include "history/history.h"

/*
 * A painter turns what is known of one row, piece after piece in order of time, into runs of
 * pixels: in every pixel the value that held longest.  painter_init() once, then for each row
 * painter_row(), pieces that touch each other and fill the window, and painter_end().
 *
 * How many pieces a pixel has and which of them leads cannot be foreseen, and a branch on it costs
 * as much as all the rest of a piece.  So nearly everything here does without.
 */
#define PAINTER_SLOTS 1024 /* power of two */

/* What a value has in the pixel, if the key's stamp is that of the pixel. */
struct painter_slot {
	uint64_t key; /* stamp << 32 | value */
	uint64_t
		weight; /* time the value had; in a mixed pixel probably had, times SHARE_ALL + 1 */
};

struct painter {
	ns_t begin, end;
	unsigned pixels;
	bool thin;		/* pixels may be narrower than 1 ns */
	uint64_t pixels_per_ns; /* in 2^-64, if not thin */
	uint64_t share_per_ns;	/* of a pixel, 255 = all, in 2^-56 */
	ns_t *edges;		/* owned: pixel i is [edges[i], edges[i + 1]) */

	/* The pixel being filled. */
	unsigned pixel;
	uint32_t stamp; /* another one for every pixel */
	uint64_t most;	/* weight of the slot that leads */
	struct painter_slot *leader;
	bool exact; /* all of it comes from changes */
	bool mixed; /* sure_ns counts */
	struct painter_slot slots[PAINTER_SLOTS];
	uint64_t sure_ns[PAINTER_SLOTS]; /* time the slot's value had at least */

	/* The row.  The first of the runs is not one, it only stands before them. */
	struct pixel_run *runs; /* owned */
	struct pixel_run *last;
	uint32_t last_value;
	bool any_none; /* there are runs with value 0 */
};

int painter_init(struct painter *p, ns_t begin, ns_t end, unsigned pixels);
void painter_release(struct painter *p);
void painter_row(struct painter *p);
/* The row's runs, at most one per pixel; valid until the next row begins. */
const struct pixel_run *painter_end(struct painter *p, unsigned *nr);

/* From a summary: the value had at least @share / SHARE_ALL of [begin, end). */
void painter_share(struct painter *p, ns_t begin, ns_t end, uint32_t value, unsigned share);

/* From a summary: buckets @width_ns wide, each of them inside the window, no wider than half a
 * pixel and with a share below SHARE_ALL. */
void painter_buckets(struct painter *p, ns_t begin, ns_t width_ns, const uint32_t *values,
		     const uint8_t *shares, uint32_t nr);

/* From changes: the value had all of [begin, end). */
void painter_value(struct painter *p, ns_t begin, ns_t end, uint32_t value);

/* The row has *value from *at to the first of these times, and so on; they tell where it stands
 * after the last one. */
void painter_changes(struct painter *p, ns_t *at, uint32_t *value, const ns_t *times,
		     const uint32_t *values, uint32_t nr);

#endif
