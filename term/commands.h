/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_COMMANDS_H
#define TERM_COMMANDS_H

#include "term/prompt.h"
#include "term/scene.h"

/*
 * What the keys of `sonde timeline` do; nobody else includes this.  keys.c says which key is which,
 * timeline.c waits for them.  A command changes the scene, which is then drawn anew; what it cannot
 * do it says with message().
 */
#define UNDO_MAX 32

enum mode { MODE_KEYS, MODE_FILTER, MODE_SEARCH, MODE_NOTE };

struct timeline {
	struct scene scene;
	enum mode mode;
	struct prompt prompt;
	char searched[PROMPT_ROOM];
	char filter_before[PROMPT_ROOM];
	ns_t undo[UNDO_MAX][2];
	unsigned nr_undo;
	bool left;
	int ret; /* -errno: it ends */
};

/* On the last row, until the next key. */
void message(struct timeline *t, const char *text);

/* ---- window.c ------------------------------------------------------------------------------ */

void zoom_in(struct timeline *t);
void zoom_out(struct timeline *t);
void pan_left(struct timeline *t);
void pan_right(struct timeline *t);
void screen_left(struct timeline *t);
void screen_right(struct timeline *t);
void whole_run(struct timeline *t);
void undo(struct timeline *t);
void cursor_left(struct timeline *t);
void cursor_right(struct timeline *t);
void to_begin(struct timeline *t);
void to_end(struct timeline *t);
void range_from(struct timeline *t);
void range_to(struct timeline *t);
void zoom_to_range(struct timeline *t);

/* ---- chosen.c ------------------------------------------------------------------------------ */

const struct line *chosen_line(const struct timeline *t);
void move_line(struct timeline *t, int by);
void line_up(struct timeline *t);
void line_down(struct timeline *t);
void page_up(struct timeline *t);
void page_down(struct timeline *t);
void toggle(struct timeline *t);
void close_or_open_all(struct timeline *t);
void pin(struct timeline *t);
void no_pins(struct timeline *t);
void next_change(struct timeline *t);
void last_change(struct timeline *t);
void next_same(struct timeline *t);
void last_same(struct timeline *t);

/* ---- find.c -------------------------------------------------------------------------------- */

void set_filter(struct timeline *t, const char *text);
/* As the user wrote it; nothing: the same again. */
void find(struct timeline *t, const char *text);
void begin_filter(struct timeline *t);
void begin_search(struct timeline *t);
void highlight(struct timeline *t);
void escape(struct timeline *t);

/* ---- bookmarks.c --------------------------------------------------------------------------- */

void begin_note(struct timeline *t);
void next_note(struct timeline *t);
void last_note(struct timeline *t);
void add_note(struct timeline *t, const char *text);

/* ---- keys.c -------------------------------------------------------------------------------- */

void command_key(struct timeline *t, int key);

#endif
