/* SPDX-License-Identifier: Apache-2.0 */
/* The files of what was told: found, opened, and those that are copies or parts of others settled.
 */
#include "libsonde/inputs/inputs.h"
#include "base/parallel.h"
#include "libsonde/inputs/find.h"
#include "libsonde/inputs/inputs_order.h"
#include "libsonde/inputs/inputs_place.h"
#include "libsonde/inputs/inputs_user.h"
#include "libsonde/inputs/inputs_within.h"
#include "source/span.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
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

/* What tells one stream of a trace from another, and from another part of the same. */
struct mark {
	const char *buffer;
	int cpu;
	uint64_t first, last; /* ticks */
	uint64_t packets, len_bytes;
	bool empty; /* nothing in it tells */
};

/* One of several that say to be the same trace. */
struct member {
	struct trace *trace; /* owned */
	char *real_path;     /* owned; NULL: there is none any more */
	struct mark *marks;  /* owned: of its streams */
};

struct group {
	struct member *members; /* owned */
	unsigned nr;
};

struct opening {
	struct inputs *in;
	const struct sonde_inputs *told;
	const struct sonde_watcher *watcher;
	struct candidate *list; /* owned */
	unsigned nr;
	struct group *groups; /* owned */
	unsigned nr_groups;
	bool no_memory;	 /* to list what is left out */
	char first[512]; /* what was to be told first, and is not yet; "" nothing */
};

static bool is_zero(const uint8_t uuid[16])
{
	static const uint8_t zero[16];

	return !memcmp(uuid, zero, sizeof(zero));
}

static bool same_file(const struct member *a, const struct member *b)
{
	return a->real_path && b->real_path && !strcmp(a->real_path, b->real_path);
}

static bool same_id(const struct trace *a, const struct trace *b)
{
	if (a->format != b->format)
		return false;
	return (a->trace_id && a->trace_id == b->trace_id) ||
	       (!is_zero(a->uuid) && !memcmp(a->uuid, b->uuid, sizeof(a->uuid)));
}

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
		out->empty = !last;
		for (uint32_t i = 0; i < s->nr_packets; i++)
			out->len_bytes += s->packets[i].len_bytes;
		return 0;
	}
	ret = stream_first_tick(s, &first_event);
	out->empty = !ret;
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

static int make_marks(struct member *m)
{
	int ret = 0;

	m->marks = calloc(m->trace->nr_streams + 1, sizeof(*m->marks));
	if (!m->marks)
		return -ENOMEM;
	for (unsigned i = 0; i < m->trace->nr_streams && !ret; i++)
		ret = make_mark(&m->trace->streams[i], &m->marks[i]);
	return ret;
}

/* Of those with something in them: streams without are all alike, and prove nothing. */
static unsigned count_twins(const struct member *of, const struct member *in, unsigned *nr_full)
{
	unsigned twins = 0;

	*nr_full = 0;
	for (unsigned i = 0; i < of->trace->nr_streams; i++) {
		if (of->marks[i].empty)
			continue;
		++*nr_full;
		twins += has_twin(&of->marks[i], in->marks, in->trace->nr_streams);
	}
	return twins;
}

static bool same_content(const struct member *a, const struct member *b)
{
	unsigned full_a, full_b;
	unsigned twins_a = count_twins(a, b, &full_a);
	unsigned twins_b = count_twins(b, a, &full_b);

	return (twins_a || twins_b) && twins_a == full_a && twins_b == full_b;
}

/* ---- copies and parts ---------------------------------------------------------------------- */

/* The first is kept: where no trace can be opened it is the reason, and is said as that only. */
static void say(struct opening *o, const char *text)
{
	if (*o->first)
		watcher_notice(o->watcher, "%s", text);
	else
		snprintf(o->first, sizeof(o->first), "%s", text);
}

