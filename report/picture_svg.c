/* SPDX-License-Identifier: Apache-2.0 */
/* A picture as SVG. */
#include "report/palette.h"
#include "query/counts.h"
#include "report/missing.h"
#include "report/picture.h"
#include "report/safe.h"
#include "base/units.h"

#include <string.h>

/* Layout, in pixels. */
#define MARGIN 20
#define LABEL 70
#define HEAD 64 /* title and legend */
#define AXIS 26
#define GROUP_GAP 26 /* above a group's first row: room for its name */
#define ROW 18
#define ROW_GAP 3
#define TICK_PIXELS 110
#define NAME_CHAR 6 /* width of a character of a piece's name, at most */

struct layout {
	const struct picture *p;
	FILE *out;
	bool is_ns;
	unsigned height;
};

static unsigned row_y(const struct picture *p, unsigned row)
{
	unsigned y = HEAD + AXIS;

	for (unsigned i = 0; i <= row && i < p->nr_rows; i++)
		y += (p->rows[i].first ? GROUP_GAP : ROW_GAP) + (i < row ? ROW : 0);
	return y;
}

static void write_style(const struct layout *l)
{
	fputs("<style>\n"
	      "text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;fill:#24292e}\n"
	      ".t{font-size:16px;font-weight:600}.g{font-size:12px;font-weight:600}\n"
	      ".l,.k{font-size:11px;fill:#57606a}.l{text-anchor:end}\n"
	      ".a{font-size:11px;fill:#57606a;text-anchor:middle}\n"
	      ".n{font-size:10px;fill:#fff;text-anchor:middle;pointer-events:none}\n"
	      ".grid{stroke:#24292e;stroke-opacity:.1}.row{fill:#f0f1f2}\n"
	      "rect{shape-rendering:crispEdges}.c:hover{stroke:#24292e;stroke-width:1}\n",
	      l->out);
	for (unsigned m = 0; m < QUERY_NR_MODES; m++)
		fprintf(l->out, ".m%u{fill:#%06x}", m, mode_color((enum sonde_mode)m)->rgb);
	for (unsigned s = 1; s <= VCPU_COLORS; s++)
		fprintf(l->out, ".v%u{fill:#%06x}", s, vcpu_color(s)->rgb);
	/* What is not known must not look like what is not there. */
	fprintf(l->out,
		".m%d,.v1{fill:url(#unknown)}\n</style>\n"
		"<defs><pattern id=\"unknown\" width=\"6\" height=\"6\" "
		"patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
		"<rect width=\"6\" height=\"6\" fill=\"#%06x\"/>"
		"<line x1=\"1\" y1=\"0\" x2=\"1\" y2=\"6\" stroke=\"#8c9196\" "
		"stroke-width=\"1.5\"/></pattern></defs>\n",
		SONDE_MODE_UNKNOWN, mode_color(SONDE_MODE_UNKNOWN)->rgb);
}

static void write_head(const struct layout *l)
{
	char length[UNIT_TEXT], from[UNIT_TEXT], name[256], text[MISSING_TEXT],
		missing[2 * MISSING_TEXT];
	struct sonde_machine m;

	sonde_machine_get(l->p->history, 0, &m);
	missing_line(l->p->history, l->p->begin, l->p->end, text, sizeof(text));
	safe_xml(missing, sizeof(missing), text);
	safe_xml(name, sizeof(name), *m.name ? m.name : "run");
	unit_length(length, l->p->end - l->p->begin, l->is_ns);
	unit_time(from, l->p->begin, l->is_ns);
	fprintf(l->out,
		"<text class=\"t\" x=\"%u\" y=\"%u\">%s: what really ran on its CPUs, %s from %s%s"
		"%s%s</text>\n",
		MARGIN, MARGIN + 8, name, length, from, l->is_ns ? " s" : "", *missing ? "; " : "",
		missing);
}

/* One legend entry; returns the x of the next. */
static unsigned write_key(const struct layout *l, unsigned x, const char *class, unsigned nr,
			  const struct color *color)
{
	fprintf(l->out,
		"<rect class=\"%s%u\" x=\"%u\" y=\"%u\" width=\"12\" height=\"12\"/>"
		"<text class=\"k\" x=\"%u\" y=\"%u\">%s</text>\n",
		class, nr, x, MARGIN + 22, x + 17, MARGIN + 32, color->name);
	return x + 17 + (unsigned)strlen(color->name) * 6 + 18;
}

static void write_legend(const struct layout *l)
{
	const struct picture *p = l->p;
	bool modes[QUERY_NR_MODES] = {false};
	bool states[VCPU_COLORS + 1] = {false};
	unsigned x = MARGIN;

	for (unsigned row = 0; row < p->nr_rows; row++) {
		for (unsigned px = 0; px < p->width; px++) {
			uint32_t value = picture_cell(p, row, px);
			struct sonde_context c;

			if (!value)
				continue;
			if (p->rows[row].kind == ROW_VCPU)
				states[value <= VCPU_COLORS ? value : 1] = true;
			else if (!sonde_context_get(p->history, (int64_t)value - 1, &c))
				modes[c.mode] = true;
		}
	}
	for (unsigned m = 0; m < QUERY_NR_MODES; m++) {
		if (modes[m])
			x = write_key(l, x, "m", m, mode_color((enum sonde_mode)m));
	}
	/* Of the vCPUs' states only what the modes' colours do not say. */
	for (unsigned s = modes[SONDE_MODE_UNKNOWN] ? 2 : 1; s <= VCPU_COLORS; s++) {
		if (states[s])
			x = write_key(l, x, "v", s, vcpu_color(s));
	}
}

