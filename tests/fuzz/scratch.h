/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_SCRATCH_H
#define TESTS_FUZZ_SCRATCH_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A directory in memory, for targets whose code opens files by name: one per process, never removed
 * while it runs. */
static inline const char *scratch_dir(void)
{
	static char path[64];

	if (!*path) {
		snprintf(path, sizeof(path), "%s/sonde-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		if (!mkdtemp(path))
			abort();
	}
	return path;
}

static inline void scratch_remove(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", scratch_dir(), name);
	if (unlink(path) && errno != ENOENT)
		abort();
}

static inline void scratch_write(const char *name, const uint8_t *data, size_t len_bytes)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch_dir(), name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, len_bytes) != (ssize_t)len_bytes || close(fd))
		abort();
}

#endif
