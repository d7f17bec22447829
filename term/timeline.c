/* SPDX-License-Identifier: Apache-2.0 */
#include "term/timeline.h"
#include "sonde/time.h"
#include "term/help.h"
#include "term/prompt.h"
#include "term/scene.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNDO_MAX 32
#define CONTROL(letter) ((letter)&0x1f)

enum mode { MODE_KEYS, MODE_FILTER, MODE_SEARCH };

struct timeline {
	struct scene scene;
	enum mode mode;
	struct prompt prompt;
	char searched[PROMPT_ROOM];
	char filter_before[PROMPT_ROOM];
	ns_t undo[UNDO_MAX][2];
	unsigned nr_undo;
	bool left;
	int ret;
};

static void message(struct timeline *t, const char *text)
{
	snprintf(t->scene.message, sizeof(t->scene.message), "%s", text);
}

static const struct line *chosen_line(const struct timeline *t)
{
	const struct scene *s = &t->scene;

	return s->chosen < s->lines.nr ? &s->lines.list[s->chosen] : NULL;
}

static unsigned columns_of(const struct timeline *t)
{
	struct layout l;

	scene_layout(&t->scene, &l);
	return l.cells;
}

/* ---- the window ---------------------------------------------------------------------------- */

static void remember(struct timeline *t)
{
	if (t->nr_undo == UNDO_MAX)
		memmove(t->undo, t->undo + 1, sizeof(t->undo) - sizeof(*t->undo));
	t->nr_undo -= t->nr_undo == UNDO_MAX;
	t->undo[t->nr_undo][0] = t->scene.view.begin;
	t->undo[t->nr_undo++][1] = t->scene.view.end;
}

static void zoom_in(struct timeline *t)
{
	remember(t);
	view_zoom(&t->scene.view, 7, 10);
}

static void zoom_out(struct timeline *t)
{
	remember(t);
	view_zoom(&t->scene.view, 10, 7);
}

static void pan_left(struct timeline *t)
{
	view_pan(&t->scene.view, -1, 8);
}

static void pan_right(struct timeline *t)
{
	view_pan(&t->scene.view, 1, 8);
}

static void screen_left(struct timeline *t)
{
	view_pan(&t->scene.view, -9, 10);
}

static void screen_right(struct timeline *t)
{
	view_pan(&t->scene.view, 9, 10);
}

static void whole_run(struct timeline *t)
{
	remember(t);
	view_show(&t->scene.view, t->scene.view.run_begin, t->scene.view.run_end);
}

static void undo(struct timeline *t)
{
	if (!t->nr_undo) {
		message(t, "there is nothing to undo");
		return;
	}
	t->nr_undo--;
	view_show(&t->scene.view, t->undo[t->nr_undo][0], t->undo[t->nr_undo][1]);
}

static void cursor_left(struct timeline *t)
{
	view_step(&t->scene.view, -1, columns_of(t));
}

static void cursor_right(struct timeline *t)
{
	view_step(&t->scene.view, 1, columns_of(t));
}

static void to_begin(struct timeline *t)
{
	view_move_cursor(&t->scene.view, t->scene.view.run_begin);
}

static void to_end(struct timeline *t)
{
	view_move_cursor(&t->scene.view, t->scene.view.run_end - 1);
}

static void range_from(struct timeline *t)
{
	struct scene *s = &t->scene;

	s->range_begin = s->view.cursor;
	if (!s->has_range || s->range_end <= s->range_begin)
		s->range_end = s->view.end;
	s->has_range = true;
}

static void range_to(struct timeline *t)
{
	struct scene *s = &t->scene;

	s->range_end = s->view.cursor;
	if (!s->has_range || s->range_begin >= s->range_end)
		s->range_begin = s->view.begin;
	s->has_range = s->range_begin < s->range_end;
}

static void zoom_to_range(struct timeline *t)
{
	if (!t->scene.has_range) {
		message(t, "there is no range yet: [ and ] set its ends at the cursor");
		return;
	}
	remember(t);
	view_show(&t->scene.view, t->scene.range_begin, t->scene.range_end);
}

