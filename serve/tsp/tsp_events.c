/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of an experiment as a table: line 1,234,567 is found without reading all before it.
 *
 * Events are read from the traces, merged over the histories.  They are counted once, while anybody
 * asks: each question counts for a while and is then answered with what is there, and "RUNNING",
 * until all are counted.  Every few thousand events it is noted when and the how manieth event that
 * was, so that a line is found by going on from the note before it.
 */
#include "base/grow.h"
#include "serve/tsp/tsp_session.h"
#include "serve/tsp/tsp_table.h"
#include "base/units.h"
#include "sonde/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOTE_EVERY 4096
#define NOTES_MAX (1u << 22) /* 64 MB: of 17,000 million events; then no more are counted */
#define COUNT_NS 1500000000  /* for which one question counts */
#define LOOK_EVERY 1024	     /* events, at the clock */

enum { COL_RUN, COL_TIME, COL_MACHINE, COL_CPU, COL_TID, COL_EVENT, COL_FIELDS, COL_TIME_NS };

struct feed {
	struct tsp_part part;
	struct sonde_events *events; /* owned */
	struct sonde_event next;     /* not handed out yet, */
	bool more;		     /* if there is one */
};

/* The first event at or after .t is the .nr'th. */
struct note {
	int64_t t, nr;
};

struct tsp_events {
	char experiment[TSP_UUID_CHARS + 1];
	struct feed feeds[TSP_HISTORIES_MAX];
	unsigned nr;
	struct note *notes; /* owned */
	size_t nr_notes, room;
	int64_t counted;
	int64_t last_t; /* of the last that was counted */
	bool all;
	int64_t at;	      /* number of the event that comes next */
	struct feed *current; /* whose .next is the current line */
	char problem[520];    /* why they cannot be read, "" */
};

/* ---- the events in order ------------------------------------------------------------------- */

static int64_t time_of(const struct feed *f)
{
	int64_t t;

	return __builtin_add_overflow(f->next.t_ns, f->part.offset, &t) ? f->next.t_ns : t;
}

static int feed_step(struct feed *f)
{
	int ret = sonde_events_next(f->events, &f->next);

	f->more = ret > 0;
	return ret < 0 ? ret : 0;
}

/* The feed whose event comes next, NULL at the end. */
static struct feed *first_feed(struct tsp_events *e)
{
	struct feed *first = NULL;

	for (unsigned i = 0; i < e->nr; i++) {
		struct feed *f = &e->feeds[i];

		if (f->more && (!first || time_of(f) < time_of(first)))
			first = f;
	}
	return first;
}

/* To the first event at or after @t, which is the @nr'th. */
static int seek(struct tsp_events *e, int64_t t, int64_t nr)
{
	int ret = 0;

	for (unsigned i = 0; i < e->nr && !ret; i++) {
		sonde_events_only_time(e->feeds[i].events, tsp_run_time(&e->feeds[i].part, t),
				       INT64_MAX);
		ret = feed_step(&e->feeds[i]);
	}
	e->at = nr;
	return ret;
}

static int step(struct tsp_events *e)
{
	struct feed *f = first_feed(e);

	if (!f)
		return -ENODATA;
	e->at++;
	return feed_step(f);
}

/* The last note that .nr or .t (whichever is asked for) is not behind. */
static const struct note *note_before(const struct tsp_events *e, int64_t nr, int64_t t)
{
	size_t low = 0, high = e->nr_notes;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		const struct note *n = &e->notes[middle];

		if (n->nr <= nr && n->t <= t)
			low = middle;
		else
			high = middle;
	}
	return &e->notes[low];
}

/* Makes event @nr the one that comes next. */
static int go_to(struct tsp_events *e, int64_t nr)
{
	int ret = 0;

	if (nr < e->at || nr - e->at > NOTE_EVERY) {
		const struct note *n = note_before(e, nr, INT64_MAX);

		ret = seek(e, n->t, n->nr);
	}
	while (!ret && e->at < nr)
		ret = step(e);
	return ret;
}

