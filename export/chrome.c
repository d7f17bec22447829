/* SPDX-License-Identifier: Apache-2.0 */
/* A canvas that is a file of trace events in JSON, as chrome://tracing and many others read it (the
 * "Trace Event Format").  That format knows processes and threads only: a group of tracks becomes a
 * process, a track a thread of it, both under numbers of their own. */
#include "base/map.h"
#include "export/canvas.h"
#include "report/json.h"
#include "sonde/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Numbers in JSON are doubles to their readers: microseconds with three digits behind the point are
 * exact up to here, 52 days of ns. */
#define EXACT_NS (1LL << 52)

struct place {
	uint32_t process, thread; /* numbers in the file, from 1 on */
	char *name;		  /* owned: of a counter; of a group, with those of its parents */
};

struct chrome {
	struct canvas canvas;
	struct json json;
	struct map by_track; /* id -> index of places */
	struct place *places; /* owned */
	uint32_t nr, room, processes;
	bool no_memory;
};

static struct chrome *chrome_of(struct canvas *c)
{
	return (struct chrome *)c;
}

static const struct place *find_place(const struct chrome *h, uint64_t track)
{
	static const struct place none = {0, 0, (char *)""};
	const uint32_t *at = map_get(&h->by_track, track);

	return at ? &h->places[*at] : &none;
}

/* ---- events -------------------------------------------------------------------------------- */

static void put_time(struct chrome *h, ns_t t)
{
	json_milli(&h->json, "ts", t - h->canvas.origin);
}

static void begin_event(struct chrome *h, const char *phase, uint64_t track)
{
	const struct place *p = find_place(h, track);

	json_begin_object(&h->json, NULL);
	json_str(&h->json, "ph", phase);
	json_uint(&h->json, "pid", p->process);
	json_uint(&h->json, "tid", p->thread);
}

static void put_notes(struct chrome *h, const struct sign *s)
{
	if (!s->nr_notes)
		return;
	json_begin_object(&h->json, "args");
	for (unsigned i = 0; i < s->nr_notes; i++) {
		const struct note *n = &s->notes[i];

		if (n->text)
			json_str(&h->json, n->key, n->text);
		else
			json_int(&h->json, n->key, n->number);
	}
	json_end(&h->json);
}

/* An arrow's end binds to the slice that begins at its time. */
static void put_flow(struct chrome *h, uint64_t track, ns_t t, const struct sign *s)
{
	if (!s->flow)
		return;
	begin_event(h, s->flow_ends ? "f" : "s", track);
	put_time(h, t);
	json_uint(&h->json, "id", s->flow);
	json_str(&h->json, "name", "why");
	json_str(&h->json, "cat", "flow");
	if (s->flow_ends)
		json_str(&h->json, "bp", "e");
	json_end(&h->json);
}

static void put_sign(struct chrome *h, const char *phase, uint64_t track, ns_t t,
		     const struct sign *s)
{
	begin_event(h, phase, track);
	put_time(h, t);
	json_str(&h->json, "name", s->name);
	json_str(&h->json, "cat", s->category);
	if (*phase == 'X')
		json_int(&h->json, "dur", 0);
	put_notes(h, s);
	json_end(&h->json);
	put_flow(h, track, t, s);
}

static void put_begin(struct canvas *c, uint64_t track, ns_t t, const struct sign *s)
{
	put_sign(chrome_of(c), "B", track, t, s);
}

static void put_end(struct canvas *c, uint64_t track, ns_t t)
{
	struct chrome *h = chrome_of(c);

	begin_event(h, "E", track);
	put_time(h, t);
	json_end(&h->json);
}

/* Arrows hold on to slices only: a moment with one is a slice of no length. */
static void put_moment(struct canvas *c, uint64_t track, ns_t t, const struct sign *s)
{
	put_sign(chrome_of(c), s->flow ? "X" : "i", track, t, s);
}