/* ---- lines --------------------------------------------------------------------------------- */

static void rebuild(struct timeline *t)
{
	if (lines_build(&t->scene.lines))
		t->ret = -ENOMEM;
}

static void move_line(struct timeline *t, int by)
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

static void line_up(struct timeline *t)
{
	move_line(t, -1);
}

static void line_down(struct timeline *t)
{
	move_line(t, 1);
}

static void page_up(struct timeline *t)
{
	move_line(t, -screenful(t));
}

static void page_down(struct timeline *t)
{
	move_line(t, screenful(t));
}

static void toggle(struct timeline *t)
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

static void close_or_open_all(struct timeline *t)
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

/* ---- steps from change to change ----------------------------------------------------------- */

static void step(struct timeline *t, bool forward, bool same)
{
	const char *why = scene_step(&t->scene, forward, same);

	if (why)
		message(t, why);
}

static void next_change(struct timeline *t)
{
	step(t, true, false);
}

static void last_change(struct timeline *t)
{
	step(t, false, false);
}

static void next_same(struct timeline *t)
{
	step(t, true, true);
}

static void last_same(struct timeline *t)
{
	step(t, false, true);
}

/* ---- filter and search --------------------------------------------------------------------- */

static void set_filter(struct timeline *t, const char *text)
{
	struct scene *s = &t->scene;
	struct filter f;

	if (filter_init(&f, s->run, text)) {
		t->ret = -ENOMEM;
		return;
	}
	filter_release(&s->filter);
	s->filter = f;
	snprintf(s->filter_text, sizeof(s->filter_text), "%s", text);
}

static void begin_filter(struct timeline *t)
{
	t->mode = MODE_FILTER;
	snprintf(t->filter_before, sizeof(t->filter_before), "%s", t->scene.filter_text);
	prompt_begin(&t->prompt, " highlight (machine: cpu: container: process: thread: state:) ",
		     t->scene.filter_text);
}

static void begin_search(struct timeline *t)
{
	t->mode = MODE_SEARCH;
	prompt_begin(&t->prompt, " find a thread, machine, container, or a time: ", "");
}

