/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_HOST_STATE_LINE_H
#define RECORD_HOST_STATE_LINE_H

#include "base/error.h"

/*
 * One state line (docs/formats/state.md), written with a single write(): one event of the tracer.
 * A key whose value does not fit any more is left out: unknown, rather than wrong.
 */
#define LINE_BYTES 1000

struct line {
	int fd;
	size_t len_bytes;
	char text[LINE_BYTES + 1];
	int error; /* -errno of the first write that failed */
};

void line_begin(struct line *l, const char *kind);
void line_number(struct line *l, const char *key, uint64_t value);
void line_signed(struct line *l, const char *key, int64_t value);

/* Left out when @value is empty; bytes that would end it are escaped. */
void line_text(struct line *l, const char *key, const char *value);
void line_end(struct line *l);

#endif
