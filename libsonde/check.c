/* SPDX-License-Identifier: Apache-2.0 */
#include "sonde/check.h"
#include "libsonde/coverage.h"
#include "libsonde/inputs/find.h"
#include "libsonde/inputs/inputs.h"
#include "libsonde/holes.h"
#include "analysis/rows.h"
#include "query/losses.h"
#include "query/query.h"
#include "base/figure.h"
#include "base/units.h"
#include "channel/reader.h"
#include "channel/stolen.h"
#include "model/model.h"
#include "source/origin.h"
#include "source/cover.h"
#include "source/trace.h"
#include "sonde/analyze.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS_PER_KIND 20

struct check {
	void (*finding)(enum sonde_finding kind, const char *text, void *data);
	void *data;
	struct sonde_check_result *result;
	const struct sonde_watcher *watcher; /* may be NULL */
	double from, part; /* of all: what is before the piece at hand, and the piece */
	bool stopped;	   /* the watcher wants no more */
	bool ticks_are_ns;
	int damaged;	     /* parts of a history's file */
	unsigned unreadable; /* its attributes, because of them */
	char first[200];     /* of these */
};

static void __attribute__((format(printf, 2, 3))) find(struct check *c, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->finding(SONDE_FAULT, text, c->data);
}

/* @done: of the piece at hand. */
static bool goes_on(struct check *c, double done)
{
	c->stopped =
		c->stopped || !watcher_progress(c->watcher, "checking", c->from + c->part * done);
	return !c->stopped;
}

/* ---- histories ----------------------------------------------------------------------------- */

struct walk {
	struct check *check;
	struct sonde_history *history;
	attr_t attr;
	ns_t expected; /* where the next interval must begin */
	ns_t covered;
	uint64_t nr;
	unsigned broken;
};

static void attr_path(const struct history *h, attr_t attr, char *buf, size_t room)
{
	attr_t parent = history_parent(h, attr);
	size_t used = 0;

	*buf = '\0';
	if (attr == ATTR_ROOT)
		return;
	if (parent != ATTR_ROOT && parent != ATTR_NONE) {
		attr_path(h, parent, buf, room);
		used = strlen(buf);
	}
	if (used < room)
		snprintf(buf + used, room - used, "%s%s", used ? "/" : "",
			 history_attr_name(h, attr));
}

static bool check_interval(const struct sonde_interval *i, void *data)
{
	struct walk *w = data;
	char path[200];

	w->nr++;
	if ((i->begin != w->expected && w->nr > 1) || i->end <= i->begin) {
		if (++w->broken <= FINDINGS_PER_KIND) {
			attr_path(w->history->file, w->attr, path, sizeof(path));
			find(w->check,
			     "%s: interval [%lld, %lld) does not join the one before, which ends "
			     "at "
			     "%lld",
			     path, (long long)i->begin, (long long)i->end, (long long)w->expected);
		}
	}
	w->expected = i->end;
	w->covered += i->end - i->begin;
	return true;
}

static void check_attr(struct check *c, struct sonde_history *history, attr_t attr)
{
	ns_t begin = sonde_history_begin(history);
	struct walk w = {.check = c, .history = history, .attr = attr, .expected = begin};
	char path[sizeof(c->first)];
	int ret = sonde_interval_walk(history, attr, begin, sonde_history_end(history),
				      check_interval, &w);

	c->result->items += w.nr;
	if (!ret)
		return;
	attr_path(history->file, attr, path, sizeof(path));
	if (ret != -EIO || !c->damaged)
		find(c, "%s: cannot be read: %s", path, error_reason(ret));
	else if (!c->unreadable++)
		memcpy(c->first, path, sizeof(path));
}

static void check_partition(struct check *c, struct sonde_history *history, int64_t row)
{
	ns_t length = sonde_history_end(history) - sonde_history_begin(history);
	struct sonde_time_share *shares;
	struct sonde_cpu cpu;
	ns_t sum = 0;
	unsigned nr;

	sonde_cpu_get(history, row, &cpu);
	if (!cpu_is_physical(&cpu))
		return;
	if (sonde_interval_sum(history, history->cpu_attrs[row][CPU_RUNS],
			       sonde_history_begin(history), sonde_history_end(history), &shares,
			       &nr)) {
		find(c, "physical CPU %d: what it ran cannot be summed up", cpu.number);
		return;
	}
	for (unsigned i = 0; i < nr; i++) {
		sum += shares[i].time_ns;
		if (shares[i].value > sonde_nr_contexts(history))
			find(c, "physical CPU %d ran context %u, which the file does not have",
			     cpu.number, shares[i].value);
	}
	if (sum != length)
		find(c, "physical CPU %d: its states last %lld in all, the history %lld",
		     cpu.number, (long long)sum, (long long)length);
	free(shares);
}

