/* SPDX-License-Identifier: Apache-2.0 */
#include "term/scene.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_LEAST 14
#define NAMES_MOST 36
#define NAME_LEAST 6	/* characters of a name that tell something */
#define TICK_COLUMNS 15 /* from one time of the axis to the next */

void scene_layout(const struct scene *s, struct layout *out)
{
	unsigned rows = tty_rows(s->tty);
	unsigned columns = tty_columns(s->tty);
	unsigned names = columns * 3 / 10;
	unsigned around = 4; /* title, axis, separator, last row */

	names = names < NAMES_LEAST ? NAMES_LEAST : names > NAMES_MOST ? NAMES_MOST : names;
	*out = (struct layout){.rows = rows, .columns = columns};
	out->names = names + 4 < columns ? names : columns / 2;
	out->cells = columns - out->names;
	out->details = rows < 12 ? 1 : rows / 4 < 9 ? rows / 4 : 9;
	out->lines = rows > around + out->details ? rows - around - out->details : 1;
	out->pins = s->nr_pins < out->lines / 2 ? s->nr_pins : out->lines / 2;
	out->lines -= out->pins;
}

static bool has_letters(const struct scene *s)
{
	return s->palette == PALETTE_LETTERS;
}

unsigned scene_pixels_per_column(const struct scene *s)
{
	return !has_letters(s) && tty_has_blocks(s->tty) ? 2 : 1;
}

char *scene_time(const struct scene *s, ns_t t, char *buf, size_t room)
{
	char text[UNIT_TEXT];

	unit_time(text, s->from_begin ? t - s->view.run_begin : t,
		  sonde_history_ticks_are_ns(s->history));
	snprintf(buf, room, "%s%s", s->from_begin ? "+" : "", text);
	return buf;
}

/* ---- title and axis ------------------------------------------------------------------------ */

static void draw_title(const struct scene *s, const struct layout *l)
{
	bool is_ns = sonde_history_ticks_are_ns(s->history);
	const char *name = strrchr(sonde_history_path(s->history), '/');
	char from[64], span[UNIT_TEXT], range[UNIT_TEXT], text[512];
	unsigned used;

	snprintf(text, sizeof(text), " %s  %s, %s",
		 name ? name + 1 : sonde_history_path(s->history),
		 scene_time(s, s->view.begin, from, sizeof(from)),
		 unit_length(span, s->view.end - s->view.begin, is_ns));
	used = tty_put(s->tty, 0, 0, l->columns, TTY_BAR, true, text);
	text[0] = '\0';
	if (s->has_range)
		snprintf(text, sizeof(text), "  range %s",
			 unit_length(range, s->range_end - s->range_begin, is_ns));
	if (s->filter.nr)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "  filter: %s",
			 s->filter_text);
	if (*s->missing)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "  %s", s->missing);
	if (used < l->columns)
		tty_put(s->tty, 0, used, l->columns - used, TTY_BAR, true, text);
}

/* 1, 2 or 5 times a power of ten, TICK_COLUMNS wide at least. */
static ns_t tick_step(const struct scene *s, unsigned columns)
{
	ns_t least = (ns_t)((__int128)(s->view.end - s->view.begin) * TICK_COLUMNS / columns);
	ns_t power = 1;

	while (power * 10 <= least && power < INT64_MAX / 100)
		power *= 10;
	return power >= least	    ? power
	       : power * 2 >= least ? power * 2
	       : power * 5 >= least ? power * 5
				    : power * 10;
}

/* Whether a flag or the cursor stands on what would be written behind a tick at column @x. */
static bool is_covered(const struct scene *s, const struct layout *l, unsigned x, size_t len)
{
	const struct view *v = &s->view;
	unsigned at = view_column(v, v->cursor, l->cells);
	bool covered = at > x && at <= x + len;

	for (unsigned i = 0; i < s->nr_bookmarks && !covered; i++) {
		ns_t t = s->bookmarks[i].t;

		at = view_column(v, t, l->cells);
		covered = t >= v->begin && t < v->end && at > x && at <= x + len;
	}
	return covered;
}

/* A number that would be broken is left out: "12▼ s" is none. */
static void draw_ticks(const struct scene *s, const struct layout *l)
{
	const struct view *v = &s->view;
	ns_t zero = s->from_begin ? v->run_begin : 0;
	ns_t step = tick_step(s, l->cells);
	ns_t first = v->begin - zero;

	first = zero + (first < 0 ? first / step : (first + step - 1) / step) * step;
	for (ns_t t = first; t < v->end && l->cells > TICK_COLUMNS; t += step) {
		unsigned x = view_column(v, t, l->cells);
		char text[UNIT_TEXT + 8], number[UNIT_TEXT];

		unit_tick(number, t - zero, step, sonde_history_ticks_are_ns(s->history));
		snprintf(text, sizeof(text), "%s%s", tty_has_blocks(s->tty) ? "╷" : "|",
			 is_covered(s, l, x, strlen(number)) ? "" : number);
		if (x + strlen(number) + 2 < l->cells)
			tty_put(s->tty, 1, l->names + x, l->cells - x, TTY_FAINT, false, text);
	}
}

