/* SPDX-License-Identifier: Apache-2.0 */
/* From change to change of the chosen line, and what it shows at the cursor as a filter's term. */
#include "term/scene.h"
#include "model/context.h"

#include <stdio.h>
#include <string.h>

#define LOOK_STEPS 512 /* changes that are looked at between two looks at the keyboard */

static const struct line *chosen_line(const struct scene *s)
{
	return s->chosen < s->lines.nr ? &s->lines.list[s->chosen] : NULL;
}

/* Is this value the one that is looked for?  @thread: of a context, -1 any.  A thread's own line
 * is asked when it runs next, whatever it does now. */
static bool is_wanted(struct sonde_history *history, const struct line *line, uint32_t value,
		      uint32_t from, bool same, int64_t thread)
{
	struct sonde_context c;

	if (!same)
		return value != from;
	if (line->kind == LINE_THREAD)
		return value == THREAD_RUNNING;
	if (line->kind == LINE_CPU)
		return !sonde_context_get(history, (int64_t)value - 1, &c) && c.thread == thread;
	return value == from;
}

const char *scene_step(struct scene *s, bool forward, bool same)
{
	const struct line *line = chosen_line(s);
	struct sonde_interval now;
	struct sonde_context c;
	ns_t at = s->view.cursor;
	uint32_t from;

	if (line && line->kind == LINE_EXITS)
		return "bars have no changes: choose another line of this vCPU";
	if (!line || line->attr == SONDE_NO_ATTR)
		return "a group does not change: choose a line of it";
	if (sonde_interval_at(s->history, line->attr, at, &now))
		return "nothing can be read of this moment";
	from = line_value(s->history, line, now.value);
	if (sonde_context_get(s->history, (int64_t)from - 1, &c))
		c.thread = -1;
	for (unsigned n = 1;; n++) {
		int ret = forward ? sonde_attr_next_change(s->history, line->attr, at, &at)
				  : sonde_attr_prev_change(s->history, line->attr, at - 1, &at);

		if (ret || at < s->view.run_begin || at >= s->view.run_end ||
		    sonde_interval_at(s->history, line->attr, at, &now))
			return forward ? "nothing more until the end of the history"
				       : "nothing more until the start of the history";
		if (is_wanted(s->history, line, line_value(s->history, line, now.value), from, same,
			      c.thread))
			break;
		if (n % LOOK_STEPS == 0 && tty_key_waits(s->tty))
			return "stopped looking";
	}
	view_move_cursor(&s->view, at);
	return NULL;
}

/* The thread that the line shows at the cursor; -1 none. */
static int64_t thread_there(const struct scene *s, const struct line *line)
{
	struct sonde_interval now;
	struct sonde_context c;

	if (line->kind != LINE_CPU && line->kind != LINE_TASK)
		return line->thread;
	if (sonde_interval_at(s->history, line->attr, s->view.cursor, &now))
		return -1;
	if (line->kind == LINE_TASK)
		return (int64_t)now.value - 1;
	return sonde_context_get(s->history, (int64_t)now.value - 1, &c) ? -1 : c.thread;
}

bool scene_term(const struct scene *s, char *buf, size_t room)
{
	const struct line *line = chosen_line(s);
	int64_t thread = line ? thread_there(s, line) : -1;
	struct sonde_machine m;
	char label[160];

	if (thread >= 0) {
		sonde_thread_label(s->history, thread, label, sizeof(label));
		snprintf(buf, room, strpbrk(label, " ,") ? "thread=\"%s\"" : "thread=%s", label);
		return true;
	}
	if (!line || sonde_machine_get(s->history, line->machine, &m))
		return false;
	snprintf(buf, room, "machine=%s", m.name);
	return true;
}
