/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define NCURSES_WIDECHAR 1
#include "term/tty.h"
#include "report/safe.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define LOOK_MS 250 /* how often stop() is asked while nothing happens */
#define TEXT_ROOM 1024
#define ESCAPE_MS 25 /* an escape sequence's characters come faster than that */

struct tty {
	SCREEN *screen;
	bool (*stop)(void);
	bool colors, blocks;
	unsigned mouse_row, mouse_column;
};

/* What tty_abandon() needs, made ready beforehand: a handler must not call curses. */
static struct {
	volatile sig_atomic_t open;
	int in, out;
	struct termios usual;
	char leave[128];
	size_t leave_len;
} abandoned;

static void prepare_abandon(int in, int out)
{
	static const char *const names[] = {"sgr0", "cnorm", "rmkx", "rmcup"};
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = tigetstr(names[i]);
		size_t len = text && text != (char *)-1 ? strlen(text) : 0;

		if (!len || used + len >= sizeof(abandoned.leave))
			continue;
		memcpy(abandoned.leave + used, text, len);
		used += len;
	}
	abandoned.leave_len = used;
	abandoned.in = in;
	abandoned.out = out;
	abandoned.open = 1;
}

void tty_abandon(void)
{
	if (!abandoned.open)
		return;
	abandoned.open = 0;
	tcsetattr(abandoned.in, TCSANOW, &abandoned.usual);
	if (write(abandoned.out, abandoned.leave, abandoned.leave_len) < 0)
		return; /* nothing can be done about it */
}

int tty_open(struct tty **out, FILE *in, FILE *screen, bool color, bool (*stop)(void),
	     struct error *err)
{
	struct tty *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (!t)
		return fail(err, -ENOMEM, "out of memory");
	if (tcgetattr(fileno(in), &abandoned.usual)) {
		free(t);
		return fail(err, -ENOTTY, "standard input is no terminal");
	}
	t->screen = newterm(NULL, screen, in);
	if (!t->screen) {
		free(t);
		return fail(err, -ENODEV, "this terminal (TERM=%s) cannot be used",
			    getenv("TERM") ? getenv("TERM") : "");
	}
	set_term(t->screen);
	t->stop = stop;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	if (color && has_colors() && start_color() == OK) {
		use_default_colors();
		t->colors = COLORS >= 256;
	}
	t->blocks = !strcmp(nl_langinfo(CODESET), "UTF-8");
	prepare_abandon(fileno(in), fileno(screen));
	*out = t;
	return 0;
}

void tty_close(struct tty *t)
{
	if (!t)
		return;
	endwin();
	abandoned.open = 0;
	delscreen(t->screen);
	free(t);
}

unsigned tty_rows(const struct tty *t)
{
	(void)t;
	return LINES > 0 ? (unsigned)LINES : 1;
}

unsigned tty_columns(const struct tty *t)
{
	(void)t;
	return COLS > 0 ? (unsigned)COLS : 1;
}

bool tty_has_colors(const struct tty *t)
{
	return t->colors;
}

bool tty_has_blocks(const struct tty *t)
{
	return t->blocks;
}

/* ---- keys ---------------------------------------------------------------------------------- */

static int mouse_key(struct tty *t)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return TTY_OTHER;
	t->mouse_row = event.y < 0 ? 0 : (unsigned)event.y;
	t->mouse_column = event.x < 0 ? 0 : (unsigned)event.x;
	return event.bstate & BUTTON4_PRESSED	? TTY_WHEEL_UP
	       : event.bstate & BUTTON5_PRESSED ? TTY_WHEEL_DOWN
	       : event.bstate & BUTTON1_PRESSED ? TTY_CLICK
						: TTY_OTHER;
}

