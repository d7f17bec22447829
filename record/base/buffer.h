/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_BASE_BUFFER_H
#define RECORD_BASE_BUFFER_H

#include "base/error.h"

#include <sys/types.h>

/*
 * Bytes that grow at their end.  Zero-initialise, buffer_release() at the end.  When memory is out
 * or a file cannot be read, @error keeps the first failure (-errno) and nothing is added any more:
 * look at it once, when all is written.
 */
struct buffer {
	char *data;
	size_t len_bytes;
	size_t room_bytes;
	int error;
};

void buffer_bytes(struct buffer *b, const void *data, size_t len_bytes);
void buffer_text(struct buffer *b, const char *text); /* with its NUL */
void buffer_print(struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buffer_u16(struct buffer *b, uint16_t v);
void buffer_u32(struct buffer *b, uint32_t v);
void buffer_u64(struct buffer *b, uint64_t v);

/* Appends all that reading @fd gives; returns how many bytes, or -errno. */
ssize_t buffer_fd(struct buffer *b, int fd);

/* The same for a file below @dirfd (AT_FDCWD); a failure is only returned, not kept. */
ssize_t buffer_file(struct buffer *b, int dirfd, const char *path);

void buffer_release(struct buffer *b);

/*
 * Reads a small file, at most @room - 1 bytes of it, into @text and ends it with a NUL; a newline
 * at the end is taken away.  Returns its length, or -errno (text is then "").
 */
ssize_t read_small(int dirfd, const char *path, char *text, size_t room);

#endif
