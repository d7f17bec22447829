/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/inputs_within.h"
#include "libsonde/inputs/within.h"
#include "source/folded/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files of folded calls ----------------------------------------------------------------- */

static bool same_folder(const char *a, const char *b)
{
	const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
	size_t len_a = end_a ? (size_t)(end_a - a) : 0, len_b = end_b ? (size_t)(end_b - b) : 0;

	return len_a == len_b && !strncmp(a, b, len_a);
}

/* The host's trace that a file of folded calls stands beside; NULL, and @why: none, or it could be
 * any of several. */
static struct trace *host_beside(const struct inputs *in, const struct trace *folded,
				 struct error *why)
{
	struct trace *host = NULL;

	for (unsigned i = 0; i < in->nr_traces; i++) {
		struct trace *t = in->traces[i];

		if (!t || t->format == TRACE_FOLDED || t->format == TRACE_HYPER ||
		    !same_folder(t->path, folded->path))
			continue;
		if (host) {
			fail(why, -EINVAL,
			     "%s: %s and %s stand beside it, and it does not say whose calls it "
			     "has; give each trace a folder of its own",
			     folded->path, host->path, t->path);
			return NULL;
		}
		host = t;
	}
	if (!host)
		fail(why, -EINVAL, "%s: no trace stands beside it", folded->path);
	return host;
}

int inputs_attach_folded(struct inputs *in, const struct sonde_watcher *watcher, struct error *err)
{
	unsigned kept = 0;
	int ret = 0;

	for (unsigned i = 0; i < in->nr_traces; i++) {
		struct trace *t = in->traces[i], *host;
		struct error why = {0};

		if (t->format != TRACE_FOLDED)
			continue;
		in->traces[i] = NULL;
		host = host_beside(in, t, &why);
		if (host && !folded_attach(host, t, &why))
			continue;
		trace_release(t);
		if (why.code == -ENOMEM)
			ret = fail(err, why.code, "%s", why.text);
		watcher_notice(watcher, "%s; these calls are left out", why.text);
		problems_add(&in->topology.problems, "%s; these calls are left out", why.text);
	}
	for (unsigned i = 0; i < in->nr_traces; i++) {
		if (in->traces[i])
			in->traces[kept++] = in->traces[i];
	}
	in->nr_traces = kept;
	return ret;
}

/* ---- guests within their hosts' traces ------------------------------------------------------- */

struct own_traces {
	const struct topology *topology;
	int host;
};

/* The machine that runs in this thread of @host's; NULL when it has no trace. */
static const struct machine *machine_in(const struct topology *t, int host, int32_t tid)
{
	for (unsigned m = 0; m < t->nr_machines; m++) {
		const struct machine *machine = &t->machines[m];

		for (unsigned v = 0; v < machine->nr_vcpus && machine->parent == host; v++) {
			if (machine->vcpus[v].host_tid == tid)
				return machine;
		}
	}
	return NULL;
}

static bool has_own_trace(int32_t tid, void *data)
{
	const struct own_traces *own = data;

	return machine_in(own->topology, own->host, tid);
}

static bool within_progress(double done, void *data)
{
	return watcher_progress(data, "reading what guests sent", done);
}

static bool has_hypercalls(const struct trace *t)
{
	for (unsigned i = 0; i < t->nr_types; i++) {
		if (t->types[i].kind == EV_KVM_HYPERCALL ||
		    t->types[i].kind == EV_KVM_NESTED_HYPERCALL)
			return true;
	}
	return false;
}

/* A nested guest has its place in the machine between, so it has none where that one has no trace.
 */
static void drop_unplaced(const struct inputs *in, struct within *found, unsigned host)
{
	struct trace *t = in->topology.machines[host].trace;
	unsigned kept = 0;

	for (unsigned i = 0; i < found->nr; i++) {
		if (!found->list[i].nested ||
		    machine_in(&in->topology, (int)host, found->list[i].tid)) {
			found->list[kept++] = found->list[i];
			continue;
		}
		trace_problem(t,
			      "what %.40s sent is left out: it is a guest of the VM that thread %d "
			      "runs, of which there is no trace",
			      *found->list[i].name ? found->list[i].name : "a guest's guest",
			      found->list[i].tid);
		trace_release(found->list[i].trace);
	}
	found->nr = kept;
}

