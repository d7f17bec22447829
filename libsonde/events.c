/* SPDX-License-Identifier: Apache-2.0 */
/* The merged stream of events, filtered. */
#include "query/query.h"
#include "libsonde/coverage.h"
#include "libsonde/events.h"
#include "base/figure.h"
#include "base/text.h"
#include "events/rows.h"
#include "libsonde/event_marks.h"
#include "libsonde/inputs/inputs_run.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which of a trace's event types are wanted. */
struct filter {
	const struct trace *trace;
	bool *wanted; /* owned */
};

struct sonde_events {
	struct inputs inputs;
	unsigned workers;
	ns_t begin, end; /* of all */

	/* Filters. */
	struct filter *filters; /* owned */
	unsigned nr_filters;
	bool names_given;
	bool marks_wanted;
	bool *machines; /* owned: per machine */
	bool machines_given;
	uint64_t cpus[TRACE_CPUS_MAX / 64];
	bool cpus_given;
	ns_t from, to;

	/* The stream. */
	struct merge_input *all; /* owned: every stream; inputs has those that are wanted */
	unsigned nr_all;
	struct merge *merge;
	struct run run;
	unsigned at;		   /* next event of the run */
	const struct event *event; /* the current one */
	struct event_marks marks;
	struct event_mark mark;
	bool is_mark; /* the current one is @mark */
	bool ended;
	struct sonde_watcher watcher;
	unsigned batches; /* read: at every so many of them the watcher is asked */
};

#define BATCHES_PER_QUESTION 64

/* ---- opening ------------------------------------------------------------------------------- */

static int add_filter(struct sonde_events *e, const struct trace *t)
{
	struct filter *f = &e->filters[e->nr_filters];

	*f = (struct filter){t, calloc(t->nr_types + 1, sizeof(*f->wanted))};
	e->nr_filters++;
	return f->wanted ? 0 : -ENOMEM;
}

/* One for each machine, at its place, and behind them those of user space. */
static int make_filters(struct sonde_events *e, struct error *err)
{
	const struct topology *topo = &e->inputs.topology;
	unsigned room = topo->nr_machines;
	int ret = 0;

	for (unsigned m = 0; m < topo->nr_machines; m++)
		room += topo->machines[m].trace->nr_parts;
	e->filters = calloc(room + 1, sizeof(*e->filters));
	e->machines = calloc(topo->nr_machines, sizeof(*e->machines));
	if (!e->filters || !e->machines)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned m = 0; m < topo->nr_machines && !ret; m++)
		ret = add_filter(e, topo->machines[m].trace);
	for (unsigned m = 0; m < topo->nr_machines && !ret; m++) {
		const struct trace *t = topo->machines[m].trace;

		for (unsigned p = 0; p < t->nr_parts && !ret; p++) {
			if (t->parts[p]->user_space)
				ret = add_filter(e, t->parts[p]);
		}
	}
	return ret ? fail(err, ret, "out of memory") : 0;
}

/* Of the trace whose types a stream's events have: its machine's, or user space's own. */
static const struct filter *filter_of(const struct sonde_events *e, const struct merge_input *s)
{
	for (unsigned i = e->inputs.topology.nr_machines;
	     s->stream->trace->user_space && i < e->nr_filters; i++) {
		if (e->filters[i].trace == s->stream->trace)
			return &e->filters[i];
	}
	return &e->filters[s->machine];
}

/* What is left to do when e->inputs are open, which said @ret and @inner; e is the caller's only
 * when all went well. */
static int finish_open(struct sonde_events **out, struct sonde_events *e, int ret,
		       struct error *inner, struct sonde_error *err)
{
	if (!ret)
		ret = make_filters(e, inner);
	if (!ret)
		ret = inputs_span(&e->inputs, &e->begin, &e->end);
	if (ret && !inner->code)
		fail(inner, ret, "%s",
		     ret == -ENOMEM ? "out of memory" : "the traces hold no events");
	e->from = e->begin;
	e->to = e->end;
	if (ret) {
		sonde_events_close(e);
		return query_error(err, ret, inner);
	}
	*out = e;
	return 0;
}

static void notice(const char *text, void *data)
{
	watcher_notice(data, "%s", text);
}

