/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/origin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *pair(const char *a, const char *b)
{
	size_t len = strlen(a) + strlen(b) + 2;
	char *text = malloc(len);

	if (text)
		snprintf(text, len, "%s=%s", a, b);
	return text;
}

void origin_release(struct origin *o)
{
	for (unsigned i = 0; i < o->nr; i++) {
		free((char *)o->guests[i]);
		free((char *)o->parents[i]);
	}
	free(o->guests);
	free(o->parents);
	*o = (struct origin){0};
}

int origin_init(struct origin *o, const struct sonde_run *run, struct error *err)
{
	int64_t nr = sonde_nr_machines(run);
	struct sonde_machine m, parent;
	unsigned n;

	*o = (struct origin){0};
	o->guests = calloc((size_t)nr, sizeof(*o->guests));
	o->parents = calloc((size_t)nr, sizeof(*o->parents));
	if (!o->guests || !o->parents)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < nr; row++) {
		if (sonde_machine(run, row, &m) || !m.traced)
			continue;
		if (access(m.trace_path, R_OK))
			return fail(err, -ENOENT,
				    "the trace of %s is not at %s any more: events are read from "
				    "the traces, the history has what became of them",
				    m.name, m.trace_path);
		n = o->nr++;
		o->guests[n] = pair(m.name, m.trace_path);
		o->parents[n] =
			pair(m.name, sonde_machine(run, m.parent, &parent) ? "-" : parent.name);
		if (!o->guests[n] || !o->parents[n])
			return fail(err, -ENOMEM, "out of memory");
	}
	o->inputs = (struct sonde_inputs){
		.guests = o->guests,
		.nr_guests = o->nr,
		.parents = o->parents,
		.nr_parents = o->nr,
		.threads = 1,
	};
	return 0;
}
