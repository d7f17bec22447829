/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "base/types.h"

#include <stdio.h>

/*
 * Tables and trees of text on a screen (a thin layer over libsmartcols).  Whatever is in
 * titles and cells, it is text when it is printed (safe.h).
 *
 *	struct table *t = table_new(&screen);
 *	table_column(t, "MACHINE", TABLE_TREE);
 *	line = table_line(t, TABLE_NO_PARENT);
 *	table_cell(t, line, 0, "host0");
 *	ret = table_print(t);       prints, and releases the table
 *
 * Out of memory anywhere comes out of table_print() as -ENOMEM; nothing is printed then.
 */
struct screen {
	FILE *out;
	bool color;
	unsigned width; /* columns; 0 = as wide as it gets (a pipe or a file) */
};

#define TABLE_RIGHT 1u
#define TABLE_TREE 2u
#define TABLE_TRUNC 4u /* may be cut when the screen is too narrow */
#define TABLE_WRAP 8u  /* may go on in the next line when the screen is too narrow */

#define TABLE_NO_PARENT (-1)

struct table;

struct table *table_new(const struct screen *screen);
void table_column(struct table *t, const char *title, unsigned flags);
int table_line(struct table *t, int parent);
void table_cell(struct table *t, int line, unsigned column, const char *text);
/* @color: an SGR sequence such as "\033[32m"; not used on a screen without colour. */
void table_cell_color(struct table *t, int line, unsigned column, const char *color);
int table_print(struct table *t);

/* printf() of a line or a piece of one.  Whatever names are in it, it is text (safe.h): the only
 * control character is a line feed where @format ends with one. */
void screen_say(const struct screen *screen, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "TITLE", bold when the screen has colour, with an empty line before it. */
void screen_title(const struct screen *screen, const char *title);

#endif
