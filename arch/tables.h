/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCH_TABLES_H
#define ARCH_TABLES_H

#include "arch/exits.h"

/* The tables of each architecture: arch/exits.c and arch/arch.c look things up in them. */

struct exit_reason {
	const char *name; /* NULL: there is none of that number */
	unsigned means;	  /* enum exit_meaning bits */
};

/* Reasons whose numbers follow each other. */
struct exit_range {
	uint64_t first;
	const struct exit_reason *reasons;
	size_t nr;
};

#define EXIT_RANGE(first, reasons)                                                                 \
	{                                                                                          \
		first, reasons, ARRAY_SIZE(reasons)                                                \
	}

struct exit_numbers {
	int64_t flags; /* that come with a reason, in the same number */
	const struct exit_range *ranges;
	size_t nr_ranges;
	int64_t hypercall;
};

extern const struct exit_numbers vmx_exits, svm_exits, arm64_exits;

struct names {
	const char *const *names;
	int64_t nr;
};

/* By number; made from the kernel's headers (tools/make-syscalls). */
extern const struct names x86_64_syscalls, arm64_syscalls;

const char *x86_64_vector_name(int64_t vector);

#endif