/* ---- opening ------------------------------------------------------------------------------- */

void tsp_events_free(struct tsp_events *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < e->nr; i++)
		sonde_events_close(e->feeds[i].events);
	free(e->notes);
	free(e);
}

static int add_note(struct tsp_events *e, int64_t t, int64_t nr)
{
	if (!room_for_one(&e->notes, e->nr_notes, &e->room))
		return -ENOMEM;
	e->notes[e->nr_notes++] = (struct note){t, nr};
	return 0;
}

static int open_feed(struct feed *f, const struct tsp_part *p, struct error *err)
{
	struct sonde_error why = {0};
	int ret = sonde_history_events(&f->events, p->history, &why);

	f->part = *p;
	return ret ? fail(err, ret, "%s", why.text) : 0;
}

static struct tsp_events *events_open(const struct tsp_call *c)
{
	struct tsp_events *e = calloc(1, sizeof(*e));
	struct error err = {0};
	int ret = 0;

	if (!e)
		return NULL;
	memcpy(e->experiment, c->experiment.uuid, sizeof(e->experiment));
	for (unsigned i = 0; i < c->view.nr && !ret; i++, e->nr++)
		ret = open_feed(&e->feeds[i], &c->view.parts[i], &err);
	if (!ret)
		ret = add_note(e, INT64_MIN, 0);
	if (!ret)
		ret = seek(e, INT64_MIN, 0);
	if (ret) {
		snprintf(e->problem, sizeof(e->problem), "%s",
			 *err.text ? err.text : error_reason(ret));
		e->all = true;
	}
	return e;
}

/* With .events_lock held: those of one experiment are kept at a time. */
static struct tsp_events *get_events(struct tsp_call *c)
{
	struct tsp *tsp = c->tsp;

	if (tsp->events && strcmp(tsp->events->experiment, c->experiment.uuid)) {
		tsp_events_free(tsp->events);
		tsp->events = NULL;
	}
	if (!tsp->events)
		tsp->events = events_open(c);
	return tsp->events;
}

/* ---- counting ------------------------------------------------------------------------------ */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* One more; a note where enough have gone by since the last, at a time that is its event's alone.
 */
static int count_one(struct tsp_events *e)
{
	const struct feed *f = first_feed(e);
	int ret = 0;

	if (!f) {
		e->all = true;
		return 0;
	}
	if (e->counted - e->notes[e->nr_notes - 1].nr >= NOTE_EVERY && time_of(f) > e->last_t)
		ret = e->nr_notes < NOTES_MAX ? add_note(e, time_of(f), e->counted) : -E2BIG;
	if (ret)
		return ret;
	e->last_t = time_of(f);
	e->counted++;
	return step(e);
}

static void count_for_a_while(struct tsp_events *e)
{
	int64_t until = now_ns() + COUNT_NS;
	unsigned i = 0;
	int ret = e->all ? 0 : go_to(e, e->counted);

	while (!ret && !e->all && (++i % LOOK_EVERY || now_ns() < until))
		ret = count_one(e);
	if (ret) {
		snprintf(e->problem, sizeof(e->problem), "events end here: %s", error_reason(ret));
		e->all = true;
	}
}

bool tsp_count_events(struct tsp_call *c)
{
	struct tsp_events *e;
	bool all = true;

	pthread_mutex_lock(&c->tsp->events_lock);
	e = get_events(c);
	if (e) {
		count_for_a_while(e);
		all = e->all;
		tsp_note_events(c->tsp, c->experiment.uuid, e->counted, all);
	}
	pthread_mutex_unlock(&c->tsp->events_lock);
	return all;
}

/* ---- the table ----------------------------------------------------------------------------- */

static int go_to_line(void *data, int64_t index)
{
	struct tsp_events *e = data;
	int ret = go_to(e, index);

	e->current = first_feed(e);
	return ret ? ret : e->current ? 0 : -ENODATA;
}

/* Columns stand in the order of their ids; that of the history is left out when there is one only.
 */
