/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that find things and highlight them. */
#include "sonde/time.h"
#include "term/commands.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void set_filter(struct timeline *t, const char *text)
{
	struct scene *s = &t->scene;
	struct filter f;

	if (filter_init(&f, s->history, text)) {
		t->ret = -ENOMEM;
		return;
	}
	filter_release(&s->filter);
	s->filter = f;
	snprintf(s->filter_text, sizeof(s->filter_text), "%s", text);
}

void begin_filter(struct timeline *t)
{
	t->mode = MODE_FILTER;
	snprintf(t->filter_before, sizeof(t->filter_before), "%s", t->scene.filter_text);
	prompt_begin(&t->prompt, " highlight (machine: cpu: container: process: thread: state:) ",
		     t->scene.filter_text);
}

void begin_search(struct timeline *t)
{
	t->mode = MODE_SEARCH;
	prompt_begin(&t->prompt, " find a thread, machine, container, or a time: ", "");
}

/* As the user wrote it; nothing: the same again. */
void find(struct timeline *t, const char *text)
{
	struct scene *s = &t->scene;
	bool again = !*text || !strcmp(text, t->searched);
	struct sonde_error err = {0};
	int64_t at;
	int line;

	if (isdigit((unsigned char)*text) || *text == '+' || !strncmp(text, "tsc:", 4)) {
		if (!sonde_history_time(s->history, text, &at, &err)) {
			view_move_cursor(&s->view, at);
			return;
		}
	}
	if (*text)
		snprintf(t->searched, sizeof(t->searched), "%s", text);
	if (!*t->searched)
		return;
	lines_busy(&s->lines, s->view.begin, s->view.end);
	line = lines_search(&s->lines, t->searched, (int)s->chosen, again);
	if (line >= 0)
		s->chosen = (unsigned)line;
	else
		message(t, *err.text ? err.text : "nothing of that name is in this history");
}

/* The thread at the cursor, or the machine of a group: highlighted, or no longer. */
void highlight(struct timeline *t)
{
	char term[PROMPT_ROOM];

	if (scene_term(&t->scene, term, sizeof(term)))
		set_filter(t, strcmp(t->scene.filter_text, term) ? term : "");
}

void escape(struct timeline *t)
{
	if (t->scene.has_range)
		t->scene.has_range = false;
	else
		set_filter(t, "");
}
