/* SPDX-License-Identifier: Apache-2.0 */
/* The events around a moment, read from the traces that the history was made of. */
#include "serve/api/api.h"
#include "sonde/sonde.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 400
#define NAMES_MAX 48
/* How far around the moment is looked: wider each time, until the page is full. */
#define REACH_FIRST_NS 200000
#define REACH_FACTOR 16
#define REACH_LAST_NS INT64_C(60000000000)

struct event_line {
	int64_t t;
	int64_t machine; /* row of the history */
	int cpu;
	int32_t tid;
	char name[NAMES_MAX];
	char fields[FIELDS_MAX];
};

/* What is asked for. */
struct wanted {
	int64_t t;	   /* of the history's clock */
	int64_t from, to;  /* the same: nothing outside of these */
	int64_t machine;   /* row, -1 any */
	const char *named; /* a part of the name, "" any */
	int64_t look;	   /* at so many events at most */
};

/* The last half of a page of events before the moment, and those after it. */
struct page {
	struct event_line *lines; /* owned: room for .max */
	unsigned max;
	unsigned nr_before; /* seen; the last max / 2 of them stand in a ring */
	unsigned nr_after;
	int64_t from, to; /* of all events between these it has those that are wanted */
};

/* The traces stay open for the next question. */
static int open_traces(struct call *c, struct error *err)
{
	struct sonde_error why = {0};
	int ret;

	if (c->kept->events)
		return 0;
	ret = sonde_history_events(&c->kept->events, c->history, &why);
	return ret ? fail(err, ret, "%s", why.text) : 0;
}

static bool is_wanted(const struct wanted *w, const struct sonde_event *event, int64_t machine)
{
	return (w->machine < 0 || machine == w->machine) &&
	       (!*w->named || strstr(event->name, w->named));
}

static void keep(struct page *p, const struct sonde_events *e, const struct sonde_event *event,
		 int64_t machine, bool before)
{
	unsigned half = p->max / 2;
	unsigned slot = before ? p->nr_before++ % half : half + p->nr_after++;
	struct event_line *l = &p->lines[slot];

	l->t = event->t_ns;
	l->machine = machine;
	l->cpu = event->cpu;
	l->tid = event->tid;
	snprintf(l->name, sizeof(l->name), "%s", event->name);
	sonde_event_print(e, l->fields, sizeof(l->fields));
}

/* 1 when it was read to its end, 0 when @left, the events that may still be looked at, ran out. */
static int read_page(struct page *p, struct call *c, const struct wanted *w, int64_t reach,
		     int64_t *left, struct error *err)
{
	struct sonde_events *e = c->kept->events;
	struct sonde_event event;
	int ret = 1;

	p->nr_before = 0;
	p->nr_after = 0;
	p->from = w->t - reach > w->from ? w->t - reach : w->from;
	p->to = w->t + reach < w->to ? w->t + reach : w->to;
	sonde_events_only_time(e, p->from, p->to);
	while (p->nr_after < p->max / 2 && *left > 0 && (ret = sonde_events_next(e, &event)) > 0) {
		int64_t machine = sonde_find_machine(c->history, event.machine_name);

		--*left;
		if (is_wanted(w, &event, machine))
			keep(p, e, &event, machine, event.t_ns < w->t);
	}
	if (ret < 0)
		return fail(err, ret, "cannot read the traces: %s", strerror(-ret));
	if (p->nr_before > p->max / 2) /* the ring dropped what came before its oldest */
		p->from = p->lines[p->nr_before % (p->max / 2)].t;
	if (p->nr_after == p->max / 2)
		p->to = event.t_ns;
	return !ret || p->nr_after == p->max / 2;
}

static bool is_done(const struct page *p, const struct wanted *w, int64_t reach)
{
	return (p->nr_before >= p->max / 2 && p->nr_after >= p->max / 2) ||
	       (w->t - reach < w->from && w->t + reach > w->to) || reach >= REACH_LAST_NS;
}

/* Events are read in their order.  A look that has to end in the midst has those at its begin, far
 * from the moment, and lacks those near it: then the page is what the look before found. */
