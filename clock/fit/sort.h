/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_FIT_SORT_H
#define CLOCK_FIT_SORT_H

#include "base/types.h"

/*
 * Sorts @nr elements of @size bytes, keeping the order of equal ones: a merge sort of the ascending
 * runs that are there already.  What the clock search sorts are concatenations of a few sorted
 * lists, and for those it is linear.  Falls back to qsort() when memory is out.
 */
void sort_runs(void *list, size_t nr, size_t size, int (*order)(const void *, const void *));

#endif
