/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP_BYTES (32 << 20)	/* the heap grows by so much address space */
#define FIRST_BYTES (128 << 20) /* at first: what is not touched of it is no memory */
#define HUGE_BYTES (UINT64_C(2) << 20)

void heap_settle(void)
{
	void *volatile first; /* or the compiler sees that nobody needs it */
	uintptr_t begin, end;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, STEP_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * FIRST_BYTES);
	mallopt(M_TOP_PAD, FIRST_BYTES);
	begin = ((uintptr_t)sbrk(0) + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
	first = malloc(STEP_BYTES / 2); /* takes the first step */
	free(first);
	mallopt(M_TOP_PAD, STEP_BYTES);
	end = (uintptr_t)sbrk(0) & ~(HUGE_BYTES - 1);
	if (begin < end)
		madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
