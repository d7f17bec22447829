/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/types.h"

/*
 * An error is a negative errno that functions return, and a sentence for a person that they put
 * into the caller's struct error.  The sentence says first what went wrong, then where (file and
 * offset), then what to do, if anything can be done: "cannot read /x/ch0_0 at offset 4096: packet
 * size 17 is smaller than its own header; the rest of this stream is skipped".
 *
 * Zero-initialise a struct error before use.  A null pointer is allowed everywhere an
 * struct error pointer is taken: the text is then dropped.  Nothing in it is owned or released.
 */
struct error {
	int code; /* -errno, 0 when no error was set */
	char text[512];
};

/* Sets *err and returns @code (a negative errno), so that callers write
 * "return fail(err, -EINVAL, ...)". */
int fail(struct error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "text: " in front of what *err already says; returns @code, what the failure returned. */
int fail_prefix(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* strerror() of a negative errno, but for -EIO: that is a file whose bytes are not those that were
 * written, and "Input/output error" would be read as a broken disk. */
const char *error_reason(int code);

/*
 * Problems: what was wrong with the input but did not stop us.  They travel with the result, so
 * that a user sees them beside every figure they may have touched.  The list is bounded: after
 * PROBLEMS_MAX distinct entries only the count goes on.
 */
#define PROBLEMS_MAX 64

struct problem {
	char text[256];
	uint64_t count; /* how often this same text was added */
	bool note;	/* good to know, but nothing is broken or missing */
};

struct problems {
	struct problem *list; /* owned */
	unsigned nr;
	uint64_t dropped; /* problems that found no place in the list */
};

void problems_add(struct problems *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void problems_note(struct problems *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void problems_release(struct problems *p);

#endif