static int function_key(struct tty *t, wint_t code)
{
	static const struct {
		wint_t curses;
		int key;
	} keys[] = {
		{KEY_UP, TTY_UP},
		{KEY_DOWN, TTY_DOWN},
		{KEY_LEFT, TTY_LEFT},
		{KEY_RIGHT, TTY_RIGHT},
		{KEY_SLEFT, TTY_SHIFT_LEFT},
		{KEY_SRIGHT, TTY_SHIFT_RIGHT},
		{KEY_PPAGE, TTY_PAGE_UP},
		{KEY_NPAGE, TTY_PAGE_DOWN},
		{KEY_HOME, TTY_HOME},
		{KEY_END, TTY_END_KEY},
		{KEY_DC, TTY_DELETE},
		{KEY_BACKSPACE, TTY_BACKSPACE},
		{KEY_ENTER, TTY_ENTER},
		{KEY_RESIZE, TTY_RESIZED},
	};

	if (code == KEY_MOUSE)
		return mouse_key(t);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].curses == code)
			return keys[i].key;
	}
	return TTY_OTHER;
}

static int character_key(wint_t code)
{
	if (code == '\r')
		return TTY_ENTER;
	if (code == '\b')
		return TTY_BACKSPACE;
	return code < TTY_KEYS ? (int)code : TTY_OTHER;
}

int tty_key(struct tty *t, int timeout_ms)
{
	for (;;) {
		int wait = timeout_ms < 0 || timeout_ms > LOOK_MS ? LOOK_MS : timeout_ms;
		wint_t code;
		int ret;

		if (t->stop && t->stop())
			return TTY_END;
		timeout(wait);
		errno = 0;
		ret = get_wch(&code);
		if (t->stop && t->stop())
			return TTY_END;
		if (ret == KEY_CODE_YES)
			return function_key(t, code);
		if (ret == OK)
			return character_key(code);
		/* A terminal that is gone answers at once, for ever. */
		if (errno == EIO || !isatty(abandoned.in))
			return TTY_END;
		if (timeout_ms >= 0 && (timeout_ms -= wait) <= 0)
			return TTY_NONE;
	}
}

bool tty_key_waits(struct tty *t)
{
	wint_t code;
	int ret;

	if (t->stop && t->stop())
		return true;
	timeout(0);
	ret = get_wch(&code);
	if (ret == ERR)
		return false;
	if (ret == OK)
		unget_wch((wchar_t)code);
	else
		ungetch((int)code);
	return true;
}

void tty_mouse(const struct tty *t, unsigned *row, unsigned *column)
{
	*row = t->mouse_row;
	*column = t->mouse_column;
}

/* ---- drawing ------------------------------------------------------------------------------- */

#define GREY 244 /* readable on black and on white */
#define BAR 238

static int pair_of(const struct tty *t, int ink, int ground)
{
	int pair = t->colors && (ink >= 0 || ground >= 0) ? alloc_pair(ink, ground) : 0;

	return pair > 0 ? pair : 0;
}

static void set_style(const struct tty *t, enum tty_style style)
{
	static const struct {
		attr_t attrs, without_colors;
		int ink, ground;
	} styles[] = {
		[TTY_PLAIN] = {A_NORMAL, A_NORMAL, -1, -1},
		[TTY_FAINT] = {A_NORMAL, A_DIM, GREY, -1},
		[TTY_BOLD] = {A_BOLD, A_BOLD, -1, -1},
		[TTY_BAR] = {A_NORMAL, A_REVERSE, 255, BAR},
		[TTY_CHOSEN] = {A_REVERSE, A_REVERSE, -1, -1},
		[TTY_BAD] = {A_BOLD, A_BOLD, 166, -1},
		[TTY_KEY] = {A_BOLD, A_BOLD | A_REVERSE, 215, BAR},
	};
	int pair = pair_of(t, styles[style].ink, styles[style].ground);

	attr_set(t->colors ? styles[style].attrs : styles[style].without_colors, 0, &pair);
}

void tty_clear(struct tty *t)
{
	set_style(t, TTY_PLAIN);
	erase();
}

void tty_show(struct tty *t)
{
	(void)t;
	refresh();
}

