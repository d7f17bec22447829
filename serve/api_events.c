/* SPDX-License-Identifier: Apache-2.0 */
/* The events around a moment, read from the traces that the history was made of. */
#include "analysis/origin.h"
#include "serve/api.h"
#include "sonde/sonde.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 400
#define NAMES_MAX 48
/* How far around the moment is looked, in steps. */
static const int64_t reach_ns[] = {2000000, 100000000};

struct line {
	int64_t t;
	unsigned machine; /* row of the run */
	int cpu;
	int32_t tid;
	char name[NAMES_MAX];
	char fields[FIELDS_MAX];
};

/* The last half of a page of events before the moment, and those after it. */
struct page {
	struct line *lines; /* owned: room for .max */
	unsigned max;
	unsigned nr_before; /* seen; the last max / 2 of them stand in a ring */
	unsigned nr_after;
};

static void keep(struct page *p, const struct call *c, const struct sonde_events *e,
		 const struct sonde_event *event, bool before)
{
	unsigned half = p->max / 2;
	unsigned slot = before ? p->nr_before++ % half : half + p->nr_after++;
	struct line *l = &p->lines[slot];

	l->t = event->t_ns;
	l->machine = (unsigned)sonde_find_machine(c->run, event->machine_name);
	l->cpu = event->cpu;
	l->tid = event->tid;
	snprintf(l->name, sizeof(l->name), "%s", event->name);
	sonde_event_print(e, l->fields, sizeof(l->fields));
}

static int read_page(struct page *p, struct call *c, const struct origin *origin, int64_t t,
		     int64_t reach, struct error *err)
{
	struct sonde_error why = {0};
	struct sonde_event event;
	struct sonde_events *e;
	int ret = sonde_events_open(&e, &origin->inputs, NULL, &why);

	if (ret)
		return fail(err, ret, "%s", why.text);
	p->nr_before = 0;
	p->nr_after = 0;
	sonde_events_only_time(e, t - reach, t + reach);
	while (p->nr_after < p->max / 2 && (ret = sonde_events_next(e, &event)) > 0)
		keep(p, c, e, &event, event.t_ns < t);
	sonde_events_close(e);
	return ret < 0 ? fail(err, ret, "cannot read the traces: %s", strerror(-ret)) : 0;
}

static void write_line(struct json *j, const struct call *c, const struct line *l)
{
	json_begin_array(j, NULL);
	json_int(j, NULL, l->t - c->begin);
	json_int(j, NULL, (int)l->machine);
	json_int(j, NULL, l->cpu);
	json_int(j, NULL, l->tid);
	json_str(j, NULL, l->name);
	json_str(j, NULL, l->fields);
	json_end(j);
}

static void write_page(struct call *c, const struct page *p)
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
	json_end(&j);
}

int answer_events(struct call *c, struct error *err)
{
	struct page p = {0};
	struct origin origin = {0};
	int64_t t, nr;
	int ret = request_int(c->request, "t", 0, c->length, &t, err);

	if (!ret)
		ret = request_int(c->request, "nr", 2, EVENTS_MAX, &nr, err);
	if (!ret)
		ret = origin_init(&origin, c->run, err);
	if (ret)
		goto out;
	p.max = (unsigned)nr & ~1u;
	p.lines = calloc(p.max, sizeof(*p.lines));
	if (!p.lines) {
		ret = fail(err, -ENOMEM, "out of memory");
		goto out;
	}
	for (unsigned i = 0; i < sizeof(reach_ns) / sizeof(*reach_ns) && !ret; i++) {
		ret = read_page(&p, c, &origin, c->begin + t, reach_ns[i], err);
		if (p.nr_before + p.nr_after >= p.max / 4)
			break;
	}
	if (!ret)
		write_page(c, &p);
out:
	free(p.lines);
	origin_release(&origin);
	return ret;
}
