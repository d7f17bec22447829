/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_SCENE_H
#define TERM_SCENE_H

#include "report/missing.h"
#include "term/cells.h"
#include "term/exits.h"
#include "term/tty.h"
#include "term/view.h"

/*
 * All that the time line on a terminal shows: what is where, and how it is drawn.  What keys change
 * of it is in timeline.c.
 *
 *	row 0          what is shown, the filter
 *	row 1          time axis, the cursor and the range
 *	...            names | lines of cells: those that are pinned, then the others
 *	separator      the moment under the cursor
 *	...            details: the full stack there
 *	last row       keys, a message, or what the user writes
 */
#define PINS_MAX 8
#define BOOKMARKS_MAX 100

enum palette { PALETTE_USUAL, PALETTE_SAFE, PALETTE_LETTERS, NR_PALETTES };

struct bookmark {
	ns_t t;
	char text[80];
};

struct scene {
	struct sonde_history *history;
	struct tty *tty;
	struct view view;
	struct lines lines;
	struct cells cells;
	struct exits exits;
	struct filter filter;
	char filter_text[256];
	unsigned chosen;	    /* line */
	unsigned first;		    /* line on top */
	struct line pins[PINS_MAX]; /* named as outside of the tree */
	unsigned nr_pins;
	struct bookmark bookmarks[BOOKMARKS_MAX]; /* in the order of time */
	unsigned nr_bookmarks;
	bool has_range;
	ns_t range_begin, range_end;
	enum palette palette;
	bool from_begin;	    /* times are told from the begin of the history */
	char missing[MISSING_TEXT]; /* in the window that was opened */
	char message[600];
};

/* Sizes of the parts, as the terminal's size gives them. */
struct layout {
	unsigned rows, columns;
	unsigned names;	  /* columns of names */
	unsigned cells;	  /* columns of cells */
	unsigned pins;	  /* rows on top of the picture */
	unsigned lines;	  /* rows of the picture below them */
	unsigned details; /* rows below the separator */
};

void scene_layout(const struct scene *s, struct layout *out);

/* Pixels of a column of cells: two where half blocks can be drawn. */
unsigned scene_pixels_per_column(const struct scene *s);

/* Draws all but the last row; 0 or -errno of the query. */
int scene_draw(struct scene *s);

/* A time as the user wants it told. */
char *scene_time(const struct scene *s, ns_t t, char *buf, size_t room);

/*
 * term/step.c: the cursor goes to the next or last moment at which the chosen line shows something
 * else; with @same, at which the same thread runs again, or the state comes again.  NULL, or why it
 * stays where it is.
 */
const char *scene_step(struct scene *s, bool forward, bool same);

/* And the filter's term for the thread at the cursor, or else for the line's machine; false: none.
 */
bool scene_term(const struct scene *s, char *buf, size_t room);

/* term/details.c: what is known of the chosen line at the cursor, from @row on, on at most @nr. */
void details_draw(struct scene *s, unsigned row, unsigned nr);

#endif
