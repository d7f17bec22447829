/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the clock search finds for some traces, one line per machine and piece, for people
 * and for tests/clock/truth.py:
 *
 *	show_topology [-s] [-n] [-t] [NAME[<PARENT]=]PATH[+LINES]...
 *
 *	-s: not the pieces; -n: act as if nobody had made a hypercall; -t: nor programmed a timer;
 *	LINES: a file of state lines that the trace is to have, see state_lines.h
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock/topology.h"
#include "source/span.h"
#include "tests/clock/state_lines.h"

static void print_pieces(const char *label, const struct clock_model *c)
{
	for (unsigned i = 0; i < c->nr_pieces; i++) {
		const struct clock_piece *p = &c->pieces[i];

		printf("%s from=%" PRIu64 " at=%" PRId64 " mult=%" PRIu64 " bound=%" PRId64 "\n",
		       label, p->from, p->at_ns, p->mult, p->bound_ns);
	}
}

static void bound_range(const struct clock_model *c, ns_t *least, ns_t *most)
{
	*least = CLOCK_NO_BOUND;
	*most = 0;
	for (unsigned i = 0; i < c->nr_pieces; i++) {
		*least = c->pieces[i].bound_ns < *least ? c->pieces[i].bound_ns : *least;
		*most = c->pieces[i].bound_ns > *most ? c->pieces[i].bound_ns : *most;
	}
}

static unsigned next_without(struct cursor *c, struct event *events, unsigned room, kinds_t hidden)
{
	const struct trace_ops *ops =
		c->stream->trace->format == TRACE_CTF ? &ctf_trace_ops : &dat_trace_ops;
	unsigned n = ops->cursor_next(c, events, room);

	for (unsigned i = 0; i < n; i++) {
		if (hidden & KIND_BIT(events[i].kind))
			events[i].kind = EV_OTHER;
	}
	return n;
}

#define CALLS (WANT(SYNC_REQUEST) | WANT(SYNC_ACK) | WANT(KVM_HYPERCALL))
#define TIMERS WANT(KVM_MSR)

static unsigned without_calls(struct cursor *c, struct event *events, unsigned room)
{
	return next_without(c, events, room, CALLS);
}

static unsigned without_timers(struct cursor *c, struct event *events, unsigned room)
{
	return next_without(c, events, room, TIMERS);
}

static unsigned without_both(struct cursor *c, struct event *events, unsigned room)
{
	return next_without(c, events, room, CALLS | TIMERS);
}

/* What the traces are not to show. */
struct hidden {
	bool calls, timers;
	struct trace_ops ops[2];
};

/* Puts a filter between the trace and its reader. */
static void hide(struct trace *t, struct hidden *h)
{
	struct trace_ops *ops = &h->ops[t->format == TRACE_CTF];

	*ops = *t->ops;
	ops->cursor_next = !h->timers ? without_calls : !h->calls ? without_timers : without_both;
	t->ops = ops;
}

/* By the packet index: good enough to know where models are used. */
static uint64_t last_tick(const struct trace *t)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct stream *s = &t->streams[i];
		const struct packet *p = s->nr_packets ? &s->packets[s->nr_packets - 1] : NULL;

		if (p && p->begin > last)
			last = p->begin;
		if (p && p->end > last)
			last = p->end;
	}
	return last;
}

static void print_machine(const struct topology *t, unsigned i, bool pieces)
{
	const struct machine *m = &t->machines[i];
	ns_t least, most;

	bound_range(&m->clock, &least, &most);
	printf("machine name=%s level=%u parent=%s path=%s first=%" PRIu64 " last=%" PRIu64
	       " clock=%s method=\"%s\" pieces=%u "
	       "bound=%" PRId64 "..%" PRId64 " pairs=%" PRIu64 " timers=%" PRIu64
	       " violations=%" PRIu64 " worst=%" PRId64 " evidence=\"%s\"\n",
	       m->name, m->level, m->parent < 0 ? "-" : t->machines[m->parent].name, m->trace->path,
	       trace_first_begin(m->trace), last_tick(m->trace), m->trace->clock.name,
	       clock_method_name(&m->clock), m->clock.nr_pieces, least, most, m->clock.nr_pairs,
	       m->clock.nr_timers, m->clock.nr_violations, m->clock.worst_violation_ns,
	       m->evidence);
	for (unsigned k = 0; k < m->nr_vcpus; k++)
		printf("  vcpu %d tid %d evidence %" PRIu64 "\n", m->vcpus[k].vcpu,
		       m->vcpus[k].host_tid, m->vcpus[k].evidence);
	if (pieces) {
		print_pieces("  piece", &m->clock);
		print_pieces("  parent_piece", &m->to_parent);
	}
}

/* Splits "NAME<PARENT=PATH+LINES" in place. */
static int parse(struct topology_input *in, char *arg, struct hidden *h)
{
	struct error err = {0};
	char *lines = strchr(arg, '+'), *path = strchr(arg, '='), *parent;

	if (lines)
		*lines++ = '\0';
	if (path && (*arg != '/' && *arg != '.')) {
		*path++ = '\0';
		parent = strchr(arg, '<');
		if (parent) {
			*parent++ = '\0';
			in->parent = parent;
		}
		in->name = *arg ? arg : NULL;
	} else {
		path = arg;
	}
	if (trace_open(&in->trace, path, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	if (h->calls || h->timers)
		hide(in->trace, h);
	if (lines && tell_trace(in->trace, lines)) {
		fprintf(stderr, "cannot read %s\n", lines);
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct topology_input *in = calloc((size_t)argc, sizeof(*in));
	struct topology_options opt = {0};
	struct topology t;
	struct error err = {0};
	struct timespec a, b;
	unsigned nr = 0;
	bool pieces = true;
	struct hidden hidden = {0};
	int ret;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-s"))
			pieces = false;
		else if (!strcmp(argv[i], "-n"))
			hidden.calls = true;
		else if (!strcmp(argv[i], "-t"))
			hidden.timers = true;
		else if (parse(&in[nr++], argv[i], &hidden))
			return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	ret = topology_find(&t, in, nr, &opt, &err);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (ret) {
		fprintf(stderr, "%s\n", err.text);
		for (unsigned i = 0; i < nr && ret == -EXDEV; i++) {
			if (t.apart[i].apart)
				fprintf(stderr, "apart %s: %s\n", t.apart[i].name, t.apart[i].why);
		}
		return 1;
	}
	printf("topology ticks_are_ns=%d tsc_khz=%" PRIu64 " wall=%d %" PRId64 " ms=%.1f\n",
	       t.ticks_are_ns, t.tsc_khz, t.wall_known, t.wall_offset_ns,
	       (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
	for (unsigned i = 0; i < t.nr_machines; i++)
		print_machine(&t, i, pieces);
	for (unsigned i = 0; i < t.problems.nr; i++)
		printf("problem %s\n", t.problems.list[i].text);
	topology_release(&t);
	for (unsigned i = 0; i < nr; i++)
		trace_release(in[i].trace);
	free(in);
	return 0;
}
