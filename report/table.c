/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"
#include "report/safe.h"
#include "base/grow.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOLD "\033[1m"
#define PLAIN "\033[0m"
#define SAY_MAX 4096

struct table {
	struct libscols_table *scols;
	const struct screen *screen;
	struct libscols_line **lines; /* owned: libsmartcols walks a list to the one of a number */
	size_t nr_lines, room;
	bool failed;
};

struct table *table_new(const struct screen *screen)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->screen = screen;
	t->scols = scols_new_table();
	if (!t->scols) {
		free(t);
		return NULL;
	}
	scols_table_enable_colors(t->scols, screen->color);
	scols_table_set_column_separator(t->scols, "  ");
	if (screen->width) {
		scols_table_set_termforce(t->scols, SCOLS_TERMFORCE_ALWAYS);
		scols_table_set_termwidth(t->scols, screen->width);
	} else {
		scols_table_set_termforce(t->scols, SCOLS_TERMFORCE_NEVER);
	}
	return t;
}

/* ---- text that goes on in the next line, from a blank on ----------------------------------- */

/* Columns that UTF-8 text takes, for text without wide or combining characters. */
static size_t columns_of(const char *text, size_t len)
{
	size_t nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += ((unsigned char)text[i] & 0xc0) != 0x80;
	return nr;
}

static size_t wrapped_width(const struct libscols_column *column, const char *text, void *arg)
{
	(void)column;
	(void)arg;
	return columns_of(text, strlen(text));
}

/* Where the next line begins; NULL: there is room for all.  The blank before it is left out. */
static char *wrapped_rest(const struct libscols_column *column, char *text, void *arg)
{
	size_t width = scols_column_get_width(column), nr = 0;
	char *blank = NULL;

	(void)arg;
	for (char *p = text; p && *p; p++) {
		if (((unsigned char)*p & 0xc0) == 0x80)
			continue;
		if (*p == ' ' && p > text)
			blank = p;
		if (nr++ < width)
			continue;
		if (!blank)
			return NULL; /* one word, longer than the line: break_words() */
		*blank = '\0';
		return blank + 1;
	}
	return NULL;
}

static bool has_longer_word(const struct table *t, struct libscols_column *column)
{
	size_t width = scols_column_get_width(column);

	for (size_t i = 0; i < t->nr_lines; i++) {
		const char *word = scols_line_get_column_data(t->lines[i], column);

		while (word && *word) {
			size_t len = strcspn(word, " ");

			if (columns_of(word, len) > width)
				return true;
			word += len + strspn(word + len, " ");
		}
	}
	return false;
}

/* Columns that came out narrower than a word are broken anywhere; true: there are some. */
static bool break_words(const struct table *t)
{
	bool some = false;

	for (size_t i = 0; i < scols_table_get_ncols(t->scols); i++) {
		struct libscols_column *column = scols_table_get_column(t->scols, i);

		if (!scols_column_is_customwrap(column) || !has_longer_word(t, column))
			continue;
		some |= !scols_column_set_wrapfunc(column, NULL, NULL, NULL) &&
			!scols_column_set_flags(column, SCOLS_FL_WRAP);
	}
	return some;
}

/* ---- tables -------------------------------------------------------------------------------- */

/* A copy that is safe to print, never longer; the caller's.  NULL when memory is out. */
static char *safe_copy(const char *text)
{
	size_t room = strlen(text) + 1;
	char *copy = malloc(room);

	return copy ? safe_text(copy, room, text) : NULL;
}

void table_column(struct table *t, const char *title, unsigned flags)
{
	int scols_flags = (flags & TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) |
			  (flags & TABLE_TREE ? SCOLS_FL_TREE : 0) |
			  (flags & TABLE_TRUNC ? SCOLS_FL_TRUNC : 0) |
			  (flags & TABLE_WRAP ? SCOLS_FL_WRAP | SCOLS_FL_TRUNC : 0);
	struct libscols_column *column;
	char *safe;

	if (!t)
		return;
	safe = safe_copy(title);
	column = safe ? scols_table_new_column(t->scols, safe, 0, scols_flags) : NULL;
	free(safe);
	if (column && flags & TABLE_WRAP &&
	    scols_column_set_wrapfunc(column, wrapped_width, wrapped_rest, NULL))
		t->failed = true;
	if (!column)
		t->failed = true;
	else
		scols_cell_set_color(scols_column_get_header(column), BOLD);
}

int table_line(struct table *t, int parent)
{
	struct libscols_line *line = NULL;

	if (!t || t->failed)
		return 0;
	if (room_for_one(&t->lines, t->nr_lines, &t->room))
		line = scols_table_new_line(t->scols,
					    parent == TABLE_NO_PARENT ? NULL : t->lines[parent]);
	if (!line) {
		t->failed = true;
		return 0;
	}
	t->lines[t->nr_lines] = line;
	return (int)t->nr_lines++;
}

void table_cell(struct table *t, int line, unsigned column, const char *text)
{
	char *safe;

	if (!t || t->failed || !text)
		return;
	safe = safe_copy(text);
	if (!safe || scols_line_refer_data(t->lines[line], column, safe)) {
		free(safe);
		t->failed = true;
	}
}

void table_cell_color(struct table *t, int line, unsigned column, const char *color)
{
	struct libscols_cell *cell;

	if (!t || t->failed)
		return;
	cell = scols_line_get_cell(t->lines[line], column);
	if (cell && scols_cell_set_color(cell, color))
		t->failed = true;
}

/* Cells are as wide as their column, the last one of a line too: its blanks are left out. */
static void print_lines(FILE *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n"), end = len;

		while (end && text[end - 1] == ' ')
			end--;
		fwrite(text, 1, end, out);
		putc('\n', out); /* the last line comes without */
		text += text[len] ? len + 1 : len;
	}
}

int table_print(struct table *t)
{
	char *text = NULL;
	int ret;

	if (!t)
		return -ENOMEM;
	ret = t->failed ? -ENOMEM : scols_print_table_to_string(t->scols, &text);
	if (!ret && break_words(t)) {
		free(text);
		text = NULL;
		ret = scols_print_table_to_string(t->scols, &text);
	}
	if (!ret && text)
		print_lines(t->screen->out, text);
	free(text);
	scols_unref_table(t->scols);
	free(t->lines);
	free(t);
	return ret;
}

void screen_say(const struct screen *screen, const char *format, ...)
{
	char text[SAY_MAX], safe[SAY_MAX];
	size_t len = strlen(format);
	bool ends_line = len && format[len - 1] == '\n';
	va_list ap;
	int said;

	va_start(ap, format);
	said = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (said > 0 && ends_line && (size_t)said < sizeof(text))
		text[said - 1] = '\0';
	fputs(safe_text(safe, sizeof(safe), text), screen->out);
	if (ends_line)
		fputc('\n', screen->out);
}

void screen_title(const struct screen *screen, const char *title)
{
	if (screen->color)
		fprintf(screen->out, "\n" BOLD "%s" PLAIN "\n", title);
	else
		fprintf(screen->out, "\n%s\n", title);
}