/* As the user wrote it; nothing: the same again. */
static void find(struct timeline *t, const char *text)
{
	struct scene *s = &t->scene;
	bool again = !*text || !strcmp(text, t->searched);
	struct sonde_error err = {0};
	int64_t at;
	int line;

	if (isdigit((unsigned char)*text) || *text == '+' || !strncmp(text, "tsc:", 4)) {
		if (!sonde_run_time(s->run, text, &at, &err)) {
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
		message(t, *err.text ? err.text : "nothing of that name is in this run");
}

/* The thread at the cursor, or the machine of a group: highlighted, or no longer. */
static void highlight(struct timeline *t)
{
	char term[PROMPT_ROOM];

	if (scene_term(&t->scene, term, sizeof(term)))
		set_filter(t, strcmp(t->scene.filter_text, term) ? term : "");
}

static void escape(struct timeline *t)
{
	if (t->scene.has_range)
		t->scene.has_range = false;
	else
		set_filter(t, "");
}

/* ---- looks --------------------------------------------------------------------------------- */

static void next_palette(struct timeline *t)
{
	static const char *const names[] = {
		"the usual colours", "colours for all eyes",
		("letters: u user, s system call, k kernel, i interrupt, "
		 "h hypervisor, g guest, ! not on a CPU, ~ waits")};
	struct scene *s = &t->scene;

	if (tty_has_colors(s->tty))
		s->palette = (enum palette)((s->palette + 1) % NR_PALETTES);
	message(t, names[s->palette]);
}

static void next_clock(struct timeline *t)
{
	t->scene.from_begin = !t->scene.from_begin;
}

static void leave(struct timeline *t)
{
	t->left = true;
}

static void show_help(struct timeline *t);

/* ---- keys ---------------------------------------------------------------------------------- */

/* Every key: keys are bound and the help is written from this.  As on the page, where it has the
 * same. */
static const struct binding {
	int keys[4];
	const char *names, *what;
	void (*run)(struct timeline *t);
} bindings[] = {
	{{'w', '+', '='}, "w +", "zoom in at the cursor", zoom_in},
	{{'s', '-'}, "s -", "zoom out", zoom_out},
	{{'a'}, "a", "to the left", pan_left},
	{{'d'}, "d", "to the right", pan_right},
	{{'A'}, "A", "a screen to the left", screen_left},
	{{'D'}, "D", "a screen to the right", screen_right},
	{{'0'}, "0", "the whole run", whole_run},
	{{'u'}, "u", "undo a zoom", undo},
	{{TTY_LEFT, 'h'}, "Left h", "the cursor to the left", cursor_left},
	{{TTY_RIGHT, 'l'}, "Right l", "the cursor to the right", cursor_right},
	{{TTY_HOME}, "Home", "the cursor to the begin of the run", to_begin},
	{{TTY_END_KEY}, "End", "the cursor to its end", to_end},
	{{'.', TTY_SHIFT_RIGHT}, ". Shift-Right", "next change of this line", next_change},
	{{',', TTY_SHIFT_LEFT}, ", Shift-Left", "last change of this line", last_change},
	{{'n'}, "n", "next time this thread runs, or this state comes", next_same},
	{{'N'}, "N", "last time", last_same},
	{{TTY_UP, 'k'}, "Up k", "the line above", line_up},
	{{TTY_DOWN, 'j'}, "Down j", "the line below", line_down},
	{{TTY_PAGE_UP}, "PgUp", "a screen up", page_up},
	{{TTY_PAGE_DOWN}, "PgDn", "a screen down", page_down},
	{{TTY_ENTER, ' '}, "Enter Space", "open or close a group", toggle},
	{{'*'}, "*", "open or close all groups", close_or_open_all},
	{{'/', CONTROL('f')},
	 "/",
	 "find a thread, machine, CPU, container; or go to a time",
	 begin_search},
	{{'f'}, "f", "highlight filter", begin_filter},
	{{'x'}, "x", "highlight the thread at the cursor", highlight},
	{{'['}, "[", "the range begins at the cursor", range_from},
	{{']'}, "]", "the range ends at the cursor", range_to},
	{{'z'}, "z", "the range fills the screen", zoom_to_range},
	{{TTY_ESCAPE}, "Esc", "no range; no filter", escape},
	{{'c'}, "c", "times of the trace, or from the begin of the run", next_clock},
	{{'T', 'p'}, "T", "usual colours, colours for all eyes, letters", next_palette},
	{{'?'}, "?", "this help", show_help},
	{{'q', 'Q'}, "q", "leave", leave},
};

static const struct help_line more_help[] = {
	{NULL, "Mouse"},
	{"click", "cursor and line; a group opens and closes"},
	{"wheel", "zoom at the pointer; over the names, up and down"},
	{"Shift", "held down, most terminals let you choose text"},
	{NULL, "Highlight filter"},
	{"machine:vm-a", "what is not of vm-a fades"},
	{"thread:burn,app", "one or the other"},
	{"state:preempted -cpu:vm-a/1", "both; - turns a term around"},
	{"container=web", "= wants the whole word; quotes keep blanks"},
	{"text", "is looked for everywhere"},
	{NULL, "Colours"},
	{"grey, green, blue", "idle, user space, system calls and kernel (u, s, k)"},
	{"orange, yellow", "interrupts and soft interrupts (i, x)"},
	{"purple", "hypervisor, between VM exit and entry (h)"},
	{"red", "ready to run, but not on a CPU (!)"},
	{"pale", "waits (~)"},
	{"white", "not known (?)"},
};

static void show_help(struct timeline *t)
{
	struct help_line lines[ARRAY_SIZE(bindings) + ARRAY_SIZE(more_help) + 1];
	unsigned nr = 0;

	lines[nr++] = (struct help_line){NULL, "Keys"};
	for (unsigned i = 0; i < ARRAY_SIZE(bindings); i++)
		lines[nr++] = (struct help_line){bindings[i].names, bindings[i].what};
	memcpy(lines + nr, more_help, sizeof(more_help));
	nr += ARRAY_SIZE(more_help);
	if (help_run(t->scene.tty, " sonde timeline: keys", lines, nr) == TTY_END)
		t->ret = -EINTR;
}

/* Where the mouse was, in lines and in time. */
static void mouse_key(struct timeline *t, int key)
{
	struct scene *s = &t->scene;
	struct layout l;
	unsigned row, column, line;
	bool in_lines;

	scene_layout(s, &l);
	tty_mouse(s->tty, &row, &column);
	in_lines = row >= 2 && row < 2 + l.lines;
	line = s->first + row - 2;
	if (column >= l.names && row < 2 + l.lines)
		s->view.cursor = view_time(&s->view, column - l.names, l.cells);
	if (key == TTY_CLICK && in_lines && line < s->lines.nr) {
		s->chosen = line;
		if (s->lines.list[line].kind == LINE_GROUP && column < l.names)
			toggle(t);
	} else if (key != TTY_CLICK && column >= l.names) {
		(key == TTY_WHEEL_UP ? zoom_in : zoom_out)(t);
	} else if (key != TTY_CLICK) {
		move_line(t, key == TTY_WHEEL_UP ? -3 : 3);
	}
}

static void command_key(struct timeline *t, int key)
{
	if (key == TTY_CLICK || key == TTY_WHEEL_UP || key == TTY_WHEEL_DOWN) {
		mouse_key(t, key);
		return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bindings); i++) {
		for (unsigned k = 0; k < ARRAY_SIZE(bindings[i].keys); k++) {
			if (bindings[i].keys[k] && bindings[i].keys[k] == key) {
				bindings[i].run(t);
				return;
			}
		}
	}
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
				  : " ? help  w s zoom  a d pan  . , next, last change  f filter  "
				    "/ find  Enter open  q leave");
}

