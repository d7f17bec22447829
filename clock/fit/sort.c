/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/fit/sort.h"

#include <stdlib.h>
#include <string.h>

struct sorting {
	size_t size;
	int (*order)(const void *, const void *);
};

/* The end of the ascending run that begins at @at. */
static size_t run_end(const struct sorting *s, const char *list, size_t at, size_t nr)
{
	for (at++; at < nr; at++) {
		if (s->order(list + (at - 1) * s->size, list + at * s->size) > 0)
			break;
	}
	return at;
}

/* Merges [a, b) and [b, c) of @from into @to. */
static void merge(const struct sorting *s, const char *from, char *to, size_t a, size_t b, size_t c)
{
	size_t i = a, k = b, size = s->size;
	char *out = to + a * size;

	while (i < b && k < c) {
		if (s->order(from + i * size, from + k * size) <= 0)
			memcpy(out, from + i++ * size, size);
		else
			memcpy(out, from + k++ * size, size);
		out += size;
	}
	memcpy(out, from + i * size, (b - i) * size);
	out += (b - i) * size;
	memcpy(out, from + k * size, (c - k) * size);
}

/* Merges neighbouring runs of @from into @to; true when one run is left. */
static bool merge_pairs(const struct sorting *s, const char *from, char *to, size_t nr)
{
	size_t a = 0, merges = 0;

	while (a < nr) {
		size_t b = run_end(s, from, a, nr);
		size_t c = b < nr ? run_end(s, from, b, nr) : nr;

		merge(s, from, to, a, b, c);
		merges++;
		a = c;
	}
	return merges <= 1;
}

void sort_runs(void *list, size_t nr, size_t size, int (*order)(const void *, const void *))
{
	const struct sorting s = {size, order};
	char *from = list, *to;
	bool done = false;

	if (nr < 2 || run_end(&s, list, 0, nr) == nr)
		return;
	to = malloc(nr * size);
	if (!to) {
		qsort(list, nr, size, order);
		return;
	}
	while (!done) {
		char *swap = from;

		done = merge_pairs(&s, from, to, nr);
		from = to;
		to = swap;
	}
	if (from != list) {
		memcpy(list, from, nr * size);
		to = from;
	}
	free(to);
}
