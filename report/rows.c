/* SPDX-License-Identifier: Apache-2.0 */
#include "report/rows.h"
#include "report/moment.h"
#include "report/paragraph.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CELL_TEXT 512
#define LEGEND_MAX 4096
#define WRAP_WIDTH 18
#define SHORT_TEXT 24
#define SHARES_ENOUGH 4 /* a table with more shares is made of them */

/* ---- text ---------------------------------------------------------------------------------- */

/* In tables a machine's name stands beside its thread only when there is no column for it. */
char *rows_cell_text(struct sonde_history *history, enum sonde_column_type type,
		     union sonde_cell cell, char *buf, size_t room)
{
	bool is_ns = sonde_history_ticks_are_ns(history);
	char text[UNIT_TEXT];
	struct sonde_machine m;

	switch (type) {
	case SONDE_COL_INT:
		snprintf(buf, room, "%s", cell.i < 0 ? "-" : unit_count(text, cell.i));
		break;
	case SONDE_COL_SIGNED:
		snprintf(buf, room, "%s",
			 cell.i == SONDE_SIGNED_UNKNOWN ? "-" : unit_count(text, cell.i));
		break;
	case SONDE_COL_NS:
		snprintf(buf, room, "%s", cell.i < 0 ? "-" : unit_length(text, cell.i, is_ns));
		break;
	case SONDE_COL_TIME:
		snprintf(buf, room, "%s", cell.i == -1 ? "-" : unit_time(text, cell.i, is_ns));
		break;
	case SONDE_COL_PPM:
		snprintf(buf, room, "%s", cell.i < 0 ? "-" : unit_share(text, cell.i));
		break;
	case SONDE_COL_BOOL:
		snprintf(buf, room, "%s", cell.i ? "yes" : "no");
		break;
	case SONDE_COL_STRING:
		snprintf(buf, room, "%s", cell.s);
		break;
	case SONDE_COL_MACHINE:
		snprintf(buf, room, "%s", sonde_machine_get(history, cell.i, &m) ? "-" : m.name);
		break;
	case SONDE_COL_CPU:
		sonde_cpu_label(history, cell.i, buf, room);
		break;
	case SONDE_COL_THREAD:
		if (cell.i < 0)
			snprintf(buf, room, "-");
		else
			sonde_thread_label(history, cell.i, buf, room);
		break;
	case SONDE_COL_PID_NS:
		if (is_container(history, cell.i))
			sonde_pid_ns_label(history, cell.i, buf, room);
		else
			snprintf(buf, room, "-");
		break;
	case SONDE_COL_MODE:
		snprintf(buf, room, "%s", sonde_mode_name((enum sonde_mode)cell.i));
		break;
	}
	return buf;
}

static bool is_number(enum sonde_column_type type)
{
	return type == SONDE_COL_INT || type == SONDE_COL_SIGNED || type == SONDE_COL_NS ||
	       type == SONDE_COL_TIME || type == SONDE_COL_PPM;
}

static bool is_hidden(const struct rows_view *view, const char *name)
{
	for (size_t i = 0; view->hide && view->hide[i]; i++) {
		if (!strcmp(view->hide[i], name))
			return true;
	}
	return false;
}

/* A bound of nothing is the best there is, not a column without a use: "0 ns". */
static bool zero_tells(const struct sonde_rows *rows, unsigned column)
{
	const struct sonde_table *a = sonde_rows_table(rows);

	return !strcmp(a->name, "clock") && !strcmp(a->columns[column].name, "bound");
}

/* Numbers that name something: they have no thousands. */
static bool is_name(const struct sonde_rows *rows, unsigned column)
{
	static const char *const names[] = {"pid", "vector", "reason", "request"};
	const struct sonde_column *c = &sonde_rows_table(rows)->columns[column];

	for (size_t i = 0; c->type == SONDE_COL_INT && i < ARRAY_SIZE(names); i++) {
		if (!strcmp(c->name, names[i]))
			return true;
	}
	return false;
}

