/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERM_PROMPT_H
#define TERM_PROMPT_H

#include "term/tty.h"

/*
 * A line of text that the user writes: appended to and taken from at its end.
 *
 *	prompt_begin(&p, "filter: ", filter->text);
 *	switch (prompt_key(&p, key)) ...
 */
#define PROMPT_ROOM 256

struct prompt {
	const char *title;
	char text[PROMPT_ROOM];
	size_t len;
};

enum prompt_end { PROMPT_GOES_ON, PROMPT_ENTERED, PROMPT_LEFT };

void prompt_begin(struct prompt *p, const char *title, const char *text);
enum prompt_end prompt_key(struct prompt *p, int key);
void prompt_draw(const struct prompt *p, struct tty *t, unsigned row);

#endif
