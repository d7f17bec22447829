/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/inputs.h"
#include "lib/find.h"
#include "lib/inputs_within.h"
#include "base/arena.h"
#include "base/parallel.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULTS_TOLD 3 /* per trace */
#define OPENERS_MAX 8

bool watcher_progress(const struct sonde_watcher *w, const char *phase, double done)
{
	return !w || !w->progress || w->progress(phase, done, w->data);
}

void watcher_notice(const struct sonde_watcher *w, const char *fmt, ...)
{
	char text[768];
	va_list ap;

	if (!w || !w->notice)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->notice(text, w->data);
}

unsigned inputs_workers(const struct sonde_inputs *told)
{
	long nr = told->threads ? (long)told->threads : sysconf(_SC_NPROCESSORS_ONLN);

	return nr > 1 ? (unsigned)nr - 1 : 0;
}

/* ---- first and last event ------------------------------------------------------------------ */

/* The time of the last event of a stream: its last packet that has any is decoded.  1, 0 when
 * there is no event, or -ENOMEM; so is first_tick(). */
static int last_tick(struct stream *s, ticks_t *out)
{
	for (uint32_t p = s->nr_packets; p-- > 0;) {
		struct event events[64];
		struct cursor c;
		bool found = false;
		unsigned nr;
		int ret = cursor_init(&c, s, p, 1, 0, NULL);

		if (ret)
			return ret == -ENOMEM ? ret : 0;
		while ((nr = cursor_next(&c, events, ARRAY_SIZE(events)))) {
			*out = events[nr - 1].time;
			found = true;
		}
		cursor_release(&c);
		if (found)
			return 1;
	}
	return 0;
}

static int first_tick(struct stream *s, ticks_t *out)
{
	struct event event;
	struct cursor c;
	bool found;
	int ret = cursor_init(&c, s, 0, s->nr_packets, 0, NULL);

	if (ret)
		return ret == -ENOMEM ? ret : 0;
	found = cursor_next(&c, &event, 1) == 1;
	if (found)
		*out = event.time;
	cursor_release(&c);
	return found;
}

/* ---- opening traces ------------------------------------------------------------------------ */

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
	ret = first_tick(s, &first_event);
	if (ret > 0)
		ret = last_tick(s, &last_event);
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
		return 0;
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

static int list_all(struct opening *o, const struct sonde_inputs *told, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < told->nr_paths && ret >= 0; i++) {
		ret = list_run(o, told->paths[i], err);
		if (!ret)
			ret = list_under(o, told->paths[i], err);
	}
	if (ret < 0)
		return ret;
	ret = 0;
	for (unsigned i = 0; i < told->nr_guests && !ret; i++) {
		const char *path = strchr(told->guests[i], '=');

		if (!path || path == told->guests[i])
			return fail(err, -EINVAL, "\"%s\": NAME=PATH is expected", told->guests[i]);
		ret = list_under(o, path + 1, err);
	}
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
	opening_release(&o);
	if (!ret && !in->nr_traces)
		ret = fail(err, -EINVAL, "no trace could be opened%s%s",
			   in->topology.problems.nr ? ": " : "",
			   in->topology.problems.nr ? in->topology.problems.list[0].text : "");
	return ret;
}

/* ---- what the user says -------------------------------------------------------------------- */

/* "KEY=value": true when the part before '=' is @key. */
static const char *value_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(text, key, len) && text[len] == '=' ? text + len + 1 : NULL;
}

static bool is_under(const char *path, const char *dir)
{
	char real_path[PATH_MAX];
	char real_dir[PATH_MAX];
	size_t len;

	if (!realpath(path, real_path) || !realpath(dir, real_dir))
		return false;
	len = strlen(real_dir);
	return !strncmp(real_path, real_dir, len) && (!real_path[len] || real_path[len] == '/');
}

/* What manifests say of the traces.  What the user says comes later, and counts more. */
static void apply_runs(struct topology_input *list, unsigned nr, const struct inputs *in)
{
	for (unsigned r = 0; r < in->nr_runs; r++) {
		for (unsigned m = 0; m < in->runs[r].nr; m++) {
			const struct rundir_machine *machine = &in->runs[r].machines[m];

			for (unsigned i = 0; i < nr; i++) {
				if (!is_under(list[i].trace->path, machine->folder))
					continue;
				list[i].name = machine->name;
				list[i].parent = machine->parent ? machine->parent : "-";
				list[i].recorded = true;
				list[i].vm_pid = machine->vm_pid;
			}
		}
	}
}

