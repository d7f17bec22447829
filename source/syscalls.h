/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_SYSCALLS_H
#define SOURCE_SYSCALLS_H

#include "base/types.h"

/*
 * Names of x86-64's system calls by number, for tracers that record the number only (ftrace's
 * sys_enter).  The table is made when Sonde is built, from the kernel headers of that machine
 * (asm/unistd_64.h): a call that is younger than those has no name.
 */

/* "openat" for 257; NULL when there is no such call. */
const char *syscall_name(int64_t nr);

#endif