/* A stream that is not there, or ends early, has no event that says so. */
static int say_uncovered(const struct inputs *in, const struct sonde_watcher *watcher)
{
	int ret = 0;

	for (unsigned i = 0; i < in->nr_traces && watcher && !ret; i++)
		ret = coverage_tell(in->traces[i], notice, (void *)watcher);
	return ret;
}

static int events_open(struct sonde_events **out, const struct sonde_inputs *told,
		       const struct sonde_watcher *watcher, struct sonde_error *err)
{
	struct sonde_events *e = calloc(1, sizeof(*e));
	struct error inner = {0};
	int ret;

	*out = NULL;
	if (!e)
		return query_error(err, fail(&inner, -ENOMEM, "out of memory"), &inner);
	e->workers = inputs_workers(told);
	ret = inputs_open(&e->inputs, told, WITHIN_AND_OWN, watcher, &inner);
	if (!ret && inputs_lack_events(&e->inputs)) {
		inputs_release(&e->inputs);
		ret = inputs_open_lacking(&e->inputs, told, WITHIN_AND_OWN, watcher, &inner);
	}
	if (!ret)
		ret = say_uncovered(&e->inputs, watcher);
	return finish_open(out, e, ret, &inner, err);
}

int sonde_history_events(struct sonde_events **out, const struct sonde_history *history,
			 struct sonde_error *err)
{
	struct sonde_events *e = calloc(1, sizeof(*e));
	struct error inner = {0};
	int ret;

	*out = NULL;
	if (!e)
		return query_error(err, fail(&inner, -ENOMEM, "out of memory"), &inner);
	ret = inputs_open_run(&e->inputs, history, &inner);
	return finish_open(out, e, ret, &inner, err);
}

int sonde_events_open_sized(struct sonde_events **out, const struct sonde_inputs *told,
			    size_t told_bytes, const struct sonde_watcher *watcher,
			    size_t watcher_bytes, struct sonde_error *err)
{
	struct sonde_inputs inputs;
	struct sonde_watcher own = {0};

	query_give(&inputs, sizeof(inputs), told, told_bytes);
	if (watcher)
		query_give(&own, sizeof(own), watcher, watcher_bytes);
	return events_open(out, &inputs, watcher ? &own : NULL, err);
}

void sonde_events_close(struct sonde_events *e)
{
	if (!e)
		return;
	merge_close(e->merge);
	event_marks_release(&e->marks);
	for (unsigned i = 0; i < e->nr_filters; i++)
		free(e->filters[i].wanted);
	free(e->filters);
	free(e->machines);
	free(e->all);
	inputs_release(&e->inputs);
	free(e);
}

int64_t sonde_events_nr_machines(const struct sonde_events *e)
{
	return e->inputs.topology.nr_machines;
}

/* Those that could not be placed have their events in it all the same. */
static bool is_listed(const struct sonde_events *e, const char *path)
{
	for (unsigned i = 0; i < e->inputs.nr_streams; i++) {
		if (!strcmp(e->inputs.streams[i].stream->trace->path, path))
			return true;
	}
	return false;
}

unsigned sonde_events_left_out(const struct sonde_events *e)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < e->inputs.nr_left_out; i++)
		nr += !is_listed(e, e->inputs.left_out[i].path);
	return nr;
}

const char *sonde_events_machine_name(const struct sonde_events *e, int64_t machine)
{
	const struct topology *t = &e->inputs.topology;

	return machine >= 0 && machine < t->nr_machines ? t->machines[machine].name : "";
}

/* The worst of all its pieces. */
static int64_t bound_of(const struct clock_model *c)
{
	ns_t worst = 0;

	for (unsigned i = 0; i < c->nr_pieces; i++)
		worst = c->pieces[i].bound_ns > worst ? c->pieces[i].bound_ns : worst;
	return worst == CLOCK_NO_BOUND ? -1 : worst;
}

int sonde_events_clock_get_sized(const struct sonde_events *e, int64_t machine,
				 struct sonde_events_clock *out, size_t out_bytes)
{
	struct sonde_events_clock own = {.method = "", .bound_ns = -1, .evidence = ""};
	bool is_there = machine >= 0 && machine < e->inputs.topology.nr_machines;

	if (is_there) {
		const struct machine *m = &e->inputs.topology.machines[machine];

		own.method = clock_method_name(&m->clock);
		own.bound_ns = bound_of(&m->clock);
		own.evidence = m->evidence;
	}
	query_give(out, out_bytes, &own, sizeof(own));
	return is_there ? 0 : -ENOENT;
}

