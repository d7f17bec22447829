/* SPDX-License-Identifier: Apache-2.0 */
/* The files of what was told: found, opened, and those that are copies or parts of others settled. */
#include "lib/inputs.h"
#include "base/parallel.h"
#include "lib/find.h"
#include "lib/inputs_order.h"
#include "lib/inputs_place.h"
#include "lib/inputs_span.h"
#include "lib/inputs_within.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPENERS_MAX 8

/* A path on its way to a trace. */
struct candidate {
	char *path; /* owned */
	struct trace *trace;
	struct error why;
	int ret; /* of opening it */
};

struct opening {
	struct inputs *in;
	const struct sonde_watcher *watcher;
	struct candidate *list; /* owned */
	unsigned nr;
};

static bool is_zero(const uint8_t uuid[16])
{
	static const uint8_t zero[16];

	return !memcmp(uuid, zero, sizeof(zero));
}

static bool same_file(const struct trace *a, const struct trace *b)
{
	char path_a[PATH_MAX];
	char path_b[PATH_MAX];

	return realpath(a->path, path_a) && realpath(b->path, path_b) && !strcmp(path_a, path_b);
}

static bool same_id(const struct trace *a, const struct trace *b)
{
	if (a->format != b->format)
		return false;
	return (a->trace_id && a->trace_id == b->trace_id) ||
	       (!is_zero(a->uuid) && !memcmp(a->uuid, b->uuid, sizeof(a->uuid)));
}

/* What tells one stream of a trace from another, and from another part of the same. */
struct mark {
	const char *buffer;
	int cpu;
	uint64_t first, last; /* ticks */
	uint64_t packets, len_bytes;
};

/* A CTF copy has the same packets.  A trace.dat may have been converted to another version, with
 * other packets: there the events have to tell. */
static int make_mark(struct stream *s, struct mark *out)
{
	const struct packet *last = s->nr_packets ? &s->packets[s->nr_packets - 1] : NULL;
	ticks_t first_event = {0}, last_event = {0};
	int ret;

	*out = (struct mark){.buffer = s->buffer, .cpu = s->cpu};
	if (s->trace->format == TRACE_CTF) {
		out->first = last ? s->packets[0].begin : 0;
		out->last = last ? last->end : 0;
		out->packets = s->nr_packets;
		for (uint32_t i = 0; i < s->nr_packets; i++)
			out->len_bytes += s->packets[i].len_bytes;
		return 0;
	}
	ret = stream_first_tick(s, &first_event);
	if (ret > 0)
		ret = stream_last_tick(s, &last_event);
	out->first = first_event.v;
	out->last = last_event.v;
	return ret < 0 ? ret : 0;
}

static bool has_twin(const struct mark *of, const struct mark *list, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		const struct mark *m = &list[i];

		if (m->cpu == of->cpu && m->first == of->first && m->last == of->last &&
		    m->packets == of->packets && m->len_bytes == of->len_bytes &&
		    !strcmp(m->buffer, of->buffer))
			return true;
	}
	return false;
}

/* How much of one trace is in another. */
enum shared { SHARED_NOTHING, SHARED_SOME, SHARED_ALL };

static int make_marks(struct trace *t, struct mark *out)
{
	struct stream *own = t->own_streams ? t->own_streams : t->streams;
	unsigned nr = t->own_streams ? t->nr_own_streams : t->nr_streams;
	int ret = 0;

	for (unsigned i = 0; i < nr && !ret; i++)
		ret = make_mark(&own[i], &out[i]);
	return ret ? ret : (int)nr;
}

static unsigned count_twins(const struct mark *of, unsigned nr, const struct mark *in,
			    unsigned in_nr)
{
	unsigned twins = 0;

	for (unsigned i = 0; i < nr; i++)
		twins += has_twin(&of[i], in, in_nr);
	return twins;
}

/* By their streams, without those of parts that have been joined to them.  enum shared; -ENOMEM. */
static int shared_content(struct trace *a, struct trace *b)
{
	struct mark *of_a = calloc(a->nr_streams + 1, sizeof(*of_a));
	struct mark *of_b = calloc(b->nr_streams + 1, sizeof(*of_b));
	int nr_a = of_a ? make_marks(a, of_a) : -ENOMEM;
	int nr_b = of_b ? make_marks(b, of_b) : -ENOMEM;
	int ret = -ENOMEM;

	if (nr_a >= 0 && nr_b >= 0) {
		unsigned twins_a = count_twins(of_a, (unsigned)nr_a, of_b, (unsigned)nr_b);
		unsigned twins_b = count_twins(of_b, (unsigned)nr_b, of_a, (unsigned)nr_a);

		ret = twins_a || twins_b ? SHARED_SOME : SHARED_NOTHING;
		if (twins_a == (unsigned)nr_a && twins_b == (unsigned)nr_b)
			ret = SHARED_ALL;
	}
	free(of_a);
	free(of_b);
	return ret;
}

