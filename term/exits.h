/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_EXITS_H
#define TERM_EXITS_H

#include "base/map.h"
#include "term/lines.h"

/*
 * How often vCPUs left their guests, for the lines on the screen: counted anew when the window, or
 * what lines are there, has changed.  All zero at first.
 */
struct exits {
	struct map rows;  /* vCPU (row) -> row of counts */
	uint32_t *counts; /* owned */
	unsigned nr;	  /* of a row */
	int64_t begin, end;
	uint32_t most; /* of all of them, 1 at least */
	bool about;    /* there are so many that a part was counted */
};

/* For the lines of this kind among @lines, at one count per column, or fewer where there are more
 * columns than are ever counted; 0 or -errno. */
int exits_query(struct exits *e, struct sonde_history *history, const struct line *const *lines,
		unsigned nr, int64_t begin, int64_t end, unsigned columns);
void exits_release(struct exits *e);

/* What was counted for column @x of @columns. */
uint32_t exits_count(const struct exits *e, const struct line *line, unsigned x, unsigned columns);

#endif
