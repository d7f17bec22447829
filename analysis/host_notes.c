/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/host_notes.h"
#include "query/outermost.h"
#include "base/figure.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Less than such a part of what it is missing from is not worth a note. */
#define NOTED_PART 100

#define AT_LEAST "at least: "

static void find_window(struct host_notes *n, ns_t begin, ns_t end)
{
	struct sonde_machine m;

	n->begin = begin;
	n->end = end;
	n->length = ns_since(end, begin);
	if (!sonde_machine_get(n->history, 0, &m) && m.traced && m.end >= 0)
		ns_clip(&n->begin, &n->end, m.begin, m.end);
}

/* Of an outermost machine that may be a VM itself, nothing bounds a cost if it is. */
static void find_lower_bound(struct host_notes *n)
{
	struct sonde_machine m;

	if (outermost_of(n->history) == OUTERMOST_UNKNOWN && !sonde_machine_get(n->history, 0, &m))
		snprintf(n->of_cost, sizeof(n->of_cost),
			 "at least, unless %.100s is a VM: ", m.name);
	else
		snprintf(n->of_cost, sizeof(n->of_cost), "%s", AT_LEAST);
}

int host_notes_make(struct host_notes *n, const struct sonde_history *history,
		    struct sonde_rows *rows, ns_t begin, ns_t end)
{
	int64_t nr = sonde_nr_machines(history);
	struct sonde_clock c;
	struct sonde_loss l;

	*n = (struct host_notes){.history = history,
				 .rows = rows,
				 .loose = calloc((size_t)nr + 1, sizeof(*n->loose)),
				 .gaps_ns = calloc((size_t)nr + 1, sizeof(*n->gaps_ns))};
	if (!n->loose || !n->gaps_ns) {
		host_notes_release(n);
		return -ENOMEM;
	}
	find_window(n, begin, end);
	find_lower_bound(n);
	for (int64_t i = 0; i < sonde_nr_clocks(history) && !sonde_clock_get(history, i, &c); i++) {
		if (c.machine >= 0 && c.machine < nr && c.bound_ns < 0)
			n->loose[c.machine] = true;
	}
	for (int64_t i = 0; !sonde_loss_get(history, i, &l); i++) {
		if (l.machine >= 0 && l.machine < nr)
			n->gaps_ns[l.machine] = ns_plus(
				n->gaps_ns[l.machine], ns_common(l.begin, l.end, n->begin, n->end));
	}
	return 0;
}

static const char *keep(struct host_notes *n, const char *before, const char *name,
			const char *after)
{
	char text[320], *kept;

	snprintf(text, sizeof(text), "%s%.100s%s", before, name, after);
	kept = arena_strdup(&n->rows->arena, text);
	n->rows->no_memory |= !kept;
	return kept ? kept : "";
}

/* The innermost of it and those around it whose clock nothing bounds; false: there is none. */
static bool find_loose(struct sonde_machine *m, const struct host_notes *n, int64_t vm)
{
	for (; vm > 0 && !sonde_machine_get(n->history, vm, m); vm = m->parent) {
		if (n->loose[vm])
			return true;
	}
	return false;
}

bool host_notes_unplaced(const struct host_notes *n, int64_t vm)
{
	struct sonde_machine m;

	return find_loose(&m, n, vm);
}

/* The outermost machine, where that is a VM: whatever its host ran is in all times that it had. */
static bool find_hostless(struct sonde_machine *m, const struct host_notes *n)
{
	return outermost_of(n->history) == OUTERMOST_VM && !sonde_machine_get(n->history, 0, m);
}

/* The innermost hypervisor around it that has no trace, but a host that has one. */
static const char *untraced_around(struct host_notes *n, int64_t vm, const char *bound)
{
	struct sonde_machine m;

	if (sonde_machine_get(n->history, vm, &m))
		return "";
	for (int64_t i = m.parent; i > 0 && !sonde_machine_get(n->history, i, &m); i = m.parent) {
		if (!m.traced)
			return keep(n, bound, m.name, " has no trace");
	}
	return "";
}

