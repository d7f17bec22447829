/* SPDX-License-Identifier: Apache-2.0 */
/* The events around a moment, read from the traces that the history was made of. */
#include "serve/api.h"
#include "sonde/sonde.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* What sonde_analyze() was told, as far as the history knows it. */
struct told {
	struct sonde_inputs inputs;
	const char **guests;  /* owned, each owned: NAME=PATH */
	const char **parents; /* owned, each owned: CHILD=PARENT */
	unsigned nr;	      /* of both */
};

static const char *pair(const char *a, const char *b)
{
	char *text = NULL;
	size_t len = strlen(a) + strlen(b) + 2;

	text = malloc(len);
	if (text)
		snprintf(text, len, "%s=%s", a, b);
	return text;
}

static void told_release(struct told *told)
{
	for (unsigned i = 0; i < told->nr; i++) {
		free((char *)told->guests[i]);
		free((char *)told->parents[i]);
	}
	free(told->guests);
	free(told->parents);
}

/* The topology is not guessed again: the history has it. */
static int told_init(struct told *told, struct sonde_run *run, struct error *err)
{
	int64_t nr = sonde_nr_machines(run);
	struct sonde_machine m, parent;
	unsigned n;

	*told = (struct told){0};
	told->guests = calloc((size_t)nr, sizeof(*told->guests));
	told->parents = calloc((size_t)nr, sizeof(*told->parents));
	if (!told->guests || !told->parents)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < nr; row++) {
		if (sonde_machine(run, row, &m) || !m.traced)
			continue;
		if (access(m.trace_path, R_OK))
			return fail(err, -ENOENT,
				    "the trace of %s is not at %s any more: events are read from "
				    "the traces, the history has what became of them",
				    m.name, m.trace_path);
		n = told->nr++;
		told->guests[n] = pair(m.name, m.trace_path);
		told->parents[n] =
			pair(m.name, sonde_machine(run, m.parent, &parent) ? "-" : parent.name);
		if (!told->guests[n] || !told->parents[n])
			return fail(err, -ENOMEM, "out of memory");
	}
	told->inputs = (struct sonde_inputs){
		.guests = told->guests,
		.nr_guests = told->nr,
		.parents = told->parents,
		.nr_parents = told->nr,
		.threads = 1,
	};
	return 0;
}

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

static int read_page(struct page *p, struct call *c, const struct told *told, int64_t t,
		     int64_t reach, struct error *err)
{
	struct sonde_error why = {0};
	struct sonde_event event;
	struct sonde_events *e;
	int ret = sonde_events_open(&e, &told->inputs, NULL, &why);

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
	struct told told = {0};
	int64_t t, nr;
	int ret = request_int(c->request, "t", 0, c->length, &t, err);

	if (!ret)
		ret = request_int(c->request, "nr", 2, EVENTS_MAX, &nr, err);
	if (!ret)
		ret = told_init(&told, c->run, err);
	if (ret)
		goto out;
	p.max = (unsigned)nr & ~1u;
	p.lines = calloc(p.max, sizeof(*p.lines));
	if (!p.lines) {
		ret = fail(err, -ENOMEM, "out of memory");
		goto out;
	}
	for (unsigned i = 0; i < sizeof(reach_ns) / sizeof(*reach_ns) && !ret; i++) {
		ret = read_page(&p, c, &told, c->begin + t, reach_ns[i], err);
		if (p.nr_before + p.nr_after >= p.max / 4)
			break;
	}
	if (!ret)
		write_page(c, &p);
out:
	free(p.lines);
	told_release(&told);
	return ret;
}