static void tell(struct opening *o, bool note, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void tell(struct opening *o, bool note, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (note) {
		problems_note(&o->in->topology.problems, "%s", text);
		return;
	}
	say(o, text);
	problems_add(&o->in->topology.problems, "%s", text);
}

static void member_release(struct member *m)
{
	trace_release(m->trace);
	free(m->real_path);
	free(m->marks);
	memset(m, 0, sizeof(*m));
}

/* A copy's name tends to say that it is one. */
static bool is_plainer(const char *a, const char *b)
{
	size_t len_a = strlen(a), len_b = strlen(b);

	return len_a != len_b ? len_a < len_b : strcmp(a, b) < 0;
}

static void drop_one(struct opening *o, struct member *old, struct member *new)
{
	bool same_path = !strcmp(old->trace->path, new->trace->path);
	struct member dropped = *new;

	if (is_plainer(new->trace->path, old->trace->path)) {
		dropped = *old;
		*old = *new;
	}
	if (!same_path)
		tell(o, false, "%s and %s are the same trace; the first is used", old->trace->path,
		     dropped.trace->path);
	member_release(&dropped);
}

/* 1 when @m has been dealt with, 0: it is new there. */
static int settle_with(struct opening *o, struct group *g, struct member *m)
{
	for (unsigned i = 0; i < g->nr; i++) {
		struct member *other = &g->members[i];

		if (same_file(m, other) ||
		    (same_id(m->trace, other->trace) && same_content(m, other))) {
			drop_one(o, other, m);
			return 1;
		}
	}
	return 0;
}

static struct group *group_of(struct opening *o, const struct member *m)
{
	struct group *grown;

	for (unsigned i = 0; i < o->nr_groups; i++) {
		const struct member *first = &o->groups[i].members[0];

		if (same_id(first->trace, m->trace) || same_file(first, m))
			return &o->groups[i];
	}
	grown = reallocarray(o->groups, o->nr_groups + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	o->groups = grown;
	grown[o->nr_groups] = (struct group){0};
	return &grown[o->nr_groups++];
}

/* @m becomes the group's, or goes. */
static int add_member(struct opening *o, struct member *m)
{
	struct group *g = group_of(o, m);
	struct member *grown;

	if (!g || make_marks(m))
		return -ENOMEM;
	if (settle_with(o, g, m))
		return 0;
	grown = reallocarray(g->members, g->nr + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	g->members = grown;
	g->members[g->nr++] = *m;
	return 0;
}

/* -ENOMEM. */
static int leave_out(struct opening *o, const char *name, const char *path, const char *why)
{
	tell(o, false, "%s; this trace is left out", why);
	return inputs_note_left_out(o->in, name, path, why);
}

static int keep_trace(struct opening *o, struct candidate *c, struct error *err)
{
	struct member m = {.trace = c->trace};

	if (!m.trace && c->ret == -ENOMEM)
		return fail(err, -ENOMEM, "out of memory opening %s", c->path);
	if (!m.trace) {
		int ret = leave_out(o, "", c->path, c->why.text);

		return ret ? fail(err, ret, "out of memory") : 0;
	}
	c->trace = NULL;
	m.real_path = realpath(c->path, NULL);
	if (add_member(o, &m)) {
		member_release(&m);
		return fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* The one that knows most kinds of events comes first: it describes the others. */
static int by_knowledge(const void *a, const void *b)
{
	const struct trace *trace_a = ((const struct member *)a)->trace;
	const struct trace *trace_b = ((const struct member *)b)->trace;

	if (trace_a->nr_types != trace_b->nr_types)
		return trace_a->nr_types > trace_b->nr_types ? -1 : 1;
	if (!trace_a->nr_streams != !trace_b->nr_streams)
		return trace_a->nr_streams ? -1 : 1;
	return strcmp(trace_a->path, trace_b->path);
}

/* @m goes; why is a sentence about it and @other.  -ENOMEM. */
static int drop_beside(struct opening *o, struct member *m, const char *does,
		       const struct member *other, const char *so)
{
	char why[512];
	int ret;

	snprintf(why, sizeof(why), "%.200s %s %.200s%s", m->trace->path, does, other->trace->path,
		 so);
	ret = leave_out(o, m->trace->hostname, m->trace->path, why);
	member_release(m);
	return ret;
}

/* A part of a session may have no event; one whose stream files cannot be used goes.  -ENOMEM. */
static int drop_unusable(struct opening *o, struct group *g)
{
	unsigned kept = 1, nr = g->nr;
	int ret = 0;

	for (unsigned i = 1; i < nr && !ret; i++) {
		struct member m = g->members[i];
		struct error why = {0};

		g->members[i] = (struct member){0};
		if (!m.trace->loss.unknown || !trace_has_streams(m.trace, &why)) {
			g->members[kept++] = m;
			continue;
		}
		ret = leave_out(o, m.trace->hostname, m.trace->path, why.text);
		member_release(&m);
	}
	g->nr = ret ? nr : kept;
	return ret;
}

/* Those that are no part of the first, whatever they say, go.  -ENOMEM. */
static int drop_strangers(struct opening *o, struct group *g)
{
	unsigned kept = 1, nr = g->nr;
	int ret = 0;

	for (unsigned i = 1; i < nr && !ret; i++) {
		struct member m = g->members[i];

		g->members[i] = (struct member){0};
		if (trace_has_part(g->members[0].trace, m.trace))
			g->members[kept++] = m;
		else
			ret = drop_beside(o, &m, "says to be of the same trace as", &g->members[0],
					  ", but its clock, machine or events differ");
	}
	g->nr = ret ? nr : kept;
	return ret;
}

/* The time that its streams cover, of all CPUs together. */
static double covered(const struct member *m)
{
	double sum = 0;

	for (unsigned i = 0; i < m->trace->nr_streams; i++)
		sum += (double)m->marks[i].last - (double)m->marks[i].first;
	return sum;
}

/* A CPU writes into a buffer once: two streams of one time have the same events. */
static bool repeats(const struct member *a, const struct member *b)
{
	for (unsigned i = 0; i < a->trace->nr_streams; i++) {
		const struct mark *x = &a->marks[i];

		for (unsigned k = 0; k < b->trace->nr_streams && !x->empty; k++) {
			const struct mark *y = &b->marks[k];

			if (!y->empty && x->cpu == y->cpu && x->first <= y->last &&
			    y->first <= x->last && !strcmp(x->buffer, y->buffer))
				return true;
		}
	}
	return false;
}

static int by_cover(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	double of_x = covered(x), of_y = covered(y);

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return is_plainer(x->trace->path, y->trace->path) ? -1 : 1;
}

/* A copy that is cut short, or that lacks streams, would count twice: the larger is kept. */
static int drop_repeats(struct opening *o, struct group *g)
{
	unsigned kept = 0, nr = g->nr;
	int ret = 0;

	qsort(g->members, nr, sizeof(*g->members), by_cover);
	for (unsigned i = 0; i < nr && !ret; i++) {
		struct member m = g->members[i];
		unsigned k = 0;

		while (k < kept && !repeats(&g->members[k], &m))
			k++;
		g->members[i] = (struct member){0};
		if (k == kept)
			g->members[kept++] = m;
		else
			ret = drop_beside(o, &m, "has events of", &g->members[k],
					  " once more: it is a copy of a part");
	}
	g->nr = ret ? nr : kept;
	return ret;
}

/* Of formats whose parts stay traces of their own. */
static int join_streams(struct group *g, struct error *err)
{
	for (unsigned i = 1; i < g->nr; i++) {
		int ret = trace_join(g->members[0].trace, g->members[i].trace, err);

		if (ret)
			return ret;
		g->members[i].trace = NULL;
	}
	return 0;
}

/* Of formats in which a stream's packets may be in several directories: opened again as one. */
static int open_together(struct group *g, struct error *err)
{
	const char **paths = calloc(g->nr, sizeof(*paths));
	struct trace *whole = NULL;
	int ret;

	if (!paths)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < g->nr; i++)
		paths[i] = g->members[i].trace->path;
	ret = trace_open_parts(&whole, paths, g->nr, err);
	free(paths);
	if (ret)
		return ret;
	for (unsigned i = 0; i < g->nr; i++)
		member_release(&g->members[i]);
	g->members[0].trace = whole;
	return 0;
}

static int join_parts(struct opening *o, struct group *g, struct error *err)
{
	qsort(g->members, g->nr, sizeof(*g->members), by_knowledge);
	if (drop_unusable(o, g) || drop_strangers(o, g) ||
	    (!g->members[0].trace->ops->takes_parts && drop_repeats(o, g)))
		return fail(err, -ENOMEM, "out of memory");
	qsort(g->members, g->nr, sizeof(*g->members), by_knowledge);
	if (g->nr == 2)
		tell(o, true, "%s and %s are parts of one trace: used together",
		     g->members[0].trace->path, g->members[1].trace->path);
	else if (g->nr > 2)
		tell(o, true, "%s and %u others are parts of one trace: used together",
		     g->members[0].trace->path, g->nr - 1);
	if (g->nr == 1)
		return 0;
	return g->members[0].trace->ops->takes_parts ? open_together(g, err) : join_streams(g, err);
}

/* A part of a session may have no event, but not all of it. */
static int keep_whole(struct opening *o, struct member *m, struct error *err)
{
	struct error why = {0};
	int ret;

	if (trace_has_streams(m->trace, &why)) {
		ret = leave_out(o, m->trace->hostname, m->trace->path, why.text);
		return ret ? fail(err, ret, "out of memory") : 0;
	}
	o->in->traces[o->in->nr_traces++] = m->trace;
	m->trace = NULL;
	return 0;
}

/* One trace of each group. */
static int keep_groups(struct opening *o, struct error *err)
{
	struct inputs *in = o->in;
	int ret = 0;

	in->traces = calloc(o->nr_groups + 1, sizeof(*in->traces));
	if (!in->traces)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < o->nr_groups && !ret; i++) {
		struct group *g = &o->groups[i];

		ret = g->nr > 1 ? join_parts(o, g, err) : 0;
		if (!ret)
			ret = keep_whole(o, &g->members[0], err);
	}
	return ret;
}

/* Says what has become known since there were @told problems. */
static void tell_new(struct opening *o, unsigned told)
{
	const struct problems *problems = &o->in->topology.problems;

	for (; told < problems->nr; told++)
		say(o, problems->list[told].text);
}

/* Several operands may have led to it. */
static bool is_left_out(const struct inputs *in, const char *path)
{
	for (unsigned i = 0; i < in->nr_left_out; i++) {
		if (!strcmp(in->left_out[i].path, path))
			return true;
	}
	return false;
}

static void leave_out_suspect(const char *path, const char *text, void *data)
{
	struct opening *o = data;

	if (is_left_out(o->in, path))
		return;
	tell(o, false, "%s", text);
	if (inputs_note_left_out(o->in, "", path, text))
		o->no_memory = true;
}

static int list_run(struct opening *o, const char *path, struct error *err);

/* A recording among what is searched for traces: as if it had been given by itself. */
static int list_found_run(const char *path, void *data)
{
	struct error why = {0};

	return list_run(data, path, &why);
}

/* @runs: what manifests below it say counts. */
static int list_under(struct opening *o, const char *path, bool runs, struct error *err)
{
	const struct find_watcher watcher = {leave_out_suspect, runs ? list_found_run : NULL, o};
	struct candidate *grown;
	char **list;
	int nr = find_traces(path, &watcher, &list, err);
	int ret = 0;

	if (nr < 0)
		return nr;
	if (o->no_memory)
		ret = -ENOMEM;
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

/* A machine whose trace cannot be found costs only itself; it is one that was given, and is left
 * out. */
static int list_machine(struct opening *o, const struct rundir_machine *m, struct error *err)
{
	struct problems *problems = &o->in->topology.problems;
	struct error why = {0};
	int ret = list_under(o, m->folder, false, &why); /* tells of its own problems */
	unsigned told = problems->nr;

	if (!ret)
		return 0;
	if (ret == -ENOMEM)
		return fail(err, ret, "%s", why.text);
	problems_add(problems, "%.60s: %.180s", m->name, why.text);
	tell_new(o, told);
	if (is_left_out(o->in, m->folder))
		return 0;
	ret = inputs_note_left_out(o->in, m->name, m->folder, why.text);
	return ret ? fail(err, ret, "out of memory") : 0;
}

static bool is_of_machine(const struct rundir *run, const char *path)
{
	for (unsigned i = 0; i < run->nr; i++) {
		size_t len = strlen(run->machines[i].folder);

		if (!strncmp(path, run->machines[i].folder, len) &&
		    (!path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

static bool is_one_path(const char *a, const char *b)
{
	char real_a[PATH_MAX], real_b[PATH_MAX];

	return realpath(a, real_a) && realpath(b, real_b) && !strcmp(real_a, real_b);
}

static bool is_named(const struct sonde_inputs *told, const char *path)
{
	bool named = false;

	for (unsigned i = 0; i < told->nr_paths && !named; i++)
		named = is_one_path(told->paths[i], path);
	for (unsigned i = 0; i < told->nr_guests && !named; i++) {
		const char *equals = strchr(told->guests[i], '=');

		named = equals && is_one_path(equals + 1, path);
	}
	return named;
}

/* Traces in a run directory of which its manifest knows nothing. */
static int leave_out_unlisted(struct opening *o, const char *path, const struct rundir *run)
{
	char **list;
	int nr = find_traces(path, NULL, &list, NULL);

	for (int i = 0; i < nr; i++) {
		char text[512];

		if (is_of_machine(run, list[i]) || is_named(o->told, list[i]))
			continue;
		snprintf(
			text, sizeof(text),
			"%s is in no folder that the manifest beside it lists; it is left out: name "
			"it, too, if it belongs there",
			list[i]);
		leave_out_suspect(list[i], text, o);
	}
	if (nr >= 0)
		free(list);
	return nr == -ENOMEM || o->no_memory ? -ENOMEM : 0;
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
	if (!ret && leave_out_unlisted(o, path, &run))
		ret = fail(err, -ENOMEM, "out of memory");
	return ret ? ret : 1;
}

static int list_guests(struct opening *o, const char *const *guests, unsigned nr, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < nr && !ret; i++) {
		const char *path = strchr(guests[i], '=');

		if (!path || path == guests[i])
			return fail(err, -EINVAL, "\"%s\": NAME=PATH is expected", guests[i]);
		ret = list_under(o, path + 1, false, err);
	}
	return ret;
}

/* Of several paths, what is no trace is left out, like a trace that cannot be opened. */
static int list_paths(struct opening *o, const char *const *paths, unsigned nr, struct error *err)
{
	struct error why = {0};
	int ret = 0;

	for (unsigned i = 0; i < nr && ret >= 0; i++) {
		ret = list_run(o, paths[i], &why);
		if (!ret)
			ret = list_under(o, paths[i], true, &why);
		if (ret == -EINVAL && nr > 1) {
			leave_out_suspect(paths[i], why.text, o);
			ret = o->no_memory ? fail(&why, -ENOMEM, "out of memory") : 0;
		}
	}
	return ret < 0 ? fail(err, ret, "%s", why.text) : 0;
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

	const char *path = c->path;

	c->ret = trace_open_parts(&c->trace, &path, 1, &c->why);
}

static void opening_release(struct opening *o)
{
	for (unsigned i = 0; i < o->nr; i++) {
		trace_release(o->list[i].trace);
		free(o->list[i].path);
	}
	free(o->list);
	for (unsigned i = 0; i < o->nr_groups; i++) {
		for (unsigned k = 0; k < o->groups[i].nr; k++)
			member_release(&o->groups[i].members[k]);
		free(o->groups[i].members);
	}
	free(o->groups);
}

int inputs_open_traces(struct inputs *in, const struct sonde_inputs *told,
		       const struct sonde_watcher *watcher, struct error *err)
{
	struct opening o = {.in = in, .told = told, .watcher = watcher};
	int ret = list_all(&o, told, err);

	in->threads = inputs_workers(told) + 1;
	if (!ret) /* reading metadata takes milliseconds per trace: much of a small run's time */
		parallel(in->threads < OPENERS_MAX ? in->threads : OPENERS_MAX, o.nr, NULL,
			 open_one, &o);
	for (unsigned i = 0; i < o.nr && !ret; i++)
		ret = keep_trace(&o, &o.list[i], err);
	if (!ret)
		ret = keep_groups(&o, err);
	if (!ret)
		ret = inputs_attach_folded(in, watcher, err);
	inputs_sort_traces(in);
	if (!ret && inputs_set_users_apart(in))
		ret = fail(err, -ENOMEM, "out of memory");
	opening_release(&o);
	if (!ret && !in->nr_traces)
		return fail(err, -EINVAL, "no trace could be opened%s%.*s", *o.first ? ": " : "",
			    find_reason_len(o.first), o.first);
	if (*o.first)
		watcher_notice(watcher, "%s", o.first);
	return ret;
}
