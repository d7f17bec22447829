/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_CELLS_H
#define TERM_CELLS_H

#include "base/map.h"
#include "report/filter.h"
#include "term/lines.h"

/*
 * What the lines on the screen show in the window: values at pixel resolution, asked for in one
 * query, each attribute once, and only for these lines.
 */
struct cells {
	unsigned pixels;
	struct map rows;  /* attribute -> row of values */
	uint32_t *values; /* owned */
	size_t room;
};

/* These lines in [@begin, @end); 0 or -errno. */
int cells_query(struct cells *c, struct sonde_history *history, const struct line *const *lines,
		unsigned nr, int64_t begin, int64_t end, unsigned pixels);
void cells_release(struct cells *c);

/* The value of @line there, with what it is limited to taken into account; 0 nothing. */
uint32_t cells_value(const struct cells *c, struct sonde_history *history, const struct line *line,
		     unsigned pixel);

/* ---- how a value looks --------------------------------------------------------------------- */

struct look {
	int color;    /* of the 256, -1 nothing is there */
	char letter;  /* where there are no colours */
	bool matches; /* the filter */
};

struct look value_look(struct sonde_history *history, const struct line *line, uint32_t value,
		       bool safe, struct filter *filter);

/* What is written upon it where there is room: a short name. */
void value_name(struct sonde_history *history, const struct line *line, uint32_t value, char *buf,
		size_t room);

#endif
