/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_API_REQUEST_H
#define SERVE_API_REQUEST_H

#include "base/error.h"

/*
 * A question: what stands in the URL behind the key, split into its name and its parameters.  All
 * of it is hostile.
 */
#define REQUEST_PARAMS_MAX 12
#define REQUEST_TEXT_MAX 16384 /* bytes of names and values together */

struct param {
	const char *name, *value;
};

struct request {
	const char *name; /* "rows" */
	struct param params[REQUEST_PARAMS_MAX];
	unsigned nr_params;
	size_t used;
	bool too_long;				     /* something found no place */
	enum { PART_ALL, PART_EVEN, PART_ODD } part; /* of the answer; not from the URL */
	char text[REQUEST_TEXT_MAX];
};

/* Copies both; what finds no place makes the request too_long. */
void request_add(struct request *r, const char *name, const char *value);
void request_name(struct request *r, const char *name);

/* NULL when there is none. */
const char *request_text(const struct request *r, const char *name);

/* A number from @min to @max; -EINVAL and a sentence when it is missing or is none. */
int request_int(const struct request *r, const char *name, int64_t min, int64_t max, int64_t *out,
		struct error *err);

/* "1,5,7" into @out; returns how many, or -EINVAL: no numbers, or more than @room. */
int request_list(const struct request *r, const char *name, uint32_t *out, unsigned room,
		 struct error *err);

/* Two times in ns from the begin of the history, begin before end; both fit the history's length.
 */
int request_window(const struct request *r, int64_t length, int64_t *begin, int64_t *end,
		   struct error *err);

#endif