static void tell_copy(struct opening *o, const struct trace *used, const struct trace *dropped)
{
	watcher_notice(o->watcher, "%s and %s are the same trace; the first is used", used->path,
		       dropped->path);
	problems_add(&o->in->topology.problems, "%s and %s are the same trace; the first is used",
		     used->path, dropped->path);
}

/*
 * Streams of one trace may have been divided over directories (rotated, or one for every CPU):
 * both then say to be the same trace, and together they are it.  *@place is the one that was there
 * first; it becomes the one that knows more kinds of events.
 */
static int join_part(struct opening *o, struct trace **place, struct trace *t, struct error *err)
{
	struct trace *first = *place;
	bool swap = t->nr_types > first->nr_types;
	int ret = swap ? trace_join(t, first, err) : trace_join(first, t, err);

	if (ret)
		return ret;
	if (swap)
		*place = t;
	problems_note(&o->in->topology.problems, "%s and %s are parts of one trace: used together",
		      first->path, t->path);
	return 1;
}

static int refuse_overlap(const struct trace *a, const struct trace *b, struct error *err)
{
	return fail(
		err, -EINVAL,
		"%s and %s are one trace, and have some streams in common, but not all: what is "
		"in both would count twice; give only one of them",
		a->path, b->path);
}

/* Of several parts none is replaced. */
static int drop_one(struct opening *o, struct trace **place, struct trace *other, struct trace *t)
{
	bool take_new = !(*place)->part && strlen(t->path) < strlen(other->path);

	if (strcmp(t->path, other->path))
		tell_copy(o, take_new ? t : other, take_new ? other : t);
	if (take_new)
		*place = t;
	trace_release(take_new ? other : t);
	return 1;
}

/* What @t is to the trace at *@place and its parts: 1 when it has been dealt with, 0: something
 * else. */
static int settle_with(struct opening *o, struct trace **place, struct trace *t, struct error *err)
{
	bool related = false;

	for (struct trace *other = *place; other; other = other->part) {
		int shared = SHARED_ALL;

		if (!same_file(t, other)) {
			if (!same_id(t, other))
				continue;
			related = true;
			shared = shared_content(t, other);
		}
		if (shared < 0)
			return fail(err, shared, "out of memory");
		if (shared == SHARED_ALL)
			return drop_one(o, place, other, t);
		if (shared == SHARED_SOME)
			return refuse_overlap(other, t, err);
	}
	return related ? join_part(o, place, t, err) : 0;
}

/* Keeps one of two copies, and all parts: 1 when @t was one and has been dealt with, 0 when it was
 * none. */
static int drop_copy(struct opening *o, struct trace *t, struct error *err)
{
	struct inputs *in = o->in;
	int ret = 0;

	for (unsigned i = 0; i < in->nr_traces && !ret; i++)
		ret = settle_with(o, &in->traces[i], t, err);
	return ret;
}

static int keep_trace(struct opening *o, struct candidate *c, struct error *err)
{
	struct inputs *in = o->in;
	struct trace *t = c->trace;
	struct trace **grown;
	int ret;

	c->trace = NULL;
	if (!t && c->ret == -ENOMEM)
		return fail(err, -ENOMEM, "out of memory opening %s", c->path);
	if (!t) {
		watcher_notice(o->watcher, "%s; this trace is left out", c->why.text);
		problems_add(&in->topology.problems, "%s; this trace is left out", c->why.text);
		ret = inputs_note_left_out(in, "", c->path, c->why.text);
		return ret ? fail(err, ret, "out of memory") : 0;
	}
	ret = drop_copy(o, t, err);
	if (ret) {
		if (ret < 0)
			trace_release(t);
		return ret < 0 ? ret : 0;
	}
	grown = reallocarray(in->traces, in->nr_traces + 1, sizeof(*grown));
	if (!grown) {
		trace_release(t);
		return fail(err, -ENOMEM, "out of memory");
	}
	in->traces = grown;
	in->traces[in->nr_traces++] = t;
	return 0;
}

/* Says what has become known since there were @told problems. */
static void tell_new(const struct opening *o, unsigned told)
{
	const struct problems *problems = &o->in->topology.problems;

	for (; told < problems->nr; told++)
		watcher_notice(o->watcher, "%s", problems->list[told].text);
}

