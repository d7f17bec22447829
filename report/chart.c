/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"
#include "analysis/rows.h"
#include "base/figure.h"
#include "base/units.h"
#include "report/rows.h"
#include "report/palette.h"
#include "report/safe.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Layout, in pixels. */
#define WIDTH 1000
#define MARGIN 20
#define LABEL 250
#define HEAD 70 /* title and legend */
#define ROW 22
#define BAR 16
#define AXIS 30
#define PANEL 64			  /* a distribution: its columns and the space above */
#define PLOT (WIDTH - 3 * MARGIN - LABEL) /* room for half a label of the axis */

static void begin_svg(FILE *out, unsigned height, const char *title)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\">\n<style>text{font:12px system-ui,sans-serif;fill:#24292e}"
		".t{font-size:16px;font-weight:600}.k,.a{font-size:11px;fill:#57606a}"
		".a{text-anchor:middle}.l{text-anchor:end}.grid{stroke:#24292e;stroke-opacity:.12}"
		"</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text class=\"t\" x=\"%d\" y=\"%d\">%s</text>\n",
		WIDTH, height, WIDTH, height, MARGIN, MARGIN + 8, title);
}

/* ---- phases -------------------------------------------------------------------------------- */

/* What a phase's time went into, and the colour of what is most like it elsewhere. */
static const struct {
	const char *column, *words;
	enum sonde_mode mode;
	uint32_t rgb; /* of what is no mode; 0: the mode's */
} parts[] = {
	{"guest_mode", "guest mode", SONDE_MODE_USER, 0},
	{"kvm", "KVM", SONDE_MODE_HYPERVISOR, 0},
	{"vmm", "VMM", SONDE_MODE_SYSCALL, 0},
	{"host", "the host's doing", SONDE_MODE_UNKNOWN, 0xd03a36},
	{"waits", "waits", SONDE_MODE_UNKNOWN, 0xf0e0b0},
	{"unknown", "unknown", SONDE_MODE_UNKNOWN, 0xdddddd},
};

static uint32_t part_color(size_t i)
{
	return parts[i].rgb ? parts[i].rgb : mode_color(parts[i].mode)->rgb;
}

static void phase_keys(FILE *out)
{
	int x = MARGIN;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		fprintf(out,
			"<rect x=\"%d\" y=\"40\" width=\"11\" height=\"11\" fill=\"#%06x\"/>"
			"<text class=\"k\" x=\"%d\" y=\"50\">%s</text>\n",
			x, part_color(i), x + 15, parts[i].words);
		x += 30 + 7 * (int)strlen(parts[i].words);
	}
}

static void phase_bar(FILE *out, struct sonde_history *history, const struct sonde_rows *f,
		      size_t row, double scale, int64_t begin, unsigned y)
{
	double x = MARGIN + LABEL + (double)ns_since(rows_named(f, row, "begin").i, begin) * scale;
	double width = (double)rows_named(f, row, "length").i * scale;
	char label[160], safe[400], length[UNIT_TEXT];
	struct sonde_machine m;
	int64_t sum = 0;

	sonde_machine_get(history, rows_named(f, row, "vm").i, &m);
	unit_length(length, rows_named(f, row, "length").i, sonde_history_ticks_are_ns(history));
	snprintf(label, sizeof(label), "%s %s  %s", m.name,
		 sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "stage")).s, length);
	fprintf(out, "<text class=\"l\" x=\"%d\" y=\"%u\">%s</text>\n", MARGIN + LABEL - 8,
		y + BAR - 4, safe_xml(safe, sizeof(safe), label));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		sum += rows_named(f, row, parts[i].column).i;
	for (size_t i = 0; i < ARRAY_SIZE(parts) && sum > 0; i++) {
		double part = width * (double)rows_named(f, row, parts[i].column).i / (double)sum;

		if (part <= 0)
			continue;
		unit_length(length, rows_named(f, row, parts[i].column).i,
			    sonde_history_ticks_are_ns(history));
		fprintf(out,
			"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"#%06x\">"
			"<title>%s: %s</title></rect>\n",
			x, y, part, BAR, part_color(i), parts[i].words, length);
		x += part;
	}
}