static void check_references(struct check *c, struct sonde_history *history)
{
	unsigned broken = 0;

	for (int64_t row = 0; row < sonde_nr_contexts(history); row++) {
		struct sonde_context context;

		sonde_context_get(history, row, &context);
		if (context.machine < sonde_nr_machines(history) &&
		    context.thread < sonde_nr_threads(history) &&
		    context.serves < sonde_nr_cpus(history))
			continue;
		if (++broken <= FINDINGS_PER_KIND)
			find(c, "context %lld names a row that the file does not have",
			     (long long)row);
	}
}

static void find_damage(const struct history_damage *d, void *data)
{
	struct check *c = data;
	char begin[UNIT_TEXT], end[UNIT_TEXT];

	if (!d->what)
		find(c, "damaged from offset %llu on: no part of a history begins there",
		     (unsigned long long)d->offset_bytes);
	else
		find(c,
		     "damaged at offset %llu: the checksum of %llu bytes of %s (%s to %s) is wrong",
		     (unsigned long long)d->offset_bytes, (unsigned long long)d->len_bytes, d->what,
		     unit_time(begin, d->begin, c->ticks_are_ns),
		     unit_time(end, d->end, c->ticks_are_ns));
}

static void check_namespaces(struct check *c, const struct sonde_history *history)
{
	unsigned broken = 0;

	for (int64_t row = 0; row < sonde_nr_pid_ns(history); row++) {
		if (!query_pid_ns_fits(history, row) && ++broken <= FINDINGS_PER_KIND)
			find(c, "PID namespace %lld cannot be inside the one that it names",
			     (long long)row);
	}
}

static void __attribute__((format(printf, 2, 3))) remark(struct check *c, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->finding(SONDE_NOTE, text, c->data);
}

/* Somebody tried; the history is sound, for none of it was used. */
static void tell_refused(struct check *c, struct sonde_history *history)
{
	struct sonde_error err = {0};
	struct sonde_rows *rows;
	struct sonde_machine m;
	int64_t nr = 0, first = -1;

	if (sonde_rows_get(&rows, history, "refused", sonde_history_begin(history),
			   sonde_history_end(history), &err))
		return;
	for (size_t row = 0; row < sonde_rows_nr(rows); row++) {
		first = first < 0 ? rows_named(rows, row, "machine").i : first;
		nr += rows_named(rows, row, "count").i;
	}
	sonde_rows_free(rows);
	if (nr && !sonde_machine_get(history, first, &m))
		remark(c,
		       "%lld hypercall%s of guests that no kernel made, or too many of, %s "
		       "refused, most of them of %s (sonde report -t refused)",
		       (long long)nr, nr == 1 ? "" : "s", nr == 1 ? "was" : "were", m.name);
}

static void tell_behind(struct check *c, const struct sonde_history *history)
{
	uint64_t nr = history_bytes_behind(history->file);

	if (nr)
		remark(c, "%llu byte%s behind the end of the history %s not used",
		       (unsigned long long)nr, nr == 1 ? "" : "s", nr == 1 ? "is" : "are");
}

static void tell_left_out(struct check *c, const struct sonde_history *history)
{
	struct sonde_left_out l;

	for (int64_t row = 0; !sonde_left_out_get(history, row, &l); row++) {
		char text[900];

		snprintf(text, sizeof(text), "%s%s%s is not in it: %s", l.name, *l.name ? ", " : "",
			 l.path, l.reason);
		c->finding(SONDE_NOTE, text, c->data);
	}
}

/* The history is sound: it says "unknown" there. */
static void tell_gaps(struct check *c, const struct sonde_history *history)
{
	char gaps[UNIT_TEXT], length[UNIT_TEXT];
	struct sonde_loss l;
	bool open = false;
	ns_t sum = 0;
	int64_t nr = 0;

	for (int64_t row = 0; !sonde_loss_get(history, row, &l); row++) {
		ns_t latest = loss_latest_end(history, &l);

		sum += latest > l.begin ? ns_since(latest, l.begin) : 0;
		open |= latest > l.end;
		nr++;
	}
	if (nr)
		remark(c,
		       "events are missing in %s gap%s, of %s%s of CPU time in all; what these CPUs "
		       "did then is unknown (sonde report -t gap)",
		       unit_count(gaps, nr), nr == 1 ? "" : "s", open ? "at most " : "",
		       unit_length(length, sum, c->ticks_are_ns));
}