static int list_under(struct opening *o, const char *path, struct error *err)
{
	struct problems *problems = &o->in->topology.problems;
	unsigned told = problems->nr;
	struct candidate *grown;
	char **list;
	int nr = find_traces(path, problems, &list, err);
	int ret = 0;

	tell_new(o, told);
	if (nr < 0)
		return nr;
	grown = reallocarray(o->list, o->nr + (unsigned)nr, sizeof(*grown));
	if (grown)
		o->list = grown;
	for (int i = 0; i < nr && grown && !ret; i++) {
		char *copy = strdup(list[i]);

		ret = copy ? 0 : -ENOMEM;
		if (copy)
			o->list[o->nr++] = (struct candidate){.path = copy};
	}
	free(list);
	return grown && !ret ? 0 : fail(err, -ENOMEM, "out of memory");
}

/* A machine whose trace cannot be found costs only itself. */
static int list_machine(struct opening *o, const struct rundir_machine *m, struct error *err)
{
	struct problems *problems = &o->in->topology.problems;
	struct error why = {0};
	int ret = list_under(o, m->folder, &why); /* tells of its own problems */
	unsigned told = problems->nr;

	if (!ret)
		return 0;
	if (ret == -ENOMEM)
		return fail(err, ret, "%s", why.text);
	problems_add(problems, "%.60s: %.180s", m->name, why.text);
	tell_new(o, told);
	return 0;
}

/* 1: @path was a run directory, and what it has is listed. */
static int list_run(struct opening *o, const char *path, struct error *err)
{
	struct inputs *in = o->in;
	unsigned told = in->topology.problems.nr;
	struct rundir run, *grown;
	int ret = rundir_read(&run, path, &in->topology.problems, err);

	tell_new(o, told);
	if (ret <= 0)
		return ret;
	grown = reallocarray(in->runs, in->nr_runs + 1, sizeof(*grown));
	if (!grown) {
		rundir_release(&run);
		return fail(err, -ENOMEM, "out of memory");
	}
	in->runs = grown;
	in->runs[in->nr_runs++] = run;
	ret = 0;
	for (unsigned i = 0; i < run.nr && !ret; i++)
		ret = list_machine(o, &run.machines[i], err);
	return ret ? ret : 1;
}

static int list_guests(struct opening *o, const char *const *guests, unsigned nr, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < nr && !ret; i++) {
		const char *path = strchr(guests[i], '=');

		if (!path || path == guests[i])
			return fail(err, -EINVAL, "\"%s\": NAME=PATH is expected", guests[i]);
		ret = list_under(o, path + 1, err);
	}
	return ret;
}

static int list_paths(struct opening *o, const char *const *paths, unsigned nr, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < nr && ret >= 0; i++) {
		ret = list_run(o, paths[i], err);
		if (!ret)
			ret = list_under(o, paths[i], err);
	}
	return ret < 0 ? ret : 0;
}

/* In an order of their own, so that what is told of them has the same order whoever lists them. */
static int list_all(struct opening *o, const struct sonde_inputs *told, struct error *err)
{
	const char **paths = inputs_sorted(told->paths, told->nr_paths);
	const char **guests = inputs_sorted(told->guests, told->nr_guests);
	int ret = paths && guests ? 0 : fail(err, -ENOMEM, "out of memory");

	if (!ret)
		ret = list_paths(o, paths, told->nr_paths, err);
	if (!ret)
		ret = list_guests(o, guests, told->nr_guests, err);
	free(paths);
	free(guests);
	return ret;
}

static void open_one(void *data, unsigned i)
{
	struct candidate *c = &((struct opening *)data)->list[i];

	c->ret = trace_open(&c->trace, c->path, &c->why);
}

static void opening_release(struct opening *o)
{
	for (unsigned i = 0; i < o->nr; i++) {
		trace_release(o->list[i].trace);
		free(o->list[i].path);
	}
	free(o->list);
}

int inputs_open_traces(struct inputs *in, const struct sonde_inputs *told,
		       const struct sonde_watcher *watcher, struct error *err)
{
	struct opening o = {.in = in, .watcher = watcher};
	int ret = list_all(&o, told, err);

	in->threads = inputs_workers(told) + 1;
	if (!ret) /* reading metadata takes milliseconds per trace: much of a small run's time */
		parallel(in->threads < OPENERS_MAX ? in->threads : OPENERS_MAX, o.nr, NULL,
			 open_one, &o);
	for (unsigned i = 0; i < o.nr && !ret; i++)
		ret = keep_trace(&o, &o.list[i], err);
	if (!ret)
		ret = inputs_attach_folded(in, watcher, err);
	inputs_sort_traces(in);
	opening_release(&o);
	if (!ret && !in->nr_traces)
		ret = fail(err, -EINVAL, "no trace could be opened%s%s",
			   in->topology.problems.nr ? ": " : "",
			   in->topology.problems.nr ? in->topology.problems.list[0].text : "");
	return ret;
}
