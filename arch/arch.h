/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include "base/types.h"

/*
 * What differs between machines of different processors: a machine has an architecture, and names
 * of its numbers are asked for with it.  Exit reasons are in arch/exits.h.
 *
 * The values are those of column `arch` of a history's table "machine".
 */
enum arch { ARCH_UNKNOWN, ARCH_X86_64, ARCH_ARM64, NR_ARCHS };

/* "x86_64", as uname -m and perf.data say it, and "amd64", as releases of kernels end. */
enum arch arch_of_machine(const char *machine);

/* By the end of a kernel's release: "6.1.0-56-arm64", "5.14.0-70.el9.x86_64". */
enum arch arch_of_release(const char *release);

/* "openat" for 257 of x86-64, and for 56 of arm64; NULL: there is no such call, or the
 * architecture is not known.  A call that is younger than the kernel headers with which Sonde was
 * built has no name. */
const char *arch_syscall_name(enum arch arch, int64_t nr);

/* What Linux uses an interrupt vector for on its own account; NULL: it is a device's, or the
 * architecture has no vectors. */
const char *arch_vector_name(enum arch arch, int64_t vector);

#endif