struct time_base events_time_base(const struct sonde_events *e)
{
	const struct topology *t = &e->inputs.topology;

	return (struct time_base){
		.begin = e->begin,
		.end = e->end,
		.traced_begin = e->begin,
		.traced_end = e->end,
		.ticks_are_ns = t->ticks_are_ns,
		.wall_known = t->wall_known,
		.wall_offset_ns = t->wall_offset_ns,
		.l0 = &t->machines[0].clock,
	};
}

bool sonde_events_ticks_are_ns(const struct sonde_events *e)
{
	return e->inputs.topology.ticks_are_ns;
}

void sonde_events_watch_sized(struct sonde_events *e, const struct sonde_watcher *watcher,
			      size_t watcher_bytes)
{
	struct sonde_watcher none = {0};

	query_give(&e->watcher, sizeof(e->watcher), watcher ? watcher : &none,
		   watcher ? watcher_bytes : sizeof(none));
}

/* ---- filters ------------------------------------------------------------------------------- */

int sonde_events_only_name(struct sonde_events *e, const char *pattern)
{
	bool any = !fnmatch(pattern, event_kind_name(EV_LOST), 0);

	e->names_given = true;
	if (!fnmatch(pattern, event_kind_name(EV_MARK), 0) && event_marks_possible(&e->inputs))
		e->marks_wanted = any = true;
	for (unsigned f = 0; f < e->nr_filters; f++) {
		const struct trace *t = e->filters[f].trace;

		for (unsigned i = 0; i < t->nr_types; i++) {
			const char *kind = event_kind_name((enum event_kind)t->types[i].kind);

			if (!fnmatch(pattern, t->types[i].name, 0) || !fnmatch(pattern, kind, 0)) {
				e->filters[f].wanted[i] = true;
				any = true;
			}
		}
	}
	return any ? 0 : -ENOENT;
}

int sonde_events_only_machine(struct sonde_events *e, const char *name)
{
	for (unsigned m = 0; m < e->inputs.topology.nr_machines; m++) {
		if (!strcmp(e->inputs.topology.machines[m].name, name)) {
			e->machines[m] = true;
			e->machines_given = true;
			return 0;
		}
	}
	return -ENOENT;
}

int sonde_events_only_cpu(struct sonde_events *e, int cpu)
{
	bool any = false;

	if (cpu < 0 || cpu >= TRACE_CPUS_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < e->inputs.nr_streams; i++)
		any |= e->inputs.streams[i].stream->cpu == cpu;
	if (!any)
		return -ENOENT;
	e->cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	e->cpus_given = true;
	return 0;
}

void sonde_events_only_time(struct sonde_events *e, int64_t begin, int64_t end)
{
	merge_close(e->merge);
	e->merge = NULL;
	event_marks_release(&e->marks);
	e->run = (struct run){0};
	e->at = 0;
	e->event = NULL;
	e->ended = false;
	e->from = begin;
	e->to = end;
}

/* The kinds that filters by name leave, as a cursor wants them; 0 = all. */
static kinds_t wanted_kinds(const struct sonde_events *e)
{
	kinds_t want = 0;

	for (unsigned f = 0; e->names_given && f < e->nr_filters; f++) {
		const struct trace *t = e->filters[f].trace;

		for (unsigned i = 0; i < t->nr_types; i++) {
			if (e->filters[f].wanted[i])
				want |= KIND_BIT(t->types[i].kind);
		}
	}
	/* Whose event of user space it is is told by who was switched to. */
	if (want && e->nr_filters > e->inputs.topology.nr_machines)
		want |= WANT(SCHED_SWITCH);
	/* A mark's thread is the one that was switched to last. */
	if (e->names_given && e->marks_wanted)
		want |= WANT(KVM_HYPERCALL) | WANT(KVM_NESTED_HYPERCALL) | WANT(SCHED_SWITCH) |
			WANT(MARK);
	return want;
}

/* Its host's trace has a machine's marks. */
static bool has_wanted_marks(const struct sonde_events *e, unsigned machine)
{
	const struct topology *t = &e->inputs.topology;

	for (unsigned i = 0; i < t->nr_machines && e->marks_wanted; i++) {
		if (e->machines[i] && t->machines[i].parent == (int)machine)
			return true;
	}
	return false;
}

