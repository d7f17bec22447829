/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_HELP_H
#define TERM_HELP_H

#include "term/tty.h"

/* Lines of help: a screen of its own, that may be scrolled. */
struct help_line {
	const char *keys; /* NULL: a title */
	const char *what;
};

/* Draws from line @first on; returns how many lines could be left out above at most. */
unsigned help_draw(struct tty *t, const char *title, const struct help_line *lines, unsigned nr,
		   unsigned first);

/* Shows it until a key ends it; TTY_END when the program is to end, else TTY_NONE. */
int help_run(struct tty *t, const char *title, const struct help_line *lines, unsigned nr);

#endif
