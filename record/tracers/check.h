/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_CHECK_H
#define RECORD_TRACERS_CHECK_H

#include "base/error.h"

/*
 * What recording needs of this machine: what is there, why it matters, what to do where it is not.
 * Nothing is changed by looking.
 */
enum check_state {
	CHECK_GOOD,
	CHECK_NOTE,    /* recording works; less is known, or a feature is not there */
	CHECK_MISSING, /* recording does not work, or its result is poor */
};

struct check_row {
	const char *name; /* "tracefs", "clock", ... */
	enum check_state state;
	char what[256];	 /* how it is */
	const char *why; /* why it matters */
	char mend[256];	 /* what to do; "" when it is good */
};

#define CHECK_ROWS_MAX 16

/* Fills @rows; returns how many. */
unsigned check_machine(struct check_row rows[static CHECK_ROWS_MAX]);

#endif