static bool stream_wanted(const struct sonde_events *e, const struct merge_input *s)
{
	int cpu = s->stream->cpu;

	if (e->machines_given && has_wanted_marks(e, s->machine))
		return true;
	if (e->machines_given && !e->machines[s->machine])
		return false;
	return !e->cpus_given ||
	       (cpu >= 0 && cpu < TRACE_CPUS_MAX && e->cpus[cpu / 64] >> cpu % 64 & 1);
}

/* Packets whose successor begins at or before the window's begin lie before it altogether. */
static uint32_t first_packet(const struct merge_input *s, ns_t from)
{
	uint64_t tick = clock_from_l0(s->clock, from).v;
	uint32_t first = 0;

	while (first + 1 < s->stream->nr_packets && s->stream->packets[first + 1].begin < tick)
		first++;
	return first;
}

static int keep_all(struct sonde_events *e)
{
	struct inputs *in = &e->inputs;

	e->all = calloc(in->nr_streams + 1, sizeof(*e->all));
	if (!e->all)
		return -ENOMEM;
	memcpy(e->all, in->streams, in->nr_streams * sizeof(*e->all));
	e->nr_all = in->nr_streams;
	return 0;
}

static int start(struct sonde_events *e)
{
	struct inputs *in = &e->inputs;
	unsigned kept = 0;

	if (!e->all && keep_all(e))
		return -ENOMEM;
	if (!e->names_given)
		e->marks_wanted = event_marks_possible(in);
	for (unsigned i = 0; i < e->nr_all; i++) {
		if (!stream_wanted(e, &e->all[i]))
			continue;
		in->streams[kept] = e->all[i];
		if (e->from > e->begin)
			in->streams[kept].first_packet = first_packet(&e->all[i], e->from);
		kept++;
	}
	in->nr_streams = kept;
	if (event_marks_init(&e->marks, in))
		return -ENOMEM;
	return merge_open(&e->merge, in->streams, kept, wanted_kinds(e), e->workers, NULL);
}

/* ---- the stream ---------------------------------------------------------------------------- */

static bool place_wanted(const struct sonde_events *e, unsigned machine, int cpu)
{
	if (e->machines_given && !e->machines[machine])
		return false;
	return !e->cpus_given ||
	       (cpu >= 0 && cpu < TRACE_CPUS_MAX && e->cpus[cpu / 64] >> cpu % 64 & 1);
}

/* A loss may have been of what is wanted: names do not filter it out. */
static bool event_wanted(const struct sonde_events *e, const struct event *event, ns_t t)
{
	const struct merge_input *s = &e->inputs.streams[e->run.input];

	if (t < e->from)
		return false;
	if (e->is_mark)
		return place_wanted(e, e->mark.machine, e->mark.cpu);
	if (e->machines_given && !e->machines[s->machine])
		return false;
	if (!e->names_given)
		return true;
	return event->kind == EV_LOST || filter_of(e, s)->wanted[event->type];
}

static void describe(const struct sonde_events *e, const struct event *event, ns_t t,
		     struct sonde_event *out)
{
	const struct merge_input *s = &e->inputs.streams[e->run.input];
	unsigned machine = e->is_mark ? e->mark.machine : s->machine;
	const struct machine *m = &e->inputs.topology.machines[machine];

	out->t_ns = t;
	out->ticks = event->time.v;
	out->machine = machine;
	out->machine_name = m->name;
	out->cpu = e->is_mark ? e->mark.cpu : s->stream->cpu;
	out->tid = e->is_mark			  ? e->mark.tid
		   : event->kind == EV_LOST	  ? -1
		   : s->stream->trace->user_space ? event_marks_user(&e->marks, e->run.input, event)
						  : event->tid;
	out->kind = event_kind_name(e->is_mark ? EV_MARK : (enum event_kind)event->kind);
	if (e->is_mark)
		out->name = out->kind;
	else
		out->name = event->kind == EV_LOST
				    ? "lost"
				    : filter_of(e, s)->trace->types[event->type].name;
}

/* Much may be read before a filter lets something through: the share is that of the window. */
static bool goes_on(const struct sonde_events *e)
{
	return watcher_progress(&e->watcher, "reading events", merge_progress(e->merge));
}

