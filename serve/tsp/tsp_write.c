/* SPDX-License-Identifier: Apache-2.0 */
/* What several answers write and read: styles, states, ranges. */
#include "serve/tsp/tsp_call.h"
#include "query/counts.h"
#include "report/palette.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NR_SAMPLES 1920 /* when the question does not say: a screen's width */

/* ---- styles -------------------------------------------------------------------------------- */

/* Refers to one of tsp_styles(); it has no values of its own. */
void tsp_put_style(struct json *j, const char *parent)
{
	json_begin_object(j, "style");
	json_str(j, "parentKey", parent);
	json_begin_object(j, "values");
	json_end(j);
	json_end(j);
}

static void put_style_of(struct json *j, const char *key, const char *group, const char *name,
			 uint32_t rgb)
{
	char color[8];

	snprintf(color, sizeof(color), "#%06x", rgb & 0xffffff);
	json_begin_object(j, key);
	json_begin_object(j, "values");
	json_str(j, "style-name", name);
	json_str(j, "style-group", group);
	json_str(j, "background-color", color);
	json_str(j, "color", color);
	json_rounded(j, "height", 1);
	json_rounded(j, "opacity", 1);
	json_end(j);
	json_end(j);
}

/* "mode-3", "vcpu-2", "thread-1": by the value, as names may change. */
static void put_palette(struct json *j, const char *prefix, const char *group, unsigned first,
			unsigned end, const struct color *(*of)(uint32_t value))
{
	for (unsigned value = first; value < end; value++) {
		char key[32];

		snprintf(key, sizeof(key), "%s-%u", prefix, value);
		put_style_of(j, key, group, of(value)->name, of(value)->rgb);
	}
}

static const struct color *color_of_mode(uint32_t mode)
{
	return mode_color((enum sonde_mode)mode);
}

/* An area over the chart, or a line where it is short. */
static void put_mark_style(struct json *j, const char *key, const char *name, const char *color,
			   double opacity)
{
	json_begin_object(j, key);
	json_begin_object(j, "values");
	json_str(j, "style-name", name);
	json_str(j, "color", color);
	json_rounded(j, "opacity", opacity);
	json_str(j, "symbol-type", "triangle");
	json_rounded(j, "height", 0.5);
	json_end(j);
	json_end(j);
}

int tsp_styles(struct tsp_call *c, struct error *err)
{
	struct json *j = &c->json;

	(void)err;
	json_begin_object(j, "model");
	json_begin_object(j, "styles");
	if (c->output.kind == TSP_FUSED)
		put_palette(j, "mode", "Mode", 0, QUERY_NR_MODES, color_of_mode);
	if (c->output.kind == TSP_VCPUS)
		put_palette(j, "vcpu", "vCPU state", 1, VCPU_COLORS + 1, vcpu_color);
	if (c->output.kind == TSP_THREADS)
		put_palette(j, "thread", "Thread state", 1, THREAD_COLORS + 1, thread_color);
	put_mark_style(j, "mark", "Mark", "#7a57a8", 1);
	put_mark_style(j, "gap", "Gaps", "#d03a36", 0.35);
	put_mark_style(j, "clock", "Clock uncertainty", "#8a7a2f", 0.2);
	put_mark_style(j, "wakeup", "Wake-up", "#1769c4", 1);
	put_mark_style(j, "preemption", "Preemption", "#d03a36", 1);
	put_mark_style(j, "migration", "Migration", "#7b8187", 1);
	json_end(j);
	json_end(j);
	return 0;
}

const char *tsp_state_style(enum tsp_output_kind output, const struct sonde_history *history,
			    uint32_t value, char *buf, size_t room)
{
	struct sonde_context x = {0};

	if (output == TSP_FUSED) {
		sonde_context_get(history, (int64_t)value - 1, &x);
		snprintf(buf, room, "mode-%u", (unsigned)x.mode);
	} else {
		snprintf(buf, room, "%s-%u", output == TSP_VCPUS ? "vcpu" : "thread",
			 (unsigned)value);
	}
	return buf;
}

void tsp_state_label(enum tsp_output_kind output, const struct sonde_history *history,
		     uint32_t value, char *buf, size_t room)
{
	if (output == TSP_FUSED)
		sonde_context_label(history, (int64_t)value - 1, buf, room);
	else
		snprintf(buf, room, "%s",
			 (output == TSP_VCPUS ? vcpu_color(value) : thread_color(value))->name);
}

void tsp_put_header(struct json *j, const char *name, const char *tooltip, const char *type)
{
	json_begin_object(j, NULL);
	json_str(j, "name", name);
	json_str(j, "tooltip", tooltip);
	json_str(j, "dataType", type);
	json_end(j);
}

/* ---- questions ----------------------------------------------------------------------------- */

int tsp_get_range(const struct tsp_call *c, struct tsp_range *range, struct error *err)
{
	int ret = tsp_query_range(c->query, range, err);

	if (!ret && !range->nr)
		range->nr = NR_SAMPLES;
	return ret;
}

static int by_id(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int tsp_get_items(const struct tsp_call *c, int64_t **items, int *nr, struct error *err)
{
	int ret = tsp_query_list(c->query, "requested_items", items, err);

	*nr = ret < 0 ? -1 : ret;
	if (ret > 0)
		qsort(*items, (size_t)ret, sizeof(**items), by_id);
	return ret < 0 && ret != -ENODATA ? ret : 0;
}

bool tsp_wants(const int64_t *items, int nr, int64_t id)
{
	return nr < 0 || (nr && bsearch(&id, items, (size_t)nr, sizeof(*items), by_id));
}

union sonde_cell tsp_cell(const struct sonde_rows *f, size_t row, const char *column)
{
	int at = sonde_rows_column(f, column);

	assert(at >= 0);
	return sonde_rows_cell(f, row, (unsigned)at);
}