/* The history is sound: it says how far to trust its times. */
static void tell_clocks(struct check *c, struct sonde_history *history)
{
	struct sonde_error err = {0};
	struct sonde_rows *rows;
	struct sonde_machine m;

	if (sonde_rows_get(&rows, history, "clock", sonde_history_begin(history),
			   sonde_history_end(history), &err))
		return;
	for (size_t row = 0; row < sonde_rows_nr(rows); row++) {
		int64_t nr = rows_named(rows, row, "violations").i;
		char count[UNIT_TEXT], worst[UNIT_TEXT];

		if (!nr || sonde_machine_get(history, rows_named(rows, row, "machine").i, &m))
			continue;
		remark(c,
		       "the clock of %s contradicts %s observations, by up to %s: at these its error "
		       "bound does not hold (sonde report -t clock)",
		       m.name, unit_count(count, nr),
		       unit_length(worst, rows_named(rows, row, "worst_violation").i,
				   c->ticks_are_ns));
	}
	sonde_rows_free(rows);
}

static void check_history(struct check *c, struct sonde_history *history)
{
	attr_t nr = history_nr_attrs(history->file);
	char end[UNIT_TEXT];

	c->ticks_are_ns = sonde_history_ticks_are_ns(history);
	snprintf(c->result->kind, sizeof(c->result->kind), "history");
	c->result->unit = "intervals";
	if (!sonde_history_complete(history) && !sonde_nr_machines(history))
		find(c, "not complete: the file was cut off before the end of its first part, so "
			"nothing of it can be read; analyse the traces again");
	else if (!sonde_history_complete(history))
		find(c, "not complete: the writer was stopped, or the file cut off; it ends at %s",
		     unit_time(end, sonde_history_end(history), c->ticks_are_ns));
	tell_behind(c, history);
	tell_left_out(c, history);
	tell_gaps(c, history);
	tell_clocks(c, history);
	c->damaged = history_verify(history->file, find_damage, c);
	for (attr_t a = 0; a < nr && goes_on(c, (double)a / nr); a++) {
		if (history_attr_type(history->file, a) != ATTR_DIR)
			check_attr(c, history, a);
	}
	if (c->stopped)
		return;
	if (c->unreadable)
		find(c,
		     "%u of %u tracks cannot be read whole because of it, the first is %s; "
		     "analyse the traces again",
		     c->unreadable, nr, c->first);
	for (int64_t row = 0; row < sonde_nr_cpus(history); row++)
		check_partition(c, history, row);
	check_references(c, history);
	check_namespaces(c, history);
	tell_refused(c, history);
}

/* ---- traces -------------------------------------------------------------------------------- */

struct decoded {
	const struct stream *stream;
	struct holes *holes;
	struct call_origins origins;
	uint64_t forged; /* hypercalls of guests' processes that only a kernel may make */
	uint64_t nr;
};

static bool is_kernels_own(const struct event *e)
{
	uint64_t magic = (uint64_t)e->arg[0] >> 48;

	return (e->kind == EV_KVM_HYPERCALL || e->kind == EV_KVM_NESTED_HYPERCALL) &&
	       (magic == HT_CALL_MAGIC || magic == HT_ANNOUNCE_MAGIC || magic == ST_ANNOUNCE_MAGIC);
}

static void take_call(struct decoded *d, const struct event *e)
{
	int32_t tid = e->tid >= 0 ? e->tid : (int32_t)d->holes->seam.running;

	call_origins_follow(&d->origins, e, tid);
	if (is_kernels_own(e))
		d->forged += call_origins_of(&d->origins, d->stream, e, tid) == HT_ORIGIN_USER;
}

static void take_event(struct decoded *d, const struct event *e)
{
	d->nr += e->kind != EV_LOST;
	take_call(d, e);
	holes_take(d->holes, e);
}