/* Writes what fits into @width; returns columns used. */
static unsigned put_text(const struct tty *t, unsigned row, unsigned column, unsigned width,
			 const char *text)
{
	char safe[TEXT_ROOM];
	wchar_t wide[TEXT_ROOM];
	unsigned used = 0;
	size_t nr, i;

	if (row >= tty_rows(t) || column >= tty_columns(t))
		return 0;
	if (width > tty_columns(t) - column)
		width = tty_columns(t) - column;
	safe_text(safe, sizeof(safe), text);
	nr = mbstowcs(wide, safe, TEXT_ROOM);
	if (nr == (size_t)-1) { /* not a text of this locale */
		for (nr = 0; safe[nr]; nr++)
			wide[nr] = (unsigned char)safe[nr] < 0x80 ? safe[nr] : '?';
	}
	for (i = 0; i < nr; i++) {
		int cells = wcwidth(wide[i]);

		if (cells < 0) {
			wide[i] = '?';
			cells = 1;
		}
		if (used + (unsigned)cells > width)
			break;
		used += (unsigned)cells;
	}
	mvaddnwstr((int)row, (int)column, wide, (int)i);
	return used;
}

unsigned tty_put(struct tty *t, unsigned row, unsigned column, unsigned width, enum tty_style style,
		 bool fill, const char *text)
{
	unsigned used;

	if (row >= tty_rows(t) || column >= tty_columns(t))
		return 0;
	set_style(t, style);
	used = put_text(t, row, column, width, text);
	if (width > tty_columns(t) - column)
		width = tty_columns(t) - column;
	if (fill && used < width)
		mvhline((int)row, (int)(column + used), ' ', (int)(width - used));
	return used;
}

static void put_wide(const struct tty *t, unsigned row, unsigned column, attr_t attrs, int ink,
		     int ground, wchar_t letter)
{
	int pair = pair_of(t, ink, ground);

	if (row >= tty_rows(t) || column >= tty_columns(t))
		return;
	attr_set(attrs, 0, &pair);
	mvaddnwstr((int)row, (int)column, &letter, 1);
}

void tty_pixels(struct tty *t, unsigned row, unsigned column, int left, int right)
{
	if (left < 0 && right < 0)
		put_wide(t, row, column, A_NORMAL, -1, -1, ' ');
	else if (left == right || !t->blocks)
		put_wide(t, row, column, A_NORMAL, -1, left >= 0 ? left : right, ' ');
	else if (left < 0)
		put_wide(t, row, column, A_NORMAL, right, -1, L'\u2590');
	else
		put_wide(t, row, column, A_NORMAL, left, right, L'\u258c');
}

/* Black or white, whatever can be read on that colour of the 256. */
static int ink_on(int ground)
{
	static const uint8_t steps[] = {0, 95, 135, 175, 215, 255};
	int red, green, blue;

	if (ground < 0)
		return -1;
	if (ground >= 232)
		return ground < 244 ? 255 : 16;
	if (ground < 16)
		return ground < 7 ? 255 : 16;
	red = steps[(ground - 16) / 36];
	green = steps[(ground - 16) / 6 % 6];
	blue = steps[(ground - 16) % 6];
	return 299 * red + 587 * green + 114 * blue > 110000 ? 16 : 255;
}

void tty_faded(struct tty *t, unsigned row, unsigned column, int color)
{
	put_wide(t, row, column, A_DIM, color, -1, t->blocks ? L'\u2591' : L':');
}

void tty_put_on(struct tty *t, unsigned row, unsigned column, unsigned width, int ground,
		const char *text)
{
	int pair = pair_of(t, ink_on(ground), ground);

	attr_set(A_NORMAL, 0, &pair);
	put_text(t, row, column, width, text);
}

void tty_cursor(struct tty *t, unsigned row, unsigned column)
{
	(void)t;
	curs_set(1);
	move((int)row, (int)column);
}

void tty_no_cursor(struct tty *t)
{
	(void)t;
	curs_set(0);
}