static int find_page(struct page *p, struct call *c, const struct wanted *w, bool *gave_up,
		     struct error *err)
{
	struct page wider = {.max = p->max, .lines = calloc(p->max, sizeof(*p->lines))};
	int64_t reach = REACH_FIRST_NS, left = w->look;
	int ret = wider.lines ? 1 : fail(err, -ENOMEM, "out of memory");

	p->from = p->to = w->t;
	while (ret > 0) {
		ret = read_page(&wider, c, w, reach, &left, err);
		*gave_up = !ret;
		if (ret > 0) {
			struct page last = *p;

			*p = wider;
			wider = last;
			if (is_done(p, w, reach))
				break;
		}
		reach = reach < REACH_LAST_NS / REACH_FACTOR ? reach * REACH_FACTOR : REACH_LAST_NS;
	}
	free(wider.lines);
	return ret < 0 ? ret : 0;
}

static void write_line(struct json *j, const struct call *c, const struct event_line *l)
{
	json_begin_array(j, NULL);
	json_int(j, NULL, l->t - c->begin);
	json_int(j, NULL, l->machine);
	json_int(j, NULL, l->cpu);
	json_int(j, NULL, l->tid);
	json_str(j, NULL, l->name);
	json_str(j, NULL, l->fields);
	json_end(j);
}

static void write_page(struct call *c, const struct page *p, bool gave_up)
{
	struct json j = {.out = c->reply->out, .flat = 2};
	unsigned half = p->max / 2;
	unsigned nr = p->nr_before < half ? p->nr_before : half;

	json_begin_object(&j, NULL);
	json_begin_array(&j, "events");
	for (unsigned i = 0; i < nr; i++)
		write_line(&j, c, &p->lines[(p->nr_before - nr + i) % half]);
	for (unsigned i = 0; i < p->nr_after; i++)
		write_line(&j, c, &p->lines[half + i]);
	json_end(&j);
	json_int(&j, "from", p->from - c->begin);
	json_int(&j, "to", p->to - c->begin);
	json_bool(&j, "gave_up", gave_up);
	json_end(&j);
}

static int get_wanted(const struct call *c, struct wanted *w, int64_t *nr, struct error *err)
{
	int ret = request_int(c->request, "t", 0, c->length, &w->t, err);
	int64_t from = -REACH_LAST_NS, to = c->length + REACH_LAST_NS;

	if (!ret && request_text(c->request, "from"))
		ret = request_int(c->request, "from", 0, c->length, &from, err);
	if (!ret && request_text(c->request, "to"))
		ret = request_int(c->request, "to", 0, c->length, &to, err);
	w->t += c->begin;
	w->from = c->begin + from;
	w->to = c->begin + to;
	w->machine = -1;
	w->named = request_text(c->request, "named");
	if (!w->named)
		w->named = "";
	if (!ret)
		ret = request_int(c->request, "nr", 2, EVENTS_MAX, nr, err);
	w->look = EVENTS_READ_MAX;
	if (!ret && request_text(c->request, "look"))
		ret = request_int(c->request, "look", 1, EVENTS_READ_MAX, &w->look, err);
	if (!ret && request_text(c->request, "machine"))
		ret = request_int(c->request, "machine", 0, sonde_nr_machines(c->history) - 1,
				  &w->machine, err);
	return ret;
}

int answer_events(struct call *c, struct error *err)
{
	struct page p = {0};
	struct wanted w;
	bool gave_up = false;
	int64_t nr;
	int ret = get_wanted(c, &w, &nr, err);

	if (!ret)
		ret = open_traces(c, err);
	if (ret)
		return ret;
	p.max = (unsigned)nr & ~1u;
	p.lines = calloc(p.max, sizeof(*p.lines));
	ret = p.lines ? find_page(&p, c, &w, &gave_up, err) : fail(err, -ENOMEM, "out of memory");
	if (!ret)
		write_page(c, &p, gave_up);
	free(p.lines);
	return ret;
}