static bool is_there(const struct topology_input *list, unsigned nr, const char *name)
{
	for (unsigned i = 0; i < nr; i++) {
		if (list[i].name && !strcmp(list[i].name, name))
			return true;
	}
	return false;
}

static void leave_out(struct inputs *in, struct topology_input *list, unsigned i)
{
	for (unsigned o = 0; o < in->nr_origins; o++) {
		if (in->origins[o].trace == in->traces[i])
			in->origins[o].trace = NULL;
	}
	trace_release(in->traces[i]);
	in->nr_traces--;
	memmove(&in->traces[i], &in->traces[i + 1], (in->nr_traces - i) * sizeof(*in->traces));
	memmove(&list[i], &list[i + 1], (in->nr_traces - i) * sizeof(*list));
}

/* Machines that were reached through one of which there is no trace: their times cannot be placed.
 */
static void leave_out_orphans(struct inputs *in, struct topology_input *list,
			      struct problems *problems, const struct sonde_watcher *watcher)
{
	for (unsigned i = 0; i < in->nr_traces;) {
		struct topology_input *orphan = &list[i];

		if (!orphan->recorded || !strcmp(orphan->parent, "-") ||
		    is_there(list, in->nr_traces, orphan->parent)) {
			i++;
			continue;
		}
		watcher_notice(watcher,
			       "%s is left out: it runs in %s, of which there is no trace, so its "
			       "times cannot be placed",
			       orphan->name, orphan->parent);
		problems_add(problems,
			     "%.60s is left out: it runs in %.60s, of which there is no trace, so "
			     "its times cannot be placed",
			     orphan->name, orphan->parent);
		leave_out(in, list, i);
		i = 0; /* others may have been inside it */
	}
}

/* Manifests know a machine by the name that they gave it. */
static void rename_parent(struct topology_input *list, unsigned nr, const char *old,
			  const char *name)
{
	for (unsigned i = 0; i < nr && old; i++) {
		if (list[i].recorded && !strcmp(list[i].parent, old))
			list[i].parent = name;
	}
}

/* A name the user gave needs no '=' to be cut off: it lives as long as the caller's strings, so
 * it is copied into @names. */
static int apply_names(struct topology_input *list, unsigned nr, const struct sonde_inputs *told,
		       struct arena *names, struct error *err)
{
	for (unsigned g = 0; g < told->nr_guests; g++) {
		const char *equals = strchr(told->guests[g], '='), *old;

		for (unsigned i = 0; i < nr; i++) {
			if (!is_under(list[i].trace->path, equals + 1))
				continue;
			old = list[i].name;
			list[i].name = arena_strndup(names, told->guests[g],
						     (size_t)(equals - told->guests[g]));
			if (!list[i].name)
				return fail(err, -ENOMEM, "out of memory");
			rename_parent(list, nr, old, list[i].name);
		}
	}
	return 0;
}

/* The trace that a user calls @name: by --guest, else by its host name. */
static struct topology_input *find_named(struct topology_input *list, unsigned nr,
					 const char *option)
{
	for (unsigned i = 0; i < nr; i++) {
		if (list[i].name ? value_of(option, list[i].name) != NULL
				 : value_of(option, list[i].trace->hostname) != NULL)
			return &list[i];
	}
	return NULL;
}

static int no_such_machine(const char *what, const char *option, struct error *err)
{
	return fail(err, -EINVAL,
		    "%s %s: no trace has that name; host names are used, or --guest NAME=PATH "
		    "gives a name",
		    what, option);
}

static int apply_parents(struct topology_input *list, unsigned nr, const struct sonde_inputs *told,
			 struct error *err)
{
	for (unsigned p = 0; p < told->nr_parents; p++) {
		struct topology_input *child = find_named(list, nr, told->parents[p]);

		if (!child)
			return no_such_machine("--parent", told->parents[p], err);
		child->parent = strchr(told->parents[p], '=') + 1;
		child->recorded = false;
	}
	return 0;
}

