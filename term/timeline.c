/* SPDX-License-Identifier: Apache-2.0 */
#include "term/timeline.h"
#include "term/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void message(struct timeline *t, const char *text)
{
	snprintf(t->scene.message, sizeof(t->scene.message), "%s", text);
}

static void text_key(struct timeline *t, int key)
{
	enum prompt_end end = prompt_key(&t->prompt, key);
	enum mode mode = t->mode;

	if (mode == MODE_FILTER) /* at once: one sees what it does */
		set_filter(t, end == PROMPT_LEFT ? t->filter_before : t->prompt.text);
	if (end == PROMPT_GOES_ON)
		return;
	t->mode = MODE_KEYS;
	if (mode == MODE_SEARCH && end == PROMPT_ENTERED)
		find(t, t->prompt.text);
	if (mode == MODE_NOTE && end == PROMPT_ENTERED)
		add_note(t, t->prompt.text);
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void draw_last_row(struct timeline *t)
{
	struct tty *tty = t->scene.tty;
	unsigned row = tty_rows(tty) - 1;

	if (t->mode != MODE_KEYS) {
		prompt_draw(&t->prompt, tty, row);
		return;
	}
	tty_no_cursor(tty);
	tty_put(tty, row, 0, tty_columns(tty), TTY_BAR, true,
		*t->scene.message ? t->scene.message
				  : " ? help  q leave  w s zoom  a d pan  . , change  "
				    "f filter  / find  Enter open");
}

static int loop(struct timeline *t, struct error *err)
{
	while (!t->left && !t->ret) {
		int ret = scene_draw(&t->scene);
		int key;

		if (ret)
			return fail(err, ret, "cannot read the history: %s", error_reason(ret));
		draw_last_row(t);
		tty_show(t->scene.tty);
		key = tty_key(t->scene.tty, -1);
		*t->scene.message = '\0';
		if (key == TTY_END)
			return -EINTR;
		if (t->mode == MODE_KEYS)
			command_key(t, key);
		else
			text_key(t, key);
	}
	return t->ret == -ENOMEM ? fail(err, t->ret, "out of memory") : t->ret;
}

static int begin(struct timeline *t, struct sonde_history *history,
		 const struct timeline_view *view, struct error *err)
{
	struct scene *s = &t->scene;
	int ret = tty_open(&s->tty, view->in, view->out, view->color, view->stop, err);

	if (ret)
		return ret;
	s->history = history;
	s->palette = !tty_has_colors(s->tty) ? PALETTE_LETTERS
		     : view->safe	     ? PALETTE_SAFE
					     : PALETTE_USUAL;
	view_init(&s->view, sonde_history_begin(history), sonde_history_end(history));
	view_show(&s->view, view->begin, view->end);
	missing_line(history, view->begin, view->end, s->missing, sizeof(s->missing));
	s->view.cursor = s->view.begin + (s->view.end - s->view.begin) / 2;
	lines_init(&s->lines, history);
	ret = lines_build(&s->lines);
	if (!ret && view->filter) {
		set_filter(t, view->filter);
		ret = t->ret;
	}
	if (s->lines.nr > 1)
		s->chosen = 1; /* the first CPU */
	return ret ? fail(err, ret, "out of memory") : 0;
}

int timeline_run(struct sonde_history *history, const struct timeline_view *view, struct error *err)
{
	struct timeline *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return fail(err, -ENOMEM, "out of memory");
	ret = begin(t, history, view, err);
	if (!ret)
		ret = loop(t, err);
	tty_close(t->scene.tty);
	for (unsigned i = 0; i < t->scene.nr_bookmarks && view->bookmark; i++)
		view->bookmark(t->scene.bookmarks[i].t, t->scene.bookmarks[i].text, view->data);
	cells_release(&t->scene.cells);
	exits_release(&t->scene.exits);
	lines_release(&t->scene.lines);
	filter_release(&t->scene.filter);
	free(t);
	return ret;
}
