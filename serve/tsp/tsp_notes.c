/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations: what guests marked, where events were lost, and how far clocks may be wrong.
 *
 * Each stands on the row it belongs to where the time graph has one: the CPU that lost events, the
 * vCPU or the thread that marked.  The bound of a guest's clock is on its machine's row; where
 * guests have none (physical CPUs), on the physical machine's.
 */
#include "serve/tsp/tsp_notes.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MAX 10000 /* in one answer */

static const struct {
	const char *id, *name, *style;
} categories[] = {
	[TSP_MARKS] = {"marks", "Marks", "mark"},
	[TSP_LOSSES] = {"gaps", "Gaps", "gap"},
	[TSP_CLOCKS] = {"clocks", "Clock uncertainty", "clock"},
};

const char *tsp_category_name(enum tsp_category category)
{
	return categories[category].name;
}

struct visit {
	struct tsp_call *call;
	const struct tsp_part *part;
	int64_t begin, end; /* in the history's time */
	bool (*each)(const struct tsp_note *note, void *data);
	void *data;
	bool stopped;
};

/* [from, to) in the history's time. */
static void tell(struct visit *v, enum tsp_category category, int64_t entry, int64_t from,
		 int64_t to, const char *label)
{
	struct tsp_note note = {
		.category = category,
		.entry = entry,
		.time = tsp_time(v->part, from),
		.label = label,
	};

	if (v->stopped || from >= v->end || (to <= v->begin && from < v->begin))
		return;
	note.duration = tsp_time(v->part, to) - note.time;
	if (note.duration < 0)
		note.duration = 0;
	v->stopped = !v->each(&note, v->data);
}

static int64_t machine_entry(const struct visit *v, int64_t machine)
{
	if (machine < 0 || machine >= sonde_nr_machines(v->part->history))
		return -1;
	if (v->call->output.kind == TSP_FUSED)
		machine = 0;
	return tsp_entry_id(v->part, TSP_MACHINE, machine);
}

/* The row of a machine's CPU where this time graph has it, else of the machine. */
static int64_t cpu_entry(const struct visit *v, int64_t machine, int64_t cpu)
{
	struct tsp_entry e = {v->part, TSP_CPU, -1};

	if (machine >= 0 && cpu >= 0)
		e.row = sonde_find_cpu(v->part->history, (unsigned)machine, (int)cpu);
	if (e.row >= 0 && tsp_entry_attr(v->call->output.kind, &e) != SONDE_NO_ATTR)
		return tsp_entry_id(v->part, TSP_CPU, e.row);
	return machine_entry(v, machine);
}

/* ---- marks --------------------------------------------------------------------------------- */

static void tell_mark(struct visit *v, const struct sonde_rows *f, size_t row)
{
	int64_t at = tsp_cell(f, row, "at").i, length = tsp_cell(f, row, "length").i;
	int64_t machine = tsp_cell(f, row, "machine").i, thread = tsp_cell(f, row, "thread").i;
	const char *text = tsp_cell(f, row, "text").s;
	int64_t entry;

	if (v->call->output.kind == TSP_THREADS && thread >= 0)
		entry = tsp_entry_id(v->part, TSP_THREAD, thread);
	else
		entry = cpu_entry(v, machine, tsp_cell(f, row, "cpu").i);
	tell(v, TSP_MARKS, entry, at, at + (length > 0 ? length : 0), text);
}

static int tell_marks(struct visit *v, struct error *err)
{
	struct sonde_error why = {0};
	struct sonde_rows *f;
	int ret;

	if (!sonde_nr_marks(v->part->history))
		return 0;
	ret = sonde_rows_get(&f, v->part->history, "mark", v->begin, v->end, &why);
	if (ret)
		return fail(err, ret, "%s", why.text);
	for (size_t row = 0; row < sonde_rows_nr(f) && !v->stopped; row++)
		tell_mark(v, f, row);
	sonde_rows_free(f);
	return 0;
}

/* ---- losses and clocks --------------------------------------------------------------------- */

static void tell_losses(struct visit *v)
{
	for (int64_t row = 0; row < sonde_nr_losses(v->part->history) && !v->stopped; row++) {
		char text[80], count[UNIT_TEXT];
		struct sonde_loss loss;

		sonde_loss_get(v->part->history, row, &loss);
		if (loss.events < 0)
			snprintf(text, sizeof(text), "events were lost, nobody counted them");
		else
			snprintf(text, sizeof(text), "%s events were lost",
				 unit_count(count, loss.events));
		tell(v, TSP_LOSSES, cpu_entry(v, loss.machine, loss.cpu), loss.begin, loss.end,
		     text);
	}
}

static void tell_clocks(struct visit *v)
{
	for (int64_t row = 0; row < sonde_nr_clocks(v->part->history) && !v->stopped; row++) {
		char text[300], bound[UNIT_TEXT];
		struct sonde_machine m;
		struct sonde_clock clock;

		if (sonde_clock_get(v->part->history, row, &clock) || !clock.bound_ns ||
		    sonde_machine_get(v->part->history, clock.machine, &m))
			continue;
		if (clock.bound_ns < 0)
			snprintf(text, sizeof(text), "%s: nothing limits its clock's error",
				 m.name);
		else
			snprintf(text, sizeof(text), "%s: wrong by at most %s", m.name,
				 unit_length(bound, clock.bound_ns,
					     sonde_history_ticks_are_ns(v->part->history)));
		tell(v, TSP_CLOCKS, machine_entry(v, clock.machine), clock.from, clock.to, text);
	}
}

