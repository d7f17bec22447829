/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/trees.h"
#include "clock/wall.h"
#include "base/units.h"
#include "events/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Threads that are named where a nested guest may have run. */
#define THREADS_NAMED 4

/* The root above it; -1: it is in a circle. */
static int root_of(const struct candidate *list, unsigned nr, unsigned i)
{
	int at = (int)i;

	for (unsigned steps = 0; steps <= nr; steps++) {
		if (list[at].parent < 0)
			return at;
		at = list[at].parent;
	}
	return -1;
}

static bool is_in_circle(const struct candidate *list, unsigned nr, unsigned i)
{
	int at = list[i].parent;

	for (unsigned steps = 0; steps < nr && at >= 0; steps++, at = list[at].parent) {
		if (at == (int)i)
			return true;
	}
	return false;
}

/* Two that each seem to run in the other: neither is believed, unless the user says so. */
static int open_circles(struct candidate *list, unsigned nr, struct topology_apart *apart,
			struct error *err)
{
	for (unsigned i = 0; i < nr; i++) {
		if (!is_in_circle(list, nr, i))
			continue;
		if (list[i].told && !list[i].in->recorded)
			return fail(err, -EINVAL,
				    "--parent says that %s runs in %s, but that one runs inside it",
				    list[i].name, list[list[i].parent].name);
		snprintf(apart[i].why, sizeof(apart[i].why),
			 "it seems to run in %.60s, and that one in it: neither is believed; "
			 "--parent decides",
			 list[list[i].parent].name);
	}
	for (unsigned i = 0; i < nr; i++) {
		if (!*apart[i].why)
			continue;
		list[i].parent = PARENT_UNKNOWN;
		list[i].nr_pairs = 0;
		list[i].proven = list[i].exact = list[i].same_clock = false;
		list[i].vm = NULL;
		list[i].evidence[0] = '\0';
	}
	return 0;
}

/* Whether any event of it can say what a CPU does. */
static bool tells_of_cpus(const struct trace *t)
{
	bool has_cpu = false, has_kind = false;

	for (unsigned i = 0; i < t->nr_streams && !has_cpu; i++)
		has_cpu = t->streams[i].cpu >= 0 && t->streams[i].nr_packets;
	for (unsigned i = 0; i < t->nr_types && !has_kind; i++)
		has_kind = t->types[i].kind != EV_OTHER && t->types[i].kind != EV_LOST;
	return has_cpu && has_kind;
}

/* How much speaks for a root to be L0; more is better. */
static uint64_t rank_of(const struct candidate *list, unsigned nr, unsigned root)
{
	const struct candidate *c = &list[root];
	uint64_t members = 0;

	for (unsigned i = 0; i < nr; i++)
		members += root_of(list, nr, i) == (int)root;
	return (uint64_t)c->told << 35 | (uint64_t)tells_of_cpus(c->sample->trace) << 34 |
	       (uint64_t)!c->missing << 33 | (uint64_t)!c->declared->hypervisor << 32 |
	       members << 1 | (c->sample->stays.nr > 0);
}

static uint64_t size_of(const struct trace *t)
{
	uint64_t len_bytes = 0;

	for (unsigned i = 0; i < t->nr_streams; i++) {
		for (uint32_t p = 0; p < t->streams[i].nr_packets; p++)
			len_bytes += t->streams[i].packets[p].len_bytes;
	}
	return len_bytes;
}

/* Of several of the same rank, the one that tells most. */
static int find_l0(const struct candidate *list, unsigned nr)
{
	uint64_t best = 0, most = 0;
	int found = -1;

	for (unsigned i = 0; i < nr; i++) {
		uint64_t rank = list[i].parent < 0 ? rank_of(list, nr, i) : 0;
		uint64_t size;

		if (!rank || rank < best)
			continue;
		size = size_of(list[i].sample->trace);
		if (rank == best && size <= most)
			continue;
		best = rank;
		most = size;
		found = (int)i;
	}
	return found;
}

/* The threads in which L0 ran guests of guests, as text; "" when it did not. */
static void name_nested(const struct sample *s, char *out, size_t room)
{
	int32_t last = -1;
	unsigned nr = 0;
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < s->stays.nr && nr < THREADS_NAMED && used < room; i++) {
		const struct stay *stay = &s->stays.list[i];

		if (stay->nested != NESTED_YES || stay->tid == last)
			continue;
		last = stay->tid;
		used += (size_t)snprintf(out + used, room - used, "%s%d", nr++ ? ", " : "", last);
	}
}

