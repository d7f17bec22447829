/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/tables.h"

/* Lines of [number] = "name", see the Makefile. */
static const char *const list[] = {
#include "gen/syscalls-x86_64.inc"
};

const struct names x86_64_syscalls = {list, ARRAY_SIZE(list)};