static int apply_offsets(struct topology_input *list, unsigned nr, const struct sonde_inputs *told,
			 struct error *err)
{
	for (unsigned p = 0; p < told->nr_tsc_offsets; p++) {
		struct topology_input *machine = find_named(list, nr, told->tsc_offsets[p]);
		const char *number;
		char *end;

		if (!machine)
			return no_such_machine("--tsc-offset", told->tsc_offsets[p], err);
		number = strchr(told->tsc_offsets[p], '=') + 1;
		errno = 0;
		machine->tsc_offset = strtoll(number, &end, 0);
		/* KVM's debugfs prints the offset unsigned or signed, as it likes. */
		if (errno == ERANGE && *number != '-') {
			errno = 0;
			machine->tsc_offset = (int64_t)strtoull(number, &end, 0);
		}
		if (errno || end == number || *end)
			return fail(err, -EINVAL, "--tsc-offset %s: NAME=CYCLES is expected",
				    told->tsc_offsets[p]);
		machine->has_tsc_offset = true;
	}
	return 0;
}

/* ---- topology and streams ------------------------------------------------------------------ */

static bool topology_progress(double done, void *data)
{
	return watcher_progress(data, "aligning clocks", done);
}

/* The topology of all traces that can be placed.  @problems: what was wrong before it is known. */
static int place(struct inputs *in, const struct sonde_inputs *told, struct problems *problems,
		 const struct sonde_watcher *watcher, struct error *err)
{
	struct topology_input *list = calloc(in->nr_traces, sizeof(*list));
	struct topology_options opt = {
		.threads = told->threads,
		.tsc_khz = told->tsc_khz,
		.progress = topology_progress,
		.progress_data = (void *)(uintptr_t)watcher,
	};
	struct arena names = {0};
	int ret = list ? 0 : fail(err, -ENOMEM, "out of memory");

	memset(&in->topology, 0, sizeof(in->topology));
	for (unsigned i = 0; i < in->nr_traces && !ret; i++)
		list[i].trace = in->traces[i];
	if (!ret) {
		apply_runs(list, in->nr_traces, in);
		inputs_apply_origins(list, in->nr_traces, in);
	}
	if (!ret)
		ret = apply_names(list, in->nr_traces, told, &names, err);
	if (!ret)
		ret = apply_parents(list, in->nr_traces, told, err);
	if (!ret)
		ret = apply_offsets(list, in->nr_traces, told, err);
	if (!ret)
		leave_out_orphans(in, list, problems, watcher);
	if (!ret && !in->nr_traces)
		ret = fail(err, -EINVAL,
			   "every trace is of a machine that runs in one of which there "
			   "is none: nothing can be placed");
	if (!ret)
		ret = topology_find(&in->topology, list, in->nr_traces, &opt, err);
	while (ret == -EXDEV && in->nr_traces > 1) {
		watcher_notice(watcher, "%s", err->text);
		problems_add(problems, "%s", err->text);
		leave_out(in, list, in->topology.orphan);
		ret = topology_find(&in->topology, list, in->nr_traces, &opt, err);
	}
	arena_release(&names);
	free(list);
	return ret;
}

/* ---- guests within their hosts' traces ------------------------------------------------------- */

/* What guests sent must not keep their host from being seen. */
static int place_without(struct inputs *in, const struct sonde_inputs *told,
			 struct problems *problems, const struct sonde_watcher *watcher,
			 struct error *err)
{
	problems_add(problems, "what guests sent by hypercall is left out: %s", err->text);
	watcher_notice(watcher, "what guests sent by hypercall is left out: %s", err->text);
	inputs_drop_guests(in);
	return place(in, told, problems, watcher, err);
}

static int leave_out_doubles(struct inputs *in, const struct sonde_inputs *told,
			     struct problems *problems, const struct sonde_watcher *watcher,
			     struct error *err)
{
	int ret = inputs_drop_doubles(in, problems);

	if (ret < 0)
		return fail(err, ret, "out of memory");
	return ret ? place(in, told, problems, watcher, err) : 0;
}

static int look_within(struct inputs *in, const struct sonde_inputs *told, enum inputs_within how,
		       struct problems *problems, const struct sonde_watcher *watcher,
		       struct error *err)
{
	int ret = inputs_find_guests(in, how, watcher, err);

	if (ret <= 0)
		return ret;
	topology_release(&in->topology);
	ret = place(in, told, problems, watcher, err);
	if (ret && ret != -ENOMEM && ret != -EINTR)
		ret = place_without(in, told, problems, watcher, err);
	return ret;
}

static int find_topology(struct inputs *in, const struct sonde_inputs *told,
			 enum inputs_within within, const struct sonde_watcher *watcher,
			 struct error *err)
{
	struct problems problems = in->topology.problems;
	int ret = place(in, told, &problems, watcher, err);

