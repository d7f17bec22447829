/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/compare_groups.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

static int by_what(const struct row_group *a, const struct row_group *b)
{
	int machine = strcmp(a->machine, b->machine);

	if (machine)
		return machine;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	for (size_t i = 0; i < ARRAY_SIZE(a->also); i++) {
		if (a->also[i] != b->also[i])
			return a->also[i] < b->also[i] ? -1 : 1;
	}
	return 0;
}

static int by_row(const void *a, const void *b)
{
	const struct row_group *x = a, *y = b;

	return (x->row > y->row) - (x->row < y->row);
}

static int by_what_and_row(const void *a, const void *b)
{
	int what = by_what(a, b);

	return what ? what : by_row(a, b);
}

size_t groups_merge(struct row_group *list, size_t nr)
{
	size_t left = 0;

	if (nr)
		qsort(list, nr, sizeof(*list), by_what_and_row);
	for (size_t i = 0; i < nr; i++) {
		if (left && !by_what(&list[left - 1], &list[i]))
			list[left - 1].nr += list[i].nr;
		else
			list[left++] = list[i];
	}
	return left;
}

void groups_sort_by_row(struct row_group *list, size_t nr)
{
	if (nr)
		qsort(list, nr, sizeof(*list), by_row);
}
