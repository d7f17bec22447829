/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_COMPARE_GROUPS_H
#define CMD_ANSWERS_COMPARE_GROUPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Rows of a comparison that are told as one: of one machine and vCPU, and alike in what else the
 * caller looks at.  They are found by sorting: looking at all rows for each costs the square of
 * them.
 */
struct row_group {
	const char *machine;
	int64_t cpu; /* -1: the whole machine */
	int64_t also[3];
	size_t row; /* the first of them */
	int64_t nr;
};

/* Of a list with one row each: makes one of those that are alike, by machine and vCPU (-1 comes
 * first).  How many are left. */
size_t groups_merge(struct row_group *list, size_t nr);

/* Puts them in the order of their first rows. */
void groups_sort_by_row(struct row_group *list, size_t nr);

#endif