int tsp_notes(struct tsp_call *c, const struct tsp_range *range, unsigned wanted,
	      bool (*each)(const struct tsp_note *note, void *data), void *data, struct error *err)
{
	struct visit v = {.call = c, .each = each, .data = data};
	int ret = 0;

	for (unsigned i = 0; i < c->view.nr && !ret; i++) {
		v.part = &c->view.parts[i];
		if (!tsp_clip(v.part, range->start, range->end, &v.begin, &v.end))
			continue;
		if (wanted & 1u << TSP_MARKS)
			ret = tell_marks(&v, err);
		if (wanted & 1u << TSP_LOSSES)
			tell_losses(&v);
		if (wanted & 1u << TSP_CLOCKS)
			tell_clocks(&v);
	}
	return ret;
}

/* ---- answers ------------------------------------------------------------------------------- */

int tsp_marker_sets(struct tsp_call *c, struct error *err)
{
	struct json *j = &c->json;

	(void)err;
	json_begin_array(j, "model");
	for (unsigned i = 0; i < TSP_NR_CATEGORIES; i++) {
		json_begin_object(j, NULL);
		json_str(j, "name", categories[i].name);
		json_str(j, "id", categories[i].id);
		json_end(j);
	}
	json_end(j);
	return 0;
}

/* Of a marker set, the one that it is; without, all. */
static unsigned of_set(const char *id)
{
	for (unsigned i = 0; id && *id && i < TSP_NR_CATEGORIES; i++) {
		if (!strcmp(categories[i].id, id))
			return 1u << i;
	}
	return id && *id ? 0 : TSP_ALL_CATEGORIES;
}

int tsp_categories(struct tsp_call *c, struct error *err)
{
	unsigned wanted = of_set(request_text(c->request, "markerSetId"));
	struct json *j = &c->json;

	(void)err;
	if (c->output.kind > TSP_THREADS)
		wanted = 0;
	json_begin_object(j, "model");
	json_begin_array(j, "annotationCategories");
	for (unsigned i = 0; i < TSP_NR_CATEGORIES; i++) {
		if (wanted & 1u << i)
			json_str(j, NULL, categories[i].name);
	}
	json_end(j);
	json_end(j);
	return 0;
}

struct writer {
	struct json *json;
	const int64_t *items;
	int nr_items;
	unsigned nr;
};

static bool put_note(const struct tsp_note *n, void *data)
{
	struct writer *w = data;
	struct json *j = w->json;

	if (n->entry >= 0 && !tsp_wants(w->items, w->nr_items, n->entry))
		return true;
	if (w->nr == NOTES_MAX)
		return false;
	w->nr++;
	json_begin_object(j, NULL);
	json_int(j, "entryId", n->entry);
	json_str(j, "type", "CHART");
	json_int(j, "time", n->time);
	json_int(j, "duration", n->duration);
	json_str(j, "label", n->label);
	tsp_put_style(j, categories[n->category].style);
	json_end(j);
	return true;
}

static unsigned asked_for(const struct tsp_call *c)
{
	unsigned set = of_set(tsp_query_text(c->query, "requested_marker_set"));
	unsigned named = 0;
	const char *name;

	for (unsigned k = 0; (name = tsp_query_text_at(c->query, "requested_marker_categories", k));
	     k++) {
		for (unsigned i = 0; i < TSP_NR_CATEGORIES; i++) {
			if (!strcmp(categories[i].name, name))
				named |= 1u << i;
		}
		if (k == 64)
			break;
	}
	if (!tsp_query_has(c->query, "requested_marker_categories"))
		named = TSP_ALL_CATEGORIES;
	return c->output.kind > TSP_THREADS ? 0 : set & named;
}

int tsp_annotations(struct tsp_call *c, struct error *err)
{
	struct writer w = {.json = &c->json};
	struct tsp_range range;
	int64_t *items = NULL;
	int ret = tsp_get_range(c, &range, err);

	if (!ret)
		ret = tsp_get_items(c, &items, &w.nr_items, err);
	if (ret)
		return ret;
	w.items = items;
	json_begin_object(&c->json, "model");
	json_begin_object(&c->json, "annotations");
	for (unsigned i = 0; i < TSP_NR_CATEGORIES && !ret; i++) {
		if (!(asked_for(c) & 1u << i))
			continue;
		json_begin_array(&c->json, categories[i].name);
		ret = tsp_notes(c, &range, 1u << i, put_note, &w, err);
		json_end(&c->json);
	}
	json_end(&c->json);
	json_end(&c->json);
	if (w.nr == NOTES_MAX)
		snprintf(c->message, sizeof(c->message), "only the first %d", NOTES_MAX);
	free(items);
	return ret;
}