static void time_axis(FILE *out, struct sonde_history *history, int64_t begin, int64_t end,
		      unsigned bottom)
{
	for (int i = 0; i <= 5; i++) {
		double x = MARGIN + LABEL + PLOT * i / 5.0;
		char text[UNIT_TEXT];

		fprintf(out,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%u\"/>"
			"<text class=\"a\" x=\"%.1f\" y=\"%u\">+%s</text>\n",
			x, HEAD, x, bottom, x, bottom + 16,
			unit_length(text, (end - begin) / 5 * i,
				    sonde_history_ticks_are_ns(history)));
	}
}

void chart_phases(FILE *out, struct sonde_history *history, const struct sonde_rows *f)
{
	size_t nr = sonde_rows_nr(f);
	int64_t begin = INT64_MAX, end = INT64_MIN;
	unsigned bottom = HEAD + (unsigned)nr * ROW;

	for (size_t row = 0; row < nr; row++) {
		int64_t from = rows_named(f, row, "begin").i,
			to = from + rows_named(f, row, "length").i;

		begin = from < begin ? from : begin;
		end = to > end ? to : end;
	}
	begin_svg(out, bottom + AXIS, sonde_rows_table(f)->title);
	phase_keys(out);
	if (nr && end > begin) {
		time_axis(out, history, begin, end, bottom);
		for (size_t row = 0; row < nr; row++)
			phase_bar(out, history, f, row, (double)PLOT / (double)(end - begin), begin,
				  HEAD + (unsigned)row * ROW + 3);
	}
	fputs("</svg>\n", out);
}

/* ---- distributions ------------------------------------------------------------------------- */

/* The columns before "from" say whose a row is. */
static bool same_panel(const struct sonde_rows *f, size_t a, size_t b)
{
	int from = sonde_rows_column(f, "from");

	for (int c = 0; c < from; c++) {
		union sonde_cell x = sonde_rows_cell(f, a, (unsigned)c);
		union sonde_cell y = sonde_rows_cell(f, b, (unsigned)c);
		bool is_text = sonde_rows_table(f)->columns[c].type == SONDE_COL_STRING;

		if (is_text ? strcmp(x.s, y.s) != 0 : x.i != y.i)
			return false;
	}
	return true;
}

/* One of the columns that say whose a row is.  A second machine is told with its column's title,
 * and not at all where it is the first: "vm-a, code of vm-a-n MSR", "vm-a MSR". */
static size_t append_owner(char *label, size_t room, struct sonde_history *history,
			   const struct sonde_rows *f, size_t row, unsigned c)
{
	const struct sonde_column *column = &sonde_rows_table(f)->columns[c];
	bool second = c && column->type == SONDE_COL_MACHINE && column[-1].type == column->type;
	char text[120], title[40];
	size_t i = 0;

	if (second && sonde_rows_cell(f, row, c).i == sonde_rows_cell(f, row, c - 1).i)
		return 0;
	for (; second && column->title[i] && i + 1 < sizeof(title); i++)
		title[i] = (char)tolower((unsigned char)column->title[i]);
	title[i] = '\0';
	rows_cell_text(history, column->type, sonde_rows_cell(f, row, c), text, sizeof(text));
	return (size_t)snprintf(label, room, "%s%s%s%s",
				second ? ", "
				: c    ? " "
				       : "",
				title, second ? " " : "", text);
}

static void panel_label(FILE *out, struct sonde_history *history, const struct sonde_rows *f,
			size_t row, int64_t count, unsigned y)
{
	char label[300] = "", safe[700], number[UNIT_TEXT];
	int from = sonde_rows_column(f, "from");
	size_t used = 0;

	for (int c = 0; c < from && used < sizeof(label); c++)
		used += append_owner(label + used, sizeof(label) - used, history, f, row,
				     (unsigned)c);
	fprintf(out,
		"<text class=\"l\" x=\"%d\" y=\"%u\">%s</text>"
		"<text class=\"l k\" x=\"%d\" y=\"%u\">%s</text>\n",
		MARGIN + LABEL - 8, y - 16, safe_xml(safe, sizeof(safe), label), MARGIN + LABEL - 8,
		y - 2, unit_count(number, count));
}

