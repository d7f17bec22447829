/* SPDX-License-Identifier: Apache-2.0 */
#include "source/syscalls.h"

/* Lines of [number] = "name", see the Makefile. */
static const char *const names[] = {
#include "gen/syscalls.inc"
};

const char *syscall_name(int64_t nr)
{
	return nr >= 0 && nr < (int64_t)ARRAY_SIZE(names) ? names[nr] : NULL;
}
