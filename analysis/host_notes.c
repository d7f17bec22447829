/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/host_notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int host_notes_make(struct host_notes *n, const struct sonde_history *history,
		    struct sonde_rows *rows)
{
	int64_t nr = sonde_nr_machines(history);
	struct sonde_clock c;

	*n = (struct host_notes){history, rows, calloc((size_t)nr + 1, sizeof(*n->loose))};
	if (!n->loose)
		return -ENOMEM;
	for (int64_t i = 0; i < sonde_nr_clocks(history) && !sonde_clock_get(history, i, &c); i++) {
		if (c.machine >= 0 && c.machine < nr && c.bound_ns < 0)
			n->loose[c.machine] = true;
	}
	return 0;
}

static const char *keep(struct host_notes *n, const char *before, const char *name,
			const char *after)
{
	char text[200], *kept;

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

/* Hypervisors around it that have no trace, the innermost first. */
static const char *untraced_around(struct host_notes *n, int64_t vm)
{
	const char *runs_in = sonde_identity_of(n->history, 0, "hypervisor");
	struct sonde_machine m;

	if (sonde_machine_get(n->history, vm, &m))
		return "";
	for (int64_t i = m.parent; i > 0 && !sonde_machine_get(n->history, i, &m); i = m.parent) {
		if (!m.traced)
			return keep(n, "at least: ", m.name, " has no trace");
	}
	if (!*runs_in || !strcmp(runs_in, "none") || sonde_machine_get(n->history, 0, &m))
		return "";
	return keep(n, "at least: the host of ", m.name, " has no trace");
}

const char *host_notes_of_cost(struct host_notes *n, int64_t vm)
{
	struct sonde_machine m;

	if (find_loose(&m, n, vm))
		return keep(n, "not known: nothing bounds the clock of ", m.name, "");
	return untraced_around(n, vm);
}

const char *host_notes_of_steal(struct host_notes *n, int64_t vm)
{
	struct sonde_machine m, loose;

	/* Its own clock does not matter: its host's trace has its vCPUs' threads. */
	if (!sonde_machine_get(n->history, vm, &m) && find_loose(&loose, n, m.parent))
		return keep(n, "inherited not known: nothing bounds the clock of ", loose.name, "");
	return untraced_around(n, vm);
}

void host_notes_release(struct host_notes *n)
{
	free(n->loose);
}