static void cell_text(void *data, unsigned column, char buf[static TSP_CELL_MAX])
{
	const struct tsp_events *e = data;
	const struct feed *f = e->current;
	const char *slash = strrchr(f->part.path, '/');
	bool is_ns = sonde_history_ticks_are_ns(f->part.history);

	*buf = '\0';
	switch (column + (e->nr == 1)) {
	case COL_RUN:
		snprintf(buf, TSP_CELL_MAX, "%s", slash ? slash + 1 : f->part.path);
		break;
	case COL_TIME:
		unit_time(buf, f->next.t_ns, is_ns);
		break;
	case COL_MACHINE:
		snprintf(buf, TSP_CELL_MAX, "%s", f->next.machine_name);
		break;
	case COL_CPU:
		if (f->next.cpu >= 0)
			snprintf(buf, TSP_CELL_MAX, "%d", f->next.cpu);
		break;
	case COL_TID:
		if (f->next.tid >= 0)
			snprintf(buf, TSP_CELL_MAX, "%d", (int)f->next.tid);
		break;
	case COL_EVENT:
		snprintf(buf, TSP_CELL_MAX, "%s", f->next.name);
		break;
	case COL_FIELDS:
		sonde_event_print(f->events, buf, TSP_CELL_MAX);
		break;
	default:
		snprintf(buf, TSP_CELL_MAX, "%" PRId64, time_of(f));
	}
}

static int64_t find_time(void *data, int64_t t)
{
	struct tsp_events *e = data;
	const struct feed *f;
	const struct note *n;
	int ret;

	if (!e->counted)
		return 0;
	n = note_before(e, INT64_MAX, t);
	ret = seek(e, n->t, n->nr);
	f = first_feed(e);

	while (!ret && f && time_of(f) < t && e->at < e->counted) {
		ret = step(e);
		f = first_feed(e);
	}
	return ret ? ret : e->at;
}

static void add_columns(struct tsp_rows *rows, bool with_run)
{
	if (with_run)
		tsp_add_column(rows, COL_RUN, "History", "The history it belongs to", "STRING");
	tsp_add_column(rows, COL_TIME, "Timestamp", "On the physical machine's own clock",
		       "STRING");
	tsp_add_column(rows, COL_MACHINE, "Machine", "", "STRING");
	tsp_add_column(rows, COL_CPU, "CPU", "As its machine counts", "NUMBER");
	tsp_add_column(rows, COL_TID, "TID", "The thread that was running", "NUMBER");
	tsp_add_column(rows, COL_EVENT, "Event type", "", "STRING");
	tsp_add_column(rows, COL_FIELDS, "Contents", "", "STRING");
	tsp_add_column(rows, COL_TIME_NS, TSP_TIME_COLUMN, "When, for programs", "TIMESTAMP");
}

int tsp_event_columns(struct tsp_call *c, struct error *err)
{
	struct tsp_rows rows = {0};

	(void)err;
	add_columns(&rows, c->view.nr > 1);
	tsp_put_columns(c, &rows);
	return 0;
}

static int put_lines(struct tsp_call *c, struct tsp_events *e, struct error *err)
{
	struct tsp_rows rows = {
		.data = e,
		.go = go_to_line,
		.text = cell_text,
		.at_time = find_time,
	};

	if (!e->all)
		count_for_a_while(e);
	rows.size = e->counted;
	add_columns(&rows, e->nr > 1);
	if (!e->all)
		c->status = "RUNNING";
	snprintf(c->message, sizeof(c->message), "%s", e->problem);
	return tsp_put_lines(c, &rows, err);
}

int tsp_event_lines(struct tsp_call *c, struct error *err)
{
	struct tsp_events *e;
	int ret;

	pthread_mutex_lock(&c->tsp->events_lock);
	e = get_events(c);
	ret = e ? put_lines(c, e, err) : fail(err, -ENOMEM, "out of memory");
	pthread_mutex_unlock(&c->tsp->events_lock);
	return ret;
}