struct log_axis {
	double low, high; /* log2 of the lengths at its ends */
};

static double x_of(const struct log_axis *axis, int64_t length)
{
	double at = length > 1 ? log2((double)length) : 0;

	return MARGIN + LABEL + PLOT * (at - axis->low) / (axis->high - axis->low);
}

static void panel(FILE *out, struct sonde_history *history, const struct sonde_rows *f,
		  size_t first, size_t end, const struct log_axis *axis, unsigned y)
{
	int64_t most = 1, sum = 0;

	for (size_t row = first; row < end; row++) {
		int64_t count = rows_named(f, row, "count").i;

		sum += count;
		most = count > most ? count : most;
	}
	panel_label(out, history, f, first, sum, y);
	fprintf(out, "<line class=\"grid\" x1=\"%d\" y1=\"%u\" x2=\"%d\" y2=\"%u\"/>\n",
		MARGIN + LABEL, y, WIDTH - MARGIN, y);
	for (size_t row = first; row < end; row++) {
		double x = x_of(axis, rows_named(f, row, "from").i);
		double width = x_of(axis, rows_named(f, row, "to").i) - x;
		double height = (PANEL - 14) * (double)rows_named(f, row, "count").i / (double)most;
		char from[UNIT_TEXT], to[UNIT_TEXT], number[UNIT_TEXT];
		bool is_ns = sonde_history_ticks_are_ns(history);

		fprintf(out,
			"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
			"fill=\"#2f7fc1\"><title>%s to %s: %s</title></rect>\n",
			x + 0.5, y - height, width > 1.5 ? width - 1 : 0.5, height,
			unit_length(from, rows_named(f, row, "from").i, is_ns),
			unit_length(to, rows_named(f, row, "to").i, is_ns),
			unit_count(number, rows_named(f, row, "count").i));
	}
}

static void length_axis(FILE *out, struct sonde_history *history, const struct log_axis *axis,
			unsigned bottom)
{
	/* A mark at each power of ten. */
	for (int64_t length = 1; length < INT64_MAX / 10; length *= 10) {
		double x = x_of(axis, length);
		char text[UNIT_TEXT];

		if (x < MARGIN + LABEL - 1 || x > WIDTH - MARGIN + 1)
			continue;
		fprintf(out,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%u\"/>"
			"<text class=\"a\" x=\"%.1f\" y=\"%u\">%s</text>\n",
			x, HEAD - 20, x, bottom, x, bottom + 16,
			unit_length(text, length, sonde_history_ticks_are_ns(history)));
	}
}

static unsigned count_panels(const struct sonde_rows *f)
{
	unsigned nr = 0;

	for (size_t row = 0; row < sonde_rows_nr(f); row++)
		nr += !row || !same_panel(f, row - 1, row);
	return nr;
}

static struct log_axis axis_of(const struct sonde_rows *f)
{
	struct log_axis axis = {64, 0};

	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		double from = log2((double)rows_named(f, row, "from").i + 1);
		double to = log2((double)rows_named(f, row, "to").i + 1);

		axis.low = from < axis.low ? from : axis.low;
		axis.high = to > axis.high ? to : axis.high;
	}
	if (axis.high <= axis.low)
		axis = (struct log_axis){0, 30};
	return axis;
}

void chart_spread(FILE *out, struct sonde_history *history, const struct sonde_rows *f)
{
	struct log_axis axis = axis_of(f);
	unsigned bottom = HEAD + count_panels(f) * PANEL;
	unsigned y = HEAD;
	size_t first = 0;

	begin_svg(out, bottom + AXIS, sonde_rows_table(f)->title);
	length_axis(out, history, &axis, bottom);
	for (size_t row = 1; row <= sonde_rows_nr(f); row++) {
		if (row < sonde_rows_nr(f) && same_panel(f, first, row))
			continue;
		y += PANEL;
		panel(out, history, f, first, row, &axis, y);
		first = row;
	}
	fputs("</svg>\n", out);
}