/* The guests' traces join the others. */
static int take_guests(struct inputs *in, struct within *found, unsigned host, struct error *err)
{
	struct trace **traces =
		reallocarray(in->traces, in->nr_traces + found->nr + 1, sizeof(*traces));
	struct inputs_origin *origins;

	if (traces)
		in->traces = traces;
	origins = reallocarray(in->origins, in->nr_origins + found->nr + 1, sizeof(*origins));
	if (origins)
		in->origins = origins;
	if (!traces || !origins)
		return fail(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < found->nr; i++) {
		struct inputs_origin *o = &in->origins[in->nr_origins++];
		const struct machine *parent =
			found->list[i].nested
				? machine_in(&in->topology, (int)host, found->list[i].tid)
				: &in->topology.machines[host];

		*o = (struct inputs_origin){.trace = found->list[i].trace, .host = parent->trace};
		memcpy(o->name, found->list[i].name, sizeof(o->name));
		memcpy(o->because, found->list[i].because, sizeof(o->because));
		snprintf(o->parent, sizeof(o->parent), "%s", parent->name);
		in->traces[in->nr_traces++] = found->list[i].trace;
		found->list[i].trace = NULL;
	}
	return 0;
}

static int look_into(struct inputs *in, unsigned machine, enum inputs_within how,
		     const struct sonde_watcher *watcher, struct error *err)
{
	const struct machine *m = &in->topology.machines[machine];
	struct own_traces own = {&in->topology, (int)machine};
	struct within_options opt = {
		.workers = in->threads - 1,
		.progress = within_progress,
		.progress_data = (void *)(uintptr_t)watcher,
		.has_own = how == WITHIN_AND_OWN ? NULL : has_own_trace,
		.own_data = &own,
	};
	struct within found;
	int ret;

	if (!has_hypercalls(m->trace) || (how != WITHIN_EVERYWHERE && !m->carries_blocks))
		return 0;
	ret = within_find(&found, m->trace, &opt, err);
	if (ret == -EINTR)
		fail(err, ret, "interrupted before anything was fused");
	if (ret)
		return ret;
	drop_unplaced(in, &found, machine);
	ret = take_guests(in, &found, machine, err);
	within_release(&found);
	return ret;
}

int inputs_find_guests(struct inputs *in, enum inputs_within how,
		       const struct sonde_watcher *watcher, struct error *err)
{
	int ret = 0;

	for (unsigned m = 0; m < in->topology.nr_machines && !ret; m++) {
		if (in->topology.machines[m].trace)
			ret = look_into(in, m, how, watcher, err);
	}
	return ret ? ret : in->nr_origins > 0;
}

void inputs_apply_origins(struct topology_input *list, unsigned nr, const struct inputs *in)
{
	for (unsigned o = 0; o < in->nr_origins; o++) {
		const struct inputs_origin *origin = &in->origins[o];

		for (unsigned i = 0; i < nr; i++) {
			if (list[i].trace != origin->trace)
				continue;
			list[i].name = *origin->name ? origin->name : NULL;
			list[i].parent = origin->parent;
			list[i].host = origin->host;
			list[i].because = origin->because;
		}
	}
}

static bool is_origin(const struct inputs *in, const struct trace *t)
{
	for (unsigned o = 0; o < in->nr_origins; o++) {
		if (in->origins[o].trace == t)
			return true;
	}
	return false;
}

void inputs_drop_guests(struct inputs *in)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < in->nr_traces; i++) {
		if (is_origin(in, in->traces[i]))
			trace_release(in->traces[i]);
		else
			in->traces[kept++] = in->traces[i];
	}
	in->nr_traces = kept;
	in->nr_origins = 0;
}

/* ---- guests of which there are two traces -------------------------------------------------- */

static bool share_vcpu(const struct machine *a, const struct machine *b)
{
	for (unsigned i = 0; i < a->nr_vcpus; i++) {
		for (unsigned k = 0; k < b->nr_vcpus; k++) {
			if (a->vcpus[i].host_tid == b->vcpus[k].host_tid)
				return true;
		}
	}
	return false;
}

/* Where the packets of a trace begin, from the first to the last, in its own ticks; false: it has
 * none. */
static bool packets_span(const struct trace *t, uint64_t *first, uint64_t *last)
{
	bool any = false;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		const struct stream *s = &t->streams[i];

		if (!s->nr_packets)
			continue;
		if (!any || s->packets[0].begin < *first)
			*first = s->packets[0].begin;
		if (!any || s->packets[s->nr_packets - 1].begin > *last)
			*last = s->packets[s->nr_packets - 1].begin;
		any = true;
	}
	return any;
}

