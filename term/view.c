/* SPDX-License-Identifier: Apache-2.0 */
#include "term/view.h"

static ns_t between(ns_t t, ns_t low, ns_t high)
{
	return t < low ? low : t > high ? high : t;
}

/* @a * @b / @c without an overflow on the way. */
static ns_t scale(ns_t a, ns_t b, ns_t c)
{
	return (ns_t)((__int128)a * b / c);
}

/* The same, rounded up. */
static ns_t scale_up(ns_t a, ns_t b, ns_t c)
{
	__int128 product = (__int128)a * b;

	return (ns_t)(product > 0 ? (product + c - 1) / c : product / c);
}

void view_init(struct view *v, ns_t run_begin, ns_t run_end)
{
	if (run_end <= run_begin)
		run_end = run_begin + 1;
	*v = (struct view){.run_begin = run_begin,
			   .run_end = run_end,
			   .begin = run_begin,
			   .end = run_end,
			   .cursor = run_begin,
			   .span_min = 1};
}

void view_show(struct view *v, ns_t begin, ns_t end)
{
	ns_t length = v->run_end - v->run_begin;
	ns_t least = v->span_min < length ? v->span_min : length;
	ns_t span = between(end - begin, least > 1 ? least : 1, length);

	v->begin = between(begin, v->run_begin, v->run_end - span);
	v->end = v->begin + span;
	v->cursor = between(v->cursor, v->begin, v->end - 1);
}

void view_zoom(struct view *v, unsigned num, unsigned den)
{
	ns_t span = v->end - v->begin;
	ns_t wanted = scale(span, num, den);
	ns_t before;

	if (num > den && wanted <= span)
		wanted = span + 1;
	wanted = between(wanted, v->span_min, v->run_end - v->run_begin);
	before = scale(v->cursor - v->begin, wanted, span);
	view_show(v, v->cursor - before, v->cursor - before + wanted);
}

void view_pan(struct view *v, int num, int den)
{
	ns_t span = v->end - v->begin;
	ns_t by = scale(span, num, den);
	ns_t cursor = v->cursor - v->begin;

	if (!by)
		by = num < 0 ? -1 : 1;
	view_show(v, v->begin + by, v->end + by);
	v->cursor = v->begin + cursor;
}

void view_move_cursor(struct view *v, ns_t t)
{
	ns_t span = v->end - v->begin;

	t = between(t, v->run_begin, v->run_end - 1);
	v->cursor = t;
	if (t < v->begin || t >= v->end)
		view_show(v, t - span / 2, t - span / 2 + span);
}

unsigned view_column(const struct view *v, ns_t t, unsigned columns)
{
	ns_t column = scale(t - v->begin, columns, v->end - v->begin);

	return columns ? (unsigned)between(column, 0, columns - 1) : 0;
}

ns_t view_time(const struct view *v, unsigned column, unsigned columns)
{
	/* Rounded up, so that view_column() gives the column back. */
	return columns ? v->begin + scale_up(v->end - v->begin, column, columns) : v->begin;
}

void view_step(struct view *v, int columns_by, unsigned columns)
{
	ns_t span = v->end - v->begin;
	int64_t column = (int64_t)view_column(v, v->cursor, columns) + columns_by;
	ns_t t = columns ? v->begin + scale_up(span, column, columns) : v->begin;

	if (column >= 0 && column < (int64_t)columns) {
		v->cursor = between(t, v->begin, v->end - 1);
		return;
	}
	/* Past an edge: the window goes along, no more than it has to. */
	t = between(t, v->run_begin, v->run_end - 1);
	v->cursor = t;
	if (t < v->begin)
		view_show(v, t, t + span);
	else if (t >= v->end)
		view_show(v, t + 1 - span, t + 1);
}