/* Of a process nothing but its number may be known, or not even that. */
static void name_process(const struct sonde_rows *rows, size_t row, char *buf, size_t room)
{
	int pid = sonde_rows_column(rows, "pid");
	int64_t nr = pid < 0 ? -1 : sonde_rows_cell(rows, row, (unsigned)pid).i;

	if (nr < 0)
		snprintf(buf, room, "unknown");
	else
		snprintf(buf, room, "unnamed (pid %" PRId64 ")", nr);
}

static char *table_text(struct sonde_history *history, const struct sonde_rows *rows, size_t row,
			unsigned column, char *buf, size_t room)
{
	const struct sonde_column *c = &sonde_rows_table(rows)->columns[column];
	union sonde_cell cell = sonde_rows_cell(rows, row, column);

	if (!cell.i && zero_tells(rows, column))
		snprintf(buf, room, "0 %s", sonde_history_ticks_are_ns(history) ? "ns" : "cy");
	else if (cell.i >= 0 && is_name(rows, column))
		snprintf(buf, room, "%" PRId64, cell.i);
	else if (c->type == SONDE_COL_STRING && !*cell.s && !strcmp(c->name, "comm"))
		name_process(rows, row, buf, room);
	else
		rows_cell_text(history, c->type, cell, buf, room);
	return buf;
}

static bool is_among(const char *const *names, const char *name)
{
	for (; names && *names; names++) {
		if (!strcmp(*names, name))
			return true;
	}
	return false;
}

/* Counts of what most tables have none of: kinds of evidence that no clock rests on, doubts. */
static bool counts_rarities(const struct sonde_rows *rows, unsigned column)
{
	static const char *const evidence[] = {"pairs", "readings", "contained", "timers", NULL};
	const struct sonde_table *a = sonde_rows_table(rows);

	if (!strcmp(a->columns[column].name, "maybe_more"))
		return true;
	return !strcmp(a->name, "clock") && is_among(evidence, a->columns[column].name);
}

static bool is_empty_cell(struct sonde_history *history, const struct sonde_rows *rows, size_t row,
			  unsigned column)
{
	enum sonde_column_type type = sonde_rows_table(rows)->columns[column].type;
	union sonde_cell cell = sonde_rows_cell(rows, row, column);
	char text[CELL_TEXT];

	if (type == SONDE_COL_NS || type == SONDE_COL_PPM || counts_rarities(rows, column))
		return cell.i == 0;
	if (type == SONDE_COL_STRING)
		return !*cell.s;
	if (type == SONDE_COL_PID_NS || type == SONDE_COL_THREAD)
		return *rows_cell_text(history, type, cell, text, sizeof(text)) == '-';
	return false;
}

static bool is_empty(struct sonde_history *history, const struct sonde_rows *rows, unsigned column)
{
	if (zero_tells(rows, column))
		return false;
	for (size_t row = 0; row < sonde_rows_nr(rows); row++) {
		if (!is_empty_cell(history, rows, row, column))
			return false;
	}
	return true;
}

/* ---- what fits on the screen --------------------------------------------------------------- */

/* Tables whose columns are parts of one sum, which none may be missing of: those that the screen
 * has no room for go below, in their order, where these columns tell the rows. */
static const struct {
	const char *table;
	const char *keys[4]; /* NULL-terminated */
} goes_on[] = {
	{"io", {"vm", "device", "kind", NULL}}, {"io_list", {"at", "vm", NULL}},
	{"vcpu_state", {"vcpu", NULL}},		{"wakeup", {"vm", "level", "cause", NULL}},
	{"wakeup_list", {"at", "vcpu", NULL}},	{"boot", {"vm", "stage", NULL}},
	{"shutdown", {"vm", "stage", NULL}},	{"vms", {"vm", "history", NULL}},
};