/* @before: packets of the trace that were read already, of @nr_packets. */
static uint64_t decode_stream(struct check *check, struct stream *s, struct holes *holes,
			      uint64_t *forged, uint64_t before, uint64_t nr_packets)
{
	struct decoded d = {.stream = s, .holes = holes, .origins.is_one_stream = true};
	struct event events[256];
	struct error err = {0};
	struct cursor c;
	unsigned got;

	if (cursor_init(&c, s, 0, s->nr_packets, 0, &err)) {
		find(check, "%s", err.text);
		return 0;
	}
	while (goes_on(check, (double)(before + c.packet) / (double)nr_packets) &&
	       (got = cursor_next(&c, events, ARRAY_SIZE(events)))) {
		for (unsigned i = 0; i < got; i++)
			take_event(&d, &events[i]);
	}
	cursor_release(&c);
	*forged += d.forged;
	return d.nr;
}

static void tell_holes(struct check *c, const char *path, struct holes *h)
{
	char nr[UNIT_TEXT], mute[UNIT_TEXT], switches[UNIT_TEXT];

	holes_count(h);
	unit_count(switches, (int64_t)h->switches);
	if (h->nr)
		find(c,
		     "%s: events are missing in %s place%s, and no tracer says so: who goes on "
		     "there is "
		     "not the thread that was switched to (%s switches). Until then it is unknown "
		     "what the CPU did",
		     path, unit_count(nr, (int64_t)h->nr), h->nr == 1 ? "" : "s", switches);
	if (h->mute)
		remark(c,
		       "%s: the kernel records no switch away from some threads, %s of %s: what "
		       "CPUs did "
		       "after them and who waited for these CPUs is unknown there. sonde report -t gap "
		       "may list it as a gap",
		       path, unit_count(mute, (int64_t)h->mute), switches);
}

static void tell_uncovered(const char *text, void *data)
{
	struct check *c = data;

	c->finding(SONDE_FAULT, text, c->data);
}

static void tell_problem(struct check *c, const struct problem *p)
{
	char text[512];

	snprintf(text, sizeof(text), "%s%s", p->text,
		 p->count > 1 ? " (and more of the same)" : "");
	c->finding(p->note ? SONDE_NOTE : SONDE_FAULT, text, c->data);
}

/* What the trace lacks, as its tracer or its bytes tell.  Gaps are CPUs': a history has none of user
 * space. */
static void tell_loss(struct check *c, const char *path, const struct trace *t)
{
	const struct trace_loss *l = &t->loss;
	char nr[UNIT_TEXT];

	if (l->events)
		find(c, "%s: %s event%s, as its tracer or recorder counted", path,
		     unit_count(nr, (int64_t)l->events),
		     l->events == 1 ? " is missing" : "s are missing");
	if (l->packets)
		find(c, "%s: %s packet%s missing", path, unit_count(nr, (int64_t)l->packets),
		     l->packets == 1 ? " is" : "s are");
	if (l->bytes_skipped)
		find(c, "%s: %s byte%s could not be decoded", path,
		     unit_count(nr, (int64_t)l->bytes_skipped), l->bytes_skipped == 1 ? "" : "s");
	if (l->headless)
		remark(c,
		       "%s: %s stream%s not begin with the first packet: those before were "
		       "overwritten, or are in a part that is missing",
		       path, unit_count(nr, (int64_t)l->headless),
		       l->headless == 1 ? " does" : "s do");
	if (l->unknown)
		find(c, "%s: there are gaps, and nothing says how many events each of them lacks%s",
		     path,
		     t->user_space ? ""
				   : ": sonde analyze it, and sonde report -t gap says on which "
				     "CPUs, from when to when");
}

/* As libsonde/analyze.c leaves them out. */
static void tell_nameless(struct check *c, const struct trace *t)
{
	for (unsigned i = 0; i < t->nr_streams && !t->user_space; i++) {
		if (!model_takes_cpu(t->streams[i].cpu))
			find(c, "%s: its CPU is not known: sonde analyze leaves it out",
			     t->streams[i].path);
	}
}

/* What is said of a trace that was read whole. */
static void tell_trace(struct check *c, const char *path, struct trace *t, struct holes *holes,
		       uint64_t forged)
{
	tell_holes(c, path, holes);
	tell_nameless(c, t);
	if (holes->broken || cover_count_cpus(t) || coverage_tell(t, tell_uncovered, c))
		find(c, "%s: out of memory", path);
	if (forged)
		remark(c,
		       "%s: hypercalls in a kernel's format that are not used, made by user code in "
		       "guests: %llu",
		       path, (unsigned long long)forged);
	for (unsigned i = 0; i < t->problems.nr; i++)
		tell_problem(c, &t->problems.list[i]);
	if (t->excerpt_of)
		remark(c,
		       "%s: of %llu events that the recorder counted the file has %llu: it is an "
		       "excerpt, or some were lost since",
		       path, (unsigned long long)t->excerpt_of, (unsigned long long)t->excerpt);
	if (t->problems.dropped)
		find(c, "and %llu more problem%s", (unsigned long long)t->problems.dropped,
		     t->problems.dropped == 1 ? "" : "s");
	tell_loss(c, path, t);
}

