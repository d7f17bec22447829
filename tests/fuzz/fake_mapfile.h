/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_FAKE_MAPFILE_H
#define TESTS_FUZZ_FAKE_MAPFILE_H

/*
 * Files of a fuzz target: not mapped but heap blocks of just their length, so that the sanitizer
 * sees a read of one byte too many.  The functions of base/mapfile.h here take the place of the
 * library's; the target says what is in a file.  Included once.
 */
#include "base/mapfile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_file {
	const uint8_t *data;
	size_t len;
};

static struct fake_file fake_file_at(const char *path);

int mapfile_open(struct mapfile *m, const char *path, struct error *err)
{
	struct fake_file file = fake_file_at(path);
	uint8_t *copy = malloc(file.len ? file.len : 1);

	(void)err;
	if (!copy)
		abort();
	memcpy(copy, file.data, file.len);
	*m = (struct mapfile){.data = copy, .len_bytes = file.len};
	return 0;
}

int mapfile_take_fd(struct mapfile *m, int fd, const char *path, struct error *err)
{
	off_t len = lseek(fd, 0, SEEK_END);
	uint8_t *copy = malloc(len > 0 ? (size_t)len : 1);

	(void)path;
	(void)err;
	if (!copy || len < 0 || pread(fd, copy, (size_t)len, 0) != len)
		abort();
	*m = (struct mapfile){.data = copy, .len_bytes = (size_t)len};
	return 0;
}

void mapfile_forget(const struct mapfile *m, size_t from_bytes, size_t len_bytes)
{
	if (len_bytes > m->len_bytes || from_bytes > m->len_bytes - len_bytes)
		abort();
}

void mapfile_release(struct mapfile *m)
{
	free((void *)m->data);
	memset(m, 0, sizeof(*m));
}

#endif