static void write_axis(const struct layout *l)
{
	const struct picture *p = l->p;
	int64_t step = picture_step(p, TICK_PIXELS);
	int64_t first = (p->begin + step - 1) / step * step;
	unsigned top = HEAD + AXIS;

	for (int64_t t = first; t < p->end; t += step) {
		double x = MARGIN + LABEL +
			   (double)(t - p->begin) * p->width / (double)(p->end - p->begin);
		char text[UNIT_TEXT];

		fprintf(l->out,
			"<line class=\"grid\" x1=\"%.1f\" y1=\"%u\" x2=\"%.1f\" y2=\"%u\"/>"
			"<text class=\"a\" x=\"%.1f\" y=\"%u\">%s</text>\n",
			x, top, x, l->height - MARGIN, x, top - 6,
			unit_tick(text, t, step, l->is_ns));
	}
}

/* What the pointer shows over a cell. */
static void write_title(const struct layout *l, unsigned row, unsigned first, unsigned end,
			uint32_t value)
{
	char label[256], safe[512], from[UNIT_TEXT], length[UNIT_TEXT];
	int64_t begin = picture_time(l->p, first);

	if (l->p->rows[row].kind == ROW_VCPU)
		snprintf(label, sizeof(label), "%s", vcpu_color(value)->name);
	else
		sonde_context_label(l->p->history, (int64_t)value - 1, label, sizeof(label));
	fprintf(l->out, "<title>%s\n%s, %s</title>", safe_xml(safe, sizeof(safe), label),
		unit_time(from, begin, l->is_ns),
		unit_length(length, picture_time(l->p, end) - begin, l->is_ns));
}

/* What stands on a piece that is wide enough: the thread, and its machine where that is not said
 * by the row; for a hypervisor why it works. */
static void write_name(const struct layout *l, unsigned row, unsigned first, unsigned end,
		       const struct sonde_context *c)
{
	size_t room = end - first > 8 ? (end - first - 8) / NAME_CHAR : 0; /* characters */
	char name[160], machine[80] = "", safe[320];
	struct sonde_machine m;
	struct sonde_thread t;

	if (c->mode == SONDE_MODE_IDLE || c->mode == SONDE_MODE_UNKNOWN)
		return;
	sonde_machine_get(l->p->history, c->machine, &m);
	if (l->p->rows[row].kind == ROW_CPU && c->machine != 0)
		snprintf(machine, sizeof(machine), " (%s)", m.name);
	if (c->mode == SONDE_MODE_HYPERVISOR && c->serves >= 0) {
		char vcpu[80];

		sonde_cpu_label(l->p->history, c->serves, vcpu, sizeof(vcpu));
		snprintf(name, sizeof(name), "%s for %s", *c->detail_text ? c->detail_text : "KVM",
			 vcpu);
	} else if (sonde_thread_get(l->p->history, c->thread, &t)) {
		snprintf(name, sizeof(name), "%s", m.name);
	} else {
		const char *comm = t.tid ? t.comm : "idle";

		snprintf(name, sizeof(name), "%s%s", comm,
			 strlen(comm) + strlen(machine) <= room ? machine : "");
	}
	if (strlen(name) > room)
		return;
	fprintf(l->out, "<text class=\"n\" x=\"%u\" y=\"%u\">%s</text>\n",
		MARGIN + LABEL + (first + end) / 2, row_y(l->p, row) + 13,
		safe_xml(safe, sizeof(safe), name));
}

static void write_cell(const struct layout *l, unsigned row, unsigned first, unsigned end,
		       uint32_t value)
{
	struct sonde_context c = {0};
	bool vcpu = l->p->rows[row].kind == ROW_VCPU;

	if (!value)
		return;
	if (!vcpu)
		sonde_context_get(l->p->history, (int64_t)value - 1, &c);
	fprintf(l->out, "<rect class=\"c %c%u\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\">",
		vcpu ? 'v' : 'm', vcpu ? value : (unsigned)c.mode, MARGIN + LABEL + first,
		row_y(l->p, row), end - first, ROW);
	write_title(l, row, first, end, value);
	fputs("</rect>\n", l->out);
	if (!vcpu)
		write_name(l, row, first, end, &c);
}

static void write_row(const struct layout *l, unsigned row)
{
	const struct picture *p = l->p;
	const struct picture_row *r = &p->rows[row];
	unsigned y = row_y(p, row);
	unsigned first = 0;
	char safe[512];

	if (r->first)
		fprintf(l->out, "<text class=\"g\" x=\"%u\" y=\"%u\">%s</text>\n", MARGIN, y - 7,
			safe_xml(safe, sizeof(safe), r->group));
	fprintf(l->out,
		"<text class=\"l\" x=\"%u\" y=\"%u\">%s</text>"
		"<rect class=\"row\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"/>\n",
		MARGIN + LABEL - 8, y + 13, r->label, MARGIN + LABEL, y, p->width, ROW);
	for (unsigned x = 1; x <= p->width; x++) {
		if (x < p->width && picture_cell(p, row, x) == picture_cell(p, row, first))
			continue;
		write_cell(l, row, first, x, picture_cell(p, row, first));
		first = x;
	}
}

void picture_svg(const struct picture *p, FILE *out)
{
	struct layout l = {.p = p, .out = out, .is_ns = sonde_history_ticks_are_ns(p->history)};
	unsigned width = p->width + LABEL + 2 * MARGIN;

	l.height = row_y(p, p->nr_rows) + MARGIN + (p->nr_rows ? ROW : 0);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\">\n",
		width, l.height, width, l.height);
	write_style(&l);
	fprintf(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
	write_head(&l);
	write_legend(&l);
	for (unsigned row = 0; row < p->nr_rows; row++)
		write_row(&l, row);
	write_axis(&l);
	fputs("</svg>\n", out);
}
