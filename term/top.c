/* SPDX-License-Identifier: Apache-2.0 */
#include "term/top.h"
#include "base/units.h"
#include "term/help.h"
#include "term/tty.h"
#include "term/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLAY_MS 700
#define SHARE_WIDTH 7
#define BAD_PPM 200000 /* of its time lost: worth a colour */

struct screen_of_top {
	const struct top_view *source;
	struct tty *tty;
	struct top_window window;
	bool filled;
	struct view view; /* of a history */
	unsigned chosen;  /* row of the top */
	unsigned first;	  /* line on top of the screen */
	bool paused, playing, threads_only;
	enum top_order order;
	bool moved; /* the window: it is to be asked for */
	bool left;
	int ret;
};

/* A line of the screen: a row, a title, or a blank. */
struct entry {
	int row; /* -1: a title; -2: a blank */
	enum top_kind kind;
};

#define TITLE (-1)
#define BLANK (-2)

/* ---- what stands where --------------------------------------------------------------------- */

static bool same_table(enum top_kind a, enum top_kind b)
{
	return a == b || (a != TOP_CPU && a != TOP_THREAD && b != TOP_CPU && b != TOP_THREAD);
}

/* Up to three lines for each row of @out, which has room for them. */
static unsigned list_entries(const struct screen_of_top *s, struct entry *out)
{
	const struct top *top = &s->window.top;
	unsigned nr = 0;

	for (unsigned i = 0; i < top->nr; i++) {
		enum top_kind kind = top->rows[i].kind;

		if (s->threads_only && kind != TOP_THREAD)
			continue;
		if (!nr || !same_table(kind, out[nr - 1].kind)) {
			if (nr)
				out[nr++] = (struct entry){BLANK, kind};
			out[nr++] = (struct entry){TITLE, kind};
		}
		out[nr++] = (struct entry){(int)i, kind};
	}
	return nr;
}

static unsigned line_of(const struct entry *entries, unsigned nr, unsigned row)
{
	for (unsigned i = 0; i < nr; i++) {
		if (entries[i].row == (int)row)
			return i;
	}
	return 0;
}

/* A share's title has a blank before it: where there is little room, by being cut. */
static unsigned share_width(const struct top_column *column, unsigned columns)
{
	unsigned title = (unsigned)strlen(column->title) + 1;

	return title > SHARE_WIDTH && columns >= 90 ? title : SHARE_WIDTH;
}

/* How wide each column is: shares are, names and causes have the rest. */
static void widths_of(enum top_kind kind, unsigned columns, unsigned widths[TOP_COLUMNS_MAX])
{
	unsigned nr, extra = columns > 80 ? columns - 80 : 0, used = 0;
	const struct top_column *list = top_columns(kind, &nr);
	unsigned name = kind == TOP_THREAD ? 26 : 12;

	for (unsigned i = 0; i < nr; i++) {
		widths[i] = list[i].what == TOP_NAME ? name + (extra / 3 < 16 ? extra / 3 : 16)
			    : list[i].what == TOP_WAITS_FOR ? 13 + (extra / 5 < 10 ? extra / 5 : 10)
							    : share_width(&list[i], columns);
		if (i + 1 < nr)
			used += widths[i];
	}
	widths[nr - 1] = columns > used ? columns - used : 0;
}

/* ---- drawing ------------------------------------------------------------------------------- */

static void draw_title(struct screen_of_top *s, unsigned y, enum top_kind kind)
{
	unsigned widths[TOP_COLUMNS_MAX], nr, x = 0;
	const struct top_column *columns = top_columns(kind, &nr);

	widths_of(kind, tty_columns(s->tty), widths);
	for (unsigned i = 0; i < nr; x += widths[i++]) {
		char text[64];

		if (columns[i].what == TOP_SHARE)
			snprintf(text, sizeof(text), "%*.*s", (int)widths[i], (int)widths[i] - 1,
				 columns[i].title);
		else
			snprintf(text, sizeof(text), "%s%s", i ? "  " : "", columns[i].title);
		tty_put(s->tty, y, x, widths[i], TTY_BOLD, false, text);
	}
}

static bool is_bad(const struct top_row *row, const struct top_column *column)
{
	return column->what == TOP_SHARE && column->part == TOP_OFF && row->all_ns > 0 &&
	       (__int128)row->parts[TOP_OFF] * 1000000 / row->all_ns >= BAD_PPM;
}

