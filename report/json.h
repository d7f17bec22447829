/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "base/types.h"

#include <stdio.h>

/*
 * Writes JSON to a stream as it comes, without keeping any of it.
 *
 *	struct json j = {.out = stdout};
 *	json_begin_object(&j, NULL);
 *	json_int(&j, "events", 7);
 *	json_begin_array(&j, "rows");
 *	...
 *	json_end(&j);
 *	json_end(&j);
 *
 * @key is NULL inside arrays and at the top.  64-bit integers are written as they are.  Text that
 * is not UTF-8 is written with U+FFFD in place of each byte that does not fit.
 */
#define JSON_DEPTH_MAX 16

struct json {
	FILE *out;
	unsigned flat; /* objects and arrays at this depth and below stand on one line; 0 = 3 */
	unsigned depth;
	char closing[JSON_DEPTH_MAX];
	bool filled[JSON_DEPTH_MAX]; /* something stands in it: a comma is due */
};

void json_begin_object(struct json *j, const char *key);
void json_begin_array(struct json *j, const char *key);
void json_end(struct json *j);
void json_int(struct json *j, const char *key, int64_t value);
void json_uint(struct json *j, const char *key, uint64_t value);
/* Thousandths as a decimal: 1234567 is written 1234.567. */
void json_milli(struct json *j, const char *key, int64_t value);
/* Six significant digits: the Trace Server Protocol's client takes long numbers for big integers.
 */
void json_rounded(struct json *j, const char *key, double value);
/* All digits.  Both: null when it is infinite or no number. */
void json_exact(struct json *j, const char *key, double value);
void json_str(struct json *j, const char *key, const char *value);
void json_bool(struct json *j, const char *key, bool value);

void json_put_null(struct json *j, const char *key);

/* @value, or null when it is negative: how row numbers and unknown numbers are told. */
void json_row(struct json *j, const char *key, int64_t value);

#endif