static int loop(struct timeline *t, struct error *err)
{
	while (!t->left && !t->ret) {
		int ret = scene_draw(&t->scene);
		int key;

		if (ret)
			return fail(err, ret, "cannot read the history: %s", strerror(-ret));
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

static int begin(struct timeline *t, struct sonde_run *run, const struct timeline_view *view,
		 struct error *err)
{
	struct scene *s = &t->scene;
	int ret = tty_open(&s->tty, view->in, view->out, view->color, view->stop, err);

	if (ret)
		return ret;
	s->run = run;
	s->palette = !tty_has_colors(s->tty) ? PALETTE_LETTERS
		     : view->safe	     ? PALETTE_SAFE
					     : PALETTE_USUAL;
	view_init(&s->view, sonde_run_begin(run), sonde_run_end(run));
	view_show(&s->view, view->begin, view->end);
	s->view.cursor = s->view.begin + (s->view.end - s->view.begin) / 2;
	lines_init(&s->lines, run);
	ret = lines_build(&s->lines);
	if (!ret && view->filter) {
		set_filter(t, view->filter);
		ret = t->ret;
	}
	if (s->lines.nr > 1)
		s->chosen = 1; /* the first CPU */
	return ret ? fail(err, ret, "out of memory") : 0;
}

int timeline_run(struct sonde_run *run, const struct timeline_view *view, struct error *err)
{
	struct timeline *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return fail(err, -ENOMEM, "out of memory");
	ret = begin(t, run, view, err);
	if (!ret)
		ret = loop(t, err);
	tty_close(t->scene.tty);
	cells_release(&t->scene.cells);
	lines_release(&t->scene.lines);
	filter_release(&t->scene.filter);
	free(t);
	return ret;
}