/* Whether a VM of L0 that is traced ran guests: then L0's nested guests may be that one's. */
static bool has_traced_hypervisor(const struct candidate *list, unsigned nr, unsigned l0)
{
	for (unsigned i = 0; i < nr; i++) {
		if (list[i].parent == (int)l0 && list[i].sample->stays.nr)
			return true;
	}
	return false;
}

/* What relates it to others may be in what cannot be decoded. */
static bool is_mostly_unreadable(const struct trace *t)
{
	return t->loss.bytes_skipped > size_of(t) / 2;
}

/* The first CPU of which a trace has no events, of *@nr; -1: there is none, or streams do not say of which
 * they are. */
static int cpu_without_events(const struct trace *t, unsigned *nr)
{
	int first = -1;
	uint64_t there[TRACE_CPUS_MAX / 64] = {0};

	for (unsigned i = 0; i < t->nr_streams; i++) {
		int cpu = t->streams[i].cpu;

		if (cpu < 0 || cpu >= TRACE_CPUS_MAX)
			return -1;
		if (t->streams[i].nr_packets)
			there[cpu / 64] |= UINT64_C(1) << cpu % 64;
	}
	*nr = 0;
	for (unsigned cpu = 0; cpu < t->nr_cpus && cpu < TRACE_CPUS_MAX; cpu++) {
		if (there[cpu / 64] >> cpu % 64 & 1)
			continue;
		if (!(*nr)++)
			first = (int)cpu;
	}
	return first;
}

/* L0 saw it run, in a VM that has no trace: its place is known, and ... */
static void explain_between(const struct candidate *c, const struct candidate *l0,
			    struct topology_apart *out)
{
	char threads[60];
	bool several;

	name_nested(l0->sample, threads, sizeof(threads));
	if (c->fit.tid >= 0)
		snprintf(threads, sizeof(threads), "%d", c->fit.tid);
	several = strchr(threads, ',');
	snprintf(
		out->why, sizeof(out->why),
		"its CPU %d is active only while %.40s runs a nested guest in thread%s %s (%" PRIu64
		" events): it runs in a VM that %s of, which has no trace; add that one's trace",
		c->fit.cpu, l0->name, several ? "s" : "", threads, c->fit.events,
		several ? "these are vCPUs" : "this is a vCPU");
}

/* ... its clock's relation, as far as all was read. */
static void keep_clock(struct candidate *c, const struct candidate *l0, struct topology_apart *out)
{
	if (c->sample->known_until < UINT64_MAX || l0->sample->known_until < UINT64_MAX)
		return;
	out->to_l0 = c->fit.model;
	memset(&c->fit.model, 0, sizeof(c->fit.model));
}

#define HOUR_NS (3600 * NS_PER_SEC)

static void length_about(char text[static UNIT_TEXT], ns_t ns)
{
	if (ns >= 48 * HOUR_NS)
		snprintf(text, UNIT_TEXT, "%lld days", (long long)(ns / (24 * HOUR_NS)));
	else if (ns >= 2 * HOUR_NS)
		snprintf(text, UNIT_TEXT, "%lld hours", (long long)(ns / HOUR_NS));
	else
		unit_length(text, ns, true);
}

/* Neither can have seen the other, if wall clocks are right. */
static void explain_stranger(const struct candidate *c, const struct candidate *l0,
			     struct topology_apart *out)
{
	ns_t apart = wall_apart(c, l0);
	char length[UNIT_TEXT];

	length_about(length, apart < 0 ? -apart : apart);
	snprintf(
		out->why, sizeof(out->why),
		"%s relates it to %.40s, and by the wall clocks it was recorded about %s %s that one. "
		"Analyse it apart",
		c->declared->of_another_time ? "only its UUID, which a VM keeps,"
					     : "nothing in the traces",
		l0->name, length, apart < 0 ? "before" : "after");
}

static void explain_unrelated(const struct candidate *c, const struct candidate *l0,
			      struct topology_apart *out)
{
	unsigned nr;
	int cpu = cpu_without_events(l0->sample->trace, &nr);