static void put_value(struct canvas *c, uint64_t track, ns_t t, double value)
{
	struct chrome *h = chrome_of(c);
	const char *name = find_place(h, track)->name;

	begin_event(h, "C", track);
	put_time(h, t);
	json_str(&h->json, "name", name ? name : "");
	json_begin_object(&h->json, "args");
	json_milli(&h->json, "value", (int64_t)(value * 1000));
	json_end(&h->json);
	json_end(&h->json);
}

/* ---- tracks -------------------------------------------------------------------------------- */

static void put_label(struct chrome *h, uint64_t track, const char *what, const char *name)
{
	begin_event(h, "M", track);
	json_str(&h->json, "name", what);
	json_begin_object(&h->json, "args");
	json_str(&h->json, "name", name);
	json_end(&h->json);
	json_end(&h->json);
}

static void put_rank(struct chrome *h, uint64_t track, const char *what, unsigned rank)
{
	begin_event(h, "M", track);
	json_str(&h->json, "name", what);
	json_begin_object(&h->json, "args");
	json_uint(&h->json, "sort_index", rank);
	json_end(&h->json);
	json_end(&h->json);
}

static char *name_within(const struct place *parent, const char *name)
{
	size_t room = (parent->name ? strlen(parent->name) : 0) + strlen(name) + 3;
	char *text = malloc(room);

	if (text && parent->name && *parent->name)
		snprintf(text, room, "%s: %s", parent->name, name);
	else if (text)
		snprintf(text, room, "%s", name);
	return text;
}

static struct place *new_place(struct chrome *h, uint64_t track)
{
	if (h->nr == h->room) {
		uint32_t room = h->room ? 2 * h->room : 256;
		struct place *grown = reallocarray(h->places, room, sizeof(*grown));

		if (!grown)
			return NULL;
		h->places = grown;
		h->room = room;
	}
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

	if (!p) {
		h->no_memory = true;
		return;
	}
	if (t->type == TRACK_GROUP) {
		p->process = ++h->processes;
		p->name = name_within(parent, t->name);
		put_label(h, t->id, "process_name", p->name ? p->name : t->name);
		put_rank(h, t->id, "process_sort_index", p->process);
		return;
	}
	p->process = parent->process;
	p->thread = h->nr;
	if (t->type == TRACK_COUNTER) {
		size_t room = strlen(t->name) + (t->unit ? strlen(t->unit) : 0) + 4;

		p->name = malloc(room);
		if (p->name)
			snprintf(p->name, room, t->unit ? "%s (%s)" : "%s", t->name, t->unit);
		h->no_memory |= !p->name;
		return;
	}
	put_label(h, t->id, "thread_name", t->name);
	put_rank(h, t->id, "thread_sort_index", p->thread);
}

/* ---- the file ------------------------------------------------------------------------------ */

static int close_chrome(struct canvas *c)
{
	struct chrome *h = chrome_of(c);
	int ret = h->no_memory ? -ENOMEM : 0;

	json_end(&h->json);
	json_begin_object(&h->json, "otherData");
	json_str(&h->json, "writer", "sonde export");
	json_int(&h->json, "origin_ns", h->canvas.origin);
	json_end(&h->json);
	json_end(&h->json);
	if (ferror(c->out))
		ret = -EIO;
	for (uint32_t i = 0; i < h->nr; i++)
		free(h->places[i].name);
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

struct canvas *chrome_open(FILE *out, const struct sonde_run *run)
{
	struct chrome *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->canvas = (struct canvas){.ops = &chrome_ops, .out = out};
	if (sonde_run_begin(run) < 0 || sonde_run_end(run) > EXACT_NS)
		h->canvas.origin = sonde_run_begin(run);
	h->json = (struct json){.out = out, .flat = 2};
	json_begin_object(&h->json, NULL);
	json_str(&h->json, "displayTimeUnit", "ns");
	json_begin_array(&h->json, "traceEvents");
	return &h->canvas;
}
