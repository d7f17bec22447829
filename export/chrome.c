/* SPDX-License-Identifier: Apache-2.0 */
/* A canvas that is a file of trace events in JSON, as chrome://tracing and many others read it (the
 * "Trace Event Format").  That format knows processes and threads only: a group of tracks becomes a
 * process, a track a thread of it, both under numbers of their own. */
#include "base/grow.h"
#include "base/map.h"
#include "export/canvas.h"
#include "history/parts/bytes.h"
#include "report/json.h"
#include "sonde/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Numbers in JSON are doubles to their readers: microseconds with three digits behind the point,
 * times 1000, are the same ns again up to here, 50 days. */
#define EXACT_NS ((1LL << 42) * 1000)
/* Thousandths of what is below fit 64 bits; what is not, or is no number, is written otherwise. */
#define VALUE_MAX 9e15

struct place {
	uint32_t process, thread; /* numbers in the file, from 1 on */
	char *name;		  /* owned: of a counter; of a group, with those of its parents */
	struct bytes open;	  /* names of the slices that have not ended, the innermost last */
};

struct chrome {
	struct canvas canvas;
	struct json json;
	struct map by_track;  /* id -> index of places */
	struct place *places; /* owned */
	uint32_t nr, room, processes;
	bool no_memory;
};

static struct chrome *chrome_of(struct canvas *c)
{
	return (struct chrome *)c;
}

/* NULL: it was not declared, or memory is out. */
static struct place *find_place(const struct chrome *h, uint64_t track)
{
	const uint32_t *at = map_get(&h->by_track, track);

	return at ? &h->places[*at] : NULL;
}

/* ---- events -------------------------------------------------------------------------------- */

static void put_time(struct chrome *h, ns_t t)
{
	json_milli(&h->json, "ts", t - h->canvas.origin);
}

static void begin_event(struct chrome *h, const char *phase, const struct place *p)
{
	json_begin_object(&h->json, NULL);
	json_str(&h->json, "ph", phase);
	json_uint(&h->json, "pid", p->process);
	json_uint(&h->json, "tid", p->thread);
}

static void put_text(struct json *j, const struct sign *s)
{
	json_str(j, "name", s->name);
	json_str(j, "cat", s->category);
	if (!s->nr_notes)
		return;
	json_begin_object(j, "args");
	for (unsigned i = 0; i < s->nr_notes; i++) {
		const struct note *n = &s->notes[i];

		if (n->text)
			json_str(j, n->key, n->text);
		else
			json_int(j, n->key, n->number);
	}
	json_end(j);
}

/* An arrow's end binds to the slice that begins at its time. */
static void put_flow(struct chrome *h, const struct place *p, ns_t t, uint64_t flow, bool ends)
{
	if (!flow)
		return;
	begin_event(h, ends ? "f" : "s", p);
	put_time(h, t);
	json_uint(&h->json, "id", flow);
	json_str(&h->json, "name", "why");
	json_str(&h->json, "cat", "flow");
	if (ends)
		json_str(&h->json, "bp", "e");
	json_end(&h->json);
}

static void put_begin(struct canvas *c, uint64_t track, ns_t t, const struct sign *s)
{
	struct chrome *h = chrome_of(c);
	struct place *p = find_place(h, track);

	if (!p)
		return;
	bytes_put(&p->open, s->name, strlen(s->name) + 1);
	begin_event(h, "B", p);
	put_time(h, t);
	put_text(&h->json, s);
	json_end(&h->json);
	put_flow(h, p, t, s->flow, s->flow_ends);
}

/* Takes the name of what began last out of @open. */
static const char *last_opened(struct bytes *open)
{
	if (!open->len_bytes)
		return "";
	for (open->len_bytes--; open->len_bytes; open->len_bytes--) {
		if (!open->data[open->len_bytes - 1])
			break;
	}
	return (const char *)open->data + open->len_bytes;
}

/* Begin and end are events of their own: a length, in fractions of microseconds, would not be
 * exact. Some readers want to be told what ends. */
static void put_end(struct canvas *c, uint64_t track, ns_t t)
{
	struct chrome *h = chrome_of(c);
	struct place *p = find_place(h, track);

	if (!p)
		return;
	begin_event(h, "E", p);
	put_time(h, t);
	json_str(&h->json, "name", last_opened(&p->open));
	json_end(&h->json);
}

static void put_moment(struct canvas *c, uint64_t track, ns_t t, const struct sign *s)
{
	struct chrome *h = chrome_of(c);
	const struct place *p = find_place(h, track);

	if (!p)
		return;
	/* Arrows hold on to slices only: one of no length.  Were it longer, what ends at its time
	 * would be taken for the end of it. */
	if (s->flow) {
		put_begin(c, track, t, s);
		put_end(c, track, t);
		return;
	}
	begin_event(h, "i", p);
	put_time(h, t);
	put_text(&h->json, s);
	json_end(&h->json);
}