static void draw_row(struct screen_of_top *s, unsigned y, unsigned index)
{
	const struct top_row *row = &s->window.top.rows[index];
	unsigned widths[TOP_COLUMNS_MAX], nr, x = 0;
	const struct top_column *columns = top_columns(row->kind, &nr);
	bool chosen = index == s->chosen;

	widths_of(row->kind, tty_columns(s->tty), widths);
	for (unsigned i = 0; i < nr; x += widths[i++]) {
		enum tty_style style = chosen			  ? TTY_CHOSEN
				       : is_bad(row, &columns[i]) ? TTY_BAD
				       : row->kind == TOP_VM	  ? TTY_BOLD
								  : TTY_PLAIN;
		char cell[200], text[240];

		top_cell(row, &columns[i], cell, sizeof(cell));
		if (columns[i].what == TOP_SHARE)
			snprintf(text, sizeof(text), "%*s", (int)widths[i], cell);
		else
			snprintf(text, sizeof(text), "%s%s",
				 i			 ? "  "
				 : row->kind == TOP_VCPU ? " "
							 : "",
				 cell);
		tty_put(s->tty, y, x, widths[i], style, chosen, text);
		if (columns[i].what == TOP_NAME && strlen(text) >= widths[i])
			tty_put(s->tty, y, x + widths[i] - 1, 1, style, false, " ");
	}
}

/* All that is known of the chosen row, without being cut. */
static void draw_chosen(struct screen_of_top *s, unsigned y)
{
	const struct top *top = &s->window.top;
	unsigned columns = tty_columns(s->tty);
	const struct top_row *row;
	const struct top_column *list;
	char text[900];
	size_t used;
	unsigned nr;

	tty_put(s->tty, y, 0, columns, TTY_BAR, true, "");
	if (s->chosen >= top->nr)
		return;
	row = &top->rows[s->chosen];
	list = top_columns(row->kind, &nr);
	used = (size_t)snprintf(text, sizeof(text), " %s:", row->name);
	for (unsigned i = 1; i < nr && used < sizeof(text); i++) {
		char cell[200];

		top_cell(row, &list[i], cell, sizeof(cell));
		if (*cell && list[i].what != TOP_SHARE)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "  %s %s",
						 list[i].words, cell);
	}
	for (unsigned i = 1; i < nr && used < sizeof(text); i++) {
		char length[UNIT_TEXT];

		if (list[i].what == TOP_SHARE && row->parts[list[i].part])
			used += (size_t)snprintf(text + used, sizeof(text) - used, "  %s %s",
						 list[i].words,
						 unit_length(length, row->parts[list[i].part],
							     s->window.ticks_are_ns));
	}
	tty_put(s->tty, y, 0, columns, TTY_BAR, true, text);
}

static void draw_keys(struct screen_of_top *s, unsigned y)
{
	tty_put(s->tty, y, 0, tty_columns(s->tty), TTY_BAR, true,
		*s->window.notice ? s->window.notice
		: s->source->next ? " ? help  Up Down choose  Space pauses  t o threads  q leave"
				  : " ? help  Left Right in time  + - window  Space plays  "
				    "t o threads  q leave");
}

/* The chosen line, and its table's title when that fits, stay on the screen. */
static void scroll_to(struct screen_of_top *s, unsigned line, unsigned room, unsigned nr)
{
	if (s->first + room > nr)
		s->first = nr > room ? nr - room : 0;
	if (line < s->first + 1)
		s->first = line ? line - 1 : 0;
	if (line >= s->first + room)
		s->first = line - room + 1;
}

