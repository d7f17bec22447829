/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_VIEW_H
#define TERM_VIEW_H

#include "base/types.h"

/*
 * Which part of a history is on the screen, and where in it the cursor is.  All times are within
 * the history; the window is never empty, never longer than the history, and the cursor is always
 * in it.
 */
struct view {
	ns_t run_begin, run_end;
	ns_t begin, end; /* [begin, end) */
	ns_t cursor;
	ns_t span_min; /* a pixel is a nanosecond wide at least */
};

void view_init(struct view *v, ns_t run_begin, ns_t run_end);

/* The window becomes [@begin, @end), as far as that can be. */
void view_show(struct view *v, ns_t begin, ns_t end);

/* Its length becomes @num/@den of what it was; the cursor stays where it is on the screen. */
void view_zoom(struct view *v, unsigned num, unsigned den);

/* By @num/@den of its length, to the left when @num is negative; the cursor goes along. */
void view_pan(struct view *v, int num, int den);

/* Where the cursor goes the window follows. */
void view_move_cursor(struct view *v, ns_t t);

/* The column of @columns that shows @t, and the first time that a column shows. */
unsigned view_column(const struct view *v, ns_t t, unsigned columns);
ns_t view_time(const struct view *v, unsigned column, unsigned columns);

/* One column to the right or left; at once past the begin of its pixel. */
void view_step(struct view *v, int columns_by, unsigned columns);

#endif