static void draw_axis(const struct scene *s, const struct layout *l)
{
	const struct view *v = &s->view;
	bool blocks = tty_has_blocks(s->tty);
	bool reached = s->has_range && s->range_begin < v->end && s->range_end > v->begin;

	draw_ticks(s, l);
	for (unsigned i = 0; i < s->nr_bookmarks; i++) {
		ns_t t = s->bookmarks[i].t;

		if (t >= v->begin && t < v->end)
			tty_put(s->tty, 1, l->names + view_column(v, t, l->cells), 1, TTY_KEY,
				false, blocks ? "⚑" : "#");
	}
	for (unsigned x = reached ? view_column(v, s->range_begin, l->cells) : l->cells;
	     x <= view_column(v, s->range_end, l->cells) && x < l->cells; x++)
		tty_put(s->tty, 1, l->names + x, 1, TTY_BOLD, false, blocks ? "━" : "=");
	tty_put(s->tty, 1, l->names + view_column(v, v->cursor, l->cells), 1, TTY_BAD, false,
		blocks ? "▼" : "v");
}

/* ---- lines --------------------------------------------------------------------------------- */

static void draw_name(const struct scene *s, const struct layout *l, unsigned row,
		      const struct line *line, bool chosen)
{
	const char *caret = line->kind != LINE_GROUP  ? ""
			    : !tty_has_blocks(s->tty) ? (line->open ? "- " : "+ ")
			    : line->open	      ? "▾ "
						      : "▸ ";
	unsigned indent = line->depth + (line->kind == LINE_GROUP ? 0 : 1);
	enum tty_style style = chosen			  ? TTY_CHOSEN
			       : line->kind == LINE_GROUP ? TTY_BOLD
							  : TTY_PLAIN;
	unsigned room = l->names - 1; /* a blank before the cells */
	char text[160];
	unsigned used;

	if (line->kind == LINE_GROUP)
		room = l->columns;
	snprintf(text, sizeof(text), "%*s%s%s ", (int)indent, "", caret, line->label);
	used = tty_put(s->tty, row, 0, room, style, chosen && line->kind != LINE_GROUP, text);
	if (used < room && *line->note)
		tty_put(s->tty, row, used, room - used, chosen ? TTY_CHOSEN : TTY_FAINT, false,
			line->note);
}

/* One position of a line. */
static void draw_cell(struct scene *s, const struct layout *l, unsigned row, unsigned x,
		      const struct look *left, const struct look *right)
{
	unsigned column = l->names + x;
	char letter[2] = {left->letter, '\0'};

	if (has_letters(s)) {
		if (left->color < 0)
			return;
		tty_put(s->tty, row, column, 1, left->matches ? TTY_PLAIN : TTY_FAINT, false,
			left->matches ? letter : ":");
	} else if (!left->matches && !right->matches) {
		tty_faded(s->tty, row, column, left->color >= 0 ? left->color : right->color);
	} else {
		tty_pixels(s->tty, row, column, left->matches ? left->color : -1,
			   right->matches ? right->color : -1);
	}
}

/* States are few, and part of one says nothing; a thread can be told from the begin of its name. */
static bool name_fits(const struct line *line, const char *name, unsigned room)
{
	bool is_state = line->kind == LINE_VCPU || line->kind == LINE_THREAD;

	return room >= strlen(name) || (!is_state && room >= NAME_LEAST);
}

/* Names on stretches of one value that are long enough. */
static void draw_names_on(struct scene *s, const struct layout *l, unsigned row,
			  const struct line *line)
{
	unsigned per = scene_pixels_per_column(s);

	for (unsigned x = 0, end; x<l->cells; x = end> x ? end : x + 1) {
		uint32_t value = cells_value(&s->cells, s->history, line, x * per);
		struct look look;
		char name[96];

		end = x;
		while (end < l->cells &&
		       cells_value(&s->cells, s->history, line, end * per) == value &&
		       cells_value(&s->cells, s->history, line, end * per + per - 1) == value)
			end++;
		if (!value || end - x < 4)
			continue;
		look = value_look(s->history, line, value, s->palette == PALETTE_SAFE, &s->filter);
		value_name(s->history, line, value, name, sizeof(name));
		if (look.matches && *name && name_fits(line, name, end - x - 2))
			tty_put_on(s->tty, row, l->names + x + 1, end - x - 2, look.color, name);
	}
}

static void draw_cursor(struct scene *s, const struct layout *l, unsigned row,
			const struct line *line)
{
	unsigned per = scene_pixels_per_column(s);
	unsigned x = view_column(&s->view, s->view.cursor, l->cells);
	struct look look =
		value_look(s->history, line, cells_value(&s->cells, s->history, line, x * per),
			   s->palette == PALETTE_SAFE, &s->filter);

	if (has_letters(s) && look.color >= 0)
		return; /* the letter tells more */
	tty_put_on(s->tty, row, l->names + x, 1, look.matches ? look.color : -1,
		   tty_has_blocks(s->tty) ? "│" : "|");
}