/* The same VM at the same time, on two ways: not one kernel after the other, as with kdump. */
static bool is_sent_twice(const struct machine *a, const struct machine *b)
{
	uint64_t a_first, a_last, b_first, b_last;

	return a->vm_pid > 0 && a->vm_pid == b->vm_pid &&
	       packets_span(a->trace, &a_first, &a_last) &&
	       packets_span(b->trace, &b_first, &b_last) && a_first <= b_last && b_first <= a_last;
}

/* Of the second trace's packets, those that begin at times the first one has nothing of. */
static uint64_t packets_beyond(const struct trace *second, const struct trace *first, uint64_t *nr)
{
	uint64_t begin = 0, end = 0, beyond = 0;

	*nr = 0;
	packets_span(first, &begin, &end);
	for (unsigned i = 0; i < second->nr_streams; i++) {
		const struct stream *s = &second->streams[i];

		for (uint32_t k = 0; k < s->nr_packets; k++)
			beyond += s->packets[k].begin < begin || s->packets[k].begin > end;
		*nr += s->nr_packets;
	}
	return beyond;
}

/* The same guest once more, whose events would count twice: by its own tracer, or, where there is
 * none, as it sent them on another way, of which the first one counts. */
static const struct machine *find_double(const struct topology *t, const struct machine *m)
{
	const struct machine *found = NULL;

	for (unsigned i = 0; i < t->nr_machines && m->trace && m->trace->format == TRACE_HYPER;
	     i++) {
		const struct machine *other = &t->machines[i];

		if (!other->trace || other->parent != m->parent)
			continue;
		if (other->trace->format != TRACE_HYPER && share_vcpu(m, other))
			return other;
		if (other->trace->format == TRACE_HYPER && other < m && !found &&
		    is_sent_twice(m, other))
			found = other;
	}
	return found;
}

static bool is_listed(struct trace *const *list, unsigned nr, const struct trace *t)
{
	for (unsigned i = 0; i < nr; i++) {
		if (list[i] == t)
			return true;
	}
	return false;
}

/* Releases these traces: nothing that names them may be used any more, such as the topology. */
static void drop_traces(struct inputs *in, struct trace *const *list, unsigned nr)
{
	unsigned kept = 0;

	for (unsigned o = 0; o < in->nr_origins; o++) {
		if (is_listed(list, nr, in->origins[o].trace))
			in->origins[o].trace = NULL;
	}
	for (unsigned i = 0; i < in->nr_traces; i++) {
		if (is_listed(list, nr, in->traces[i]))
			trace_release(in->traces[i]);
		else
			in->traces[kept++] = in->traces[i];
	}
	in->nr_traces = kept;
}

/* Where only a part was sent twice, the rest is told of: as a trace of its own it would look like
 * another kernel of that VM. */
static void tell_of_double(struct problems *problems, const struct machine *m,
			   const struct machine *other)
{
	uint64_t nr, beyond;

	if (other->trace->format != TRACE_HYPER) {
		problems_note(
			problems,
			"%.60s sent its events to its host as well (%.120s): its own trace is "
			"used",
			other->name, m->trace->path);
		return;
	}
	beyond = packets_beyond(m->trace, other->trace, &nr);
	if (!beyond)
		problems_note(
			problems,
			"%.60s sent its events to its host as well (%.120s): those in its first "
			"trace are used",
			other->name, m->trace->path);
	else
		problems_add(
			problems,
			"%.60s sent its events to its host as well (%.120s): those in its first "
			"trace are used; %" PRIu64 " of the second one's %" PRIu64
			" packets are from before or after that one, and are left out, too",
			other->name, m->trace->path, beyond, nr);
}

int inputs_drop_doubles(struct inputs *in, struct problems *problems)
{
	const struct topology *t = &in->topology;
	struct trace **doubles;
	unsigned nr = 0;

	if (in->within == WITHIN_AND_OWN)
		return 0;
	doubles = calloc(t->nr_machines + 1, sizeof(struct trace *));
	if (!doubles)
		return -ENOMEM;
	for (unsigned i = 0; i < t->nr_machines; i++) {
		const struct machine *m = &t->machines[i];
		const struct machine *other = find_double(t, m);

		if (!other)
			continue;
		tell_of_double(problems, m, other);
		doubles[nr++] = m->trace;
	}
	if (nr) {
		topology_release(&in->topology);
		drop_traces(in, doubles, nr);
	}
	free(doubles);
	return nr > 0;
}
