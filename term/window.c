/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that change which part of the history is shown: zoom, pan, the cursor, the range. */
#include "term/commands.h"

#include <string.h>

static unsigned columns_of(const struct timeline *t)
{
	struct layout l;

	scene_layout(&t->scene, &l);
	return l.cells;
}

static void remember(struct timeline *t)
{
	if (t->nr_undo == UNDO_MAX)
		memmove(t->undo, t->undo + 1, sizeof(t->undo) - sizeof(*t->undo));
	t->nr_undo -= t->nr_undo == UNDO_MAX;
	t->undo[t->nr_undo][0] = t->scene.view.begin;
	t->undo[t->nr_undo++][1] = t->scene.view.end;
}

void zoom_in(struct timeline *t)
{
	remember(t);
	view_zoom(&t->scene.view, 7, 10);
}

void zoom_out(struct timeline *t)
{
	remember(t);
	view_zoom(&t->scene.view, 10, 7);
}

void pan_left(struct timeline *t)
{
	view_pan(&t->scene.view, -1, 8);
}

void pan_right(struct timeline *t)
{
	view_pan(&t->scene.view, 1, 8);
}

void screen_left(struct timeline *t)
{
	view_pan(&t->scene.view, -9, 10);
}

void screen_right(struct timeline *t)
{
	view_pan(&t->scene.view, 9, 10);
}

void whole_run(struct timeline *t)
{
	remember(t);
	view_show(&t->scene.view, t->scene.view.run_begin, t->scene.view.run_end);
}

void undo(struct timeline *t)
{
	if (!t->nr_undo) {
		message(t, "there is nothing to undo");
		return;
	}
	t->nr_undo--;
	view_show(&t->scene.view, t->undo[t->nr_undo][0], t->undo[t->nr_undo][1]);
}

void cursor_left(struct timeline *t)
{
	view_step(&t->scene.view, -1, columns_of(t));
}

void cursor_right(struct timeline *t)
{
	view_step(&t->scene.view, 1, columns_of(t));
}

void to_begin(struct timeline *t)
{
	view_move_cursor(&t->scene.view, t->scene.view.run_begin);
}

void to_end(struct timeline *t)
{
	view_move_cursor(&t->scene.view, t->scene.view.run_end - 1);
}

void range_from(struct timeline *t)
{
	struct scene *s = &t->scene;

	s->range_begin = s->view.cursor;
	if (!s->has_range || s->range_end <= s->range_begin)
		s->range_end = s->view.end;
	s->has_range = true;
}

void range_to(struct timeline *t)
{
	struct scene *s = &t->scene;

	s->range_end = s->view.cursor;
	if (!s->has_range || s->range_begin >= s->range_end)
		s->range_begin = s->view.begin;
	s->has_range = s->range_begin < s->range_end;
}

void zoom_to_range(struct timeline *t)
{
	if (!t->scene.has_range) {
		message(t, "there is no range yet: [ and ] set its ends at the cursor");
		return;
	}
	remember(t);
	view_show(&t->scene.view, t->scene.range_begin, t->scene.range_end);
}
