/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_TTY_H
#define TERM_TTY_H

#include "base/error.h"

#include <stdio.h>

/*
 * The terminal, while a program has all of it (curses).  Nothing that comes from a history can do
 * more than be shown: control characters become "?".
 *
 *	ret = tty_open(&t, in, out, color, stop, &err);
 *	while ((key = tty_key(t, 1000)) != TTY_END) { ... draw ... tty_show(t); }
 *	tty_close(t);           the screen is as it was
 *
 * There is one at a time.
 */
struct tty;

enum tty_style {
	TTY_PLAIN,
	TTY_FAINT,
	TTY_BOLD,
	TTY_BAR,    /* title and status lines */
	TTY_CHOSEN, /* the row, or entry, where the user is */
	TTY_BAD,    /* what should be seen */
	TTY_KEY,    /* names of keys */
};

/* @stop: true when the program is to end (a signal came); may be NULL. */
int tty_open(struct tty **out, FILE *in, FILE *screen, bool color, bool (*stop)(void),
	     struct error *err);
void tty_close(struct tty *t);

/* Gives the screen back, from a signal handler; the program ends after that. */
void tty_abandon(void);

unsigned tty_rows(const struct tty *t);
unsigned tty_columns(const struct tty *t);
bool tty_has_colors(const struct tty *t); /* all 256 of them */
bool tty_has_blocks(const struct tty *t); /* UTF-8: half blocks, lines, arrows */

/* ---- keys ---------------------------------------------------------------------------------- */

/* A character (Unicode), or one of these. */
enum tty_key {
	TTY_NONE = 0, /* the time is over */
	TTY_ENTER = '\n',
	TTY_ESCAPE = 27,
	TTY_BACKSPACE = 127,
	TTY_KEYS = 0x200000, /* beyond all characters */
	TTY_UP,
	TTY_DOWN,
	TTY_LEFT,
	TTY_RIGHT,
	TTY_SHIFT_LEFT,
	TTY_SHIFT_RIGHT,
	TTY_PAGE_UP,
	TTY_PAGE_DOWN,
	TTY_HOME,
	TTY_END_KEY,
	TTY_DELETE,
	TTY_RESIZED,
	TTY_CLICK, /* the mouse: tty_mouse() has where */
	TTY_WHEEL_UP,
	TTY_WHEEL_DOWN,
	TTY_OTHER, /* a key without a meaning here */
	TTY_END,   /* stop() says so, or the terminal is gone */
};

int tty_key(struct tty *t, int timeout_ms); /* < 0: waits, but looks at stop() */
/* True when a key waits: long work is to end. */
bool tty_key_waits(struct tty *t);
void tty_mouse(const struct tty *t, unsigned *row, unsigned *column);

/* ---- drawing ------------------------------------------------------------------------------- */

void tty_clear(struct tty *t);
void tty_show(struct tty *t);

/* Text in at most @width columns; what is left of them is filled with blanks when @fill.  Returns
 * columns used by the text. */
unsigned tty_put(struct tty *t, unsigned row, unsigned column, unsigned width, enum tty_style style,
		 bool fill, const char *text);

/* One position with two pixels: colours of the 256, -1 nothing. */
void tty_pixels(struct tty *t, unsigned row, unsigned column, int left, int right);

/* Both pixels of a position faded: a trace of their colour. */
void tty_faded(struct tty *t, unsigned row, unsigned column, int color);

/* Text on a colour of the 256, -1 none, in black or white, whatever can be read there. */
void tty_put_on(struct tty *t, unsigned row, unsigned column, unsigned width, int ground,
		const char *text);

/* The terminal's own cursor: where text is being written. */
void tty_cursor(struct tty *t, unsigned row, unsigned column);
void tty_no_cursor(struct tty *t);

#endif
