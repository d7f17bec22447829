/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/traces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *pair(const char *a, const char *b)
{
	char *text = NULL;
	size_t len = strlen(a) + strlen(b) + 2;

	text = malloc(len);
	if (text)
		snprintf(text, len, "%s=%s", a, b);
	return text;
}

void traces_release(struct traces *t)
{
	for (unsigned i = 0; i < t->nr; i++) {
		free((char *)t->guests[i]);
		free((char *)t->parents[i]);
	}
	free(t->guests);
	free(t->parents);
}

int traces_find(struct traces *t, struct sonde_run *run, struct error *err)
{
	int64_t nr = sonde_nr_machines(run);
	struct sonde_machine m, parent;
	unsigned n;

	*t = (struct traces){0};
	t->guests = calloc((size_t)nr, sizeof(*t->guests));
	t->parents = calloc((size_t)nr, sizeof(*t->parents));
	if (!t->guests || !t->parents)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < nr; row++) {
		if (sonde_machine(run, row, &m) || !m.traced)
			continue;
		if (access(m.trace_path, R_OK))
			return fail(err, -ENOENT,
				    "the trace of %s is not at %s any more: events are read from "
				    "the traces, the history has what became of them",
				    m.name, m.trace_path);
		n = t->nr++;
		t->guests[n] = pair(m.name, m.trace_path);
		t->parents[n] =
			pair(m.name, sonde_machine(run, m.parent, &parent) ? "-" : parent.name);
		if (!t->guests[n] || !t->parents[n])
			return fail(err, -ENOMEM, "out of memory");
	}
	t->inputs = (struct sonde_inputs){
		.guests = t->guests,
		.nr_guests = t->nr,
		.parents = t->parents,
		.nr_parents = t->nr,
		.threads = 1,
	};
	return 0;
}
