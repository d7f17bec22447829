/* SPDX-License-Identifier: Apache-2.0 */
#include "base/figure.h"
#include "cmd/record/record_there.h"

#include <stdlib.h>

#include "libsonde/inputs/find.h"
#include "source/cover.h"

/* Ticks of a second; 0 not known. */
static double rate_of(const struct trace *t)
{
	switch (t->clock.kind) {
	case CLOCK_MONO:
	case CLOCK_BOOT:
	case CLOCK_REAL:
	case CLOCK_LOCAL:
		return 1e9;
	default:
		return (double)t->clock.freq_hz;
	}
}

static ns_t length_of(const char *path)
{
	struct trace *t;
	struct cover c;
	ns_t length = -1;

	if (trace_open(&t, path, NULL))
		return -1;
	if (!cover_find(&c, t) && c.all.any && rate_of(t) > 0)
		length = figure_round((double)count_less(c.all.last, c.all.first) / rate_of(t) *
				      1e9);
	cover_release(&c);
	trace_release(t);
	return length;
}

ns_t record_there_ns(const char *folder)
{
	char **list = NULL;
	int nr = find_traces(folder, NULL, &list, NULL);
	ns_t length = nr == 1 ? length_of(list[0]) : -1;

	if (nr >= 0)
		free(list);
	return length;
}