	if (!ret)
		ret = look_within(in, told, within, &problems, watcher, err);
	if (!ret)
		ret = leave_out_doubles(in, told, &problems, watcher, err);
	/* What was wrong before the topology was known belongs to it, too. */
	for (unsigned i = 0; i < problems.nr && !ret; i++)
		(problems.list[i].note ? problems_note : problems_add)(
			&in->topology.problems, "%s", problems.list[i].text);
	if (ret && !in->topology.problems.nr)
		in->topology.problems = problems;
	else
		problems_release(&problems);
	return ret;
}

int inputs_list_streams(struct inputs *in, struct error *err)
{
	unsigned nr = 0;

	for (unsigned m = 0; m < in->topology.nr_machines; m++)
		nr += in->topology.machines[m].trace->nr_streams;
	in->streams = calloc(nr + 1, sizeof(*in->streams));
	if (!in->streams)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned m = 0; m < in->topology.nr_machines; m++) {
		const struct machine *machine = &in->topology.machines[m];

		in->len_bytes += machine->trace->len_bytes;
		for (unsigned s = 0; s < machine->trace->nr_streams; s++)
			in->streams[in->nr_streams++] = (struct merge_input){
				.stream = &machine->trace->streams[s],
				.machine = m,
				.clock = &machine->clock,
			};
	}
	return 0;
}

static void tell_faults_of(const struct trace *t, const struct sonde_watcher *watcher)
{
	unsigned told = 0;
	unsigned more = 0;

	for (unsigned p = 0; p < t->problems.nr; p++) {
		if (t->problems.list[p].note)
			continue;
		if (told < FAULTS_TOLD) {
			watcher_notice(watcher, "%s", t->problems.list[p].text);
			told++;
		} else {
			more++;
		}
	}
	if (more)
		watcher_notice(watcher, "%s: %u more of such; sonde check lists them", t->path,
			       more);
}

/* What is broken or missing in the traces themselves: it may be why the rest of the work fails, or
 * why its result is not what is expected. */
static void tell_faults(const struct inputs *in, const struct sonde_watcher *watcher)
{
	for (unsigned i = 0; i < in->nr_traces; i++) {
		for (const struct trace *t = in->traces[i]; t; t = t->part)
			tell_faults_of(t, watcher);
	}
}

int inputs_open(struct inputs *in, const struct sonde_inputs *told, enum inputs_within within,
		const struct sonde_watcher *watcher, struct error *err)
{
	int ret;

	memset(in, 0, sizeof(*in));
	in->within = within;
	watcher_progress(watcher, "opening traces", 0);
	ret = inputs_open_traces(in, told, watcher, err);
	if (!ret)
		ret = find_topology(in, told, within, watcher, err);
	tell_faults(in, watcher);
	if (!ret && !watcher_progress(watcher, "aligning clocks", 1))
		ret = fail(err, -EINTR, "interrupted before anything was fused");
	if (!ret)
		ret = inputs_list_streams(in, err);
	if (ret)
		inputs_release(in);
	return ret;
}

/* What takes time is to unmap the files. */
static void release_one(void *data, unsigned i)
{
	trace_release(((struct inputs *)data)->traces[i]);
}

void inputs_release(struct inputs *in)
{
	free(in->streams);
	topology_release(&in->topology);
	parallel(in->threads, in->nr_traces, NULL, release_one, in);
	free(in->traces);
	free(in->origins);
	for (unsigned i = 0; i < in->nr_runs; i++)
		rundir_release(&in->runs[i]);
	free(in->runs);
	memset(in, 0, sizeof(*in));
}

/* ---- span ---------------------------------------------------------------------------------- */

int inputs_span(const struct inputs *in, ns_t *begin, ns_t *end)
{
	bool any = false;

	for (unsigned i = 0; i < in->nr_streams; i++) {
		const struct merge_input *s = &in->streams[i];
		ticks_t first, last;
		ns_t from, to;
		int ret = first_tick(s->stream, &first);

		if (ret > 0)
			ret = last_tick(s->stream, &last);
		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		from = clock_to_l0(s->clock, first);
		to = clock_to_l0(s->clock, last) + 1;
		*begin = any && *begin < from ? *begin : from;
		*end = any && *end > to ? *end : to;
		any = true;
	}
	return any ? 0 : -ENODATA;
}
