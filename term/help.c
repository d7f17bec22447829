/* SPDX-License-Identifier: Apache-2.0 */
#include "term/help.h"

#define KEYS_WIDTH 20

unsigned help_draw(struct tty *t, const char *title, const struct help_line *lines, unsigned nr,
		   unsigned first)
{
	unsigned rows = tty_rows(t);
	unsigned columns = tty_columns(t);
	unsigned room = rows > 2 ? rows - 2 : 0;
	unsigned most = nr > room ? nr - room : 0;

	if (first > most)
		first = most;
	tty_clear(t);
	tty_put(t, 0, 0, columns, TTY_BAR, true, title);
	for (unsigned i = 0; i < room && first + i < nr; i++) {
		const struct help_line *line = &lines[first + i];

		if (!line->keys) {
			tty_put(t, i + 1, 1, columns, TTY_BOLD, false, line->what);
			continue;
		}
		tty_put(t, i + 1, 3, KEYS_WIDTH - 1, TTY_PLAIN, false, line->keys);
		tty_put(t, i + 1, 3 + KEYS_WIDTH, columns, TTY_FAINT, false, line->what);
	}
	tty_put(t, rows - 1, 0, columns, TTY_BAR, true,
		most ? " up and down scroll; any other key goes back" : " any key goes back");
	tty_show(t);
	return most;
}

int help_run(struct tty *t, const char *title, const struct help_line *lines, unsigned nr)
{
	unsigned first = 0;

	for (;;) {
		unsigned most = help_draw(t, title, lines, nr, first);
		int key = tty_key(t, -1);

		if (first > most)
			first = most;
		if (key == TTY_END)
			return TTY_END;
		if (key == TTY_UP || key == TTY_WHEEL_UP || key == 'k')
			first -= first > 0;
		else if (key == TTY_DOWN || key == TTY_WHEEL_DOWN || key == 'j')
			first += first < most;
		else if (key != TTY_RESIZED && key != TTY_OTHER)
			return TTY_NONE;
	}
}