static const char *const *keys_of(const struct sonde_table *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(goes_on); i++) {
		if (!strcmp(goes_on[i].table, a->name))
			return goes_on[i].keys;
	}
	return NULL;
}

static size_t column_width(struct sonde_history *history, const struct sonde_rows *rows,
			   unsigned column, size_t nr_rows)
{
	const struct sonde_column *c = &sonde_rows_table(rows)->columns[column];
	size_t width = strlen(c->title);
	char text[CELL_TEXT];

	for (size_t row = 0; row < nr_rows; row++) {
		size_t len = strlen(table_text(history, rows, row, column, text, sizeof(text)));

		width = len > width ? len : width;
	}
	/* Longer text goes on in the next line. */
	if (c->type == SONDE_COL_STRING && width > SHORT_TEXT)
		return WRAP_WIDTH;
	return width;
}

/* Text that may be long goes on in the next line; what is short is not broken. */
static bool wraps(struct sonde_history *history, const struct sonde_rows *rows, unsigned column,
		  size_t nr_rows)
{
	const struct sonde_column *c = &sonde_rows_table(rows)->columns[column];
	char text[CELL_TEXT];

	for (size_t row = 0; row < nr_rows && c->type == SONDE_COL_STRING; row++) {
		if (strlen(table_text(history, rows, row, column, text, sizeof(text))) > SHORT_TEXT)
			return true;
	}
	return false;
}

/* The times beside the first are details: that with the least in it goes first. */
static int least_detail(const struct sonde_rows *rows, const bool *shown)
{
	const struct sonde_table *a = sonde_rows_table(rows);
	bool first = true;
	int64_t least = INT64_MAX;
	int found = -1;

	for (unsigned c = 0; c < a->nr_columns; c++) {
		int64_t sum = 0;

		if (a->columns[c].type != SONDE_COL_NS || !strcmp(a->columns[c].name, "unknown"))
			continue; /* what is not known is never left out */
		for (size_t row = 0; row < sonde_rows_nr(rows); row++)
			sum += sonde_rows_cell(rows, row, c).i;
		if (!first && shown[c] && sum < least) {
			least = sum;
			found = (int)c;
		}
		first = false;
	}
	return found;
}

/* The shares beside the first are details, too, where a table is made of them. */
static int least_share(const struct sonde_rows *rows, const bool *shown)
{
	const struct sonde_table *a = sonde_rows_table(rows);
	int64_t least = INT64_MAX;
	unsigned nr = 0;
	int found = -1;

	for (unsigned c = 0; c < a->nr_columns; c++) {
		int64_t sum = 0;

		if (a->columns[c].type != SONDE_COL_PPM || !shown[c])
			continue;
		nr++;
		for (size_t row = 0; row < sonde_rows_nr(rows); row++)
			sum += sonde_rows_cell(rows, row, c).i;
		if (nr > 1 && strcmp(a->columns[c].name, "unknown") && sum < least) {
			least = sum;
			found = (int)c;
		}
	}
	return nr > SHARES_ENOUGH ? found : -1;
}

/* When no time is left to go: when it was, how often, in which state; the last of these. */
static int other_detail(const struct sonde_rows *rows, const bool *shown)
{
	static const enum sonde_column_type order[] = {SONDE_COL_TIME, SONDE_COL_INT,
						       SONDE_COL_MODE};
	const struct sonde_table *a = sonde_rows_table(rows);

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		for (unsigned c = a->nr_columns; c-- > 1;) {
			if (shown[c] && a->columns[c].type == order[i] &&
			    strcmp(a->columns[c].name, "group") != 0) /* what is asked for */
				return (int)c;
		}
	}
	return -1;
}