static void put_value(struct canvas *c, uint64_t track, ns_t t, double value)
{
	struct chrome *h = chrome_of(c);
	const struct place *p = find_place(h, track);

	if (!p || !p->name)
		return;
	begin_event(h, "C", p);
	put_time(h, t);
	json_str(&h->json, "name", p->name);
	json_begin_object(&h->json, "args");
	if (value > -VALUE_MAX && value < VALUE_MAX)
		json_milli(&h->json, "value", (int64_t)(value * 1000));
	else
		json_exact(&h->json, "value", value);
	json_end(&h->json);
	json_end(&h->json);
}

/* ---- tracks -------------------------------------------------------------------------------- */

static void put_label(struct chrome *h, const struct place *p, const char *what, const char *name)
{
	begin_event(h, "M", p);
	json_str(&h->json, "name", what);
	json_begin_object(&h->json, "args");
	json_str(&h->json, "name", name);
	json_end(&h->json);
	json_end(&h->json);
}

static void put_rank(struct chrome *h, const struct place *p, const char *what, unsigned rank)
{
	begin_event(h, "M", p);
	json_str(&h->json, "name", what);
	json_begin_object(&h->json, "args");
	json_uint(&h->json, "sort_index", rank);
	json_end(&h->json);
	json_end(&h->json);
}

/* "@outer: @name", or "@name (@unit)"; NULL when memory is out. */
static char *join(const char *outer, const char *name, const char *unit)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "%s%s%s", outer ? outer : "", outer ? ": " : "", name);
	if (unit)
		fprintf(out, " (%s)", unit);
	fclose(out);
	return text;
}

static struct place *new_place(struct chrome *h, uint64_t track)
{
	if (!room_for_one(&h->places, h->nr, &h->room))
		return NULL;
	if (map_put(&h->by_track, track, h->nr))
		return NULL;
	h->places[h->nr] = (struct place){0};
	return &h->places[h->nr++];
}

static void put_track(struct canvas *c, const struct track *t)
{
	struct chrome *h = chrome_of(c);
	struct place *p = new_place(h, t->id);
	const struct place *parent = find_place(h, t->parent);

	if (p && t->type != TRACK_SLICES)
		p->name = t->type == TRACK_GROUP ? join(parent ? parent->name : NULL, t->name, NULL)
						 : join(NULL, t->name, t->unit);
	if (!p || (t->type != TRACK_SLICES && !p->name)) {
		h->no_memory = true;
		return;
	}
	if (t->type == TRACK_GROUP) {
		p->process = ++h->processes;
		put_label(h, p, "process_name", p->name);
		put_rank(h, p, "process_sort_index", p->process);
		return;
	}
	p->process = parent ? parent->process : 0;
	p->thread = h->nr;
	if (t->type == TRACK_SLICES) {
		put_label(h, p, "thread_name", t->name);
		put_rank(h, p, "thread_sort_index", p->thread);
	}
}

/* ---- the file ------------------------------------------------------------------------------ */

static int close_chrome(struct canvas *c)
{
	struct chrome *h = chrome_of(c);
	int ret;

	json_end(&h->json);
	json_begin_object(&h->json, "otherData");
	json_str(&h->json, "writer", "sonde export");
	json_int(&h->json, "origin_ns", h->canvas.origin);
	json_end(&h->json);
	json_end(&h->json);
	for (uint32_t i = 0; i < h->nr; i++) {
		h->no_memory |= h->places[i].open.failed;
		bytes_release(&h->places[i].open);
		free(h->places[i].name);
	}
	ret = h->no_memory ? -ENOMEM : ferror(c->out) ? -EIO : 0;
	free(h->places);
	map_release(&h->by_track);
	free(h);
	return ret;
}

static const struct canvas_ops chrome_ops = {
	.track = put_track,
	.begin = put_begin,
	.end = put_end,
	.moment = put_moment,
	.value = put_value,
	.close = close_chrome,
};

struct canvas *chrome_open(FILE *out, const struct sonde_history *history)
{
	struct chrome *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->canvas = (struct canvas){.ops = &chrome_ops, .out = out};
	if (sonde_history_begin(history) < 0 || sonde_history_end(history) > EXACT_NS)
		h->canvas.origin = sonde_history_begin(history);
	h->json = (struct json){.out = out};
	json_begin_object(&h->json, NULL);
	json_str(&h->json, "displayTimeUnit", "ns");
	json_begin_array(&h->json, "traceEvents");
	return &h->canvas;
}