static void draw(struct screen_of_top *s)
{
	const struct top *top = &s->window.top;
	unsigned rows = tty_rows(s->tty);
	unsigned room = rows > 4 ? rows - 4 : 1;
	struct entry *entries = calloc((size_t)top->nr * 3 + 1, sizeof(*entries));
	unsigned nr;

	tty_clear(s->tty);
	tty_put(s->tty, 0, 0, tty_columns(s->tty), TTY_BAR, true,
		s->filled ? s->window.about : " recording the first window ...");
	if (entries && s->filled) {
		if (s->chosen >= top->nr)
			s->chosen = top->nr ? top->nr - 1 : 0;
		nr = list_entries(s, entries);
		scroll_to(s, line_of(entries, nr, s->chosen), room, nr);
		for (unsigned i = 0; i < room && s->first + i < nr; i++) {
			const struct entry *e = &entries[s->first + i];

			if (e->row == TITLE)
				draw_title(s, 1 + i, e->kind);
			else if (e->row >= 0)
				draw_row(s, 1 + i, (unsigned)e->row);
		}
		draw_chosen(s, rows - 2);
	}
	draw_keys(s, rows - 1);
	tty_show(s->tty);
	free(entries);
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void choose(struct screen_of_top *s, int by)
{
	int64_t row = (int64_t)s->chosen + by;
	int64_t last = (int64_t)s->window.top.nr - 1;
	int64_t first = 0;

	while (s->threads_only && first < last && s->window.top.rows[first].kind != TOP_THREAD)
		first++;
	row = row > last ? last : row;
	s->chosen = row < first ? (unsigned)first : (unsigned)row;
}

static const struct help_line live_help[] = {
	{NULL, "Keys"},
	{"Up Down PgUp PgDn", "choose a row; the line below tells all of it"},
	{"Space", "pauses: what is shown stays, nothing is recorded"},
	{"t", "only threads, or all"},
	{"o", "threads by CPU time, or by run-queue delay"},
	{"q", "leave"},
};

static const struct help_line run_help[] = {
	{NULL, "Keys"},
	{"Up Down PgUp PgDn", "choose a row; the line below tells all of it"},
	{"Left Right a d", "half a window back or on"},
	{"Shift-Left Right A D", "a window back or on"},
	{"+ - w s", "a shorter or longer window"},
	{"Home End", "to the start or end of the history"},
	{"0", "the whole history"},
	{"Space", "plays: one window after the other"},
	{"t", "only threads, or all"},
	{"o", "threads by CPU time, or by run-queue delay"},
	{"q", "leave"},
};

static const struct help_line columns_help[] = {
	{NULL, "Columns: shares of the window's time"},
	{"RUNS", "a CPU: own threads; a vCPU: guest code; a thread: it ran"},
	{"GUESTS", "a CPU: code of VMs ran on it"},
	{"HYPERV", "hypervisor and VMM; of a vCPU: on its behalf"},
	{"NESTING", "a vCPU: hypervisors for the one it is on, or one in it"},
	{"IRQ, HOST IRQ", "hardirqs and softirqs; of a vCPU: those of its hosts"},
	{"STEAL", "a vCPU: total steal, inherited steal included"},
	{"DELAY", "a thread: runnable, but something else ran; BY says what"},
	{"WAITS, BLOCKED ON", "halted or blocked: what ended most of it"},
	{"IDLE, UNKN", "of a CPU; not known: also in gaps"},
};

static void show_help(struct screen_of_top *s)
{
	struct help_line lines[ARRAY_SIZE(run_help) + ARRAY_SIZE(columns_help)];
	bool live = s->source->next;
	unsigned nr = live ? ARRAY_SIZE(live_help) : ARRAY_SIZE(run_help);

	memcpy(lines, live ? live_help : run_help, nr * sizeof(*lines));
	memcpy(lines + nr, columns_help, sizeof(columns_help));
	if (help_run(s->tty, " sonde top: keys", lines, nr + ARRAY_SIZE(columns_help)) == TTY_END)
		s->ret = -EINTR;
}

static void pan(struct screen_of_top *s, int num, int den)
{
	view_pan(&s->view, num, den);
	s->moved = true;
}

static void zoom(struct screen_of_top *s, unsigned num, unsigned den)
{
	s->view.cursor = s->view.begin + (s->view.end - s->view.begin) / 2;
	view_zoom(&s->view, num, den);
	s->moved = true;
}

static void to(struct screen_of_top *s, int64_t begin, int64_t end)
{
	view_show(&s->view, begin, end);
	s->moved = true;
}

/* Keys of a history. */
static void time_key(struct screen_of_top *s, int key)
{
	int64_t span = s->view.end - s->view.begin;

	switch (key) {
	case TTY_LEFT:
	case 'a':
		pan(s, -1, 2);
		break;
	case TTY_RIGHT:
	case 'd':
		pan(s, 1, 2);
		break;
	case TTY_SHIFT_LEFT:
	case 'A':
		pan(s, -1, 1);
		break;
	case TTY_SHIFT_RIGHT:
	case 'D':
		pan(s, 1, 1);
		break;
	case '+':
	case '=':
	case 'w':
		zoom(s, 1, 2);
		break;
	case '-':
	case 's':
		zoom(s, 2, 1);
		break;
	case '0':
		to(s, s->view.run_begin, s->view.run_end);
		break;
	case TTY_HOME:
		to(s, s->view.run_begin, s->view.run_begin + span);
		break;
	case TTY_END_KEY:
		to(s, s->view.run_end - span, s->view.run_end);
		break;
	}
}

static void take_key(struct screen_of_top *s, int key)
{
	int page = (int)tty_rows(s->tty) - 6;

	switch (key) {
	case TTY_END:
		s->ret = -EINTR;
		break;
	case 'q':
	case 'Q':
		s->left = true;
		break;
	case '?':
		show_help(s);
		break;
	case 't':
		s->threads_only = !s->threads_only;
		choose(s, 0);
		break;
	case 'o':
		s->order = s->order == TOP_BY_CPU ? TOP_BY_KEPT : TOP_BY_CPU;
		s->moved = true;
		break;
	case ' ':
		s->paused = !s->paused;
		s->playing = !s->playing;
		break;
	case TTY_UP:
	case TTY_WHEEL_UP:
	case 'k':
		choose(s, -1);
		break;
	case TTY_DOWN:
	case TTY_WHEEL_DOWN:
	case 'j':
		choose(s, 1);
		break;
	case TTY_PAGE_UP:
		choose(s, -page);
		break;
	case TTY_PAGE_DOWN:
		choose(s, page);
		break;
	default:
		if (!s->source->next)
			time_key(s, key);
	}
}

/* ---- live ---------------------------------------------------------------------------------- */

/* While a window is recorded; the screen shows the one before. */
static bool wait_with_keys(int ms, void *data)
{
	struct screen_of_top *s = data;
	int key = tty_key(s->tty, ms);

	if (key != TTY_NONE) {
		take_key(s, key);
		draw(s);
	}
	return !s->left && !s->ret && !s->paused;
}

static void take_window(struct screen_of_top *s, struct top_window *next)
{
	top_release(&s->window.top);
	s->window = *next;
	s->filled = true;
}

static int run_live(struct screen_of_top *s, struct error *err)
{
	draw(s);
	while (!s->left && !s->ret) {
		struct top_window next = {0};
		int ret;

		if (s->paused) {
			wait_with_keys(-1, s);
			continue;
		}
		ret = s->source->next(s->source->data, wait_with_keys, s, s->order, &next, err);
		if (ret == -EINTR)
			continue; /* paused, or to be left */
		if (ret)
			return ret;
		take_window(s, &next);
		draw(s);
	}
	return s->ret;
}

/* ---- of a history ------------------------------------------------------------------------------
 */

static int run_recorded(struct screen_of_top *s, struct error *err)
{
	view_init(&s->view, s->source->run_begin, s->source->run_end);
	view_show(&s->view, s->source->begin, s->source->end);
	s->moved = true;
	while (!s->left && !s->ret) {
		int key;

		if (s->moved) {
			struct top_window next = {0};
			int ret = s->source->at(s->source->data, s->view.begin, s->view.end,
						s->order, &next, err);

			if (ret)
				return ret;
			take_window(s, &next);
			s->moved = false;
		}
		draw(s);
		if (s->playing && s->view.end >= s->view.run_end)
			s->playing = false;
		key = tty_key(s->tty, s->playing ? PLAY_MS : -1);
		if (key == TTY_NONE)
			pan(s, 1, 1);
		else
			take_key(s, key);
	}
	return s->ret;
}

int top_run(const struct top_view *view, struct error *err)
{
	struct screen_of_top *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return fail(err, -ENOMEM, "out of memory");
	s->source = view;
	s->order = view->order;
	ret = tty_open(&s->tty, view->in, view->out, view->color, view->stop, err);
	if (!ret)
		ret = view->next ? run_live(s, err) : run_recorded(s, err);
	tty_close(s->tty);
	top_release(&s->window.top);
	free(s);
	return ret;
}
