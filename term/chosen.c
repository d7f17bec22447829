/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that choose lines, open, close and pin them, and step from change to change of one. */
#include "term/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct line *chosen_line(const struct timeline *t)
{
	const struct scene *s = &t->scene;

	return s->chosen < s->lines.nr ? &s->lines.list[s->chosen] : NULL;
}

static void rebuild(struct timeline *t)
{
	if (lines_build(&t->scene.lines))
		t->ret = -ENOMEM;
}

void move_line(struct timeline *t, int by)
{
	int64_t line = (int64_t)t->scene.chosen + by;
	int64_t last = (int64_t)t->scene.lines.nr - 1;

	line = line > last ? last : line;
	t->scene.chosen = line < 0 ? 0 : (unsigned)line;
}

static int screenful(const struct timeline *t)
{
	struct layout l;

	scene_layout(&t->scene, &l);
	return l.lines > 1 ? (int)l.lines - 1 : 1;
}

void line_up(struct timeline *t)
{
	move_line(t, -1);
}

void line_down(struct timeline *t)
{
	move_line(t, 1);
}

void page_up(struct timeline *t)
{
	move_line(t, -screenful(t));
}

void page_down(struct timeline *t)
{
	move_line(t, screenful(t));
}

void toggle(struct timeline *t)
{
	struct scene *s = &t->scene;
	const struct line *line = chosen_line(t);

	if (!line || line->kind != LINE_GROUP) {
		message(t, "only groups open and close");
		return;
	}
	/* Which threads are worth a line is decided by what is on the screen now. */
	if (!line->open)
		lines_busy(&s->lines, s->view.begin, s->view.end);
	lines_toggle(&s->lines, line);
	rebuild(t);
}

void close_or_open_all(struct timeline *t)
{
	struct scene *s = &t->scene;
	bool any_closed = false;

	for (unsigned i = 0; i < s->lines.nr; i++)
		any_closed |= s->lines.list[i].kind == LINE_GROUP && !s->lines.list[i].open;
	if (any_closed)
		lines_busy(&s->lines, s->view.begin, s->view.end);
	lines_open_all(&s->lines, any_closed);
	rebuild(t);
}

/* A line that stays on top, whatever is scrolled or closed; once more: no longer. */
void pin(struct timeline *t)
{
	struct scene *s = &t->scene;
	const struct line *line = chosen_line(t);
	struct sonde_machine m;
	struct line *pin;

	if (!line || line->kind == LINE_GROUP) {
		message(t, "a group cannot be pinned: choose a line of it");
		return;
	}
	for (unsigned i = 0; i < s->nr_pins; i++) {
		if (s->pins[i].id == line->id) {
			memmove(&s->pins[i], &s->pins[i + 1],
				(s->nr_pins - i - 1) * sizeof(*s->pins));
			s->nr_pins--;
			return;
		}
	}
	if (s->nr_pins == PINS_MAX) {
		message(t, "no more lines can be pinned");
		return;
	}
	pin = &s->pins[s->nr_pins++];
	*pin = *line;
	pin->depth = 0;
	/* Outside of the tree its name has to say whose it is. */
	if (!sonde_machine_get(s->history, line->machine, &m))
		snprintf(pin->label, sizeof(pin->label), "%.40s %.50s", m.name, line->label);
}

void no_pins(struct timeline *t)
{
	t->scene.nr_pins = 0;
}

/* ---- steps from change to change ----------------------------------------------------------- */

static void step(struct timeline *t, bool forward, bool same)
{
	const char *why = scene_step(&t->scene, forward, same);

	if (why)
		message(t, why);
}

void next_change(struct timeline *t)
{
	step(t, true, false);
}

void last_change(struct timeline *t)
{
	step(t, false, false);
}

void next_same(struct timeline *t)
{
	step(t, true, true);
}

void last_same(struct timeline *t)
{
	step(t, false, true);
}