	if (cpu >= 0 && nr == 1)
		snprintf(out->why, sizeof(out->why),
			 "nothing relates it to %.40s, whose trace has no events of "
			 "CPU %d: it may have run there. Look for that part of the trace, or say "
			 "with --parent that it is that one's",
			 l0->name, cpu);
	else if (cpu >= 0)
		snprintf(out->why, sizeof(out->why),
			 "nothing relates it to %.40s, whose trace has no events of "
			 "%u CPUs: it may have run there. Look for those parts of the trace, or "
			 "say with --parent that it is that one's",
			 l0->name, nr);
	else
		snprintf(out->why, sizeof(out->why),
			 "nothing in the traces relates it to %.40s%s. Analyse it apart, or add "
			 "the trace of the host of both. --parent can say what it runs in, but "
			 "nothing bounds its clock then",
			 l0->name,
			 size_of(c->sample->trace) < size_of(l0->sample->trace)
				 ? ", which is larger"
				 : "");
}

static void explain(struct candidate *list, unsigned nr, unsigned i, int root, unsigned l0,
		    struct topology_apart *out)
{
	struct candidate *c = &list[i];
	char threads[60];

	out->apart = true;
	memcpy(out->name, c->name, sizeof(out->name));
	if (*out->why) /* known already */
		return;
	name_nested(list[l0].sample, threads, sizeof(threads));
	if (root == (int)i && c->around == (int)l0)
		keep_clock(c, &list[l0], out);
	if (root != (int)i)
		snprintf(out->why, sizeof(out->why), "it runs in %.60s, which cannot be placed",
			 list[c->parent].name);
	else if (c->missing)
		snprintf(out->why, sizeof(out->why), "it runs in %.60s, of which there is no trace",
			 c->in->parent);
	else if (c->tied && c->parent == PARENT_UNKNOWN)
		snprintf(
			out->why, sizeof(out->why),
			"what it did fits a guest of %.40s, and one of %.40s as well. --parent can say "
			"which of them runs it",
			list[c->either[0]].name, list[c->either[1]].name);
	else if (c->sample->trace->user_space)
		snprintf(out->why, sizeof(out->why),
			 "it is of user space, and no kernel trace of its machine has the same "
			 "clock");
	else if (c->around == (int)l0)
		explain_between(c, &list[l0], out);
	else if (c->declared->of_another_time && wall_apart(c, &list[l0]))
		explain_stranger(c, &list[l0], out);
	else if (c->declared->hypervisor)
		snprintf(out->why, sizeof(out->why),
			 "it runs in a VM, but in none of the machines of which there are traces");
	else if (is_mostly_unreadable(c->sample->trace))
		snprintf(
			out->why, sizeof(out->why),
			"most of its data is cut off or damaged, and nothing in the rest relates it "
			"to %.40s. sonde check says what is missing",
			list[l0].name);
	else if (*threads && !c->sample->stays.nr && !has_traced_hypervisor(list, nr, l0))
		snprintf(out->why, sizeof(out->why),
			 "nothing in the traces says which machine it runs in. %.40s ran nested "
			 "guests in thread%s %s: if it is one of them, add the trace of its host, "
			 "or use --parent",
			 list[l0].name, strchr(threads, ',') ? "s" : "", threads);
	else if (wall_apart(c, &list[l0]))
		explain_stranger(c, &list[l0], out);
	else
		explain_unrelated(c, &list[l0], out);
}

int trees_order(struct candidate *list, unsigned nr, unsigned *order, struct topology_apart *apart,
		struct error *err)
{
	unsigned done = 1;
	int l0, ret = open_circles(list, nr, apart, err);

	if (ret)
		return ret;
	l0 = find_l0(list, nr);
	if (list[l0].missing)
		snprintf(list[l0].evidence, sizeof(list[l0].evidence),
			 "it was recorded through %.60s, of which there is no trace",
			 list[l0].in->parent);
	else if (!list[l0].evidence[0])
		snprintf(list[l0].evidence, sizeof(list[l0].evidence),
			 nr > 1 ? "it runs in none of the others" : "the only trace");
	list[l0].parent = PARENT_NONE;
	order[0] = (unsigned)l0;
	for (unsigned at = 0; at < done; at++) {
		for (unsigned i = 0; i < nr; i++) {
			if (list[i].parent == (int)order[at])
				order[done++] = i;
		}
	}
	for (unsigned i = 0; i < nr && done < nr; i++) {
		int root = root_of(list, nr, i);

		if (root != l0)
			explain(list, nr, i, root, (unsigned)l0, &apart[i]);
	}
	return done == nr ? 0
			  : fail(err, -EXDEV, "%u of %u traces cannot be placed beside the others",
				 nr - done, nr);
}
