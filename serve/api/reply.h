/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_API_REPLY_H
#define SERVE_API_REPLY_H

#include "base/error.h"
#include "report/json.h"

/* An answer on its way: written as a stream into memory, given to HTTP when it is whole. */
struct reply {
	unsigned status;  /* HTTP */
	const char *type; /* MIME */
	char *body;	  /* malloc'ed */
	size_t len_bytes;
	FILE *out; /* open while it is written */
};

/* Opens .out; -ENOMEM. */
int reply_begin(struct reply *r, const char *type);

/* Closes .out; memory that ran out makes it a failure of its own. */
void reply_end(struct reply *r);

/* Drops what was written, and says in JSON what is wrong: {"error": "..."}. */
void reply_fail(struct reply *r, unsigned status, const char *text);

/* JSON for inside a script element: "<" begins no tag when it is written as an escape, and in JSON
 * it stands in text only. */
void write_script_json(FILE *out, const char *text, size_t len);

void reply_release(struct reply *r);

#endif