static bool is_noted(ns_t missing_ns, ns_t of_ns)
{
	return missing_ns > 0 && missing_ns >= of_ns / NOTED_PART;
}

/* What a machine's trace lacks of the window, if that is worth a note; else "". */
static const char *lacking_of(struct host_notes *n, int64_t machine, const struct sonde_machine *m,
			      ns_t of_ns, const char *bound)
{
	bool is_ns = sonde_history_ticks_are_ns(n->history);
	char after[UNIT_TEXT + 32] = "'s trace has gaps", at[UNIT_TEXT];
	ns_t late = 0, early = 0, gaps = n->gaps_ns[machine];

	if (m->end >= 0) {
		late = ns_common(n->begin, m->begin, n->begin, n->end);
		early = ns_common(m->end, n->end, n->begin, n->end);
	}
	if (!is_noted(ns_plus(ns_plus(gaps, late), early), of_ns))
		return "";
	/* The greatest of the three is named. */
	if (late > gaps && late > early)
		snprintf(after, sizeof(after), "'s trace begins at %s",
			 unit_time(at, m->begin, is_ns));
	else if (early > gaps)
		snprintf(after, sizeof(after), "'s trace ends at %s", unit_time(at, m->end, is_ns));
	return keep(n, bound, m->name, after);
}

/* The innermost of @machine and those around it whose trace lacks something. */
static const char *lacking_around(struct host_notes *n, int64_t machine, ns_t of_ns,
				  const char *bound)
{
	struct sonde_machine m;
	const char *note = "";

	for (; !*note && machine >= 0 && !sonde_machine_get(n->history, machine, &m);
	     machine = m.parent)
		note = lacking_of(n, machine, &m, of_ns, bound);
	return note;
}

const char *host_notes_of_cost(struct host_notes *n, int64_t vm, ns_t had_ns)
{
	struct sonde_machine m;
	const char *note;

	if (find_loose(&m, n, vm))
		return keep(n, "not known: nothing bounds the clock of ", m.name, "");
	/* Too much by what that host ran, too little by what it did for this VM. */
	if (find_hostless(&m, n))
		return keep(n, "no bound: times hold what the host of ", m.name,
			    " ran, which has no trace");
	note = untraced_around(n, vm, n->of_cost);
	if (!*note && !sonde_machine_get(n->history, vm, &m))
		note = lacking_around(n, m.parent, had_ns, n->of_cost);
	return note;
}

const char *host_notes_of_steal(struct host_notes *n, int64_t vm, ns_t unknown_ns)
{
	struct sonde_machine m, loose, host;
	char length[UNIT_TEXT];
	const char *note;

	if (sonde_machine_get(n->history, vm, &m))
		return "";
	/* Its own clock does not matter: its host's trace has its vCPUs' threads. */
	if (find_loose(&loose, n, m.parent))
		return keep(n, "inherited not known: nothing bounds the clock of ", loose.name, "");
	/* Who was runnable meanwhile was so whatever that host ran; who had a CPU, maybe not. */
	if (find_hostless(&m, n))
		return keep(n, "at least: the host of ", m.name,
			    " has no trace; other times hold what it ran");
	note = untraced_around(n, vm, AT_LEAST);
	if (*note)
		return note;
	if (is_noted(unknown_ns, n->length))
		return keep(n, AT_LEAST,
			    unit_length(length, unknown_ns, sonde_history_ticks_are_ns(n->history)),
			    " are not known");
	/* What its own host's trace lacks is unknown of the vCPU; this is of what it inherits. */
	return sonde_machine_get(n->history, m.parent, &host)
		       ? ""
		       : lacking_around(n, host.parent, n->length, AT_LEAST);
}

void host_notes_release(struct host_notes *n)
{
	free(n->loose);
	free(n->gaps_ns);
	*n = (struct host_notes){0};
}
