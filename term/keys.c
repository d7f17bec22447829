/* SPDX-License-Identifier: Apache-2.0 */
/* Which key does what, and the help, which is written from that. */
#include "term/commands.h"
#include "term/help.h"

#include <errno.h>
#include <string.h>

#define CONTROL(letter) ((letter)&0x1f)

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
	{{'0'}, "0", "the whole history", whole_run},
	{{'u'}, "u", "undo a zoom", undo},
	{{TTY_LEFT, 'h'}, "Left h", "the cursor to the left", cursor_left},
	{{TTY_RIGHT, 'l'}, "Right l", "the cursor to the right", cursor_right},
	{{TTY_HOME}, "Home", "the cursor to the start of the history", to_begin},
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
	{{'c'}, "c", "times of the trace, or from the start of the history", next_clock},
	{{'p'}, "p", "the line stays on top, or no longer does", pin},
	{{'P'}, "P", "no line stays on top", no_pins},
	{{'b'}, "b", "a bookmark with a note, or it goes; listed when you leave", begin_note},
	{{'m'}, "m", "next bookmark", next_note},
	{{'M'}, "M", "last bookmark", last_note},
	{{'T'}, "T", "usual colours, colours for all eyes, letters", next_palette},
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
	{"orange, yellow", "hardirqs and softirqs (i, x)"},
	{"purple", "hypervisor, between VM exit and entry (h)"},
	{"red", "runnable, but not on a CPU (!)"},
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
	in_lines = row >= 2 + l.pins && row < 2 + l.pins + l.lines;
	line = s->first + row - 2 - l.pins;
	if (column >= l.names && row < 2 + l.pins + l.lines)
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

void command_key(struct timeline *t, int key)
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
