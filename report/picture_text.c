/* SPDX-License-Identifier: Apache-2.0 */
/* A picture on a terminal. */
#include "report/palette.h"
#include "query/counts.h"
#include "report/picture.h"
#include "report/safe.h"
#include "base/units.h"

#include <limits.h>
#include <string.h>

#define LABEL 9
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* What a cell looks like: its mode's colour, or the vCPU state's. */
static const struct color *cell_color(const struct picture *p, unsigned row, unsigned pixel)
{
	uint32_t value = picture_cell(p, row, pixel);
	struct sonde_context c;

	if (!value)
		return NULL;
	if (p->rows[row].kind == ROW_VCPU)
		return vcpu_color(value);
	sonde_context_get(p->history, (int64_t)value - 1, &c);
	return mode_color(c.mode);
}

static void print_letters(const struct picture *p, FILE *out, unsigned row)
{
	for (unsigned x = 0; x < p->width; x++) {
		const struct color *c = cell_color(p, row, x);

		putc(c ? c->letter : ' ', out);
	}
}

struct pen {
	FILE *out;
	int ink, ground; /* of the 256 colours; -1 the terminal's own */
};

static void pen_set(struct pen *pen, int ink, int ground)
{
	if (ground != pen->ground && ground < 0)
		fputs("\033[49m", pen->out);
	else if (ground != pen->ground)
		fprintf(pen->out, "\033[48;5;%dm", ground);
	if (ink != pen->ink)
		fprintf(pen->out, "\033[38;5;%dm", ink);
	pen->ink = ink;
	pen->ground = ground;
}

/* Two pixels per character: a half block in one's colour on the other's ground; a full block when
 * they are alike, a blank when there is nothing. */
static void print_blocks(const struct picture *p, FILE *out, unsigned row)
{
	struct pen pen = {out, -1, -1};

	for (unsigned x = 0; x + 1 < p->width; x += 2) {
		const struct color *left = cell_color(p, row, x);
		const struct color *right = cell_color(p, row, x + 1);

		if (!left && !right) {
			pen_set(&pen, pen.ink, -1);
			putc(' ', out);
		} else if (left == right) {
			pen_set(&pen, left->index, -1);
			fputs("\u2588", out);
		} else if (!left) {
			pen_set(&pen, right->index, -1);
			fputs("\u2590", out);
		} else {
			pen_set(&pen, left->index, right ? right->index : -1);
			fputs("\u258c", out);
		}
	}
	fputs(PLAIN, out);
}

static void print_axis(const struct picture *p, FILE *out, unsigned per_char)
{
	unsigned width = p->width / per_char;
	int64_t step = picture_step(p, 14 * per_char);
	int64_t first = (p->begin + step - 1) / step * step;
	bool is_ns = sonde_history_ticks_are_ns(p->history);
	char line[1024];

	if (width >= sizeof(line))
		width = sizeof(line) - 1;
	memset(line, ' ', width);
	line[width] = '\0';
	for (int64_t t = first; t < p->end; t += step) {
		unsigned x = (unsigned)((__int128)(t - p->begin) * width / (p->end - p->begin));
		char text[UNIT_TEXT];
		size_t len;

		unit_tick(text, t, step, is_ns);
		len = strlen(text);
		if (x + len + 1 >= width)
			break;
		line[x] = '|';
		memcpy(line + x + 1, text, len);
	}
	fprintf(out, "%*s%s\n", LABEL, "", line);
}

struct key {
	FILE *out;
	bool color;
	unsigned width; /* of the picture, in characters */
	unsigned at;	/* characters on this line; UINT_MAX when it is to be begun */
};

/* An entry of the legend, in a new line when this one is full. */
static void print_key(struct key *k, const struct color *c)
{
	unsigned len = (unsigned)strlen(c->name) + (k->color ? 5 : 4);

	if (k->at == UINT_MAX || k->at + len - 2 > k->width) {
		fprintf(k->out, "\n%*s", LABEL, "");
		k->at = LABEL;
	}
	if (k->color)
		fprintf(k->out, "%s\u2588\u2588" PLAIN " %s  ", c->ansi, c->name);
	else
		fprintf(k->out, "%c %s  ", c->letter, c->name);
	k->at += len;
}

static void print_legend(const struct picture *p, FILE *out, bool color)
{
	bool used[QUERY_NR_MODES] = {false};
	struct key key = {out, color, LABEL + p->width / (color ? 2 : 1), 0};
	bool states[VCPU_COLORS + 1] = {false}, vcpus = false;

	for (unsigned row = 0; row < p->nr_rows; row++) {
		for (unsigned x = 0; x < p->width; x++) {
			struct sonde_context c;
			uint32_t value = picture_cell(p, row, x);

			if (!value)
				continue;
			if (p->rows[row].kind == ROW_VCPU)
				states[value <= VCPU_COLORS ? value : 1] = vcpus = true;
			else if (!sonde_context_get(p->history, (int64_t)value - 1, &c))
				used[c.mode] = true;
		}
	}
	key.at = UINT_MAX; /* before the first entry: a new line */
	for (unsigned m = 0; m < QUERY_NR_MODES; m++) {
		if (used[m])
			print_key(&key, mode_color((enum sonde_mode)m));
	}
	key.at = vcpus ? UINT_MAX : key.at;
	for (unsigned s = 1; s <= VCPU_COLORS; s++) {
		if (states[s])
			print_key(&key, vcpu_color(s));
	}
	putc('\n', out);
}

void picture_print(const struct picture *p, FILE *out, bool color)
{
	char group[128];

	print_axis(p, out, color ? 2 : 1);
	for (unsigned row = 0; row < p->nr_rows; row++) {
		const struct picture_row *r = &p->rows[row];

		if (r->first)
			fprintf(out, "%s%s%s\n", color ? BOLD : "",
				safe_text(group, sizeof(group), r->group), color ? PLAIN : "");
		fprintf(out, "  %-*s", LABEL - 2, r->label);
		if (color)
			print_blocks(p, out, row);
		else
			print_letters(p, out, row);
		putc('\n', out);
	}
	print_legend(p, out, color);
}