static int events_next(struct sonde_events *e, struct sonde_event *out)
{
	int ret = e->merge || e->ended ? 0 : start(e);

	if (ret)
		return ret;
	while (!e->ended) {
		const struct event *event;
		ns_t t;

		if (e->at == e->run.nr) {
			e->at = 0;
			e->run.nr = 0;
			if (++e->batches % BATCHES_PER_QUESTION == 0 && !goes_on(e))
				return -EINTR;
			if (!merge_next(e->merge, &e->run))
				break;
		}
		event = &e->run.events[e->at];
		t = e->run.times[e->at++];
		if (t >= e->to)
			break;
		event_marks_follow(&e->marks, e->run.input, event);
		e->is_mark = e->marks_wanted && event_is_mark(event) &&
			     event_mark_read(&e->marks, e->run.input, event, &e->mark);
		if (!event_wanted(e, event, t))
			continue;
		e->event = event;
		describe(e, event, t, out);
		return 1;
	}
	e->ended = true;
	e->event = NULL;
	return 0;
}

int sonde_events_next_sized(struct sonde_events *e, struct sonde_event *out, size_t out_bytes)
{
	struct sonde_event own = {0};
	int ret = events_next(e, &own);

	query_give(out, out_bytes, &own, sizeof(own));
	return ret;
}

/* -1 = nobody counted them. */
static int64_t lost_events(const struct event *e)
{
	return e->arg[0] > 0 ? e->arg[0] : -1;
}

/* From when to when that was, on L0's time line; -1 = not known: one of its ends is missing. */
static int64_t lost_length(const struct sonde_events *e)
{
	unsigned machine = e->inputs.streams[e->run.input].machine;
	const struct clock_model *clock = &e->inputs.topology.machines[machine].clock;
	ns_t begin = clock_to_l0(clock, (ticks_t){(uint64_t)e->event->arg[1]});
	ns_t end = clock_to_l0(clock, (ticks_t){(uint64_t)e->event->arg[2]});

	return e->event->arg[4] || end <= begin ? -1 : ns_since(end, begin);
}

static size_t print_lost(const struct sonde_events *e, char *buf, size_t room)
{
	struct text t = text_in(buf, room);

	text_str(&t, "events=");
	if (lost_events(e->event) < 0)
		text_str(&t, "unknown");
	else
		text_i64(&t, lost_events(e->event));
	text_str(&t, " length=");
	if (lost_length(e) < 0)
		text_str(&t, "unknown");
	else
		text_i64(&t, lost_length(e));
	return text_end(&t, room);
}

static size_t print_mark(const struct ht_mark_call *call, char *buf, size_t room)
{
	struct text t = text_in(buf, room);

	text_str(&t, "kind=");
	text_u64(&t, call->kind);
	text_str(&t, " id=");
	text_u64(&t, call->id);
	text_str(&t, " text=\"");
	text_quotable(&t, (const uint8_t *)call->text, strlen(call->text), false);
	text_char(&t, '"');
	return text_end(&t, room);
}

size_t sonde_event_print(const struct sonde_events *e, char *buf, size_t room)
{
	if (!e->event)
		return 0;
	if (e->is_mark)
		return print_mark(&e->mark.call, buf, room);
	if (e->event->kind == EV_LOST)
		return print_lost(e, buf, room);
	return trace_event_print(e->inputs.streams[e->run.input].stream, e->event, buf, room);
}

int sonde_event_int(const struct sonde_events *e, const char *field, int64_t *out)
{
	struct field_value value;
	int ret;

	if (!e->event)
		return -ENOENT;
	if (e->event->kind == EV_LOST) {
		*out = strcmp(field, "length") ? lost_events(e->event) : lost_length(e);
		if (strcmp(field, "length") && strcmp(field, "events"))
			return -ENOENT;
		return *out < 0 ? -ENODATA : 0;
	}
	if (e->is_mark) {
		*out = strcmp(field, "id") ? (int64_t)e->mark.call.kind : e->mark.call.id;
		return strcmp(field, "id") && strcmp(field, "kind") ? -ENOENT : 0;
	}
	ret = trace_event_field(e->inputs.streams[e->run.input].stream, e->event, field, &value);
	if (ret)
		return ret;
	if (value.cls != FIELD_INT && value.cls != FIELD_UINT && value.cls != FIELD_ENUM)
		return -ENOENT;
	*out = value.i;
	return 0;
}