/* The last one that may go below: not the only one beside the keys. */
static int last_column(const struct sonde_table *a, const char *const *keys, const bool *shown)
{
	int last = -1;
	unsigned nr = 0;

	for (unsigned c = 0; c < a->nr_columns; c++) {
		if (!shown[c] || is_among(keys, a->columns[c].name))
			continue;
		last = (int)c;
		nr++;
	}
	return nr > 1 ? last : -1;
}

static int next_to_go(const struct sonde_rows *rows, const bool *shown)
{
	const struct sonde_table *a = sonde_rows_table(rows);
	const char *const *keys = keys_of(a);
	int drop;

	if (keys)
		return last_column(a, keys, shown);
	drop = least_detail(rows, shown);
	if (drop < 0)
		drop = least_share(rows, shown);
	return drop < 0 ? other_detail(rows, shown) : drop;
}

/* Leaves columns out until the table fits; their titles go into @left_out. */
static void fit_columns(struct sonde_history *history, const struct sonde_rows *rows,
			size_t nr_rows, unsigned screen_width, bool *shown, char *left_out,
			size_t room)
{
	const struct sonde_table *a = sonde_rows_table(rows);
	size_t used = 0;
	size_t width = 0;

	*left_out = '\0';
	for (unsigned c = 0; c < a->nr_columns; c++) {
		if (shown[c])
			width += column_width(history, rows, c, nr_rows) + 2;
	}
	while (screen_width && width > screen_width + 2) {
		int drop = next_to_go(rows, shown);

		if (drop < 0)
			return;
		width -= column_width(history, rows, (unsigned)drop, nr_rows) + 2;
		shown[drop] = false;
		if (used < room)
			used += (size_t)snprintf(left_out + used, room - used, "%s%s",
						 used ? ", " : "", a->columns[drop].title);
	}
}

/* ---- a table ------------------------------------------------------------------------------- */

static void print_row(struct table *t, struct sonde_history *history, const struct sonde_rows *rows,
		      size_t row, const bool *shown)
{
	const struct sonde_table *a = sonde_rows_table(rows);
	int line = table_line(t, TABLE_NO_PARENT);
	unsigned at = 0;

	for (unsigned c = 0; c < a->nr_columns; c++) {
		char text[CELL_TEXT];

		if (!shown[c])
			continue;
		table_cell(t, line, at++, table_text(history, rows, row, c, text, sizeof(text)));
	}
}

/* Whether a row has anything in the columns @shown beside @keys, which only name it. */
static bool tells(struct sonde_history *history, const struct sonde_rows *rows, size_t row,
		  const char *const *keys, const bool *shown)
{
	const struct sonde_table *a = sonde_rows_table(rows);

	for (unsigned c = 0; c < a->nr_columns; c++) {
		if (shown[c] && !is_among(keys, a->columns[c].name) &&
		    !is_empty_cell(history, rows, row, c))
			return true;
	}
	return false;
}

/* Without those that tell nothing beside @keys; NULL: all rows. */
static int print_columns(const struct screen *screen, struct sonde_history *history,
			 const struct sonde_rows *rows, size_t nr_rows, const char *const *keys,
			 const bool *shown)
{
	const struct sonde_table *a = sonde_rows_table(rows);
	struct table *t = table_new(screen);

	if (!t)
		return -ENOMEM;
	for (unsigned c = 0; c < a->nr_columns; c++) {
		const struct sonde_column *column = &a->columns[c];

		if (shown[c])
			table_column(t, column->title,
				     is_number(column->type)		? TABLE_RIGHT
				     : wraps(history, rows, c, nr_rows) ? TABLE_WRAP
									: 0);
	}
	for (size_t row = 0; row < nr_rows; row++) {
		if (!keys || tells(history, rows, row, keys, shown))
			print_row(t, history, rows, row, shown);
	}
	return table_print(t);
}

