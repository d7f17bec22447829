/* SPDX-License-Identifier: Apache-2.0 */
#include "term/cells.h"
#include "report/palette.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take(unsigned row, const struct sonde_pixels *runs, unsigned nr, void *data)
{
	struct cells *c = data;
	uint32_t *values = c->values + (size_t)row * c->pixels;

	for (unsigned i = 0; i < nr; i++) {
		for (uint32_t x = runs[i].first; x < runs[i].first + runs[i].nr && x < c->pixels;
		     x++)
			values[x] = runs[i].value;
	}
}

static int make_room(struct cells *c, size_t values)
{
	if (values > c->room) {
		free(c->values);
		c->values = malloc(values * sizeof(*c->values));
		c->room = c->values ? values : 0;
	}
	if (!c->values)
		return -ENOMEM;
	memset(c->values, 0, values * sizeof(*c->values));
	return 0;
}

int cells_query(struct cells *c, struct sonde_history *history, const struct line *const *lines,
		unsigned nr, int64_t begin, int64_t end, unsigned pixels)
{
	uint32_t *attrs = calloc((size_t)nr + 1, sizeof(*attrs));
	unsigned nr_attrs = 0;
	int ret = attrs ? 0 : -ENOMEM;

	map_clear(&c->rows);
	c->pixels = pixels;
	for (unsigned i = 0; i < nr && !ret; i++) {
		uint32_t attr = lines[i]->attr;

		if (attr == SONDE_NO_ATTR || map_get(&c->rows, attr))
			continue;
		ret = map_put(&c->rows, attr, nr_attrs);
		attrs[nr_attrs++] = attr;
	}
	if (!ret)
		ret = make_room(c, (size_t)nr_attrs * pixels + 1);
	if (!ret && nr_attrs)
		ret = sonde_pixels_walk(history, attrs, nr_attrs, begin, end, pixels, take, c);
	free(attrs);
	return ret;
}

void cells_release(struct cells *c)
{
	map_release(&c->rows);
	free(c->values);
	*c = (struct cells){0};
}

uint32_t cells_value(const struct cells *c, struct sonde_history *history, const struct line *line,
		     unsigned pixel)
{
	const uint32_t *row = map_get(&c->rows, line->attr);

	if (!row || pixel >= c->pixels)
		return 0;
	return line_value(history, line, c->values[(size_t)*row * c->pixels + pixel]);
}

/* ---- how a value looks --------------------------------------------------------------------- */

/* Threads are told apart by steady colours of their names; the idle one is grey. */
static struct look task_look(const struct sonde_history *history, int64_t thread)
{
	static const uint8_t colors[] = {67, 73, 108, 139, 144, 173, 110, 180};
	uint32_t hash = 2166136261u;
	struct sonde_thread t;

	if (sonde_thread_get(history, thread, &t))
		return (struct look){255, '?', true};
	if (!t.tid)
		return (struct look){246, '.', true};
	for (const char *c = t.comm; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	return (struct look){colors[hash % ARRAY_SIZE(colors)],
			     *t.comm > ' ' && *t.comm <= '~' ? *t.comm : '?', true};
}

static struct look color_look(const struct color *c, bool safe)
{
	return (struct look){safe ? c->safe : c->index, c->letter, true};
}

struct look value_look(struct sonde_history *history, const struct line *line, uint32_t value,
		       bool safe, struct filter *filter)
{
	struct look look = {-1, ' ', true};
	int64_t row = (int64_t)value - 1;
	struct sonde_context c;

	if (!value)
		return look;
	switch (line->kind) {
	case LINE_CPU:
		sonde_context_get(history, row, &c); /* leaves "unknown" when there is none */
		look = color_look(mode_color(c.mode), safe);
		look.matches = filter_context(filter, row);
		break;
	case LINE_VCPU:
		look = color_look(vcpu_color(value), safe);
		look.matches = filter_vcpu_state(filter, line->cpu, value);
		break;
	case LINE_TASK:
		look = task_look(history, row);
		look.matches = filter_thread(filter, row);
		break;
	case LINE_THREAD:
		look = color_look(thread_color(value), safe);
		look.matches = filter_thread_state(filter, line->thread, value);
		break;
	case LINE_GROUP:
	case LINE_EXITS:
		break;
	}
	return look;
}

static void thread_name(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct sonde_thread t;

	if (sonde_thread_get(history, row, &t))
		*buf = '\0';
	else if (t.vcpu >= 0)
		sonde_cpu_label(history, t.vcpu, buf, room);
	else
		snprintf(buf, room, "%s", t.tid ? t.comm : "");
}

static void context_name(const struct sonde_history *history, int64_t row, char *buf, size_t room)
{
	struct sonde_context c;

	if (sonde_context_get(history, row, &c) || c.mode == SONDE_MODE_IDLE)
		return;
	if (c.mode == SONDE_MODE_IRQ || c.mode == SONDE_MODE_SOFTIRQ)
		snprintf(buf, room, "%s",
			 *c.detail_text ? c.detail_text : mode_color(c.mode)->name);
	else if (c.mode == SONDE_MODE_HYPERVISOR && *c.detail_text)
		snprintf(buf, room, "%s", c.detail_text);
	else
		thread_name(history, c.thread, buf, room);
}

void value_name(struct sonde_history *history, const struct line *line, uint32_t value, char *buf,
		size_t room)
{
	int64_t row = (int64_t)value - 1;

	*buf = '\0';
	if (!value)
		return;
	if (line->kind == LINE_CPU)
		context_name(history, row, buf, room);
	else if (line->kind == LINE_TASK)
		thread_name(history, row, buf, room);
	else if (line->kind == LINE_VCPU)
		snprintf(buf, room, "%s", vcpu_color(value)->name);
	else if (line->kind == LINE_THREAD)
		snprintf(buf, room, "%s", thread_color(value)->name);
}
