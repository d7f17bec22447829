/* SPDX-License-Identifier: Apache-2.0 */
/* Keys for bookmarks: moments with a note, kept until the user leaves, who is then told them. */
#include "term/commands.h"

#include <stdio.h>
#include <string.h>

static void take_out(struct scene *s, unsigned i)
{
	memmove(&s->bookmarks[i], &s->bookmarks[i + 1],
		(s->nr_bookmarks - i - 1) * sizeof(*s->bookmarks));
	s->nr_bookmarks--;
}

/* At the cursor: asks for a note; where there is one, it goes. */
void begin_note(struct timeline *t)
{
	struct scene *s = &t->scene;

	for (unsigned i = 0; i < s->nr_bookmarks; i++) {
		if (s->bookmarks[i].t == s->view.cursor) {
			take_out(s, i);
			message(t, "the bookmark is gone");
			return;
		}
	}
	if (s->nr_bookmarks == BOOKMARKS_MAX) {
		message(t, "there is no room for more bookmarks");
		return;
	}
	t->mode = MODE_NOTE;
	prompt_begin(&t->prompt, " bookmark, with a note: ", "");
}

/* In the order of time. */
void add_note(struct timeline *t, const char *text)
{
	struct scene *s = &t->scene;
	unsigned at = 0;

	while (at < s->nr_bookmarks && s->bookmarks[at].t < s->view.cursor)
		at++;
	memmove(&s->bookmarks[at + 1], &s->bookmarks[at],
		(s->nr_bookmarks - at) * sizeof(*s->bookmarks));
	s->bookmarks[at].t = s->view.cursor;
	snprintf(s->bookmarks[at].text, sizeof(s->bookmarks[at].text), "%s", text);
	s->nr_bookmarks++;
}

void next_note(struct timeline *t)
{
	struct scene *s = &t->scene;

	for (unsigned i = 0; i < s->nr_bookmarks; i++) {
		if (s->bookmarks[i].t > s->view.cursor) {
			view_move_cursor(&s->view, s->bookmarks[i].t);
			return;
		}
	}
	message(t, "no bookmark after the cursor");
}

void last_note(struct timeline *t)
{
	struct scene *s = &t->scene;

	for (unsigned i = s->nr_bookmarks; i-- > 0;) {
		if (s->bookmarks[i].t < s->view.cursor) {
			view_move_cursor(&s->view, s->bookmarks[i].t);
			return;
		}
	}
	message(t, "no bookmark before the cursor");
}