/* Below a table: its other columns. */
static int go_on(const struct screen *screen, struct sonde_history *history,
		 const struct sonde_rows *rows, size_t nr_rows, const bool *shown)
{
	const char *const *keys = keys_of(sonde_rows_table(rows));
	size_t nr = 0;

	for (size_t row = 0; row < nr_rows; row++)
		nr += tells(history, rows, row, keys, shown);
	fputs(nr < nr_rows ? "... the same rows, where these are not 0:\n" : "... the same rows:\n",
	      screen->out);
	return print_columns(screen, history, rows, nr_rows, keys, shown);
}

/* After a table of the columns @shown of @wanted: which are left for one below it.  False when none
 * is, or none but its keys would find room. */
static bool take_rest(struct sonde_history *history, const struct sonde_rows *rows, size_t nr_rows,
		      unsigned screen_width, bool *wanted, bool *shown, char *left_out, size_t room)
{
	const struct sonde_table *a = sonde_rows_table(rows);
	const char *const *keys = keys_of(a);
	bool any = false;

	for (unsigned c = 0; c < a->nr_columns; c++)
		wanted[c] &= !shown[c] || is_among(keys, a->columns[c].name);
	memcpy(shown, wanted, a->nr_columns * sizeof(*shown));
	if (!*left_out || !keys)
		return false;
	fit_columns(history, rows, nr_rows, screen_width, shown, left_out, room);
	for (unsigned c = 0; c < a->nr_columns; c++)
		any |= shown[c] && !is_among(keys, a->columns[c].name);
	return any;
}

static void add_shown(const struct sonde_table *a, const bool *shown, bool *printed)
{
	for (unsigned c = 0; c < a->nr_columns; c++)
		printed[c] |= shown[c];
}

/* What columns mean: "(TASK: in a thread, user or kernel not known; GUEST: ...)". */
static void explain(const struct screen *screen, const struct sonde_table *a,
		    const char *const *names, const bool *shown)
{
	char text[LEGEND_MAX];
	size_t used = 0;

	for (unsigned c = 0; c < a->nr_columns && used < sizeof(text); c++) {
		if (shown[c] && is_among(names, a->columns[c].name))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s",
						 used ? "; " : "", a->columns[c].title,
						 a->columns[c].help);
	}
	if (!used || used + 2 > sizeof(text))
		return;
	memcpy(text + used, ")", 2);
	paragraph_print(screen, "(", text);
}

int rows_print(const struct screen *screen, struct sonde_history *history,
	       const struct sonde_rows *rows, const struct rows_view *view)
{
	const struct sonde_table *a = sonde_rows_table(rows);
	size_t nr = sonde_rows_nr(rows);
	size_t show = view->rows_max && view->rows_max < nr ? view->rows_max : nr;
	bool *wanted, *shown, *printed;
	char left_out[256];
	int ret;

	if (!nr)
		return 0;
	wanted = calloc(a->nr_columns, 3 * sizeof(*wanted));
	if (!wanted)
		return -ENOMEM;
	shown = wanted + a->nr_columns;
	printed = shown + a->nr_columns;
	for (unsigned c = 0; c < a->nr_columns; c++) {
		const struct sonde_column *column = &a->columns[c];

		wanted[c] = shown[c] = !is_hidden(view, column->name) &&
				       (view->keep_empty || !is_empty(history, rows, c));
	}
	fit_columns(history, rows, show, screen->width, shown, left_out, sizeof(left_out));
	screen_title(screen, a->title);
	ret = print_columns(screen, history, rows, show, NULL, shown);
	add_shown(a, shown, printed);
	while (!ret && take_rest(history, rows, show, screen->width, wanted, shown, left_out,
				 sizeof(left_out))) {
		ret = go_on(screen, history, rows, show, shown);
		add_shown(a, shown, printed);
	}
	if (show < nr)
		fprintf(screen->out, "... and %zu more\n", nr - show);
	if (*left_out)
		fprintf(screen->out, "(no room for %s)\n", left_out);
	if (!ret)
		explain(screen, a, view->explain, printed);
	free(wanted);
	return ret;
}
