/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/longest.h"

void longest_add(struct longest *l, ns_t length)
{
	ns_t *heap = l->heap;
	unsigned i = 0;

	if (length <= heap[0])
		return;
	for (unsigned child = 1; child < LONGEST_MAX; child = 2 * i + 1) {
		child += child + 1 < LONGEST_MAX && heap[child + 1] < heap[child];
		if (length <= heap[child])
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = length;
}