/* A bar in each column, as high as the highest on the screen where it is as much. */
static void draw_exits(const struct scene *s, const struct layout *l, unsigned row,
		       const struct line *line)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const digits[] = {"1", "2", "3", "4", "5", "6", "7", "8"};
	const char *const *marks = tty_has_blocks(s->tty) ? bars : digits;

	for (unsigned x = 0; x < l->cells; x++) {
		uint32_t n = exits_count(&s->exits, line, x, l->cells);

		if (n)
			tty_put(s->tty, row, l->names + x, 1, TTY_PLAIN, false,
				marks[((uint64_t)n * ARRAY_SIZE(bars) - 1) / s->exits.most]);
	}
}

static void draw_line(struct scene *s, const struct layout *l, unsigned row,
		      const struct line *line, bool chosen)
{
	unsigned per = scene_pixels_per_column(s);
	bool safe = s->palette == PALETTE_SAFE;

	draw_name(s, l, row, line, chosen);
	if (line->kind == LINE_EXITS)
		draw_exits(s, l, row, line);
	if (line->kind == LINE_GROUP || line->kind == LINE_EXITS)
		return;
	for (unsigned x = 0; x < l->cells; x++) {
		struct look left = value_look(s->history, line,
					      cells_value(&s->cells, s->history, line, x * per),
					      safe, &s->filter);
		struct look right = left;

		if (per > 1)
			right = value_look(s->history, line,
					   cells_value(&s->cells, s->history, line, x * per + 1),
					   safe, &s->filter);
		draw_cell(s, l, row, x, &left, &right);
	}
	/* Names go over it: it stands in all other lines, too, and names without a letter are none.
	 */
	draw_cursor(s, l, row, line);
	if (!has_letters(s))
		draw_names_on(s, l, row, line);
}

/* The chosen line stays on the screen. */
static void scroll_to_chosen(struct scene *s, const struct layout *l)
{
	if (s->chosen >= s->lines.nr)
		s->chosen = s->lines.nr ? s->lines.nr - 1 : 0;
	if (s->first + l->lines > s->lines.nr)
		s->first = s->lines.nr > l->lines ? s->lines.nr - l->lines : 0;
	if (s->chosen < s->first)
		s->first = s->chosen;
	if (s->chosen >= s->first + l->lines)
		s->first = s->chosen - l->lines + 1;
}

static void draw_separator(const struct scene *s, const struct layout *l, unsigned row)
{
	char when[64], text[260], more[48] = "", note[96] = "";
	unsigned shown = s->lines.nr - s->first < l->lines ? s->lines.nr - s->first : l->lines;

	if (shown < s->lines.nr)
		snprintf(more, sizeof(more), "   lines %u-%u of %u", s->first + 1, s->first + shown,
			 s->lines.nr);
	for (unsigned i = 0; i < s->nr_bookmarks; i++) {
		if (s->bookmarks[i].t == s->view.cursor)
			snprintf(note, sizeof(note), "   bookmark %s", s->bookmarks[i].text);
	}
	snprintf(text, sizeof(text), " at %s%s%s",
		 scene_time(s, s->view.cursor, when, sizeof(when)), note, more);
	tty_put(s->tty, row, 0, l->columns, TTY_BAR, true, text);
}

/* The lines on the screen, from the top; returns how many. */
static unsigned take_shown(const struct scene *s, const struct layout *l, const struct line **out)
{
	unsigned nr = 0;

	while (nr < l->pins) {
		out[nr] = &s->pins[nr];
		nr++;
	}
	for (unsigned i = 0; i < l->lines && s->first + i < s->lines.nr; i++)
		out[nr++] = &s->lines.list[s->first + i];
	return nr;
}

int scene_draw(struct scene *s)
{
	const struct line **shown;
	struct layout l;
	unsigned nr;
	int ret;

	scene_layout(s, &l);
	s->view.span_min = (ns_t)l.cells * scene_pixels_per_column(s);
	if (s->view.end - s->view.begin < s->view.span_min)
		view_show(&s->view, s->view.begin, s->view.end);
	scroll_to_chosen(s, &l);
	tty_clear(s->tty);
	shown = calloc(l.pins + l.lines, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	nr = take_shown(s, &l, shown);
	ret = cells_query(&s->cells, s->history, shown, nr, s->view.begin, s->view.end,
			  l.cells * scene_pixels_per_column(s));
	if (!ret)
		ret = exits_query(&s->exits, s->history, shown, nr, s->view.begin, s->view.end,
				  l.cells);
	draw_title(s, &l);
	draw_axis(s, &l);
	for (unsigned i = 0; i < nr && !ret; i++)
		draw_line(s, &l, 2 + i, shown[i],
			  i >= l.pins && s->first + i - l.pins == s->chosen);
	draw_separator(s, &l, 2 + l.pins + l.lines);
	details_draw(s, 3 + l.pins + l.lines, l.details);
	free(shown);
	return ret;
}
