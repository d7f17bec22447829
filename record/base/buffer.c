/* SPDX-License-Identifier: Apache-2.0 */
#include "record/base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room for @more bytes beyond what is there; NULL when that cannot be. */
static char *make_room(struct buffer *b, size_t more)
{
	size_t room = b->room_bytes ? b->room_bytes : 4096;
	char *grown;

	if (b->error)
		return NULL;
	while (room - b->len_bytes < more)
		room *= 2;
	if (room != b->room_bytes) {
		grown = realloc(b->data, room);
		if (!grown) {
			b->error = -ENOMEM;
			return NULL;
		}
		b->data = grown;
		b->room_bytes = room;
	}
	return b->data + b->len_bytes;
}

void buffer_bytes(struct buffer *b, const void *data, size_t len_bytes)
{
	char *at = make_room(b, len_bytes);

	if (!at || !len_bytes) /* nothing may be nowhere */
		return;
	memcpy(at, data, len_bytes);
	b->len_bytes += len_bytes;
}

void buffer_text(struct buffer *b, const char *text)
{
	buffer_bytes(b, text, strlen(text) + 1);
}

void buffer_print(struct buffer *b, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len >= (int)sizeof(text))
		len = sizeof(text) - 1;
	if (len > 0)
		buffer_bytes(b, text, (size_t)len);
}

void buffer_u16(struct buffer *b, uint16_t v)
{
	buffer_bytes(b, &v, sizeof(v));
}

void buffer_u32(struct buffer *b, uint32_t v)
{
	buffer_bytes(b, &v, sizeof(v));
}

void buffer_u64(struct buffer *b, uint64_t v)
{
	buffer_bytes(b, &v, sizeof(v));
}

ssize_t buffer_fd(struct buffer *b, int fd)
{
	size_t begin = b->len_bytes;

	for (;;) {
		char *at = make_room(b, 4096);
		ssize_t n;

		if (!at)
			return b->error;
		n = read(fd, at, b->room_bytes - b->len_bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int code = -errno;

			b->len_bytes = begin;
			return code;
		}
		if (!n)
			return (ssize_t)(b->len_bytes - begin);
		b->len_bytes += (size_t)n;
	}
}

ssize_t buffer_file(struct buffer *b, int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = buffer_fd(b, fd);
	close(fd);
	return n;
}

void buffer_release(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){0};
}

ssize_t read_small(int dirfd, const char *path, char *text, size_t room)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	*text = '\0';
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, text, room - 1);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return n;
	if (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return n;
}
