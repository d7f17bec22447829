/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HISTORY_PAINTER_H
#define HISTORY_PAINTER_H

#include "history/history.h"

/*
 * A painter turns what is known of one row, piece after piece in order of time, into runs of
 * pixels: in every pixel the value that held longest.  painter_init() once, then for each row
 * painter_row() and painter_add() with pieces that touch each other and fill the window.
 */
struct painter {
	ns_t begin, end;
	unsigned pixels;
	double per_ns;
	ns_t *edges; /* owned: pixel p is [edges[p], edges[p + 1]) */

	unsigned pixel;		    /* being filled */
	unsigned nr_items, item_room;
	uint32_t *item_values; /* owned: values in it */
	uint64_t *weights;     /* owned: time a value probably had, times SHARE_ALL + 1 */
	uint64_t *sure;        /* owned: time it had at least, where that is less */
	bool exact;            /* all of it known from changes: sure is not used */

	struct pixel_run *runs; /* owned: of this row; at most one per pixel */
	unsigned nr_runs;
	bool failed; /* out of memory */
};

struct piece {
	ns_t begin, end;
	uint32_t value;
	unsigned share; /* of SHARE_ALL: the value had at least this much of [begin, end) */
	bool exact;	/* from the changes themselves */
};

int painter_init(struct painter *p, ns_t begin, ns_t end, unsigned pixels);
void painter_release(struct painter *p);
void painter_row(struct painter *p);
void painter_add(struct painter *p, const struct piece *piece);
/* Pieces from changes: adds *piece up to the first change, and so on; *piece begins with the last
 * change afterwards. */
void painter_changes(struct painter *p, struct piece *piece, const uint64_t *times,
		     const uint32_t *values, uint32_t nr);

#endif
