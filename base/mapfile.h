/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MAPFILE_H
#define BASE_MAPFILE_H

#include "base/error.h"

/*
 * A whole file, mapped read-only.  A zero-length file is valid: data is NULL, len_bytes 0.
 * Release with mapfile_release().  Somebody who truncates the file while it is mapped makes
 * later reads fault; cmd/ turns that signal into an error message.
 */
struct mapfile {
	const uint8_t *data;
	size_t len_bytes;
	/* Of the file when it was mapped: with the length, another file has others, and so has this
	 * one once it was changed. */
	uint64_t device, inode;
	int64_t modified_ns, changed_ns;
};

int mapfile_open(struct mapfile *m, const char *path, struct error *err);

/* The same of a file that is open; @path is for messages.  @fd stays the caller's. */
int mapfile_take_fd(struct mapfile *m, int fd, const char *path, struct error *err);

/* Tells the kernel that [from, from + len) will not be read again soon: keeps resident memory
 * small on traces larger than memory. */
void mapfile_forget(const struct mapfile *m, size_t from_bytes, size_t len_bytes);

void mapfile_release(struct mapfile *m);

#endif