static void decode_trace(struct check *c, struct trace *t, struct holes *holes, uint64_t *forged)
{
	uint64_t nr_packets = 0, before = 0;

	for (unsigned i = 0; i < t->nr_streams; i++)
		nr_packets += t->streams[i].nr_packets;
	for (unsigned i = 0; i < t->nr_streams && !c->stopped; i++) {
		holes_begin(holes, i);
		c->result->items +=
			decode_stream(c, &t->streams[i], holes, forged, before, nr_packets);
		before += t->streams[i].nr_packets;
	}
}

static void check_trace(struct check *c, struct trace *t)
{
	struct holes holes = {0};
	uint64_t forged = 0;

	decode_trace(c, t, &holes, &forged);
	if (!c->stopped)
		tell_trace(c, t->path, t, &holes, forged);
	holes_release(&holes);
}

/* As sonde_analyze() would read them: a session's parts as one, copies not at all. */
static void check_opened(struct check *c, const struct inputs *in)
{
	unsigned nr = in->nr_traces + in->nr_users;

	if (nr == 1)
		snprintf(c->result->kind, sizeof(c->result->kind), "trace");
	else
		snprintf(c->result->kind, sizeof(c->result->kind), "%u traces", nr);
	c->part = nr ? 1.0 / nr : 0;
	for (unsigned i = 0; i < in->topology.problems.nr; i++)
		tell_problem(c, &in->topology.problems.list[i]);
	for (unsigned i = 0; i < nr && !c->stopped; i++) {
		c->from = i * c->part;
		check_trace(c, i < in->nr_traces ? in->traces[i] : in->users[i - in->nr_traces]);
	}
}

static int check_traces(struct check *c, const char *path, struct sonde_error *err)
{
	const struct sonde_inputs told = {.paths = &path, .nr_paths = 1};
	struct inputs in = {0};
	struct error why = {0};
	int ret = inputs_open_traces(&in, &told, NULL, &why);

	c->result->unit = "events";
	if (!ret)
		check_opened(c, &in);
	inputs_release(&in);
	return query_error(err, ret, &why);
}

static int check_end(const struct check *c, struct sonde_error *err)
{
	struct error why = {0};

	return c->stopped ? query_error(err, fail(&why, -EINTR, "stopped before all was looked at"),
					&why)
			  : 0;
}

static int check_path(const char *path,
		      void (*finding)(enum sonde_finding kind, const char *text, void *data),
		      void *data, const struct sonde_watcher *watcher,
		      struct sonde_check_result *result, struct sonde_error *err)
{
	struct check c = {
		.finding = finding, .data = data, .result = result, .watcher = watcher, .part = 1};
	struct sonde_error why = {0};
	size_t len = strlen(path);
	struct sonde_history *history;
	int ret;

	memset(result, 0, sizeof(*result));
	result->unit = "";
	ret = sonde_history_open(&history, path, &why);
	if (!ret) {
		check_history(&c, history);
		sonde_history_close(history);
		return check_end(&c, err);
	}
	/* By its name it claims to be a history: say why it is none. */
	if (len <= 6 || strcmp(path + len - 6, ".sonde")) {
		ret = check_traces(&c, path, err);
		return ret ? ret : check_end(&c, err);
	}
	if (err)
		*err = why;
	return ret;
}

int sonde_check_sized(const char *path,
		      void (*finding)(enum sonde_finding kind, const char *text, void *data),
		      void *data, const struct sonde_watcher *watcher, size_t watcher_bytes,
		      struct sonde_check_result *result, size_t result_bytes,
		      struct sonde_error *err)
{
	struct sonde_check_result own;
	struct sonde_watcher own_watcher = {0};
	int ret;

	if (watcher)
		query_give(&own_watcher, sizeof(own_watcher), watcher, watcher_bytes);
	ret = check_path(path, finding, data, &own_watcher, &own, err);

	query_give(result, result_bytes, &own, sizeof(own));
	return ret;
}
