/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/inputs_order.h"

#include <stdlib.h>
#include <string.h>

#include "source/span.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **inputs_sorted(const char *const *list, unsigned nr)
{
	const char **copy = calloc(nr + 1, sizeof(*copy));

	if (copy && nr) {
		memcpy(copy, list, nr * sizeof(*copy));
		qsort(copy, nr, sizeof(*copy), by_text);
	}
	return copy;
}

static int compare(const struct trace *a, const struct trace *b)
{
	uint64_t first_a = trace_first_begin(a), first_b = trace_first_begin(b);
	int order = strcmp(a->hostname, b->hostname);

	if (!order)
		order = (first_a > first_b) - (first_a < first_b);
	if (!order)
		order = memcmp(a->uuid, b->uuid, sizeof(a->uuid));
	if (!order)
		order = (a->trace_id > b->trace_id) - (a->trace_id < b->trace_id);
	return order;
}

/* By insertion, for it keeps equals in order; there are few. */
void inputs_sort_traces(struct inputs *in)
{
	for (unsigned i = 1; i < in->nr_traces; i++) {
		struct trace *t = in->traces[i];
		unsigned k = i;

		for (; k && compare(in->traces[k - 1], t) > 0; k--)
			in->traces[k] = in->traces[k - 1];
		in->traces[k] = t;
	}
}
